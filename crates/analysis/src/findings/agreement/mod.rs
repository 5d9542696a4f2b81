//! Whether the evidences of an import agree: the same quantity as each of them shows it, the
//! difference, and what explains it.
//!
//! Invariants: evidences are compared only in what both show; a difference is explained only by
//! something that the evidences themselves show (digits, buckets, windows, what a view keeps).

pub(super) mod observe;
mod restart;

use super::Caution;
use super::catalogue;
use super::note::Note;
use measure::imported::{Cell, Column, Imported, Source, Table};
use measure::judgement::Finding;
use measure::origin::{CellOrigin, RowOrigin};
use observe::{EvidenceSource, Observation, SharedQuantity};

/// How the cells of the table are made.
const COMPARED: &str = "comparison of the evidences that the row names";
/// Id of the table.
pub const TABLE: &str = "agreement";
/// Files of one kind that are compared with another kind.
const FILES_MAX: usize = 8;
/// Numbers of waits that differ by less are of the same window.
const SAME_WINDOW: f64 = 0.02;
/// Requests that `V$LGWRIO_OUTLIER` keeps; study 000.
const VIEW_KEEPS: f64 = 180.0;
/// Ranges that are narrower, as a share of the value, have a middle worth a difference.
const CLOSE: f64 = 0.1;
/// Waits from which an evidence is compared: an excerpt of a few lines shows no rate.
const WAITS_MIN: f64 = 30.0;
/// What measured means may differ by where windows are the same but sampled differently.
const SLACK: f64 = 0.05;

/// How two values relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreement {
    Agrees,
    Explained,
    Differs,
    NotComparable,
}

impl Agreement {
    fn name(self) -> &'static str {
        match self {
            Agreement::Agrees => "agree",
            Agreement::Explained => "differ, explained",
            Agreement::Differs => "differ",
            Agreement::NotComparable => "not comparable",
        }
    }
}

/// Two evidences of a quantity.
struct ComparedPair<'a> {
    a: &'a Observation,
    b: &'a Observation,
    agreement: Agreement,
    why: String,
}

/// The table of what the evidences of an import show of the same quantities; `None` where there are
/// no two of them.
#[must_use]
pub fn table(imported: &Imported) -> Option<Table> {
    let all = observe::all(imported);
    let pairs = pairs(&all, &imported.sources);
    let column = |key: &str, heading: &str| Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    };
    let rows: Vec<Vec<Cell>> = pairs.iter().map(row).collect();
    let origins = pairs.iter().zip(&rows).map(origin).collect();
    (!rows.is_empty()).then(|| Table {
        id: TABLE.to_owned(),
        formulas: vec![COMPARED.to_owned()],
        origins,
        title: "Do the evidences agree?".to_owned(),
        columns: vec![
            column("quantity", "Quantity"),
            column("evidence_a", "Evidence A"),
            column("value_a", "A"),
            column("evidence_b", "Evidence B"),
            column("value_b", "B"),
            column("difference_pct", "B - A %"),
            column("agreement", "Agreement"),
            column("explanation", "Explanation"),
        ],
        rows,
        ..Table::default()
    })
}

/// What evidences contradict without an explanation, and a doubt about what was subtracted.
#[must_use]
pub fn findings(imported: &Imported) -> Vec<Finding> {
    let all = observe::all(imported);
    let pairs = pairs(&all, &imported.sources);
    let differ = pairs.iter().filter(|p| p.agreement == Agreement::Differs);
    let note = |pair: &ComparedPair<'_>| {
        let claim = format!(
            "{}: {} in the {} and {} in the {}: {}",
            pair.a.quantity.name(),
            value(pair.a),
            named(pair.a),
            value(pair.b),
            named(pair.b),
            pair.why
        );
        Note::of(&catalogue::EVIDENCE_AGREEMENT, Caution, claim)
            .number("a_low", pair.a.low)
            .number("a_high", pair.a.high)
            .number("b_low", pair.b.low)
            .number("b_high", pair.b.high)
            .done()
    };
    let doubt = restart::doubt(imported).map(Note::done);
    differ.map(note).chain(doubt).collect()
}

