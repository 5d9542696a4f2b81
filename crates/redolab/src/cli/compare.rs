//! `redolab compare`: stored runs beside each other, or targets measured in interleaved rounds.

mod capacity;
mod factors;
mod live;
mod samples;
mod stored;

use super::common::{Format, command_line};
use super::members::MemberArgs;
use super::need::CutsBoundArgs;
use super::notes::{self, TagArgs};
use super::report::say_where;
use super::run::RunOptions;
use super::sources::{ReadingArgs, source};
use super::targets::ServerArgs;
use super::{CommandError, INCOMPLETE};
use crate::output::differences::RunDifferences;
use crate::output::file::Audience;
use crate::output::r_format::TestDigits;
use crate::output::{comparison, report, table};
use crate::signals;
use crate::store::{Store, now_rfc3339};
use analysis::account::markdown;
use analysis::compare::Options;
use analysis::compare::condition::FailIf;
use clap::{Args, ValueEnum};
use measure::comparison::{ComparedRun, Comparison};
use measure::driver::DriverKind;
use measure::run::Origin;
use std::path::PathBuf;
use std::process::ExitCode;

/// Rounds at most: beyond, longer rounds tell more than further ones.
const ROUNDS_MAX: u32 = 1000;
/// Resamples at most.
const RESAMPLES_MAX: u32 = 100_000;

/// What to do, where nothing to compare was named.
const NOTHING_NAMED: &str = "\
compare: name what to compare
  two stored runs, the base first:  redolab compare RUN last  (redolab runs lists them)
  two devices, measured now:        redolab compare --on ssd=/u01 --on hdd=/u02
  two files of evidence:            redolab compare before.html after.html
  two sets of evidence:             redolab compare --label before=DIR --label after=DIR
  all options:                      redolab compare --help";

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The first run or target is the base; a ratio is the figure of another one divided by the figure of \
the base. RUN is the name of a stored run, as in `redolab runs`, or a file that `redolab \
report --format redolab` wrote. With --on, the targets are measured in rounds (A B, B A, A B) with the options of \
`redolab run`; without them with 1, 8 and 32 jobs, 2 s per row, and at most 256 MiB of redo per \
row. Every round is stored as a run. The intervals treat rounds, not single commits, as \
independent.

--fail-if METRIC > BOUND (also >=, <, <=; repeatable) sets a limit. METRIC is a figure of a row \
(commit_throughput_tps) or of waits (log_file_sync.p99). BOUND is a change (+10%, -5%, +200us) or a \
value (2ms, 5000/s) of the other run. A change is judged by its interval: breached (exit code 3) \
if the whole interval is beyond the limit, not breached (0) if the whole interval is within it, \
undetermined (4) in all other cases and without an interval. A value and a count are judged by the \
figure itself. A figure that was not measured is undetermined. With several rows and conditions, \
one breach gives 3, otherwise one that is undetermined gives 4.

  redolab compare 20261120-101500 last
  redolab compare --on ssd=/u01 --on hdd=/u02 --rounds 8 --jobs 8 --time 10s
  redolab compare --on fs=/u01 --on raw=/dev/sdx --destroy /dev/sdx
  redolab compare --on ssd=/u01 --log-writer inline,lgwr --io threads,io_uring --jobs 8
  redolab compare --on log=/u01 --on pg=postgres:/u01 --jobs 1,8 --report both.html
  redolab compare --on disk=/u01 --on ring=ring:/u01,/f01 --on race=race:/u01,/f01
  redolab compare --driver postgres --on sync=/u01 --on dsync='/u01?wal_sync_method=open_datasync'
  redolab compare base.json last --fail-if 'log_file_sync.p99 > +10%'

--label compares sets of evidence. Rows are paired by role (LGWR, LG00, foreground, device, event, \
snapshot in order), not by the names of files; all traces of one role in a set are one sample.

  redolab compare --label before=monday/ --label after='tuesday/*.trc'

Two files, directories or patterns of evidence without labels are compared in the same way: the \
first is before, the second is after.

  redolab compare monday.html tuesday.html --report both.html

