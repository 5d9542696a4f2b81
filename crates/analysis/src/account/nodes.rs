//! Several logs that were measured together: a line for each, below the row that has their sums.
//!
//! Invariant: a line shows what was recorded of that log alone; nothing is divided.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{NodeFigures, Row, Run};

/// Each log's own figures; `None` where every row had one log.
#[must_use]
pub fn nodes(run: &Run) -> Option<Section> {
    let sync = |of: &NodeFigures| of.log_file_sync.clone();
    let columns: [AccountColumn<'_, (&Row, &NodeFigures)>; 10] = [
        (label("Workload"), &|(row, _)| Shown::Text(row.label())),
        (label("Node"), &|(_, of)| of.node.into()),
        (label("Jobs"), &|(_, of)| Shown::jobs(of.jobs)),
        (detail("Nodes", ""), &|(row, _)| row.nodes.into()),
        (figure("Commits", "/s"), &|(_, of)| {
            of.commit_throughput_tps.into()
        }),
        (figure("Redo", "MB/s"), &|(_, of)| of.redo_data_mbps.into()),
        (figure("LFS", "ms"), &|(_, of)| {
            sync(of).map(|of| Shown::Ns(of.mean_ns)).into()
        }),
        (detail("LFS p99", "ms"), &|(_, of)| {
            Shown::ns(sync(of).and_then(|of| of.p99_ns))
        }),
        (detail("Log writes", ""), &|(_, of)| {
            of.log_file_parallel_write.count.into()
        }),
        (figure("LFPW", "ms"), &|(_, of)| {
            Shown::Ns(of.log_file_parallel_write.mean_ns)
        }),
    ];
    let lines = (run.rows.iter()).flat_map(|row| row.by_node.iter().map(move |of| (row, of)));
    let table = AccountTable::of(lines, &columns)?;
    let directories = run.target.redo_log().map(|log| log.node_directories.iter());
    let place =
        |(node, directory): (u32, &String)| (format!("Node {node}"), Shown::text(directory));
    let places: Vec<_> = (1..)
        .zip(directories.into_iter().flatten())
        .map(place)
        .collect();
    Some(Section {
        id: "nodes".into(),
        title: "Each log of the rows above".to_owned(),
        about: "Several redo logs that were measured together, each with its own log writer and \
                sessions. The rows have the sums of all. LFS: log file sync; LFPW: log file \
                parallel write; means, and a 99th percentile."
            .to_owned(),
        body: vec![Body::Table(table), Body::Facts(places)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::WaitStats;

    #[test]
    fn each_log_has_a_line_and_a_run_with_one_log_has_no_section() {
        let mut run = clean_run();
        assert_eq!(nodes(&run), None);
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
        run.target.redo_log_mut().node_directories = vec!["/u01".to_owned(), "/u02".to_owned()];
        let section = nodes(&run).expect("a section");
        let lines = words_of(&section);
        assert_eq!(lines[0][4..8], ["1,234", "0", "1.50", "–"]);
        assert_eq!(lines[1][4..8], ["1,234", "0", "–", "–"]);
        let Body::Facts(places) = &section.body[1] else {
            panic!("{section:?}")
        };
        assert_eq!(places[1], ("Node 2".to_owned(), Shown::text("/u02")));
    }
}
