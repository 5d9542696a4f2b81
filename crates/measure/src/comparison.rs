//! `Comparison`: runs beside each other, as plain data. `redolab compare` prints it, a report draws
//! it; what shows it computes nothing.
//!
//! Invariants: units are in the key or beside the figure; what could not be computed is
//! `None` and says why; the first run is the base, and every ratio is another run over it. Text
//! that came from runs is made harmless by what shows it.

use crate::enum_words::words;
use crate::imported::Table;
use crate::judgement::{Answer, Durability, Performance};
use crate::run::{Origin, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Id of the table in which figures of imported runs are paired by their place.
pub const EVIDENCE_TABLE: &str = "compare_evidence";
/// Id of the table of what two sets of evidence show of the same thing, in words.
pub const BEFORE_AFTER: &str = "compare_before_after";
/// The schema's name and version.
pub const SCHEMA: &str = "redolab.comparison/1";

/// Runs compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// RFC 3339 time of creation, UTC.
    pub created: String,
    /// Version that made it.
    pub redolab_version: String,
    /// The command that made it, argument by argument.
    pub command: Vec<String>,
    /// How figures were compared.
    pub method: Method,
    /// The runs; the first is the base.
    pub runs: Vec<ComparedRun>,
    /// What a reader has to know before any figure, such as two targets on one device; a sentence
    /// each.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Which run wins: a decision for each run but the base.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// Which run is better, row by row, by commits per second and the 99th percentile.
    #[serde(default)]
    pub answers: Vec<RowAnswer>,
    /// All differences: for each row that the runs share, metric by metric.
    pub differences: Vec<Difference>,
    /// What is not comparable, and why.
    pub not_compared: Vec<NotCompared>,
    /// Tables beside the differences, as those of study 001: throughput and requests, the device's
    /// own counters, top events. Cells are numbers in the unit that a column's key ends with.
    pub tables: Vec<Table>,
    /// Distributions to draw.
    pub distributions: Vec<Distribution>,
    /// Conditions that were asked for, and whether they are breached.
    pub conditions: Vec<Condition>,
    /// Exit code of the command: 3 where a condition is breached; 4 where a condition is
    /// undetermined, a run is invalid or unfinished, or nothing could be compared.
    #[serde(default)]
    pub exit_code: u8,
}

impl Comparison {
    /// Whether anything of the runs could be paired.
    #[must_use]
    pub fn has_pairs(&self) -> bool {
        !self.differences.is_empty()
            || self
                .tables
                .iter()
                .any(|t| [EVIDENCE_TABLE, BEFORE_AFTER].contains(&t.id.as_str()))
    }

    /// The decision on a run; `None` for the base.
    #[must_use]
    pub fn decision(&self, run: usize) -> Option<&Decision> {
        self.decisions.iter().find(|d| d.run_b == run)
    }
}

/// How figures were compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Confidence of every interval, such as 0.95.
    pub level: f64,
    /// Resamples of the bootstrap.
    pub resamples: u32,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Pairs of rounds of a live comparison; `None` where stored runs were compared.
    pub rounds: Option<u32>,
    /// What the figures beside a ratio are, such as geometric means of the rounds: a sentence.
    #[serde(default)]
    pub figures: String,
    /// What varied independently, how intervals and p-values were made, and what they take for
    /// granted: a sentence each.
    pub notes: Vec<String>,
}

/// The word for what no verdict says.
const NOT_JUDGED: &str = "not judged";

/// A run in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// What it is called here: its name in a live comparison, else its label if no other run here
    /// has it, else its id.
    pub name: String,
    /// Name in the store; of a live comparison the first round's.
    pub run_id: String,
    /// Names in the store of all rounds of a live comparison, in their order; empty otherwise.
    #[serde(default)]
    pub round_ids: Vec<String>,
    /// Where its figures come from.
    pub origin: Origin,
    /// RFC 3339 time of creation, UTC.
    pub created: String,
    /// It was finished; figures of an unfinished run are those that it had written.
    pub complete: bool,
    /// No problem makes its figures wrong.
    pub valid: bool,
    /// Problems of the run.
    pub problems: Vec<Problem>,
    /// Kind of its target.
    pub target_kind: String,
    /// Path of its target.
    pub target_path: String,
    /// What stands there: file system, device model, layers, in one line; empty where unknown.
    pub target_detail: String,
    /// Single events are stored, not only interval histograms.
    pub has_events: bool,
    /// Tags that the user gave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The answer of its verdict, of rounds the worst one; `None` for a run without a verdict, such
    /// as imported evidence.
    #[serde(default)]
    pub verdict: Option<Answer>,
    /// Whether its acknowledged writes survive power loss, of rounds the worst; `None` where
    /// nothing is known of its target.
    #[serde(default)]
    pub durability: Option<Durability>,
    /// What the word of its durability rests on: who declares it, how many cuts tested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability_basis: Option<String>,
    /// Whether it meets the stated need, of rounds the worst; `None` for a run without a verdict.
    #[serde(default)]
    pub performance: Option<Performance>,
}

