//! The command line: one file a command. Commands join the parts; what they print goes through
//! `output`.
//!
//! Exit codes: 0 done; 1 failed; 2 usage; 3 the verdict of `check`, or of `run` with a need, is no
//! (with `--strict` conditional too), a condition of `--fail-if` is breached, or a power test lost
//! something; 4 the run is incomplete or invalid, the verdict undetermined, or a power test cannot
//! be judged; 130 interrupted.

mod background;
mod calibrate;
mod canary;
mod check;
mod collect;
#[cfg(test)]
mod commands_page_tests;
mod common;
mod compare;
mod console;
mod devices;
mod explain;
mod findings;
mod import;
mod inspect;
mod loads;
mod log_options;
mod matrix;
mod measured;
mod members;
mod moved;
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
mod simulate;
mod soak;
mod sources;
mod stored;
mod targets;
mod tproc_c;
mod values;
mod watch;

use crate::output::lines::{self, tell};
use crate::standard_error;
use crate::store::StoreError;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
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
#[command(name = "redolab", version, disable_help_flag = true)]
struct Cli {
    /// Print a summary (-h), or everything (--help)
    #[arg(
        short,
        long,
        global = true,
        action = ArgAction::Help,
        help_heading = "Help",
        display_order = 100
    )]
    help: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

/// What a newcomer needs, in the order in which they are listed.
const FIRST: [&str; 8] = [
    "check", "compare", "run", "devices", "watch", "import", "report", "runs",
];

const EXAMPLES: &str = "\
Start here:
  redolab check                    judge the device of the current directory
  redolab check /u02 --quick       a short check of about 20 seconds
  redolab check /u02 --commit-rate 5000 --p99 2ms
                                   judge it against a stated need
  redolab check /dev/sdx --destroy /dev/sdx
                                   judge a raw device; everything on it is lost
  redolab compare --on ssd=/u01 --on hdd=/u02
                                   measure two devices in interleaved rounds
  redolab watch --database postgres
                                   follow the log writes of a running server
  redolab import *.trc             read traces of a production system";

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed
  2    wrong usage, or refused
  3    check, and run with a need or --strict: the verdict is no (with --strict
       also conditional);
       compare: a limit of --fail-if is breached;
       powertest: acknowledged writes were lost
  4    the run is incomplete or invalid, the verdict (of check, or of run with a
       need) or a limit of --fail-if is undetermined, or a power test cannot be
       judged
  130  interrupted";

/// Options of experts, by their ids: the summary of a command has none of them where they have a
/// heading.
const EXPERT: &str = "\
archive archive_keep arrivals block_size bootstrap_seed burst cell columns commit_api \
compressibility confidence connections cpu_per_txn curve cuts_bound data dbwr declare dedupe \
ela_unit event events factor failover_delay flush_triggers force_same_device headroom holdout_seed \
huge_pages io io_depth kind lock_memory log_buffer log_file_size log_file_sync log_groups log_write_warning \
log_writer log_writer_cpu max_unpacked members neighbour no_report nodes null on own_back_ends \
rate records redo_rate resamples ring_size seed server_bin server_setting sizes store strict \
stripe sync_method sync_under tags tbw think threads thresholds url wal warehouses warmup years";

/// `command` and its commands with the options of experts in `--help` alone.
fn summarised(command: clap::Command) -> clap::Command {
    let is_expert = |arg: &Arg| {
        let mut experts = EXPERT.split(' ');
        arg.get_help_heading().is_some() && experts.any(|id| arg.get_id() == id)
    };
    let command = command.mut_args(|arg| match is_expert(&arg) {
        true => arg.hide_short_help(true),
        false => arg,
    });
    command.mut_subcommands(summarised)
}

