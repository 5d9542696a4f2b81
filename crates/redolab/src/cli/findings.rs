//! `redolab findings`: what each finding claims, its threshold and where that comes
//! from, how sure it is and what to do.

use super::CommandError;
use super::common::ViewArgs;
use super::need::thresholds;
use analysis::findings::FindingAxis;
use analysis::findings::catalogue::{CatalogueEntry, entries};
use analysis::thresholds::Thresholds;
use clap::Args;
use measure::words::sanitize;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.findings/1";

/// Options of `findings`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file can override thresholds; give it to check with --thresholds FILE. Each of its lines has the
form `name = 2.5` or `name = { value = 2.5, source = \"our service level\" }`.")]
pub(crate) struct FindingsArgs {
    /// Id of a finding, such as latency.peaks, or the first part of ids, such as stack
    /// [default: all]
    id: Option<String>,
    /// Show the thresholds with the values that this file overrides
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Serialize)]
struct Catalogue {
    schema: &'static str,
    redolab_version: &'static str,
    findings: Vec<Shown>,
}

/// An entry of the catalogue with its thresholds as they apply.
#[derive(Serialize)]
struct Shown {
    id: &'static str,
    axis: &'static str,
    claim: &'static str,
    rule: &'static str,
    thresholds: Vec<ShownLimit>,
    source: &'static str,
    confidence: &'static str,
    advice: &'static str,
    figure: Option<&'static str>,
}

#[derive(Serialize)]
struct ShownLimit {
    name: &'static str,
    value: f64,
    unit: &'static str,
    source: String,
}

pub(crate) fn main(args: &FindingsArgs) -> Result<ExitCode, CommandError> {
    let limits = thresholds(args.thresholds.as_deref())?;
    args.thresholds
        .iter()
        .for_each(|path| args.view.reads(path));
    let chosen = chosen(args.id.as_deref())?;
    let full = args.id.is_some();
    let catalogue = Catalogue {
        schema: SCHEMA,
        redolab_version: env!("CARGO_PKG_VERSION"),
        findings: chosen.into_iter().map(|e| shown(e, &limits)).collect(),
    };
    args.view.emit(&catalogue, |style| {
        let width = style.width.min(110);
        let each = catalogue.findings.iter();
        if full {
            let texts: Vec<String> = each.map(|f| in_full(f, width)).collect();
            texts.join("\n")
        } else {
            let mut text: String = each.map(|f| in_short(f, width)).collect();
            text.push_str(
                "\nredolab findings ID shows one finding with its sources and what to do.\n",
            );
            text
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn chosen(id: Option<&str>) -> Result<Vec<&'static CatalogueEntry>, CommandError> {
    let Some(id) = id else {
        return Ok(entries().collect());
    };
    let inside = |e: &&CatalogueEntry| {
        let rest = e.id.strip_prefix(id.trim_end_matches('.'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found: Vec<&CatalogueEntry> = entries().filter(inside).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let shared = |e: &&CatalogueEntry| {
        e.id.bytes()
            .zip(id.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let near = entries().max_by_key(shared).filter(|e| shared(e) >= 4);
    let hint = near.map_or_else(String::new, |e| format!("; did you mean {}?", e.id));
    Err(CommandError::usage(format!(
        "there is no finding `{}`{hint} `redolab findings` lists them all",
        sanitize::line(id)
    )))
}

fn shown(entry: &'static CatalogueEntry, limits: &Thresholds) -> Shown {
    let each = entry.limits(limits).into_iter();
    Shown {
        id: entry.id,
        axis: match entry.axis() {
            FindingAxis::Durability => "durability",
            FindingAxis::Need => "need",
            FindingAxis::Performance => "performance",
            FindingAxis::Validity => "validity",
        },
        claim: entry.claim,
        rule: entry.rule,
        thresholds: each
            .map(|(name, limit)| ShownLimit {
                name,
                value: limit.value,
                unit: Thresholds::unit(name),
                source: limit.source.clone(),
            })
            .collect(),
        source: entry.source,
        confidence: entry.confidence.word(),
        advice: entry.advice,
        figure: entry.figure.map(|f| f.name()),
    }
}

/// Two lines: id and thresholds, then the claim.
fn in_short(f: &Shown, width: usize) -> String {
    let limits = f
        .thresholds
        .iter()
        .map(|t| format!("{} = {} {}", t.name, t.value, t.unit));
    let limits: Vec<String> = limits.collect();
    let mut out = String::new();
    if limits.is_empty() {
        out.push_str(&format!("{}\n", f.id));
    } else {
        wrap(
            &mut out,
            "",
            &format!("{} ({})", f.id, limits.join(", ")),
            width,
        );
    }
    wrap(&mut out, "    ", f.claim, width);
    out
}

fn in_full(f: &Shown, width: usize) -> String {
    let mut out = format!(
        "{}   weighs on {}, confidence {}\n",
        f.id, f.axis, f.confidence
    );
    wrap(&mut out, "  ", f.claim, width);
    let mut part = |name: &str, text: &str| {
        if !text.is_empty() {
            wrap(&mut out, &format!("  {name:<12}"), text, width);
        }
    };
    part("Rule:", f.rule);
    for t in &f.thresholds {
        // Of the user's own file, too.
        let text = format!("{} = {} {}: {}", t.name, t.value, t.unit, t.source);
        part("Threshold:", &text);
    }
    part("Source:", f.source);
    part("What to do:", f.advice);
    part("Figure:", f.figure.unwrap_or(""));
    out
}

/// Appends `text` behind `mark`, broken at blanks; further lines are indented as far as the mark.
fn wrap(out: &mut String, mark: &str, text: &str, width: usize) {
    crate::output::verdict::wrap(out, mark, text, width);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_their_beginnings_choose() {
        let count = |id| chosen(id).map(|found| found.len()).map_err(|e| e.message);
        assert!(count(None).expect("all") > 90);
        assert_eq!(count(Some("latency.peaks")), Ok(1));
        assert_eq!(count(Some("steady")), Ok(4));
        assert_eq!(count(Some("steady.")), Ok(4));
        let wrong = count(Some("latency.peak")).expect_err("a part of a word is none");
        assert!(wrong.contains("did you mean latency.peaks?"), "{wrong}");
        assert!(count(Some("\u{1b}[2Jx")).is_err_and(|e| !e.contains('\u{1b}')));
    }

    #[test]
    fn lines_fit_and_say_value_unit_and_source() {
        let limits = Thresholds::parse("peak_ratio = { value = 7, source = \"our rule\" }");
        let limits = limits.expect("valid");
        let one = chosen(Some("latency.peaks")).expect("it is there")[0];
        let text = in_full(&shown(one, &limits), 80);
        assert!(text.contains("peak_ratio = 7 times: our rule"), "{text}");
        assert!(text.contains("peak_effect_pct = 10 %: redolab"), "{text}");
        assert!(
            text.contains("What to do:") && text.contains("confidence medium"),
            "{text}"
        );
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        let short = in_short(&shown(one, &limits), 80);
        assert!(
            short.starts_with("latency.peaks (peak_ratio = 7 times, "),
            "{short}"
        );
    }
}
