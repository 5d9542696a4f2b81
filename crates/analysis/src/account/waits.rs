//! The wait events of every row.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::WaitEvent;
use measure::run::{Row, Run, WaitStats};

/// Wait events whose figures are columns of the rows' table.
const IN_ROWS: [WaitEvent; 2] = [WaitEvent::LogFileSync, WaitEvent::LogFileParallelWrite];
/// Part of its sessions' time that a wait takes at least to be shown among others.
const WORTH_SHOWING: f64 = 0.01;

/// Every wait event; where none was observed, the time of a commit. `None` without any.
#[must_use]
pub fn waits(run: &Run) -> Option<Section> {
    let latency = |row: &'_ Row| match row.waits.is_empty() {
        true => row.commit_latency.clone().filter(|stats| stats.count > 0),
        false => None,
    };
    let latencies = run
        .rows
        .iter()
        .filter_map(|row| Some((row, "commit latency", latency(row)?)));
    of("Wait events", latencies.chain(events(run)).collect())
}

/// The wait events that the rows' table does not show and that took at least 1 % of the sessions'
/// time; `None` where there were none.
#[must_use]
pub fn other_waits(run: &Run) -> Option<Section> {
    let is_worth_showing = |(row, event, stats): &Line<'_>| {
        let sessions_ns = row.elapsed_ns.map(|ns| ns as f64 * f64::from(row.jobs));
        let is_long = sessions_ns.is_none_or(|all| stats.total_ns as f64 >= WORTH_SHOWING * all);
        is_long && IN_ROWS.iter().all(|of| of.name() != *event)
    };
    let lines = events(run).filter(is_worth_showing).collect();
    of("Other waits (1 % of the sessions' time or more)", lines)
}

type Line<'a> = (&'a Row, &'static str, WaitStats);

fn events(run: &Run) -> impl Iterator<Item = Line<'_>> {
    let of_row = |row| {
        let known =
            move |event| Some((row, WaitEvent::name(event), Row::wait(row, event)?.clone()));
        WaitEvent::ALL.into_iter().filter_map(known)
    };
    run.rows
        .iter()
        .flat_map(of_row)
        .filter(|(_, _, stats)| stats.count > 0)
}

fn of(title: &str, lines: Vec<Line<'_>>) -> Option<Section> {
    // Of some waits only count and total are known.
    let known = |of: &WaitStats, cell: Shown| match Shown::longest(of) {
        Shown::Missing => Shown::Missing,
        _ => cell,
    };
    let columns: [AccountColumn<'_, Line<'_>>; 14] = [
        (label("Workload"), &|(row, ..)| Shown::Text(row.label())),
        (label("Jobs"), &|(row, ..)| Shown::jobs(row.jobs)),
        (label("Event"), &|(_, event, _)| Shown::text(event)),
        (detail("Waits", ""), &|(.., of)| of.count.into()),
        (figure("Mean", "ms"), &|(.., of)| Shown::mean(of)),
        (detail("p50", "ms"), &|(.., of)| Shown::ns(of.p50_ns)),
        (detail("p90", "ms"), &|(.., of)| Shown::ns(of.p90_ns)),
        (figure("p99", "ms"), &|(.., of)| Shown::ns(of.p99_ns)),
        (figure("p99.9", "ms"), &|(.., of)| Shown::ns(of.p999_ns)),
        (figure("Longest", "ms"), &|(.., of)| Shown::longest(of)),
        (detail("Over 1 ms", ""), &|(.., of)| {
            known(of, Shown::Share(of.over_1ms_pct))
        }),
        (detail("Over 10 ms", ""), &|(.., of)| {
            known(of, Shown::Share(of.over_10ms_pct))
        }),
        (detail("Over 20 ms", ""), &|(.., of)| {
            known(of, Shown::Share(of.over_20ms_pct))
        }),
        (detail("Over 500 ms", ""), &|(.., of)| {
            known(of, of.outliers.into())
        }),
    ];
    Some(Section {
        id: "waits".into(),
        title: title.to_owned(),
        about: "The names are those of Oracle. Log file sync is the wait of sessions for the log; \
                log file parallel write is the wait of the log writer for the device. If log file \
                sync is much longer than log file parallel write, the device does not cause most \
                of it. Shares of the waits over 1, 10 and 20 ms, and the number over 500 ms; a dash \
                is a percentile with fewer than ten samples beyond it."
            .to_owned(),
        body: vec![Body::Table(AccountTable::of(lines, &columns)?)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;

    /// Of a wait of which only count and total are known, nobody counted the long ones.
    #[test]
    fn what_was_not_counted_is_no_zero() {
        let mut run = clean_run();
        let idle = WaitStats {
            count: 4,
            total_ns: 120_000_000,
            mean_ns: 3e7,
            ..WaitStats::default()
        };
        let known = WaitStats {
            max_ns: 40_000_000,
            ..idle.clone()
        };
        run.rows.truncate(1);
        for (stats, dashes) in [(idle, 9), (known, 4)] {
            run.rows[0].waits = [("log_file_sync".to_owned(), stats)].into();
            let lines = words_of(&waits(&run).expect("a wait"));
            assert_eq!(lines[0].iter().filter(|cell| *cell == "–").count(), dashes);
            assert_eq!(other_waits(&run), None, "it is in the rows");
        }
    }

    #[test]
    fn where_no_wait_was_observed_there_is_the_time_of_a_commit() {
        let mut run = clean_run();
        run.rows.truncate(1);
        run.rows[0].waits.clear();
        run.rows[0].commit_latency = Some(WaitStats {
            count: 20,
            mean_ns: 4e6,
            max_ns: 9_000_000,
            ..WaitStats::default()
        });
        let lines = words_of(&waits(&run).expect("the latency"));
        assert_eq!(lines[0][2..5], ["commit latency", "20", "4.00"]);
    }

    #[test]
    fn waits_that_the_rows_show_are_not_among_the_others() {
        let mut run = clean_run();
        run.rows.truncate(1);
        let stats = WaitStats {
            count: 12,
            mean_ns: 1e9,
            total_ns: 12_000_000_000,
            ..WaitStats::default()
        };
        let waits = [WaitEvent::LogFileSync, WaitEvent::LogBufferSpace];
        run.rows[0].waits = waits
            .map(|event| (event.key().to_owned(), stats.clone()))
            .into();
        let others = words_of(&other_waits(&run).expect("one"));
        assert_eq!((others.len(), &*others[0][2]), (1, "log buffer space"));
        assert_eq!(words_of(&super::waits(&run).expect("two")).len(), 2);
    }
}
