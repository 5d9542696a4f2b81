//! What a commit's wait consists of, from the rows of `check --explain-latency`: study 000's
//! experiment, measured in interleaved rounds.
//!
//! The parts of log file sync, by the stations of its log write; they add up to it:
//! ```text
//! asked ─── group commit ───┬─── log writer ───┬─────── I/O ───────┬─── CPU ───► runs again
//!      an earlier log write │ the rest of      │ its own log write │ from durable until the
//!      is in flight         │ the queue        │ (write and flush) │ session runs
//! ```
//! Invariants: a round of a row is one sample, however many commits it has, since commits of a
//! round share the state of the machine; ratios are those of rounds with one number. A round
//! without a figure, such as one without a commit, is in no mean of that figure, and means count
//! their rounds.

use crate::stats::{Estimate, Moments, blocks};
use measure::WaitEvent;
use measure::run::{Row, RowCondition, Run};

/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A part of log file sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyPart {
    /// The commit's own log write: from its submission until it was durable.
    Io,
    /// An earlier log write was in flight when the commit was asked for.
    GroupCommit,
    /// From durable until the session ran again.
    Cpu,
    /// The rest: the log writer collects, seals and submits, or waits for a processor itself.
    LogWriter,
}

impl LatencyPart {
    /// All, in the order of [`ExplainedCondition::parts`].
    pub const ALL: [LatencyPart; 4] = [
        LatencyPart::Io,
        LatencyPart::GroupCommit,
        LatencyPart::Cpu,
        LatencyPart::LogWriter,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LatencyPart::Io => "I/O",
            LatencyPart::GroupCommit => "group commit",
            LatencyPart::Cpu => "CPU",
            LatencyPart::LogWriter => "log writer",
        }
    }

    /// Its key in the numbers of a finding, without the unit.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            LatencyPart::Io => "io",
            LatencyPart::GroupCommit => "group_commit",
            LatencyPart::Cpu => "cpu",
            LatencyPart::LogWriter => "log_writer",
        }
    }

    /// What it is, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            LatencyPart::Io => "its own log write",
            LatencyPart::GroupCommit => "an earlier log write",
            LatencyPart::Cpu => "from durable until it ran again",
            LatencyPart::LogWriter => "the rest of the queue",
        }
    }
}

/// The mean of rounds with its interval, which one round does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsMean {
    /// The mean.
    pub mean: f64,
    /// Number of rounds that have the figure.
    pub rounds: usize,
    /// Ends of the interval at [`CONFIDENCE`]; the lower end of what cannot be negative is at
    /// least 0.
    pub interval: Option<(f64, f64)>,
}

impl RoundsMean {
    fn of(rounds: &[f64]) -> Option<RoundsMean> {
        let moments = Moments::of(rounds).ok()?;
        let half = (rounds.len() > 1).then(|| {
            let error = moments.variance_of_mean().sqrt();
            blocks::t_half_width(error, moments.n - 1.0, CONFIDENCE)
        });
        Some(RoundsMean {
            mean: moments.mean,
            rounds: rounds.len(),
            interval: half.map(|half| ((moments.mean - half).max(0.0), moments.mean + half)),
        })
    }
}

/// What the rounds of one condition gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCondition {
    /// The condition; its round is 0.
    pub condition: RowCondition,
    /// Number of its rounds.
    pub rounds: usize,
    /// Commits per second.
    pub commits_per_s: Option<RoundsMean>,
    /// Log file sync in nanoseconds; `None` where sessions did not wait.
    pub sync_ns: Option<RoundsMean>,
    /// Its parts in nanoseconds, in the order of [`LatencyPart::ALL`].
    pub parts: Option<[RoundsMean; 4]>,
    /// Commits whose wait could be divided, in percent of those that waited.
    pub joined_pct: Option<RoundsMean>,
    /// Nanoseconds per commit for which the session's thread waited for a processor.
    pub run_queue_ns: Option<RoundsMean>,
    /// Commits per second, divided by those of the base.
    pub rate_ratio: Option<Estimate>,
    /// Log file sync, divided by that of the base.
    pub sync_ratio: Option<Estimate>,
    /// The part I/O, divided by that of the base.
    pub io_ratio: Option<Estimate>,
}

/// What a commit's wait consists of, and how it changes with the conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyExplanation {
    /// The workload of the base.
    pub workload: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Online processors.
    pub processors: u32,
    /// The conditions; the first is the base.
    pub conditions: Vec<ExplainedCondition>,
}

