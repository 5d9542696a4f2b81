//! Platforms by workload: the row of each in which most commits were made, with what follows from
//! it, as a table of its own; and the claim that short transactions gain most.
//!
//! Invariant: a figure of which a part is missing is blank.

use super::sweep::{Groups, groups};
use super::sweep_claims::{pairs, peak, workloads};
use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, place, show};
use crate::findings::note::Note;
use crate::findings::{Caution, Info};
use measure::imported::{Cell, Column, Imported, Table};

/// Id of the table.
pub(crate) const SWEEP_PEAKS: &str = "sweep_peaks";
/// Gains of neighbouring workloads that differ by less are equal.
const EQUAL: f64 = 1.02;
/// Bytes of a kB of published tables.
const KB: f64 = 1024.0;

/// How a cell follows from the line of the peak.
type OfPeak = fn(&Line<'_>) -> Option<f64>;

/// The figures: key, heading, how they follow.
const FIGURES: [(&str, &str, OfPeak); 7] = [
    ("commits_per_s", "Commits/s", |l| l.number(TPS)),
    ("redo_mbps", "Redo MB/s", |l| l.number("redo_data_mbps")),
    ("commit_latency_ms", "Commit ms", |l| {
        l.number("commit_latency_ms")
    }),
    ("log_file_sync_ms", "Sync ms", |l| {
        l.number("log_file_sync_ms")
    }),
    ("sync_share_pct", "Sync %", sync_share),
    ("commits_per_write", "Commits/write", |l| {
        Some(l.number(TPS)? / writes(l)?)
    }),
    ("bytes_per_write", "Bytes/write", |l| {
        Some(l.number("redo_data_kb_per_txn")? * KB * l.number(TPS)? / writes(l)?)
    }),
];
const TPS: &str = "commit_throughput_tps";

fn writes(line: &Line<'_>) -> Option<f64> {
    line.number("redo_writes_iops").filter(|n| *n > 0.0)
}

fn sync_share(line: &Line<'_>) -> Option<f64> {
    let commit = line.number("commit_latency_ms").filter(|ms| *ms > 0.0)?;
    Some(100.0 * line.number("log_file_sync_ms")? / commit)
}

/// Redo of a transaction in kB, the mean over all lines of a workload.
fn redo_kb(groups: &Groups<'_>, workload: &str) -> Option<f64> {
    let of = groups.iter().filter(|((_, name), _)| *name == workload);
    let all = of.flat_map(|(_, lines)| lines);
    let known: Vec<f64> = all
        .filter_map(|l| l.number("redo_data_kb_per_txn"))
        .collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The table, of evidence with sweeps: workloads by the redo of a transaction, platforms by their
/// rates, how many times as much as the slowest of the workload.
#[must_use]
pub fn table(imported: &Imported) -> Option<Table> {
    let groups = groups(&Tables(&imported.tables));
    let mut peaks = Vec::new();
    for ((platform, workload), lines) in &groups {
        let rate = |l: &&Line<'_>| l.number(TPS).unwrap_or(0.0);
        let top = lines.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        // A single line is no sweep.
        let top = top.filter(|l| lines.len() > 1 && rate(l) > 0.0);
        let Some(top) = top else { continue };
        let share = lines.first().and_then(sync_share);
        peaks.push((*workload, *platform, top, share, redo_kb(&groups, workload)));
    }
    let rate = |l: &Line<'_>| l.number(TPS).unwrap_or(0.0);
    peaks.sort_by(|a, b| {
        let sizes = a.4.unwrap_or(0.0).total_cmp(&b.4.unwrap_or(0.0));
        sizes
            .then(a.0.cmp(b.0))
            .then(rate(b.2).total_cmp(&rate(a.2)))
    });
    let column = |key: &str, heading: &str| Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    };
    let mut columns = vec![
        column("workload", "Workload"),
        column("platform", "Platform"),
        column("times", "Times"),
        column("jobs", "Jobs"),
    ];
    columns.extend(FIGURES.iter().map(|(key, heading, _)| column(key, heading)));
    columns.push(column("sync_share_first_pct", "Sync %, few jobs"));
    let known = |value: Option<f64>| value.map_or(Cell::Blank, Cell::Real);
    let row = |(workload, platform, top, share, _): &(&str, &str, &Line<'_>, Option<f64>, _)| {
        let same = peaks.iter().filter(|of| of.0 == *workload);
        let slowest = same.map(|of| rate(of.2)).fold(f64::INFINITY, f64::min);
        let mut cells = vec![
            Cell::Text((*workload).to_owned()),
            Cell::Text((*platform).to_owned()),
            known(Some(rate(top) / slowest)),
            top.number("jobs")
                .map_or(Cell::Blank, |jobs| Cell::Count(jobs as u64)),
        ];
        cells.extend(FIGURES.iter().map(|(.., of)| known(of(top))));
        cells.push(known(*share));
        cells
    };
    let rows: Vec<Vec<Cell>> = peaks.iter().map(row).collect();
    let origin = |((_, _, top, ..), cells): (&(&str, &str, &Line<'_>, _, _), &Vec<Cell>)| {
        let line = top.number("line").map_or(1, |line| line as u64);
        super::super::super::agreement::computed(&top.table().file, line, cells)
    };
    let origins = peaks.iter().zip(&rows).map(origin).collect();
    (!rows.is_empty()).then(|| Table {
        id: SWEEP_PEAKS.to_owned(),
        title: "Platforms by workload, each at its highest rate".to_owned(),
        columns,
        rows,
        origins,
        formulas: vec!["the line of the sweep with most commits per second".to_owned()],
        ..Table::default()
    })
}

/// `most effective for short transactions`: whether the gain falls with the redo of a transaction,
/// peak against peak.
pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let groups = groups(tables);
    for claim in tables.lines("size_claims") {
        let is_short = claim.text("size") == "short";
        for (old, new) in pairs(&groups) {
            let gain = |w| {
                let of = |platform: &str| {
                    let known = groups.keys().map(|(p, _)| *p).find(|p| *p == platform)?;
                    peak(&groups, known, w, TPS)
                };
                Some((redo_kb(&groups, w)?, of(new)? / of(old)?, w))
            };
            let all = workloads(&groups, old, new);
            let mut gains: Vec<(f64, f64, &str)> = all.into_iter().filter_map(gain).collect();
            gains.sort_by(|a, b| a.0.total_cmp(&b.0));
            if gains.len() >= 2 {
                notes.push(judged(&claim, (old, new), &gains, is_short));
            }
        }
    }
}

fn judged(
    claim: &Line<'_>,
    (old, new): (&str, &str),
    gains: &[(f64, f64, &str)],
    is_short: bool,
) -> Note {
    let ends = [gains.first(), gains.last()].map(|of| of.map_or(1.0, |(_, gain, _)| *gain));
    let holds = match is_short {
        true => ends[0] > EQUAL * ends[1],
        false => ends[1] > EQUAL * ends[0],
    };
    let against = gains.windows(2).filter(|pair| match is_short {
        true => pair[1].1 > EQUAL * pair[0].1,
        false => pair[0].1 > EQUAL * pair[1].1,
    });
    let against: Vec<String> = against
        .map(|pair| {
            let (a, b) = (&pair[0], &pair[1]);
            format!(
                "from {} to {} it goes the other way ({:.2} to {:.2})",
                a.2, b.2, a.1, b.1
            )
        })
        .collect();
    let named = gains.iter().map(|(kb, gain, name)| {
        format!(
            "{gain:.2} at {} kB of redo per transaction ({name})",
            show(*kb)
        )
    });
    let named: Vec<String> = named.collect();
    let exceptions = match against.as_slice() {
        [] => String::new(),
        all => format!("; {}", all.join("; ")),
    };
    let (entry, weight, word) = match holds {
        true => (&catalogue::EVIDENCE_CLAIM_HOLDS, Info, "holds"),
        false => (&catalogue::EVIDENCE_CLAIM, Caution, "does not hold"),
    };
    let text = format!(
        "`{}` {word}: {new} commits, peak against peak, {} times as much as {old}{exceptions} ({})",
        claim.text("claim"),
        named.join(", "),
        place(claim.table())
    );
    let mut note = Note::of(entry, weight, text);
    for (_, gain, name) in gains {
        note = note.number(format!("gain_{name}"), *gain);
    }
    note.number("exceptions", against.len() as f64)
        .rule("the gain of the smallest transactions against that of the largest, of peak rates")
}
