//! fio's JSON and JSON+ : rates and latencies of each job, with the latency of its syncs, which is
//! what a log lives on, and with JSON+'s bins, which are counts and not percentiles.
//!
//! Latencies are in nanoseconds (`clat_ns`, fio 3) or microseconds (`clat`, fio 2).

use super::awr::cell::GridCell;
use super::json::{JsonItem, JsonStep, JsonValue, key};
use super::origin::{SourcedCell, text};
use super::sheets::Sheets;
use measure::imported::Cell;
use measure::origin::{OriginInput, TextSpan};
use measure::printed;
use std::collections::BTreeMap;

/// Bins of a job that are kept.
const BINS_MAX: usize = 100_000;
/// Figures of a job that are kept.
const FIGURES_MAX: usize = 4096;

/// Direction and latency: `write`, `clat_ns`.
type Of = (String, String);

/// A number of the file.
#[derive(Clone, Copy, Debug)]
struct Figure {
    value: f64,
    span: Option<TextSpan>,
}

impl Figure {
    fn scaled(figure: Option<Figure>, factor: f64) -> SourcedCell {
        figure.map_or_else(SourcedCell::blank, |f| {
            SourcedCell::scaled(f.value, factor, f.span)
        })
    }

    fn count(figure: Option<Figure>) -> SourcedCell {
        figure.map_or_else(SourcedCell::blank, |f| {
            SourcedCell::read(Cell::Count(f.value as u64), f.span)
        })
    }
}

/// A bin of a latency: how many, and where its value is.
#[derive(Clone, Copy, Debug)]
struct FioBin {
    count: u64,
    span: Option<TextSpan>,
    value_span: Option<TextSpan>,
}

#[derive(Debug, Default)]
struct Latency {
    figures: BTreeMap<String, Figure>,
    percentiles: BTreeMap<String, Figure>,
    bins: BTreeMap<u64, FioBin>,
}