/// Each evidence beside the first one that shows the same quantity.
fn pairs<'a>(all: &'a [Observation], sources: &[Source]) -> Vec<ComparedPair<'a>> {
    let mut quantities: Vec<SharedQuantity> = all.iter().map(|o| o.quantity).collect();
    quantities.sort_unstable();
    quantities.dedup();
    let mut out = Vec::new();
    for quantity in quantities {
        let mut of: Vec<&Observation> = all.iter().filter(|o| o.quantity == quantity).collect();
        // What has enough waits comes first, so that others are not compared with an excerpt.
        of.sort_by_key(|o| (is_excerpt(o), o.source));
        let Some((first, others)) = of.split_first() else {
            continue;
        };
        let is_boot = quantity == SharedQuantity::Boot;
        let others = others
            .iter()
            .filter(|o| is_boot || o.source != first.source);
        for other in others.take(FILES_MAX) {
            let (agreement, why) = relate(first, other, sources);
            out.push(ComparedPair {
                a: first,
                b: other,
                agreement,
                why,
            });
        }
    }
    out
}

/// Whether an evidence has only a few waits.
fn is_excerpt(of: &Observation) -> bool {
    of.waits.is_some_and(|n| n < WAITS_MIN)
}

/// How two values of a quantity relate, and why.
fn relate(a: &Observation, b: &Observation, sources: &[Source]) -> (Agreement, String) {
    if let (Some(one), Some(other)) = (instance(a, sources), instance(b, sources))
        && !one.eq_ignore_ascii_case(other)
    {
        let why = format!("other instances: {one} and {other}");
        return (Agreement::NotComparable, why);
    }
    if let Some(few) = [a, b].into_iter().find(|o| is_excerpt(o)) {
        let waits = crate::format::count(few.waits.unwrap_or(0.0) as u64);
        let why = format!("the {} has {waits} waits only", named(few));
        return (Agreement::NotComparable, why);
    }
    if a.low <= b.high && b.low <= a.high {
        let why = match (
            a.low == a.high && b.low == b.high,
            a.high.max(b.high) > 2.0 * a.low.min(b.low),
        ) {
            (true, _) => "",
            (false, false) => "within digits or buckets",
            (false, true) => "buckets are wide: not contradicted, no more",
        };
        return (Agreement::Agrees, why.to_owned());
    }
    let pair = (a.source, b.source);
    let with = |source: EvidenceSource| pair.0 == source || pair.1 == source;
    match a.quantity {
        SharedQuantity::Boot => (
            Agreement::Differs,
            "the machine was started between the two listings".to_owned(),
        ),
        SharedQuantity::WriteRate | SharedQuantity::RedoRate if with(EvidenceSource::Iostat) => {
            match b.low > a.high {
                true => (
                    Agreement::Explained,
                    "the device has other writes".to_owned(),
                ),
                false => (
                    Agreement::Differs,
                    "the device writes less than the log: the log is not on it alone".to_owned(),
                ),
            }
        }
        SharedQuantity::Outliers | SharedQuantity::Longest => slow_writes(a, b),
        _ => windows(a, b),
    }
}

/// Slow writes: views and warnings keep a part, histograms keep all.
fn slow_writes(a: &Observation, b: &Observation) -> (Agreement, String) {
    let view = [a, b]
        .into_iter()
        .find(|o| o.source == EvidenceSource::OutlierView);
    if view.is_some_and(|v| v.quantity == SharedQuantity::Outliers && v.high >= VIEW_KEEPS) {
        let why = format!("the view keeps the last {VIEW_KEEPS} requests");
        return (Agreement::Explained, why);
    }
    // A list of slow writes that another evidence of the same waits excludes.
    let whole = [a, b].into_iter().find(|o| o.waits.is_some());
    let listed = [a, b].into_iter().find(|o| o.waits.is_none());
    match (whole, listed) {
        (Some(whole), Some(listed)) if listed.low > whole.high => (
            Agreement::Differs,
            format!(
                "the {} covers {} waits and excludes what the {} lists, if both are of the same time",
                named(whole),
                crate::format::count(whole.waits.unwrap_or(0.0) as u64),
                named(listed)
            ),
        ),
        (Some(_), Some(_)) => (
            Agreement::Explained,
            "the list covers a shorter time, or is a part of it".to_owned(),
        ),
        _ => windows(a, b),
    }
}

