//! fio's JSON: a row of the run is a job, a commit an I/O of that job, so that what reads fio's
//! results (fio-plot, `redolab import`) reads these.
//!
//! ```text
//! write.lat_ns   the transaction: from its start until its commit returned
//! write.clat_ns  log file sync; write.slat_ns the rest of the transaction's mean
//! sync.lat_ns    log file parallel write
//! ```
//! With `bins` as fio's JSON+ has them. `iodepth` is 1: a session has one commit in flight, and
//! `numjobs` is the sessions. Figures that fio always has and a run has not are zero, as fio itself
//! writes them; those of `redolab` say where the figures come from.

use super::{ExportSource, ExportedFile, component};
use crate::store::StoredSeries;
use measure::Histogram;
use measure::run::{Row, Run};
use serde_json::{Map, Value, json};

/// Percentiles as fio names them.
const PERCENTILES: [&str; 17] = [
    "1.000000",
    "5.000000",
    "10.000000",
    "20.000000",
    "30.000000",
    "40.000000",
    "50.000000",
    "60.000000",
    "70.000000",
    "80.000000",
    "90.000000",
    "95.000000",
    "99.000000",
    "99.500000",
    "99.900000",
    "99.950000",
    "99.990000",
];
/// Upper bounds of fio's coarse distribution within a unit.
const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const KIB: f64 = 1024.0;

/// One document whose jobs are all rows of the run.
#[must_use]
pub fn document(source: &ExportSource<'_>) -> Value {
    let jobs = source.rows().map(|(number, row)| job(source, number, row));
    envelope(source.run, jobs.collect())
}

/// What fio-plot wants: for each workload a folder, in it a document and the logs of each row.
#[must_use]
pub fn files(source: &ExportSource<'_>) -> Vec<ExportedFile> {
    let mut files = Vec::new();
    for (number, row) in source.rows() {
        let folder = component(&row.workload);
        let stem = format!("{folder}/write-iodepth-1-numjobs-{}", row.jobs);
        let document = envelope(source.run, vec![job(source, number, row)]);
        let mut push = |path: String, bytes: Vec<u8>| files.push(ExportedFile { path, bytes });
        push(format!("{stem}.json"), pretty(&document));
        for (kind, event) in [("lat", "commit_latency"), ("clat", "log_file_sync")] {
            if let Some(series) = source.series(number, event) {
                push(format!("{stem}_{kind}.1.log"), latency_log(series));
            }
        }
        let mean = mean_bytes(row);
        push(
            format!("{stem}_iops.1.log"),
            interval_log(row, mean, |i| Some(i.commits as f64)),
        );
        let kib = |i: &measure::run::Interval| Some(i.redo_bytes? as f64 / KIB);
        if row.intervals.iter().any(|i| i.redo_bytes.is_some()) {
            push(format!("{stem}_bw.1.log"), interval_log(row, mean, kib));
        }
    }
    files
}

/// A document as fio indents it.
#[must_use]
pub fn pretty(document: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::harmless_json::write_pretty(document, &mut bytes).expect("a value is JSON");
    bytes
}

fn envelope(run: &Run, jobs: Vec<Value>) -> Value {
    let created: Option<jiff::Timestamp> = run.created.parse().ok();
    json!({
        "fio version": format!("redolab-{}", run.redolab_version),
        "timestamp": created.map_or(0, |t| t.as_second()),
        "timestamp_ms": created.map_or(0, |t| t.as_millisecond()),
        "time": run.created,
        "redolab": {
            "run_id": run.run_id,
            "origin": run.origin.word(),
            "valid": run.validity.valid,
            "problems": run.validity.problems.iter().map(|p| &p.id).collect::<Vec<_>>(),
            "target": run.target.path,
        },
        "global options": {},
        "jobs": jobs,
    })
}

/// Bytes of redo per commit; fio has no word for what is not known, and prints zero.
fn mean_bytes(row: &Row) -> u64 {
    let bytes = row.redo().redo_size_bytes.zip(row.commits);
    bytes.and_then(|(b, n)| b.checked_div(n)).unwrap_or(0)
}

