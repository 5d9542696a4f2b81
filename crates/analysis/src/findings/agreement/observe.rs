//! What each evidence shows of the same quantities, with how exact it is.
//!
//! Invariant: a value is the interval in which rounding and buckets leave the true one; what an
//! evidence does not show is absent.

use super::super::diagnosis::device;
use super::super::diagnosis::{figures::EventWaits, reports::reports};
use super::super::evidence::published::clock;
use super::super::evidence::view::{Line, Tables, lines};
use measure::imported::{Imported, Table};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SharedQuantity {
    /// Number of waits for an event.
    Waits(&'static str),
    /// Mean wait in ms.
    Mean(&'static str),
    /// Waits over so many ms, percent.
    Over(&'static str, u32),
    /// Log writes of over 500 ms.
    Outliers,
    /// The longest log write in ms.
    Longest,
    /// Log writes per second.
    WriteRate,
    /// Redo written per second, in MiB.
    RedoRate,
    /// When the machine was started, in seconds since 1970.
    Boot,
}

impl SharedQuantity {
    /// Its name with its unit.
    pub(super) fn name(self) -> String {
        match self {
            SharedQuantity::Waits(event) => format!("{event}: waits"),
            SharedQuantity::Mean(event) => format!("{event}: mean (ms)"),
            SharedQuantity::Over(event, ms) => format!("{event}: over {ms} ms (%)"),
            SharedQuantity::Outliers => "log writes over 500 ms".to_owned(),
            SharedQuantity::Longest => "longest log write (ms)".to_owned(),
            SharedQuantity::WriteRate => "log writes per second".to_owned(),
            SharedQuantity::RedoRate => "redo per second (MiB)".to_owned(),
            SharedQuantity::Boot => "start of the machine (s since 1970)".to_owned(),
        }
    }
}

/// What an evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvidenceSource {
    /// Traces of the log writer, its workers or sessions: every wait.
    Trace,
    /// A report of AWR or Statspack: sums between two snapshots.
    Report,
    /// The difference of two listings of an event histogram.
    HistogramChange,
    /// One listing of an event histogram: since the instance was started.
    HistogramSinceStart,
    /// `V$LGWRIO_OUTLIER` or `X$KSFDSTLL`: the last 180 slow requests.
    OutlierView,
    /// Warnings in the log writer's trace file.
    Warnings,
    /// `iostat` of the log's device.
    Iostat,
    /// A published table of the log writer's workers: shares and the longest wait of each.
    WorkerTable,
}

impl EvidenceSource {
    pub(super) fn name(self) -> &'static str {
        match self {
            EvidenceSource::Trace => "trace",
            EvidenceSource::Report => "report",
            EvidenceSource::HistogramChange => "event histogram, difference",
            EvidenceSource::HistogramSinceStart => "event histogram since the start",
            EvidenceSource::OutlierView => "outlier view",
            EvidenceSource::Warnings => "warnings",
            EvidenceSource::Iostat => "iostat",
            EvidenceSource::WorkerTable => "table of workers",
        }
    }
}

/// What one evidence shows of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) quantity: SharedQuantity,
    pub(super) source: EvidenceSource,
    /// The part of it, such as the snapshots between which it is; empty where it is whole.
    pub(super) part: String,
    /// The file; empty where it joins several.
    pub(super) file: String,
    /// Line of the table's heading.
    pub(super) line: Option<u64>,
    /// The least that the true value can be.
    pub(super) low: f64,
    /// The most that it can be.
    pub(super) high: f64,
    /// Waits that the evidence covers, where it counts them.
    pub(super) waits: Option<f64>,
}

pub(super) const WRITE: &str = super::super::diagnosis::WRITE;
pub(super) const SYNC: &str = super::super::diagnosis::SYNC;
const EVENTS: [&str; 2] = [WRITE, SYNC];
/// Log writes are outliers from here, in ms.
const OUTLIER_MS: f64 = 500.0;

/// What all evidences show.
pub(super) fn all(imported: &Imported) -> Vec<Observation> {
    let tables = Tables(&imported.tables);
    let mut out = Vec::new();
    of_reports(tables, &mut out);
    of_traces(tables, &mut out);
    of_workers(tables, &mut out);
    of_histograms(tables, &mut out);
    of_outliers(tables, &mut out);
    of_iostat(tables, imported.log_device.as_deref(), &mut out);
    out
}

