//! `redolab summary`: the values of one event as R's `summary` prints them, and two samples as R's
//! `t.test` does.

use super::common::ViewArgs;
use super::{CommandError, INCOMPLETE, values};
use crate::intake::feed::Failed;
use crate::intake::find::{self, Input};
use crate::intake::values::{ValuesOf, read};
use crate::output::lines::tell;
use crate::output::r_format::TestDigits;
use crate::output::samples::{SampleMethod, SampleSummary};
use crate::signals::{self, Interrupt};
use analysis::samples::describe;
use analysis::stats::StatsRefusal;
use analysis::stats::bootstrap::BootstrapPlan;
use analysis::stats::pooled::PooledSample;
use clap::Args;
use evidence::{Import, ImportRefusal, Kind, Options};
use measure::imported::Diagnostic;
use measure::units::parse_bytes;
use measure::words::sanitize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Events that are tried in this order if `--event` names none.
const EVENTS: [&str; 2] = ["log file sync", "log file parallel write"];
/// Files of a sample that a message names.
const FILES_SHOWN: usize = 3;
/// What the values of files are called that name no event.
const NAMELESS: &str = "elapsed";
/// The only sample without a label.
const UNLABELLED: &str = "x";

/// Options of `summary`.
#[derive(Debug, Args)]
#[command(after_help = "\
The first sample is x and the second is y; every difference is x minus y. All files of one label \
are one sample: the traces of 20 sessions are one sample. Quantiles, means and standard deviations \
are exact. R's t test treats waits as independent; the block bootstrap does not.

  redolab summary session*.trc
  redolab summary --label on=flash_on/ --label off='flash_off/*.trc'
  redolab summary --label before=a.csv --label after=b.csv --format json")]
pub(crate) struct SummaryArgs {
    /// Traces or count,elapsed: files, directories, patterns (in quotes), or - for standard input
    #[arg(
        value_name = "FILE",
        required_unless_present = "label",
        conflicts_with = "label"
    )]
    files: Vec<PathBuf>,
    /// A sample: a name with a file, directory or pattern. Two names make two samples; a name that
    /// is repeated adds files to its sample
    #[arg(long, value_name = "NAME=PATH")]
    label: Vec<String>,
    /// Wait event of the values [default: log file sync; if a sample has none, log file parallel
    /// write]
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Print t and the degrees of freedom with 5 significant digits, as R 4 does [default: with 4
    /// and 3 decimals, as R 2 does and as in study 004]
    #[arg(long)]
    r4: bool,
    /// Confidence level of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: f64,
    /// Number of resamples of the bootstrap
    #[arg(long, value_name = "N", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(20..=100_000))]
    resamples: u32,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value = "1")]
    bootstrap_seed: u64,
    /// Kind of the files [default: each file is recognised from its content]
    #[arg(long, value_name = "KIND", value_parser = values::kind())]
    kind: Option<Kind>,
    /// Unit of ela in traces: us (9i and later) or cs (8i) [default: as the header of the trace
    /// implies]
    #[arg(long, value_name = "UNIT", value_parser = values::ela_unit())]
    ela_unit: Option<u64>,
    /// Largest size of a compressed file after decompression, such as 64G
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = parse_bytes)]
    max_unpacked: u64,
    #[command(flatten)]
    view: ViewArgs,
}

/// A sample before it is read.
struct Named {
    name: String,
    inputs: Vec<Input>,
}

/// All samples for one event.
struct Found {
    samples: Vec<(String, PooledSample)>,
    diagnostics: Vec<Diagnostic>,
    is_whole: bool,
    /// No file names the event of its values.
    is_nameless: bool,
    bad: Vec<String>,
    has_unknown: bool,
}

