//! What each source of latencies shows of the log, in the same bands whatever made it: the tail
//! first, then the mean, and what it cannot show.
//!
//! Invariants: every source has a word, also a healthy one, since silence looks like health; a
//! percentile of a handful of values is none; what holds more than a sync (a transaction) is never
//! called slow by its mean.

use super::super::evidence::view::{Line, Tables, lines, place};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::figures::WAITS_MIN;
use super::humps::two_groups;
use super::tails::{OUTLIER_MS, named, slow, slow_in_words};
use crate::format::{count, latency};
use crate::thresholds::Thresholds;
use measure::imported::Table;
use std::collections::BTreeMap;

/// Notes of one table at most: the slowest lines.
const NOTES_MAX: usize = 3;
/// Most of a table's waits: the bucket in which these are is its percentile.
const MOST: f64 = 0.99;

/// What one line, or one histogram, shows.
struct SourceTimes<'a> {
    what: String,
    waits: Option<f64>,
    mean_ms: Option<f64>,
    /// The percentile in words, and its time.
    tail: Option<(&'static str, f64)>,
    longest_ms: Option<f64>,
    /// What is written behind the figures.
    more: String,
    table: &'a Table,
    /// Of one sync of a log; else of something that contains more.
    is_sync: bool,
    /// What it does not show.
    cannot: &'a str,
}