--as r2 and --as r4 print single waits: the first sample is x and the second is y; every \
difference is x minus y. All files of one label are one sample: the traces of 20 sessions are one \
sample. Quantiles, means and standard deviations are exact. R's t test treats waits as \
independent; the block bootstrap does not.

  redolab compare --as r2 session*.trc
  redolab compare --as r2 --label on=flash_on/ --label off='flash_off/*.trc'

--as capacity reads sweeps: workloads with several numbers of jobs, of stored runs (redolab run \
--jobs 1,2,4,8,...), exported runs or evidence. Figures between two measured points are \
interpolated. Nothing is extrapolated beyond them, except the peak of the fitted law, which is \
labelled as extrapolated. Files of evidence with one number of jobs each, such as summaries of \
pgbench -c 1 and -c 8, are one sweep together.

  redolab compare --as capacity last --sync-under 1ms --commit-rate 5000

--factor compares the levels of one or two factors: main effects and their interaction. The levels \
are named in the rows or titles of one document, or each source is a cell of the design.

  redolab compare --factor medium=SSD,HDD --factor volume=RAW,ASM report.txt
  redolab compare --factor medium=ssd,hdd --factor volume=raw,asm --cell ssd,raw=1.html \\
      --cell hdd,raw=2.html --cell ssd,asm=3.html --cell hdd,asm=4.html")]
pub(crate) struct CompareArgs {
    /// Stored runs, exported files, or two files of evidence; the first is the base
    #[arg(value_name = "RUN", conflicts_with = "on")]
    runs: Vec<String>,
    /// A target to measure under a name, such as ssd=/u01; give at least two
    ///
    /// A name with a directory, a raw device (which needs --destroy with its
    /// path), the address of a database server, a private server (postgres:/u01) or members as
    /// `run --members` takes them (mirror:/u01,/u02, race:/u01,/f01, ring:/u01,/f01,
    /// failover:/u01,/f01). One target is enough with several values of --log-writer, --io,
    /// --sync-method or --log-file-sync.
    #[arg(long, value_name = "NAME=PATH")]
    on: Vec<String>,
    /// A set of evidence under a name, the base first; with --on a label for the runs
    ///
    /// Files of one directory or pattern are one set. Evidence is read and not stored. The name of
    /// the target and the round are added to the label of a run, such as LABEL-ssd-1 [default:
    /// ssd-1].
    #[arg(
        long,
        value_name = "NAME[=SOURCE]",
        conflicts_with_all = ["runs", "factor"]
    )]
    label: Vec<String>,
    /// A factor of a design with its two levels; once or twice. Rows and titles of the evidence
    /// that name a level belong to it
    #[arg(
        long,
        help_heading = "Factors",
        value_name = "NAME=LEVEL,LEVEL",
        conflicts_with_all = ["on", "fail_if", "report"]
    )]
    factor: Vec<String>,
    /// A source of one cell of the design: its levels, and a file, directory, pattern or run;
    /// repeat a cell for an interval
    #[arg(
        long,
        value_name = "LEVEL,LEVEL=SOURCE",
        requires = "factor",
        help_heading = "Factors"
    )]
    cell: Vec<String>,
    /// Number of rounds on each target
    ///
    /// Intervals need at least two, a decision at least five.
    #[arg(long, value_name = "N", default_value = "5", requires = "on")]
    rounds: u32,
    /// Write each target with the sync method and I/O engine that its own probe finds fastest,
    /// instead of the same ones for all
    #[arg(long, conflicts_with = "sync_method", help_heading = "Method")]
    own_back_ends: bool,
    /// Exit with 3 if this limit is breached, such as 'log_file_sync.p99 > +10%'
    ///
    /// With 4 if that is undetermined. It can be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = str::parse::<FailIf>)]
    fail_if: Vec<FailIf>,
    /// Confidence level of the intervals
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "95",
        help_heading = "Method"
    )]
    confidence: f64,
    /// Number of resamples of the bootstrap
    #[arg(
        long,
        value_name = "N",
        default_value = "1000",
        help_heading = "Method"
    )]
    resamples: u32,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Method")]
    bootstrap_seed: u64,
    /// Write the comparison as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// What is printed
    #[arg(
        long = "as",
        value_name = "VIEW",
        value_enum,
        default_value = "figures",
        conflicts_with_all = ["on", "factor", "fail_if", "report"]
    )]
    view: CompareView,
    /// With --as r2 or r4: wait event of the values [default: log file sync; if a sample has none,
    /// log file parallel write]
    #[arg(long, value_name = "NAME", help_heading = "Evidence")]
    event: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    capacity: capacity::CapacityArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    members: MemberArgs,
    #[command(flatten)]
    tags: TagArgs,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    bound: CutsBoundArgs,
}

