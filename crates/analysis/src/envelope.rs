//! What the target can do at most, where no need was stated: commits per second within a bound on
//! the 99th percentile of log file sync (of commits, on a server), and redo per second; and what
//! it sustained where a soak drained its burst credits.

use crate::findings::BUCKET;
use crate::format;
use crate::rows::{commit_wait_of, fastest, judged_rows, write_of};
use measure::run::{Row, Run};

/// Bounds on the 99th percentile that are tried in turn, nanoseconds.
const BOUNDS_NS: [u64; 3] = [1_000_000, 5_000_000, 10_000_000];

/// The envelope of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    /// Commits a second, the bound that they kept in nanoseconds, and the jobs.
    pub commits: Option<(f64, u64, u32)>,
    /// The highest rate of commits whatever their latency, with its 99th percentile.
    pub best: Option<(f64, Option<u64>)>,
    /// Why it is not known of some load whether it kept the widest bound.
    pub p99_open: Option<&'static str>,
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
        let widest = BOUNDS_NS.into_iter().max();
        Envelope {
            commits,
            best,
            p99_open: widest.and_then(|b| why_open(run, b)),
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
            (None, Some((tps, p99))) if self.p99_open.is_some() => {
                let open = self.p99_open.unwrap_or_default();
                let of_some = p99.map_or("", |_| "; of some loads ");
                let p99 = p99.map_or_else(String::new, |p| {
                    format!("p99 {}", format::latency(p as f64))
                });
                Some(format!(
                    "up to {} commits/s ({p99}{of_some}{open})",
                    format::digits(*tps)
                ))
            }
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

/// Why the 99th percentile of a row is not known; nothing where it is.
pub(crate) fn p99_unknown(row: &Row) -> Option<&'static str> {
    match commit_wait_of(row) {
        None => Some("p99 not known: no wait was recorded"),
        Some(wait) if wait.p99_ns.is_some() => None,
        Some(wait) if wait.count < 1_000 => Some("p99 not known: under 1,000 waits"),
        Some(_) => Some("p99 not known"),
    }
}

/// Why it is not known of some row that is judged whether it keeps a bound.
pub(crate) fn why_open(run: &Run, bound_ns: u64) -> Option<&'static str> {
    let rows = judged_rows(run).into_iter();
    let mut open = rows.filter(|row| keeps(row, bound_ns).is_none());
    open.find_map(p99_unknown)
}

/// Whether a row's 99th percentile of log file sync, or of commits on a server, is within
/// `bound_ns`; `None` where that is not known. Where there are too few samples for the percentile,
/// the longest wait is not below it, and a lower percentile is not above it.
pub(crate) fn keeps(row: &Row, bound_ns: u64) -> Option<bool> {
    let wait = commit_wait_of(row)?;
    let lower = wait.p90_ns.or(wait.p50_ns);
    match wait.p99_ns {
        Some(p99) => Some(p99 <= bound_ns),
        None if wait.max_ns <= bound_ns => Some(true),
        None if lower.is_some_and(|ns| ns > bound_ns) => Some(false),
        None => None,
    }
}

/// The row with the highest rate of commits, within the bound where there is one.
pub(crate) fn best_commits(run: &Run, bound_ns: Option<u64>) -> Option<&Row> {
    judged_rows(run)
        .into_iter()
        .filter(|r| bound_ns.is_none_or(|b| keeps(r, b) == Some(true)))
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
        assert_eq!(keeps(&run.rows[0], 1_000_000), Some(true));
        set_sync(&mut run.rows[0], |w| {
            (w.max_ns, w.p50_ns, w.p90_ns) = (1_100_000, None, Some(900_000));
        });
        assert_eq!(keeps(&run.rows[0], 1_000_000), None);
        set_sync(&mut run.rows[0], |w| w.p90_ns = Some(1_050_000));
        assert_eq!(keeps(&run.rows[0], 1_000_000), Some(false));
    }

    #[test]
    fn what_is_not_known_of_a_load_is_not_said_to_be_missed() {
        let mut run = clean_run();
        run.rows.truncate(1);
        // A mean of 0.7 ms with one wait of 15 ms among 700.
        set_sync(&mut run.rows[0], |w| {
            (w.count, w.mean_ns, w.max_ns) = (700, 690_000.0, 15_000_000);
            (w.p50_ns, w.p90_ns, w.p99_ns) = (Some(650_000), Some(900_000), None);
        });
        let text = Envelope::of(&run).sentence();
        assert!(
            text.contains("p99 not known: under 1,000 waits") && !text.contains("no load"),
            "{text}"
        );
        // A load that is known to be too slow says nothing about the other.
        let mut slow = run.rows[0].clone();
        (slow.jobs, slow.commit_throughput_tps) = (64, Some(1e9));
        set_sync(&mut slow, |w| {
            (w.count, w.p99_ns) = (90_000, Some(70_000_000))
        });
        run.rows.push(slow);
        let text = Envelope::of(&run).sentence();
        assert!(
            text.contains("p99 not known: under 1,000 waits") && !text.contains("no load kept"),
            "{text}"
        );
        // Half of its commits took longer than the bound: so does their 99th percentile.
        set_sync(&mut run.rows[0], |w| {
            (w.p50_ns, w.p90_ns) = (Some(12_000_000), None)
        });
        let text = Envelope::of(&run).sentence();
        assert!(text.contains("no load kept p99 under 10 ms"), "{text}");
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
