//! Event histograms over their snapshots: `v$event_histogram` counts since the instance started, so
//! what happened between two snapshots is their difference. Differences are made where every
//! count only grows; where one goes back it is said, and nothing is subtracted.

use super::tables::{column, row};
use measure::imported::{Cell, Diagnostic, Severity, Table};
use measure::run::Row;
use std::collections::BTreeMap;

/// Snapshots that get a row.
const ROWS_MAX: usize = 4096;

/// Counts of one event by the exclusive upper bound of their bucket, in nanoseconds.
type Buckets = BTreeMap<u64, u64>;

/// One listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The file.
    pub file: String,
    /// Line of its first bucket, from 1.
    pub line: u64,
    /// Of which instance; empty where the listing does not tell.
    pub instance: String,
    /// What the listing calls it; empty where it has no name.
    pub label: String,
    events: BTreeMap<String, Buckets>,
}

impl Snapshot {
    /// An empty one.
    #[must_use]
    pub fn new(file: &str, line: u64, instance: &str, label: &str) -> Snapshot {
        Snapshot {
            file: file.to_owned(),
            line,
            instance: instance.to_owned(),
            label: label.to_owned(),
            events: BTreeMap::new(),
        }
    }

    /// Adds to a bucket.
    pub fn add(&mut self, event: &str, bound_ns: u64, count: u64) {
        let buckets = self.events.entry(event.to_owned()).or_default();
        let bucket = buckets.entry(bound_ns).or_default();
        *bucket = bucket.saturating_add(count);
    }

    /// The count of a bucket, if it was listed.
    #[must_use]
    pub fn count(&self, event: &str, bound_ns: u64) -> Option<u64> {
        self.events.get(event)?.get(&bound_ns).copied()
    }

    fn name(&self, index: usize) -> String {
        match (self.instance.as_str(), self.label.as_str()) {
            ("", "") => format!("snapshot {}", index + 1),
            (one, "") | ("", one) => one.to_owned(),
            (instance, label) => format!("{instance} {label}"),
        }
    }
}

/// What became of two snapshots of an event.
enum Change {
    Grew(Buckets),
    /// The bound of the bucket that went back, and its two counts.
    Back(u64, u64, u64),
}

/// What happened from one to the next; a bucket that is missing counts as 0.
fn change(before: &Buckets, after: &Buckets) -> Change {
    let mut grown = Buckets::new();
    for bound in before.keys().chain(after.keys()) {
        let count = |b: &Buckets| b.get(bound).copied().unwrap_or(0);
        let (from, to) = (count(before), count(after));
        match to.checked_sub(from) {
            Some(more) => grown.insert(*bound, more),
            None => return Change::Back(*bound, from, to),
        };
    }
    Change::Grew(grown)
}

/// Adds rows, tables and diagnostics of all snapshots.
pub fn join(
    snapshots: &[Snapshot],
    rows: &mut Vec<Row>,
    tables: &mut Vec<Table>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if snapshots.is_empty() {
        return;
    }
    let (mut summary, mut buckets) = (summary_table(), buckets_table());
    for (index, snapshot) in snapshots.iter().enumerate() {
        let name = snapshot.name(index);
        rows.extend((index < ROWS_MAX).then(|| row(&name)));
        for (event, counts) in &snapshot.events {
            lines(&name, event, counts, &mut summary, &mut buckets);
        }
    }
    for pair in differences(snapshots, diagnostics) {
        lines(
            &pair.name,
            &pair.event,
            &pair.counts,
            &mut summary,
            &mut buckets,
        );
    }
    tables.extend([summary, buckets]);
}

/// Whether the buckets are those of `v$event_histogram_micro`. No power of two microseconds is a
/// number of whole milliseconds.
fn is_micro(counts: &Buckets) -> bool {
    counts.keys().any(|bound| bound % 1_000_000 != 0)
}

struct Difference {
    name: String,
    event: String,
    counts: Buckets,
}