/// The command line, with lists of its commands: first those of [`FIRST`], then the others, in the
/// summary by name alone.
fn definition() -> clap::Command {
    let command = summarised(Cli::command());
    let about = |name: &str| {
        let found = command
            .find_subcommand(name)
            .and_then(clap::Command::get_about);
        let about = found.map(ToString::to_string).unwrap_or_default();
        format!("  {name:<12} {about}")
    };
    let others: Vec<&str> = (command.get_subcommands())
        .map(clap::Command::get_name)
        .filter(|name| !FIRST.contains(name))
        .collect();
    let list = |names: &[&str]| names.iter().map(|name| about(name)).collect::<Vec<_>>();
    let first = format!("Commands:\n{}", list(&FIRST).join("\n"));
    let short = format!("{first}\n\nMore commands (--help): {}", others.join(", "));
    let long = format!("{first}\n\nMore commands:\n{}", list(&others).join("\n"));
    command
        .before_help(short)
        .before_long_help(long)
        .after_help(EXAMPLES)
        .after_long_help(format!("{EXAMPLES}\n\n{EXIT_CODES}"))
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
        )
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge whether a device is suitable for a redo log
    Check(Box<check::CheckArgs>),
    /// Run one workload on one target, and judge it against a need
    Run(Box<run::RunArgs>),
    /// Compute what another machine, device or load would do
    Simulate(Box<simulate::SimulateArgs>),
    /// Make a model of a device and this machine, and judge it
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Compare runs or evidence, or measure targets in rounds
    Compare(Box<compare::CompareArgs>),
    /// Load, check and drop the tables of `run --workload tproc-c`
    Tprocc(tproc_c::TprocCArgs),
    /// Measure the floor of a device: sync methods, write sizes
    Probe(probe::ProbeArgs),
    /// List file systems with the storage layers below them
    Devices(devices::DevicesArgs),
    /// Gather evidence: scripts for Oracle, readings of servers
    Collect(collect::CollectArgs),
    /// Follow the log writes of a running database
    Watch(Box<watch::WatchArgs>),
    /// Make a run from evidence (traces, AWR, iostat and others)
    Import(import::ImportArgs),
    /// Rewrite evidence without names, passwords and SQL
    Redact(redact::RedactArgs),
    /// Cut the power: does an acknowledged write survive it?
    Powertest(powertest::PowerTestArgs),
    /// Print records, end and damage of a log
    Inspect(inspect::InspectArgs),
    /// Explain the findings: thresholds, sources, what to do
    Findings(findings::FindingsArgs),
    /// List, show, tag and delete stored runs
    Runs(runs::RunsArgs),
    /// Write a run as an HTML page, or for other programs
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
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = definition().try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(new) = moved::new_form(&arguments).filter(|_| error.use_stderr()) {
                tell(&new);
                return ExitCode::from(USAGE);
            }
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
        Command::Simulate(args) => simulate::main(&args),
        Command::Calibrate(args) => calibrate::main(&args),
        Command::Compare(args) => compare::main(&args, drivers),
        Command::Tprocc(args) => tproc_c::main(&args),
        Command::Probe(args) => probe::main(&args, drivers),
        Command::Devices(args) => devices::main(&args),
        Command::Collect(args) => collect::main(&args),
        Command::Watch(args) => watch::main(&args),
        Command::Import(args) => import::main(&args),
        Command::Redact(args) => redact::main(&args),
        Command::Powertest(args) => powertest::main(&args),
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

/// How a command ends that has shown `run` and does not judge it: with 4 where the run is
/// incomplete or invalid.
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

    /// Every command without commands of its own, and every command with its summary.
    fn tree(command: &clap::Command, leaves: &mut Vec<String>, all: &mut Vec<clap::Command>) {
        all.push(command.clone());
        let inner = command.get_subcommands().filter(|c| c.get_name() != "help");
        let inner: Vec<&clap::Command> = inner.collect();
        if inner.is_empty() {
            leaves.push(command.get_bin_name().unwrap_or_default().to_owned());
        }
        inner.iter().for_each(|inner| tree(inner, leaves, all));
    }

    #[test]
    fn commands_are_few_and_their_summaries_short() {
        let mut definition = definition().term_width(80);
        definition.build();
        let (mut leaves, mut all) = (Vec::new(), Vec::new());
        tree(&definition, &mut leaves, &mut all);
        assert!(leaves.len() <= 30, "{} commands: {leaves:?}", leaves.len());
        for mut command in all {
            let help = command.render_help().to_string();
            let (name, lines) = (command.get_bin_name(), help.lines().count());
            assert!(lines <= 60, "{name:?} has {lines} lines:\n{help}");
        }
        let check = definition.find_subcommand_mut("check").expect("check");
        let help = check.render_help().to_string();
        let at = |text: &str| {
            help.find(text)
                .unwrap_or_else(|| panic!("{text} in {help}"))
        };
        assert!(at("The need:") < at("Load:") && at("--commit-rate") < at("--quick"));
    }

    #[test]
    fn old_forms_are_no_commands_and_print_the_new_ones() {
        let given = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        for (text, new) in [
            ("redolab summary a.trc", "compare --as r2"),
            ("redolab -q tprocc run --url x", "--workload tproc-c"),
            ("redolab runs export last --into x", "report RUN --format"),
            ("redolab import a.trc --redact=sql", "redolab redact"),
            ("redolab collect oracle --interval 10m", "--time"),
        ] {
            let words = given(text);
            assert!(definition().try_get_matches_from(&words).is_err(), "{text}");
            let found = moved::new_form(&words).unwrap_or_default();
            assert!(found.contains(new), "{text}: {found}");
        }
        assert_eq!(moved::new_form(&given("redolab runs list")), None);
        assert_eq!(moved::new_form(&given("redolab check summary")), None);
    }
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