/// The jobs of a file.
#[derive(Debug, Default)]
pub struct Fio {
    name: GridCell,
    options: BTreeMap<String, GridCell>,
    /// Options of all jobs.
    global: BTreeMap<String, GridCell>,
    rates: BTreeMap<(String, String), Figure>,
    latencies: BTreeMap<Of, Latency>,
    bins: usize,
    tables: Option<[usize; 3]>,
    /// The job is one of `client_stats`.
    is_client: bool,
    /// The machine that the job ran on, of a client of `fio --client`.
    host: GridCell,
    port: GridCell,
    /// The number of the error that ended the job.
    error: Option<Figure>,
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
                    self.global.insert(k.to_owned(), v.kept(100));
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
                        self.facts.push((k.clone(), v.kept(200).text));
                    }
                }
            }
            JsonItem::Close if in_job && path.len() == 2 => self.job(sheets),
            JsonItem::Close => {}
        }
    }

    fn value(&mut self, path: &[JsonStep], v: JsonValue<'_>) {
        let (Some(a), b, c, d) = (key(path, 2), key(path, 3), key(path, 4), key(path, 5)) else {
            return;
        };
        let number = printed::number(v.text)
            .map(|n| n.value)
            .or_else(|| v.text.parse().ok());
        let number = number.filter(|n: &f64| n.is_finite()).map(|value| Figure {
            value,
            span: v.span,
        });
        match (a, b, c, d) {
            ("error", None, _, _) => self.error = number,
            ("jobname", None, _, _) => self.name = v.kept(100),
            ("hostname", None, _, _) => self.host = v.kept(100),
            ("port", None, _, _) => self.port = v.kept(10),
            ("job options", Some(k), None, _) if self.options.len() < 64 => {
                self.options.insert(k.to_owned(), v.kept(100));
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
                let of = (direction.to_owned(), kind.to_owned());
                self.figure(of, what, deeper, n, v.name_span);
            }
            _ => {}
        }
    }

    fn figure(
        &mut self,
        of: Of,
        what: &str,
        deeper: Option<&str>,
        n: Figure,
        name_span: Option<TextSpan>,
    ) {
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
                    let bin = FioBin {
                        count: n.value.max(0.0) as u64,
                        span: n.span,
                        value_span: name_span,
                    };
                    latency.bins.insert(ns, bin);
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
            let has = |f: Figure| f.value > 0.0;
            if !get("total_ios").or(get("iops")).is_some_and(has) {
                continue;
            }
            let rate = match get("bw_bytes") {
                Some(bytes) => Figure::scaled(Some(bytes), 1.0 / 1_048_576.0),
                None => Figure::scaled(get("bw"), 1.0 / 1024.0),
            };
            let row = vec![
                self.name.sourced(),
                SourcedCell::label(direction),
                Figure::count(get("total_ios")),
                Figure::scaled(get("iops"), 1.0),
                rate,
                Figure::scaled(get("runtime"), 0.001),
                said.clone(),
                Figure::count(self.error),
                self.host_cell(),
            ];
            sheets.sourced_row(rates, self.line(), row);
        }
        for ((direction, kind), latency) in &self.latencies {
            let n = latency.figures.get("N").map(|f| f.value);
            let has = latency.figures.get("max").is_some_and(|m| m.value > 0.0);
            if n == Some(0.0) || !has {
                continue;
            }
            let from = sheets.tables().get(bins).map_or(0, |t| t.rows.len());
            let row = self.latency_row(direction, kind, latency, from);
            sheets.sourced_row(latencies, self.line(), row);
            let unit = unit_ns(kind);
            for (value, bin) in &latency.bins {
                let ns = SourcedCell::scaled(*value as f64, unit, bin.value_span);
                let cells = vec![
                    self.name.sourced(),
                    SourcedCell::label(direction),
                    SourcedCell::label(kind),
                    SourcedCell {
                        cell: Cell::Count((*value as f64 * unit) as u64),
                        source: ns.source,
                    },
                    SourcedCell::read(Cell::Count(bin.count), bin.span),
                    self.host_cell(),
                ];
                let line = bin.span.map_or(1, |s| u64::from(s.line));
                sheets.sourced_row(bins, line, cells);
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

    /// Line of the job's name.
    fn line(&self) -> u64 {
        self.name.span.map_or(1, |s| u64::from(s.line))
    }

    /// The tables of the job: those of the sum of all clients are apart.
    fn job_tables(&mut self, sheets: &mut Sheets) -> [usize; 3] {
        let is_all = self.is_client && self.name.text == ALL_CLIENTS;
        let tables = if is_all {
            &mut self.all_tables
        } else {
            &mut self.tables
        };
        *tables.get_or_insert_with(|| tables_of(is_all, 1, sheets))
    }

    /// The options of the job that decide what a write is.
    fn said(&self) -> SourcedCell {
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
        let (mut said, mut inputs) = (Vec::new(), Vec::new());
        for name in method {
            let own = self.options.get(name).or_else(|| self.global.get(name));
            if let Some(value) = own {
                said.push(format!("{name}={}", value.text));
                inputs.extend(value.input());
            }
        }
        SourcedCell::derived(text(&said.join(" ")), "options with their names", inputs)
    }

    fn host_cell(&self) -> SourcedCell {
        // The sum of all clients carries the name of the last of them.
        match (self.host.as_str(), self.port.as_str()) {
            ("", _) => SourcedCell::blank(),
            _ if self.is_client && self.name.text == ALL_CLIENTS => SourcedCell::blank(),
            (_, "") => self.host.sourced(),
            (host, port) => {
                let inputs = self.host.input().into_iter().chain(self.port.input());
                let cell = text(&format!("{host}:{port}"));
                SourcedCell::derived(cell, "a:b", inputs.collect())
            }
        }
    }

    /// A line of latencies; the bins of the latency are to be the rows from `from` of their table.
    fn latency_row(
        &self,
        direction: &str,
        kind: &str,
        latency: &Latency,
        from: usize,
    ) -> Vec<SourcedCell> {
        let us = unit_ns(kind) / 1000.0;
        let get = |figures: &BTreeMap<String, Figure>, name: &str| {
            Figure::scaled(figures.get(name).copied(), us)
        };
        let total = || {
            self.rates
                .get(&(direction.to_owned(), "total_ios".to_owned()))
        };
        let n = latency.figures.get("N").or_else(total);
        let mut row = vec![
            self.name.sourced(),
            SourcedCell::label(direction),
            SourcedCell::label(kind),
            Figure::count(n.copied()),
        ];
        row.extend(["min", "mean", "stddev", "max"].map(|k| get(&latency.figures, k)));
        row.extend(PERCENTILES.map(|(p, _)| get(&latency.percentiles, p)));
        row.extend(self.binned(kind, latency, from));
        row.push(self.host_cell());
        row
    }

    /// How many are in bins, and the shares of those over 1, 10 and 20 ms.
    fn binned(&self, kind: &str, latency: &Latency, from: usize) -> [SourcedCell; 4] {
        let counted = latency.bins.values().map(|b| b.count);
        let counted = counted.fold(0, u64::saturating_add);
        if counted == 0 {
            return Default::default();
        }
        let is_all = self.is_client && self.name.text == ALL_CLIENTS;
        let [_, _, (id, _)] = if is_all { ALL_TABLES } else { TABLES };
        let rows = format!("{id}.{from}-{}", from + latency.bins.len() - 1);
        let count = || OriginInput::from(format!("{rows}.count"));
        let unit = unit_ns(kind);
        let over = |ns: u64, formula| {
            let over = latency
                .bins
                .iter()
                .filter(|(v, _)| **v as f64 * unit > ns as f64);
            let over = over.map(|(_, b)| b.count).fold(0, u64::saturating_add);
            let share = Some(100.0 * over as f64 / counted as f64);
            let inputs = vec![count(), OriginInput::from(format!("{rows}.value_ns"))];
            SourcedCell::computed(share, formula, inputs)
        };
        [
            SourcedCell::derived(Cell::Count(counted), "sum of a", vec![count()]),
            over(1_000_000, "100 * share of a where b > 1000000"),
            over(10_000_000, "100 * share of a where b > 10000000"),
            over(20_000_000, "100 * share of a where b > 20000000"),
        ]
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
        ("err", "err"),
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