impl SourceTimes<'_> {
    fn has_times(&self) -> bool {
        [self.mean_ms, self.longest_ms, self.tail.map(|(_, ms)| ms)]
            .iter()
            .any(Option::is_some)
    }

    fn worst(&self) -> f64 {
        let all = [self.mean_ms, self.tail.map(|(_, ms)| ms), self.longest_ms];
        all.into_iter().flatten().fold(0.0, f64::max)
    }

    /// Too many of them are slow: the mean or the percentile of a sync, or a single one.
    fn is_slow(&self, t: &Thresholds) -> bool {
        let is_over = |of: Option<f64>, limit: f64| of.is_some_and(|ms| ms >= limit);
        let tail = self.tail.map(|(_, ms)| ms);
        is_over(self.longest_ms, OUTLIER_MS)
            || self.is_sync
                && (is_over(self.mean_ms, t.write_mean_fair_ms.value)
                    || is_over(tail, t.tail_p999_ms.value))
    }

    fn note(&self, t: &Thresholds) -> Note {
        let time = |name: &str, ms: f64| format!("{name} {}", latency(ms * 1e6));
        let parts = [
            self.longest_ms.map(|ms| time("the longest", ms)),
            self.tail.map(|(name, ms)| time(name, ms)),
            self.mean_ms.map(|ms| time("a mean of", ms)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let over = match self.waits {
            Some(waits) => format!(" over {} of them", count(waits as u64)),
            None => String::new(),
        };
        let banded = self.mean_ms.filter(|_| self.is_sync).map(|ms| band(ms, t));
        let words = banded.as_ref();
        let words = words.map_or_else(String::new, |(_, words)| format!(", {words}"));
        let cannot = match self.cannot {
            "" => String::new(),
            cannot => format!("; {cannot}"),
        };
        let claim = format!(
            "{}: {}{over}{words}{}{cannot} ({})",
            self.what,
            parts.join(", "),
            self.more,
            place(self.table)
        );
        let floor = &t.flush_floor_us;
        let is_too_fast = self.is_sync && self.mean_ms.is_some_and(|ms| ms < floor.value / 1e3);
        let note = match (self.is_slow(t), banded) {
            _ if is_too_fast => {
                let claim = format!("{claim}: no device answers that fast");
                Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
                    .limit(format!("a mean sync under {} us", floor.value), floor)
            }
            (true, _) if self.is_sync => slow(claim, t),
            (is_slow, banded) => {
                let weight = match banded {
                    _ if is_slow => Caution,
                    Some((weight, _)) => weight,
                    None => Info,
                };
                Note::of(&catalogue::LATENCY_SOURCE, weight, claim)
                    .limit(slow_in_words(t), &t.write_mean_fair_ms)
                    .advice_if(is_slow)
            }
        };
        note.maybe("mean_ms", self.mean_ms)
            .maybe("tail_ms", self.tail.map(|(_, ms)| ms))
            .maybe("longest_ms", self.longest_ms)
            .maybe("waits", self.waits)
    }
}

/// What the columns of a table of times are.
struct SourceColumns {
    table: &'static str,
    what: &'static str,
    /// Column that has to have one of these words.
    only: Option<(&'static str, &'static [&'static str])>,
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

const SYNCS: SourceColumns = SourceColumns {
    table: "fio_latency",
    what: "fio's syncs",
    only: Some(("direction", &["sync"])),
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
};
const SOURCES: &[SourceColumns] = &[
    SYNCS,
    SourceColumns {
        table: "fio_all_clients_latency",
        ..SYNCS
    },
    POSTGRES,
    SourceColumns {
        table: "pg_stat_wal_change",
        ..POSTGRES
    },
    SourceColumns {
        table: "pg_stat_io",
        what: "syncs of PostgreSQL's log",
        only: Some(("object", &["wal"])),
        count: "fsyncs",
        sum: "fsync_time_ms",
        who: "backend_type",
        ..POSTGRES
    },
    SourceColumns {
        table: "sqlserver_waits",
        what: "SQL Server's log waits",
        only: Some(("wait_type", &["WRITELOG", "PREEMPTIVE_OS_FLUSHFILEBUFFERS"])),
        count: "waits",
        mean: "mean_ms",
        longest: "max_ms",
        processor: "signal_ms",
        unit_ms: 1.0,
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

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for of in SOURCES {
        for table in tables.of(of.table) {
            let all = lines(table).filter_map(|line| of_line(&line, of));
            several(all.collect(), t, notes);
        }
    }
    for table in tables.of("sysbench") {
        several(sysbench(table).into_iter().collect(), t, notes);
    }
    for of in HISTOGRAMS {
        for table in tables.of(of.table) {
            several(histograms(table, of), t, notes);
        }
    }
}

/// The slow lines of a table, the slowest first, else the one with most waits.
fn several(mut all: Vec<SourceTimes<'_>>, t: &Thresholds, notes: &mut Vec<Note>) {
    all.retain(SourceTimes::has_times);
    let waits = |of: &SourceTimes<'_>| of.waits.unwrap_or(0.0);
    let slow_first = |of: &SourceTimes<'_>| if of.is_slow(t) { of.worst() } else { 0.0 };
    all.sort_by(|a, b| {
        let by_worst = slow_first(b).total_cmp(&slow_first(a));
        by_worst.then(waits(b).total_cmp(&waits(a)))
    });
    let slow = all.iter().filter(|of| of.is_slow(t)).count();
    let shown = all.iter().filter(|of| slow == 0 || of.is_slow(t));
    let most = slow.clamp(1, NOTES_MAX);
    notes.extend(shown.take(most).map(|of| of.note(t)));
}

fn of_line<'a>(line: &Line<'a>, of: &SourceColumns) -> Option<SourceTimes<'a>> {
    let word = of.only.map(|(column, _)| line.text(column));
    if let Some((_, wanted)) = of.only
        && !wanted.contains(&word.unwrap_or_default())
    {
        return None;
    }
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
             processors come first and the device second"
        )
    };
    let who = match line.text(of.who) {
        "" => word.unwrap_or_default(),
        who => who,
    };
    Some(SourceTimes {
        what: format!("{}{}", of.what, named(who)),
        waits,
        mean_ms: processor.map(|(signal, mean)| mean - signal).or(mean_ms),
        tail: ms(of.p99)
            .filter(|_| waits.is_none_or(|waits| waits >= WAITS_MIN))
            .map(|ms| ("a 99th percentile of", ms)),
        // Which part of the longest is the write's is not known.
        longest_ms: longest_ms.filter(|_| processor.is_none()),
        more: processor.map_or_else(String::new, in_words),
        table: line.table(),
        is_sync: of.is_sync,
        cannot: of.cannot,
    })
}

/// Part of a wait from which waiting for a processor is the larger matter.
const PROCESSOR: f64 = 0.5;

/// The section of latencies of sysbench.
fn sysbench(table: &Table) -> Option<SourceTimes<'_>> {
    let figure = |section: &str, name: &str| {
        let is_it = |line: &Line<'_>| {
            line.text("section").starts_with(section) && line.text("figure") == name
        };
        lines(table).find(is_it)?.number("value")
    };
    let ms = |name: &str| figure("Latency", name);
    let is_of_files = figure("File operations", "fsyncs/s").is_some();
    let what = match is_of_files {
        true => "sysbench's operations on files",
        false => "sysbench's transactions",
    };
    Some(SourceTimes {
        what: what.to_owned(),
        waits: figure("General", "total number of events"),
        mean_ms: Some(ms("avg")?),
        tail: ms("99th percentile")
            .map(|ms| ("a 99th percentile of", ms))
            .or_else(|| Some(("a 95th percentile of", ms("95th percentile")?))),
        longest_ms: ms("max"),
        more: String::new(),
        table,
        is_sync: false,
        cannot: match is_of_files {
            true => "reads, writes and syncs are one figure",
            false => "statements are in it",
        },
    })
}

