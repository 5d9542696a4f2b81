//! The metrics that are compared: names as conditions use them, units, directions, and where a
//! row holds them.
//!
//! Two kinds. A **row metric** is one figure of a row (`commit_throughput_tps`). A **statistic of
//! waits** is a wait event's key, a dot, and a statistic (`log_file_sync.p99`).

use crate::stats::blocks::Statistic;
use measure::comparison::Better;
use measure::run::{Row, WaitStats};
use measure::{Histogram, WaitEvent};

/// A figure of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowMetric {
    /// Key of the row's JSON.
    pub key: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Direction.
    pub better: Better,
}

const fn row(key: &'static str, unit: &'static str, better: Better) -> RowMetric {
    RowMetric { key, unit, better }
}

/// All row metrics, in the order of tables.
pub const ROW: [RowMetric; 8] = [
    row("commit_throughput_tps", "1/s", Better::Higher),
    row("redo_data_mbps", "MB/s", Better::Higher),
    row("redo_writes_iops", "1/s", Better::Neither),
    row("cpu_us_per_commit", "µs", Better::Lower),
    row("cpu_busy_pct", "%", Better::Neither),
    row("device_util_pct", "%", Better::Neither),
    row("redo_wastage_pct", "%", Better::Lower),
    row("commits_per_write", "", Better::Neither),
];

impl RowMetric {
    /// Its value in a row; `None` where it was not measured.
    #[must_use]
    pub fn of(&self, row: &Row) -> Option<f64> {
        let value = match self.key {
            "commit_throughput_tps" => row.commit_throughput_tps,
            "redo_data_mbps" => row.redo().redo_data_mbps,
            "redo_writes_iops" => row.redo().redo_writes_iops,
            "cpu_us_per_commit" => row.processors().cpu_us_per_commit,
            "cpu_busy_pct" => row.processors().cpu_busy_pct,
            "device_util_pct" => row.device().device_util_pct,
            "redo_wastage_pct" => row.redo().redo_wastage_pct(),
            "commits_per_write" => {
                let factor = row.redo().commits_per_write.as_ref();
                factor.map(|f| f.mean).filter(|mean| *mean > 0.0)
            }
            _ => None,
        };
        value.filter(|v| v.is_finite())
    }
}

/// A statistic of waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitMetric {
    /// Behind the dot.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// How it is drawn anew; `None` where drawing anew gives no error of it.
    pub statistic: Option<Statistic>,
}

const fn wait(name: &'static str, unit: &'static str, statistic: Option<Statistic>) -> WaitMetric {
    WaitMetric {
        name,
        unit,
        statistic,
    }
}

/// All statistics of waits, in the order of tables. Of the longest wait no interval is given: the
/// bootstrap does not hold for extremes.
pub const WAIT: [WaitMetric; 9] = [
    wait("mean", "ns", Some(Statistic::Mean)),
    wait("p50", "ns", Some(Statistic::Quantile(0.5))),
    wait("p90", "ns", Some(Statistic::Quantile(0.9))),
    wait("p99", "ns", Some(Statistic::Quantile(0.99))),
    wait("p999", "ns", Some(Statistic::Quantile(0.999))),
    wait("max", "ns", None),
    wait("over_1ms_pct", "%", Some(Statistic::ShareOver(1_000_000))),
    wait("over_10ms_pct", "%", Some(Statistic::ShareOver(10_000_000))),
    wait("outliers", "", None),
];

impl WaitMetric {
    /// Whether it is a number of waits, which has no noise of its own.
    #[must_use]
    pub fn is_count(&self) -> bool {
        self.unit.is_empty()
    }

    /// Its value in the stored figures; `None` where too few waits support it.
    #[must_use]
    pub fn of(&self, stats: &WaitStats) -> Option<f64> {
        if stats.count == 0 {
            return None;
        }
        match self.name {
            "mean" => Some(stats.mean_ns),
            "p50" => stats.p50_ns.map(|v| v as f64),
            "p90" => stats.p90_ns.map(|v| v as f64),
            "p99" => stats.p99_ns.map(|v| v as f64),
            "p999" => stats.p999_ns.map(|v| v as f64),
            "max" => Some(stats.max_ns as f64),
            "over_1ms_pct" => Some(stats.over_1ms_pct),
            "over_10ms_pct" => Some(stats.over_10ms_pct),
            "outliers" => Some(stats.outliers as f64),
            _ => None,
        }
    }

    /// Its value in a histogram.
    #[must_use]
    pub fn of_histogram(&self, histogram: &Histogram) -> Option<f64> {
        self.of(&histogram.stats())
    }
}

/// Keys of the waits that are compared: transactions' own times and every wait event.
pub fn events() -> impl Iterator<Item = &'static str> {
    let events = WaitEvent::ALL.iter().map(|e| e.key());
    std::iter::once("commit_latency").chain(events)
}

/// The figures of `event` in a row, if it was recorded.
#[must_use]
pub fn wait_of<'a>(row: &'a Row, event: &str) -> Option<&'a WaitStats> {
    let stats = match event {
        "commit_latency" => row.commit_latency.as_ref(),
        other => row.waits.get(other),
    };
    stats.filter(|s| s.count > 0)
}

/// The mean of `event` that a row states without its waits, nanoseconds.
#[must_use]
pub fn stated_mean_ns(row: &Row, event: &str) -> Option<f64> {
    let ms = match event {
        "commit_latency" => row.commit_latency_ms,
        "log_file_sync" => row.log_file_sync_ms,
        _ => None,
    };
    ms.filter(|ms| *ms > 0.0).map(|ms| ms * 1e6)
}

/// What names a condition can use, in words.
#[must_use]
pub fn known() -> String {
    let rows: Vec<&str> = ROW.iter().map(|m| m.key).collect();
    let events: Vec<&str> = events().collect();
    let statistics: Vec<&str> = WAIT.iter().map(|m| m.name).collect();
    format!(
        "{}; and EVENT.STATISTIC, with EVENT one of {}, and STATISTIC one of {}",
        rows.join(", "),
        events.join(", "),
        statistics.join(", ")
    )
}

/// The unit of a known metric; `None` for an unknown one.
#[must_use]
pub fn unit(metric: &str) -> Option<&'static str> {
    if let Some(row) = ROW.iter().find(|m| m.key == metric) {
        return Some(row.unit);
    }
    let (event, name) = metric.split_once('.')?;
    events().find(|e| *e == event)?;
    WAIT.iter().find(|m| m.name == name).map(|m| m.unit)
}
