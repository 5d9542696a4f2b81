//! The catalogue of findings as it is shown: each claim with its thresholds, their sources and what
//! to do.

use super::lines::wrap;
use super::table::Style;
use analysis::findings::FindingAxis;
use analysis::findings::catalogue::CatalogueEntry;
use analysis::findings::record::FindingRecord;
use analysis::thresholds::Thresholds;
use serde::Serialize;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.findings/1";
/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 110;

/// Entries of the catalogue with the thresholds that apply.
#[derive(Serialize)]
pub struct Catalogue {
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
    basis: &'static str,
    record: Option<FindingRecord>,
    confidence: &'static str,
    advice: &'static str,
    figure: Option<&'static str>,
}

#[derive(Serialize)]
struct ShownLimit {
    name: &'static str,
    value: f64,
    unit: &'static str,
    basis: &'static str,
    source: String,
}

impl Catalogue {
    /// The entries, with thresholds as `limits` has them.
    pub fn new(entries: Vec<&'static CatalogueEntry>, limits: &Thresholds) -> Catalogue {
        Catalogue {
            schema: SCHEMA,
            redolab_version: env!("CARGO_PKG_VERSION"),
            findings: entries.into_iter().map(|e| shown(e, limits)).collect(),
        }
    }

    /// All that is known of each entry.
    pub fn in_full(&self, style: Style) -> String {
        let width = style.width.min(WIDTH_MAX);
        let texts = self.findings.iter().map(|f| in_full(f, width));
        texts.collect::<Vec<String>>().join("\n")
    }

    /// A few lines for each entry, and how to see more.
    pub fn in_short(&self, style: Style) -> String {
        let width = style.width.min(WIDTH_MAX);
        let mut text: String = self.findings.iter().map(|f| in_short(f, width)).collect();
        text.push_str("\nredolab findings ID shows one finding with its sources and what to do.\n");
        text
    }
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
                basis: limit.basis.word(),
                source: limit.source.clone(),
            })
            .collect(),
        source: entry.source,
        basis: entry.basis(limits).word(),
        record: FindingRecord::of(entry.id),
        confidence: entry.confidence.word(),
        advice: entry.advice,
        figure: entry.figure.map(|f| f.name()),
    }
}

/// Id and thresholds, the claim, and the record where there is one.
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
    if let Some(record) = &f.record {
        let text = format!("Record: {} ({})", record.words(), f.basis);
        wrap(&mut out, "    ", &text, width);
    }
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
        let (value, unit, basis) = (t.value, t.unit, t.basis);
        let text = format!("{} = {value} {unit}: {} ({basis})", t.name, t.source);
        part("Threshold:", &text);
    }
    part("Source:", f.source);
    part("Basis:", f.basis);
    let record = f.record.as_ref().map(FindingRecord::words);
    part("Record:", record.as_deref().unwrap_or("no record"));
    part("What to do:", f.advice);
    part("Figure:", f.figure.unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines;
    use analysis::findings::catalogue::entries;

    #[test]
    fn lines_fit_and_say_value_unit_and_source() {
        let limits = Thresholds::parse("peak_ratio = { value = 7, source = \"our rule\" }");
        let limits = limits.expect("valid");
        let one = entries()
            .find(|e| e.id == "latency.peaks")
            .expect("it is there");
        let text = in_full(&shown(one, &limits), 80);
        assert!(
            text.contains("peak_ratio = 7 times: our rule (opinion)"),
            "{text}"
        );
        assert!(text.contains("peak_effect_pct = 10 %: redolab"), "{text}");
        assert!(
            text.contains("What to do:") && text.contains("confidence medium"),
            "{text}"
        );
        assert!(text.lines().all(|l| lines::width(l) <= 80), "{text}");
        let short = in_short(&shown(one, &limits), 80);
        assert!(
            short.starts_with("latency.peaks (peak_ratio = 7 times, "),
            "{short}"
        );
    }
}
