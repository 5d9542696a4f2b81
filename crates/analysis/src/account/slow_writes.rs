//! Log writes over the threshold of warnings, as Oracle's `V$LGWRIO_OUTLIER` shows them, and the
//! warnings that its log writer prints.
//!
//! Invariant: what is not listed is counted.

use super::{AccountColumn, AccountTable, Body, Section, Shown, figure, label};
use measure::run::{Row, Run, SlowLogWrite};
use measure::words;

/// Warnings and lines of a table at most: the slowest. JSON lists up to 180 of each row.
const MOST: usize = 20;

/// The moment `at_ns`, nanoseconds since 1970, as UTC with milliseconds: `2026-11-23 09:15:02.345`.
#[must_use]
pub fn utc_time(at_ns: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(at_ns));
    time.map_or_else(
        |_| format!("{at_ns} ns"),
        |time| time.strftime("%Y-%m-%d %H:%M:%S.%3f").to_string(),
    )
}

/// The slowest of a run in the order of their rows and times, and a sentence about the others.
fn slowest(run: &Run) -> (Vec<(&Row, &SlowLogWrite)>, Option<String>, u64) {
    let kept = run.rows.iter();
    let kept = kept.filter_map(|row| Some((row, row.redo().slow_log_writes.as_ref()?)));
    let over_ns = kept.clone().map(|(_, slow)| slow.threshold_ns).max();
    let mut listed: Vec<_> = kept
        .flat_map(|(row, slow)| slow.writes.iter().map(move |write| (row, write)))
        .collect();
    let mut times: Vec<u64> = listed.iter().map(|(_, write)| write.took_ns).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(least) = times.get(MOST - 1) {
        listed.retain(|(_, write)| write.took_ns >= *least);
        listed.truncate(MOST);
    }
    let counted = run.rows.iter().filter_map(|r| r.redo().log_write_warnings);
    let others = counted.sum::<u64>().saturating_sub(listed.len() as u64);
    let over_ns = over_ns.unwrap_or_default();
    let others = (others > 0 && !listed.is_empty()).then(|| {
        let (more, over) = (words::count(others), words::latency(over_ns as f64));
        format!("{more} more log writes took at least {over}.")
    });
    (listed, others, over_ns)
}

/// The slowest log writes; `None` where none took as long as the threshold.
#[must_use]
pub fn slow_writes(run: &Run) -> Option<Section> {
    let (listed, others, over_ns) = slowest(run);
    let columns: [AccountColumn<'_, (&Row, &SlowLogWrite)>; 6] = [
        (label("Time (UTC)"), &|(_, write)| {
            Shown::Text(utc_time(write.at_utc_ns))
        }),
        (label("Workload"), &|(row, _)| Shown::Text(row.label())),
        (label("Jobs"), &|(row, _)| Shown::jobs(row.jobs)),
        (figure("Size", "kB"), &|(_, write)| {
            Shown::Number(write.size_bytes as f64 / 1024.0)
        }),
        (figure("Elapsed", "ms"), &|(_, write)| {
            Shown::Ns(write.took_ns as f64)
        }),
        (figure("Member", ""), &|(_, write)| {
            write.member.map(u32::from).into()
        }),
    ];
    let table = AccountTable::of(listed, &columns)?;
    let over = words::latency(over_ns as f64);
    let mut body = vec![Body::Table(table)];
    let where_they_are = |others| Body::Text(format!("{others} JSON lists up to 180 of each row."));
    body.extend(others.map(where_they_are));
    Some(Section {
        id: "slow-log-writes".into(),
        title: format!("Log writes that took at least {over} (--log-write-warning)"),
        about: "From its submission until it was durable, as Oracle lists them in \
                V$LGWRIO_OUTLIER; the slowest. A log with one copy has member 0, and of several \
                members the one that ended a log write last is not always known."
            .to_owned(),
        body,
    })
}

/// The warnings of Oracle's log writer, each with its moment, and how many are not printed.
#[must_use]
pub fn warnings(run: &Run) -> Vec<String> {
    let (listed, others, _) = slowest(run);
    let line = |(row, write): (&Row, &SlowLogWrite)| {
        let member = write.member.map(|n| format!("member {n}, "));
        format!(
            "{} ({} UTC, {}{}, {})",
            write.warning(),
            utc_time(write.at_utc_ns),
            member.unwrap_or_default(),
            row.label(),
            words::jobs(row.jobs)
        )
    };
    listed.into_iter().map(line).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::{RedoFigures, SlowLogWrites};

    /// A run of one row whose log writes took 500 ms and more, `n` of them, of which the slowest
    /// 180 are kept.
    fn run_with(n: u64) -> Run {
        let mut run = clean_run();
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
    fn each_slow_log_write_has_a_line() {
        let section = slow_writes(&run_with(2)).expect("there are slow writes");
        let second = [
            "2014-03-09 10:27:36.000",
            "LGWR-LAT1",
            "8",
            "1.00",
            "502",
            "0",
        ];
        let lines = words_of(&section);
        assert_eq!(lines[1], second);
        assert_eq!((&*lines[0][3], &*lines[0][5]), ("0.500", "–"));
        assert_eq!(section.body.len(), 1, "{section:?}");
        assert_eq!(slow_writes(&run_with(0)), None);
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

    #[test]
    fn a_moment_is_utc_with_milliseconds() {
        assert_eq!(
            utc_time(1_394_360_855_123_999_999),
            "2014-03-09 10:27:35.123"
        );
        assert_eq!(utc_time(0), "1970-01-01 00:00:00.000");
        assert_eq!(utc_time(u64::MAX), "2554-07-21 23:34:33.709");
    }
}
