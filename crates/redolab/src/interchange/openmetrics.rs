//! OpenMetrics text: what node_exporter's textfile collector and Prometheus read.
//!
//! Times are seconds. Buckets end at powers of two nanoseconds, where the histograms' own buckets
//! end too, so they are exact: a wait of exactly such a bound, and no other, counts in the next.

use super::ExportSource;
use measure::Histogram;
use measure::run::Row;
use std::fmt::Write;

/// Buckets end at 2^10 ns (about 1 µs) to 2^35 ns (34 s), and at infinity.
const POWERS: std::ops::RangeInclusive<u32> = 10..=35;

/// Families of histograms: name, series, help.
const HISTOGRAMS: [(&str, &str, &str); 3] = [
    (
        "redolab_log_file_sync_seconds",
        "log_file_sync",
        "Waits of foregrounds for the redo of their commit to be durable.",
    ),
    (
        "redolab_log_file_parallel_write_seconds",
        "log_file_parallel_write",
        "Log writes from submission until they were durable.",
    ),
    (
        "redolab_commit_latency_seconds",
        "commit_latency",
        "Transactions from their start until their commit returned.",
    ),
];

/// A figure of a row: name, type, help, value.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Row) -> Option<f64>,
);

const FIGURES: [Figure; 6] = [
    ("redolab_commits", "counter", "Commits of the row.", |r| {
        r.commits.map(|n| n as f64)
    }),
    (
        "redolab_redo_bytes",
        "counter",
        "Redo of the row, record headers included.",
        |r| r.redo().redo_size_bytes.map(|b| b as f64),
    ),
    (
        "redolab_flushes",
        "counter",
        "Flushes or durable writes that the log issued.",
        |r| r.redo().flushes.map(|n| n as f64),
    ),
    (
        "redolab_elapsed_seconds",
        "gauge",
        "Measured time of the row.",
        |r| r.elapsed_ns.map(|ns| ns as f64 / 1e9),
    ),
    (
        "redolab_commits_per_second",
        "gauge",
        "Commit throughput of the row.",
        |r| r.commit_throughput_tps,
    ),
    (
        "redolab_device_utilisation_ratio",
        "gauge",
        "Share of the time that the device was busy.",
        |r| r.device().device_util_pct.map(|pct| pct / 100.0),
    ),
];

/// The run as OpenMetrics text.
#[must_use]
pub fn text(source: &ExportSource<'_>) -> String {
    let mut out = String::new();
    about(source, &mut out);
    for (name, kind, help, figure) in FIGURES {
        head(&mut out, name, kind, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (number, row) in source.rows() {
            if let Some(value) = figure(row).filter(|v| v.is_finite()) {
                let labels = labels(source, number, row);
                line(&mut out, &format!("{name}{suffix}{{{labels}}} {value}"));
            }
        }
    }
    for (name, event, help) in HISTOGRAMS {
        head(&mut out, name, "histogram", help);
        for (number, row) in source.rows() {
            if let Some(series) = source.series(number, event) {
                let labels = labels(source, number, row);
                histogram(&mut out, name, &labels, &series.merged);
            }
        }
    }
    out.push_str("# EOF\n");
    out
}

fn about(source: &ExportSource<'_>, out: &mut String) {
    let run = source.run;
    head(
        out,
        "redolab_run",
        "info",
        "The run, and where its figures come from.",
    );
    let log = run.target.redo_log();
    let labels = [
        ("run_id", run.run_id.as_str()),
        ("origin", run.origin.word()),
        ("version", &run.redolab_version),
        ("target", &run.target.path),
        (
            "sync_method",
            log.map_or("", |log| log.sync_method.as_str()),
        ),
    ];
    let labels: Vec<String> = labels.iter().map(|(k, v)| label(k, v)).collect();
    line(out, &format!("redolab_run_info{{{}}} 1", labels.join(",")));
    let name = "redolab_run_valid";
    head(
        out,
        name,
        "gauge",
        "1 unless a problem makes the figures wrong.",
    );
    let valid = u8::from(run.validity.valid);
    line(
        out,
        &format!("{name}{{{}}} {valid}", label("run_id", &run.run_id)),
    );
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    line(out, &format!("# TYPE {name} {kind}"));
    for unit in ["seconds", "bytes", "ratio"] {
        if name.ends_with(&format!("_{unit}")) {
            line(out, &format!("# UNIT {name} {unit}"));
        }
    }
    line(out, &format!("# HELP {name} {help}"));
}

fn histogram(out: &mut String, name: &str, labels: &str, h: &Histogram) {
    let mut bins = h.buckets().iter_recorded().peekable();
    let mut count = 0;
    for power in POWERS {
        let bound_ns = 1_u64 << power;
        while let Some(bin) = bins.next_if(|bin| bin.value_iterated_to() < bound_ns) {
            count += bin.count_since_last_iteration();
        }
        let le = bound_ns as f64 / 1e9;
        line(
            out,
            &format!("{name}_bucket{{{labels},le=\"{le:?}\"}} {count}"),
        );
    }
    let all = h.count();
    line(out, &format!("{name}_bucket{{{labels},le=\"+Inf\"}} {all}"));
    line(out, &format!("{name}_count{{{labels}}} {all}"));
    line(
        out,
        &format!("{name}_sum{{{labels}}} {:?}", h.sum() as f64 / 1e9),
    );
}

fn labels(source: &ExportSource<'_>, number: usize, row: &Row) -> String {
    let run = source.run;
    [
        label("run_id", &run.run_id),
        label("origin", run.origin.word()),
        label("row", &number.to_string()),
        label("workload", &row.workload),
        label("jobs", &row.jobs.to_string()),
    ]
    .join(",")
}

fn label(name: &str, value: &str) -> String {
    let value = measure::words::sanitize::line(value);
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{value}\"")
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes every text");
}
