//! How full InnoDB's redo log is: the age of the last checkpoint against the size of its files, and
//! what the counters since a start bound.
//!
//! Invariant: the capacity is never guessed: where the evidence has no settings, the age is said
//! alone.

use super::super::evidence::view::{Line, Tables, lines};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Good, Info, catalogue};
use super::intervals::moment;
use super::tails::named;
use crate::format::bytes;
use crate::thresholds::Thresholds;
use measure::imported::Table;
use std::collections::BTreeSet;

/// Tables of variables.
const VARIABLES: [&str; 2] = ["mysql_status", "mysql_variables"];
/// Part of the files that InnoDB's own greatest age is of: two margins of a tenth.
const MAX_AGE_OF_FILES: f64 = 0.81;

/// Variables of one file; a setting may be in another one, where all files agree on it.
struct Variables<'a> {
    tables: Tables<'a>,
    file: &'a str,
}

impl<'a> Variables<'a> {
    fn values(&self, name: &str, is_own: bool) -> Vec<f64> {
        let tables = self.tables.0.iter().filter(|table| {
            VARIABLES.contains(&table.id.as_str()) && (table.file == self.file) == is_own
        });
        let of_it = |line: &Line<'_>| line.text("variable") == name;
        let values = tables.flat_map(lines).filter(of_it);
        values.filter_map(|line| line.number("value")).collect()
    }

    fn own(&self, name: &str) -> Option<f64> {
        self.values(name, true).last().copied()
    }

    fn setting(&self, name: &str) -> Option<f64> {
        let others = || {
            let all = self.values(name, false);
            let first = all.first().copied()?;
            all.iter().all(|value| *value == first).then_some(first)
        };
        self.own(name).or_else(others).filter(|value| *value > 0.0)
    }

    /// The greatest age that the file shows, in bytes.
    fn age(&self) -> Option<f64> {
        let tables = self.tables.of("innodb_status");
        let statuses = tables
            .filter(|table| table.file == self.file)
            .flat_map(lines);
        let of_status = statuses.filter_map(|line| {
            let (lsn, checkpoint) = (line.number("lsn")?, line.number("checkpoint_lsn")?);
            (lsn >= checkpoint).then_some(lsn - checkpoint)
        });
        let difference = |lsn: &str, checkpoint: &str| {
            let age = self.own(lsn)? - self.own(checkpoint)?;
            (age >= 0.0).then_some(age)
        };
        let of_variables = [
            self.own("Innodb_checkpoint_age"),
            difference("Innodb_lsn_current", "Innodb_lsn_last_checkpoint"),
            difference(
                "Innodb_redo_log_current_lsn",
                "Innodb_redo_log_checkpoint_lsn",
            ),
        ];
        let all = of_status.chain(of_variables.into_iter().flatten());
        all.reduce(f64::max)
    }

    /// What the statuses of the file show of redo per second, and how many flushes of the log wait.
    fn flow(&self, capacity: f64) -> String {
        let tables = self.tables.of("innodb_status");
        let all: Vec<Line<'_>> = tables
            .filter(|of| of.file == self.file)
            .flat_map(lines)
            .collect();
        let at = |line: &Line<'_>| Some((moment(line.text("time"))?, line.number("lsn")?));
        let ends = all.first().and_then(at).zip(all.last().and_then(at));
        let rate = ends.map(|(a, b)| (b.1 - a.1) / b.0.duration_since(a.0).as_secs_f64());
        let rate = rate
            .filter(|rate| *rate > 0.0 && rate.is_finite())
            .map(|rate| {
                format!(
                    "; {} of redo per second write it through in {}",
                    bytes(rate as u64),
                    crate::format::latency(1e9 * capacity / rate)
                )
            });
        let pending = all
            .iter()
            .filter_map(|line| line.number("pending_log_flushes"));
        let pending = pending.reduce(f64::max).map(|n| match n > 0.0 {
            true => format!("; up to {n:.0} flushes of the log are pending"),
            false => {
                "; no flush of the log is pending, so the log's device is not shown to be slow"
                    .to_owned()
            }
        });
        [rate, pending].into_iter().flatten().collect()
    }

