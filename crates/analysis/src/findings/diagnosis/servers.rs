//! What logs and views of database servers show around their redo log: refused log switches,
//! commits that gather in checkpoints, who was on a processor, and which waits come first.
//!
//! Invariant: lines that are logged over a limit, and samples of waits, are no distribution: no
//! mean or percentile of theirs is given.

use super::super::evidence::view::{Line, Tables, lines, show};
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::intervals::moment;
use super::tails::{at, slow};
use super::{SYNC, WRITE};
use crate::format::{count, latency};
use crate::thresholds::Thresholds;
use jiff::civil::DateTime;
use measure::imported::Table;
use std::collections::BTreeSet;

/// Part of a whole from which it is explained.
const HALF: f64 = 0.5;

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    notes.extend(tables.of("log_switches").map(log_switches));
    notes.extend(
        tables
            .of("pg_frequent_checkpoints")
            .map(|table| frequent(table, t)),
    );
    for table in tables.of("pg_slow_commits") {
        let checkpoints = tables.of("pg_checkpoints");
        let of_file = checkpoints.filter(|of| of.file == table.file);
        notes.extend(slow_commits(
            table,
            &of_file.flat_map(lines).collect::<Vec<_>>(),
            t,
        ));
    }
    notes.extend(tables.of("ash").filter_map(log_writer_samples));
    let changes = tables.of("sqlserver_waits_change").next();
    let waits = changes.or_else(|| tables.of("sqlserver_waits").next());
    notes.extend(waits.and_then(|table| first_waits(table, t)));
}

/// A moment; its offset is that of the whole log.
fn time(line: &Line<'_>, key: &str) -> Option<DateTime> {
    let text = line.text(key);
    let (date, clock) = (text.get(..11)?, text.get(11..)?);
    moment(&format!("{date}{}", clock.split(['+', 'Z']).next()?))
}

fn seconds(from: DateTime, to: DateTime) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// The least and the largest number of a column.
fn ends(of: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    of.map(|x| [x, x])
        .reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
}

const SIZE: (&str, &str, &str) = (
    "a checkpoint (\"Checkpoint not complete\")",
    "the redo logs are too small or too few for this rate, or the database writer is too slow",
    "Enlarge the redo logs, add groups, or both, so that a switch comes every 15 to 20 minutes; then look at the \
     database writer.",
);
const ARCHIVER: (&str, &str, &str) = (
    "the archiver",
    "it does not keep up",
    "Look at the archive destination (space, rate) and the number of archiver processes; more log groups bridge a peak.",
);

/// Switches of an alert log that had to wait: for a checkpoint or the archiver; a flush of private
/// strands is part of a switch.
fn log_switches(table: &Table) -> Note {
    let with = |begin: &str| {
        let is_it = |line: &Line<'_>| line.text("reason").starts_with(begin);
        lines(table).filter(is_it).collect::<Vec<Line<'_>>>()
    };
    let [checkpoints, strands, archiver, others] =
        ["Checkpoint", "Private", "All", "all"].map(with);
    let archiver = [archiver, others].concat();
    let (why, cause, advice) = if archiver.len() > checkpoints.len() {
        ARCHIVER
    } else {
        SIZE
    };
    let stops = [checkpoints, archiver].concat();
    let waited = |line: &Line<'_>| Some(seconds(time(line, "asked_at")?, time(line, "time")?));
    let waits: Vec<f64> = stops.iter().filter_map(waited).collect();
    let made = lines(table).filter_map(|line| time(&line, "time"));
    let made: Vec<DateTime> = made.collect();
    let rhythm = match made.as_slice() {
        [first, .., last] if last > first => {
            let (n, minutes) = (made.len(), seconds(*first, *last) / 60.0);
            let each = minutes / (n - 1) as f64;
            format!("; {n} switches in {minutes:.1} min, one every {each:.1} min")
        }
        _ => String::new(),
    };
    let normal = match strands.len() {
        0 => String::new(),
        n => format!("; {n} \"Private strand flush not complete\" are normal"),
    };
    let asked = stops.iter().filter_map(|line| time(line, "asked_at"));
    let window = asked.min().zip(made.last().copied());
    let busy = window.map_or_else(String::new, |(from, to)| {
        let within = made.iter().filter(|at| **at >= from).count();
        let each_s = seconds(from, to) / within.max(1) as f64;
        match within {
            0 | 1 => String::new(),
            _ if within == made.len() => String::new(),
            n => format!(" ({n} of them from the first stop on, one every {each_s:.0} s)"),
        }
    });
    let sum: f64 = waits.iter().sum();
    let longest = waits.iter().copied().fold(0.0, f64::max);
    let of_stops = match stops.len() {
        0 => format!("no log switch waited for a checkpoint or the archiver{rhythm}{normal}"),
        n => format!(
            "{n} times the log could not switch because of {why}, {} s in all from the message to the switch, the \
             longest {} s{rhythm}{busy}: {cause}{normal}; nothing here measures a log write",
            show(sum),
            show(longest)
        ),
    };
    let weight = if stops.is_empty() { Info } else { Caution };
    let claim = format!("{of_stops}{}", at(table));
    Note::of(&catalogue::DIAGNOSIS_LOG_SWITCHES, weight, claim)
        .number("stops", stops.len() as f64)
        .number("stopped_s", sum)
        .rule("any switch that waits for a checkpoint or the archiver")
        .advice(advice)
        .advice_if(weight == Caution)
}

