//! Little's law in a closed loop: the number of sessions is throughput times latency and the time
//! that they spend between transactions.
//!
//! Where a row was counted a second time ([`CrossCheck`]) the law is taken from that count:
//! commits from the redo that the log writer made durable, the measured time from another clock and
//! thread, latencies corrected by a sample that was timed with that clock. Each figure of the row
//! is then compared with its second count. Nothing of this holds by construction.

use super::Caution;
use super::catalogue;
use super::note::Note;
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{CrossCheck, Origin, Row, Run};

/// Transactions that have to be timed twice before their times are compared.
const SAMPLED_MIN: u64 = 5;
/// What the difference of both times may be uncertain by, in percent: a quarter of the limit, so
/// that chance alone exceeds it once in 15,000 rows.
const SAMPLED_ERROR_PCT: f64 = 0.5;
/// What reading two clocks differs by from one transaction to another: in runs that did not measure
/// it, and at least, since a few transactions may agree by chance.
const READING_NS: f64 = 500.0;
const READING_LEAST_NS: f64 = 100.0;

/// A figure that is off.
struct Deviation {
    /// In percent; all the more for what should be exact.
    pct: f64,
    claim: String,
    numbers: Vec<(&'static str, f64)>,
}

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    if run.origin != Origin::Measured {
        return;
    }
    let limit = &t.little_tolerance_pct;
    // In an open loop sessions wait for arrivals, and latencies begin before sessions are free.
    let closed = run.rows.iter().filter(|r| r.open_loop.is_none());
    let worst = closed
        .flat_map(|row| deviations(run, row, limit.value))
        .max_by(|a, b| a.pct.abs().total_cmp(&b.pct.abs()));
    let Some(worst) = worst else { return };
    let mut note = Note::of(&catalogue::VALIDITY_LITTLE, Caution, worst.claim)
        .number("deviation_pct", worst.pct)
        .limit(format!("within {} %", limit.value), limit);
    for (name, value) in worst.numbers {
        note = note.number(name, value);
    }
    notes.push(note);
}

fn deviations(run: &Run, row: &Row, limit: f64) -> Vec<Deviation> {
    let Some(check) = &row.cross_check else {
        return by_the_row(run, row, limit).into_iter().collect();
    };
    let all = [
        law(row, check, limit),
        latency(row, check, limit),
        window(row, check, limit),
        commits(row, check, limit),
        sessions(row, check),
        bytes(row, check),
    ];
    all.into_iter().flatten().collect()
}

/// Whether so many transactions were timed twice, for so long together, that their times can be
/// compared: with fewer a wrong latency may stay within what reading two clocks differs by.
#[must_use]
pub fn is_sampled(check: &CrossCheck) -> bool {
    let root = (check.sampled as f64).sqrt();
    let error = match check.sampled_error_ns {
        Some(ns) => (ns as f64).max(READING_LEAST_NS * root),
        None => READING_NS * root,
    };
    check.sampled >= SAMPLED_MIN
        && check.sampled_recorded_ns > 0
        && 100.0 * error <= SAMPLED_ERROR_PCT * check.sampled_ns as f64
}

/// The law from the second count.
fn law(row: &Row, check: &CrossCheck, limit: f64) -> Option<Deviation> {
    let latency = row.commit_latency.as_ref()?;
    let (jobs, commits) = (f64::from(row.jobs), row.commits? as f64);
    let window = check.window_ns as f64;
    if commits <= 0.0 || check.log_commits == 0 || jobs * window <= 0.0 {
        return None;
    }
    let timed = if is_sampled(check) {
        check.sampled_ns as f64 / check.sampled_recorded_ns as f64
    } else {
        1.0
    };
    let inside = (latency.total_ns as f64 * timed - check.edges_ns as f64) / commits;
    let busy = check.log_commits as f64 * inside / window;
    let found = busy + check.outside_ns as f64 / window;
    let pct = 100.0 * (found / jobs - 1.0);
    // A session gains or loses at most its longest transaction at the ends.
    let longest_pct = 100.0 * latency.max_ns as f64 / window;
    (pct.abs() > limit + ends_pct(row, check) + longest_pct).then(|| Deviation {
        pct,
        claim: format!(
            "Throughput times latency gives {} sessions in {}, {pct:+.1} % off: sessions spent time that no latency shows, or figures are missing.",
            format::digits(found),
            name_of(row),
        ),
        numbers: vec![("jobs_by_little", found)],
    })
}

/// What the ends of the measured time leave open, in percent.
fn ends_pct(row: &Row, check: &CrossCheck) -> f64 {
    let least = row.commits.unwrap_or(0).min(check.log_commits).max(1);
    let commits = check.uncertain_commits as f64 / least as f64;
    let time = check.uncertain_ns as f64 / check.window_ns.max(1) as f64;
    100.0 * (commits + time)
}

fn off(own: f64, second: f64) -> f64 {
    100.0 * (own / second.max(1.0) - 1.0)
}

fn latency(row: &Row, check: &CrossCheck, limit: f64) -> Option<Deviation> {
    let pct = off(check.sampled_recorded_ns as f64, check.sampled_ns as f64);
    (is_sampled(check) && pct.abs() > limit).then(|| Deviation {
        pct,
        claim: format!(
            "Recorded latencies in {} differ by {pct:+.1} % from those of {} transactions that were timed with another clock.",
            name_of(row),
            check.sampled,
        ),
        numbers: vec![("transactions_timed_twice", check.sampled as f64)],
    })
}