    /// Bytes of all files, and where that is from.
    fn capacity(&self) -> Option<(f64, String)> {
        for name in [
            "Innodb_redo_log_capacity_resized",
            "innodb_redo_log_capacity",
        ] {
            if let Some(size) = self.setting(name) {
                return Some((size, format!("{} ({name})", bytes(size as u64))));
            }
        }
        let files = self.setting("innodb_log_file_size");
        let files = files.zip(self.setting("innodb_log_files_in_group"));
        if let Some((size, files)) = files {
            let all = size * files;
            let words = format!(
                "{} ({files:.0} files of {})",
                bytes(all as u64),
                bytes(size as u64)
            );
            return Some((all, words));
        }
        let tables = self.tables.of("innodb_status");
        let mut statuses = tables
            .filter(|table| table.file == self.file)
            .flat_map(lines);
        let of_status = statuses.find_map(|line| line.number("max_checkpoint_age"));
        let most = of_status.or_else(|| self.own("Innodb_checkpoint_max_age"));
        let most = most.filter(|most| *most > 0.0)?;
        let all = most / MAX_AGE_OF_FILES;
        let words = format!(
            "about {}, by the greatest age of {}",
            bytes(all as u64),
            bytes(most as u64)
        );
        Some((all, words))
    }
}

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let ids = ["innodb_status", "mysql_status"];
    let known = tables.0.iter().filter(|of| ids.contains(&of.id.as_str()));
    let files: BTreeSet<&str> = known.map(|table| table.file.as_str()).collect();
    for file in files {
        let of = Variables { tables, file };
        notes.extend(of.age().map(|age| note(&of, age, t)));
    }
}

fn note(of: &Variables<'_>, age: f64, t: &Thresholds) -> Note {
    let entry = &catalogue::DIAGNOSIS_CHECKPOINT_AGE;
    let limits = [&t.checkpoint_async_pct, &t.checkpoint_sync_pct];
    let [begins, waits] = limits.map(|limit| limit.value);
    let age_words = bytes(age as u64);
    let Some((capacity, capacity_words)) = of.capacity() else {
        let held = match of.setting("innodb_log_file_size") {
            Some(size) => format!("how many files of {} its redo log has", bytes(size as u64)),
            None => "how much its redo log holds".to_owned(),
        };
        let claim = format!(
            "the last checkpoint of InnoDB is {age_words} old; {held} is not in this evidence{}",
            named(of.file)
        );
        let advice = "Add SHOW GLOBAL VARIABLES LIKE 'innodb%log%'.";
        return Note::of(entry, Info, claim)
            .number("age_bytes", age)
            .advice(advice);
    };
    let pct = 100.0 * age / capacity;
    let (weight, words) = match pct {
        pct if pct >= waits => (
            Caution,
            format!(
                "nearly full: from {waits} % on, statements that write wait until pages are flushed"
            ),
        ),
        pct if pct >= begins => (
            Info,
            format!("from {begins} % on, InnoDB flushes pages only to make room in it"),
        ),
        _ => (Good, format!("there is room, under {begins} %")),
    };
    let claim = format!(
        "InnoDB's redo log is {pct:.0} % full, {words}: the last checkpoint is {age_words} old, of {capacity_words}{}{}",
        of.flow(capacity),
        named(of.file)
    );
    Note::of(entry, weight, claim)
        .number("age_bytes", age)
        .number("capacity_bytes", capacity)
        .number("age_pct", pct)
        .limit(format!("{waits} % of the files"), &t.checkpoint_sync_pct)
        .advice_if(weight == Caution)
}

