//! What `log file sync` consists of, and what sessions waited for instead of it.

use super::super::evidence::view::Tables;
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::figures::{EventWaits, ReportFigures};
use super::standby::{self, StandbyCost};
use super::{SYNC, WRITE, claim_of};
use crate::thresholds::Thresholds;
use measure::judgement::Weight;

/// A commit waits for the rest of the log write in flight and then for its own: up to two log
/// writes, and a tenth for waking up.
const GROUP_COMMIT: f64 = 2.2;
/// A cause is named where it is this share of what has to be explained, and a wait is explained
/// where this share of that, or of the whole wait, is left at most.
const SHARE: f64 = 0.2;
/// Waits of sessions for something else are a finding from this share of log file sync.
const ELSEWHERE: f64 = 0.02;

const ORDERING: [&str; 1] = ["LGWR worker group ordering"];
const BROADCAST: [&str; 2] = ["wait for scn ack", "LGWR wait for scn ack"];

pub(super) fn collect(
    report: &ReportFigures<'_>,
    tables: Tables<'_>,
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    let write = report.event(WRITE);
    let cost = write.and_then(|write| standby::cost(report, write, tables));
    let both = write.zip(report.event(SYNC));
    if let Some((write, sync)) = both {
        commit_wait(report, (write, sync, cost.as_ref()), t, notes);
    }
    group_commit(report, both, notes);
    match cost {
        Some(cost) => notes.push(standby_note(report, &cost)),
        None => notes.extend(standby::apart(report).map(|words| {
            let claim = claim_of(report, words);
            Note::of(&catalogue::DIAGNOSIS_STANDBY, Info, claim).no_advice()
        })),
    }
    elsewhere(report, t, notes);
}

/// A cause of longer commits: its entry, its words, and by how many ms it makes a commit longer.
struct Cause {
    entry: &'static catalogue::CatalogueEntry,
    words: String,
    ms: f64,
}

/// What the standby adds to each log write.
fn standby_note(report: &ReportFigures<'_>, cost: &StandbyCost) -> Note {
    let claim = claim_of(report, cost.in_words());
    Note::of(&catalogue::DIAGNOSIS_STANDBY, Info, claim)
        .number("remote_ms", cost.remote_ms)
        .number("adds_at_least_ms", cost.low_ms)
        .number("adds_at_most_ms", cost.remote_ms)
        .maybe("adds_if_independent_ms", cost.independent_ms)
}

/// Means of log file parallel write and log file sync, and what a standby costs.
type CommitParts<'a> = (EventWaits, EventWaits, Option<&'a StandbyCost>);

/// What the acknowledgements of other instances took by the log writer's own statistic, ms; it is
/// in microseconds.
fn acknowledged_ms(report: &ReportFigures<'_>) -> Option<f64> {
    let us = report.statistic("redo write broadcast ack time")?;
    (us > 0.0).then_some(us / 1e3)
}

/// What the report's own figures show of the causes.
fn causes(report: &ReportFigures<'_>, (write, sync, standby): CommitParts<'_>) -> Vec<Cause> {
    let mut out = Vec::new();
    let of_events = |names: &[&str]| report.events(names);
    // Each log write waits for these; a commit waits for two log writes at most.
    if let Some(cost) = standby {
        // The local and the remote write are made at the same time: the longer one counts.
        out.push(Cause {
            entry: &catalogue::DIAGNOSIS_REMOTE_WRITE,
            words: format!("a log write waits {:.2} ms for the standby", cost.remote_ms),
            ms: 2.0 * cost.independent_ms.unwrap_or(cost.low_ms),
        });
    }
    for (names, entry, what) in [
        (
            &ORDERING[..],
            &catalogue::DIAGNOSIS_WORKER_ORDERING,
            "log writer workers wait for each other's turn",
        ),
        (
            &BROADCAST[..],
            &catalogue::DIAGNOSIS_BROADCAST,
            "the log writer waits for the other instances' acknowledgement",
        ),
    ] {
        let is_broadcast = names == &BROADCAST[..];
        let acknowledged = || acknowledged_ms(report).filter(|_| is_broadcast);
        let total_ms = of_events(names).map(|waits| waits.total_ms);
        if let Some(total_ms) = total_ms.or_else(acknowledged) {
            let per_write = total_ms / write.waits;
            out.push(Cause {
                entry,
                words: format!("{what}, {per_write:.2} ms per log write"),
                ms: 2.0 * per_write,
            });
        }
    }
    if let Some(time_ms) = write_time_ms(report) {
        // The log writer's time contains its waits, whoever they are for: no second cause is made
        // of the same time.
        let waited = [&ORDERING[..], &BROADCAST[..]].map(of_events);
        let waited = waited.into_iter().chain([standby.map(|cost| cost.waits)]);
        let waited: f64 = waited.flatten().map(|waits| waits.total_ms).sum();
        let own_ms = (time_ms - write.total_ms - waited).max(0.0) / write.waits;
        out.push(Cause {
            entry: &catalogue::DIAGNOSIS_LOG_WRITER_CPU,
            words: format!(
                "the log writer itself needs up to {own_ms:.2} ms per log write beside its waits \
                 (redo write time)"
            ),
            ms: 2.0 * own_ms,
        });
    }
    if let Some(us) = report.statistic("redo synch time overhead (usec)") {
        let per_sync = us / 1e3 / sync.waits;
        out.push(Cause {
            entry: &catalogue::DIAGNOSIS_WAKE_UP,
            words: format!(
                "a session notices {per_sync:.2} ms after the log write that its commit is done \
                 (redo synch time overhead)"
            ),
            ms: per_sync,
        });
    }
    out
}

