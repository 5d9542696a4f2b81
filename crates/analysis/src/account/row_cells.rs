//! The value of each catalogue metric in a row: the one place where a key meets a field.

use super::Shown;
use measure::catalogue::{COMMIT_LATENCY, SERVER_PREFIX, WAITS, WaitFigure};
use measure::run::{Row, ServerFigures, WaitStats};

/// The value of the metric `key` (see [`measure::catalogue::all`]); `None` for an unknown key.
#[must_use]
pub fn cell(row: &Row, key: &str) -> Option<Shown> {
    let (redo, cpu) = (row.redo(), row.processors());
    Some(match key {
        "workload" => Shown::Text(row.workload.clone()),
        "nodes" => row.nodes.into(),
        "jobs" => Shown::from(Some(row.jobs).filter(|n| *n > 0)),
        "threads" => Shown::from(row.threads.filter(|n| *n < row.jobs)),
        "cpu_busy_pct" => Shown::from(cpu.cpu_busy_pct),
        "cpu_user_pct" => Shown::from(cpu.cpu_user_pct),
        "cpu_sys_pct" => Shown::from(cpu.cpu_sys_pct),
        "cpu_idle_pct" => Shown::from(cpu.cpu_idle_pct),
        "cpu_iowait_pct" => Shown::from(cpu.cpu_iowait_pct),
        "commit_throughput_tps" => Shown::from(row.commit_throughput_tps),
        "commit_latency_ms" => Shown::from(row.commit_latency_ms),
        "redo_blocks_per_s" => Shown::from(redo.redo_blocks_per_s),
        "redo_writes_iops" => Shown::from(redo.redo_writes_iops),
        "redo_synch_writes_iops" => Shown::from(row.redo_synch_writes_iops),
        "redo_data_mbps" => Shown::from(redo.redo_data_mbps),
        "redo_data_kb_per_txn" => Shown::from(redo.redo_data_kb_per_txn),
        "log_file_sync_ms" => Shown::from(row.log_file_sync_ms),
        "flash_cache_write_pct" => Shown::from(redo.flash_cache_write_pct),
        "elapsed_s" => Shown::from(row.elapsed_s),
        "redo_size_bytes" => Shown::from(redo.redo_size_bytes),
        "commits" => Shown::from(row.commits),
        "commits_per_write" => Shown::from(row.commits_per_write()),
        "redo_wastage_bytes" => Shown::from(redo.redo_wastage_bytes),
        "flushes" => Shown::from(redo.flushes),
        "nowait_window_bytes" => Shown::from(redo.nowait_window_bytes),
        "nowait_window_ms" => Shown::from(redo.nowait_window_ms),
        "log_write_warnings" => Shown::from(redo.log_write_warnings),
        "device_writes" => Shown::from(row.device().device_writes),
        "cpu_us_per_commit" => Shown::from(cpu.cpu_us_per_commit),
        "context_switches_per_commit" => Shown::from(cpu.context_switches_per_commit),
        "log_file_sync_polled_pct" => Shown::from(row.learning().log_file_sync_polled_pct),
        "log_file_sync_switches" => Shown::from(row.learning().log_file_sync_switches),
        "redo_bytes_per_txn" => Shown::from(row.redo_bytes_per_txn),
        "commits_per_session" => Shown::from(row.commits_per_session),
        "offered_tps" => Shown::from(row.open_loop().offered_tps),
        "backlog_end" => Shown::from(row.open_loop().backlog_end),
        "nopm" => Shown::from(row.tproc_c().nopm),
        "tpm" => Shown::from(row.tproc_c().tpm),
        "lateness_ms" => Shown::from(row.open_loop().lateness_ms),
        "data_blocks_written" => Shown::from(row.log_life().data_blocks_written),
        "data_written_mbps" => Shown::from(row.log_life().data_written_mbps),
        "log_checkpoints" => Shown::from(row.log_life().log_checkpoints),
        "archived_files" => Shown::from(row.log_life().archived_files),
        "archived_bytes" => Shown::from(row.log_life().archived_bytes),
        "neighbour_fsyncs" => Shown::from(row.log_life().neighbour_fsyncs),
        "neighbour_fsync_p50_us" => Shown::from(row.log_life().neighbour_fsync_p50_us),
        "neighbour_fsync_p99_us" => Shown::from(row.log_life().neighbour_fsync_p99_us),
        "neighbour_fsync_max_us" => Shown::from(row.log_life().neighbour_fsync_max_us),
        key => match key.strip_prefix(SERVER_PREFIX) {
            Some(own) => return server_cell(row.server(), own),
            None => return wait_cell(row, key),
        },
    })
}

/// The value of a metric of the catalogue's waits, in milliseconds.
fn wait_cell(row: &Row, key: &str) -> Option<Shown> {
    let (event, figure, _) = WAITS.iter().find(|(_, _, metric)| metric.key == key)?;
    let stats = match *event {
        COMMIT_LATENCY => row.commit_latency.as_ref(),
        event => row.waits.get(event),
    };
    let ns = stats
        .filter(|stats| stats.count > 0)
        .and_then(|stats| figure_ns(stats, *figure));
    Some(Shown::from(ns.map(|ns| ns / 1e6)))
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
fn server_cell(server: &ServerFigures, key: &str) -> Option<Shown> {
    Some(match key {
        "observed_s" => Shown::from(server.observed_s),
        "commits" => Shown::from(server.commits),
        "redo_lsn_bytes" => Shown::from(server.redo_lsn_bytes),
        "wal_bytes" => Shown::from(server.wal_bytes),
        "records" => Shown::from(server.records),
        "full_page_images" => Shown::from(server.full_page_images),
        "writes" => Shown::from(server.writes),
        "written_bytes" => Shown::from(server.written_bytes),
        "initialized_bytes" => Shown::from(server.initialized_bytes),
        "write_ms" => Shown::from(server.write_ms),
        "syncs" => Shown::from(server.syncs),
        "sync_ms" => Shown::from(server.sync_ms),
        "buffers_full" => Shown::from(server.buffers_full),
        "checkpoints" => Shown::from(server.checkpoints),
        "device_writes" => Shown::from(server.device_writes),
        "device_written_bytes" => Shown::from(server.device_written_bytes),
        "device_flushes" => Shown::from(server.device_flushes),
        "redo_per_commit_bytes" => Shown::from(server.redo_per_commit_bytes),
        "written_per_commit_bytes" => Shown::from(server.written_per_commit_bytes),
        "device_per_commit_bytes" => Shown::from(server.device_per_commit_bytes),
        "writes_per_commit" => Shown::from(server.writes_per_commit),
        "syncs_per_commit" => Shown::from(server.syncs_per_commit),
        "device_flushes_per_commit" => Shown::from(server.device_flushes_per_commit),
        "written_per_redo" => Shown::from(server.written_per_redo),
        "device_per_redo" => Shown::from(server.device_per_redo),
        _ => return None,
    })
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
            ("log_file_sync_p50_ms", Shown::Number(0.2)),
            ("log_file_sync_p99_ms", Shown::Missing),
            ("log_file_sync_max_ms", Shown::Number(4.0)),
            ("log_file_parallel_write_ms", Shown::Missing),
            ("commit_latency_max_ms", Shown::Missing),
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
}