impl LatencyExplanation {
    /// The condition that the others are compared with: WAIT IMMEDIATE and nothing beside.
    #[must_use]
    pub fn base(&self) -> &ExplainedCondition {
        &self.conditions[0]
    }

    /// What distinguishes a condition from the base, in words.
    #[must_use]
    pub fn label(&self, of: &ExplainedCondition) -> String {
        let (base, condition) = (&self.base().condition, &of.condition);
        let commit_write = |c: &RowCondition| c.commit_write.replace('-', " ").to_uppercase();
        if condition == base {
            return format!("{}, {}", commit_write(base), base.log_file_sync);
        }
        let mut words = Vec::new();
        if condition.commit_write != base.commit_write {
            words.push(commit_write(condition));
        }
        if condition.log_file_sync != base.log_file_sync {
            words.push(condition.log_file_sync.clone());
        }
        if condition.busy_threads != base.busy_threads {
            let count = u64::from(condition.busy_threads);
            words.push(crate::format::plural(count, "busy thread"));
        }
        words.join(", ")
    }
}

/// The explanation; `None` of a run without conditions.
#[must_use]
pub fn explain(run: &Run) -> Option<LatencyExplanation> {
    let mut grouped: Vec<(RowCondition, Vec<(u32, &Row)>)> = Vec::new();
    for row in &run.rows {
        let Some(of_row) = &row.condition else {
            continue;
        };
        let condition = RowCondition {
            round: 0,
            ..of_row.clone()
        };
        let round = (of_row.round, row);
        match grouped.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, rounds)) => rounds.push(round),
            None => grouped.push((condition, vec![round])),
        }
    }
    let (_, base) = grouped.first()?;
    let (_, first) = base.first()?;
    let explained = |(condition, rounds): &(RowCondition, Vec<(u32, &Row)>)| {
        let is_base = std::ptr::eq(rounds, base);
        let against = (!is_base).then_some(base.as_slice());
        condition_of(condition, rounds, against)
    };
    Some(LatencyExplanation {
        workload: first.workload.clone(),
        jobs: first.jobs,
        processors: run.environment.cpus,
        conditions: grouped.iter().map(explained).collect(),
    })
}

fn condition_of(
    condition: &RowCondition,
    rounds: &[(u32, &Row)],
    base: Option<&[(u32, &Row)]>,
) -> ExplainedCondition {
    let each = |figure: &dyn Fn(&Row) -> Option<f64>| -> Option<RoundsMean> {
        let figures = rounds.iter().filter_map(|(_, row)| figure(row));
        RoundsMean::of(&figures.collect::<Vec<f64>>())
    };
    let part = |index: usize| each(&|row| parts(row).map(|parts| parts[index]));
    let means = match [part(0), part(1), part(2), part(3)] {
        [Some(a), Some(b), Some(c), Some(d)] => Some([a, b, c, d]),
        _ => None,
    };
    let ratio = |figure: fn(&Row) -> Option<f64>| ratio(base?, rounds, figure);
    ExplainedCondition {
        condition: condition.clone(),
        rounds: rounds.len(),
        commits_per_s: each(&|row| row.commit_throughput_tps),
        sync_ns: each(&sync_ns),
        parts: means,
        joined_pct: each(&joined_pct),
        run_queue_ns: each(&|row| row.commit_path.as_ref()?.run_queue_ns),
        rate_ratio: ratio(|row| row.commit_throughput_tps),
        sync_ratio: ratio(sync_ns),
        io_ratio: ratio(|row| parts(row).map(|[io_ns, ..]| io_ns)),
    }
}

fn sync_ns(row: &Row) -> Option<f64> {
    let sync = row.wait(WaitEvent::LogFileSync)?;
    (sync.count > 0).then_some(sync.mean_ns)
}

/// The parts of a row's log file sync, in nanoseconds, in the order of [`LatencyPart::ALL`].
fn parts(row: &Row) -> Option<[f64; 4]> {
    let parts = row.commit_path.as_ref()?.parts.as_ref()?;
    Some([
        parts.io_ns,
        parts.group_commit_ns,
        parts.cpu_ns,
        parts.log_writer_ns,
    ])
}

