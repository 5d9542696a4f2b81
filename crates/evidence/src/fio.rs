//! fio's JSON and JSON+ : rates and latencies of each job, with the latency of its syncs, which is
//! what a log lives on, and with JSON+'s bins, which are counts and not percentiles.
//!
//! Latencies are in nanoseconds (`clat_ns`, fio 3) or microseconds (`clat`, fio 2).

use super::json::{JsonItem, JsonStep, key};
use super::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed;
use std::collections::BTreeMap;

/// Bins of a job that are kept.
const BINS_MAX: usize = 100_000;
/// Figures of a job that are kept.
const FIGURES_MAX: usize = 4096;

/// Direction and latency: `write`, `clat_ns`.
type Of = (String, String);

#[derive(Debug, Default)]
struct Latency {
    figures: BTreeMap<String, f64>,
    percentiles: BTreeMap<String, f64>,
    bins: BTreeMap<u64, u64>,
}

/// The jobs of a file.
#[derive(Debug, Default)]
pub struct Fio {
    name: String,
    options: BTreeMap<String, String>,
    /// Options of all jobs.
    global: BTreeMap<String, String>,
    rates: BTreeMap<(String, String), f64>,
    latencies: BTreeMap<Of, Latency>,
    bins: usize,
    tables: Option<[usize; 3]>,
    /// The job is one of `client_stats`.
    is_client: bool,
    /// The machine that the job ran on, of a client of `fio --client`.
    host: String,
    port: String,
    /// The tables of the sums over all clients, apart from those of their parts.
    all_tables: Option<[usize; 3]>,
    /// What the file says of itself.
    pub facts: Vec<(String, String)>,
}

const DIRECTIONS: [&str; 5] = ["write", "sync", "read", "trim", "mixed"];
const PERCENTILES: [(&str, &str); 5] = [
    ("50.000000", "p50_us"),
    ("90.000000", "p90_us"),
    ("99.000000", "p99_us"),
    ("99.900000", "p999_us"),
    ("99.990000", "p9999_us"),
];

impl Fio {
    /// Takes what was met: `jobs[].write.clat_ns.bins.4321 = 17`.
    pub fn met(&mut self, path: &[JsonStep], met: JsonItem<'_>, sheets: &mut Sheets) {
        let in_job = matches!(key(path, 0), Some("jobs" | "client_stats"));
        match met {
            JsonItem::Value(v) if in_job => {
                self.is_client = key(path, 0) == Some("client_stats");
                self.value(path, v);
            }
            JsonItem::Value(v) if key(path, 0) == Some("global options") => {
                if let (Some(k), true) = (key(path, 1), self.global.len() < 64) {
                    self.global
                        .insert(k.to_owned(), v.chars().take(100).collect());
                }
            }
            JsonItem::Value(v) => {
                let last = path.last();
                if let (Some(JsonStep::Key(k)), true) = (last, path.len() <= 2) {
                    let known = [
                        "fio version",
                        "time",
                        "ioengine",
                        "bs",
                        "direct",
                        "sync",
                        "fdatasync",
                    ];
                    if known.contains(&k.as_str()) && self.facts.len() < 32 {
                        self.facts.push((k.clone(), v.chars().take(200).collect()));
                    }
                }
            }
            JsonItem::Close if in_job && path.len() == 2 => self.job(sheets),
            JsonItem::Close => {}
        }
    }

    fn value(&mut self, path: &[JsonStep], v: &str) {
        let (Some(a), b, c, d) = (key(path, 2), key(path, 3), key(path, 4), key(path, 5)) else {
            return;
        };
        let number = printed::number(v)
            .map(|n| n.value)
            .or_else(|| v.parse().ok());
        let number = number.filter(|n: &f64| n.is_finite());
        match (a, b, c, d) {
            ("jobname", None, _, _) => v
                .chars()
                .take(100)
                .collect::<String>()
                .clone_into(&mut self.name),
            ("hostname", None, _, _) => self.host = v.chars().take(100).collect(),
            ("port", None, _, _) => self.port = v.chars().take(10).collect(),
            ("job options", Some(k), None, _) if self.options.len() < 64 => {
                self.options
                    .insert(k.to_owned(), v.chars().take(100).collect());
            }
            (direction, Some(k), None, _) if DIRECTIONS.contains(&direction) => {
                if let Some(n) = number.filter(|_| self.rates.len() < FIGURES_MAX) {
                    self.rates.insert((direction.to_owned(), k.to_owned()), n);
                }
            }
            (direction, Some(kind), Some(what), deeper) if DIRECTIONS.contains(&direction) => {
                let Some(n) = number.filter(|_| kind.contains("lat")) else {
                    return;
                };
                self.figure((direction.to_owned(), kind.to_owned()), what, deeper, n);
            }
            _ => {}
        }
    }