pub(crate) fn main(args: &SummaryArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let level = args.confidence / 100.0;
    if !(0.5..1.0).contains(&level) {
        let message = format!("--confidence {}: use 50 to 99.99", args.confidence);
        return Err(CommandError::usage(message));
    }
    let named = named(args)?;
    let inputs = || named.iter().flat_map(|n| &n.inputs);
    inputs().for_each(|input| args.view.reads(&input.path));
    args.view.check()?;
    let once = inputs().any(|input| input.path == Path::new("-"));
    if once && args.event.is_none() {
        let message = "summary: standard input is read once; name the event with --event";
        return Err(CommandError::usage(message));
    }
    let (event, found) = all(args, &named, &interrupt)?;
    let plan = BootstrapPlan {
        resamples: args.resamples,
        level,
        seed: args.bootstrap_seed,
        ..BootstrapPlan::default()
    };
    let mut described = Vec::new();
    for (i, (name, sample)) in found.samples.iter().enumerate() {
        let seed = plan.seed.wrapping_add(i as u64);
        let one = describe(name, sample, &BootstrapPlan { seed, ..plan });
        let refused = |e: StatsRefusal| nothing(args, &named, name, &found, &e);
        described.push(one.map_err(refused)?);
    }
    let method = SampleMethod {
        level,
        resamples: args.resamples,
        seed: args.bootstrap_seed,
        digits: match args.r4 {
            true => TestDigits::Significant,
            false => TestDigits::Decimals,
        },
    };
    let summary = SampleSummary::new(event, described, found.diagnostics, &method);
    args.view.emit(&summary, |style| summary.text(style))?;
    for line in &found.bad {
        tell(&format!("redolab: {}", sanitize::line(line)));
    }
    let is_whole = found.is_whole && found.bad.is_empty();
    Ok(ExitCode::from(if is_whole { 0 } else { INCOMPLETE }))
}

/// The samples that the arguments name, the first label first.
fn named(args: &SummaryArgs) -> Result<Vec<Named>, CommandError> {
    let mut paths: Vec<(String, Vec<PathBuf>)> = Vec::new();
    if args.label.is_empty() {
        paths.push((UNLABELLED.to_owned(), args.files.clone()));
    }
    for text in &args.label {
        let wrong = |why: &str| CommandError::usage(format!("--label {text}: {why}"));
        let (name, path) = text
            .split_once('=')
            .filter(|(name, path)| !name.is_empty() && !path.is_empty())
            .ok_or_else(|| wrong("write NAME=PATH, such as before=traces/"))?;
        let known = paths.len();
        match paths.iter_mut().find(|(known, _)| known == name) {
            Some((_, found)) => found.push(PathBuf::from(path)),
            None if known == 2 => return Err(wrong("two labels are compared, not three")),
            None => paths.push((name.to_owned(), vec![PathBuf::from(path)])),
        }
    }
    let mut samples: Vec<Named> = Vec::new();
    for (name, paths) in paths {
        let inputs = find::inputs(&paths).map_err(|e| CommandError::usage(e.to_string()))?;
        let mut others = samples.iter().flat_map(|s| &s.inputs);
        if let Some(twice) = inputs.iter().find(|i| others.any(|o| o.path == i.path)) {
            return Err(CommandError::usage(format!(
                "{}: this file is in both samples",
                sanitize::line(&twice.path.display().to_string())
            )));
        }
        samples.push(Named { name, inputs });
    }
    Ok(samples)
}

/// Every sample, of the event that was asked for or else of the first that each sample has.
fn all(
    args: &SummaryArgs,
    named: &[Named],
    interrupt: &Interrupt,
) -> Result<(String, Found), CommandError> {
    if let Some(event) = &args.event {
        return Ok((event.clone(), of_event(args, named, event, interrupt)?));
    }
    let first = of_event(args, named, EVENTS[0], interrupt)?;
    if first.samples.iter().all(|(_, sample)| sample.n() > 0) {
        let event = match first.is_nameless {
            true => NAMELESS,
            false => EVENTS[0],
        };
        return Ok((event.to_owned(), first));
    }
    let second = of_event(args, named, EVENTS[1], interrupt)?;
    Ok((EVENTS[1].to_owned(), second))
}

