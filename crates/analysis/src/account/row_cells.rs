//! The value of each catalogue metric in a row: the one place where a key meets a field.

use measure::catalogue::{COMMIT_LATENCY, SERVER_PREFIX, WAITS, WaitFigure};
use measure::run::{Row, ServerFigures, WaitStats};
use measure::words::sanitize;

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum RowCell {
    /// Text.
    Text(String),
    /// An exact number.
    Count(u64),
    /// A measured number.
    Real(f64),
    /// Not measured.
    Missing,
}

impl RowCell {
    fn real(value: Option<f64>) -> RowCell {
        value.map_or(RowCell::Missing, RowCell::Real)
    }

    fn count(value: Option<u64>) -> RowCell {
        value.map_or(RowCell::Missing, RowCell::Count)
    }

    /// For a table: three significant digits beside an integer part that is never cut; `-` for
    /// what was not measured.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            RowCell::Text(t) => sanitize::line(t),
            RowCell::Count(n) => grouped(*n),
            RowCell::Real(x) => real(*x),
            RowCell::Missing => "-".to_owned(),
        }
    }

    /// For a program: all digits; empty for what was not measured.
    #[must_use]
    pub fn exact(&self) -> String {
        match self {
            RowCell::Text(t) => t.clone(),
            RowCell::Count(n) => n.to_string(),
            RowCell::Real(x) if x.is_finite() => x.to_string(),
            RowCell::Real(_) | RowCell::Missing => String::new(),
        }
    }
}

/// The value of the metric `key` (see [`measure::catalogue::all`]); `None` for an unknown key.
#[must_use]
pub fn cell(row: &Row, key: &str) -> Option<RowCell> {
    let (redo, cpu) = (row.redo(), row.processors());
    Some(match key {
        "workload" => RowCell::Text(row.workload.clone()),
        "nodes" => RowCell::Count(u64::from(row.nodes)),
        "jobs" => RowCell::count(Some(row.jobs).filter(|n| *n > 0).map(u64::from)),
        "threads" => RowCell::count(row.threads.filter(|n| *n < row.jobs).map(u64::from)),
        "cpu_busy_pct" => RowCell::real(cpu.cpu_busy_pct),
        "cpu_user_pct" => RowCell::real(cpu.cpu_user_pct),
        "cpu_sys_pct" => RowCell::real(cpu.cpu_sys_pct),
        "cpu_idle_pct" => RowCell::real(cpu.cpu_idle_pct),
        "cpu_iowait_pct" => RowCell::real(cpu.cpu_iowait_pct),
        "commit_throughput_tps" => RowCell::real(row.commit_throughput_tps),
        "commit_latency_ms" => RowCell::real(row.commit_latency_ms),
        "redo_blocks_per_s" => RowCell::real(redo.redo_blocks_per_s),
        "redo_writes_iops" => RowCell::real(redo.redo_writes_iops),
        "redo_synch_writes_iops" => RowCell::real(row.redo_synch_writes_iops),
        "redo_data_mbps" => RowCell::real(redo.redo_data_mbps),
        "redo_data_kb_per_txn" => RowCell::real(redo.redo_data_kb_per_txn),
        "log_file_sync_ms" => RowCell::real(row.log_file_sync_ms),
        "flash_cache_write_pct" => RowCell::real(redo.flash_cache_write_pct),
        "elapsed_s" => RowCell::real(row.elapsed_s),
        "redo_size_bytes" => RowCell::count(redo.redo_size_bytes),
        "commits" => RowCell::count(row.commits),
        "commits_per_write" => RowCell::real(row.commits_per_write()),
        "redo_wastage_bytes" => RowCell::count(redo.redo_wastage_bytes),
        "flushes" => RowCell::count(redo.flushes),
        "nowait_window_bytes" => RowCell::count(redo.nowait_window_bytes),
        "nowait_window_ms" => RowCell::real(redo.nowait_window_ms),
        "log_write_warnings" => RowCell::count(redo.log_write_warnings),
        "device_writes" => RowCell::count(row.device().device_writes),
        "cpu_us_per_commit" => RowCell::real(cpu.cpu_us_per_commit),
        "context_switches_per_commit" => RowCell::real(cpu.context_switches_per_commit),
        "log_file_sync_polled_pct" => RowCell::real(row.learning().log_file_sync_polled_pct),
        "log_file_sync_switches" => RowCell::count(row.learning().log_file_sync_switches),
        "redo_bytes_per_txn" => RowCell::count(row.redo_bytes_per_txn),
        "commits_per_session" => RowCell::count(row.commits_per_session),
        "offered_tps" => RowCell::real(row.open_loop().offered_tps),
        "backlog_end" => RowCell::count(row.open_loop().backlog_end),
        "nopm" => RowCell::real(row.tproc_c().nopm),
        "tpm" => RowCell::real(row.tproc_c().tpm),
        "lateness_ms" => RowCell::real(row.open_loop().lateness_ms),
        "data_blocks_written" => RowCell::count(row.log_life().data_blocks_written),
        "data_written_mbps" => RowCell::real(row.log_life().data_written_mbps),
        "log_checkpoints" => RowCell::count(row.log_life().log_checkpoints),
        "archived_files" => RowCell::count(row.log_life().archived_files),
        "archived_bytes" => RowCell::count(row.log_life().archived_bytes),
        "neighbour_fsyncs" => RowCell::count(row.log_life().neighbour_fsyncs),
        "neighbour_fsync_p50_us" => RowCell::real(row.log_life().neighbour_fsync_p50_us),
        "neighbour_fsync_p99_us" => RowCell::real(row.log_life().neighbour_fsync_p99_us),
        "neighbour_fsync_max_us" => RowCell::real(row.log_life().neighbour_fsync_max_us),
        key => match key.strip_prefix(SERVER_PREFIX) {
            Some(own) => return server_cell(row.server(), own),
            None => return wait_cell(row, key),
        },
    })
}