/// Time of the log writer's writes: in microseconds, else in hundredths of a second.
fn write_time_ms(report: &ReportFigures<'_>) -> Option<f64> {
    let fine = report.statistic("redo write time (usec)");
    let coarse = || Some(report.statistic("redo write time")? * 10.0);
    fine.map(|us| us / 1e3).or_else(coarse)
}

fn commit_wait(
    report: &ReportFigures<'_>,
    (write, sync, standby): CommitParts<'_>,
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    let ratio = sync.mean_ms() / write.mean_ms();
    let rounding = 1.0 + write.off + sync.off;
    let share = report.db_time_pct(SYNC);
    let share = share.map_or_else(String::new, |pct| format!(" ({pct} % of DB time)"));
    let shown = format!(
        "{SYNC} takes {:.2} ms on average{share}, {ratio:.1} times the {:.2} ms of {WRITE}",
        sync.mean_ms(),
        write.mean_ms()
    );
    if ratio <= GROUP_COMMIT * rounding {
        let claim = format!(
            "{shown}: group commit alone explains that, because a commit waits for the rest of the write in \
             flight and then for its own"
        );
        notes.push(note(report, Info, claim, ratio, 0.0));
        return;
    }
    let excess = sync.mean_ms() - 2.0 * write.mean_ms();
    let is_slow = sync.mean_ms() >= t.write_mean_good_ms.value;
    let mut explained = 0.0;
    let mut named = Vec::new();
    for cause in causes(report, (write, sync, standby)) {
        if cause.ms < SHARE * excess {
            continue;
        }
        explained += cause.ms;
        named.push(cause.words.clone());
        let claim = format!(
            "{}; that is up to {:.2} ms of the {excess:.2} ms of a commit that group commit does not \
             explain",
            cause.words,
            cause.ms.min(excess)
        );
        let weight = if is_slow { Caution } else { Info };
        notes.push(
            Note::of(cause.entry, weight, claim_of(report, claim))
                .number("explains_ms", cause.ms)
                .number("excess_ms", excess),
        );
    }
    let left = (excess - explained).max(0.0);
    let is_open = left > SHARE * excess && left > SHARE * sync.mean_ms();
    let mut claim = format!(
        "{shown}: group commit explains {:.2} ms, {excess:.2} ms are left",
        2.0 * write.mean_ms()
    );
    if !named.is_empty() {
        claim.push_str(&format!("; {}", named.join("; ")));
    }
    let busy = report.idle_pct.map(|idle| 100.0 - idle);
    let busy = busy.filter(|busy| *busy >= t.cpu_busy_pct.value);
    if is_open {
        claim.push_str(&match busy {
            Some(busy) => format!(
                "; the processors were {busy:.1} % busy, and waiting for one is what that looks like: it is not the \
                 device"
            ),
            None => format!(
                "; nothing in this evidence explains {left:.2} ms. {}",
                unseen(report)
            ),
        });
    }
    let weight = if is_open && is_slow { Caution } else { Info };
    notes.push(note(report, weight, claim, ratio, left));
}

