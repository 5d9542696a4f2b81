//! Power tests as they are printed: one judged cut, and the cuts of a store.

use super::drawing::draw;
use super::lines::wrap;
use super::table::Style;
use measure::power_test::{
    CutAssessment, EvidenceBasis, PowerCycle, PowerTestSeries, PowerTestStanding, StackFingerprint,
    below, cuts_for, loss_bound,
};
use measure::words::{self, sanitize};
use serde::Serialize;

/// The schema of a listing.
const SCHEMA: &str = "redolab.powertests/1";

/// Text is not wider.
const WIDTH: usize = 100;

/// A judged cut as JSON, with what shows it and what all cuts of its stack show.
#[derive(Serialize)]
pub struct PrintedCut<'a> {
    /// The cut.
    #[serde(flatten)]
    cycle: &'a PowerCycle,
    /// What shows that it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<EvidenceBasis>,
    /// All cuts of its stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<PrintedSeries>,
}

impl<'a> PrintedCut<'a> {
    /// A cut, and all of its stack.
    #[must_use]
    pub fn new(
        cycle: &'a PowerCycle,
        totals: Option<&PowerTestSeries>,
        bound_pct: f64,
    ) -> PrintedCut<'a> {
        PrintedCut {
            cycle,
            basis: cycle.basis(),
            totals: totals.map(|series| PrintedSeries::new(series.clone(), bound_pct)),
        }
    }
}

/// Cuts of a stack as JSON, with what they show.
#[derive(Serialize)]
struct PrintedSeries {
    #[serde(flatten)]
    series: PowerTestSeries,
    /// `tested`, `partly tested` or `refuted`.
    standing: &'static str,
    /// Upper bound of the share of cuts that lose something, at 95 %; absent where a cut lost
    /// something, and without a cut of the power that evidence shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss_per_cut_below: Option<f64>,
}

impl PrintedSeries {
    fn new(series: PowerTestSeries, bound_pct: f64) -> PrintedSeries {
        PrintedSeries {
            standing: series.standing(bound_pct).word(),
            loss_per_cut_below: (series.passed() && series.cuts > 0)
                .then(|| loss_bound(series.cuts)),
            series,
        }
    }
}

/// The cuts of a store.
#[derive(Serialize)]
pub struct PowerTestListing<'a> {
    schema: &'static str,
    store: String,
    /// What the cuts of each stack show together.
    series: Vec<PrintedSeries>,
    /// Every judged cut, the oldest first.
    cycles: Vec<PrintedCut<'a>>,
    /// Files that cannot be read, and why.
    problems: Vec<String>,
}

impl<'a> PowerTestListing<'a> {
    /// The cuts of the store in a directory; tested is what has at most `bound_pct` percent of cuts
    /// with a loss.
    #[must_use]
    pub fn new(
        store: String,
        cycles: &'a [PowerCycle],
        problems: Vec<String>,
        bound_pct: f64,
    ) -> PowerTestListing<'a> {
        let mut stacks: Vec<&StackFingerprint> = Vec::new();
        for cycle in cycles {
            if !stacks.contains(&&cycle.stack) {
                stacks.push(&cycle.stack);
            }
        }
        let of = |stack: &&StackFingerprint| {
            let same = cycles.iter().filter(|cycle| cycle.stack == **stack);
            let series = PowerTestSeries::of(&same.collect::<Vec<_>>())?;
            Some(PrintedSeries::new(series, bound_pct))
        };
        PowerTestListing {
            schema: SCHEMA,
            store,
            series: stacks.iter().filter_map(of).collect(),
            cycles: cycles
                .iter()
                .map(|cycle| PrintedCut::new(cycle, None, bound_pct))
                .collect(),
            problems,
        }
    }
}

/// A judged cut for people.
#[must_use]
pub fn text(
    cycle: &PowerCycle,
    totals: Option<&PowerTestSeries>,
    bound_pct: f64,
    style: Style,
) -> String {
    let counts = &cycle.counts;
    let explained = cycle.class.explained();
    let mut lines = vec![match cycle.counts() {
        true => format!("{}: {explained}.", cycle.class.word().to_uppercase()),
        false => format!("CANNOT BE JUDGED: {explained}, but this cut does not count."),
    }];
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
    lines.push(sanitize::line(&shown_by(cycle)));
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
        lines.extend(missing(totals, bound_pct));
    }
    let mut text = String::new();
    for line in &lines {
        wrap(&mut text, "", line, style.width.min(WIDTH));
    }
    text
}

/// What shows that a cut happened, as a sentence.
fn shown_by(cycle: &PowerCycle) -> String {
    match cycle.assessment() {
        CutAssessment::Shown(basis) => format!("The cut is shown by {basis}."),
        CutAssessment::ByWord(why) => format!("The cut is by the operator's word alone: {why}."),
        CutAssessment::Unshown(why) => format!("Nothing shows this cut: {why}."),
        CutAssessment::Contradicted(why) => format!("There was no such cut: {why}."),
    }
}

/// What a stack that lost nothing lacks until check calls it tested; `None` where it lacks nothing.
fn missing(totals: &PowerTestSeries, bound_pct: f64) -> Option<String> {
    let wanted = cuts_for(bound_pct).map_or_else(String::new, |cuts| {
        format!(
            "; {} without a loss are needed ({})",
            words::plural(cuts, "such cut"),
            below(cuts)
        )
    });
    match totals.standing(bound_pct) {
        PowerTestStanding::Refuted | PowerTestStanding::Tested => None,
        PowerTestStanding::PartlyTested if totals.cuts == 0 => Some(format!(
            "In none of them is a loss of power of the device's cache shown, so that the verdict of \
             check stays unverified{wanted}."
        )),
        PowerTestStanding::PartlyTested => Some(format!(
            "This is too few to call the stack tested, so that the verdict of check stays \
             unverified{wanted}."
        )),
    }
}

/// The cuts of a store for people.
#[must_use]
pub fn listing(listing: &PowerTestListing<'_>, style: Style) -> String {
    if listing.cycles.is_empty() && listing.problems.is_empty() {
        return format!("No power tests in {}\n", sanitize::line(&listing.store));
    }
    let mut text = String::new();
    let headings = [
        "Judged", "Test", "Path", "Cut", "Result", "Lost", "Demanded", "Counted",
    ];
    let line = |printed: &PrintedCut<'_>| {
        let cycle = printed.cycle;
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
            match printed.basis {
                Some(EvidenceBasis::OperatorsWord) => "by word",
                _ if cycle.counts() => "yes",
                _ => "no",
            }
            .to_owned(),
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
        let (series, standing) = (&series.series, series.standing);
        text.push_str(&format!(
            "{} ({}): {standing}: {}.\n",
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