/// What the columns of a histogram are.
struct HistogramColumns {
    table: &'static str,
    what: &'static str,
    /// Columns that tell one histogram from another.
    key: &'static [&'static str],
    to: &'static str,
    unit_ms: f64,
    cannot: &'static str,
}

const HISTOGRAMS: &[HistogramColumns] = &[
    HistogramColumns {
        table: "ebpf_histogram",
        what: "a histogram of the kernel",
        key: &["histogram", "of", "unit"],
        to: "to",
        unit_ms: 1e-3,
        cannot: "which of them are the log's is not known",
    },
    HistogramColumns {
        table: "sysbench_histogram",
        what: "sysbench's histogram",
        key: &[],
        to: "value_ms",
        unit_ms: 1.0,
        cannot: "everything that it did is in it",
    },
    HistogramColumns {
        table: "fio_log_bins",
        what: "fio's completions",
        key: &["direction"],
        to: "to_ns",
        unit_ms: 1e-6,
        cannot: "a completion is no sync",
    },
];

/// Each histogram of a table: the bounds below which most and all of its waits are.
fn histograms<'a>(table: &'a Table, of: &'static HistogramColumns) -> Vec<SourceTimes<'a>> {
    let mut all: BTreeMap<Vec<&str>, Vec<(f64, f64)>> = BTreeMap::new();
    for line in lines(table) {
        let known = line.number(of.to).zip(line.number("count"));
        let Some((to, waits)) = known.filter(|(_, waits)| *waits > 0.0) else {
            continue;
        };
        // Bounds that are no times: sizes, lengths of queues.
        let unit_ms = match line.text("unit") {
            "" => of.unit_ms,
            "nsecs" => 1e-6,
            "usecs" => 1e-3,
            "msecs" => 1.0,
            _ => continue,
        };
        let key = of.key.iter().map(|key| line.text(key)).collect();
        let buckets: &mut Vec<(f64, f64)> = all.entry(key).or_default();
        buckets.push((to * unit_ms, waits));
    }
    let each = all.into_iter().map(|(key, mut buckets)| {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let waits: f64 = buckets.iter().map(|(_, waits)| waits).sum();
        let mut seen = 0.0;
        let most = buckets.iter().find(|(_, waits_of)| {
            seen += waits_of;
            seen >= MOST * waits
        });
        let key: Vec<&str> = key.into_iter().filter(|part| !part.is_empty()).collect();
        SourceTimes {
            what: format!("{}{}", of.what, named(&key.join(", "))),
            waits: Some(waits),
            mean_ms: None,
            tail: most
                .filter(|_| waits >= WAITS_MIN)
                .map(|(ms, _)| ("99 % under", *ms)),
            longest_ms: buckets.last().map(|(ms, _)| *ms),
            more: two_groups(&buckets).unwrap_or_default(),
            table,
            is_sync: false,
            cannot: of.cannot,
        }
    });
    each.collect()
}
