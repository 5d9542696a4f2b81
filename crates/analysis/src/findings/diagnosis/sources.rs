//! What each source of latencies shows of the log, in the same bands whatever made it: the tail
//! first, then the mean, and what it cannot show.
//!
//! Invariants: every source has a word, also a healthy one, since silence looks like health; a
//! percentile of a handful of values is none; what holds more than a sync (a transaction) is never
//! called slow by its mean; counts since a start are no answer where two listings were subtracted.

mod columns;
mod histograms;
mod statements;
mod sweep;
mod times;

use super::super::evidence::view::{Line, Tables, lines};
use super::super::note::Note;
use super::intervals::stretches;
use crate::thresholds::Thresholds;
use columns::{SOURCES, SourceColumns};
use histograms::HISTOGRAMS;
use measure::imported::Table;
use times::{SourceTimes, several};

pub(super) fn collect(
    tables: Tables<'_>,
    log_device: Option<&str>,
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    let statements = tables.of("pgbench_statements");
    let with_commits = statements.filter(|table| statements::commits(table, t, notes));
    let with_commits: Vec<&str> = with_commits.map(|table| table.file.as_str()).collect();
    let sweep = sweep::of_clients(tables);
    for of in SOURCES {
        if is_subtracted(tables, of) || of.table == "pgbench" && sweep.is_some() {
            continue;
        }
        for table in tables.of(of.table) {
            let is_in_parts = table.id == "pgbench" && with_commits.contains(&table.file.as_str());
            if !is_in_parts {
                let mut all = columns::of_table(table, of);
                compared(&mut all, tables, of.table);
                several(all, t, notes);
            }
        }
    }
    notes.extend(sweep);
    for table in tables.of("sysbench") {
        several(sysbench(table).into_iter().collect(), t, notes);
    }
    for of in HISTOGRAMS {
        for table in tables.of(of.table) {
            several(histograms::of_table(table, of, log_device), t, notes);
        }
    }
}

/// Says by how much the mean between two listings differs from that of the time before the first,
/// where there is one mean.
fn compared(all: &mut [SourceTimes<'_>], tables: Tables<'_>, table: &str) {
    /// Times that either is the other, at least.
    const APART: f64 = 2.0;
    let [now] = all else { return };
    let base = table.strip_suffix("_change");
    let before = base.and_then(|base| {
        let of = SOURCES.iter().find(|of| of.table == base)?;
        let listed = tables.of(base).map(|table| columns::of_table(table, of));
        let each = listed.filter_map(|mut all| all.pop().filter(|_| all.is_empty()));
        // Counters only grow: the first listing has the least.
        let number = |of: &SourceTimes<'_>| of.waits.unwrap_or(0.0);
        let first = each.min_by(|a, b| number(a).total_cmp(&number(b)));
        first?.mean_ms
    });
    if let Some((before, mean)) = before.zip(now.mean_ms)
        && (mean / before).max(before / mean) >= APART
    {
        now.more += &format!(
            ", {} times the {} of all the time before: something has changed",
            crate::format::digits(mean / before),
            crate::format::latency(before * 1e6)
        );
    }
}

/// Whether each listing of a view is part of a difference: n listings of an instance have n - 1.
fn is_subtracted(tables: Tables<'_>, of: &SourceColumns) -> bool {
    let listings: usize = tables.of(of.change).map(|table| stretches(table) + 1).sum();
    let is_timed = tables.lines(of.change).any(|line| of.has_time(&line));
    is_timed && tables.of(of.table).count() == listings
}

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
        waits: figure("General", "total number of events"),
        mean_ms: Some(ms("avg")?),
        tail: ms("99th percentile")
            .map(|ms| ("a 99th percentile of", ms))
            .or_else(|| Some(("a 95th percentile of", ms("95th percentile")?))),
        longest_ms: ms("max"),
        cannot: match is_of_files {
            true => "reads, writes and syncs are one figure",
            false => "statements are in it",
        },
        ..SourceTimes::of(what, table)
    })
}
