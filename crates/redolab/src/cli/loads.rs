//! Options that shape the load of `run` and `check`: open loops, soaks, what redo is made of; and
//! what a load is expected to write.

use super::CommandError;
use super::common::duration;
use crate::experiment::doubt::Limited;
use crate::experiment::meter::Meter;
use crate::experiment::row::Spec;
use crate::experiment::target::Setup;
use crate::safety::size;
use clap::Args;
use measure::Nanos;
use measure::run::{Row, SizeSweep};
use measure::units::parse_rate;
use measure::workload::arrivals::{Arrivals, Process};
use measure::workload::payload::parse_ratio;
use measure::workload::{CommitPost, CommitWait, Payload, SIZE_SWEEP};
use redo::Triggers;

/// Sessions that serve an open loop when no jobs are named, and sessions of a soak.
pub(crate) const OPEN_JOBS: u32 = 32;
/// See [`OPEN_JOBS`].
pub(crate) const SOAK_JOBS: u32 = 8;
/// An open loop with fewer arrivals says nothing.
const ARRIVALS_MIN: f64 = 10.0;
/// A soak's shortest and longest time.
const SOAK_MIN: Nanos = Nanos::from_secs(2);
const SOAK_MAX: Nanos = Nanos::from_secs(7 * 86_400);
/// As fast as fast devices write: what a closed loop may come to.
const FAST_BYTES_PER_S: f64 = 2e9;
/// Header of a redo record, and the largest redo block with its header.
const RECORD_HEADER_BYTES: f64 = redo::format::RECORD_HEADER_BYTES as f64;
const BLOCK_BYTES: f64 = 4096.0;
const BLOCK_PAYLOAD_BYTES: f64 = 4096.0 - 40.0;

/// The load's options.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Open loop: start this many commits per second (5000 or 5k), whether or not earlier ones have
    /// finished. Latencies count from when each was due; --jobs is the number of sessions
    #[arg(long, value_name = "N", value_parser = parse_rate, help_heading = "Load")]
    pub(crate) rate: Option<f64>,
    /// Distribution of the arrivals: constant or poisson [default: constant]
    #[arg(long, value_name = "PROCESS", requires = "rate", help_heading = "Load")]
    arrivals: Option<String>,
    /// Additional bursts, such as 500@1s: 500 commits at once, every second
    #[arg(
        long,
        value_name = "SIZE@PERIOD",
        requires = "rate",
        help_heading = "Load"
    )]
    burst: Option<String>,
    /// Compressibility of the redo, as uncompressed : compressed size: from 1 (incompressible) to
    /// 20
    #[arg(long, value_name = "RATIO", default_value = "1", help_heading = "Load")]
    compressibility: String,
    /// Duplicates in the redo, as all : distinct units of 4 KiB: from 1 (unique) to 20
    #[arg(long, value_name = "RATIO", default_value = "1", help_heading = "Load")]
    dedupe: String,
}

impl LoadArgs {
    /// The open loop's arrivals in a measured time, if it is one.
    pub(crate) fn arrivals(&self, time: Nanos) -> Result<Option<Arrivals>, CommandError> {
        let Some(rate) = self.rate else {
            return Ok(None);
        };
        let process = match self.arrivals.as_deref() {
            None => Process::Constant,
            Some(text) => text
                .parse()
                .map_err(|e| CommandError::usage(format!("--arrivals: {e}")))?,
        };
        let burst = self.burst.as_deref().map(str::parse).transpose();
        let burst = burst.map_err(|e| CommandError::usage(format!("--burst: {e}")))?;
        let arrivals = Arrivals::new(rate, process, burst)
            .map_err(|e| CommandError::usage(format!("--rate: {e}")))?;
        let expected = arrivals.offered_per_s() * time.as_secs();
        if expected < ARRIVALS_MIN {
            return Err(CommandError::usage(format!(
                "--rate {rate}: {expected:.1} commits are due in {} s, too few to say anything; \
                 measure longer (--time, --soak) or offer more",
                time.as_secs()
            )));
        }
        Ok(Some(arrivals))
    }

