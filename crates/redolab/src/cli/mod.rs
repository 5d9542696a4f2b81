//! The command line: one file a command. Commands join the parts; what they print goes through
//! `output`.
//!
//! Exit codes: 0 done; 1 failed; 2 usage; 3 the verdict of `check` is no (with `--strict`
//! conditional too), a condition of `--fail-if` is breached, or a power test lost something; 4 the
//! run is incomplete or invalid, the verdict of `check` undetermined, or a power test cannot be
//! judged; 130 interrupted. Of the commands with runs only `check` turns a verdict into an exit
//! code.

mod background;
mod canary;
mod capacity;
mod check;
mod collect;
#[cfg(test)]
mod commands_page_tests;
mod common;
mod compare;
mod console;
mod devices;
mod explain;
mod export;
mod findings;
mod import;
mod inspect;
mod loads;
mod matrix;
mod measured;
mod members;
mod need;
mod notes;
mod powertest;
mod probe;
mod question;
mod redact;
mod report;
mod results;
mod run;
mod runs;
mod shell;
mod soak;
mod sources;
mod stored;
mod summary;
mod targets;
mod tproc_c;
mod values;
mod watch;

use crate::output::lines::{self, tell};
use crate::standard_error;
use crate::store::StoreError;
use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use measure::driver::DriverKind;
use measure::run::Run;
use std::ffi::OsString;
use std::process::ExitCode;

/// Exit code: the command failed.
pub const FAILED: u8 = 1;
/// Exit code: the command line is wrong, or asks for what cannot be.
pub const USAGE: u8 = 2;
/// Exit code: the verdict of `check` is no, or a condition is breached.
pub const VERDICT_NO: u8 = analysis::verdict::EXIT_NO;
/// Exit code: the run is incomplete or invalid, or the verdict of `check` undetermined.
pub const INCOMPLETE: u8 = analysis::verdict::EXIT_UNDETERMINED;

/// The laboratory for redo logs: should a redo log live on this device, and why?
#[derive(Debug, Parser)]
#[command(name = "redolab", version, propagate_version = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  redolab check                    judge the device of the current directory in about two minutes
  redolab check /u02 --quick       a short check of about 20 seconds
  redolab check /u02 --commit-rate 5000 --p99 2ms
                                   judge it against a stated need
  redolab check /dev/sdx --destroy /dev/sdx
                                   judge a raw device; everything on it is lost
  redolab compare --on ssd=/u01 --on hdd=/u02
                                   measure two devices in interleaved rounds, and compare them
  redolab devices                  list the layers of storage below each file system
  redolab watch --database postgres
                                   follow the log writes of a running server
  redolab import *.trc             read traces of a production system with slow log file sync

Exit codes:
  0    done
  1    failed
  2    wrong usage, or refused
  3    check: the verdict is no (with --strict also conditional);
       compare: a limit of --fail-if is breached;
       powertest: acknowledged writes were lost
  4    the run is incomplete or invalid, the verdict of check or a limit of --fail-if is
       undetermined, or a power test cannot be judged
  130  interrupted