fn event_of(name: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| *event == name)
}

fn waits_of(
    event: &'static str,
    waits: EventWaits,
    source: EvidenceSource,
    file: &str,
    out: &mut Vec<Observation>,
) {
    let mut push = |quantity, value: f64, off: f64| {
        out.push(Observation {
            quantity,
            source,
            part: String::new(),
            file: file.to_owned(),
            line: None,
            low: value * (1.0 - off),
            high: value * (1.0 + off),
            waits: Some(waits.waits),
        });
    };
    push(SharedQuantity::Waits(event), waits.waits, 0.0);
    push(SharedQuantity::Mean(event), waits.mean_ms(), waits.off);
}

fn of_reports(tables: Tables<'_>, out: &mut Vec<Observation>) {
    for report in reports(tables) {
        let source = match report.file {
            // Waits of traces are of one set, whatever their files.
            "" if tables.of("wait_events").next().is_some() => EvidenceSource::Trace,
            _ => EvidenceSource::Report,
        };
        for event in EVENTS {
            if let Some(waits) = report.event(event) {
                waits_of(event, waits, source, report.file, out);
            }
        }
        let Some(seconds) = report.window_s else {
            continue;
        };
        let rates = [
            ("redo writes", SharedQuantity::WriteRate, 1.0),
            ("redo size", SharedQuantity::RedoRate, 1_048_576.0),
        ];
        for (statistic, quantity, unit) in rates {
            if let Some(total) = report.statistic(statistic) {
                let value = total / seconds / unit;
                out.push(Observation {
                    quantity,
                    source,
                    part: String::new(),
                    file: report.file.to_owned(),
                    line: None,
                    low: value * 0.99,
                    high: value * 1.01,
                    waits: None,
                });
            }
        }
    }
    for table in tables.of("redo_waits_over") {
        for line in lines(table) {
            let Some(event) = event_of(line.text("event")) else {
                continue;
            };
            for (key, ms) in [("over_1ms_pct", 1), ("over_16ms_pct", 16)] {
                // Shares of a report have one decimal; `.0` is anything under 0.05.
                shares(event, (&line, key, ms, 0.05), EvidenceSource::Report, out);
            }
        }
    }
}

fn shares(
    event: &'static str,
    (line, key, ms, half): (&Line<'_>, &str, u32, f64),
    source: EvidenceSource,
    out: &mut Vec<Observation>,
) {
    if let Some(pct) = line.number(key) {
        out.push(Observation {
            quantity: SharedQuantity::Over(event, ms),
            source,
            part: String::new(),
            file: line.table().file.clone(),
            line: line.table().line,
            low: (pct - half).max(0.0),
            high: pct + half,
            waits: line.number("waits"),
        });
    }
}

/// A published table of workers does not contain how many waits each had: the share of all is
/// between the least and the most of the workers, within the printed digits.
fn of_workers(tables: Tables<'_>, out: &mut Vec<Observation>) {
    /// Half of the last printed digit.
    const HALF: f64 = 0.005;
    for table in tables.of("worker_latency_published") {
        let mut push = |quantity, [low, high]: [f64; 2]| {
            out.push(Observation {
                quantity,
                source: EvidenceSource::WorkerTable,
                part: String::new(),
                file: table.file.clone(),
                line: table.line,
                low: (low - HALF).max(0.0),
                high: high + HALF,
                waits: None,
            });
        };
        let ends = |key: &str| {
            let of = lines(table).filter_map(|l| l.number(key)).map(|v| [v, v]);
            of.reduce(|[low, high], [v, _]| [low.min(v), high.max(v)])
        };
        for (key, ms) in [
            ("over_1ms_pct", 1),
            ("over_10ms_pct", 10),
            ("over_20ms_pct", 20),
        ] {
            if let Some(ends) = ends(key) {
                push(SharedQuantity::Over(WRITE, ms), ends);
            }
        }
        if let Some([_, longest]) = ends("max_ms") {
            push(SharedQuantity::Longest, [longest, longest]);
        }
    }
}

/// Shares and outliers of all processes together.
fn of_traces(tables: Tables<'_>, out: &mut Vec<Observation>) {
    for event in EVENTS {
        let of_event = |line: &Line<'_>| line.text("event") == event;
        let rows: Vec<Line<'_>> = tables.lines("worker_latency").filter(of_event).collect();
        let sum = |f: &dyn Fn(&Line<'_>) -> Option<f64>| rows.iter().filter_map(f).sum::<f64>();
        let waits = sum(&|l| l.number("waits"));
        if waits <= 0.0 {
            continue;
        }
        let mut push = |quantity, value: f64| {
            out.push(Observation {
                quantity,
                source: EvidenceSource::Trace,
                part: String::new(),
                file: String::new(),
                line: None,
                low: value,
                high: value,
                waits: Some(waits),
            });
        };
        for (key, ms) in [
            ("over_1ms_pct", 1),
            ("over_10ms_pct", 10),
            ("over_20ms_pct", 20),
        ] {
            let over = sum(&|l| Some(l.number(key)? * l.number("waits")?));
            push(SharedQuantity::Over(event, ms), over / waits);
        }
        if event == WRITE {
            push(SharedQuantity::Outliers, sum(&|l| l.number("outliers")));
            let longest = rows.iter().filter_map(|l| l.number("max_ms"));
            push(SharedQuantity::Longest, longest.fold(0.0, f64::max));
        }
    }
}

/// Buckets of one snapshot or difference: lower and upper bound in ms, and waits.
type MsBuckets = Vec<(f64, f64, f64)>;

/// A listing of an event histogram, or the difference of two.
pub(in crate::findings) struct ListedHistogram<'a> {
    /// It is a difference.
    pub(in crate::findings) is_change: bool,
    /// What the listing calls it.
    pub(in crate::findings) snapshot: &'a str,
    pub(in crate::findings) buckets: MsBuckets,
    pub(in crate::findings) table: &'a Table,
}

impl ListedHistogram<'_> {
    fn waits(&self) -> f64 {
        self.buckets.iter().map(|(_, _, n)| n).sum()
    }
}

