//! `redolab watch --canary`: probes of the log's file system, without root.

use super::common::{Format, OutputArgs};
use super::console::Terminal;
use super::{CommandError, results, values};
use crate::output::file::Audience;
use crate::output::{canary, table};
use crate::signals;
use crate::watch::canary::{CanaryPlan, CanaryReport, Stall};
use clap::Args;
use measure::Nanos;
use measure::words;
use std::path::PathBuf;
use std::process::ExitCode;

/// How long a canary runs where no time is given.
const TIME: Nanos = Nanos(60_000_000_000);

/// Probes per second where no rate is given.
const RATE: u32 = 10;

/// Options of the canary.
#[derive(Debug, Args)]
#[command(next_help_heading = "Canary")]
pub(super) struct CanaryArgs {
    /// Instead of watching a log, write 4 KiB and fsync on the file system of this directory or
    /// file, at a low rate and without root. Each probe that takes long is printed as a stall with
    /// its evidence and its class: scheduler (no processor), writeback (behind the dirty pages of
    /// others), storage, or unknown
    #[arg(long, value_name = "PATH", conflicts_with_all = [
            "pid", "database", "file", "trace", "report", "declare", "thresholds",
            "log_write_warning", "events", "columns", "label", "tags", "store",
        ])]
    pub(super) canary: Option<PathBuf>,
    /// Probes per second, from 1 to 100 [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rate: Option<u32>,
    /// A probe that takes at least this is a stall [default: 20ms or ten times the median so far,
    /// whichever is more]
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    stall_over: Option<Nanos>,
}

impl CanaryArgs {
    /// Refuses its options where another log is watched. clap drops a requirement that another
    /// option excludes.
    pub(super) fn check_unused(&self) -> Result<(), CommandError> {
        let unused = [
            (self.rate.is_some(), "--rate"),
            (self.stall_over.is_some(), "--stall-over"),
        ];
        match unused.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(CommandError::usage(format!(
                "{option}: only --canary PATH has probes; leave it out"
            ))),
            None => Ok(()),
        }
    }
}

/// Runs the canary for `time`.
pub(super) fn main(
    args: &CanaryArgs,
    path: PathBuf,
    time: Option<Nanos>,
    output: &OutputArgs,
) -> Result<ExitCode, CommandError> {
    if !matches!(output.format, Format::Table | Format::Json) {
        return Err(CommandError::usage(
            "--format: a canary prints table or json; the other formats are for runs",
        ));
    }
    output.check_report(output.output.as_deref())?;
    let terminal = Terminal::new(output, None)?;
    let plan = CanaryPlan {
        path,
        rate_per_s: args.rate.unwrap_or(RATE),
        time: time.unwrap_or(TIME),
        stall_over: args.stall_over,
    };
    let period = 1_000_000_000 / u64::from(plan.rate_per_s.max(1));
    if plan.time.0 <= period {
        let rate = words::plural(plan.rate_per_s.into(), "probe");
        return Err(CommandError::usage(format!(
            "--time: it ends before the first probe is due, with {rate} per second; give more than {} ms",
            period / 1_000_000
        )));
    }
    let shown = plan.path.display().to_string();
    let mut look = |stall: &Stall| output.say(&canary::stall(stall));
    let report = crate::watch::canary::canary(&plan, &terminal, &mut look)?;
    output.emit(&formatted(&report, output)?, Audience::Everyone)?;
    if let Some(why) = &report.ended_by {
        return Err(CommandError::failed(format!(
            "--canary {shown}: {why}; the probes before are printed"
        )));
    }
    Ok(match report.interrupted {
        true => ExitCode::from(signals::INTERRUPTED as u8),
        false => ExitCode::SUCCESS,
    })
}

fn formatted(report: &CanaryReport, output: &OutputArgs) -> Result<Vec<u8>, CommandError> {
    if output.format == Format::Json {
        return results::json_document(report);
    }
    let style = table::Style::of_output(output.output.as_deref());
    Ok(style.fitted(canary::text(report, style)).into_bytes())
}
