//! What the counts of a watched log convict: writes that nobody flushed, and more commits than its
//! flushes can have made durable.
//!
//! Invariants: a write that is durable by itself needs no flush, and counts as one; where events
//! were lost no count convicts; what a server's settings say is in `server`.

use super::catalogue;
use super::note::Note;
use super::{Bad, Caution, Weight};
use crate::format;
use crate::thresholds::{Limit, Thresholds};
use measure::run::{Row, Run, TargetFacts, WatchedFacts};

/// Fewer writes or commits convict nobody: they may be those of the ends of the watched time.
const LEAST: u64 = 20;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let TargetFacts::Watched(log) = &run.target.facts else {
        return;
    };
    for row in run.rows.iter().filter(|row| row.watched.is_some()) {
        if row.watched().lost_events != Some(0) {
            continue;
        }
        not_flushed(log, row, t, notes);
        not_durable(log, row, t, notes);
    }
}

/// Flushes of the log and writes that were durable by themselves.
fn flushes(row: &Row) -> u64 {
    let watched = row.watched();
    let seen = watched.log_writes.unwrap_or(0) + watched.other_flushes.unwrap_or(0);
    seen.max(watched.server_flushes.unwrap_or(0))
}

fn not_flushed(log: &WatchedFacts, row: &Row, t: &Thresholds, notes: &mut Vec<Note>) {
    let watched = row.watched();
    let (Some(calls), Some(waited_ns)) = (watched.not_flushed, watched.unflushed_ns) else {
        return;
    };
    let flushes = flushes(row);
    let limit = if flushes == 0 {
        &t.unflushed_s
    } else {
        &t.unflushed_after_flush_s
    };
    let is_long = waited_ns as f64 >= limit.value * 1e9 && calls >= LEAST;
    if !is_long && (flushes > 0 || calls == 0) {
        // The next flush was to come.
        return;
    }
    let is_direct = |flags: &String| flags.contains("O_DIRECT");
    let passes_cache = !log.open_flags.is_empty() && log.open_flags.iter().all(is_direct);
    let (weight, remark) = match (is_long, passes_cache) {
        (false, _) => (Caution, " Watch it longer."),
        (true, true) => (
            Caution,
            " The writes passed the page cache, so only a device without a volatile cache keeps them.",
        ),
        (true, false) => (Bad, ""),
    };
    let commits = row.commits.map_or_else(String::new, |commits| {
        format!(
            " {} transactions were committed meanwhile.",
            format::count(commits)
        )
    });
    let claim = format!(
        "{} wrote its log with {} that no flush followed: the oldest waited for {}, and {} of the log {} seen in {} s.{commits}{remark}",
        log.product,
        format::plural(calls, "call"),
        format::latency(waited_ns as f64),
        match flushes {
            1 => "1 flush".to_owned(),
            n => format!("{} flushes", format::count(n)),
        },
        if flushes == 1 { "was" } else { "were" },
        format::digits(row.elapsed_s.unwrap_or(0.0)),
    );
    notes.push(
        note_of(weight, claim, limit, flushes, row).number("write_calls_not_flushed", calls as f64),
    );
}

fn note_of(weight: Weight, claim: String, limit: &Limit, flushes: u64, row: &Row) -> Note {
    Note::of(&catalogue::SERVER_LOG_NOT_FLUSHED, weight, claim)
        .maybe("commits", row.commits.map(|commits| commits as f64))
        .number("flushes", flushes as f64)
        .limit(format!("{} s without a flush", limit.value), limit)
}

/// A session's commit returns after a flush that began after its request: a flush serves each
/// session once, and one was in flight at the beginning.
fn not_durable(log: &WatchedFacts, row: &Row, t: &Thresholds, notes: &mut Vec<Note>) {
    let watched = row.watched();
    let (Some(commits), Some(sessions)) = (watched.writing_commits, watched.sessions) else {
        return;
    };
    let (flushes, sessions) = (flushes(row), sessions.max(1));
    let explained = (flushes + 1) as f64 * sessions as f64;
    let limit = &t.commits_per_flush_and_session;
    if commits < LEAST || commits as f64 <= explained * limit.value {
        return;
    }
    let claim = format!(
        "{} committed at least {} transactions that wrote redo, from at most {}, with {} of its log: group commit explains at most {}. Commits are acknowledged before they are durable.",
        log.product,
        format::count(commits),
        format::plural(sessions, "session"),
        match flushes {
            1 => "1 flush".to_owned(),
            n => format!("{} flushes", format::count(n)),
        },
        format::count((flushes + 1).saturating_mul(sessions)),
    );
    notes.push(
        Note::of(&catalogue::SERVER_COMMITS_NOT_DURABLE, Bad, claim)
            .number("commits", commits as f64)
            .number("flushes", flushes as f64)
            .number("sessions", sessions as f64)
            .number("explained", explained)
            .limit(
                format!("over {} commits for each flush and session", limit.value),
                limit,
            ),
    );
}

