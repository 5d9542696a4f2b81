//! Event histograms over their snapshots: `v$event_histogram` counts since the instance started, so
//! what happened between two snapshots is their difference. Differences are made where every
//! count only grows; where one goes back it is said, and nothing is subtracted, unless next to
//! nothing is left: there the instance was restarted, and counts begin again.

use super::origin::{SourcedCell, add_sourced, text};
use super::tables::{column, row};
use measure::imported::{Cell, Diagnostic, Severity, Table};
use measure::origin::{OriginInput, TextSpan};
use measure::run::Row;
use std::collections::BTreeMap;

/// Precedes the time at which an instance was started in its name.
pub(crate) const STARTED: &str = "started";
/// Snapshots that get a row.
const ROWS_MAX: usize = 4096;

/// The buckets of one event by their exclusive upper bound, in nanoseconds.
type Buckets = BTreeMap<u64, ListedBucket>;

/// A bucket as it was listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedBucket {
    /// Its label, in the unit of the listing.
    pub label: u64,
    /// Nanoseconds of that unit.
    pub unit_ns: u64,
    /// Waits.
    pub count: u64,
    /// Where the label is.
    pub label_span: Option<TextSpan>,
    /// Where the count is; a blank one is nowhere.
    pub count_span: Option<TextSpan>,
    /// Where the event is named: in the line or in the query above.
    pub event_span: Option<TextSpan>,
    /// Where instance and snapshot are named.
    pub name_spans: [Option<TextSpan>; 2],
}

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

    /// Adds a bucket.
    pub fn add(&mut self, event: &str, bound_ns: u64, bucket: ListedBucket) {
        let buckets = self.events.entry(event.to_owned()).or_default();
        buckets.entry(bound_ns).or_insert(bucket);
    }

    /// Lines of its buckets.
    pub fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let buckets = self.events.values().flat_map(BTreeMap::values);
        let spans = buckets.filter_map(|b| b.label_span.or(b.count_span));
        spans.map(|s| u64::from(s.line))
    }

    /// Moves the places of its buckets.
    pub(crate) fn move_places(&mut self, move_it: &dyn Fn(&mut TextSpan)) {
        for bucket in self.events.values_mut().flat_map(BTreeMap::values_mut) {
            let own = [
                &mut bucket.label_span,
                &mut bucket.count_span,
                &mut bucket.event_span,
            ];
            let spans = own.into_iter().chain(&mut bucket.name_spans);
            spans.flatten().for_each(move_it);
        }
    }

    /// The count of a bucket, if it was listed.
    #[must_use]
    pub fn count(&self, event: &str, bound_ns: u64) -> Option<u64> {
        Some(self.events.get(event)?.get(&bound_ns)?.count)
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
    Grew(Vec<GrownBucket>),
    /// The bound of the bucket that went back, and its two counts.
    Back(u64, u64, u64),
}

/// What a bucket grew by, and the places of both counts among the buckets of their snapshots.
struct GrownBucket {
    bound_ns: u64,
    count: u64,
    listed: ListedBucket,
    before: Option<usize>,
    after: Option<usize>,
}

/// What happened from one to the next; a bucket that is missing counts as 0.
fn change(before: &Buckets, after: &Buckets) -> Change {
    let mut grown = BTreeMap::new();
    for bound in before.keys().chain(after.keys()) {
        let count = |b: &Buckets| b.get(bound).map_or(0, |b| b.count);
        let (from, to) = (count(before), count(after));
        let Some(more) = to.checked_sub(from) else {
            return Change::Back(*bound, from, to);
        };
        let listed = after.get(bound).or_else(|| before.get(bound));
        grown.entry(*bound).or_insert_with(|| GrownBucket {
            bound_ns: *bound,
            count: more,
            listed: listed.copied().unwrap_or_default(),
            before: before.keys().position(|b| b == bound),
            after: after.keys().position(|b| b == bound),
        });
    }
    Change::Grew(grown.into_values().collect())
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
    let mut out = HistogramTables::new();
    // Where the buckets of each snapshot and event begin in the table.
    let mut first_rows: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (index, snapshot) in snapshots.iter().enumerate() {
        let name = snapshot.name(index);
        rows.extend((index < ROWS_MAX).then(|| row(&name)));
        for (event, buckets) in &snapshot.events {
            first_rows.insert((index, event), out.buckets.rows.len());
            let listed = |(bound, bucket): (&u64, &ListedBucket)| HistogramLine::of(*bound, bucket);
            let lines = buckets.iter().map(listed).collect();
            out.event(&snapshot.file, &name, event, lines);
        }
    }
    for pair in differences(snapshots, diagnostics) {
        let id = |index: usize, at: Option<usize>| {
            let row = first_rows.get(&(index, pair.event.as_str()))? + at?;
            Some(OriginInput::from(format!(
                "event_histogram.{row}.wait_count"
            )))
        };
        let line = |grown: &GrownBucket| {
            let ids = [id(pair.before, grown.before), id(pair.after, grown.after)];
            HistogramLine::grown(grown, ids)
        };
        let lines = pair.grown.iter().map(line).collect();
        out.event(&snapshots[pair.after].file, &pair.name, &pair.event, lines);
    }
    tables.extend([out.summary, out.buckets]);
}

