//! Findings as the page lists them: claim, numbers, threshold, source and advice.

use super::escape::esc;
use super::links::Links;
use super::mark_of;
use crate::account::findings::{EVIDENCE, claim, weight_word};
use crate::account::weight_in_words;
use crate::format;
use measure::judgement::Finding;

/// Most findings of a list: the rest is counted.
const MAX_ENTRIES: usize = 60;

/// A list of findings by their places, with links to what shows them.
pub(super) fn list(
    findings: &[&Finding],
    places: std::ops::Range<usize>,
    class: &str,
    links: &Links,
) -> String {
    let more = places.len().saturating_sub(MAX_ENTRIES);
    let shown = places.clone().take(MAX_ENTRIES);
    let mut out: String = shown
        .filter_map(|place| Some(reason(findings.get(place)?, place, links)))
        .collect();
    if more > 0 {
        out.push_str(&format!("<li>and {more} more</li>"));
    }
    format!(
        "<ol class=\"{class}\" start=\"{}\">{out}</ol>",
        places.start + 1
    )
}

fn reason(f: &Finding, place: usize, links: &Links) -> String {
    let (class, mark) = mark_of(f.weight);
    let word = match f.id.starts_with(EVIDENCE) {
        true => weight_word(f),
        false => weight_in_words(f.weight),
    };
    let word = format!("{mark} {word}");
    let numbers: Vec<String> = f
        .numbers
        .iter()
        .take(24)
        .map(|(n, v)| number(n, *v))
        .collect();
    let mut facts = String::new();
    if !numbers.is_empty() {
        facts.push_str(&format!("<span>{}</span>", esc(&numbers.join(", "))));
    }
    for (label, text) in [("Threshold", &f.threshold), ("Source", &f.source)] {
        if !text.is_empty() {
            facts.push_str(&format!("<span>{label}: {}</span>", esc(text)));
        }
    }
    facts.push_str(&format!(
        "<span class=\"id\">{} · finding {}</span>",
        esc(&f.id),
        place + 1
    ));
    let advice = if f.advice.is_empty() {
        String::new()
    } else {
        format!("<p class=\"d\"><b>What to do:</b> {}</p>", esc(&f.advice))
    };
    format!(
        "<li id=\"finding-{}\"><span class=\"w {class}\">{word}</span><div><p class=\"c\">{}</p>{advice}\
         <div class=\"more\"><details><summary>Numbers, threshold, source</summary><p class=\"d\">{facts}</p></details>{}</div></div></li>",
        place + 1,
        esc(&claim(f)),
        links.forward(place),
    )
}

/// A number with its name in words and the unit that the name ends with.
fn number(name: &str, value: f64) -> String {
    const UNITS: [(&str, &str); 5] = [
        ("_ms", " ms"),
        ("_us", " µs"),
        ("_tps", " /s"),
        ("_mbps", " MB/s"),
        ("_ns", " ns"),
    ];
    if let Some(stem) = name.strip_suffix("_bytes") {
        return format!(
            "{} {}",
            stem.replace('_', " "),
            format::bytes(value.max(0.0) as u64)
        );
    }
    if let Some(stem) = name.strip_suffix("_pct") {
        return format!("{} {}", stem.replace('_', " "), format::percent(value));
    }
    let (stem, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, *unit)))
        .unwrap_or((name, ""));
    let is_whole = value.fract() == 0.0 && (0.0..1e15).contains(&value);
    let text = if is_whole {
        format::count(value as u64)
    } else {
        format::digits(value)
    };
    format!("{} {text}{unit}", stem.replace('_', " "))
}
