//! `compare --as r2` and `--as r4`: the single waits of one event as R's `summary` prints them, and
//! two samples as R's `t.test` does.

use super::super::{CommandError, INCOMPLETE};
use super::CompareArgs;
use crate::intake::feed::Failed;
use crate::intake::find::{self, Input};
use crate::intake::values::{ValuesOf, read};
use crate::output::file::Audience;
use crate::output::lines::tell;
use crate::output::r_format::TestDigits;
use crate::output::samples::{SampleMethod, SampleSummary};
use crate::signals::{self, Interrupt};
use analysis::compare::Options as CompareOptions;
use analysis::samples::describe;
use analysis::stats::StatsRefusal;
use analysis::stats::bootstrap::BootstrapPlan;
use analysis::stats::pooled::PooledSample;
use evidence::{Import, ImportRefusal, Kind, Options};
use measure::imported::Diagnostic;
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

/// Describes the samples that the arguments name, with these digits.
pub(super) fn main(
    args: &CompareArgs,
    options: &CompareOptions,
    digits: TestDigits,
) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let output = &args.options.measure.output;
    let named = named(args)?;
    let inputs = || named.iter().flat_map(|n| &n.inputs);
    inputs().for_each(|input| output.reads(&input.path));
    output.check_report(output.output.as_deref())?;
    let once = inputs().any(|input| input.path == Path::new("-"));
    if once && args.event.is_none() {
        let message = "compare: standard input is read once; name the event with --event";
        return Err(CommandError::usage(message));
    }
    let (event, found) = all(args, &named, &interrupt)?;
    let plan = BootstrapPlan {
        resamples: options.resamples,
        level: options.level,
        seed: options.seed,
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
        level: options.level,
        resamples: options.resamples,
        seed: options.seed,
        digits,
    };
    let summary = SampleSummary::new(event, described, found.diagnostics, &method);
    output.emit_view(&summary, Audience::Owner, |style| summary.text(style))?;
    for line in &found.bad {
        tell(&format!("redolab: {}", sanitize::line(line)));
    }
    let is_whole = found.is_whole && found.bad.is_empty();
    Ok(ExitCode::from(if is_whole { 0 } else { INCOMPLETE }))
}

/// The samples that the arguments name, the first label first.
fn named(args: &CompareArgs) -> Result<Vec<Named>, CommandError> {
    let mut paths: Vec<(String, Vec<PathBuf>)> = Vec::new();
    if args.label.is_empty() {
        let files = args.runs.iter().map(PathBuf::from).collect();
        paths.push((UNLABELLED.to_owned(), files));
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
    args: &CompareArgs,
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
    args: &CompareArgs,
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
            kind: args.reading.kind,
            ela_unit_ns: args.reading.ela_unit,
            redact_sql: true,
            keeps_distributions: false,
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
        let (inputs, max) = (&sample.inputs, args.reading.max_unpacked);
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
    args: &CompareArgs,
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