/// Whether the buckets are those of `v$event_histogram_micro`. No power of two microseconds is a
/// number of whole milliseconds.
fn is_micro(counts: &Buckets) -> bool {
    counts.keys().any(|bound| bound % 1_000_000 != 0)
}

struct Difference {
    name: String,
    event: String,
    /// The two snapshots.
    before: usize,
    after: usize,
    grown: Vec<GrownBucket>,
}

/// Differences of consecutive snapshots, for each event that never goes back.
fn differences(snapshots: &[Snapshot], diagnostics: &mut Vec<Diagnostic>) -> Vec<Difference> {
    let mut events: Vec<&String> = snapshots.iter().flat_map(|s| s.events.keys()).collect();
    events.sort();
    events.dedup();
    let mut found = Vec::new();
    let mut back: Option<(String, usize)> = None;
    let (mut backs, mut are_counters) = (0, true);
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
                Change::Grew(buckets) => grown.push(Difference {
                    name: format!("{} to {}", snapshots[i].name(i), snapshots[j].name(j)),
                    event: event.clone(),
                    before: i,
                    after: j,
                    grown: buckets,
                }),
                Change::Back(bound, from, to) => {
                    backs += 1;
                    let pair = [i, j].map(|at| snapshots[at].name(at));
                    back.get_or_insert_with(|| (went_back(event, (bound, from, to), pair), j));
                    grown.push(since_restart(event, snapshots, j, after));
                    are_counters &= is_restart(before, after);
                }
            }
        }
        found.append(&mut grown);
    }
    if let Some((detail, at)) = back {
        let became = match are_counters {
            true => "the instance was restarted: counts begin again there",
            false => {
                "the instance was restarted, or these are differences already; shown as they are, \
                 not subtracted"
            }
        };
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            id: "histogram.goes_back".to_owned(),
            file: snapshots[at].file.clone(),
            line: Some(snapshots[at].line),
            column: None,
            detail: format!("{detail}: {became}"),
            count: backs,
        });
        // Whoever lists differences lists them of all events.
        found.retain(|_| are_counters);
    }
    found
}

/// Which count went back, and between which snapshots.
fn went_back(event: &str, (bound, from, to): (u64, u64, u64), [a, b]: [String; 2]) -> String {
    let ms = bound as f64 / 1e6;
    format!("{event}: the count under {ms} ms goes back from {from} to {to} between {a} and {b}")
}

/// What was counted from a restart to the snapshot behind it.
fn since_restart(event: &str, all: &[Snapshot], at: usize, counts: &Buckets) -> Difference {
    let grown = counts
        .iter()
        .enumerate()
        .map(|(row, (bound, listed))| GrownBucket {
            bound_ns: *bound,
            count: listed.count,
            listed: *listed,
            before: None,
            after: Some(row),
        });
    Difference {
        name: format!("the restart to {}", all[at].name(at)),
        event: event.to_owned(),
        before: at,
        after: at,
        grown: grown.collect(),
    }
}

