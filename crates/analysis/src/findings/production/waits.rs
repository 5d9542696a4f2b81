//! How long commits and log writes of a production system take: means of reports, traces and
//! sweeps, and the 99th percentile from histograms, as the bucket that contains it.
//!
//! Invariants: the parts of a histogram that a report divides into several tables are one
//! distribution; a value that is too long to be wished for is not a target.

use super::{SYNC, WRITE, has_waits};
use crate::findings::agreement::observe;
use crate::findings::diagnosis::figures::{EVENTS as EVENT_TABLES, waits_of};
use crate::findings::evidence::distribution::{Distribution, of_report};
use crate::findings::evidence::view::{self, Tables};
use crate::format;
use crate::thresholds::Thresholds;
use measure::WaitEvent;
use measure::imported::Imported;
use measure::judgement::ProductionWait;
use measure::run::Row;

/// The events, as evidence names them.
const EVENTS: [(WaitEvent, &str); 2] = [
    (WaitEvent::LogFileSync, SYNC),
    (WaitEvent::LogFileParallelWrite, WRITE),
];
/// Waits from which traces show a mean.
const WAITS_MIN: u64 = 30;
/// Numbers of waits of two prints of one listing differ by rounding only.
const SAME_PRINT: f64 = 0.95;

/// The percentiles that are taken, in percent, with their names.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "p50"), (99.0, "p99"), (99.9, "p99.9")];

/// A distribution with its place: of the report that has the mean, else of the first.
fn histogram(
    imported: &Imported,
    event: &'static str,
    mean_from: &str,
) -> Option<(Distribution, String)> {
    let tables = Tables(&imported.tables);
    let mut files: Vec<&str> = tables
        .of("wait_histogram")
        .map(|t| t.file.as_str())
        .collect();
    files.sort_by_key(|file| !mean_from.starts_with(*file));
    let of_report = |file: &str| {
        let place = format!("{file}, wait event histogram of {event}");
        Some((of_report(tables, file, event)?, place))
    };
    if let Some(found) = files.into_iter().find_map(of_report) {
        return Some(found);
    }
    let listed = observe::histogram(tables, event)?;
    let out = Distribution::of_buckets(&listed.buckets)?;
    let is_listing = |kind: &str| kind.contains("histogram");
    let sources = imported.sources.iter();
    let source = sources.min_by_key(|source| !is_listing(&source.kind));
    let file = source.map_or("", |source| source.file.as_str());
    let place = format!("{file}, event histogram of {event}, {}", listed.snapshot);
    Some((out, place))
}

/// The mean of an event in reports and published tables, nanoseconds, with its place: of the
/// listing with most waits, and of several prints of it the finest.
fn mean_of_reports(imported: &Imported, name: &str) -> Option<(f64, String)> {
    let tables = Tables(&imported.tables);
    let all = EVENT_TABLES.into_iter().flat_map(|id| tables.lines(id));
    let own = all.filter(|line| line.text("event") == name);
    let found: Vec<_> = own
        .filter_map(|line| Some((waits_of(&line)?, line)))
        .collect();
    let most = found.iter().map(|(w, _)| w.waits).fold(0.0, f64::max);
    let same = found.iter().filter(|(w, _)| w.waits >= SAME_PRINT * most);
    let (waits, line) = same.min_by(|a, b| a.0.off.total_cmp(&b.0.off))?;
    let count = format::count(waits.waits as u64);
    let place = format!("{}, {count} waits", view::place(line.table()));
    Some((waits.mean_ms() * 1e6, place))
}