/// The difference that holds most waits of an event, else the listing that does: between the last
/// two there may be none.
pub(in crate::findings) fn histogram<'a>(
    tables: Tables<'a>,
    event: &str,
) -> Option<ListedHistogram<'a>> {
    let mut all: Vec<ListedHistogram<'a>> = Vec::new();
    for line in tables.lines("event_histogram") {
        let bucket = (line.number("wait_time_under_ms"), line.number("wait_count"));
        let (Some(upper), Some(count)) = bucket else {
            continue;
        };
        if line.text("event") != event {
            continue;
        }
        let snapshot = line.text("snapshot");
        let is_known = all.last().is_some_and(|known| known.snapshot == snapshot);
        if !is_known {
            all.push(ListedHistogram {
                is_change: snapshot.contains(" to "),
                snapshot,
                buckets: Vec::new(),
                table: line.table(),
            });
        }
        let lower = if upper <= 1.0 { 0.0 } else { upper / 2.0 };
        if let Some(known) = all.last_mut() {
            known.buckets.push((lower, upper, count));
        }
    }
    let has_waits = |listed: &ListedHistogram<'_>| listed.is_change && listed.waits() > 0.0;
    let of_changes = all.iter().any(has_waits);
    all.retain(|listed| listed.is_change == of_changes);
    all.into_iter()
        .max_by(|a, b| a.waits().total_cmp(&b.waits()))
}

fn of_histograms(tables: Tables<'_>, out: &mut Vec<Observation>) {
    for event in EVENTS {
        if let Some(listed) = histogram(tables, event) {
            of_buckets(event, &listed, out);
        }
    }
}

