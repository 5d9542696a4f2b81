//! Histograms of log syncs in Prometheus' text format, such as etcd's
//! `etcd_disk_wal_fsync_duration_seconds`: their buckets, which count from below, with their sum
//! and count; and what else an agreement of etcd's members waits for: round trips, changes of the
//! leader. Metrics of other names are passed over. Two scrapes are subtracted.

use crate::counters::{CounterListing, CounterView};
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::tables::column;

static SCRAPE: CounterView = CounterView {
    id: "prometheus_change",
    title: "Prometheus",
    name: ("metric", "Metric"),
    mean_of: None,
};

/// Words of the metrics that are read.
const WORDS: [&str; 5] = [
    "fsync",
    "sync_log",
    "backend_commit_duration",
    "wal_sync",
    "peer_round_trip_time",
];
/// Counters that are read.
const SINGLE: [&str; 2] = [
    "etcd_server_leader_changes_seen_total",
    "etcd_server_proposals_failed_total",
];
/// Labels of a metric at most, in bytes.
const LABELS_MAX: usize = 400;

struct Line<'a> {
    name: &'a str,
    /// What of the histogram it is.
    part: &'static str,
    labels: &'a str,
    le: Option<&'a str>,
    value: &'a str,
}

/// Whether a line is a bucket of such a histogram.
pub fn opens(line: &str) -> bool {
    parse(line).is_some_and(|l| l.part == "_bucket")
}

/// `etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 3`, `…_sum 8.19`, `…_count 81`.
fn parse(line: &str) -> Option<Line<'_>> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b':';
    let end = line.bytes().position(|b| !is_name(b))?;
    // No name begins with a digit: that is the number of a line.
    if end < 8 || line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (name, rest) = line.split_at(end);
    let parts = ["_bucket", "_sum", "_count"];
    let (part, name) = match SINGLE.contains(&name) {
        true => ("_value", name),
        false => parts
            .iter()
            .find_map(|p| Some((*p, name.strip_suffix(p)?)))?,
    };
    if part != "_value" && !WORDS.iter().any(|w| name.contains(w)) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once("} ")?,
        None => ("", rest.strip_prefix(' ')?),
    };
    let value = rest.split(' ').next()?;
    value
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() && *v >= 0.0)?;
    let le = labels
        .split_once("le=\"")
        .and_then(|(_, l)| l.split('"').next());
    let fits = labels.len() <= LABELS_MAX && le.is_some() == (part == "_bucket");
    fits.then_some(Line {
        name,
        part,
        labels,
        le,
        value,
    })
}

/// The labels without the bucket's bound, which come before it or behind it.
fn others(labels: &str) -> String {
    let others = labels
        .split(',')
        .filter(|l| !l.starts_with("le=") && !l.is_empty());
    others.collect::<Vec<_>>().join(",")
}

/// The histograms of a file.
#[derive(Debug, Default)]
pub struct PrometheusHistograms {
    file: String,
    tables: [Option<usize>; 2],
    /// Listings, for their differences.
    pub listings: Vec<CounterListing>,
}

impl PrometheusHistograms {
    /// Of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> PrometheusHistograms {
        PrometheusHistograms {
            file: file.to_owned(),
            ..PrometheusHistograms::default()
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        if !line.as_bytes().first().is_some_and(u8::is_ascii_lowercase) {
            return;
        }
        let Some(found) = parse(line) else {
            return;
        };
        let source = SourceLine::new(number, line);
        let value = exact(found.value, source);
        let labels = others(found.labels);
        let name = match (labels.as_str(), found.le) {
            ("", None) => format!("{}{}", found.name, found.part),
            (labels, le) => {
                let le = le.map_or(String::new(), |le| format!(" le={le}"));
                format!("{}{}{{{labels}}}{le}", found.name, found.part)
            }
        };
        let is_again = self.listings.last().is_none_or(|l| l.has(&name));
        if is_again {
            self.listings
                .push(CounterListing::new(&SCRAPE, &self.file, number));
        }
        if let Some(listing) = self.listings.last_mut() {
            listing.add(&name, &column("value", "Value"), &value);
        }
        let metric = source.text(found.name);
        let labels = SourcedCell::label(&labels);
        let scrape = SourcedCell::label(&self.listings.len().to_string());
        let is_bucket = found.part == "_bucket";
        let columns: &[(&str, &str)] = match is_bucket {
            true => &[
                ("metric", "Metric"),
                ("labels", "Labels"),
                ("le", "Up to"),
                ("count", "Count from below"),
                ("scrape", "Scrape"),
            ],
            false => &[
                ("metric", "Metric"),
                ("labels", "Labels"),
                ("what", "What"),
                ("value", "Value"),
                ("scrape", "Scrape"),
            ],
        };
        let (id, title) = match is_bucket {
            true => (
                "prometheus_buckets",
                "Prometheus: buckets of log syncs and round trips",
            ),
            false => (
                "prometheus_totals",
                "Prometheus: sums, counts and changes of the leader",
            ),
        };
        let open = || sheets.open(id, title, number, columns);
        let table = *self.tables[usize::from(is_bucket)].get_or_insert_with(open);
        let what = match found.le {
            Some(le) if le.parse::<f64>().is_ok_and(f64::is_finite) => exact(le, source),
            Some(le) => source.text(le),
            None => SourcedCell::label(found.part.trim_start_matches('_')),
        };
        sheets.sourced_row(table, number, vec![metric, labels, what, value, scrape]);
    }
}

/// A number of the format, which may have an exponent.
fn exact(word: &str, source: SourceLine<'_>) -> SourcedCell {
    match (word.parse::<u64>(), word.parse::<f64>()) {
        (Ok(_), _) => source.cell(word),
        (Err(_), Ok(x)) => source.scaled(word, x, 1.0),
        (Err(_), Err(_)) => SourcedCell::blank(),
    }
}