/// Whether counts went back by so much that they are counters which began again.
fn is_restart(before: &Buckets, after: &Buckets) -> bool {
    /// Part of the counts that there is at most behind a restart.
    const FEW: u64 = 50;
    let [before, after] = [before, after].map(|of| of.values().map(|b| b.count).sum::<u64>());
    after.saturating_mul(FEW) < before
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

/// A line of the table of buckets.
struct HistogramLine {
    bound_ns: u64,
    count: u64,
    name_spans: Vec<TextSpan>,
    event_span: Option<TextSpan>,
    label_cell: SourcedCell,
    count_cell: SourcedCell,
}

impl HistogramLine {
    fn of(bound_ns: u64, bucket: &ListedBucket) -> HistogramLine {
        let count = Cell::Count(bucket.count);
        HistogramLine {
            bound_ns,
            count: bucket.count,
            name_spans: bucket.name_spans.into_iter().flatten().collect(),
            event_span: bucket.event_span,
            label_cell: label_cell(bucket),
            count_cell: SourcedCell::read(count, bucket.count_span),
        }
    }

    fn grown(grown: &GrownBucket, ids: [Option<OriginInput>; 2]) -> HistogramLine {
        let formula = match &ids {
            [Some(_), Some(_)] => "b - a",
            [None, Some(_)] => "a, as a bucket that is not listed before is 0",
            _ => "0 - a, as a bucket that is not listed behind is 0",
        };
        let inputs = ids.into_iter().flatten().collect();
        HistogramLine {
            bound_ns: grown.bound_ns,
            count: grown.count,
            name_spans: Vec::new(),
            event_span: grown.listed.event_span,
            label_cell: label_cell(&grown.listed),
            count_cell: SourcedCell::derived(Cell::Count(grown.count), formula, inputs),
        }
    }

    fn line(&self) -> Option<u64> {
        self.label_cell.line()
    }
}

/// The bound in milliseconds.
fn label_cell(bucket: &ListedBucket) -> SourcedCell {
    let unit_ms = bucket.unit_ns as f64 / 1e6;
    SourcedCell::scaled(bucket.label as f64, unit_ms, bucket.label_span)
}

/// Both tables.
struct HistogramTables {
    summary: Table,
    buckets: Table,
}

impl HistogramTables {
    fn new() -> HistogramTables {
        HistogramTables {
            summary: summary_table(),
            buckets: buckets_table(),
        }
    }

    /// Adds an event of a snapshot, or of the difference of two.
    fn event(&mut self, file: &str, name: &str, event: &str, lines: Vec<HistogramLine>) {
        let total: u128 = lines.iter().map(|l| u128::from(l.count)).sum();
        let pct = |n: u128| 100.0 * n as f64 / total.max(1) as f64;
        let from = self.buckets.rows.len();
        let rows = format!(
            "event_histogram.{from}-{}",
            from + lines.len().saturating_sub(1)
        );
        let input = |column: &str| OriginInput::from(format!("{rows}.{column}"));
        let both = || vec![input("wait_count"), input("wait_time_under_ms")];
        // Buckets of powers of two microseconds straddle the millisecond: theirs is one of 1024 µs.
        let is_micro = lines.iter().any(|l| l.bound_ns % 1_000_000 != 0);
        let over = |bound_ns: u64, formula: &'static str| {
            if total == 0 || is_micro == bound_ns.is_multiple_of(1_000_000) {
                return SourcedCell::blank();
            }
            let within = lines.iter().filter(|l| l.bound_ns <= bound_ns);
            let within: u128 = within.map(|l| u128::from(l.count)).sum();
            SourcedCell::computed(Some(pct(total - within)), formula, both())
        };
        let longest = lines.iter().rev().find(|l| l.count > 0);
        let longest = longest.map(|l| l.bound_ns as f64 / 1e6);
        let sum = Cell::Count(u64::try_from(total).unwrap_or(u64::MAX));
        let first = lines.first();
        let lead = |line: Option<&HistogramLine>| {
            let spans = line.into_iter().flat_map(|l| &l.name_spans).copied();
            let named = spans.map(OriginInput::Span).collect();
            let event_span = line.and_then(|l| l.event_span);
            [
                SourcedCell::derived(text(name), "name of the snapshot", named),
                SourcedCell::read(text(event), event_span),
            ]
        };
        let more = [
            SourcedCell::derived(sum, "sum of a", vec![input("wait_count")]),
            over(1_000_000, "100 * share of a where b > 1"),
            over(16_000_000, "100 * share of a where b > 16"),
            over(1_024_000, "100 * share of a where b > 1.024"),
            over(16_384_000, "100 * share of a where b > 16.384"),
            SourcedCell::computed(longest, "largest b where a > 0", both()),
        ];
        let of = |line: Option<&HistogramLine>| line.and_then(HistogramLine::line).unwrap_or(1);
        let cells = lead(first).into_iter().chain(more).collect();
        add_sourced(
            &mut self.summary,
            file,
            (of(first), of(lines.last())),
            cells,
        );
        for line in &lines {
            let share = Some(pct(u128::from(line.count)));
            let inputs = vec!["wait_count".into(), input("wait_count")];
            let more = [
                line.label_cell.clone(),
                line.count_cell.clone(),
                SourcedCell::computed(share, "100 * a / sum of b", inputs),
            ];
            let at = of(Some(line));
            let cells = lead(Some(line)).into_iter().chain(more).collect();
            add_sourced(&mut self.buckets, file, (at, at), cells);
        }
    }
}