fn of_buckets(event: &'static str, listed: &ListedHistogram<'_>, out: &mut Vec<Observation>) {
    let (buckets, waits) = (&listed.buckets, listed.waits());
    if waits <= 0.0 {
        return;
    }
    let source = match listed.is_change {
        true => EvidenceSource::HistogramChange,
        false => EvidenceSource::HistogramSinceStart,
    };
    let mut push = |quantity, low: f64, high: f64| {
        out.push(Observation {
            quantity,
            source,
            part: listed.snapshot.to_owned(),
            file: listed.table.file.clone(),
            line: listed.table.line,
            low,
            high,
            waits: Some(waits),
        });
    };
    push(SharedQuantity::Waits(event), waits, waits);
    let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| buckets.iter().map(f).sum::<f64>();
    let low = sum(&|(lower, _, n)| lower * n) / waits;
    push(
        SharedQuantity::Mean(event),
        low,
        sum(&|(_, upper, n)| upper * n) / waits,
    );
    // Waits that are surely over a bound, and waits that may be.
    let over = |ms: f64| {
        let surely = sum(&|(lower, _, n)| if *lower >= ms { *n } else { 0.0 });
        (
            surely,
            sum(&|(_, upper, n)| if *upper > ms { *n } else { 0.0 }),
        )
    };
    for ms in [1, 10, 16, 20] {
        let (low, high) = over(f64::from(ms));
        let pct = |n: f64| 100.0 * n / waits;
        push(SharedQuantity::Over(event, ms), pct(low), pct(high));
    }
    if event == WRITE {
        let (low, high) = over(OUTLIER_MS);
        push(SharedQuantity::Outliers, low, high);
        let used = buckets.iter().filter(|(_, _, n)| *n > 0.0);
        let top = used.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((lower, upper, _)) = top {
            push(SharedQuantity::Longest, *lower, *upper);
        }
    }
}

/// Slow writes that are listed one by one, and the clock that one view shows instead of them.
fn of_outliers(tables: Tables<'_>, out: &mut Vec<Observation>) {
    let kinds = [
        ("io_outliers", "io_latency", EvidenceSource::OutlierView),
        ("log_write_warnings", "elapsed_ms", EvidenceSource::Warnings),
    ];
    for (id, column, source) in kinds {
        let is_clock = clock::is_clock(tables, id, column);
        for table in tables.of(id) {
            let of_log = |line: &Line<'_>| matches!(line.text("function_name"), "LGWR" | "");
            let written: Vec<Line<'_>> = lines(table).filter(of_log).collect();
            let mut push = |quantity, low: f64, high: f64| {
                out.push(Observation {
                    quantity,
                    source,
                    part: String::new(),
                    file: table.file.clone(),
                    line: table.line,
                    low,
                    high,
                    waits: None,
                });
            };
            let count = written.len() as f64;
            push(SharedQuantity::Outliers, count, count);
            let values = written.iter().filter_map(|l| l.number(column));
            if !is_clock {
                let longest = values.fold(0.0, f64::max);
                push(SharedQuantity::Longest, longest, longest);
            } else if let Some((low, high)) = boot(&written, column) {
                push(SharedQuantity::Boot, low, high);
            }
        }
    }
}

/// When the machine was started, by a clock of 0.1 ms ticks beside seconds since 1970.
fn boot(rows: &[Line<'_>], column: &str) -> Option<(f64, f64)> {
    const TICKS_PER_S: f64 = 10_000.0;
    let each = rows.iter().filter_map(|line| {
        let at = line.number("timestamp").filter(|at| *at > 1e9)?;
        Some(at - line.number(column)? / TICKS_PER_S)
    });
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for at in each {
        (low, high) = (low.min(at), high.max(at));
    }
    // Time stamps are cut to whole seconds.
    (low <= high).then_some((low, high + 1.0))
}

/// The log's device, or the only one that there is.
fn of_iostat(tables: Tables<'_>, log_device: Option<&str>, out: &mut Vec<Observation>) {
    for table in tables
        .0
        .iter()
        .filter(|t| device::TABLES.contains(&t.id.as_str()))
    {
        let mut devices: Vec<&str> = lines(table).map(|line| line.text("device")).collect();
        devices.sort_unstable();
        devices.dedup();
        let device = match (log_device, devices.as_slice()) {
            (Some(name), _) => name,
            (None, [one]) => one,
            _ => continue,
        };
        let is_it = |line: &Line<'_>| line.text("device") == device;
        let since_boot = |line: &Line<'_>| line.text("covers").contains("boot");
        let samples = || lines(table).filter(is_it).filter(|l| !since_boot(l));
        for (key, quantity) in [
            ("writes_per_s", SharedQuantity::WriteRate),
            ("write_mb_per_s", SharedQuantity::RedoRate),
        ] {
            let values: Vec<f64> = samples().filter_map(|line| line.number(key)).collect();
            if values.is_empty() {
                continue;
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            out.push(Observation {
                quantity,
                source: EvidenceSource::Iostat,
                part: String::new(),
                file: table.file.clone(),
                line: table.line,
                low: mean - 0.005,
                high: mean + 0.005,
                waits: None,
            });
        }
    }
}