/// What `compare` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompareView {
    /// The figures of each run, with ratios to those of the base
    Figures,
    /// In which options and in what of its environment the second run differs from the first
    Differences,
    /// What the sweeps of jobs of one or several runs can carry: knee, scalability law, load at a
    /// bound, headroom
    Capacity,
    /// Single waits of one or two samples of evidence as R 2 prints summary and t.test (study 004)
    R2,
    /// The same as R 4 prints it: t and degrees of freedom with 5 significant digits
    R4,
}

impl CompareView {
    /// Refuses an option of another view.
    fn check(self, args: &CompareArgs) -> Result<(), CommandError> {
        let is_capacity = self == CompareView::Capacity;
        let asked = &args.capacity;
        let foreign = [
            (asked.curve.is_some() && !is_capacity, "--curve", "capacity"),
            (
                asked.sync_under.is_some() && !is_capacity,
                "--sync-under",
                "capacity",
            ),
            (
                asked.commit_rate.is_some() && !is_capacity,
                "--commit-rate",
                "capacity",
            ),
            (
                args.event.is_some() && self.digits().is_none(),
                "--event",
                "r2",
            ),
        ];
        match foreign.iter().find(|(is_foreign, ..)| *is_foreign) {
            None => Ok(()),
            Some((_, option, view)) => Err(CommandError::usage(format!(
                "{option}: only with --as {view}"
            ))),
        }
    }

    /// The digits of R's lines.
    fn digits(self) -> Option<TestDigits> {
        match self {
            CompareView::R2 => Some(TestDigits::Decimals),
            CompareView::R4 => Some(TestDigits::Significant),
            _ => None,
        }
    }
}

/// In what the second run differs from the first.
fn differences(args: &CompareArgs, store: &Store) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let [a, b] = args.runs.as_slice() else {
        return Err(CommandError::usage(
            "compare --as differences: name two runs",
        ));
    };
    let load = |name: &String| source(name, store, &interrupt);
    let found = RunDifferences::of(&load(a)?, &load(b)?)
        .map_err(|e| CommandError::failed(format!("compare: {e}")))?;
    (args.options.measure.output)
        .emit_view(&found, Audience::Everyone, |style| found.text(style))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn main(args: &CompareArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let options = options(args)?;
    args.view.check(args)?;
    let output = &args.options.measure.output;
    if !args.factor.is_empty() {
        return by_factors(args);
    }
    if args.own_back_ends && args.on.is_empty() {
        let why = "--own-back-ends: only with --on NAME=PATH; stored runs are not written again";
        return Err(CommandError::usage(why));
    }
    if args.runs.is_empty() && args.on.is_empty() && args.label.is_empty() {
        return Err(CommandError::usage(NOTHING_NAMED));
    }
    let labelled = args.label.iter().filter_map(|l| Some(l.split_once('=')?.1));
    let named = args.runs.iter().map(String::as_str).chain(labelled);
    named.for_each(|run| output.reads(run.as_ref()));
    if let Some(digits) = args.view.digits() {
        return samples::main(args, &options, digits);
    }
    if args.view != CompareView::Figures {
        let store = args.options.measure.store.open()?;
        output.check_beside(&store)?;
        return match args.view {
            CompareView::Differences => differences(args, &store),
            _ => capacity::main(args, &store),
        };
    }
    let comparison = if args.on.is_empty() {
        let store = args.options.measure.store.open()?;
        output.check_beside(&store)?;
        output.check_report(args.report.as_deref())?;
        match args.label.is_empty() {
            true => stored::compare(&args.runs, &store, &options)?,
            false => stored::compare_labels(&args.label, &store, &options)?,
        }
    } else {
        let on = live::Asked {
            targets: &args.on,
            server: &args.server,
            members: &args.members,
            rounds: args.rounds,
            own_back_ends: args.own_back_ends,
            bound: &args.bound,
            report: args.report.as_deref(),
            notes: args.tags.notes(label_of_runs(&args.label)?)?,
        };
        match live::compare(&on, &args.options, &options, drivers)? {
            Some(comparison) => comparison,
            None => return Ok(ExitCode::SUCCESS),
        }
    };
    show(args, &comparison)?;
    if let Some(path) = &args.report {
        let store = args.options.measure.store.open()?;
        output.spares(&store);
        let html = report::comparison(&store, &comparison);
        output.write_report(path, &html, audience(&comparison))?;
        say_where(path);
    }
    Ok(ExitCode::from(comparison.exit_code))
}

