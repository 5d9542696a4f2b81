//! The value of each catalogue metric in a row: the one place where a key meets a field.

use measure::run::Row;

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// An exact number.
    Count(u64),
    /// A measured number.
    Real(f64),
    /// Not measured.
    Missing,
}

impl Cell {
    fn real(value: Option<f64>) -> Cell {
        value.map_or(Cell::Missing, Cell::Real)
    }

    fn count(value: Option<u64>) -> Cell {
        value.map_or(Cell::Missing, Cell::Count)
    }

    /// For a table: three significant digits beside an integer part that is never cut; `-` for
    /// what was not measured.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Cell::Text(t) => super::sanitize::line(t),
            Cell::Count(n) => grouped(*n),
            Cell::Real(x) => real(*x),
            Cell::Missing => "-".to_owned(),
        }
    }

    /// For a program: all digits; empty for what was not measured.
    #[must_use]
    pub fn exact(&self) -> String {
        match self {
            Cell::Text(t) => t.clone(),
            Cell::Count(n) => n.to_string(),
            Cell::Real(x) if x.is_finite() => x.to_string(),
            Cell::Real(_) | Cell::Missing => String::new(),
        }
    }
}

/// The value of the metric `key` (see [`measure::catalogue::ROW`]); `None` for an unknown key.
#[must_use]
pub fn cell(row: &Row, key: &str) -> Option<Cell> {
    if row.not_measured.iter().any(|field| field == key) {
        return Some(Cell::Missing);
    }
    Some(match key {
        "workload" => Cell::Text(row.workload.clone()),
        "nodes" => Cell::Count(u64::from(row.nodes)),
        "jobs" => Cell::Count(u64::from(row.jobs)),
        "cpu_busy_pct" => Cell::real(row.cpu_busy_pct),
        "cpu_user_pct" => Cell::real(row.cpu_user_pct),
        "cpu_sys_pct" => Cell::real(row.cpu_sys_pct),
        "cpu_idle_pct" => Cell::real(row.cpu_idle_pct),
        "cpu_iowait_pct" => Cell::real(row.cpu_iowait_pct),
        "commit_throughput_tps" => Cell::Real(row.commit_throughput_tps),
        "commit_latency_ms" => Cell::Real(row.commit_latency_ms),
        "redo_blocks_per_s" => Cell::Real(row.redo_blocks_per_s),
        "redo_writes_iops" => Cell::Real(row.redo_writes_iops),
        "redo_synch_writes_iops" => Cell::Real(row.redo_synch_writes_iops),
        "redo_data_mbps" => Cell::Real(row.redo_data_mbps),
        "redo_data_kb_per_txn" => Cell::Real(row.redo_data_kb_per_txn),
        "log_file_sync_ms" => Cell::real(row.log_file_sync_ms),
        "flash_cache_write_pct" => Cell::real(row.flash_cache_write_pct),
        "elapsed_s" => Cell::Real(row.elapsed_s),
        "redo_size_bytes" => Cell::Count(row.redo_size_bytes),
        "commits" => Cell::Count(row.commits),
        "commits_per_write" => {
            let waited = row.redo_synch_writes_iops > 0.0;
            Cell::real(waited.then_some(row.commits_per_write.mean))
        }
        "redo_wastage_bytes" => Cell::Count(row.redo_wastage_bytes),
        "flushes" => Cell::Count(row.flushes),
        "device_writes" => Cell::count(row.device_writes),
        "cpu_us_per_commit" => Cell::real(row.cpu_us_per_commit),
        "context_switches_per_commit" => Cell::real(row.context_switches_per_commit),
        "log_file_sync_polled_pct" => Cell::real(row.log_file_sync_polled_pct),
        "log_file_sync_switches" => Cell::count(row.log_file_sync_switches),
        "redo_bytes_per_txn" => Cell::count(row.redo_bytes_per_txn),
        "commits_per_session" => Cell::count(row.commits_per_session),
        "offered_tps" => Cell::real(row.offered_tps),
        "backlog_end" => Cell::count(row.backlog_end),
        "lateness_ms" => Cell::real(row.lateness_ms),
        "threads" => {
            Cell::count((row.threads < row.jobs && row.threads > 0).then(|| row.threads.into()))
        }
        _ => return None,
    })
}

/// What distinguishes a row's workload from the others' where jobs and waits alone are shown: its
/// name, in a sweep over redo sizes with the size.
#[must_use]
pub fn label(row: &Row) -> String {
    let name = super::sanitize::line(&row.workload);
    match row.redo_bytes_per_txn {
        Some(bytes) if row.workload == measure::workload::SIZE_SWEEP => {
            format!("{name} {}", crate::safety::size(bytes))
        }
        _ => name,
    }
}

/// Three significant digits beside an integer part that is never cut, at most three decimals.
#[must_use]
pub fn real(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        "-".to_owned()
    } else if size >= 99.95 || size == 0.0 {
        let whole = grouped(size.round() as u64);
        if x <= -0.5 {
            format!("-{whole}")
        } else {
            whole
        }
    } else if size >= 9.995 {
        format!("{x:.1}")
    } else if size >= 0.9995 {
        format!("{x:.2}")
    } else {
        format!("{x:.3}")
    }
}

/// Nanoseconds as milliseconds, for tables of waits.
#[must_use]
pub fn ns_as_ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// An integer with thousands apart.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_the_catalogue_has_a_cell() {
        let row = Row::default();
        for metric in measure::catalogue::ROW {
            assert!(cell(&row, metric.key).is_some(), "{}", metric.key);
        }
        assert_eq!(cell(&row, "no_such_metric"), None);
    }

    #[test]
    fn keys_are_those_of_the_runs_json() {
        let json = serde_json::to_value(Row::default()).expect("a row is JSON");
        for metric in measure::catalogue::ROW {
            assert!(json.get(metric.key).is_some(), "{}", metric.key);
        }
    }

    #[test]
    fn points_of_a_sweep_are_told_apart() {
        let mut row = Row {
            workload: "size-sweep".to_owned(),
            redo_bytes_per_txn: Some(1 << 20),
            ..Row::default()
        };
        assert_eq!(label(&row), "size-sweep 1.0 MiB");
        row.workload = "storm".to_owned();
        assert_eq!(label(&row), "storm");
    }

    #[test]
    fn numbers_read_easily() {
        for (x, want) in [
            (0.0, "0"),
            (0.1174, "0.117"),
            (0.9996, "1.00"),
            (1.95, "1.95"),
            (26.31, "26.3"),
            (99.96, "100"),
            (367_848.4, "367,848"),
            (-1234.0, "-1,234"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(real(x), want);
        }
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(999), "999");
        assert_eq!(Cell::Missing.short(), "-");
        assert_eq!(Cell::Missing.exact(), "");
        assert_eq!(Cell::Real(0.1 + 0.2).exact(), "0.30000000000000004");
    }
}