Only check turns a verdict into an exit code.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge whether a device is suitable for a redo log: identify, probe, run, judge, report
    Check(Box<check::CheckArgs>),
    /// Run one workload on one target
    Run(Box<run::RunArgs>),
    /// Compare stored runs, or measure targets in interleaved rounds and compare them
    Compare(Box<compare::CompareArgs>),
    /// Load, check and drop the tables of TPROC-C, which `run --workload tproc-c` runs
    Tprocc(tproc_c::TprocCArgs),
    /// Measure the floor of the device: each sync method and write size, without a log
    Probe(probe::ProbeArgs),
    /// List file systems and devices with the storage layers below them
    Devices(devices::DevicesArgs),
    /// Gather evidence: scripts for Oracle, readings of PostgreSQL, MariaDB and devices
    Collect(collect::CollectArgs),
    /// Follow the log writes of a running database on this machine, without touching it
    Watch(Box<watch::WatchArgs>),
    /// Make a run from evidence of other programs (traces, histograms, listings)
    Import(import::ImportArgs),
    /// Print single waits of evidence as R's summary and, with two samples, t.test do
    Summary(summary::SummaryArgs),
    /// Rewrite files of evidence without names and SQL, so that they can leave the site
    Redact(redact::RedactArgs),
    /// Cut the power: does an acknowledged write survive it? Needs a second machine
    Powertest(powertest::PowerTestArgs),
    /// Print what a sweep of jobs can carry: knee, scalability law, load at a bound, headroom
    Capacity(capacity::CapacityArgs),
    /// Print the shape, records, end and damage of a log; changes a log only with --accept-loss or
    /// --replace-member
    Inspect(inspect::InspectArgs),
    /// Explain the findings: claim, thresholds with their sources, and what to do
    Findings(findings::FindingsArgs),
    /// List, show, export, load and delete stored runs
    Runs(runs::RunsArgs),
    /// Write the report of a stored run as one self-contained HTML file
    Report(report::ReportArgs),
    /// Print the completion script of a shell
    Completions(shell::CompletionsArgs),
    /// Print the manual page, or write a page for each command
    Man(shell::ManArgs),
}

/// Parses the process's arguments and runs the command. `drivers` open targets that others made.
#[must_use]
pub fn main(drivers: &[DriverKind]) -> ExitCode {
    run_command(std::env::args_os(), drivers)
}

/// Runs the command with these arguments, of which the first is the program's name.
#[must_use]
pub fn run_command(
    arguments: impl IntoIterator<Item = OsString>,
    drivers: &[DriverKind],
) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // A closed pipe is no reason to fail: whoever asked has gone.
            if error.use_stderr() {
                say_usage(&error);
            } else {
                let _ = error.print();
            }
            return ExitCode::from(code);
        }
    };
    let outcome = match cli.command {
        Command::Check(args) if args.explain_latency => explain::main(&args, drivers),
        Command::Check(args) => check::main(&args, drivers),
        Command::Run(args) => run::main(&args, drivers),
        Command::Compare(args) => compare::main(&args, drivers),
        Command::Tprocc(args) => tproc_c::main(&args),
        Command::Probe(args) => probe::main(&args, drivers),
        Command::Devices(args) => devices::main(&args),
        Command::Collect(args) => collect::main(&args),
        Command::Watch(args) => watch::main(&args),
        Command::Import(args) => import::main(&args),
        Command::Summary(args) => summary::main(&args),
        Command::Redact(args) => redact::main(&args),
        Command::Powertest(args) => powertest::main(&args),
        Command::Capacity(args) => capacity::main(&args),
        Command::Inspect(args) => inspect::main(&args),
        Command::Findings(args) => findings::main(&args),
        Command::Runs(args) => runs::main(&args),
        Command::Report(args) => report::main(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("redolab: {}", error.message));
            ExitCode::from(error.code)
        }
    }
}

/// What a parser says of the value of an option: `--p99: ...`, as every other refusal is written.
fn of_a_value(error: &clap::Error) -> Option<String> {
    let why = std::error::Error::source(error)?.to_string();
    let ContextValue::String(option) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let name = option.split([' ', '=']).next().unwrap_or(option);
    // Some parsers name what they read themselves.
    let own = why.strip_prefix(name.trim_start_matches('-'));
    Some(match own {
        Some(rest) => format!("{name}{rest}"),
        None => format!("{name}: {why}"),
    })
}

/// Prints what is wrong with the command line; arguments in it may hold anything.
fn say_usage(error: &clap::Error) {
    if let Some(refusal) = of_a_value(error) {
        tell(&format!("redolab: {refusal}"));
        return;
    }
    let plain = error.render().to_string();
    let harmless = measure::words::sanitize::text(&plain);
    let shown = lines::fitted(&harmless, std::io::stderr());
    if shown == plain {
        // With colours where the terminal takes them. A closed pipe is no reason to fail.
        let _ = error.print();
    } else {
        standard_error::write(&shown);
    }
}