fn job(source: &ExportSource<'_>, number: usize, row: &Row) -> Value {
    let run = source.run;
    let merged = |event| source.series(number, event).map(|s| &s.merged);
    let elapsed_ns = row.elapsed_ns.unwrap_or(0);
    let runtime_ms = elapsed_ns / 1_000_000;
    let bytes = mean_bytes(row);
    let log = run.target.redo_log();
    let method = log.map_or("", |log| log.sync_method.as_str());
    let cpu = row.processors();
    let switches = cpu.context_switches_per_commit.unwrap_or(0.0);
    let flag = |on: bool| u8::from(on).to_string();
    let (lat, clat) = (merged("commit_latency"), merged("log_file_sync"));
    let mut job = json!({
        "jobname": format!("{}-{}", row.workload, row.jobs),
        "groupid": number - 1,
        "error": 0,
        "elapsed": elapsed_ns / 1_000_000_000,
        "job options": {
            "name": row.workload,
            "rw": "write",
            "bs": bytes.to_string(),
            "iodepth": "1",
            "numjobs": row.jobs.to_string(),
            "runtime": (row.elapsed_s.unwrap_or(0.0).round() as u64).to_string(),
            "ioengine": log.and_then(|log| log.io.as_deref()).unwrap_or(""),
            "direct": flag(method.starts_with("direct")),
            "sync": if method.ends_with("dsync") { "dsync" } else { "none" },
            "fdatasync": flag(log.is_some() && !method.ends_with("dsync")),
            "directory": run.target.path,
        },
        "read": direction(None, None, None, runtime_ms),
        "write": direction(Some(row), lat, clat, runtime_ms),
        "trim": direction(None, None, None, runtime_ms),
        "sync": {
            "total_ios": merged("log_file_parallel_write").map_or(0, Histogram::count),
            "lat_ns": latency(merged("log_file_parallel_write")),
        },
        "job_runtime": runtime_ms * u64::from(row.jobs),
        "usr_cpu": cpu.cpu_user_pct.unwrap_or(0.0),
        "sys_cpu": cpu.cpu_sys_pct.unwrap_or(0.0),
        "ctx": (switches * row.commits.unwrap_or(0) as f64) as u64,
        "majf": 0,
        "minf": 0,
        "iodepth_level": {"1": 100.0},
        "latency_depth": 1,
    });
    let coarse = coarse(merged("commit_latency"));
    if let Some(fields) = job.as_object_mut() {
        fields.extend(coarse);
    }
    job
}

/// The figures of one direction; zeros where nothing went that way.
fn direction(
    row: Option<&Row>,
    lat: Option<&Histogram>,
    clat: Option<&Histogram>,
    runtime_ms: u64,
) -> Value {
    let bytes = row.and_then(|r| r.redo().redo_size_bytes).unwrap_or(0);
    let seconds = (runtime_ms as f64 / 1e3).max(1e-9);
    let each = |figure: fn(&measure::run::Interval) -> Option<f64>| -> Vec<f64> {
        let whole = row.into_iter().flat_map(|r| &r.intervals);
        let whole = whole.filter(|i| i.seconds > 0.0);
        whole.filter_map(|i| Some(figure(i)? / i.seconds)).collect()
    };
    let (iops, bw) = (
        each(|i| Some(i.commits as f64)),
        each(|i| Some(i.redo_bytes? as f64 / KIB)),
    );
    let (iops, bw) = (Spread::of(&iops), Spread::of(&bw));
    let slat = match (lat, clat) {
        (Some(lat), Some(clat)) => (lat.mean() - clat.mean()).max(0.0),
        _ => 0.0,
    };
    json!({
        "io_bytes": bytes,
        "io_kbytes": bytes / 1024,
        "bw_bytes": (bytes as f64 / seconds) as u64,
        "bw": (bytes as f64 / KIB / seconds) as u64,
        "iops": row.and_then(|r| r.commit_throughput_tps).unwrap_or(0.0),
        "runtime": row.map_or(0, |_| runtime_ms),
        "total_ios": row.and_then(|r| r.commits).unwrap_or(0),
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": {"min": 0, "max": 0, "mean": slat, "stddev": 0.0, "N": 0},
        "clat_ns": latency(clat),
        "lat_ns": latency(lat),
        "bw_min": bw.min as u64,
        "bw_max": bw.max as u64,
        "bw_agg": if row.is_some() { 100.0 } else { 0.0 },
        "bw_mean": bw.mean,
        "bw_dev": bw.stddev,
        "bw_samples": bw.samples,
        "iops_min": iops.min as u64,
        "iops_max": iops.max as u64,
        "iops_mean": iops.mean,
        "iops_stddev": iops.stddev,
        "iops_samples": iops.samples,
    })
}