    /// What redo is made of.
    pub(crate) fn payload(&self) -> Result<Payload, CommandError> {
        let ratio = |name: &str, text: &str| {
            parse_ratio(text).map_err(|e| CommandError::usage(format!("--{name}: {e}")))
        };
        Ok(Payload {
            compressibility: ratio("compressibility", &self.compressibility)?,
            dedupe: ratio("dedupe", &self.dedupe)?,
        })
    }
}

/// The time of a soak.
pub(crate) fn soak_time(text: &str) -> Result<Nanos, CommandError> {
    let time = duration("soak", text)?;
    if !(SOAK_MIN..=SOAK_MAX).contains(&time) {
        return Err(CommandError::usage(format!(
            "--soak {text}: use 2s to 168h; steady state shows after 45m"
        )));
    }
    Ok(time)
}

/// Bytes that a row writes at most, padding to whole blocks included; of a closed loop for a time,
/// as much as fast devices take.
pub(crate) fn expected_bytes(spec: &Spec) -> u64 {
    let workload = &spec.workload;
    let redo = f64::from(workload.redo_bytes) + RECORD_HEADER_BYTES * f64::from(workload.records);
    let transaction = (redo / BLOCK_PAYLOAD_BYTES).ceil() * BLOCK_BYTES;
    let seconds = (spec.time.plus(spec.warmup)).as_secs();
    let bytes = match (spec.commits, &spec.arrivals) {
        (Some(n), _) => n as f64 * f64::from(spec.jobs) * transaction,
        (None, Some(open)) => {
            let burst = open.burst.map_or(0.0, |burst| f64::from(burst.size));
            (open.offered_per_s() * seconds + burst) * transaction
        }
        (None, None) => seconds * FAST_BYTES_PER_S,
    };
    // A cast saturates.
    (bytes as u64).min(spec.max_redo_bytes.saturating_add(spec.max_redo_bytes / 2))
}

/// What each row would write, for a dry run.
pub(crate) fn announced(specs: &[Spec]) -> Vec<String> {
    let line = |spec: &Spec| {
        let commits = match (spec.commits, &spec.arrivals) {
            (Some(n), _) => format!(
                "{n} commits each, {} in all",
                n.saturating_mul(u64::from(spec.jobs))
            ),
            (None, Some(open)) => format!(
                "{} commits per second for {} s",
                open.offered_per_s(),
                spec.time.as_secs()
            ),
            (None, None) => format!("{} s", spec.time.as_secs()),
        };
        format!(
            "  {} with {}: {} of redo a transaction, {commits}: up to {}",
            spec.workload.name,
            analysis::format::jobs(spec.jobs),
            size(u64::from(spec.workload.redo_bytes)),
            size(expected_bytes(spec))
        )
    };
    specs.iter().map(line).collect()
}

