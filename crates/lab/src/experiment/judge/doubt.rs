//! When a row is to be doubted for what its load came to: pure, from the row and from what
//! `--max-write` did to it.

use measure::run::{Row, RowCondition, Validity};

/// The lab's own lateness may make up this share of an open loop's latencies, and of the time in
/// which sessions had a backlog, percent: more, and the figures are as much the lab's as the log's.
const LAB_SHARE_PCT: f64 = 10.0;
/// A mean lateness up to this is what a timer takes to wake a thread, milliseconds: it is reported,
/// and makes nothing doubtful.
const TIMER_MS: f64 = 0.1;
/// One transaction in a hundred may begin so late by the lab's own doing, milliseconds.
const LATE_P99_MS: f64 = 1.0;

/// Commits that a row must have for its figures to be used: a percentile is given when ten samples
/// lie beyond it, so with fewer there is not even a median.
const LEAST_COMMITS: u64 = 20;
/// Commits for each session that a row must have: with fewer it is little more than the group
/// commits in which its sessions began and ended.
const LEAST_OF_EACH: u64 = 4;
/// What was due at the end of an open loop may begin for so long, nanoseconds. Where `--max-write`
/// stops the sessions before, only what had waited for longer is a backlog of the log.
pub const GRACE_NS: u64 = 1_000_000_000;

/// What `--max-write` did to a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// The row ended before its time, or before its commits were made.
    pub ended: bool,
    /// Its sessions were stopped, then or while they served what was due at its end.
    pub stopped: bool,
}

/// Commits that a row with `jobs` sessions needs for its figures to be used.
#[must_use]
pub fn least_commits(jobs: u32) -> u64 {
    LEAST_COMMITS.max(LEAST_OF_EACH * u64::from(jobs))
}

/// Adds the doubts about `row`. That `--max-write` ended it is reported elsewhere, and is not a
/// fault of the log.
pub fn row(row: &Row, limited: Limited, validity: &mut Validity) {
    let condition = row.condition.as_ref().map(RowCondition::in_words);
    let condition = condition.unwrap_or_default();
    let jobs = measure::words::jobs(row.jobs);
    let name = format!("{} with {jobs}{condition}", row.label());
    if let Some(detail) = late(row) {
        validity.add("generator_late", false, format!("{name}: {detail}"));
    }
    if let Some(detail) = backlog(row, limited) {
        validity.add("backlog", false, format!("{name}: {detail}"));
    }
    if let Some(detail) = commits(row).filter(|_| !limited.ended) {
        validity.add("commits_missing", true, format!("{name}: {detail}"));
    }
    for condition in violated(row) {
        validity.add("inconsistent", true, format!("{name}: {condition}"));
    }
    if let Some(detail) = few(row) {
        validity.add("few_commits", false, format!("{name}: {detail}"));
    }
}

/// The generator could not keep its own pace.
fn late(row: &Row) -> Option<String> {
    let open = row.open_loop().detail.as_ref()?;
    let p99_ms = open.lateness.p99_ns.map_or(0.0, |ns| ns as f64 / 1e6);
    let busy_pct = open.lab_busy_pct.unwrap_or(0.0);
    let fell_behind = open.not_served > 0 && busy_pct > LAB_SHARE_PCT;
    let mean_ms = row.open_loop().lateness_ms.unwrap_or(0.0);
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
    detail.push_str("; lower --rate, or give redolab more processors");
    Some(detail)
}

/// More was offered than was served.
fn backlog(row: &Row, limited: Limited) -> Option<String> {
    let offered_tps = row.open_loop().offered_tps;
    let open = row.open_loop().detail.as_ref();
    let open = open.filter(|open| open.not_served > 0)?;
    if limited.stopped && open.oldest_not_served_ns.unwrap_or(0) <= GRACE_NS {
        return None;
    }
    let waited = open.oldest_not_served_ns.unwrap_or(0) as f64 / 1e9;
    Some(format!(
        "{} of {} transactions that were due never began, the first of them {waited:.1} s before \
         the end: {:.0} per second were due and {:.0} per second returned. No latency contains them, so \
         the true latencies are longer than those shown, and grow with the measured time; lower \
         --rate, or use more sessions (--jobs)",
        open.not_served,
        open.arrivals,
        offered_tps.unwrap_or(0.0),
        row.commit_throughput_tps.unwrap_or(0.0)
    ))
}

/// A row that was to make so many commits made fewer.
fn commits(row: &Row) -> Option<String> {
    let asked = row.commits_per_session?.saturating_mul(u64::from(row.jobs));
    let made = row.commits?;
    (made != asked).then(|| {
        format!(
            "{made} commits of {asked} were made ({} of each session)",
            row.commits_per_session.unwrap_or(0)
        )
    })
}