/// Commits whose wait could be divided, in percent of those that waited.
fn joined_pct(row: &Row) -> Option<f64> {
    let joined = row.commit_path.as_ref()?.parts.as_ref()?.commits;
    let waited = row.wait(WaitEvent::LogFileSync)?.count;
    (waited > 0).then(|| 100.0 * joined as f64 / waited as f64)
}

/// Geometric mean of the ratios of rounds with one number; `None` with fewer than two of them.
fn ratio(
    base: &[(u32, &Row)],
    rounds: &[(u32, &Row)],
    figure: fn(&Row) -> Option<f64>,
) -> Option<Estimate> {
    let positive = |row: &Row| figure(row).filter(|value| *value > 0.0);
    let pairs = rounds.iter().filter_map(|(round, row)| {
        let (_, of_base) = base.iter().find(|(of, _)| of == round)?;
        Some((positive(row)? / positive(of_base)?).ln())
    });
    let logs: Vec<f64> = pairs.collect();
    if logs.len() < 2 {
        return None;
    }
    let moments = Moments::of(&logs).ok()?;
    let error = moments.variance_of_mean().sqrt();
    let ratio = blocks::of_ln(moments.mean, error, moments.n - 1.0, CONFIDENCE);
    ratio.ok().map(|ratio| ratio.ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::explained_run;

    fn near(found: f64, want: f64) -> bool {
        (found - want).abs() < 1e-6 * want.abs().max(1.0)
    }

    /// Student's interval of 3 rounds: mean 200, standard deviation 10, t(0.975, 2) = 4.302653.
    #[test]
    fn parts_add_up_and_rounds_are_the_samples() {
        let run = explained_run(&[190.0, 200.0, 210.0]);
        let explained = explain(&run).expect("it has conditions");
        let base = explained.base();
        let sync = base.sync_ns.expect("sessions waited");
        assert!(near(sync.mean, 200e3), "{sync:?}");
        let (low, high) = sync.interval.expect("three rounds");
        let half = 4.302_652_729_911_275 * 10e3 / 3_f64.sqrt();
        assert!(near(low, 200e3 - half) && near(high, 200e3 + half));
        let parts = base.parts.expect("all of them");
        let sum: f64 = parts.iter().map(|part| part.mean).sum();
        assert!(near(sum, 200e3), "{parts:?}");
        assert!(near(parts[0].mean, 100e3) && near(parts[1].mean, 60e3));
        assert!(near(parts[2].mean, 30e3) && near(parts[3].mean, 10e3));
        assert_eq!(base.sync_ratio, None);
        let labels: Vec<String> = explained
            .conditions
            .iter()
            .map(|c| explained.label(c))
            .collect();
        assert_eq!(
            labels,
            [
                "WAIT IMMEDIATE, adaptive",
                "NOWAIT BATCH",
                "4 busy threads",
                "polling"
            ]
        );
        let busy = explained.conditions[2].sync_ratio.expect("three pairs");
        // Of each round by 3, 2.9 and 3.1, so that rounds differ.
        assert!(busy.value > 2.9 && busy.value < 3.1, "{busy:?}");
        assert!(busy.low > 2.5 && busy.high < 3.5, "{busy:?}");
        let nowait = &explained.conditions[1];
        assert_eq!((nowait.sync_ns, nowait.parts), (None, None));
        assert!(nowait.rate_ratio.is_some_and(|ratio| ratio.value > 1.5));
    }

    #[test]
    fn what_was_not_measured_is_not_explained() {
        let mut run = explained_run(&[200.0]);
        let explained = explain(&run).expect("it has conditions");
        let sync = explained.base().sync_ns.expect("sessions waited");
        assert_eq!(sync.interval, None, "one round varies with nothing");
        assert_eq!(explained.conditions[2].sync_ratio, None);
        for row in &mut run.rows {
            row.commit_path = None;
        }
        let explained = explain(&run).expect("it has conditions");
        assert_eq!(explained.base().parts, None);
        let mut run = explained_run(&[190.0, 200.0, 210.0]);
        run.rows[0].waits.clear();
        run.rows[0].commit_path = None;
        let explained = explain(&run).expect("it has conditions");
        let sync = explained.base().sync_ns.expect("two rounds");
        assert_eq!((sync.rounds, explained.base().rounds), (2, 3));
        assert!(
            near(sync.mean, 205e3),
            "a round without a wait is no wait of 0"
        );
        run.rows.iter_mut().for_each(|row| row.condition = None);
        assert_eq!(explain(&run), None);
    }
}
