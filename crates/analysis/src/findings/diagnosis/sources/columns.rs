//! Tables with a number, a mean or a sum, a percentile and the longest of waits: what their columns
//! are, and what a line of them shows.

use super::super::super::evidence::view::{Line, lines};
use super::super::figures::WAITS_MIN;
use super::times::SourceTimes;
use crate::format::latency;
use measure::imported::Table;

/// What the columns of a table of times are.
pub(super) struct SourceColumns {
    pub(super) table: &'static str,
    /// Id of the table of differences between two listings, which answers where there is one.
    pub(super) change: &'static str,
    what: &'static str,
    /// Column that has to have one of these words among those that it joins.
    only: Option<(&'static str, &'static [&'static str])>,
    /// Column and word of lines that are a rare cost, and why they are.
    rare: Option<(&'static str, &'static str, &'static str)>,
    /// Columns of the number, the mean (or the sum), the 99th percentile and the longest, with
    /// milliseconds per unit of the last three.
    count: &'static str,
    mean: &'static str,
    sum: &'static str,
    p99: &'static str,
    longest: &'static str,
    /// Columns of who waited, and of the part of the sum that is waiting for a processor.
    who: &'static str,
    processor: &'static str,
    unit_ms: f64,
    is_sync: bool,
    cannot: &'static str,
}

impl SourceColumns {
    /// Whether a line has a sum of times.
    pub(super) fn has_time(&self, line: &Line<'_>) -> bool {
        line.number(self.sum).is_some_and(|sum| sum > 0.0)
    }
}

const SYNCS: SourceColumns = SourceColumns {
    table: "fio_latency",
    change: "",
    what: "fio's syncs",
    only: Some(("direction", &["sync"])),
    rare: None,
    count: "count",
    mean: "mean_us",
    sum: "",
    p99: "p99_us",
    longest: "max_us",
    who: "",
    processor: "",
    unit_ms: 1e-3,
    is_sync: true,
    cannot: "",
};
const POSTGRES: SourceColumns = SourceColumns {
    table: "pg_stat_wal",
    change: "pg_stat_wal_change",
    what: "syncs of PostgreSQL's log",
    only: None,
    count: "wal_sync",
    mean: "",
    sum: "wal_sync_time_ms",
    p99: "",
    longest: "",
    unit_ms: 1.0,
    cannot: "a mean hides rare long ones",
    ..SYNCS
};
/// Contexts of `pg_stat_io`: `init` is the making of new segments.
const NEW_SEGMENTS: &str = ", for new segments of the log (init)";
const POSTGRES_IO: SourceColumns = SourceColumns {
    table: "pg_stat_io",
    change: "pg_stat_io_change",
    only: Some(("object", &["wal"])),
    rare: Some(("context", "init", NEW_SEGMENTS)),
    count: "fsyncs",
    sum: "fsync_time_ms",
    who: "backend_type",
    ..POSTGRES
};
const TRANSACTIONS: SourceColumns = SourceColumns {
    table: "pgbench",
    what: "pgbench's transactions",
    only: None,
    count: "transactions",
    mean: "latency_avg_ms",
    sum: "",
    p99: "",
    longest: "",
    who: "",
    processor: "",
    unit_ms: 1.0,
    is_sync: false,
    cannot: "statements are in it, and a mean hides rare long ones: see pgbench -l, or pg_stat_io",
    ..SYNCS
};
const SQL_SERVER: SourceColumns = SourceColumns {
    table: "sqlserver_waits",
    change: "sqlserver_waits_change",
    what: "SQL Server's log waits",
    only: Some(("wait_type", &["WRITELOG", "PREEMPTIVE_OS_FLUSHFILEBUFFERS"])),
    count: "waits",
    mean: "mean_ms",
    sum: "wait_ms",
    longest: "max_ms",
    processor: "signal_ms",
    unit_ms: 1.0,
    cannot: "waits are counted since the server's start, unless the listing is a difference",
    ..SYNCS
};
pub(super) const SOURCES: &[SourceColumns] = &[
    SYNCS,
    SourceColumns {
        table: "fio_all_clients_latency",
        ..SYNCS
    },
    POSTGRES,
    SourceColumns {
        table: "pg_stat_wal_change",
        change: "",
        ..POSTGRES
    },
    POSTGRES_IO,
    SourceColumns {
        table: "pg_stat_io_change",
        change: "",
        only: Some(("of", &["wal"])),
        rare: Some(("of", "init", NEW_SEGMENTS)),
        who: "of",
        ..POSTGRES_IO
    },
    SQL_SERVER,
    SourceColumns {
        table: "sqlserver_waits_change",
        change: "",
        longest: "",
        cannot: "a mean hides rare long ones",
        ..SQL_SERVER
    },
    SourceColumns {
        table: "sqlserver_files",
        what: "writes of SQL Server's log file",
        only: Some(("holds", &["log"])),
        count: "writes",
        mean: "",
        sum: "stall_ms",
        longest: "",
        who: "database",
        unit_ms: 1.0,
        cannot: "a mean hides rare long ones",
        ..SYNCS
    },
    TRANSACTIONS,
    SourceColumns {
        table: "pgbench_intervals",
        mean: "latency_avg_ms",
        longest: "latency_max_ms",
        cannot: "statements are in it",
        ..TRANSACTIONS
    },
    SourceColumns {
        table: "hammerdb_profile",
        what: "a procedure of HammerDB",
        only: Some(("procedure", &["NEWORD", "neword"])),
        count: "calls",
        mean: "mean_ms",
        p99: "p99_ms",
        longest: "max_ms",
        cannot: "the whole transaction is in it",
        ..TRANSACTIONS
    },
];

/// Part of a wait from which waiting for a processor is the larger matter.
const PROCESSOR: f64 = 0.5;

/// What the lines of a table show.
pub(super) fn of_table<'a>(table: &'a Table, of: &SourceColumns) -> Vec<SourceTimes<'a>> {
    lines(table).filter_map(|line| of_line(&line, of)).collect()
}

/// Whether a word is among those that a column joins.
fn has_word(line: &Line<'_>, column: &str, wanted: &[&str]) -> bool {
    let mut words = line.text(column).split(", ");
    words.any(|word| wanted.contains(&word))
}

/// What SQL Server's tasks waited for because their time on a processor was over.
fn yields(table: &Table) -> String {
    let is_it = |line: &Line<'_>| line.text("wait_type") == "SOS_SCHEDULER_YIELD";
    let known = lines(table).find(is_it);
    let seconds = known.and_then(|line| Some(line.number("signal_ms")? / 1e3));
    seconds.map_or_else(String::new, |seconds| {
        format!(
            " (SOS_SCHEDULER_YIELD: {} s of such waits)",
            crate::format::digits(seconds)
        )
    })
}

fn of_line<'a>(line: &Line<'a>, of: &SourceColumns) -> Option<SourceTimes<'a>> {
    if let Some((column, wanted)) = of.only
        && !has_word(line, column, wanted)
    {
        return None;
    }
    let word = of.only.map(|(column, _)| line.text(column));
    let ms = |key: &str| Some(line.number(key)? * of.unit_ms);
    let waits = line.number(of.count);
    let per_wait = |key: &str| Some(ms(key)? / waits.filter(|waits| *waits > 0.0)?);
    let word = word.filter(|word| !["sync", "wal"].contains(word));
    let mean_ms = ms(of.mean)
        .or_else(|| per_wait(of.sum))
        .filter(|ms| *ms > 0.0);
    let processor = per_wait(of.processor).zip(mean_ms);
    let processor = processor.filter(|(signal, mean)| *signal >= PROCESSOR * mean);
    let longest_ms = ms(of.longest).filter(|ms| *ms > 0.0);
    let in_words = |(signal, mean)| {
        let longest = longest_ms.map_or_else(String::new, |ms| {
            format!(" (the longest {})", latency(ms * 1e6))
        });
        let [signal, mean] = [signal, mean].map(|ms: f64| latency(ms * 1e6));
        format!(
            ": of the whole mean of {mean}{longest}, {signal} is waiting for a processor behind the log write, so the \
             processors come first and the device second{}",
            yields(line.table())
        )
    };
    let who = match line.text(of.who) {
        "" => word.unwrap_or_default(),
        who => who,
    };
    let rare = of
        .rare
        .filter(|(column, word, _)| has_word(line, column, &[*word]));
    Some(SourceTimes {
        who: who.to_owned(),
        waits,
        mean_ms: processor.map(|(signal, mean)| mean - signal).or(mean_ms),
        tail: ms(of.p99)
            .filter(|_| waits.is_none_or(|waits| waits >= WAITS_MIN))
            .map(|ms| ("a 99th percentile of", ms)),
        // Which part of the longest is the write's is not known.
        longest_ms: longest_ms.filter(|_| processor.is_none()),
        more: processor.map_or_else(String::new, in_words),
        is_sync: of.is_sync,
        cannot: of.cannot,
        rare: rare.map_or("", |(.., why)| why),
        ..SourceTimes::of(of.what, line.table())
    })
}
