//! Whether planned rows fit the log on which they are to run, before anything is written.

use super::LogPlan;
use super::expected::{expected_bytes, row_name};
use crate::experiment::Failure;
use crate::experiment::measure::row::Spec;
use measure::Nanos;
use measure::words::size;
use measure::workload::{CommitPost, CommitWait, SIZE_SWEEP};
use redo::Triggers;

/// Refuses a sweep whose transactions do not fit into the log.
///
/// # Errors
/// Which size, and what to raise.
pub fn sweep_fits(specs: &[Spec], log: &LogPlan) -> Result<(), Failure> {
    let redo = |spec: &Spec| u64::from(spec.workload.redo_bytes);
    let Some(largest) = specs.iter().max_by_key(|spec| redo(spec)) else {
        return Ok(());
    };
    if largest.workload.name != SIZE_SWEEP {
        return Ok(());
    }
    let bytes = redo(largest);
    let whole = size(bytes);
    let buffer = log.buffer_bytes as u64;
    if bytes > buffer {
        return Err(Failure::Unusable(format!(
            "--sizes: a transaction with {whole} of redo does not fit into the log buffer of {}: \
             raise --log-buffer to at least {bytes}B, or end --sizes below it",
            size(buffer)
        )));
    }
    // Whole batches, and each block with its header: no transaction switches logs every time.
    let file = log.shape.file_bytes;
    if expected_bytes(&Spec {
        commits: Some(1),
        jobs: 1,
        ..largest.clone()
    }) > file / 2
    {
        return Err(Failure::Unusable(format!(
            "--sizes: a transaction with {whole} of redo takes more than half of a log file of {}, \
             so that the sweep would measure log switches: raise --log-file-size to at least {}B, \
             or end --sizes below it",
            size(file),
            bytes.saturating_mul(5) / 2
        )));
    }
    Ok(())
}

/// On the null device a commit takes less time than storing its events. So many events of a row fit
/// into the buffers between them, with room for buffers that are not full.
const EVENTS: u64 = 400_000;
/// With so much work before each commit events can be stored as fast as they come.
const CPU_PER_TXN_US: u64 = 20;
/// So can those of an open loop at this rate.
const EVENTS_PER_S: f64 = 50_000.0;

/// Refuses rows on the null device whose events would come faster than they can be stored, so that
/// some would be lost and the run would be invalid.
///
/// # Errors
/// What to change.
pub fn events_fit(specs: &[Spec]) -> Result<(), Failure> {
    let fits = |spec: &Spec| {
        let events = |n: u64| n.saturating_mul(spec.jobs.into());
        spec.commits.is_some_and(|n| events(n) <= EVENTS)
            || spec.cpu_per_txn >= Nanos::from_micros(CPU_PER_TXN_US)
            || spec
                .arrivals
                .is_some_and(|open| open.offered_per_s() <= EVENTS_PER_S)
    };
    let Some(spec) = specs.iter().find(|spec| !fits(spec)) else {
        return Ok(());
    };
    Err(Failure::Unusable(format!(
        "--events: on the null device {} would commit faster than events can be stored, and events \
         would be lost. Use --commits {} or less, --cpu-per-txn {}us or more, or measure a device \
         (redolab run PATH --events)",
        row_name(spec),
        EVENTS / u64::from(spec.jobs.max(1)),
        CPU_PER_TXN_US
    )))
}

/// Refuses sessions that would wait for ever: each has commits to make, and nothing has the last
/// ones written.
///
/// # Errors
/// What to change.
pub fn ends(specs: &[Spec], triggers: &Triggers) -> Result<(), Failure> {
    let Some(spec) = specs.iter().find(|s| s.commits.is_some()) else {
        return Ok(());
    };
    let mode = spec.workload.commit;
    let posts = triggers.commit && mode.post == CommitPost::Immediate;
    if mode.wait == CommitWait::Nowait || posts || triggers.period.is_some() {
        return Ok(());
    }
    Err(Failure::Unusable(format!(
        "--commits with --flush-triggers {triggers} would never end: commits WAIT, and no trigger \
         makes the log writer write the last ones; add a time such as 3s to --flush-triggers (or \
         commit, if commits are IMMEDIATE), or use --time"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use measure::workload::Workload;

    fn spec(workload: Workload, jobs: u32) -> Spec {
        Spec::closed(workload, jobs, Nanos::from_secs(10), Nanos::ZERO)
    }

    #[test]
    fn a_sweep_that_does_not_fit_says_what_to_raise() {
        let log = LogPlan::default();
        let sweep = |bytes| [spec(Workload::size_sweep(bytes), 1)];
        assert!(sweep_fits(&sweep(16 << 20), &log).is_ok());
        let refusal = sweep_fits(&sweep(17 << 20), &log)
            .expect_err("over the log buffer")
            .to_string();
        assert!(refusal.contains("--log-buffer"), "{}", refusal);
        let mut small = LogPlan::default();
        small.shape.file_bytes = 16 << 20;
        assert!(sweep_fits(&sweep(4 << 20), &small).is_ok());
        let refusal = sweep_fits(&sweep(8 << 20), &small)
            .expect_err("over half a log")
            .to_string();
        assert!(refusal.contains("--log-file-size"), "{}", refusal);
        assert!(sweep_fits(&[spec(Workload::storm(), 1)], &small).is_ok());
    }
}