#[cfg(test)]
mod tests {
    use crate::findings::findings;
    use crate::findings::fixture::clean_run;
    use crate::thresholds::Thresholds;
    use measure::judgement::{Answer, Finding, Need, Scope, Weight};
    use measure::run::{Origin, Run, ScopedSetting, TargetFacts, WatchedFacts, WatchedFigures};

    /// A log of a server that was watched for 10 s: commits that wrote from 4 sessions, calls that
    /// wrote, of which some were not flushed for some seconds, and flushes.
    fn watched(
        commits: Option<u64>,
        calls: u64,
        (not_flushed, waited_s): (u64, f64),
        flushes: u64,
    ) -> Run {
        let mut run = clean_run();
        run.origin = Origin::Watched;
        run.rows.truncate(1);
        run.target.facts = TargetFacts::Watched(WatchedFacts {
            product: "PostgreSQL".to_owned(),
            open_flags: vec!["O_RDWR".to_owned()],
            ..WatchedFacts::default()
        });
        let row = &mut run.rows[0];
        (row.elapsed_s, row.commits) = (Some(10.0), commits);
        row.watched = Some(WatchedFigures {
            log_writes: Some(flushes),
            write_calls: Some(calls),
            other_flushes: Some(0),
            not_flushed: Some(not_flushed),
            unflushed_ns: Some((waited_s * 1e9) as u64),
            writing_commits: commits,
            sessions: commits.map(|_| 4),
            lost_events: Some(0),
            ..WatchedFigures::default()
        });
        run
    }

    fn log(run: &mut Run) -> &mut WatchedFacts {
        match &mut run.target.facts {
            TargetFacts::Watched(log) => log,
            _ => panic!("it is watched"),
        }
    }

    fn set(run: &mut Run, settings: &[(&str, &str)]) {
        let settings = settings
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        log(run).settings = settings.collect();
    }

    fn of_server(run: &Run) -> Vec<Finding> {
        let all = findings(run, &Thresholds::default()).into_iter();
        all.filter(|finding| finding.id.starts_with("server."))
            .collect()
    }

    fn ids(run: &Run) -> Vec<(String, Weight)> {
        let found = of_server(run).into_iter();
        found.map(|finding| (finding.id, finding.weight)).collect()
    }