/// The consistency conditions of TPROC-C that do not hold, with their figures.
fn violated(row: &Row) -> Vec<String> {
    let detail = row.tproc_c().detail.iter();
    let conditions = detail.flat_map(|detail| &detail.conditions);
    let violated = conditions.filter(|condition| !condition.holds());
    violated
        .map(|condition| match &condition.first_violation {
            Some(first) => format!(
                "the tables of TPROC-C are not consistent: {} does not hold in {} of {} places \
                 ({first}); the server has lost or duplicated rows of transactions that it \
                 committed, or somebody else changed the tables",
                condition.name, condition.violated, condition.checked
            ),
            None => format!(
                "the condition {} of TPROC-C could not be checked: a table has no rows",
                condition.name
            ),
        })
        .collect()
}

/// So few commits that its figures say nothing. A row without any is doubted for that.
fn few(row: &Row) -> Option<String> {
    let least = least_commits(row.jobs);
    let made = row.commits?;
    (1..least).contains(&made).then(|| {
        format!(
            "{made} commits in {:.3} s are too few to rely on any figure: at least {least} are needed \
             ({LEAST_COMMITS}, and {LEAST_OF_EACH} for each session). Measure longer (--time, \
             --commits), or raise --max-write where it ended the row",
            row.elapsed_s.unwrap_or(0.0)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{OpenLoop, OpenLoopFigures, WaitStats};

    const WHOLE: Limited = Limited {
        ended: false,
        stopped: false,
    };
    const CUT: Limited = Limited {
        ended: true,
        stopped: true,
    };

    fn open(late_p99_ns: u64, lateness_pct: f64, not_served: u64, lab_busy_pct: f64) -> Row {
        Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 4,
            open_loop: Some(OpenLoopFigures {
                offered_tps: Some(1000.0),
                lateness_ms: Some(0.02),
                detail: Some(OpenLoop {
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
                ..OpenLoopFigures::default()
            }),
            ..Row::default()
        }
    }

    fn ids_of(row: &Row, limited: Limited) -> Vec<String> {
        let mut validity = Validity::sound();
        super::row(row, limited, &mut validity);
        validity.problems.into_iter().map(|p| p.id).collect()
    }

    fn ids(row: &Row) -> Vec<String> {
        ids_of(row, WHOLE)
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
        share.open_loop.get_or_insert_default().lateness_ms = Some(0.11);
        assert_eq!(ids(&share), ["generator_late"]);
        assert_eq!(ids(&open(10, 1.0, 5, 2.0)), ["backlog"]);
        assert_eq!(ids(&open(10, 1.0, 5, 50.0)), ["generator_late", "backlog"]);
        let told = backlog(&open(10, 1.0, 5, 2.0), WHOLE).expect("reported");
        assert!(
            told.contains("5 of 1000") && told.contains("2.5 s"),
            "{told}"
        );
    }

    #[test]
    fn commits_that_were_not_made_invalidate_the_count() {
        let mut row = Row {
            jobs: 20,
            commits: Some(4_000_000),
            commits_per_session: Some(200_000),
            ..Row::default()
        };
        assert_eq!(ids(&row), Vec::<String>::new());
        row.commits = Some(3_999_999);
        let mut validity = Validity::sound();
        super::row(&row, WHOLE, &mut validity);
        assert!(!validity.valid);
        let detail = &validity.problems[0].detail;
        assert!(detail.contains("3999999 commits of 4000000"), "{detail}");
    }
    #[test]
    fn what_max_write_cut_off_is_no_fault_of_the_log() {
        let storm = Row {
            jobs: 20,
            commits: Some(9_000),
            commits_per_session: Some(200_000),
            ..Row::default()
        };
        assert_eq!(ids(&storm), ["commits_missing"]);
        assert_eq!(ids_of(&storm, CUT), Vec::<String>::new());
        // Stopped by its own end, so that its commits are missing for another reason.
        let stopped = Limited {
            ended: false,
            ..CUT
        };
        assert_eq!(ids_of(&storm, stopped), ["commits_missing"]);
        let mut behind = open(10, 1.0, 5, 2.0);
        assert_eq!(ids_of(&behind, CUT), ["backlog"], "2.5 s, cut or not");
        for limited in [CUT, stopped] {
            let group = behind.open_loop.as_mut().expect("an open loop");
            let open = group.detail.as_mut().expect("an open loop");
            open.oldest_not_served_ns = Some(GRACE_NS);
            assert_eq!(ids_of(&behind, limited), Vec::<String>::new());
        }
        assert_eq!(ids(&behind), ["backlog"]);
    }

    #[test]
    fn a_row_of_few_commits_is_doubtful() {
        for (jobs, commits, few) in [
            (1, 0, false),
            (1, 1, true),
            (1, 19, true),
            (1, 20, false),
            (64, 64, true),
            (64, 255, true),
            (64, 256, false),
        ] {
            let row = Row {
                jobs,
                commits: Some(commits),
                ..Row::default()
            };
            for limited in [WHOLE, CUT] {
                let mut validity = Validity::sound();
                super::row(&row, limited, &mut validity);
                let ids: Vec<&str> = validity.problems.iter().map(|p| p.id.as_str()).collect();
                let want: &[&str] = if few { &["few_commits"] } else { &[] };
                assert_eq!(ids, want, "{commits} of {jobs}");
                assert!(validity.valid, "right as far as they go");
            }
        }
    }
}
