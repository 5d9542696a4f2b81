//! How an experiment ends: with its logs closed and its folders removed; or before its time, with
//! what was measured until then kept as an incomplete run.

use super::Failure;
use super::console::Console;
use super::judge::{judge, note_failure, of_the_device};
use super::plan::prepare::Prepared;
use super::target::LoadTarget;
use crate::cleanup::WorkFolder;
use crate::store::{RunWriter, StoreError};
use measure::run::{Run, TargetFacts};
use measure::words;

/// An experiment that ended before its plan was carried out.
#[derive(Debug)]
pub struct Stopped {
    /// The first failure.
    pub failure: Box<Failure>,
    /// The run as far as it came, judged; `None` where nothing was measured.
    pub run: Option<Box<Run>>,
    notes: Vec<String>,
}

impl Stopped {
    /// Adds what else is to be known.
    #[must_use]
    pub(super) fn with_note(mut self, note: String) -> Stopped {
        self.notes.push(note);
        self
    }

    /// The run as far as it came, where the device itself ended it.
    #[must_use]
    pub fn by_the_device(&self) -> Option<&Run> {
        let by_device = of_the_device(&self.failure).is_some();
        self.run.as_deref().filter(|_| by_device)
    }
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.failure)?;
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

impl std::error::Error for Stopped {}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped {
            failure: Box::new(failure),
            run: None,
            notes: Vec::new(),
        }
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Stopped {
        Stopped::from(Failure::Store(error))
    }
}

/// Keeps what was measured before a failure as an incomplete run, judged like any other. A run
/// whose log was never made is removed.
pub(super) fn keep(
    failure: Failure,
    mut run: Run,
    prepared: &Prepared<'_>,
    writer: &RunWriter,
    console: &dyn Console,
) -> Stopped {
    note_failure(&mut run, &failure);
    let is_ready = run.target.facts != TargetFacts::Unknown;
    if !is_ready && run.rows.is_empty() && run.floor.is_empty() {
        // What cannot be removed is listed as incomplete.
        let _ = writer.discard();
        let stopped = Stopped::from(failure);
        return match &*stopped.failure {
            Failure::Interrupted => {
                stopped.with_note("nothing was measured yet, and nothing is kept".to_owned())
            }
            _ => stopped,
        };
    }
    judge(&mut run, &prepared.thresholds, prepared.not_judged());
    let rows = run.rows.len() as u64;
    if rows > 0 && of_the_device(&failure).is_some() {
        console.report(&mut run);
    }
    let mut stopped = Stopped::from(failure);
    if writer.draft(&run).is_ok() {
        stopped = stopped.with_note(kept(rows, &run.run_id));
    }
    stopped.run = (rows > 0).then(|| Box::new(run));
    stopped
}

/// What is kept of a run that was not carried out, and how to see it.
fn kept(rows: u64, id: &str) -> String {
    let shown = format!(
        "redolab runs show {id} prints it, redolab report {id} draws it, redolab runs delete {id} \
         removes it"
    );
    match rows {
        0 => {
            format!("no row was finished; what there is was kept as run {id} (incomplete): {shown}")
        }
        _ => {
            let rows = words::plural(rows, "row");
            format!("kept {rows} as run {id} (incomplete): {shown}")
        }
    }
}

/// Ends what was measured, and removes the folders that it was in.
pub(super) fn finish(target: LoadTarget, folders: Vec<WorkFolder>) -> Result<(), Failure> {
    target.close()?;
    folders.into_iter().try_for_each(remove)
}

/// Removes a work folder, and says what stayed.
pub(super) fn remove(folder: WorkFolder) -> Result<(), Failure> {
    folder.remove().map_err(|left| Failure::System {
        what: "removing the work folder".to_owned(),
        source: std::io::Error::other(left),
    })
}