/// How a command ends that has shown `run`: with 4 where the run is incomplete or invalid. Only
/// `check` turns the verdict into an exit code.
pub(crate) fn ended(run: &Run, complete: bool) -> ExitCode {
    let whole = complete && run.validity.valid;
    ExitCode::from(if whole { 0 } else { INCOMPLETE })
}

/// A command's end with a message.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl CommandError {
    pub(crate) fn usage(message: impl Into<String>) -> CommandError {
        CommandError {
            code: USAGE,
            message: message.into(),
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> CommandError {
        CommandError {
            code: FAILED,
            message: message.into(),
        }
    }
}

impl From<crate::experiment::Failure> for CommandError {
    fn from(failure: crate::experiment::Failure) -> CommandError {
        use crate::experiment::Failure;
        use crate::safety::Refusal;
        use device::DeviceError;
        use redo::Error;
        let code = match &failure {
            Failure::Interrupted => crate::signals::INTERRUPTED as u8,
            // Stopped while running: what was measured until then is kept.
            Failure::Refused(Refusal::FillingUp { .. } | Refusal::Spent { .. }) => INCOMPLETE,
            Failure::Refused(_) | Failure::Unusable(_) => USAGE,
            Failure::Driver(error) if error.is_unusable() => USAGE,
            Failure::Log(
                Error::Shape(_)
                | Error::Buffer { .. }
                | Error::Workers { .. }
                | Error::Depth { .. }
                | Error::Cpu(_)
                | Error::RecordTooLarge { .. },
            )
            | Failure::Log(Error::Device(
                DeviceError::BlockSize { .. } | DeviceError::Refused(_),
            ))
            | Failure::Device(DeviceError::Unsuitable { .. } | DeviceError::Refused(_)) => USAGE,
            _ => FAILED,
        };
        CommandError {
            code,
            message: failure.to_string(),
        }
    }
}

impl From<crate::experiment::Stopped> for CommandError {
    fn from(stopped: crate::experiment::Stopped) -> CommandError {
        let message = stopped.to_string();
        let by_driver = matches!(&*stopped.failure, crate::experiment::Failure::Driver(_));
        let was_begun = by_driver && stopped.run.is_some();
        let error = CommandError::from(*stopped.failure);
        let code = match error.code {
            // What was measured shows that it could be asked for.
            USAGE if was_begun => FAILED,
            code => code,
        };
        CommandError { code, message }
    }
}

impl From<crate::output::file::OutputError> for CommandError {
    fn from(error: crate::output::file::OutputError) -> CommandError {
        use crate::output::file::OutputError;
        let code = match &error {
            OutputError::Refused { .. }
            | OutputError::NoRoom { .. }
            | OutputError::Exists { .. } => USAGE,
            OutputError::System { .. } => FAILED,
        };
        CommandError {
            code,
            message: error.to_string(),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        let code = match &error {
            StoreError::NoSuchRun { .. }
            | StoreError::NoRuns { .. }
            | StoreError::FewRuns { .. }
            | StoreError::SeveralRuns { .. } => USAGE,
            StoreError::NoRow(_) => INCOMPLETE,
            _ => FAILED,
        };
        CommandError {
            code,
            message: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Failure;
    use redo::{Error, ShapeError};

    #[test]
    fn what_the_system_lacks_is_a_failure_and_what_was_asked_for_is_usage() {
        let lacks = || std::io::Error::from_raw_os_error(11);
        let cases = [
            (Error::Thread(lacks()), FAILED),
            (Error::Shape(ShapeError::Groups { groups: 1 }), USAGE),
            (Error::Buffer { bytes: 1 }, USAGE),
            (Error::Workers { count: 9 }, USAGE),
            (Error::Depth { depth: 9 }, USAGE),
            (Error::RecordTooLarge { len: 2, max: 1 }, USAGE),
            (Error::Closed, FAILED),
        ];
        for (error, code) in cases {
            let text = error.to_string();
            assert_eq!(CommandError::from(Failure::Log(error)).code, code, "{text}");
        }
    }
}
