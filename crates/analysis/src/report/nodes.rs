//! Several logs that were measured together in the report: a line for each of them.

use super::escape::esc;
use super::{Section, origin_tag};
use crate::format::{count, digits};
use measure::run::{NodeFigures, Row, Run};

/// Most lines of the table.
const MAX_LINES: usize = 400;

/// Empty where every row had one log.
pub(super) fn nodes(run: &Run) -> Option<Section> {
    let each =
        |row: &'_ Row| -> Vec<String> { row.by_node.iter().map(|node| line(row, node)).collect() };
    let lines: String = run.rows.iter().flat_map(each).take(MAX_LINES).collect();
    if lines.is_empty() {
        return None;
    }
    let directories = run
        .target
        .redo_log()
        .map_or(&[][..], |log| &log.node_directories);
    let places: String = (1..)
        .zip(directories)
        .map(|(node, directory)| format!("<li>Node {node}: {}</li>", esc(directory)))
        .collect();
    let section = Section::html(
        "nodes",
        "Nodes",
        "Several redo logs that were measured together, each with its own log writer and sessions. The rows of this report have the sums of all; this table has the figures of each.",
        format!(
            "<div class=\"scroll\"><table><thead><tr><th class=\"t\">Node</th><th class=\"t\">Workload</th><th>Jobs</th><th>Commits<small>per s</small></th><th>Redo<small>MB/s</small></th><th>Log file sync<small>ms</small></th><th>Log file parallel write<small>ms</small></th><th>Log writes</th></tr></thead><tbody>{lines}</tbody></table></div><ul>{places}</ul>"
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)))
}

fn line(row: &Row, node: &NodeFigures) -> String {
    let write = &node.log_file_parallel_write;
    let sync = node.log_file_sync.as_ref();
    format!(
        "<tr><th class=\"t\">{}</th><td class=\"t\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        node.node,
        esc(&row.workload),
        node.jobs,
        digits(node.commit_throughput_tps),
        digits(node.redo_data_mbps),
        sync.map_or_else(|| "-".to_owned(), |sync| digits(sync.mean_ns / 1e6)),
        digits(write.mean_ns / 1e6),
        count(write.count)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use crate::report::page::Content;
    use measure::run::WaitStats;

    #[test]
    fn each_log_has_a_line_and_a_run_with_one_log_has_no_section() {
        let mut run = clean_run();
        assert!(nodes(&run).is_none());
        let node = |node| NodeFigures {
            node,
            jobs: 3,
            commit_throughput_tps: 1234.0,
            log_file_sync: (node == 1).then(|| WaitStats {
                count: 2,
                mean_ns: 1_500_000.0,
                ..WaitStats::default()
            }),
            ..NodeFigures::default()
        };
        run.rows[0].by_node = vec![node(1), node(2)];
        run.target.redo_log_mut().node_directories = vec!["/u01".to_owned(), "/<u02>".to_owned()];
        let section = nodes(&run).expect("a section");
        let Content::Html(html) = section.content else {
            panic!("a table");
        };
        assert!(
            html.contains("Node 1: /u01") && html.contains("&lt;u02&gt;"),
            "{html}"
        );
        assert!(
            html.contains("1.5") && html.contains("<td>-</td>"),
            "{html}"
        );
    }
}