/// The value of a metric of the catalogue's waits, in milliseconds.
fn wait_cell(row: &Row, key: &str) -> Option<RowCell> {
    let (event, figure, _) = WAITS.iter().find(|(_, _, metric)| metric.key == key)?;
    let stats = match *event {
        COMMIT_LATENCY => row.commit_latency.as_ref(),
        event => row.waits.get(event),
    };
    let ns = stats
        .filter(|stats| stats.count > 0)
        .and_then(|stats| figure_ns(stats, *figure));
    Some(RowCell::real(ns.map(|ns| ns / 1e6)))
}

fn figure_ns(stats: &WaitStats, figure: WaitFigure) -> Option<f64> {
    let whole = |ns: Option<u64>| ns.map(|ns| ns as f64);
    match figure {
        WaitFigure::Mean => Some(stats.mean_ns),
        WaitFigure::P50 => whole(stats.p50_ns),
        WaitFigure::P90 => whole(stats.p90_ns),
        WaitFigure::P99 => whole(stats.p99_ns),
        WaitFigure::P999 => whole(stats.p999_ns),
        // Of some waits only count and total are known.
        WaitFigure::Max => whole(Some(stats.max_ns).filter(|max| *max > 0 || stats.total_ns == 0)),
    }
}

/// The value of a metric of the catalogue's server, by its key in JSON.
fn server_cell(server: &ServerFigures, key: &str) -> Option<RowCell> {
    Some(match key {
        "observed_s" => RowCell::real(server.observed_s),
        "commits" => RowCell::count(server.commits),
        "redo_lsn_bytes" => RowCell::count(server.redo_lsn_bytes),
        "wal_bytes" => RowCell::count(server.wal_bytes),
        "records" => RowCell::count(server.records),
        "full_page_images" => RowCell::count(server.full_page_images),
        "writes" => RowCell::count(server.writes),
        "written_bytes" => RowCell::count(server.written_bytes),
        "initialized_bytes" => RowCell::count(server.initialized_bytes),
        "write_ms" => RowCell::real(server.write_ms),
        "syncs" => RowCell::count(server.syncs),
        "sync_ms" => RowCell::real(server.sync_ms),
        "buffers_full" => RowCell::count(server.buffers_full),
        "checkpoints" => RowCell::count(server.checkpoints),
        "device_writes" => RowCell::count(server.device_writes),
        "device_written_bytes" => RowCell::count(server.device_written_bytes),
        "device_flushes" => RowCell::count(server.device_flushes),
        "redo_per_commit_bytes" => RowCell::real(server.redo_per_commit_bytes),
        "written_per_commit_bytes" => RowCell::real(server.written_per_commit_bytes),
        "device_per_commit_bytes" => RowCell::real(server.device_per_commit_bytes),
        "writes_per_commit" => RowCell::real(server.writes_per_commit),
        "syncs_per_commit" => RowCell::real(server.syncs_per_commit),
        "device_flushes_per_commit" => RowCell::real(server.device_flushes_per_commit),
        "written_per_redo" => RowCell::real(server.written_per_redo),
        "device_per_redo" => RowCell::real(server.device_per_redo),
        _ => return None,
    })
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
        for metric in measure::catalogue::all() {
            assert!(cell(&row, metric.key).is_some(), "{}", metric.key);
        }
        assert_eq!(cell(&row, "no_such_metric"), None);
        assert_eq!(cell(&row, "server_no_such_metric"), None);
    }

    #[test]
    fn percentiles_are_milliseconds_and_never_invented() {
        let stats = WaitStats {
            count: 100,
            mean_ns: 250_000.0,
            total_ns: 25_000_000,
            p50_ns: Some(200_000),
            max_ns: 4_000_000,
            ..WaitStats::default()
        };
        let row = Row {
            waits: [("log_file_sync".to_owned(), stats)].into(),
            ..Row::default()
        };
        for (key, want) in [
            ("log_file_sync_p50_ms", RowCell::Real(0.2)),
            ("log_file_sync_p99_ms", RowCell::Missing),
            ("log_file_sync_max_ms", RowCell::Real(4.0)),
            ("log_file_parallel_write_ms", RowCell::Missing),
            ("commit_latency_max_ms", RowCell::Missing),
        ] {
            assert_eq!(cell(&row, key), Some(want), "{key}");
        }
    }

    #[test]
    fn keys_are_those_of_the_runs_json() {
        let json = serde_json::to_value(Row::default()).expect("a row is JSON");
        for metric in measure::catalogue::ROW {
            assert!(json.get(metric.key).is_some(), "{}", metric.key);
        }
        let json = serde_json::to_value(ServerFigures::default()).expect("it is JSON");
        for metric in measure::catalogue::SERVER {
            let key = metric.key.strip_prefix(SERVER_PREFIX).expect("it has it");
            assert!(json.get(key).is_some(), "{key}");
        }
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
        assert_eq!(RowCell::Missing.short(), "-");
        assert_eq!(RowCell::Missing.exact(), "");
        assert_eq!(RowCell::Real(0.1 + 0.2).exact(), "0.30000000000000004");
    }
}
