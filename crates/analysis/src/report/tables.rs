//! The study's table of rows, with the columns of the metric catalogue, and the wait events.

use super::escape::esc;
use super::topic::Topic;
use super::{Section, origin_tag};
use crate::format::{count, digits};
use measure::catalogue;
use measure::run::{Row, Run};
use measure::workload::{SIZE_SWEEP, TPROC_C_NOTICE};

/// Most rows of a table.
const MAX_ROWS: usize = 400;

pub(super) fn rows(run: &Run) -> Option<Section> {
    if run.rows.is_empty() {
        let nothing = "<p>No row was completed: there are no figures to show.</p>";
        return Section::html("rows", "Rows", "", nothing.to_owned());
    }
    let shown: Vec<&catalogue::Metric> = catalogue::ROW
        .iter()
        .filter(|m| m.key != "workload" && run.rows.iter().any(|r| cell(m.key, r).is_some()))
        .collect();
    let mut head = String::from("<th class=\"t\">Workload</th>");
    for metric in &shown {
        let unit = unit_below(metric);
        head.push_str(&format!(
            "<th title=\"{}\">{}{unit}</th>",
            esc(metric.definition),
            esc(metric.heading)
        ));
    }
    let mut body = String::new();
    let mut last = "";
    for row in run.rows.iter().take(MAX_ROWS) {
        let class = if row.workload == last {
            ""
        } else {
            " class=\"g\""
        };
        last = &row.workload;
        body.push_str(&format!(
            "<tr{class}><th class=\"t\">{}</th>",
            esc(&row.workload)
        ));
        for metric in &shown {
            let text = cell(metric.key, row).unwrap_or_else(|| "–".to_owned());
            body.push_str(&format!("<td>{text}</td>"));
        }
        body.push_str("</tr>");
    }
    let section = Section::html(
        "rows",
        "Rows",
        "One row for each workload and number of jobs, in the columns of study 003 and its units (1 MB = 1024 kB). Commit latency is measured for each transaction; log file sync is the part of it that waits for the log. The table is wide: scroll sideways.",
        format!(
            "<div class=\"scroll wide-table\" tabindex=\"0\" role=\"group\" aria-label=\"Rows\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{}",
            tproc_c_notice(run)
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)).shows(Topic::Rows))
}

/// What is to be known of rows of TPROC-C, below the table.
fn tproc_c_notice(run: &Run) -> String {
    let has_tproc_c = run.rows.iter().any(|row| row.tproc_c.is_some());
    if has_tproc_c {
        format!("<p>{}</p>", esc(TPROC_C_NOTICE))
    } else {
        String::new()
    }
}

/// A metric's unit for the line below its heading, where the heading doesn't carry it.
fn unit_below(metric: &catalogue::Metric) -> String {
    const CARRIED: [&str; 8] = ["%", "ms", "s", "tps", "rbps", "IOPS", "MBps", "kBpt"];
    let last = metric.heading.rsplit(' ').next().unwrap_or_default();
    if metric.unit.is_empty() || metric.heading.contains('/') || CARRIED.contains(&last) {
        String::new()
    } else {
        format!("<small>{}</small>", esc(metric.unit))
    }
}