impl ComparedRun {
    /// Its figures are right and complete.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.valid && self.complete
    }

    /// It is known to lose acknowledged writes when the power fails.
    #[must_use]
    pub fn loses_commits(&self) -> bool {
        self.durability.is_some_and(Durability::loses_commits)
    }

    /// `verdict: no, durability: volatile, performance: no need stated`.
    #[must_use]
    pub fn judged_in_words(&self) -> String {
        format!(
            "verdict: {}, durability: {}, performance: {}",
            self.verdict.map_or(NOT_JUDGED, Answer::word),
            self.durability_in_words(),
            self.performance.map_or(NOT_JUDGED, Performance::word),
        )
    }

    /// `volatile`, `tested (20 cuts: below 13.9 % per cut)`, or `not judged`.
    #[must_use]
    pub fn durability_in_words(&self) -> String {
        let basis = self.durability_basis.as_deref();
        let words = |durability: Durability| durability.with_basis(basis);
        self.durability.map_or_else(|| NOT_JUDGED.to_owned(), words)
    }

    /// `key=value, key=value`; empty without tags.
    #[must_use]
    pub fn tags_in_words(&self) -> String {
        crate::run::RunNotes::in_words(&self.tags)
    }
}

/// What varied, so that an interval could be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Single events in sequence, drawn in blocks.
    Events,
    /// Interval histograms, drawn whole, in blocks.
    Intervals,
    /// Rounds of an interleaved comparison.
    Rounds,
    /// Number, mean and standard deviation only: events are taken as independent.
    Moments,
    /// The figure has no noise: it is a count, or it was the same in all intervals.
    Exact,
    /// Nothing: the ratio stands without an interval.
    None,
}

/// Which direction is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less.
    Lower,
    /// More.
    Higher,
    /// It depends.
    Neither,
}

/// How large a difference is, whether or not it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Of no practical weight.
    Negligible,
    /// Small.
    Small,
    /// Medium.
    Medium,
    /// Large.
    Large,
}

impl Size {
    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Size::Negligible => "negligible",
            Size::Small => "small",
            Size::Medium => "medium",
            Size::Large => "large",
        }
    }
}

/// One metric of one row in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The metric, as conditions name it: `commit_throughput_tps`, `log_file_sync.p99`.
    pub metric: String,
    /// Workload of the row.
    pub workload: String,
    /// Jobs of the row.
    pub jobs: u32,
    /// The base's place in `runs`: always 0.
    pub run_a: usize,
    /// The other's place in `runs`.
    pub run_b: usize,
    /// Unit of `a` and `b`: `ns`, `1/s`, `MB/s`, `%`, empty for a pure number.
    pub unit: String,
    /// Which direction is the better one.
    pub better: Better,
    /// The base's figure; `None` where it was not measured. Of rounds: their geometric mean.
    pub a: Option<f64>,
    /// The other's figure.
    pub b: Option<f64>,
    /// `b` over `a`.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub ci_low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub ci_high: Option<f64>,
    /// Effect size, positive where `b` is larger.
    pub effect: Option<f64>,
    /// What `effect` is: `cohens_d` of single waits, or `cliffs_delta`; empty where there is none.
    pub effect_kind: String,
    /// Two-sided, of no difference; 0 where it is below what a number can hold.
    pub p_value: Option<f64>,
    /// The p-value as it is printed, such as `< 2.2e-16`; empty where there is none.
    pub p_text: String,
    /// What varied.
    pub basis: Basis,
    /// Intervals, rounds or events of the base.
    pub units_a: u64,
    /// Intervals, rounds or events of the other.
    pub units_b: u64,
    /// The interval leaves a ratio of 1 out; `None` where there is no interval, and where there are
    /// too few rounds to decide.
    pub significant: Option<bool>,
    /// How large it is.
    pub size: Option<Size>,
    /// The smallest difference, in percent, that this test finds with 80 % power.
    pub detectable_pct: Option<f64>,
    /// Significance and size in words; where there is no interval, why.
    pub sentence: String,
}