/// Refuses a sweep that the log cannot take as one transaction: which size, and what to raise.
pub(crate) fn sweep_fits(specs: &[Spec], setup: &Setup) -> Result<(), CommandError> {
    let redo = |spec: &Spec| u64::from(spec.workload.redo_bytes);
    let Some(largest) = specs.iter().max_by_key(|spec| redo(spec)) else {
        return Ok(());
    };
    if largest.workload.name != SIZE_SWEEP {
        return Ok(());
    }
    let bytes = redo(largest);
    let whole = size(bytes);
    let buffer = setup.buffer_bytes as u64;
    if bytes > buffer {
        return Err(CommandError::usage(format!(
            "--sizes: a transaction with {whole} of redo does not fit the log buffer of {}: raise \
             --log-buffer to at least {bytes}B, or end the sweep there",
            size(buffer)
        )));
    }
    // Whole batches, and each block with its header: no transaction switches logs every time.
    let file = setup.shape.file_bytes;
    if expected_bytes(&Spec {
        commits: Some(1),
        jobs: 1,
        ..largest.clone()
    }) > file / 2
    {
        return Err(CommandError::usage(format!(
            "--sizes: a transaction with {whole} of redo takes more than half of a log file of {}, \
             so that log switches would be measured: raise --log-file-size to at least {}B, \
             or end the sweep there",
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
        "--commits with --flush-triggers {triggers} would never end: commits WAIT, and nothing has \
         the last ones written; add a time such as 3s to --flush-triggers (with IMMEDIATE commits, \
         commit does too), or use --time"
    )))
}

/// What a run says of a sweep: its sizes, where a break is expected, and study 002's controls.
pub(crate) fn size_sweep(specs: &[Spec], setup: &Setup, block_bytes: u32) -> Option<SizeSweep> {
    let swept = |spec: &&Spec| spec.workload.name == SIZE_SWEEP;
    let mut sizes: Vec<u32> = specs
        .iter()
        .filter(swept)
        .map(|s| s.workload.redo_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    (!sizes.is_empty()).then(|| SizeSweep {
        sizes_bytes: sizes,
        flush_threshold_bytes: setup.triggers.bytes.map(u64::from),
        buffer_third_bytes: setup
            .triggers
            .third
            .then_some(setup.buffer_bytes as u64 / 3),
        redo_block_bytes: block_bytes,
        archiving: false,
        smart_flash_logging: false,
    })
}

/// A row, as it is named to people.
pub(crate) fn row_name(spec: &Spec) -> String {
    let jobs = analysis::format::jobs(spec.jobs);
    format!("{} with {jobs}", spec.workload.name)
}

/// A row while it runs: which of how many.
pub(crate) fn phase_name(spec: &Spec, index: usize, rows: usize) -> String {
    let jobs = analysis::format::jobs(spec.jobs);
    format!("{} {jobs} ({}/{rows})", spec.workload.name, index + 1)
}

/// What `--max-write` did to a row. One that has made all its commits is whole, also where the last
/// of them used up its share.
pub(crate) fn limited(meter: &Meter, spec: &Spec, row: &Row) -> Limited {
    let asked = spec.commits.map(|n| n.saturating_mul(spec.jobs.into()));
    Limited {
        ended: meter.ended_ns().is_some() && asked != Some(row.commits),
        stopped: meter.has_stopped(),
    }
}

/// What `--max-write` made of a row that was ended early.
pub(crate) fn shortened_row(spec: &Spec, row: &Row) -> String {
    match row.commits {
        0 => format!("{} was left out in its warm-up", row_name(spec)),
        _ => format!("{} ended after {:.3} s", row_name(spec), row.elapsed_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::workload::Workload;

    fn spec(workload: Workload, jobs: u32) -> Spec {
        Spec::closed(workload, jobs, Nanos::from_secs(10), Nanos::ZERO)
    }

    #[test]
    fn what_will_be_written_has_whole_blocks_in_it() {
        let storm = Spec {
            commits: Some(200_000),
            ..spec(Workload::storm(), 20)
        };
        assert_eq!(expected_bytes(&storm), 4_000_000 * 4096);
        let open = Spec {
            arrivals: Arrivals::new(1000.0, Process::Poisson, "50@1s".parse().ok()).ok(),
            ..spec(Workload::storm(), 8)
        };
        assert_eq!(expected_bytes(&open), (10_500 + 50) * 4096);
        assert_eq!(expected_bytes(&spec(Workload::storm(), 1)), 20_000_000_000);
        let bounded = Spec {
            max_redo_bytes: 1 << 20,
            ..spec(Workload::storm(), 1)
        };
        assert_eq!(expected_bytes(&bounded), 3 << 19);
        let lines = announced(&[storm]);
        assert!(
            lines[0].contains("4000000 in all") && lines[0].contains("15.3 GiB"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_sweep_that_does_not_fit_says_what_to_raise() {
        let setup = Setup::default();
        let sweep = |bytes| [spec(Workload::size_sweep(bytes), 1)];
        assert!(sweep_fits(&sweep(16 << 20), &setup).is_ok());
        let told = sweep_fits(&sweep(17 << 20), &setup).expect_err("over the log buffer");
        assert!(told.message.contains("--log-buffer"), "{}", told.message);
        let mut small = Setup::default();
        small.shape.file_bytes = 16 << 20;
        assert!(sweep_fits(&sweep(4 << 20), &small).is_ok());
        let told = sweep_fits(&sweep(8 << 20), &small).expect_err("over half a log");
        assert!(told.message.contains("--log-file-size"), "{}", told.message);
        assert!(sweep_fits(&[spec(Workload::storm(), 1)], &small).is_ok());
    }
}
