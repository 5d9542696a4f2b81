//! The log writer's workers in the report, with the columns of study 000.

use super::escape::esc;
use super::{Section, origin_tag};
use crate::format::{count, digits, percent};
use measure::run::{Row, Run, Worker};

/// Most lines of the table.
const MAX_LINES: usize = 400;

/// Empty where no row had workers.
pub(super) fn workers(run: &Run) -> Option<Section> {
    let lines: String = run
        .rows
        .iter()
        .flat_map(|row| row.redo().workers.iter().map(move |worker| (row, worker)))
        .take(MAX_LINES)
        .map(|(row, worker)| line(row, worker))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let heads = ["Over 1 ms", "Over 10 ms", "Over 20 ms"]
        .iter()
        .map(|h| format!("<th>{h}</th>"))
        .collect::<String>();
    let times = ["Mean", "Longest"]
        .iter()
        .map(|h| format!("<th>{h}<small>ms</small></th>"))
        .collect::<String>();
    let switches = run.rows.iter().filter_map(|r| r.redo().log_writer_switches);
    let writer = run.target.redo_log().and_then(|t| t.log_writer.as_deref());
    let changed = if writer == Some("adaptive") {
        format!(
            "<p>The log writer changed {} times between working alone and working with workers, in all rows.</p>",
            count(switches.sum())
        )
    } else {
        String::new()
    };
    let section = Section::html(
        "workers",
        "Log writer workers",
        "Log file parallel write of each worker, in the columns of study 000: a batch counts for the worker that ended its last write, from submission until it was durable. The idle worker with the lowest number gets work first, so the first workers do most of the work.",
        format!(
            "<div class=\"scroll\"><table><thead><tr><th class=\"t\">Worker</th><th class=\"t\">Workload</th><th>Jobs</th><th>Waits</th>{heads}{times}<th>Writes and flushes</th><th>Idle<small>s</small></th></tr></thead><tbody>{lines}</tbody></table></div>{changed}"
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)))
}

fn line(row: &Row, worker: &Worker) -> String {
    let stats = &worker.log_file_parallel_write;
    let mut out = format!(
        "<tr><th class=\"t\">{}</th><td class=\"t\">{}</td><td>{}</td><td>{}</td>",
        esc(&worker.name),
        esc(&row.workload),
        row.jobs,
        count(stats.count)
    );
    for over in [stats.over_1ms_pct, stats.over_10ms_pct, stats.over_20ms_pct] {
        out.push_str(&format!("<td>{}</td>", esc(&percent(over))));
    }
    for ns in [stats.mean_ns, stats.max_ns as f64] {
        out.push_str(&format!("<td>{}</td>", digits(ns / 1e6)));
    }
    out.push_str(&format!(
        "<td>{}</td><td>{}</td></tr>",
        count(worker.operations),
        digits(worker.idle_ns as f64 / 1e9)
    ));
    out
}