/// What counters of MySQL say since its start, or between two listings: syncs per commit, a bound
/// of their mean, waits for the log buffer; and the mean of a sync in ms, where
/// performance_schema has it.
pub(super) fn counted(tables: Tables<'_>, table: &Table, t: &Thresholds) -> (String, Option<f64>) {
    let change = tables.of("mysql_status_change").next();
    let (table, since) = match change {
        Some(change) => (change, "between both listings"),
        None => (table, "since the start"),
    };
    let of = |name: &str| {
        let is_it = |line: &Line<'_>| line.text("variable") == name;
        lines(table).find(is_it)?.number("value")
    };
    let syncs = of("Innodb_os_log_fsyncs");
    let each = of("innodb_log_file count_misc").filter(|n| *n > 0.0);
    let each = each.zip(of("innodb_log_file sum_timer_misc"));
    let mean_ms = each.map(|(n, picoseconds)| picoseconds / 1e9 / n);
    let each = mean_ms.map(|ms| {
        format!(
            "; a sync of its files takes {} on average {since} (performance_schema), {}",
            crate::format::latency(ms * 1e6),
            band(ms, t).1
        )
    });
    let per_commit = syncs.zip(of("Com_commit").filter(|n| *n > 0.0));
    let per_commit = per_commit
        .map(|(syncs, commits)| format!("; {:.2} syncs of the log per commit", syncs / commits));
    let rate = syncs.zip(of("Uptime").filter(|seconds| *seconds > 0.0));
    let rate = rate.map(|(syncs, seconds)| syncs / seconds);
    // A server that has little to do bounds nothing.
    let rate = rate.filter(|rate| 1e3 / rate <= t.write_mean_problem_ms.value);
    let bound = rate.map(|rate| {
        format!(
            "; {} syncs of it per second {since} bound their mean to {} (one after another)",
            crate::format::digits(rate),
            crate::format::latency(1e9 / rate)
        )
    });
    let waits = of("Innodb_log_waits").map(|waits| match waits > 0.0 {
        true => format!(
            "; {} waits for room in the log buffer: look at innodb_log_buffer_size",
            crate::format::count(waits as u64)
        ),
        false => "; no wait for the log buffer, which is big enough".to_owned(),
    });
    let all = [each, per_commit, bound, waits];
    (all.into_iter().flatten().collect(), mean_ms)
}

/// Waits for row locks: what sessions wait for that is not the log.
pub(super) fn row_locks(tables: Tables<'_>) -> Option<Note> {
    /// Part of the time between two listings that one session at least waited, and what is too long
    /// for one wait where that time is not known.
    const PART: f64 = 0.5;
    const LONG_MS: f64 = 10.0;
    let change = tables.of("mysql_status_change").next();
    let table = change.or_else(|| tables.of("mysql_status").next())?;
    let of = |name: &str| {
        let is_it = |line: &Line<'_>| line.text("variable") == name;
        lines(table).find(is_it)?.number("value")
    };
    let waits = of("Innodb_row_lock_waits").filter(|n| *n > 0.0)?;
    let ms = of("Innodb_row_lock_time")?;
    let (since, is_much) = match (change, of("Uptime")) {
        (None, _) => ("since the start", false),
        (_, Some(seconds)) => ("between both listings", ms / 1e3 >= PART * seconds),
        (_, None) => ("between both listings", ms / waits >= LONG_MS),
    };
    let claim = format!(
        "{} waits for row locks {since}, {} each, {} s in all: those are not for the log",
        crate::format::count(waits as u64),
        crate::format::latency(1e6 * ms / waits),
        crate::format::count((ms / 1e3) as u64)
    );
    let note = Note::of(
        &catalogue::LATENCY_SOURCE,
        if is_much { Caution } else { Info },
        claim,
    );
    let advice =
        "See which transaction holds the rows: sys.innodb_lock_waits, SHOW ENGINE INNODB STATUS.";
    Some(
        note.number("waits", waits)
            .number("sum_ms", ms)
            .advice(advice),
    )
}