fn of_event(
    args: &SummaryArgs,
    named: &[Named],
    event: &str,
    interrupt: &Interrupt,
) -> Result<Found, CommandError> {
    let mut found = Found {
        samples: Vec::new(),
        diagnostics: Vec::new(),
        is_whole: true,
        is_nameless: true,
        bad: Vec::new(),
        has_unknown: false,
    };
    for sample in named {
        let mut import = Import::new(Options {
            kind: args.kind,
            ela_unit_ns: args.ela_unit,
            redact_sql: true,
            samples_of: Some(event.to_owned()),
            utc_offsets: Vec::new(),
        });
        let mut report = |input: &Input, outcome: ValuesOf| match outcome {
            ValuesOf::Whole => {}
            ValuesOf::Cut(why) => {
                found.is_whole = false;
                tell(&format!("redolab: {}", sanitize::line(&why)));
            }
            // What a directory has beside evidence is no failure.
            ValuesOf::Nothing(Failed::Refused(_)) if !input.named => {}
            ValuesOf::Nothing(Failed::Refused(refusal)) => {
                found.has_unknown |= matches!(refusal, ImportRefusal::Unknown { .. });
                found.bad.push(refusal.to_string());
            }
            ValuesOf::Nothing(Failed::Open(why)) => found.bad.push(why),
            ValuesOf::Nothing(_) => {}
        };
        let (inputs, max) = (&sample.inputs, args.max_unpacked);
        let read = read(inputs, &mut import, max, interrupt, &mut report);
        let read = read.map_err(|failed| match failed {
            Failed::Interrupted => CommandError {
                code: signals::INTERRUPTED as u8,
                message: "interrupted".to_owned(),
            },
            Failed::Samples(e) => CommandError::failed(format!("{}: {e}", sample.name)),
            _ => CommandError::failed(format!("{}: the files cannot be read", sample.name)),
        })?;
        found.samples.push((sample.name.clone(), read));
        let mut outcome = import.finish();
        let mut sources = outcome.imported.sources.iter();
        found.is_nameless &= sources.all(|s| s.kind == Kind::CountElapsed.name());
        found.diagnostics.append(&mut outcome.diagnostics);
    }
    Ok(found)
}

/// No values: which files and events were tried, and what there is instead.
fn nothing(
    args: &SummaryArgs,
    named: &[Named],
    name: &str,
    found: &Found,
    why: &StatsRefusal,
) -> CommandError {
    let mut lines = found.bad.clone();
    if lines.is_empty() {
        let tried = match &args.event {
            Some(event) => format!("`{event}`"),
            None => EVENTS.map(|event| format!("`{event}`")).join(" or "),
        };
        let sample = named.iter().find(|n| n.name == name);
        let files = sample.map_or(String::new(), shown_files);
        let whose = match args.label.is_empty() {
            true => files,
            false => format!("{name} ({files})"),
        };
        lines.push(format!("{whose}: {why} of {tried}"));
        let known = |d: &&Diagnostic| d.id == "trace.no_samples";
        let others = found.diagnostics.iter().filter(known).take(3);
        lines.extend(others.map(|d| format!("{}: {}", d.file, d.detail)));
        lines.push("only traces and count,elapsed have single values".to_owned());
    }
    let mut message = lines.join("\nredolab: ");
    if found.has_unknown {
        message = format!("{message}\n{}", evidence::kind::looked_for());
    }
    CommandError::failed(message)
}

/// The files of a sample, the first ones by name.
fn shown_files(sample: &Named) -> String {
    let shown = sample.inputs.iter().take(FILES_SHOWN);
    let names: Vec<String> = shown
        .map(|i| sanitize::line(&i.path.display().to_string()))
        .collect();
    let more = match sample.inputs.len().saturating_sub(FILES_SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", names.join(", "))
}
