//! Several logs that were measured together: a line for each, below the row that has their sums.
//!
//! Invariant: a line shows what was recorded of that log alone; nothing is divided.

use super::cells::{grouped, ns_as_ms};
use super::table::{Style, draw, fit};
use measure::run::{NodeFigures, Row, Run};
use measure::words::sanitize;

const HEADINGS: [&str; 10] = [
    "Workload",
    "Nodes",
    "Node",
    "Jobs",
    "Commits/s",
    "Redo MB/s",
    "LFS ms",
    "LFS p99 ms",
    "Writes",
    "Write ms",
];

/// The table; `None` where every row had one log.
#[must_use]
pub fn nodes(run: &Run, style: Style) -> Option<String> {
    let of_row = |row: &'_ Row| -> Vec<Vec<String>> {
        row.by_node.iter().map(|node| line(row, node)).collect()
    };
    let lines: Vec<Vec<String>> = run.rows.iter().flat_map(of_row).collect();
    if lines.is_empty() {
        return None;
    }
    let victims = ["Writes", "LFS p99 ms", "Nodes"];
    let (headings, lines) = fit(&HEADINGS, lines, &victims, style);
    let mut text = format!(
        "Each log of the rows above\n{}",
        draw(&headings, lines, 1, style)
    );
    let log = run.target.redo_log();
    for (number, directory) in (1..).zip(log.map_or(&[][..], |log| &log.node_directories)) {
        text.push_str(&format!("Node {number}: {}\n", sanitize::line(directory)));
    }
    Some(text)
}

fn line(row: &Row, node: &NodeFigures) -> Vec<String> {
    let missing = || "-".to_owned();
    let sync = node.log_file_sync.as_ref();
    let p99 = sync.and_then(|sync| sync.p99_ns);
    vec![
        sanitize::line(&row.workload),
        row.nodes.to_string(),
        node.node.to_string(),
        node.jobs.to_string(),
        format!("{:.0}", node.commit_throughput_tps),
        format!("{:.1}", node.redo_data_mbps),
        sync.map_or_else(missing, |sync| ns_as_ms(sync.mean_ns)),
        p99.map_or_else(missing, |ns| ns_as_ms(ns as f64)),
        grouped(node.log_file_parallel_write.count),
        ns_as_ms(node.log_file_parallel_write.mean_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines;
    use measure::run::WaitStats;

    #[test]
    fn a_terminal_of_80_columns_shows_what_each_log_did() {
        let mut run = crate::output::table::tests::run();
        assert_eq!(
            nodes(
                &run,
                Style {
                    width: 80,
                    frame: false
                }
            ),
            None
        );
        let wait = WaitStats {
            count: 12_345_678,
            mean_ns: 123_456_789.0,
            p99_ns: Some(987_654_321),
            ..WaitStats::default()
        };
        let node = |node| NodeFigures {
            node,
            jobs: 4096,
            commit_throughput_tps: 1_234_567.0,
            redo_data_mbps: 12_345.6,
            log_file_sync: (node != 2).then(|| wait.clone()),
            log_file_parallel_write: wait.clone(),
            ..NodeFigures::default()
        };
        run.rows = vec![Row {
            workload: "LGWR-LAT125".to_owned(),
            nodes: 16,
            by_node: (1..=16).map(node).collect(),
            ..Row::default()
        }];
        for width in [80, 200] {
            let text = nodes(&run, Style { width, frame: true }).expect("a table");
            assert!(
                text.lines().all(|line| lines::width(line) <= width),
                "{text}"
            );
            assert_eq!(text.matches("LGWR-LAT125").count(), 16, "{text}");
            assert!(
                text.contains("1234567") && text.contains("12345.6"),
                "{text}"
            );
        }
    }
}