/// The mean of an event, nanoseconds, with its place: of reports, else of traces, else of the row.
fn mean(
    imported: &Imported,
    rows: &[&Row],
    (event, name): (WaitEvent, &'static str),
) -> Option<(f64, String)> {
    let of_rows = || {
        let stats = rows.iter().filter_map(|row| row.wait(event));
        let (count, total) = stats.fold((0, 0.0), |(count, total), w| {
            (count + w.count, total + w.total_ns as f64)
        });
        // An excerpt of a few lines shows no mean.
        let is_known = count >= WAITS_MIN || (imported.sources.is_empty() && count > 0);
        let place = format!("{} waits in {}", format::count(count), of_all(rows));
        is_known.then(|| (total / count as f64, place))
    };
    let of_sweep = || match rows {
        [row] if event == WaitEvent::LogFileSync => {
            let ms = row.log_file_sync_ms.filter(|ms| *ms > 0.0)?;
            Some((ms * 1e6, of_all(rows)))
        }
        _ => None,
    };
    mean_of_reports(imported, name)
        .or_else(of_rows)
        .or_else(of_sweep)
}

/// The rows in words.
fn of_all(rows: &[&Row]) -> String {
    match rows {
        [row] => format!("row {}", crate::rows::name_of(row)),
        _ => "the traces".to_owned(),
    }
}

/// A wait, and where its 99th percentile is.
pub(in crate::findings) struct PlacedWait {
    pub(in crate::findings) wait: ProductionWait,
    pub(super) p99_place: String,
}

/// The waits that the evidence contains; `rows` are those whose figures are taken.
pub(in crate::findings) fn of(
    imported: &Imported,
    rows: &[&Row],
    t: &Thresholds,
) -> Vec<PlacedWait> {
    let each = EVENTS.into_iter().filter_map(|(event, name)| {
        let mean = mean(imported, rows, (event, name));
        let mean_from = mean.as_ref().map_or("", |(_, place)| place);
        let histogram = histogram(imported, name, mean_from);
        let of_row = || match rows {
            [row] if has_waits(row, event.key()) => {
                let wait = row.wait(event)?;
                let exact = [wait.p50_ns, wait.p99_ns, wait.p999_ns];
                Some((exact.map(|ns| ns.map(|ns| [ns, ns])), of_all(rows)))
            }
            _ => None,
        };
        let tail = match &histogram {
            Some((found, place)) => {
                let each = PERCENTILES.map(|(pct, _)| found.percentile(pct));
                Some((each, place.clone()))
            }
            None => of_row(),
        };
        let tail = tail.filter(|(each, _)| each.iter().any(Option::is_some));
        let least = histogram.map_or(0.0, |(found, _)| found.mean_at_least());
        let mut places: Vec<String> = Vec::new();
        let both = [mean.as_ref().map(|m| &m.1), tail.as_ref().map(|t| &t.1)];
        for place in both.into_iter().flatten() {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        let [p50_ns, p99_ns, p999_ns] = tail.as_ref().map_or([None; 3], |(each, _)| *each);
        let mut found = ProductionWait {
            event: event.key().to_owned(),
            mean_ns: mean.map(|(ns, _)| ns),
            p50_ns,
            p99_ns,
            p999_ns,
            is_target: true,
            place: places.join("; "),
        };
        found.is_target = !is_sick(&found, least, t);
        let end = match found.p99_ns {
            Some([low, high]) if low != high => ": its bucket ends there",
            _ => "",
        };
        let p99_place = tail.map_or_else(String::new, |(_, place)| format!("{place}{end}"));
        (!found.place.is_empty()).then_some(PlacedWait {
            wait: found,
            p99_place,
        })
    });
    each.collect()
}

/// Whether a production system should not wait as long as this: nobody wants it again.
fn is_sick(wait: &ProductionWait, mean_at_least_ns: f64, t: &Thresholds) -> bool {
    let bound = match wait.event == WaitEvent::LogFileSync.key() {
        true => &t.sync_mean_problem_ms,
        false => &t.write_mean_problem_ms,
    };
    let mean_ns = wait.mean_ns.unwrap_or(mean_at_least_ns);
    let tail_ns = wait.p99_ns.map_or(0.0, |[low, _]| low as f64);
    mean_ns > bound.value * 1e6 || tail_ns > t.tail_p999_ms.value * 1e6
}

/// `17.1 ms on average, p50 under 1.00 ms, p99 between 4.00 ms and 8.00 ms`.
#[must_use]
pub fn in_words(wait: &ProductionWait) -> String {
    let ns = |ns: u64| format::latency(ns as f64);
    let mean = wait
        .mean_ns
        .map(|ns| format!("{} on average", format::latency(ns)));
    let ends = [wait.p50_ns, wait.p99_ns, wait.p999_ns];
    let tail = PERCENTILES
        .iter()
        .zip(ends)
        .filter_map(|((_, name), ends)| {
            let [low, high] = ends?;
            Some(match (low, low == high) {
                (_, true) => format!("{name} {}", ns(high)),
                (0, false) => format!("{name} under {}", ns(high)),
                (_, false) => format!("{name} between {} and {}", ns(low), ns(high)),
            })
        });
    let parts: Vec<String> = mean.into_iter().chain(tail).collect();
    parts.join(", ")
}