fn window(row: &Row, check: &CrossCheck, limit: f64) -> Option<Deviation> {
    let pct = off(row.elapsed_ns? as f64, check.window_ns as f64);
    let open = 100.0 * check.uncertain_ns as f64 / check.window_ns.max(1) as f64;
    (check.window_ns > 0 && pct.abs() > limit + open).then(|| Deviation {
        pct,
        claim: format!(
            "The measured time of {} differs by {pct:+.1} % from that of another clock.",
            name_of(row),
        ),
        numbers: vec![("seconds_by_the_other_clock", check.window_ns as f64 / 1e9)],
    })
}

fn commits(row: &Row, check: &CrossCheck, limit: f64) -> Option<Deviation> {
    let own = row.commits?;
    let pct = off(own as f64, check.log_commits as f64);
    (check.log_commits > 0 && pct.abs() > limit + ends_pct(row, check)).then(|| Deviation {
        pct,
        claim: format!(
            "Sessions counted {own} commits in {}, the log writer made the redo of {} durable: {pct:+.1} % off.",
            name_of(row),
            check.log_commits,
        ),
        numbers: vec![("commits_by_the_log", check.log_commits as f64)],
    })
}

/// Both counts are of whole transactions from the session's first to its last: they are equal.
fn sessions(row: &Row, check: &CrossCheck) -> Option<Deviation> {
    let worst = check.worst.as_ref()?;
    let pct = off(worst.own as f64, worst.by_log as f64);
    Some(Deviation {
        pct,
        claim: format!(
            "Session {} counted {} transactions in {}, the log contains {} of it ({pct:+.1} %); {} sessions differ.",
            worst.session,
            worst.own,
            name_of(row),
            worst.by_log,
            check.miscounted,
        ),
        numbers: vec![("sessions_that_differ", f64::from(check.miscounted))],
    })
}

/// What the log counted in for the sessions is what its writer made durable.
fn bytes(row: &Row, check: &CrossCheck) -> Option<Deviation> {
    let pct = off(check.session_bytes as f64, check.log_bytes as f64);
    (check.session_bytes != check.log_bytes).then(|| Deviation {
        pct,
        claim: format!(
            "Sessions appended {} bytes of redo in {}, the log writer made {} durable ({pct:+.1} %).",
            check.session_bytes,
            name_of(row),
            check.log_bytes,
        ),
        numbers: vec![("bytes_by_the_log", check.log_bytes as f64)],
    })
}

/// Of a row that was counted once: what its own figures say against each other. Where the row says
/// what its latencies leave out, that is an identity, which finds lost samples and no more;
/// otherwise the ends of the row and the lab's own time are allowed for.
fn by_the_row(run: &Run, r: &Row, limit: f64) -> Option<Deviation> {
    let jobs = f64::from(r.jobs);
    let apart = r
        .session_time
        .map_or(0.0, |t| t.lab_ns as f64 - t.beyond_ns as f64);
    let elapsed_ns = r.elapsed_ns?;
    let elapsed = elapsed_ns.max(1) as f64;
    let inside = r.commit_throughput_tps? * r.commit_latency_ms? / 1e3 + apart / elapsed;
    let pct = 100.0 * (inside / jobs - 1.0);
    let longest_ns = r.commit_latency.as_ref().map_or(0, |l| l.max_ns);
    // Transactions under way at either end of the row belong to it only in part: each session
    // gains or loses at most the longest one.
    let edge_pct = 100.0 * longest_ns as f64 / elapsed;
    // What the lab does between transactions is in no latency.
    let cycle_ns = jobs * elapsed_ns as f64 / r.commits?.max(1) as f64;
    let own_pct = 100.0 * run.lab_overhead_ns.unwrap_or(0.0) / cycle_ns.max(1.0);
    let wrong = if r.session_time.is_some() {
        jobs > 0.0 && pct.abs() > limit
    } else {
        jobs > 0.0 && inside > 0.0 && pct.abs() > limit + edge_pct + own_pct
    };
    wrong.then(|| Deviation {
        pct,
        claim: format!(
            "Throughput times latency gives {} jobs in {}, {pct:+.1} % off: sessions spent time that no latency shows, or figures are missing.",
            format::digits(inside),
            name_of(r),
        ),
        numbers: vec![("jobs_by_little", inside)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::row;
    use measure::run::WaitStats;

    /// From the sessions' own count it would hold by construction.
    #[test]
    fn the_law_is_taken_from_the_commits_that_the_log_counted() {
        let mut row = row("commits", 10, 1000.0, 1.0, 1e6);
        (row.commits, row.elapsed_ns) = (Some(10_000), Some(10_000_000_000));
        row.commit_latency = Some(WaitStats {
            total_ns: 100_000_000_000,
            ..WaitStats::default()
        });
        let check = |log_commits| CrossCheck {
            log_commits,
            window_ns: 10_000_000_000,
            ..CrossCheck::default()
        };
        assert!(law(&row, &check(10_000), 2.0).is_none());
        for (log_commits, pct) in [(5_000, -50.0), (12_000, 20.0)] {
            let found = law(&row, &check(log_commits), 2.0).expect("it is broken");
            assert!((found.pct - pct).abs() < 1e-9, "{}", found.pct);
        }
    }
}
