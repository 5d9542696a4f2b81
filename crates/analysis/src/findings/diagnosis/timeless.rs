//! Sources that have no times of single waits for the log: what they count, and what to see
//! instead.

use super::super::evidence::view::{Line, Tables, lines, place};
use super::super::note::Note;
use super::super::{Info, catalogue};
use crate::format::count;
use measure::imported::Table;

pub(super) fn collect(tables: Tables<'_>, notes: &mut Vec<Note>) {
    without_flushes(tables, notes);
    counts_alone(tables, notes);
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

/// What counters of MySQL say since its start: syncs per commit, waits for the log buffer.
fn counted(table: &Table) -> String {
    let of = |name: &str| {
        let is_it = |line: &Line<'_>| line.text("variable") == name;
        lines(table).find(is_it)?.number("value")
    };
    let commits = of("Com_commit").filter(|n| *n > 0.0);
    let syncs = of("Innodb_os_log_fsyncs").zip(commits);
    let syncs = syncs
        .map(|(syncs, commits)| format!("; {:.2} syncs of the log per commit", syncs / commits));
    let waits = of("Innodb_log_waits").filter(|n| *n > 0.0);
    let waits = waits.map(|n| {
        format!(
            "; {} waits for room in the log buffer: look at innodb_log_buffer_size",
            count(n as u64)
        )
    });
    [syncs, waits].into_iter().flatten().collect()
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
fn counts_alone(tables: Tables<'_>, notes: &mut Vec<Note>) {
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
        let claim = format!(
            "{what} has no time of single waits for the log: nothing of them can be judged{} ({})",
            counted(table),
            place(table)
        );
        notes.push(
            Note::of(&catalogue::LATENCY_SOURCE, Info, claim).advice(format!("See {instead}.")),
        );
    }
}