fn note(report: &ReportFigures<'_>, weight: Weight, claim: String, ratio: f64, left: f64) -> Note {
    Note::of(
        &catalogue::DIAGNOSIS_COMMIT_WAIT,
        weight,
        claim_of(report, claim),
    )
    .number("sync_per_write", ratio)
    .number("unexplained_ms", left)
    .maybe("db_time_pct", report.db_time_pct(SYNC))
    .advice_if(weight == Caution)
}

/// Which causes the evidence has no figures of.
fn unseen(report: &ReportFigures<'_>) -> String {
    let mut missing = Vec::new();
    if report.idle_pct.is_none() {
        missing.push("how busy the processors were");
    }
    if report
        .statistic("redo synch time overhead (usec)")
        .is_none()
    {
        missing.push("how late sessions wake up (redo synch time overhead)");
    }
    if report.statistic("redo write time").is_none() {
        missing.push("the log writer's own time (redo write time)");
    }
    match missing.as_slice() {
        [] => "Scheduling of the sessions is left as a cause".to_owned(),
        missing => format!("It does not show {}", missing.join(", ")),
    }
}

/// Commits per log write under which no log write is shared, other than by rounding.
const SHARED_MIN: f64 = 1.05;

fn group_commit(
    report: &ReportFigures<'_>,
    waits: Option<(EventWaits, EventWaits)>,
    notes: &mut Vec<Note>,
) {
    const SYNCS: &str = "waits for log file sync";
    let statistic = |name: &str| report.statistic(name);
    let of_statistics = || {
        let (write, sync) = waits?;
        let commits = statistic("user commits").map(|n| (n, "commits"));
        let (commits, what) = commits.unwrap_or((sync.waits, SYNCS));
        let writes = statistic("redo writes").unwrap_or(write.waits);
        Some((commits / writes, what.to_owned()))
    };
    let of_transactions = || {
        let [sync, write] = [SYNC, WRITE].map(|name| report.waits_per_transaction(name));
        let (sync, write) = sync.zip(write)?;
        let what = format!("{SYNCS} ({sync} and {write} log writes per transaction, as printed)");
        Some((sync / write, what))
    };
    let known = of_statistics().or_else(of_transactions);
    let Some((each, what)) = known.filter(|(each, _)| each.is_finite()) else {
        return;
    };
    let claim = match each < SHARED_MIN {
        true => format!("no group commit: {each:.2} {what} per log write on average"),
        false => format!("{each:.2} {what} share a log write on average"),
    };
    let claim = claim_of(report, claim);
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_GROUP_COMMIT, Info, claim).number("commits_per_write", each),
    );
}

/// What sessions waited for instead of their commit.
fn elsewhere(report: &ReportFigures<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let groups = [
        (
            &catalogue::DIAGNOSIS_LOG_SWITCHES,
            &[
                "log file switch (checkpoint incomplete)",
                "log file switch (archiving needed)",
                "log file switch (private strand flush incomplete)",
                "log file switch completion",
            ][..],
        ),
        (&catalogue::DIAGNOSIS_LOG_BUFFER, &["log buffer space"][..]),
    ];
    let sync_ms = report.event(SYNC).map_or(0.0, |sync| sync.total_ms);
    for (entry, names) in groups {
        let found = names
            .iter()
            .filter_map(|name| Some((*name, report.event(name)?)));
        let found: Vec<(&str, EventWaits)> = found.collect();
        let sum: f64 = found.iter().map(|(_, waits)| waits.total_ms).sum();
        if found.is_empty() {
            continue;
        }
        let words: Vec<String> = found
            .iter()
            .map(|(name, waits)| {
                let count = crate::format::count(waits.waits as u64);
                let mean = waits.mean_ms();
                let seconds = waits.total_ms / 1e3;
                format!("{name} {count} times, {seconds:.1} s in all and {mean:.1} ms each")
            })
            .collect();
        let slow = report
            .event(WRITE)
            .filter(|_| *names == ["log buffer space"]);
        let slow = slow.filter(|write| write.mean_ms() >= t.write_mean_fair_ms.value);
        let cause = slow.map_or_else(String::new, |write| {
            format!(
                "; {WRITE} takes {:.1} ms: the log's device is slow, and the size of the log buffer \
                 is not the cause",
                write.mean_ms()
            )
        });
        let weight = if sum > ELSEWHERE * sync_ms {
            Caution
        } else {
            Info
        };
        notes.push(
            Note::of(
                entry,
                weight,
                claim_of(
                    report,
                    format!("sessions waited for {}{cause}", words.join("; ")),
                ),
            )
            .number("waited_ms", sum)
            .advice_if(weight == Caution),
        );
    }
}