/// Waits of different windows are not the same waits.
fn windows(a: &Observation, b: &Observation) -> (Agreement, String) {
    let since_start = EvidenceSource::HistogramSinceStart;
    let (Some(x), Some(y)) = (a.waits, b.waits) else {
        return (Agreement::Differs, "no figure explains it".to_owned());
    };
    let apart = (x / y - 1.0).abs().max((y / x - 1.0).abs());
    if apart > SAME_WINDOW {
        let count = |n: f64| crate::format::count(n as u64);
        let since = match a.source == since_start || b.source == since_start {
            true => "; a histogram counts since the instance was started",
            false => "",
        };
        let why = format!("other windows: {} and {} waits{since}", count(x), count(y));
        return (Agreement::Explained, why);
    }
    let middle = |o: &Observation| f64::midpoint(o.low, o.high);
    let off = (middle(b) / middle(a).max(f64::MIN_POSITIVE) - 1.0).abs();
    match off <= SLACK {
        true => (
            Agreement::Explained,
            "windows begin and end at other moments".to_owned(),
        ),
        false => (
            Agreement::Differs,
            "both cover the same number of waits, and no rounding explains it".to_owned(),
        ),
    }
}

/// The instance that an evidence's file names.
fn instance<'a>(of: &Observation, sources: &'a [Source]) -> Option<&'a str> {
    const NAMES: [&str; 3] = ["Instance name", "Instance", "DB Name"];
    let file = match of.file.as_str() {
        "" => sources.iter().find(|s| s.kind == "oracle-trace"),
        file => sources.iter().find(|s| s.file == file),
    };
    let facts = &file?.facts;
    let named = |name: &&str| facts.iter().find(|(n, _)| n == name);
    NAMES
        .iter()
        .find_map(named)
        .map(|(_, value)| value.as_str())
}

/// An evidence with its part and its place.
fn named(of: &Observation) -> String {
    let name = match of.part.as_str() {
        "" => of.source.name().to_owned(),
        part => format!("{}, {part}", of.source.name()),
    };
    match (of.file.as_str(), of.line) {
        ("", _) => name,
        (file, Some(line)) => format!("{name} ({file}:{line})"),
        (file, None) => format!("{name} ({file})"),
    }
}

fn value(of: &Observation) -> String {
    use super::evidence::view::show;
    let (low, high) = (of.low, of.high);
    match of.quantity {
        SharedQuantity::Waits(_) => crate::format::count(low as u64),
        SharedQuantity::Boot => format!("{low:.1} to {high:.1}"),
        SharedQuantity::Outliers if low == high => crate::format::count(low as u64),
        _ if low == high => show(low),
        _ => format!("{} to {}", show(low), show(high)),
    }
}

/// Where a row comes from: the tables of both evidences.
fn origin((pair, cells): (&ComparedPair<'_>, &Vec<Cell>)) -> RowOrigin {
    let line = pair.a.line.or(pair.b.line).unwrap_or(1);
    let of = [pair.a, pair.b].into_iter().find(|o| !o.file.is_empty());
    computed(of.map_or("", |o| &o.file), line, cells)
}

/// A row of which every cell was computed by the first formula of its table.
pub(super) fn computed(file: &str, line: u64, cells: &[Cell]) -> RowOrigin {
    let cell = |cell: &Cell| match cell {
        Cell::Blank => CellOrigin::Given,
        _ => CellOrigin::Derived(Box::default()),
    };
    RowOrigin {
        file: file.to_owned(),
        lines: (line, line),
        cells: cells.iter().map(cell).collect(),
    }
}

fn row(pair: &ComparedPair<'_>) -> Vec<Cell> {
    let middle = |o: &Observation| f64::midpoint(o.low, o.high);
    let difference = 100.0 * (middle(pair.b) / middle(pair.a) - 1.0);
    // The middle of a range is no figure: a difference is shown of values that are known closely.
    let is_close = |o: &Observation| o.high - o.low <= CLOSE * o.high.abs();
    let is_shown = pair.a.quantity != SharedQuantity::Boot
        && difference.is_finite()
        && is_close(pair.a)
        && is_close(pair.b)
        && pair.agreement != Agreement::NotComparable;
    vec![
        Cell::Text(pair.a.quantity.name()),
        Cell::Text(named(pair.a)),
        Cell::Text(value(pair.a)),
        Cell::Text(named(pair.b)),
        Cell::Text(value(pair.b)),
        if is_shown {
            Cell::Real(difference)
        } else {
            Cell::Blank
        },
        Cell::Text(pair.agreement.name().to_owned()),
        match pair.why.as_str() {
            "" => Cell::Blank,
            why => Cell::Text(why.to_owned()),
        },
    ]
}