/// `lat_ns` and its like, with JSON+'s bins.
fn latency(histogram: Option<&Histogram>) -> Value {
    let Some(h) = histogram.filter(|h| h.count() > 0) else {
        return json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    };
    let mut percentiles = Map::new();
    for name in PERCENTILES {
        let q = name.parse::<f64>().map_or(0.0, |p| p / 100.0);
        if let Some(value) = h.quantile(q) {
            percentiles.insert(name.to_owned(), value.into());
        }
    }
    let bins = h.buckets().iter_recorded().map(|bin| {
        let value = h.buckets().median_equivalent(bin.value_iterated_to());
        (value.to_string(), bin.count_since_last_iteration().into())
    });
    json!({
        "min": h.min(),
        "max": h.max(),
        "mean": h.mean(),
        "stddev": h.buckets().stdev(),
        "N": h.count(),
        "percentile": percentiles,
        "bins": bins.collect::<Map<String, Value>>(),
    })
}

/// `latency_ns`, `latency_us` and `latency_ms`: percent of the I/Os up to each bound.
fn coarse(histogram: Option<&Histogram>) -> Map<String, Value> {
    let mut units = Map::new();
    let empty = Histogram::new();
    let h = histogram.unwrap_or(&empty);
    let all = h.count().max(1) as f64;
    let mut bins = h.buckets().iter_recorded().peekable();
    let mut below = |bound_ns: u64| {
        let mut count = 0;
        while let Some(bin) = bins.next_if(|bin| bin.value_iterated_to() < bound_ns) {
            count += bin.count_since_last_iteration();
        }
        100.0 * count as f64 / all
    };
    for (name, unit_ns) in [
        ("latency_ns", 1),
        ("latency_us", 1000),
        ("latency_ms", 1_000_000),
    ] {
        let mut fields = Map::new();
        for bound in BOUNDS {
            fields.insert(bound.to_string(), below(bound * unit_ns).into());
        }
        if unit_ns == 1_000_000 {
            fields.insert("2000".to_owned(), below(2000 * unit_ns).into());
            fields.insert(">=2000".to_owned(), below(u64::MAX).into());
        }
        units.insert(name.to_owned(), fields.into());
    }
    units
}

/// What fio says of samples of a rate.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    samples: usize,
}

impl Spread {
    fn of(rates: &[f64]) -> Spread {
        let n = rates.len() as f64;
        if rates.is_empty() {
            return Spread::default();
        }
        let mean = rates.iter().sum::<f64>() / n;
        let squares: f64 = rates.iter().map(|r| (r - mean).powi(2)).sum();
        Spread {
            min: rates.iter().copied().fold(f64::INFINITY, f64::min),
            max: rates.iter().copied().fold(0.0, f64::max),
            mean,
            stddev: (squares / (n - 1.0).max(1.0)).sqrt(),
            samples: rates.len(),
        }
    }
}

/// Lines `ms, value, direction, block size, offset`: of each interval its mean, ns.
fn latency_log(series: &StoredSeries) -> Vec<u8> {
    let from = series.intervals.first().map_or(0, |i| i.start.0);
    let line = |i: &crate::store::IntervalFigures| {
        let ms = i.end.0.saturating_sub(from) / 1_000_000;
        format!("{ms}, {:.0}, 1, 0, 0\n", i.stats.mean_ns)
    };
    series
        .intervals
        .iter()
        .map(line)
        .collect::<String>()
        .into_bytes()
}

fn interval_log(
    row: &Row,
    block_bytes: u64,
    figure: impl Fn(&measure::run::Interval) -> Option<f64>,
) -> Vec<u8> {
    let line = |i: &measure::run::Interval| {
        let ms = (i.t_s * 1e3).round();
        let rate = figure(i)? / i.seconds.max(1e-9);
        Some(format!("{ms:.0}, {rate:.0}, 1, {block_bytes}, 0\n"))
    };
    row.intervals
        .iter()
        .filter_map(line)
        .collect::<String>()
        .into_bytes()
}