/// A row's value of a metric as text; `None` where it was not measured. Only digits and
/// punctuation of this module's making: nothing of the run's text.
fn cell(key: &str, row: &Row) -> Option<String> {
    Some(match key {
        "nodes" => row.nodes.to_string(),
        "jobs" => Some(row.jobs).filter(|n| *n > 0)?.to_string(),
        "cpu_busy_pct" => digits(row.processors().cpu_busy_pct?),
        "cpu_user_pct" => digits(row.processors().cpu_user_pct?),
        "cpu_sys_pct" => digits(row.processors().cpu_sys_pct?),
        "cpu_idle_pct" => digits(row.processors().cpu_idle_pct?),
        "cpu_iowait_pct" => digits(row.processors().cpu_iowait_pct?),
        "commit_throughput_tps" => digits(row.commit_throughput_tps?),
        "commit_latency_ms" => digits(row.commit_latency_ms?),
        "redo_blocks_per_s" => digits(row.redo().redo_blocks_per_s?),
        "redo_writes_iops" => digits(row.redo().redo_writes_iops?),
        "redo_synch_writes_iops" => digits(row.redo_synch_writes_iops?),
        "redo_data_mbps" => digits(row.redo().redo_data_mbps?),
        "redo_data_kb_per_txn" => digits(row.redo().redo_data_kb_per_txn?),
        "log_file_sync_ms" => digits(row.log_file_sync_ms?),
        "flash_cache_write_pct" => digits(row.redo().flash_cache_write_pct?),
        "elapsed_s" => digits(row.elapsed_s?),
        "redo_size_bytes" => count(row.redo().redo_size_bytes?),
        "commits" => count(row.commits?),
        "commits_per_write" => digits(row.commits_per_write()?),
        "redo_wastage_bytes" => count(row.redo().redo_wastage_bytes?),
        "flushes" => count(row.redo().flushes?),
        "nowait_window_bytes" => count(row.redo().nowait_window_bytes?),
        "nowait_window_ms" => digits(row.redo().nowait_window_ms?),
        "log_write_warnings" => count(row.redo().log_write_warnings?),
        "device_writes" => count(row.device().device_writes?),
        "cpu_us_per_commit" => digits(row.processors().cpu_us_per_commit?),
        "context_switches_per_commit" => digits(row.processors().context_switches_per_commit?),
        "log_file_sync_polled_pct" => digits(row.learning().log_file_sync_polled_pct?),
        "log_file_sync_switches" => count(row.learning().log_file_sync_switches?),
        "offered_tps" => digits(row.open_loop().offered_tps?),
        "backlog_end" => count(row.open_loop().backlog_end?),
        "nopm" => digits(row.tproc_c().nopm?),
        "tpm" => digits(row.tproc_c().tpm?),
        "lateness_ms" => digits(row.open_loop().lateness_ms?),
        "data_blocks_written" => count(row.log_life().data_blocks_written?),
        "data_written_mbps" => digits(row.log_life().data_written_mbps?),
        "log_checkpoints" => count(row.log_life().log_checkpoints?),
        "archived_files" => count(row.log_life().archived_files?),
        "archived_bytes" => count(row.log_life().archived_bytes?),
        "neighbour_fsyncs" => count(row.log_life().neighbour_fsyncs?),
        "neighbour_fsync_p50_us" => digits(row.log_life().neighbour_fsync_p50_us?),
        "neighbour_fsync_p99_us" => digits(row.log_life().neighbour_fsync_p99_us?),
        "neighbour_fsync_max_us" => digits(row.log_life().neighbour_fsync_max_us?),
        "commits_per_session" => count(row.commits_per_session?),
        "redo_bytes_per_txn" if row.workload == SIZE_SWEEP => count(row.redo_bytes_per_txn?),
        "threads" => row.threads.filter(|n| *n < row.jobs)?.to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{
        CommitsPerWrite, DeviceFigures, LearningFigures, LogLifeFigures, OpenLoopFigures,
        ProcessorFigures, RedoFigures, TprocCFigures,
    };

    fn log_life() -> LogLifeFigures {
        LogLifeFigures {
            data_blocks_written: Some(1),
            data_written_mbps: Some(1.0),
            log_checkpoints: Some(1),
            archived_files: Some(1),
            archived_bytes: Some(1),
            neighbour_fsyncs: Some(1),
            neighbour_fsync_p50_us: Some(1.0),
            neighbour_fsync_p99_us: Some(1.0),
            neighbour_fsync_max_us: Some(1.0),
        }
    }

    #[test]
    fn every_metric_of_the_catalogue_has_a_cell() {
        let row = Row {
            workload: SIZE_SWEEP.to_owned(),
            redo_bytes_per_txn: Some(1),
            commits_per_session: Some(1),
            jobs: 2,
            threads: Some(1),
            log_file_sync_ms: Some(1.0),
            commit_throughput_tps: Some(1.0),
            commit_latency_ms: Some(1.0),
            redo_synch_writes_iops: Some(1.0),
            elapsed_s: Some(1.0),
            commits: Some(1),
            redo: Some(RedoFigures {
                redo_blocks_per_s: Some(1.0),
                redo_writes_iops: Some(1.0),
                redo_data_mbps: Some(1.0),
                redo_data_kb_per_txn: Some(1.0),
                flash_cache_write_pct: Some(1.0),
                redo_size_bytes: Some(1),
                commits_per_write: Some(CommitsPerWrite::default()),
                redo_wastage_bytes: Some(1),
                flushes: Some(1),
                nowait_window_bytes: Some(1),
                nowait_window_ms: Some(1.0),
                log_write_warnings: Some(1),
                ..RedoFigures::default()
            }),
            device: Some(DeviceFigures {
                device_writes: Some(1),
                ..DeviceFigures::default()
            }),
            processors: Some(ProcessorFigures {
                cpu_busy_pct: Some(1.0),
                cpu_user_pct: Some(1.0),
                cpu_sys_pct: Some(1.0),
                cpu_idle_pct: Some(1.0),
                cpu_iowait_pct: Some(1.0),
                cpu_us_per_commit: Some(1.0),
                context_switches_per_commit: Some(1.0),
            }),
            open_loop: Some(OpenLoopFigures {
                offered_tps: Some(1.0),
                backlog_end: Some(1),
                lateness_ms: Some(1.0),
                ..OpenLoopFigures::default()
            }),
            learning: Some(LearningFigures {
                log_file_sync_switches: Some(1),
                log_file_sync_polled_pct: Some(1.0),
                ..LearningFigures::default()
            }),
            tproc_c: Some(TprocCFigures {
                nopm: Some(1.0),
                tpm: Some(1.0),
                detail: None,
            }),
            log_life: Some(log_life()),
            ..Row::default()
        };
        for metric in catalogue::ROW.iter().filter(|m| m.key != "workload") {
            assert!(
                cell(metric.key, &row).is_some(),
                "{} is not shown",
                metric.key
            );
        }
    }
}