/// The label of runs that are measured now.
fn label_of_runs(labels: &[String]) -> Result<Option<String>, CommandError> {
    match labels {
        [] => Ok(None),
        [one] => {
            let wrong = |why| CommandError::usage(format!("--label {one}: with --on, {why}"));
            notes::label(one).map(Some).map_err(wrong)
        }
        _ => Err(CommandError::usage(
            "--label: with --on, give one label for all runs",
        )),
    }
}

fn by_factors(args: &CompareArgs) -> Result<ExitCode, CommandError> {
    let output = &args.options.measure.output;
    let sources = args.cell.iter().filter_map(|c| c.split_once('='));
    let names = sources
        .map(|(_, name)| name)
        .chain(args.runs.iter().map(String::as_str));
    names.for_each(|name| output.reads(name.as_ref()));
    let found = factors::compare(args)?;
    let audience = Audience::of(found.is_evidence());
    output.emit_view(&found, audience, |style| found.text(style))?;
    Ok(ExitCode::from(if found.is_doubtful() {
        INCOMPLETE
    } else {
        0
    }))
}

fn style(args: &CompareArgs) -> table::Style {
    table::Style::of_output(args.options.measure.output.output.as_deref())
}

fn no_such_format() -> CommandError {
    let why = "compare: --format accepts table, json, csv or markdown; the other formats describe one run";
    CommandError::usage(why)
}

fn options(args: &CompareArgs) -> Result<Options, CommandError> {
    let format = args.options.measure.output.format;
    if matches!(format, Format::FioJson | Format::Openmetrics) {
        // Before anything is measured.
        return Err(no_such_format());
    }
    let level = args.confidence / 100.0;
    if !(0.5..1.0).contains(&level) {
        let message = format!("--confidence {}: use 50 to 99.99", args.confidence);
        return Err(CommandError::usage(message));
    }
    if !(20..=RESAMPLES_MAX).contains(&args.resamples) {
        let message = format!("--resamples {}: use 20 to {RESAMPLES_MAX}", args.resamples);
        return Err(CommandError::usage(message));
    }
    if !(1..=ROUNDS_MAX).contains(&args.rounds) {
        let message = format!("--rounds {}: use 1 to {ROUNDS_MAX}", args.rounds);
        return Err(CommandError::usage(message));
    }
    Ok(Options {
        level,
        resamples: args.resamples,
        seed: args.bootstrap_seed,
        conditions: args.fail_if.clone(),
        asked: Vec::new(),
        created: now_rfc3339(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
    })
}

fn show(args: &CompareArgs, found: &Comparison) -> Result<(), CommandError> {
    let output = &args.options.measure.output;
    let failed = |e: String| CommandError::failed(format!("formatting the result: {e}"));
    let mut bytes = Vec::new();
    match output.format {
        Format::Json => {
            let written = crate::harmless_json::write_pretty(found, &mut bytes);
            written.map_err(|e| failed(e.to_string()))?;
        }
        Format::Csv => comparison::csv(found, &mut bytes).map_err(|e| failed(e.to_string()))?,
        Format::Markdown => bytes = markdown::comparison(found, output.verbose).into_bytes(),
        Format::FioJson | Format::Openmetrics => return Err(no_such_format()),
        Format::Table => {
            let style = style(args);
            bytes = style
                .fitted(comparison::text(found, style, output.verbose))
                .into_bytes();
        }
    }
    output.emit(&bytes, audience(found))
}

/// Who may read a comparison: one with imported runs is evidence.
fn audience(found: &Comparison) -> Audience {
    let imported = |run: &ComparedRun| run.origin == Origin::Imported;
    Audience::of(found.runs.iter().any(imported))
}
