//! The four figures of the first screen.
//!
//! Invariants: those of a run are of one row, apart from the redo rate; what is not known is left
//! out.

use super::escape::esc;
use crate::envelope::{Envelope, best_commits, p99_unknown};
use crate::findings::diagnosis;
use crate::format;
use crate::rows::{commit_wait_of, name_of, redo_mbps, sync_of, write_of};
use measure::imported::Imported;
use measure::run::{Row, Run, WaitStats};

/// A key figure.
pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    /// At which load, and what is shown with it.
    pub(super) note: String,
}

/// The four figures of a run, of the row that committed most within the bound on the 99th
/// percentile; the redo rate is of the row that wrote most.
pub(super) fn tiles(run: &Run) -> Vec<Tile> {
    if let Some(evidence) = &run.imported {
        return evidence_tiles(run, evidence);
    }
    let Some((row, bound)) = best_row(run) else {
        return redo(run).into_iter().collect();
    };
    [
        commits(run, row, bound),
        tail(run, row),
        write(row),
        redo(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the evidence has of the same figures; of several reports the first that has them.
fn evidence_tiles(run: &Run, evidence: &Imported) -> Vec<Tile> {
    let waits = waits_of(evidence);
    let mean = |label: &'static str, known: Option<(f64, f64)>, row: Option<&WaitStats>| {
        let (ns, count) = known.or_else(|| row.map(|w| (w.mean_ns, w.count as f64)))?;
        let (value, unit) = split_unit(ns);
        let note = format::plural(count.max(0.0) as u64, "wait");
        Some(Tile {
            label,
            value,
            unit,
            note,
        })
    };
    let of_row = |of: fn(&Row) -> Option<&WaitStats>| {
        run.rows
            .iter()
            .find_map(|row| of(row).filter(|w| w.count > 0))
    };
    let commits = run.rows.iter().find_map(|r| r.commit_throughput_tps);
    let redo = run.rows.iter().find_map(redo_mbps);
    let plain = |label, value: Option<f64>, unit| {
        let value = format::digits(value.filter(|v| *v > 0.0)?);
        Some(Tile {
            label,
            value,
            unit,
            note: String::new(),
        })
    };
    [
        mean("Log file sync, mean", waits.map(|w| w.0), of_row(sync_of)),
        mean(
            "Log file parallel write, mean",
            waits.map(|w| w.1),
            of_row(write_of),
        ),
        plain("Commits", commits, "/s"),
        plain("Redo", redo, "MB/s"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Mean nanoseconds and number of log file sync, then of log file parallel write, of the first
/// report that has both.
pub(super) fn waits_of(evidence: &Imported) -> Option<((f64, f64), (f64, f64))> {
    diagnosis::commit_waits(evidence)
        .first()
        .map(|w| (w.sync, w.write))
}

/// The row, and the bound that its 99th percentile keeps, nanoseconds.
fn best_row(run: &Run) -> Option<(&Row, Option<u64>)> {
    let bound = run.need.p99_ns.or(Envelope::of(run).commits.map(|c| c.1));
    let within = bound.and_then(|b| Some((best_commits(run, Some(b))?, Some(b))));
    let rate = |row: &&Row| row.commit_throughput_tps.unwrap_or(0.0);
    let fastest = || {
        let rows = run.rows.iter().filter(|row| rate(row) > 0.0);
        rows.max_by(|a, b| rate(a).total_cmp(&rate(b)))
            .or_else(|| run.rows.first())
    };
    within
        .or_else(|| Some((best_commits(run, None)?, None)))
        .or_else(|| Some((fastest()?, None)))
}

fn needed(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!("; needed: {text}"))
}

fn commits(run: &Run, row: &Row, bound: Option<u64>) -> Option<Tile> {
    let bound = bound.map_or_else(String::new, |b| {
        format!(", p99 under {}", format::latency(b as f64))
    });
    let need = run.need.commit_rate.map(format::digits);
    Some(Tile {
        label: "Commits",
        value: format::digits(row.commit_throughput_tps?),
        unit: "/s",
        note: format!("{}{bound}{}{}", name_of(row), sustained(run), needed(need)),
    })
}

/// What is left of it when burst credits are spent.
fn sustained(run: &Run) -> String {
    let found = Envelope::of(run).sustained;
    found.map_or_else(String::new, |s| {
        format!("; sustained: {}/s", format::digits(s.commits_per_s))
    })
}

fn tail(run: &Run, row: &Row) -> Option<Tile> {
    let wait = commit_wait_of(row)?;
    let label = match sync_of(row) {
        Some(_) => "Log file sync, p99",
        None => "Commit, p99",
    };
    let (value, unit) = match wait.p99_ns {
        Some(p99) => split_unit(p99 as f64),
        None => ("–".to_owned(), ""),
    };
    let known =
        |name: &str, ns: Option<u64>| ns.map(|ns| format!("{name} {}", format::latency(ns as f64)));
    let parts = [
        known("p50", wait.p50_ns),
        known("p99.9", wait.p999_ns),
        known("longest", Some(wait.max_ns)),
    ];
    let unknown = p99_unknown(row).map(str::to_owned);
    let parts: Vec<String> = parts.into_iter().flatten().chain(unknown).collect();
    let need = run.need.p99_ns.map(|ns| format::latency(ns as f64));
    Some(Tile {
        label,
        value,
        unit,
        note: format!("{}{}", parts.join(", "), needed(need)),
    })
}

fn write(row: &Row) -> Option<Tile> {
    let wait = write_of(row).filter(|wait| wait.count > 0)?;
    let (value, unit) = split_unit(wait.mean_ns);
    let p99 = wait.p99_ns.map_or_else(String::new, |ns| {
        format!("p99 {}, ", format::latency(ns as f64))
    });
    Some(Tile {
        label: "Log file parallel write, mean",
        value,
        unit,
        note: format!("{p99}{}", name_of(row)),
    })
}

fn redo(run: &Run) -> Option<Tile> {
    let (mbps, load_of) = match Envelope::of(run).redo_mbps {
        Some((mbps, workload)) => (mbps, workload),
        None => {
            let row = run.rows.iter().find(|row| redo_mbps(row).is_some())?;
            (redo_mbps(row)?, row.workload.clone())
        }
    };
    let need = run.need.redo_bytes_per_s;
    let need = need.map(|r| format::digits(r / measure::units::MB_BYTES));
    Some(Tile {
        label: "Redo",
        value: format::digits(mbps),
        unit: "MB/s",
        note: format!("most of all rows, {load_of}{}", needed(need)),
    })
}

fn split_unit(ns: f64) -> (String, &'static str) {
    let text = format::latency(ns);
    let unit = ["ns", "µs", "ms", "s"]
        .into_iter()
        .find(|u| text.ends_with(&format!(" {u}")))
        .unwrap_or("");
    (text.trim_end_matches(unit).trim_end().to_owned(), unit)
}

/// Key figures beside each other.
pub(super) fn tiles_html(all: &[Tile]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let body: String = all
        .iter()
        .map(|tile| {
            format!(
                "<div><dt>{}</dt><dd class=\"v\">{} <small>{}</small></dd><dd class=\"n\">{}</dd></div>",
                tile.label,
                esc(&tile.value),
                tile.unit,
                esc(&tile.note)
            )
        })
        .collect();
    format!("<dl class=\"tiles\">{body}</dl>\n")
}
