//! What the target can do at most, where no need was stated: commits per second within a bound on
//! the 99th percentile of log file sync (of commits, on a server), and redo per second; and what
//! it sustained where a soak drained its burst credits.

use crate::findings::BUCKET;
use crate::format;
use crate::rows::{COMMITS, commit_wait_of, fastest, rows_of, write_of};
use measure::run::{Row, Run};

/// Bounds on the 99th percentile that are tried in turn, nanoseconds.
pub const BOUNDS_NS: [u64; 3] = [1_000_000, 5_000_000, 10_000_000];

/// The envelope of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    /// Commits a second, the bound that they kept in nanoseconds, and the jobs.
    pub commits: Option<(f64, u64, u32)>,
    /// The highest rate of commits whatever their latency, with its 99th percentile.
    pub best: Option<(f64, Option<u64>)>,
    /// MB (1024 kB) of redo per second at most, and the workload.
    pub redo_mbps: Option<(f64, String)>,
    /// What was sustained after a soak had drained the burst credits; then all others are of
    /// bursts.
    pub sustained: Option<SustainedEnvelope>,
    /// Of a watched log nothing is known of what its device can carry: what was seen of it.
    pub watched: Option<String>,
}

/// What was sustained after a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SustainedEnvelope {
    /// Commits per second at most.
    pub commits_per_s: f64,
    /// MB (1024 kB) of redo per second at most.
    pub redo_mbps: f64,
}

impl SustainedEnvelope {
    /// From the finding that a soak drained the credits.
    fn of(run: &Run) -> Option<SustainedEnvelope> {
        let found = run.findings.iter().find(|f| f.id == BUCKET)?;
        let number = |name: &str| {
            let known = found.numbers.iter().find(|(key, _)| key == name);
            known.map(|(_, value)| *value)
        };
        Some(SustainedEnvelope {
            commits_per_s: number("best_sustained_tps").or(number("sustained_tps"))?,
            redo_mbps: number("best_sustained_redo_mbps")?,
        })
    }
}

impl Envelope {
    /// The envelope of what was run; parts without data are `None`.
    #[must_use]
    pub fn of(run: &Run) -> Envelope {
        let commits = BOUNDS_NS.iter().find_map(|bound| {
            let row = best_commits(run, Some(*bound))?;
            Some((row.commit_throughput_tps?, *bound, row.jobs))
        });
        let best = best_commits(run, None).and_then(|r| {
            Some((
                r.commit_throughput_tps?,
                commit_wait_of(r).and_then(|w| w.p99_ns),
            ))
        });
        let redo_mbps = fastest(run)
            .filter(|(_, mbps)| *mbps > 0.0)
            .map(|(row, mbps)| (mbps, row.workload.clone()));
        Envelope {
            commits,
            best,
            redo_mbps,
            sustained: SustainedEnvelope::of(run),
            watched: watched(run),
        }
    }

    /// `up to 52,300 commits/s at p99 under 1 ms; up to 1,210 MB/s of redo`.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(seen) = &self.watched {
            return seen.clone();
        }
        let most = self.most();
        match &self.sustained {
            Some(s) => format!(
                "sustained up to {} commits/s and up to {} MB/s of redo; in bursts {most}",
                format::digits(s.commits_per_s),
                format::digits(s.redo_mbps)
            ),
            None => most,
        }
    }

    fn most(&self) -> String {
        let commits = match (&self.commits, &self.best) {
            (Some((tps, bound, _)), _) => Some(format!(
                "up to {} commits/s at p99 under {}",
                format::digits(*tps),
                bound_text(*bound)
            )),
            (None, Some((tps, p99))) => Some(format!(
                "no load kept p99 under 10 ms (at most {} commits/s{})",
                format::digits(*tps),
                p99.map_or_else(String::new, |p| format!(
                    ", p99 {}",
                    format::latency(p as f64)
                )),
            )),
            (None, None) => None,
        };
        let redo = self
            .redo_mbps
            .as_ref()
            .map(|(mbps, _)| format!("up to {} MB/s of redo", format::digits(*mbps)));
        match (commits, redo) {
            (Some(c), Some(r)) => format!("{c}; {r}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "nothing was measured".to_owned(),
        }
    }
}

/// What was seen of a log that others wrote; `None` of every other run.
fn watched(run: &Run) -> Option<String> {
    let row = run.rows.iter().find(|row| row.watched.is_some())?;
    let per_s = |count: u64| format::digits(count as f64 / row.elapsed_s.unwrap_or(0.0).max(1e-9));
    let writes = match write_of(row).filter(|write| write.count > 0) {
        Some(write) => {
            let p99 = match write.p99_ns {
                Some(ns) => format!(", p99 {}", format::latency(ns as f64)),
                None => ", p99 not known".to_owned(),
            };
            format!(
                "{} were seen, {} per second, mean {}{p99}, longest {}",
                format::plural(write.count, "log write"),
                per_s(write.count),
                format::latency(write.mean_ns),
                format::latency(write.max_ns as f64)
            )
        }
        None => match row.watched().write_calls.filter(|calls| *calls > 0) {
            Some(calls) => format!(
                "{} wrote the log, and none was flushed",
                format::plural(calls, "call")
            ),
            None => "no log write was seen".to_owned(),
        },
    };
    let commits = row.commits.map_or_else(String::new, |commits| {
        format!("; the server counted {} commits/s", per_s(commits))
    });
    Some(writes + &commits)
}

