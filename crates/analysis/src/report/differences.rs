//! Differences in words: metrics as readers know them, values with their units, intervals.
//!
//! What is drawn of them and who wins is not known here.

use crate::format;
use measure::comparison::{Comparison, Difference};

/// Metrics of the first screen, those that decide first.
pub(super) const METRICS: [(&str, &str); 7] = [
    (THROUGHPUT, "commits per second"),
    ("log_file_sync.p99", "log file sync, p99"),
    ("commit_latency.p99", "commit latency, p99"),
    ("log_file_sync.mean", "log file sync, mean"),
    (
        "log_file_parallel_write.mean",
        "log file parallel write, mean",
    ),
    ("redo_data_mbps", "redo"),
    ("commit_latency.mean", "commit latency, mean"),
];
pub(super) const THROUGHPUT: &str = "commit_throughput_tps";

/// A metric as readers know it.
pub(super) fn metric_name(metric: &str) -> String {
    let known = METRICS.iter().find(|(key, _)| *key == metric);
    known.map_or_else(
        || metric.replace('_', " ").replace('.', ", "),
        |(_, name)| (*name).to_owned(),
    )
}

/// What a line of a figure or table is about.
pub(super) fn label(d: &Difference) -> String {
    format!(
        "{} with {}: {}",
        d.workload,
        format::jobs(d.jobs),
        metric_name(&d.metric)
    )
}

pub(super) fn name(c: &Comparison, run: usize) -> &str {
    c.runs.get(run).map_or("", |r| r.name.as_str())
}

/// An interval as a table shows it; an end that says nothing more than "open" is a bound.
pub(super) fn interval_text(d: &Difference) -> String {
    let end = |v: f64| match v {
        v if v < 0.001 => "< 0.001".to_owned(),
        v if v > 1000.0 => "> 1,000".to_owned(),
        v => format::digits(v),
    };
    match (d.ci_low, d.ci_high) {
        (Some(low), Some(high)) => format!("{} to {}", end(low), end(high)),
        _ => "–".to_owned(),
    }
}

/// The confidence of the intervals, percent.
pub(super) fn level(c: &Comparison) -> String {
    let text = format!("{:.1}", 100.0 * c.method.level);
    text.trim_end_matches(".0").to_owned()
}

/// A value with its unit.
pub(super) fn shown(value: Option<f64>, unit: &str) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if unit == "ns" => format::latency(v),
        Some(v) if unit.is_empty() => format::digits(v),
        Some(v) if unit == "1/s" => format!("{} /s", format::digits(v)),
        Some(v) => format!("{} {unit}", format::digits(v)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_read_as_people_say_them() {
        assert_eq!(metric_name("log_file_sync.p99"), "log file sync, p99");
        assert_eq!(metric_name("flushes"), "flushes");
        assert_eq!(metric_name("log_file_sync.max"), "log file sync, max");
    }
}