/// Differences of consecutive snapshots, for each event that never goes back.
fn differences(snapshots: &[Snapshot], diagnostics: &mut Vec<Diagnostic>) -> Vec<Difference> {
    let mut events: Vec<&String> = snapshots.iter().flat_map(|s| s.events.keys()).collect();
    events.sort();
    events.dedup();
    let mut found = Vec::new();
    let mut back: Option<(String, usize)> = None;
    let mut backs = 0;
    for event in events {
        let with: Vec<(usize, &Buckets)> = snapshots
            .iter()
            .enumerate()
            .filter_map(|(i, s)| Some((i, s.events.get(event)?)))
            .collect();
        let mut grown = Vec::new();
        // Each instance counts for itself, and so does each view: v$event_histogram_micro beside
        // v$event_histogram.
        let next = |at: usize| {
            let (i, counts) = with[at];
            let later = with[at + 1..].iter();
            let mut same = later.filter(|(j, later)| {
                snapshots[i].instance == snapshots[*j].instance
                    && is_micro(counts) == is_micro(later)
            });
            same.next().map(|after| (with[at], *after))
        };
        for ((i, before), (j, after)) in (0..with.len()).filter_map(next) {
            match change(before, after) {
                Change::Grew(counts) => grown.push(Difference {
                    name: format!("{} to {}", snapshots[i].name(i), snapshots[j].name(j)),
                    event: event.clone(),
                    counts,
                }),
                Change::Back(bound, from, to) => {
                    backs += 1;
                    grown.clear();
                    back.get_or_insert_with(|| {
                        let ms = bound as f64 / 1e6;
                        let names = (snapshots[i].name(i), snapshots[j].name(j));
                        let detail = format!(
                            "{event}: the count under {ms} ms goes back from {from} to {to} \
                             between {} and {}: the instance was restarted, or these are \
                             differences already; shown as they stand, not subtracted",
                            names.0, names.1
                        );
                        (detail, j)
                    });
                    break;
                }
            }
        }
        found.append(&mut grown);
    }
    if let Some((detail, at)) = back {
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            id: "histogram.goes_back".to_owned(),
            file: snapshots[at].file.clone(),
            line: Some(snapshots[at].line),
            column: None,
            detail,
            count: backs,
        });
        // Whoever lists differences lists them of all events.
        found.clear();
    }
    found
}

fn summary_table() -> Table {
    Table {
        id: "event_histogram_summary".to_owned(),
        title: "Event histograms: share of waits at or over a bound, and the bound of the longest"
            .to_owned(),
        columns: vec![
            column("snapshot", "Snapshot"),
            column("event", "Event"),
            column("waits", "Waits"),
            column("over_1ms_pct", "Over 1ms %"),
            column("over_16ms_pct", "Over 16ms %"),
            column("over_1024us_pct", "Over 1.024ms %"),
            column("over_16384us_pct", "Over 16.384ms %"),
            column("max_under_ms", "Max under ms"),
        ],
        ..Table::default()
    }
}

fn buckets_table() -> Table {
    Table {
        id: "event_histogram".to_owned(),
        title: "Event histogram: waits under the bound that are not in the bucket before"
            .to_owned(),
        columns: vec![
            column("snapshot", "Snapshot"),
            column("event", "Event"),
            column("wait_time_under_ms", "Under ms"),
            column("wait_count", "WAIT_COUNT"),
            column("pct", "%"),
        ],
        ..Table::default()
    }
}

fn lines(name: &str, event: &str, counts: &Buckets, summary: &mut Table, buckets: &mut Table) {
    let total: u128 = counts.values().map(|n| u128::from(*n)).sum();
    let pct = |n: u128| 100.0 * n as f64 / total.max(1) as f64;
    let lead = || [Cell::Text(name.to_owned()), Cell::Text(event.to_owned())];
    // Buckets of powers of two microseconds straddle the millisecond: theirs is one of 1024 µs.
    let is_micro = is_micro(counts);
    let over = |bound_ns: u64| {
        if total == 0 || is_micro == bound_ns.is_multiple_of(1_000_000) {
            return Cell::Blank;
        }
        let within = counts.range(..=bound_ns).map(|(_, n)| u128::from(*n));
        Cell::Real(pct(total - within.sum::<u128>()))
    };
    let longest = counts.iter().rev().find(|(_, n)| **n > 0);
    let longest = longest.map_or(Cell::Blank, |(bound, _)| Cell::Real(*bound as f64 / 1e6));
    let more = [
        Cell::Count(u64::try_from(total).unwrap_or(u64::MAX)),
        over(1_000_000),
        over(16_000_000),
        over(1_024_000),
        over(16_384_000),
        longest,
    ];
    summary.rows.push(lead().into_iter().chain(more).collect());
    for (bound, count) in counts {
        let more = [
            Cell::Real(*bound as f64 / 1e6),
            Cell::Count(*count),
            Cell::Real(pct(u128::from(*count))),
        ];
        buckets.rows.push(lead().into_iter().chain(more).collect());
    }
}
