//! The log writer's workers, as study 000 shows them: of each worker's log file parallel writes,
//! the shares over 1, 10 and 20 ms, and the longest.
//!
//! Invariant: a worker that wrote nothing has a line too, and a longest write under 1 ms is shown
//! as it was (the study's script showed 0).

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{Row, Run, Worker};
use measure::words;

/// Of a worker, its log file parallel writes; `None` where no row had workers.
#[must_use]
pub fn workers(run: &Run) -> Option<Section> {
    type Line<'a> = (&'a Row, &'a Worker);
    let columns: [AccountColumn<'_, Line<'_>>; 11] = [
        (label("Workload"), &|(row, _)| Shown::Text(row.label())),
        (label("Jobs"), &|(row, _)| Shown::jobs(row.jobs)),
        (label("Worker"), &|(_, of)| Shown::text(&of.name)),
        (detail("Waits", ""), &|(_, of)| {
            of.log_file_parallel_write.count.into()
        }),
        (figure("Over 1 ms", ""), &|(_, of)| {
            Shown::Share(of.log_file_parallel_write.over_1ms_pct)
        }),
        (figure("Over 10 ms", ""), &|(_, of)| {
            Shown::Share(of.log_file_parallel_write.over_10ms_pct)
        }),
        (figure("Over 20 ms", ""), &|(_, of)| {
            Shown::Share(of.log_file_parallel_write.over_20ms_pct)
        }),
        (figure("Mean", "ms"), &|(_, of)| {
            Shown::Ns(of.log_file_parallel_write.mean_ns)
        }),
        (figure("Longest", "ms"), &|(_, of)| {
            Shown::Ns(of.log_file_parallel_write.max_ns as f64)
        }),
        (detail("Writes and flushes", ""), &|(_, of)| {
            of.operations.into()
        }),
        (detail("Idle", "s"), &|(_, of)| Shown::Ns(of.idle_ns as f64)),
    ];
    let of_row = |row| Row::redo(row).workers.iter().map(move |of| (row, of));
    let table = AccountTable::of(run.rows.iter().flat_map(of_row), &columns)?;
    let log = run.target.redo_log();
    let is_adaptive = log.and_then(|log| log.log_writer.as_deref()) == Some("adaptive");
    let changes = |row: &Row| {
        let (workload, jobs) = (row.label(), words::jobs(row.jobs));
        let changes = row.redo().log_writer_switches.filter(|_| is_adaptive)?;
        let times = words::plural(changes, "time");
        Some(Body::Text(format!(
            "{workload}, {jobs}: the log writer changed between alone and workers {times}."
        )))
    };
    let mut body = vec![Body::Table(table)];
    body.extend(run.rows.iter().filter_map(changes));
    Some(Section {
        id: "workers".into(),
        title: "Log file parallel write of each log writer worker".to_owned(),
        about: "A batch counts for the worker that ended its last write, from submission until it \
                was durable. The idle worker with the lowest number gets work first, so the first \
                workers do most of the work. The columns are those of study 000."
            .to_owned(),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::Histogram;
    use measure::run::RedoFigures;

    /// Study 000's way of counting, on writes of 0.5, 2, 15 and 30 ms.
    #[test]
    fn the_table_of_study_000_comes_out() {
        let mut writes = Histogram::new();
        for us in [500, 500, 500, 500, 500, 500, 500, 2_000, 15_000, 30_000] {
            writes.record(us * 1000);
        }
        let busy = Worker {
            name: "LG00".to_owned(),
            log_file_parallel_write: writes.stats(),
            operations: 20,
            idle_count: 4,
            idle_ns: 2_500_000_000,
        };
        let idle = Worker {
            name: "LG01".to_owned(),
            ..Worker::default()
        };
        let mut run = clean_run();
        run.target.redo_log_mut().log_writer = Some("adaptive".to_owned());
        run.rows.truncate(1);
        assert_eq!(workers(&run), None);
        run.rows[0].redo = Some(RedoFigures {
            workers: vec![busy, idle],
            log_writer_switches: Some(3),
            ..RedoFigures::default()
        });
        let section = workers(&run).expect("there are workers");
        let lines = words_of(&section);
        assert_eq!(lines[0][2..7], ["LG00", "10", "30 %", "20 %", "10 %"]);
        assert_eq!((&lines[0][8][..2], &*lines[0][10]), ("30", "2.50"));
        assert_eq!(lines[1][2..7], ["LG01", "0", "0 %", "0 %", "0 %"]);
        let Some(Body::Text(text)) = section.body.last() else {
            panic!("{section:?}")
        };
        assert!(text.ends_with("alone and workers 3 times."), "{text}");
    }
}
