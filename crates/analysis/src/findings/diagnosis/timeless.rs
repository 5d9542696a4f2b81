//! Sources that have no times of single waits for the log: what they count, and what to see
//! instead.

use super::super::evidence::view::{Tables, lines, place};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::checkpoint::counted;
use crate::format::count;
use crate::thresholds::Thresholds;
use measure::imported::{Imported, NOT_DURABLE, Table};

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    without_flushes(tables, notes);
    counts_alone(tables, t, notes);
    for table in tables.of("pg_stat_wal") {
        notes.extend(untimed_wal(tables, table));
    }
    for table in tables.of("pg_stat_io") {
        notes.extend(untimed_io(table));
    }
}

/// Settings, named in the evidence's own words, with which commits do not wait for a medium.
pub(super) fn not_durable(imported: &Imported, notes: &mut Vec<Note>) {
    for source in &imported.sources {
        for (_, setting) in source.facts.iter().filter(|(key, _)| key == NOT_DURABLE) {
            let claim = format!(
                "{setting} of {}: commits are acknowledged before a medium has them, and a power cut can lose them",
                source.file
            );
            notes.push(
                Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
                    .advice("Set it back before it goes live; its times are no device's, so compare them with none."),
            );
        }
    }
}

/// What to set where PostgreSQL takes no time.
const TIMING: &str = "Set track_wal_io_timing = on, and read the view twice some minutes apart.";

/// Syncs of PostgreSQL's log that were counted and not timed; `has_times` where there is a column
/// of times.
fn untimed(writes: f64, syncs: f64, has_times: bool, table: &Table) -> Note {
    let why = match has_times {
        true => "took no time of it: track_wal_io_timing is off",
        false => "the times are not in this listing",
    };
    let claim = format!(
        "PostgreSQL wrote its log {} times and synchronised it {} times, and {why}, so no latency can be given ({})",
        count(writes as u64),
        count(syncs as u64),
        place(table)
    );
    Note::of(&catalogue::LATENCY_SOURCE, Info, claim)
        .number("writes", writes)
        .number("syncs", syncs)
        .advice(TIMING)
}

fn untimed_wal(tables: Tables<'_>, table: &Table) -> Option<Note> {
    let sum = |key: &str| {
        lines(table)
            .filter_map(|line| line.number(key))
            .sum::<f64>()
    };
    if !has(table, "wal_sync") {
        let is_beside = tables.of("pg_stat_io").next().is_some();
        let claim = format!(
            "this pg_stat_wal counts no syncs of the log, as from PostgreSQL 18 on: nothing of their times can be \
             judged ({})",
            place(table)
        );
        let advice = "See pg_stat_io, object wal, with track_wal_io_timing = on.";
        let note = Note::of(&catalogue::LATENCY_SOURCE, Info, claim).advice(advice);
        return (!is_beside).then_some(note);
    }
    let (syncs, timed) = (sum("wal_sync"), sum("wal_sync_time_ms"));
    let has_times = has(table, "wal_sync_time_ms");
    (syncs > 0.0 && timed == 0.0).then(|| untimed(sum("wal_write"), syncs, has_times, table))
}

fn has(table: &Table, key: &str) -> bool {
    table.columns.iter().any(|column| column.key == key)
}

fn untimed_io(table: &Table) -> Option<Note> {
    let of_log = |key: &'static str| {
        let of_log = lines(table).filter(|line| line.text("object") == "wal");
        of_log.filter_map(|line| line.number(key)).sum::<f64>()
    };
    let (syncs, timed) = (of_log("fsyncs"), of_log("fsync_time_ms"));
    let has_times = has(table, "fsync_time_ms");
    (syncs > 0.0 && timed == 0.0).then(|| untimed(of_log("writes"), syncs, has_times, table))
}

/// fio that synchronised nothing, as far as its own words show.
fn without_flushes(tables: Tables<'_>, notes: &mut Vec<Note>) {
    let is_durable = |option: &str| match option.trim().split_once('=') {
        Some(("sync", how)) => ["1", "sync", "dsync"].contains(&how),
        Some(("fsync" | "fdatasync", every)) => every != "0",
        _ => false,
    };
    for table in tables.of("fio_latency") {
        let has = |direction| lines(table).any(|line| line.text("direction") == direction);
        let of_file = tables.of("fio_jobs").filter(|jobs| jobs.file == table.file);
        let asks = of_file.flat_map(lines).any(|line| {
            let mut options = line.text("method").split([' ', ',']);
            options.any(is_durable)
        });
        if has("sync") || asks || !has("write") {
            continue;
        }
        let claim = format!(
            "fio measured no sync: its writes may end in a cache, and say nothing of a commit ({})",
            place(table)
        );
        notes.push(
            Note::of(&catalogue::LATENCY_SOURCE, Info, claim)
                .advice("Measure with --fdatasync=1, or with redolab check."),
        );
    }
}

/// A table without times of single waits: its id, what it is, what to see instead, and the tables
/// that have such times beside it.
type Timeless = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// Sources that count and time nothing, or have averages of intervals alone.
fn counts_alone(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    const ALL: [Timeless; 5] = [
        (
            "mysql_status",
            "MySQL's status",
            "redolab watch, or performance_schema's file_summary_by_event_name",
            &[],
        ),
        ("innodb_status", "InnoDB's status", "redolab watch", &[]),
        (
            "hammerdb",
            "HammerDB's result",
            "its time profile",
            &["hammerdb_profile"],
        ),
        (
            "pgbench_progress",
            "pgbench's progress",
            "its summary, or pgbench -l",
            &["pgbench", "pgbench_intervals"],
        ),
        (
            "fio_log",
            "fio's log",
            "fio's JSON (--output-format=json+) with --fdatasync=1",
            &["fio_latency"],
        ),
    ];
    for (id, what, instead, timed) in ALL {
        let table = tables.of(id).next();
        let is_timed = timed.iter().any(|id| tables.of(id).next().is_some());
        let Some(table) = table.filter(|_| !is_timed) else {
            continue;
        };
        let (counted, mean_ms) = match id {
            "mysql_status" => counted(tables, table, t),
            _ => (String::new(), None),
        };
        if let Some(ms) = mean_ms {
            let claim = format!(
                "{what}{}, a mean hides rare long ones ({})",
                counted,
                place(table)
            );
            let claim = claim.replacen("; ", ": ", 1);
            let weight = band(ms, t).0;
            let note = Note::of(&catalogue::LATENCY_SOURCE, weight, claim);
            notes.push(note.maybe("mean_ms", mean_ms).advice_if(weight >= Caution));
            continue;
        }
        let nothing = match counted.is_empty() {
            true => ": nothing of them can be judged",
            false => "",
        };
        let claim = format!(
            "{what} has no time of single waits for the log{nothing}{counted} ({})",
            place(table)
        );
        notes.push(
            Note::of(&catalogue::LATENCY_SOURCE, Info, claim).advice(format!("See {instead}.")),
        );
    }
}
