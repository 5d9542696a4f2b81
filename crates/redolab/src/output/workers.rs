//! The log writer's workers, as study 000 shows them: of each worker's log file parallel writes,
//! how many took over 1, 10 and 20 ms, and the longest.
//!
//! Invariant: a worker that wrote nothing has a line too, and a longest write under 1 ms is shown
//! as it was (the study's script showed 0).

use super::cells::{grouped, ns_as_ms};
use super::table::{Style, draw, fit};
use measure::run::{Row, Run, Worker};
use measure::words::sanitize;

const HEADINGS: [&str; 11] = [
    "Workload",
    "Jobs",
    "Worker",
    "Waits",
    "Over 1 ms %",
    "Over 10 ms %",
    "Over 20 ms %",
    "Mean ms",
    "Max ms",
    "Writes and flushes",
    "Idle s",
];

/// The table; `None` where no row had workers.
#[must_use]
pub fn workers(run: &Run, style: Style) -> Option<String> {
    let lines: Vec<Vec<String>> = run
        .rows
        .iter()
        .flat_map(|row| {
            row.redo()
                .workers
                .iter()
                .map(move |worker| line(row, worker))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let victims = ["Idle s", "Writes and flushes", "Waits"];
    let (headings, lines) = fit(&HEADINGS, lines, &victims, style);
    let mut text = format!(
        "Log file parallel write of each log writer worker\n{}",
        draw(&headings, lines, 3, style)
    );
    let writer = run.target.redo_log().and_then(|t| t.log_writer.as_deref());
    if writer == Some("adaptive") {
        for row in &run.rows {
            text.push_str(&format!(
                "{}, {}: the log writer changed between alone and workers {} times\n",
                sanitize::line(&row.workload),
                measure::words::jobs(row.jobs),
                row.redo().log_writer_switches.unwrap_or(0)
            ));
        }
    }
    Some(text)
}

fn line(row: &Row, worker: &Worker) -> Vec<String> {
    let stats = &worker.log_file_parallel_write;
    let over = |pct: f64| format!("{pct:.2}");
    vec![
        sanitize::line(&row.workload),
        row.jobs.to_string(),
        sanitize::line(&worker.name),
        grouped(stats.count),
        over(stats.over_1ms_pct),
        over(stats.over_10ms_pct),
        over(stats.over_20ms_pct),
        ns_as_ms(stats.mean_ns),
        ns_as_ms(stats.max_ns as f64),
        grouped(worker.operations),
        format!("{:.1}", worker.idle_ns as f64 / 1e9),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;
    use measure::run::RedoFigures;

    fn run_with(workers: Vec<Worker>) -> Run {
        let mut run = crate::output::table::tests::run();
        run.target.redo_log_mut().log_writer = Some("adaptive".to_owned());
        run.rows = vec![Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 8,
            redo: Some(RedoFigures {
                workers,
                log_writer_switches: Some(3),
                ..RedoFigures::default()
            }),
            ..Row::default()
        }];
        run
    }

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
        let style = Style {
            width: 200,
            frame: false,
        };
        let table = workers(&run_with(vec![busy, idle]), style).expect("there are workers");
        let of = |name: &str| {
            let line = table.lines().find(|line| line.contains(name));
            let line = line.expect("a line each").split_whitespace();
            line.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("LG00")[3..7], ["10", "30.00", "20.00", "10.00"]);
        assert!(of("LG00")[8].starts_with("30"), "{table}");
        assert_eq!(of("LG01")[3..7], ["0", "0.00", "0.00", "0.00"]);
        assert!(table.contains("alone and workers 3 times"), "{table}");
        assert_eq!(workers(&run_with(Vec::new()), style), None);
    }
}
