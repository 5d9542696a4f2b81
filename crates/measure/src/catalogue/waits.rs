//! Percentiles and extremes of waits as columns of a row. In JSON they are nanoseconds in the row's
//! objects `waits` and `commit_latency`; as columns they are milliseconds.
//!
//! Invariant: the mean of log file sync and of commits is a metric of [`super::ROW`], and not here.

use super::{Metric, ORACLE, OWN};

/// What a column of [`WAITS`] shows of a wait event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFigure {
    /// The exact mean.
    Mean,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The exact maximum.
    Max,
}

/// The key of a commit's latency among the wait events of [`WAITS`].
pub const COMMIT_LATENCY: &str = "commit_latency";

/// A column of a wait: `(key of the wait event, figure, metric)`.
pub type WaitColumn = (&'static str, WaitFigure, Metric);

const fn column(
    event: &'static str,
    figure: WaitFigure,
    key: &'static str,
    heading: &'static str,
    definition: &'static str,
) -> WaitColumn {
    // A commit's latency is redolab's own quantity, the waits are Oracle's.
    let source = match event.as_bytes()[0] {
        b'c' => OWN,
        _ => ORACLE,
    };
    let metric = Metric {
        key,
        heading,
        unit: "ms",
        definition,
        source,
    };
    (event, figure, metric)
}

const LFS: &str = "log_file_sync";
const LFPW: &str = "log_file_parallel_write";

/// Columns of waits, in the order of CSV. A percentile is missing with fewer than ten waits beyond
/// it.
pub const WAITS: &[WaitColumn] = &[
    column(
        LFS,
        WaitFigure::P50,
        "log_file_sync_p50_ms",
        "LFS p50 ms",
        "Median of log file sync.",
    ),
    column(
        LFS,
        WaitFigure::P90,
        "log_file_sync_p90_ms",
        "LFS p90 ms",
        "90th percentile of log file sync.",
    ),
    column(
        LFS,
        WaitFigure::P99,
        "log_file_sync_p99_ms",
        "LFS p99 ms",
        "99th percentile of log file sync.",
    ),
    column(
        LFS,
        WaitFigure::P999,
        "log_file_sync_p999_ms",
        "LFS p99.9 ms",
        "99.9th percentile of log file sync.",
    ),
    column(
        LFS,
        WaitFigure::Max,
        "log_file_sync_max_ms",
        "LFS max ms",
        "Longest log file sync.",
    ),
    column(
        LFPW,
        WaitFigure::Mean,
        "log_file_parallel_write_ms",
        "LFPW ms",
        "Mean log file parallel write: the log writer's I/O, from submitting a set of writes to the last durable completion.",
    ),
    column(
        LFPW,
        WaitFigure::P50,
        "log_file_parallel_write_p50_ms",
        "LFPW p50 ms",
        "Median of log file parallel write.",
    ),
    column(
        LFPW,
        WaitFigure::P90,
        "log_file_parallel_write_p90_ms",
        "LFPW p90 ms",
        "90th percentile of log file parallel write.",
    ),
    column(
        LFPW,
        WaitFigure::P99,
        "log_file_parallel_write_p99_ms",
        "LFPW p99 ms",
        "99th percentile of log file parallel write.",
    ),
    column(
        LFPW,
        WaitFigure::P999,
        "log_file_parallel_write_p999_ms",
        "LFPW p99.9 ms",
        "99.9th percentile of log file parallel write.",
    ),
    column(
        LFPW,
        WaitFigure::Max,
        "log_file_parallel_write_max_ms",
        "LFPW max ms",
        "Longest log file parallel write.",
    ),
    column(
        COMMIT_LATENCY,
        WaitFigure::P50,
        "commit_latency_p50_ms",
        "Latency p50 ms",
        "Median of the time of a transaction from its start until its commit returned.",
    ),
    column(
        COMMIT_LATENCY,
        WaitFigure::P90,
        "commit_latency_p90_ms",
        "Latency p90 ms",
        "90th percentile of the same time.",
    ),
    column(
        COMMIT_LATENCY,
        WaitFigure::P99,
        "commit_latency_p99_ms",
        "Latency p99 ms",
        "99th percentile of the same time.",
    ),
    column(
        COMMIT_LATENCY,
        WaitFigure::P999,
        "commit_latency_p999_ms",
        "Latency p99.9 ms",
        "99.9th percentile of the same time.",
    ),
    column(
        COMMIT_LATENCY,
        WaitFigure::Max,
        "commit_latency_max_ms",
        "Latency max ms",
        "The longest of these times.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WaitEvent;

    #[test]
    fn each_column_names_its_event_and_figure() {
        for (event, figure, metric) in WAITS {
            let known = WaitEvent::ALL.iter().any(|known| known.key() == *event);
            assert!(known || *event == COMMIT_LATENCY, "{event}");
            let ending = match figure {
                WaitFigure::Mean => "_ms",
                WaitFigure::P50 => "_p50_ms",
                WaitFigure::P90 => "_p90_ms",
                WaitFigure::P99 => "_p99_ms",
                WaitFigure::P999 => "_p999_ms",
                WaitFigure::Max => "_max_ms",
            };
            assert_eq!(metric.key.strip_suffix(ending), Some(*event));
        }
    }
}