fn bound_text(ns: u64) -> String {
    format!("{} ms", ns / 1_000_000)
}

/// Whether a row's 99th percentile of log file sync, or of commits on a server, is within
/// `bound_ns`. Where there are too few samples for the percentile, the maximum bounds it.
pub(crate) fn keeps(row: &Row, bound_ns: u64) -> bool {
    commit_wait_of(row).is_some_and(|w| w.p99_ns.unwrap_or(w.max_ns) <= bound_ns)
}

/// The LGWR-LAT1 row with the highest rate of commits, within the bound where there is one.
pub(crate) fn best_commits(run: &Run, bound_ns: Option<u64>) -> Option<&Row> {
    rows_of(run, COMMITS)
        .into_iter()
        .filter(|r| bound_ns.is_none_or(|b| keeps(r, b)))
        .filter_map(|r| Some((r, r.commit_throughput_tps.filter(|tps| *tps > 0.0)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(row, _)| row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::{clean_run, set_sync};
    use measure::run::WatchedFigures;

    #[test]
    fn the_tightest_bound_that_is_kept_is_said() {
        let mut run = clean_run();
        assert_eq!(
            Envelope::of(&run).sentence(),
            "up to 40,000 commits/s at p99 under 1 ms; up to 900 MB/s of redo"
        );
        for row in &mut run.rows {
            set_sync(row, |w| w.p99_ns = Some(7_000_000));
        }
        assert!(Envelope::of(&run).sentence().contains("p99 under 10 ms"));
        for row in &mut run.rows {
            set_sync(row, |w| w.p99_ns = Some(70_000_000));
        }
        let text = Envelope::of(&run).sentence();
        assert!(text.contains("no load kept p99 under 10 ms") && text.contains("p99 70.0 ms"));
    }

    #[test]
    fn few_samples_are_bounded_by_the_maximum() {
        let mut run = clean_run();
        run.rows.truncate(1);
        set_sync(&mut run.rows[0], |w| {
            w.p99_ns = None;
            w.max_ns = 900_000;
        });
        assert!(keeps(&run.rows[0], 1_000_000));
        set_sync(&mut run.rows[0], |w| w.max_ns = 1_100_000);
        assert!(!keeps(&run.rows[0], 1_000_000));
    }

    #[test]
    fn a_burst_is_not_what_is_sustained() {
        let mut run = clean_run();
        run.findings.push(measure::judgement::Finding {
            id: BUCKET.to_owned(),
            weight: measure::judgement::Weight::Caution,
            claim: String::new(),
            numbers: vec![
                ("sustained_tps".to_owned(), 900.0),
                ("best_sustained_tps".to_owned(), 3_200.0),
                ("best_sustained_redo_mbps".to_owned(), 6.25),
            ],
            threshold: String::new(),
            source: String::new(),
            confidence: Default::default(),
            advice: String::new(),
        });
        assert_eq!(
            Envelope::of(&run).sentence(),
            "sustained up to 3,200 commits/s and up to 6.25 MB/s of redo; in bursts up to 40,000 \
             commits/s at p99 under 1 ms; up to 900 MB/s of redo"
        );
    }

    /// Counted exactly, and said to be "nothing" before.
    #[test]
    fn a_watched_log_says_what_was_seen_of_it() {
        let mut run = clean_run();
        run.rows.truncate(1);
        let row = &mut run.rows[0];
        (row.elapsed_s, row.commits) = (Some(10.0), Some(5_000));
        row.watched = Some(WatchedFigures {
            write_calls: Some(7),
            ..WatchedFigures::default()
        });
        let text = Envelope::of(&run).sentence();
        assert!(
            text.contains("log writes were seen") && text.contains("per second"),
            "{text}"
        );
        assert!(
            text.ends_with("; the server counted 500 commits/s"),
            "{text}"
        );
        assert!(!text.contains("up to"), "its load is no limit: {text}");
        (run.rows[0].waits, run.rows[0].commits) = (Default::default(), None);
        let text = Envelope::of(&run).sentence();
        assert_eq!(text, "7 calls wrote the log, and none was flushed");
    }

    #[test]
    fn nothing_measured_says_so() {
        let mut run = clean_run();
        run.rows.clear();
        assert_eq!(Envelope::of(&run).sentence(), "nothing was measured");
    }
}
