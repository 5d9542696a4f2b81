//! Power tests as they are printed: one judged cut, and the cuts of a store.

use super::lines::wrap;
use super::table::{Style, draw};
use measure::power_test::{LossClass, PowerCycle, PowerTestSeries, StackFingerprint};
use measure::words::{self, sanitize};
use serde::Serialize;

/// The schema of a listing.
const SCHEMA: &str = "redolab.powertests/1";

/// Text is not wider.
const WIDTH: usize = 100;

/// A judged cut as JSON, with what all cuts of its stack show.
#[derive(Serialize)]
pub struct PrintedCut<'a> {
    /// The cut.
    #[serde(flatten)]
    pub cycle: &'a PowerCycle,
    /// All cuts of its stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<&'a PowerTestSeries>,
}

/// The cuts of a store.
#[derive(Serialize)]
pub struct PowerTestListing {
    schema: &'static str,
    store: String,
    /// What the cuts of each stack show together.
    series: Vec<PowerTestSeries>,
    /// Every judged cut, the oldest first.
    cycles: Vec<PowerCycle>,
    /// Files that cannot be read, and why.
    problems: Vec<String>,
}

impl PowerTestListing {
    /// The cuts of the store in a directory.
    #[must_use]
    pub fn new(store: String, cycles: Vec<PowerCycle>, problems: Vec<String>) -> PowerTestListing {
        let mut stacks: Vec<&StackFingerprint> = Vec::new();
        for cycle in &cycles {
            if !stacks.contains(&&cycle.stack) {
                stacks.push(&cycle.stack);
            }
        }
        let of = |stack: &&StackFingerprint| {
            let same = cycles.iter().filter(|cycle| cycle.stack == **stack);
            PowerTestSeries::of(&same.collect::<Vec<_>>())
        };
        PowerTestListing {
            schema: SCHEMA,
            store,
            series: stacks.iter().filter_map(of).collect(),
            cycles,
            problems,
        }
    }
}

/// A judged cut for people.
#[must_use]
pub fn text(cycle: &PowerCycle, totals: Option<&PowerTestSeries>, style: Style) -> String {
    let counts = &cycle.counts;
    let mut lines = vec![format!(
        "{}: {}.",
        cycle.class.word().to_uppercase(),
        cycle.class.explained()
    )];
    lines.push(format!(
        "{} of {} acknowledged writes lost ({} had been acknowledged, the others were released \
         before).",
        words::count(counts.lost),
        words::count(counts.demanded),
        words::count(counts.acknowledged)
    ));
    if counts.lost > 0 {
        let parts = [
            (counts.missing, "missing"),
            (counts.unreachable, "whole, but behind missing redo"),
            (counts.torn, "torn"),
            (counts.foreign, "replaced by something else"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", words::count(*count)))
            .collect();
        lines.push(format!("Lost: {}.", parts.join(", ")));
    }
    if let Some(first) = &cycle.first_lost {
        lines.push(format!("The first lost one: {}.", sanitize::line(first)));
    }
    lines.push(format!(
        "The cut, as stated: {}. It covers {}.",
        cycle.cut,
        cycle.cut.covers(cycle.hypervisor.is_some())
    ));
    lines.push(format!(
        "Device: {}; {}; {}.",
        sanitize::line(&cycle.stack.identity.in_words()),
        sanitize::line(&cycle.mode),
        cycle
            .stack
            .fact("sync method")
            .map_or_else(String::new, sanitize::line)
    ));
    lines.extend(cycle.notes.iter().map(|note| sanitize::line(note)));
    if let Some(totals) = totals {
        lines.push(format!(
            "All cuts of this stack ({}): {}.",
            totals.kinds_in_words(),
            totals.sentence()
        ));
        if totals.cuts == 0 {
            lines.push(
                "None of them took the power from the device's cache, so that the verdict of check \
                 stays unverified."
                    .to_owned(),
            );
        }
    }
    let mut text = String::new();
    for line in &lines {
        wrap(&mut text, "", line, style.width.min(WIDTH));
    }
    text
}

/// The cuts of a store for people.
#[must_use]
pub fn listing(listing: &PowerTestListing, style: Style) -> String {
    if listing.cycles.is_empty() && listing.problems.is_empty() {
        return format!("No power tests in {}\n", sanitize::line(&listing.store));
    }
    let mut text = String::new();
    let headings = [
        "Judged", "Test", "Path", "Cut", "Result", "Lost", "Demanded", "Counted",
    ];
    let line = |cycle: &PowerCycle| {
        vec![
            cycle
                .judged
                .get(..19)
                .unwrap_or(&cycle.judged)
                .replace('T', " "),
            cycle.test_id.get(..8).unwrap_or(&cycle.test_id).to_owned(),
            sanitize::line(&cycle.path),
            cycle.cut.word().to_owned(),
            cycle.class.word().to_owned(),
            words::count(cycle.counts.lost),
            words::count(cycle.counts.demanded),
            if cycle.counts() { "yes" } else { "no" }.to_owned(),
        ]
    };
    if !listing.cycles.is_empty() {
        text.push_str(&draw(
            &headings,
            listing.cycles.iter().map(line).collect(),
            5,
            style,
        ));
    }
    for series in &listing.series {
        let verdict = match (series.passed(), series.cuts) {
            (false, _) => "refuted",
            (true, 0) => "unverified",
            (true, _) => "tested",
        };
        text.push_str(&format!(
            "{} ({}): {verdict}: {}.\n",
            sanitize::line(&series.stack.identity.in_words()),
            sanitize::line(series.stack.fact("sync method").unwrap_or("?")),
            series.sentence()
        ));
    }
    for problem in &listing.problems {
        text.push_str(&format!("Cannot be read: {problem}\n"));
    }
    text
}

/// Whether a cut lost something.
#[must_use]
pub fn is_refuted(cycle: &PowerCycle) -> bool {
    cycle.class != LossClass::NothingLost
}
