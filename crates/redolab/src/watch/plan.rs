//! What to watch, and how it is judged: plain data.

use super::subject::SubjectPlan;
use crate::experiment::plan::JudgementPlan;
use measure::Nanos;
use measure::run::RunNotes;

/// What to watch.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// The command that asked for it.
    pub command: Vec<String>,
    /// Whose log.
    pub subject: SubjectPlan,
    /// How long; `None` until somebody ends it.
    pub time: Option<Nanos>,
    /// Log writes that take at least this are kept one by one.
    pub warning: Nanos,
    /// Every log write is stored.
    pub events: bool,
    /// How it is judged.
    pub judgement: JudgementPlan,
    /// What the user noted.
    pub notes: RunNotes,
}