    fn number(finding: &Finding, name: &str) -> Option<f64> {
        let found = finding.numbers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| *value)
    }

    /// Seen: pgbench with fsync = off, 106,244 commits and 102,337 write calls, acquitted.
    #[test]
    fn a_log_that_nobody_flushes_is_convicted_with_three_numbers() {
        let mut run = watched(Some(106_244), 102_337, (102_337, 9.5), 0);
        let found = of_server(&run);
        let first = &found[0];
        assert_eq!(
            (first.id.as_str(), first.weight),
            ("server.log_not_flushed", Weight::Bad)
        );
        let numbers = ["commits", "write_calls_not_flushed", "flushes"];
        let numbers = numbers.map(|name| number(first, name));
        assert_eq!(numbers, [Some(106_244.0), Some(102_337.0), Some(0.0)]);
        for text in ["106,244", "102,337", "0 flushes"] {
            assert!(first.claim.contains(text), "{}", first.claim);
        }
        run.findings = findings(&run, &Thresholds::default());
        let verdict =
            crate::verdict::verdict(&run, &run.findings, &Need::default(), Scope::default());
        assert_eq!(verdict.answer, Answer::No);
        assert!(verdict.summary.contains("102,337"), "{}", verdict.summary);
        // Without an address it is convicted from counts alone.
        let run = watched(None, 500, (500, 3.0), 0);
        assert_eq!(
            ids(&run),
            [("server.log_not_flushed".to_owned(), Weight::Bad)]
        );
        // Switched off after a while: flushes were seen before.
        let run = watched(None, 9_000, (4_000, 7.0), 5_000);
        assert_eq!(
            ids(&run),
            [("server.log_not_flushed".to_owned(), Weight::Bad)]
        );
    }

    #[test]
    fn a_flush_that_is_still_to_come_convicts_nobody() {
        // A flush per second, of a log that was watched for less.
        let caution = [("server.log_not_flushed".to_owned(), Weight::Caution)];
        assert_eq!(ids(&watched(None, 500, (500, 0.9), 0)), caution);
        for run in [
            watched(None, 500, (3, 0.4), 490),
            watched(None, 500, (490, 5.0), 10),
            watched(None, 500, (0, 0.0), 500),
            watched(None, 0, (0, 0.0), 0),
        ] {
            assert_eq!(ids(&run), [], "{:?}", run.rows[0].watched);
        }
        // Past the page cache the device decides.
        let mut run = watched(None, 500, (500, 9.0), 0);
        log(&mut run).open_flags = vec!["O_RDWR|O_DIRECT".to_owned()];
        assert_eq!(ids(&run), caution);
        // What was lost may have been the flush.
        let mut run = watched(Some(106_244), 102_337, (102_337, 9.5), 0);
        run.rows[0].watched.get_or_insert_default().lost_events = Some(1);
        assert_eq!(ids(&run), []);
    }

    /// Seen: 43,357 commits of SET LOCAL synchronous_commit = off with 34 flushes and 4 sessions.
    #[test]
    fn more_commits_than_group_commit_explains_are_acknowledged_too_early() {
        let convicted = ("server.commits_not_durable".to_owned(), Weight::Bad);
        let run = watched(Some(43_357), 530, (1, 0.1), 34);
        assert_eq!(ids(&run), [convicted]);
        let claim = &of_server(&run)[0].claim;
        for text in [
            "43,357",
            "34 flushes",
            "4 sessions",
            "before they are durable",
        ] {
            assert!(claim.contains(text), "{claim}");
        }
        for (commits, flushes) in [
            // Each flush serves all four sessions; a write that is durable by itself is one.
            (40_000, 10_000),
            (40_000, 40_000),
            // Those of the ends.
            (19, 0),
            // None of them wrote.
            (0, 0),
        ] {
            let run = watched(Some(commits), 500, (0, 0.0), flushes);
            assert_eq!(ids(&run), [], "{commits} {flushes}");
        }
        let mut run = watched(Some(43_357), 530, (1, 0.1), 34);
        run.rows[0].watched.get_or_insert_default().sessions = None;
        assert_eq!(ids(&run), [], "nobody knows how many sessions");
    }

    #[test]
    fn settings_of_a_watched_server_are_judged_as_those_of_others() {
        let healthy = [
            ("fsync", "on"),
            ("synchronous_commit", "on"),
            ("wal_sync_method", "fdatasync"),
        ];
        let sound = || watched(Some(1_000), 1_000, (0, 0.0), 1_000);
        let with = |setting: (&str, &str)| {
            let mut run = sound();
            set(&mut run, &[&healthy[..], &[setting]].concat());
            run
        };
        let good = ("server.acknowledgement".to_owned(), Weight::Good);
        assert_eq!(
            ids(&with(("full_page_writes", "on"))),
            std::slice::from_ref(&good)
        );
        for (setting, id, weight) in [
            (("fsync", "off"), "server.no_flush", Weight::Bad),
            (
                ("innodb_flush_method", "nosync"),
                "server.no_flush",
                Weight::Bad,
            ),
            (
                ("synchronous_commit", "off"),
                "server.late_flush",
                Weight::Bad,
            ),
            (
                ("innodb_flush_log_at_trx_commit", "2"),
                "server.late_flush",
                Weight::Bad,
            ),
        ] {
            assert_eq!(
                ids(&with(setting)),
                [(id.to_owned(), weight)],
                "{setting:?}"
            );
        }
        let torn = ("server.torn_pages".to_owned(), Weight::Caution);
        for setting in [("full_page_writes", "off"), ("innodb_doublewrite", "OFF")] {
            assert_eq!(
                ids(&with(setting)),
                [torn.clone(), good.clone()],
                "{setting:?}"
            );
        }
        // Switched while it was watched, either way.
        for (first, last) in [("on", "off"), ("off", "on")] {
            let mut run = with(("fsync", first));
            log(&mut run).changed_settings = [("fsync".to_owned(), last.to_owned())].into();
            let found = of_server(&run);
            assert_eq!(found[0].id, "server.no_flush", "{first} to {last}");
            let claim = &found[0].claim;
            assert!(claim.contains("while it was watched"), "{claim}");
        }
        // A role's own setting is not the server's; whether it commits is not known.
        let mut run = with(("full_page_writes", "on"));
        log(&mut run).scoped_settings = vec![ScopedSetting {
            role: Some("app".to_owned()),
            name: "synchronous_commit".to_owned(),
            value: "off".to_owned(),
            ..ScopedSetting::default()
        }];
        assert_eq!(
            ids(&run),
            [("server.late_flush".to_owned(), Weight::Caution)]
        );
        assert!(of_server(&run)[0].claim.contains("role app"));
    }
}