    fn figure(&mut self, of: Of, what: &str, deeper: Option<&str>, n: f64) {
        if self.latencies.len() >= 64 && !self.latencies.contains_key(&of) {
            return;
        }
        let latency = self.latencies.entry(of).or_default();
        match (what, deeper) {
            ("percentile", Some(p)) if latency.percentiles.len() < FIGURES_MAX => {
                latency.percentiles.insert(p.to_owned(), n);
            }
            ("bins", Some(ns)) => {
                if let (Ok(ns), true) = (ns.parse(), self.bins < BINS_MAX) {
                    self.bins += 1;
                    latency.bins.insert(ns, n.max(0.0) as u64);
                }
            }
            (_, None) if latency.figures.len() < 32 => {
                latency.figures.insert(what.to_owned(), n);
            }
            _ => {}
        }
    }

    /// A job is whole.
    fn job(&mut self, sheets: &mut Sheets) {
        let [rates, latencies, bins] = self.job_tables(sheets);
        let said = self.said();
        for direction in DIRECTIONS {
            let get = |k: &str| {
                self.rates
                    .get(&(direction.to_owned(), k.to_owned()))
                    .copied()
            };
            if get("total_ios").or(get("iops")).is_none_or(|n| n <= 0.0) {
                continue;
            }
            let bytes = get("bw_bytes").or_else(|| get("bw").map(|k| k * 1024.0));
            let real = |v: Option<f64>| v.map_or(Cell::Blank, Cell::Real);
            let row = vec![
                text(&self.name),
                text(direction),
                get("total_ios").map_or(Cell::Blank, |n| Cell::Count(n as u64)),
                real(get("iops")),
                real(bytes.map(|b| b / 1_048_576.0)),
                real(get("runtime").map(|ms| ms / 1000.0)),
                text(&said),
                self.host_cell(),
            ];
            sheets.row(rates, 1, row);
        }
        for ((direction, kind), latency) in &self.latencies {
            let n = latency.figures.get("N").copied();
            let has = latency.figures.get("max").is_some_and(|m| *m > 0.0);
            if n == Some(0.0) || !has {
                continue;
            }
            sheets.row(latencies, 1, self.latency_row(direction, kind, latency));
            let unit = unit_ns(kind);
            for (value, count) in &latency.bins {
                let ns = (*value as f64 * unit) as u64;
                let cells = vec![
                    text(&self.name),
                    text(direction),
                    text(kind),
                    Cell::Count(ns),
                    Cell::Count(*count),
                    self.host_cell(),
                ];
                sheets.row(bins, 1, cells);
            }
        }
        let facts = std::mem::take(&mut self.facts);
        let (tables, global) = (self.tables, std::mem::take(&mut self.global));
        *self = Fio {
            facts,
            tables,
            all_tables: self.all_tables,
            global,
            ..Fio::default()
        };
    }

    /// The tables of the job: those of the sum of all clients are apart.
    fn job_tables(&mut self, sheets: &mut Sheets) -> [usize; 3] {
        let is_all = self.is_client && self.name == ALL_CLIENTS;
        let tables = if is_all {
            &mut self.all_tables
        } else {
            &mut self.tables
        };
        *tables.get_or_insert_with(|| tables_of(is_all, 1, sheets))
    }

    /// The options of the job that decide what a write is.
    fn said(&self) -> String {
        let method = [
            "ioengine",
            "sync",
            "fsync",
            "fdatasync",
            "direct",
            "bs",
            "rw",
            "iodepth",
        ];
        let said = method.iter().filter_map(|k| {
            let own = self.options.get(*k).or_else(|| self.global.get(*k));
            Some(format!("{k}={}", own?))
        });
        said.collect::<Vec<_>>().join(" ")
    }

    fn host_cell(&self) -> Cell {
        // The sum of all clients carries the name of the last of them.
        match (self.host.as_str(), self.port.as_str()) {
            ("", _) => Cell::Blank,
            _ if self.is_client && self.name == ALL_CLIENTS => Cell::Blank,
            (host, "") => text(host),
            (host, port) => text(&format!("{host}:{port}")),
        }
    }