/// What a row of one run shows against the base, or the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// One of both is better in at least one figure and worse in none.
    Better,
    /// Each is better in one figure.
    Mixed,
    /// The better one loses acknowledged writes when the power fails, and the other is not known to
    /// do so: nobody wins.
    NotDurable,
    /// No figure differs significantly and by more than a negligible amount.
    NoDifference,
    /// The interval of a figure contains both a gain and a harm that are more than negligible.
    CannotTell,
    /// Too few rounds to decide; the intervals are given.
    TooFewRounds,
    /// No figure has an interval.
    NoInterval,
    /// One of the runs is invalid or unfinished.
    Invalid,
    /// No row that the runs share has a figure that decides.
    NotComparable,
}

/// Which run wins against the base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The other run's place in `runs`.
    pub run_b: usize,
    /// What the rows show together.
    pub outcome: RowOutcome,
    /// Place in `runs` of the winner; `None` where there is none.
    pub winner: Option<usize>,
    /// The answer in a few words: `ssd wins`.
    pub answer: String,
    /// Why: a sentence or two.
    pub reason: String,
    /// The durability of both runs, and what follows from it.
    pub durability: String,
}

/// Which run is better in one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowAnswer {
    /// Workload of the row.
    pub workload: String,
    /// Jobs of the row.
    pub jobs: u32,
    /// The other run's place in `runs`.
    pub run_b: usize,
    /// What the row shows.
    pub outcome: RowOutcome,
    /// Place in `runs` of the winner; `None` where there is none.
    pub winner: Option<usize>,
    /// Place in `runs` of the one with the better figures, also where it does not win because it
    /// loses acknowledged writes.
    #[serde(default)]
    pub faster: Option<usize>,
    /// Places in `differences` of the figures that decide: commits per second, then the 99th
    /// percentile of what a commit waits.
    pub by: Vec<usize>,
    /// The answer in a few words: `ssd is better`.
    #[serde(default)]
    pub result: String,
    /// The answer in words, with absolute figures and intervals.
    pub sentence: String,
}

/// Something that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCompared {
    /// The run's place in `runs` that differs from the base.
    pub run_b: usize,
    /// What: a row, a metric, the runs as such.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A distribution of one series in one run, to be drawn beside those of the other runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The run's place in `runs`.
    pub run: usize,
    /// Workload of the row.
    pub workload: String,
    /// Jobs of the row.
    pub jobs: u32,
    /// Wait-event key, such as `log_file_sync`.
    pub event: String,
    /// Values.
    pub count: u64,
    /// Density on a logarithmic axis: `(lowest ns, highest ns, share of all values)`, ascending.
    /// Buckets are about 9 % wide; empty ones are left out.
    pub density: Vec<(u64, u64, f64)>,
    /// Percentile curve: `(percentile, ns)`.
    pub curve: Vec<(f64, u64)>,
}

/// What the figures say of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionState {
    /// The figure is beyond the limit: for certain, or as an exact figure.
    Breached,
    /// The figure is within the limit, likewise.
    NotBreached,
    /// The figures do not show which of both.
    #[default]
    Undetermined,
}

words!(ConditionState {
    Breached => "breached",
    NotBreached => "not breached",
    Undetermined => "undetermined",
});

/// A condition that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// Whether it is breached.
    #[serde(default)]
    pub state: ConditionState,
    /// It is breached.
    pub breached: bool,
    /// It could not be judged.
    pub undetermined: bool,
    /// The figures behind it.
    pub detail: String,
}

impl Condition {
    /// A condition in this state.
    #[must_use]
    pub fn new(text: &str, state: ConditionState, detail: String) -> Condition {
        Condition {
            text: text.to_owned(),
            state,
            breached: state == ConditionState::Breached,
            undetermined: state == ConditionState::Undetermined,
            detail,
        }
    }
}