fn frequent(table: &Table, t: &Thresholds) -> Note {
    let [low, high] = ends(lines(table).filter_map(|of| of.number("apart_s"))).unwrap_or_default();
    let claim = format!(
        "PostgreSQL warned {} times that checkpoints come too frequently, {low} to {high} s apart: its log reaches \
         max_wal_size before checkpoint_timeout, and pages are written whole behind each{}",
        table.rows.len(),
        at(table)
    );
    slow(claim, t)
        .number("warnings", table.rows.len() as f64)
        .rule("any such warning")
        .advice("Raise max_wal_size until checkpoints come by time; then judge the log's device.")
}

/// Commits over the limit of PostgreSQL's log, and how many of them overlap with the time in which
/// a checkpoint synchronises its files.
fn slow_commits(table: &Table, checkpoints: &[Line<'_>], t: &Thresholds) -> Option<Note> {
    let overlaps = |checkpoint: &Line<'_>, commit: &Line<'_>| {
        let length = checkpoint.number("total_s")? - checkpoint.number("write_s")?;
        let took_s = commit.number("took_ms").unwrap_or(0.0) / 1e3;
        let to_end = seconds(time(commit, "time")?, time(checkpoint, "time")?);
        Some(-took_s <= to_end && to_end <= length)
    };
    let commits: Vec<Line<'_>> = lines(table).collect();
    let both =
        |checkpoint: &Line<'_>, commit: &Line<'_>| overlaps(checkpoint, commit) == Some(true);
    let is_within = |commit: &&Line<'_>| checkpoints.iter().any(|of| both(of, commit));
    let within = commits.iter().filter(is_within).count();
    let has_commits = |of: &&Line<'_>| commits.iter().any(|commit| both(of, commit));
    let holding: Vec<&Line<'_>> = checkpoints.iter().filter(has_commits).collect();
    let took = || commits.iter().filter_map(|line| line.number("took_ms"));
    let ([least, longest], sum) = (ends(took())?, took().sum::<f64>());
    let explains = within as f64 >= HALF * table.rows.len() as f64;
    let of = |key: &'static str| ends(holding.iter().filter_map(|line| line.number(key)));
    let all = crate::format::plural(checkpoints.len() as u64, "checkpoint");
    let cause = match of("sync_s").zip(of("longest_s")) {
        None if checkpoints.is_empty() => "no checkpoint is in this log".to_owned(),
        None => format!("none is in the sync phase of one of {all}, which does not explain them"),
        Some(([low, high], [_, file])) => format!(
            "{within} of them are in the sync phase at the end of {} ({} to {}, the longest file {}){}",
            match holding.len() == checkpoints.len() {
                true => all,
                false => format!("{} of {all}", holding.len()),
            },
            latency(low * 1e9),
            latency(high * 1e9),
            latency(file * 1e9),
            match explains {
                true => ": the fsyncs of data files keep the log's device busy, if both are on it",
                false => ", which does not explain them",
            }
        ),
    };
    let [least, longest, total] = [least, longest, sum].map(|ms| latency(ms * 1e6));
    let claim = format!(
        "PostgreSQL logged {} commits over its limit, from {least} to {longest}, {total} in all; {cause}; shorter ones \
         are in no line, so that no mean follows{}",
        count(table.rows.len() as u64),
        at(table)
    );
    let advice = "Put pg_wal on a device of its own, and spread the writes of data files (checkpoint_flush_after, \
                  checkpoint_completion_target, the kernel's dirty limits).";
    Some(
        slow(claim, t)
            .advice_or_own(explains.then_some(advice))
            .number("commits", table.rows.len() as f64)
            .number("in_sync_phase", within as f64),
    )
}

/// What the log writer did while sessions waited for it, in samples of ASH.
fn log_writer_samples(table: &Table) -> Option<Note> {
    let is_own = |line: &Line<'_>| {
        let program = line.text("program");
        program.contains("(LGWR") || program.contains("(LG0")
    };
    let own: Vec<Line<'_>> = lines(table).filter(is_own).collect();
    let is_on_cpu = |line: &&Line<'_>| {
        ["state", "event"]
            .map(|key| line.text(key))
            .contains(&"ON CPU")
    };
    let on_cpu = own.iter().filter(is_on_cpu).count();
    let writing = own
        .iter()
        .filter(|line| line.text("event") == WRITE)
        .count();
    let mut waiting = lines(table).filter(|line| line.text("event") == SYNC);
    let blocker = waiting.next()?.number("blocked_by");
    let waiting = waiting.count() + 1;
    let times: BTreeSet<&str> = lines(table).map(|line| line.text("time")).collect();
    let is_most = |n: usize| n > 0 && n as f64 >= HALF * own.len() as f64;
    let (entry, weight, words) = match (is_most(on_cpu), is_most(writing)) {
        (true, _) => (
            &catalogue::DIAGNOSIS_PROCESSORS,
            Caution,
            "processors come first and not the log's device (ASH does not distinguish being on a processor from \
             waiting for one: see the run queue)",
        ),
        (_, true) => (
            &catalogue::DIAGNOSIS_SLOW_SYNCS,
            Caution,
            "the log's device or its path comes first",
        ),
        _ => (&catalogue::LATENCY_SOURCE, Info, "neither is most of it"),
    };
    let blocker = blocker.map_or_else(String::new, |id| format!(" for session {id}"));
    let claim = format!(
        "in {} samples the log writer is on a processor, or waits for one, {on_cpu} times and in {WRITE} {writing} \
         times, while sessions wait{blocker} in {SYNC} {waiting} times: {words}; times of sampled waits give no mean{}",
        times.len(),
        at(table)
    );
    Some(
        Note::of(entry, weight, claim)
            .number("on_cpu", on_cpu as f64)
            .number("writing", writing as f64)
            .number("waiting", waiting as f64)
            .rule("half of the log writer's samples"),
    )
}