    fn latency_row(&self, direction: &str, kind: &str, latency: &Latency) -> Vec<Cell> {
        let us = unit_ns(kind) / 1000.0;
        let real = |v: Option<&f64>| v.map_or(Cell::Blank, |v| Cell::Real(*v * us));
        let counted: u64 = latency.bins.values().fold(0, |a, b| a.saturating_add(*b));
        let total = || {
            self.rates
                .get(&(direction.to_owned(), "total_ios".to_owned()))
        };
        let n = latency.figures.get("N").or_else(total);
        let mut row = vec![
            text(&self.name),
            text(direction),
            text(kind),
            n.map_or(Cell::Blank, |n| Cell::Count(*n as u64)),
        ];
        row.extend(["min", "mean", "stddev", "max"].map(|k| real(latency.figures.get(k))));
        row.extend(PERCENTILES.map(|(p, _)| real(latency.percentiles.get(p))));
        let over = |ns: u64| {
            let all = counted.max(1) as f64;
            let over = latency
                .bins
                .iter()
                .filter(|(v, _)| **v as f64 * us * 1000.0 > ns as f64);
            let over: u64 = over.map(|(_, n)| *n).fold(0, u64::saturating_add);
            match counted {
                0 => Cell::Blank,
                _ => Cell::Real(100.0 * over as f64 / all),
            }
        };
        row.push(if counted == 0 {
            Cell::Blank
        } else {
            Cell::Count(counted)
        });
        row.extend([1_000_000, 10_000_000, 20_000_000].map(over));
        row.push(self.host_cell());
        row
    }
}

/// Nanoseconds of the unit of a latency's figures.
fn unit_ns(kind: &str) -> f64 {
    if kind.ends_with("_ns") { 1.0 } else { 1000.0 }
}

/// Tables of one kind: rates, latencies, bins, each with its id and title.
type TableNames = [(&'static str, &'static str); 3];

/// What fio calls the sum over the jobs of all its clients.
pub(super) const ALL_CLIENTS: &str = "All clients";
const TABLES: TableNames = [
    ("fio_jobs", "fio: rates"),
    ("fio_latency", "fio: latencies"),
    ("fio_bins", "fio: bins"),
];
/// The sums are tables of their own, so that a sum over rows counts nothing twice.
const ALL_TABLES: TableNames = [
    ("fio_all_clients", "fio: rates of all clients together"),
    (
        "fio_all_clients_latency",
        "fio: latencies of all clients together",
    ),
    ("fio_all_clients_bins", "fio: bins of all clients together"),
];

/// Opens the tables of rates, latencies and bins; those of the sums over all clients are apart.
pub(super) fn tables_of(is_all: bool, line: u64, sheets: &mut Sheets) -> [usize; 3] {
    let rates = [
        ("job", "Job"),
        ("direction", "Direction"),
        ("ios", "I/Os"),
        ("iops", "IOPS"),
        ("mb_per_s", "MB/s (1024)"),
        ("runtime_s", "Runtime (s)"),
        ("method", "Options"),
        ("host", "Host"),
    ];
    let latencies = [
        ("job", "Job"),
        ("direction", "Direction"),
        ("latency", "Latency"),
        ("count", "Count"),
        ("min_us", "Min µs"),
        ("mean_us", "Mean µs"),
        ("stddev_us", "Std dev µs"),
        ("max_us", "Max µs"),
        ("p50_us", "p50 µs"),
        ("p90_us", "p90 µs"),
        ("p99_us", "p99 µs"),
        ("p999_us", "p99.9 µs"),
        ("p9999_us", "p99.99 µs"),
        ("binned", "In bins"),
        ("over_1ms_pct", "Over 1ms %"),
        ("over_10ms_pct", "Over 10ms %"),
        ("over_20ms_pct", "Over 20ms %"),
        ("host", "Host"),
    ];
    let bins = [
        ("job", "Job"),
        ("direction", "Direction"),
        ("latency", "Latency"),
        ("value_ns", "Value ns"),
        ("count", "Count"),
        ("host", "Host"),
    ];
    let [a, b, c] = if is_all { ALL_TABLES } else { TABLES };
    [
        sheets.open(a.0, a.1, line, &rates),
        sheets.open(b.0, b.1, line, &latencies),
        sheets.open(c.0, c.1, line, &bins),
    ]
}
