//! When a row is to be doubted for what its load came to: pure, from the row alone.

use crate::output::cells::label;
use measure::run::{Row, Validity};

/// The lab's own lateness may make up this share of an open loop's latencies, and of the time in
/// which sessions had a backlog, percent: more, and the figures are as much the lab's as the log's.
pub const LAB_SHARE_PCT: f64 = 10.0;
/// A mean lateness up to this is what a timer takes to wake a thread, milliseconds: it is told, and
/// makes nothing doubtful.
pub const TIMER_MS: f64 = 0.1;
/// One transaction in a hundred may begin so late by the lab's own doing, milliseconds.
pub const LATE_P99_MS: f64 = 1.0;

/// Adds what speaks against `row`.
pub fn row(row: &Row, validity: &mut Validity) {
    let name = format!("{} with {}", label(row), analysis::format::jobs(row.jobs));
    if let Some(detail) = late(row) {
        validity.add("generator_late", false, format!("{name}: {detail}"));
    }
    if let Some(detail) = backlog(row) {
        validity.add("backlog", false, format!("{name}: {detail}"));
    }
    if let Some(detail) = commits(row) {
        validity.add("commits_missing", true, format!("{name}: {detail}"));
    }
}

/// The generator could not keep its own pace.
fn late(row: &Row) -> Option<String> {
    let open = row.open_loop.as_ref()?;
    let p99_ms = open.lateness.p99_ns.map_or(0.0, |ns| ns as f64 / 1e6);
    let busy_pct = open.lab_busy_pct.unwrap_or(0.0);
    let fell_behind = open.not_served > 0 && busy_pct > LAB_SHARE_PCT;
    let mean_ms = row.lateness_ms.unwrap_or(0.0);
    let is_share = open.lateness_pct > LAB_SHARE_PCT && mean_ms > TIMER_MS;
    if p99_ms <= LATE_P99_MS && !is_share && !fell_behind {
        return None;
    }
    let mut detail = format!(
        "the generator could not keep pace: transactions began {mean_ms:.3} ms late on average (99th \
         percentile {p99_ms:.3} ms) though a session was free, {:.1} % of the latency",
        open.lateness_pct
    );
    if fell_behind {
        detail.push_str(&format!(
            "; with a backlog it took {busy_pct:.1} % of the sessions' time itself, so the rate that \
             was achieved is not the log's limit"
        ));
    }
    detail.push_str("; offer less (--rate), or give the lab more processors");
    Some(detail)
}

/// More was offered than was served.
fn backlog(row: &Row) -> Option<String> {
    let open = row.open_loop.as_ref().filter(|open| open.not_served > 0)?;
    let waited = open.oldest_not_served_ns.unwrap_or(0) as f64 / 1e9;
    Some(format!(
        "{} of {} transactions that were due never began, the first of them {waited:.1} s before \
         the end: {:.0} a second were offered and {:.0} served. They are in no latency, so the true \
         ones are longer than what is shown, and grow with the time measured; offer less (--rate), \
         or more sessions (--jobs)",
        open.not_served,
        open.arrivals,
        row.offered_tps.unwrap_or(0.0),
        row.commit_throughput_tps
    ))
}

/// A row that was to make so many commits made fewer.
fn commits(row: &Row) -> Option<String> {
    let asked = row.commits_per_session?.saturating_mul(u64::from(row.jobs));
    (row.commits != asked).then(|| {
        format!(
            "{} commits of {asked} were made ({} of each session)",
            row.commits,
            row.commits_per_session.unwrap_or(0)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{OpenLoop, WaitStats};

    fn open(late_p99_ns: u64, lateness_pct: f64, not_served: u64, lab_busy_pct: f64) -> Row {
        Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 4,
            offered_tps: Some(1000.0),
            lateness_ms: Some(0.02),
            open_loop: Some(OpenLoop {
                arrivals: 1000,
                not_served,
                oldest_not_served_ns: (not_served > 0).then_some(2_500_000_000),
                lateness: WaitStats {
                    p99_ns: Some(late_p99_ns),
                    ..WaitStats::default()
                },
                lateness_pct,
                lab_busy_pct: Some(lab_busy_pct),
                ..OpenLoop::default()
            }),
            ..Row::default()
        }
    }

    fn ids(row: &Row) -> Vec<String> {
        let mut validity = Validity::sound();
        super::row(row, &mut validity);
        validity.problems.into_iter().map(|p| p.id).collect()
    }

    #[test]
    fn each_way_to_fall_behind_is_told_and_no_other() {
        assert_eq!(ids(&Row::default()), Vec::<String>::new());
        assert_eq!(ids(&open(900_000, 9.0, 0, 90.0)), Vec::<String>::new());
        assert_eq!(ids(&open(1_100_000, 1.0, 0, 0.0)), ["generator_late"]);
        assert_eq!(
            ids(&open(10, 11.0, 0, 0.0)),
            Vec::<String>::new(),
            "a timer's"
        );
        let mut share = open(10, 11.0, 0, 0.0);
        share.lateness_ms = Some(0.11);
        assert_eq!(ids(&share), ["generator_late"]);
        assert_eq!(ids(&open(10, 1.0, 5, 2.0)), ["backlog"]);
        assert_eq!(ids(&open(10, 1.0, 5, 50.0)), ["generator_late", "backlog"]);
        let told = backlog(&open(10, 1.0, 5, 2.0)).expect("told");
        assert!(
            told.contains("5 of 1000") && told.contains("2.5 s"),
            "{told}"
        );
    }

    #[test]
    fn commits_that_were_not_made_invalidate_the_count() {
        let mut row = Row {
            jobs: 20,
            commits: 4_000_000,
            commits_per_session: Some(200_000),
            ..Row::default()
        };
        assert_eq!(ids(&row), Vec::<String>::new());
        row.commits -= 1;
        let mut validity = Validity::sound();
        super::row(&row, &mut validity);
        assert!(!validity.valid);
        let detail = &validity.problems[0].detail;
        assert!(detail.contains("3999999 commits of 4000000"), "{detail}");
    }
}