/// How waits of SQL Server's own tasks begin that have nothing to do.
const IDLE: &str = "SLEEP_ LAZYWRITER_SLEEP SOS_WORK_DISPATCHER BROKER_ XE_ CLR_ REQUEST_FOR_DEADLOCK LOGMGR_QUEUE \
                    CHECKPOINT_QUEUE DIRTY_PAGE_POLL HADR_FILESTREAM HADR_WORK HADR_TIMER HADR_CLUSAPI HADR_LOGCAPTURE \
                    HADR_NOTIF SP_SERVER_DIAG SQLTRACE_ WAITFOR DISPATCHER_QUEUE FT_ QDS_ ONDEMAND_TASK SERVER_IDLE \
                    WAIT_XTP_ PWAIT_ KSOURCE_WAKEUP PARALLEL_REDO_ DBMIRROR_ LOGPOOL_ STARTUP_DEPENDENCY";

/// The share of WRITELOG of the waits that are not idle, where others come first.
fn first_waits(table: &Table, t: &Thresholds) -> Option<Note> {
    /// Wait types from which a listing is of the whole server.
    const TYPES_MIN: usize = 4;
    let all =
        lines(table).filter_map(|line| Some((line.text("wait_type"), line.number("wait_ms")?)));
    let is_idle = |name: &str| IDLE.split_whitespace().any(|idle| name.starts_with(idle));
    let all: Vec<(&str, f64)> = all.filter(|(name, _)| !is_idle(name)).collect();
    let sum: f64 = all.iter().map(|(_, ms)| ms).sum();
    let (_, own) = all.iter().find(|(name, _)| *name == "WRITELOG")?;
    let (first, most) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let [own, most] = [own, most].map(|ms| 100.0 * ms / sum);
    let limit = &t.db_time_small_pct;
    let claim = format!(
        "WRITELOG is {own:.1} % of the waits that are not idle: it is not what makes this server slow, and the fastest \
         log device gives back at most that; first comes {first} with {most:.0} %{}",
        at(table)
    );
    (all.len() >= TYPES_MIN && own < limit.value).then(|| {
        Note::of(&catalogue::DIAGNOSIS_DB_TIME, Info, claim)
            .number("waits_pct", own)
            .limit(format!("under {} % of the waits", limit.value), limit)
    })
}
