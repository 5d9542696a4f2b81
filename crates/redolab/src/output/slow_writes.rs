//! Log writes over the threshold of warnings, as Oracle's `V$LGWRIO_OUTLIER` shows them, and the
//! warnings that its log writer prints.
//!
//! Invariant: what is not listed is counted.

use super::cells::{grouped, ns_as_ms};
use super::table::{Style, draw, fit};
use analysis::report::utc_time;
use measure::run::{Row, Run, SlowLogWrite};
use measure::words::{self, sanitize};

/// Lines of the table and warnings at most. The report and JSON list up to 180 of each row.
const MOST: usize = 20;

const HEADINGS: [&str; 6] = [
    "Time (UTC)",
    "Workload",
    "Jobs",
    "Size kB",
    "Elapsed ms",
    "Member",
];

/// The slowest of a run in the order of their rows and times, and the number of all.
struct Slowest<'a> {
    listed: Vec<(&'a Row, &'a SlowLogWrite)>,
    all: u64,
    threshold_ns: u64,
}

impl<'a> Slowest<'a> {
    fn of(run: &'a Run) -> Slowest<'a> {
        let kept = run
            .rows
            .iter()
            .filter_map(|row| Some((row, row.redo().slow_log_writes.as_ref()?)));
        let threshold_ns = kept.clone().map(|(_, slow)| slow.threshold_ns).max();
        let mut listed: Vec<_> = kept
            .flat_map(|(row, slow)| slow.writes.iter().map(move |write| (row, write)))
            .collect();
        if listed.len() > MOST {
            let mut times: Vec<u64> = listed.iter().map(|(_, write)| write.took_ns).collect();
            times.sort_unstable_by(|a, b| b.cmp(a));
            let least = times[MOST - 1];
            listed.retain(|(_, write)| write.took_ns >= least);
            listed.truncate(MOST);
        }
        let counted = run.rows.iter().filter_map(|r| r.redo().log_write_warnings);
        Slowest {
            listed,
            all: counted.sum(),
            threshold_ns: threshold_ns.unwrap_or_default(),
        }
    }

    fn not_listed(&self) -> u64 {
        self.all.saturating_sub(self.listed.len() as u64)
    }
}

/// The table; `None` where no log write took as long as the threshold.
#[must_use]
pub fn table(run: &Run, style: Style) -> Option<String> {
    let slowest = Slowest::of(run);
    if slowest.listed.is_empty() {
        return None;
    }
    let lines = slowest.listed.iter().map(|(row, write)| {
        vec![
            utc_time(write.at_utc_ns),
            sanitize::line(&row.workload),
            row.jobs.to_string(),
            size_kb(write),
            ns_as_ms(write.took_ns as f64),
            member(write).unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let (headings, lines) = fit(&HEADINGS, lines.collect(), &["Workload", "Jobs"], style);
    let over = words::latency(slowest.threshold_ns as f64);
    let mut text = format!(
        "Log writes that took at least {over} (--log-write-warning)\n{}",
        draw(&headings, lines, 2, style)
    );
    if slowest.not_listed() > 0 {
        text.push_str(&format!(
            "({} more took at least {over}; JSON and the report list up to 180 of each row)\n",
            grouped(slowest.not_listed())
        ));
    }
    Some(text)
}

/// The warnings of Oracle's log writer, each with its moment, and how many are not printed.
#[must_use]
pub fn warnings(run: &Run) -> Vec<String> {
    let slowest = Slowest::of(run);
    let line = |(row, write): &(&Row, &SlowLogWrite)| {
        format!(
            "{} ({} UTC, {}{}, {})",
            write.warning(),
            utc_time(write.at_utc_ns),
            member(write).map_or_else(String::new, |n| format!("member {n}, ")),
            sanitize::line(&row.workload),
            words::jobs(row.jobs)
        )
    };
    let mut lines: Vec<String> = slowest.listed.iter().map(line).collect();
    if slowest.not_listed() > 0 && !lines.is_empty() {
        lines.push(format!(
            "{} more log writes took at least {}.",
            grouped(slowest.not_listed()),
            words::latency(slowest.threshold_ns as f64)
        ));
    }
    lines
}

/// kB; a log of blocks of 512 bytes has halves.
fn size_kb(write: &SlowLogWrite) -> String {
    format!("{}", write.size_bytes as f64 / 1024.0)
}

/// The member that completed a log write, where it is known.
fn member(write: &SlowLogWrite) -> Option<String> {
    write.member.map(|n| n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines;
    use measure::run::{RedoFigures, SlowLogWrites};

    /// A run of one row whose log writes took 500 ms and more, `n` of them, of which the slowest
    /// 180 are kept.
    fn run_with(n: u64) -> Run {
        let mut run = crate::output::table::tests::run();
        let write = |i: u64| SlowLogWrite {
            at_utc_ns: 1_394_360_855_000_000_000 + i * 1_000_000_000,
            size_bytes: 512 * (i + 1),
            took_ns: 500_000_000 + i * 1_500_000,
            member: (i > 0).then_some(0),
        };
        run.rows = vec![Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 8,
            redo: Some(RedoFigures {
                log_write_warnings: Some(n),
                slow_log_writes: Some(SlowLogWrites {
                    threshold_ns: 500_000_000,
                    dropped: n.saturating_sub(180),
                    writes: (n.saturating_sub(180)..n).map(write).collect(),
                }),
                ..RedoFigures::default()
            }),
            ..Row::default()
        }];
        run
    }

    #[test]
    fn each_slow_log_write_has_a_line_in_80_columns() {
        let style = Style {
            width: 80,
            frame: false,
        };
        let table = table(&run_with(2), style).expect("there are slow writes");
        assert!(table.lines().all(|l| lines::width(l) <= 80), "{table}");
        let line = table.lines().find(|l| l.contains("10:27:36.000"));
        let cells: Vec<&str> = line.expect("the second").split_whitespace().collect();
        assert_eq!(cells[2..4], ["LGWR-LAT1", "8"], "{table}");
        assert_eq!(
            (cells[4], &cells[5][..5], cells[6]),
            ("1", "501.5", "0"),
            "{table}"
        );
        assert!(!table.contains("more took"), "{table}");
        assert_eq!(super::table(&run_with(0), style), None);
        assert!(warnings(&run_with(0)).is_empty());
    }

    #[test]
    fn warnings_have_the_form_of_the_log_writer_and_what_is_left_out_is_counted() {
        let lines = warnings(&run_with(2));
        assert_eq!(
            lines[1],
            "Warning: log write elapsed time 501ms, size 1KB (2014-03-09 10:27:36.000 UTC, \
             member 0, LGWR-LAT1, 8 jobs)"
        );
        // Which of several members it was is not known of the first.
        assert!(
            lines[0].ends_with("UTC, LGWR-LAT1, 8 jobs)"),
            "{}",
            lines[0]
        );
        assert_eq!(lines.len(), 2);
        let lines = warnings(&run_with(1000));
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines[MOST], "980 more log writes took at least 500 ms.");
        // The slowest of all are printed: 980 to 999.
        assert!(lines[0].contains("elapsed time 1970ms"), "{}", lines[0]);
    }
}
