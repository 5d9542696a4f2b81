//! Options that shape the load of `run` and `check`: open loops, soaks, what redo is made of.

use super::CommandError;
use super::values;
use crate::experiment::expected::expected_bytes;
use crate::experiment::plan::LogPlan;
use crate::experiment::row::Spec;
use clap::Args;
use measure::Nanos;
use measure::units::parse_rate;
use measure::words::size;
use measure::workload::arrivals::{Arrivals, Burst, Process};
use measure::workload::payload::parse_ratio;
use measure::workload::{CommitPost, CommitWait, Payload, SIZE_SWEEP};
use redo::Triggers;

/// Sessions that serve an open loop when no jobs are named, and sessions of a soak.
pub(crate) const OPEN_JOBS: u32 = 32;
/// See [`OPEN_JOBS`].
pub(crate) const SOAK_JOBS: u32 = 8;
/// An open loop with fewer arrivals says nothing.
const ARRIVALS_MIN: f64 = 10.0;

/// The load's options.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Open loop: start this many commits per second (5000 or 5k), even if earlier ones have not
    /// finished. Each latency counts from the time when its commit was due; --jobs is the number of
    /// sessions
    #[arg(long, value_name = "N", value_parser = parse_rate, help_heading = "Load")]
    pub(crate) rate: Option<f64>,
    /// When the commits of --rate are due: constant (at equal distances) or poisson (at random)
    /// [default: constant]
    #[arg(
        long,
        value_name = "PROCESS",
        requires = "rate",
        help_heading = "Load",
        value_parser = values::arrivals()
    )]
    arrivals: Option<Process>,
    /// Bursts in addition to --rate, such as 500@1s (500 commits at once, every second)
    #[arg(
        long,
        value_name = "SIZE@PERIOD",
        requires = "rate",
        help_heading = "Load",
        value_parser = str::parse::<Burst>
    )]
    burst: Option<Burst>,
    /// Compression ratio of the redo (uncompressed size divided by compressed size), from 1
    /// (incompressible) to 20
    #[arg(
        long,
        value_name = "RATIO",
        default_value = "1",
        help_heading = "Load",
        value_parser = parse_ratio
    )]
    compressibility: f64,
    /// Deduplication ratio of the redo (number of 4 KiB units divided by the number of distinct
    /// units), from 1 (all unique) to 20
    #[arg(
        long,
        value_name = "RATIO",
        default_value = "1",
        help_heading = "Load",
        value_parser = parse_ratio
    )]
    dedupe: f64,
}

impl LoadArgs {
    /// The open loop's arrivals in a measured time, if it is one.
    pub(crate) fn arrivals(&self, time: Nanos) -> Result<Option<Arrivals>, CommandError> {
        let Some(rate) = self.rate else {
            return Ok(None);
        };
        let (process, burst) = (self.arrivals.unwrap_or_default(), self.burst);
        let arrivals = Arrivals::new(rate, process, burst)
            .map_err(|e| CommandError::usage(format!("--rate: {e}")))?;
        let expected = arrivals.offered_per_s() * time.as_secs();
        if expected < ARRIVALS_MIN {
            return Err(CommandError::usage(format!(
                "--rate {rate}: {expected:.1} commits are due in {} s, too few for a result; \
                 measure longer (--time, --soak) or raise --rate",
                time.as_secs()
            )));
        }
        Ok(Some(arrivals))
    }

    /// What redo is made of.
    pub(crate) fn payload(&self) -> Payload {
        Payload {
            compressibility: self.compressibility,
            dedupe: self.dedupe,
        }
    }
}

/// Refuses a sweep that the log cannot take as one transaction: which size, and what to raise.
pub(crate) fn sweep_fits(specs: &[Spec], log: &LogPlan) -> Result<(), CommandError> {
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
        return Err(CommandError::usage(format!(
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
        return Err(CommandError::usage(format!(
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
pub(crate) fn ends(specs: &[Spec], triggers: &Triggers) -> Result<(), CommandError> {
    let Some(spec) = specs.iter().find(|s| s.commits.is_some()) else {
        return Ok(());
    };
    let mode = spec.workload.commit;
    let posts = triggers.commit && mode.post == CommitPost::Immediate;
    if mode.wait == CommitWait::Nowait || posts || triggers.period.is_some() {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "--commits with --flush-triggers {triggers} would never end: commits WAIT, and no trigger \
         makes the log writer write the last ones; add a time such as 3s to --flush-triggers (or \
         commit, if commits are IMMEDIATE), or use --time"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::workload::Workload;

    fn spec(workload: Workload, jobs: u32) -> Spec {
        Spec::closed(workload, jobs, Nanos::from_secs(10), Nanos::ZERO)
    }

    #[test]
    fn a_sweep_that_does_not_fit_says_what_to_raise() {
        let log = LogPlan::default();
        let sweep = |bytes| [spec(Workload::size_sweep(bytes), 1)];
        assert!(sweep_fits(&sweep(16 << 20), &log).is_ok());
        let told = sweep_fits(&sweep(17 << 20), &log).expect_err("over the log buffer");
        assert!(told.message.contains("--log-buffer"), "{}", told.message);
        let mut small = LogPlan::default();
        small.shape.file_bytes = 16 << 20;
        assert!(sweep_fits(&sweep(4 << 20), &small).is_ok());
        let told = sweep_fits(&sweep(8 << 20), &small).expect_err("over half a log");
        assert!(told.message.contains("--log-file-size"), "{}", told.message);
        assert!(sweep_fits(&[spec(Workload::storm(), 1)], &small).is_ok());
    }
}
