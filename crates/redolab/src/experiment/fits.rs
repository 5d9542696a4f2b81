//! Whether planned rows fit the log on which they are to run, before anything is written.

use super::Failure;
use super::expected::expected_bytes;
use super::plan::LogPlan;
use super::row::Spec;
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
