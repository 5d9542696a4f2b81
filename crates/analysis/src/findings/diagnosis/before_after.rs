//! What two sets of evidence show of the same thing, where no row of theirs does: histograms,
//! devices of iostat, counters of a server, diagnoses that only one of them has.
//!
//! Invariant: each side is quoted as its own evidence shows it; counters of one start are
//! subtracted, because the later reading contains the earlier one.

use super::super::evidence::view::Tables;
use super::super::production::waits as production;
use super::device::{self, RateAndWait};
use crate::format::{count, digits, latency};
use crate::thresholds::Thresholds;
use measure::imported::Imported;
use measure::judgement::{ProductionWait, Weight};
use measure::run::Run;
use measure::words;

/// Something before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeforeAfter {
    /// What it is.
    pub what: String,
    /// How it was; empty where only the other side has it.
    pub before: String,
    /// How it is.
    pub after: String,
    /// What that says; empty where both sides do.
    pub change: String,
}

impl BeforeAfter {
    /// `device dm-5: 6.22 ms per write, then 353 µs per write (−94.3 %)`; `only after: …`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let change = match self.change.as_str() {
            "" => String::new(),
            change => format!(" ({change})"),
        };
        match (self.before.as_str(), self.after.as_str()) {
            ("", after) => format!("only after: {after}"),
            (before, "") => format!("only before: {before}"),
            (before, after) => format!("{}: {before}, then {after}{change}", self.what),
        }
    }

    /// It is a finding that one of the sides alone has.
    #[must_use]
    pub fn is_diagnosis(&self) -> bool {
        self.before.is_empty() || self.after.is_empty()
    }
}

/// All that both of two imports show, and the diagnoses of one alone, what says most first.
#[must_use]
pub fn of(a: &Run, b: &Run) -> Vec<BeforeAfter> {
    let (Some(before), Some(after)) = (&a.imported, &b.imported) else {
        return Vec::new();
    };
    let mut out = histograms(before, after);
    out.extend(devices(before, after));
    out.extend(counters(before, after));
    out.extend(diagnoses(a, b));
    out
}

/// Where the percentiles of the log's waits are.
fn histograms(before: &Imported, after: &Imported) -> Vec<BeforeAfter> {
    let t = Thresholds::default();
    let of = |imported: &Imported| {
        let all = production::of(imported, &[], &t)
            .into_iter()
            .map(|of| of.wait);
        all.filter(|wait| wait.p99_ns.is_some())
            .collect::<Vec<ProductionWait>>()
    };
    let (before, after) = (of(before), of(after));
    let pairs = before.iter().filter_map(|wait| {
        let other = after.iter().find(|other| other.event == wait.event)?;
        let [[was_over, was_under], [is_over, is_under]] = [wait.p99_ns?, other.p99_ns?];
        let change = match (is_under <= was_over, was_under <= is_over) {
            (true, _) => "shorter",
            (_, true) => "longer",
            _ => "the 99th percentiles are alike",
        };
        Some(BeforeAfter {
            what: wait.event.replace('_', " "),
            before: production::in_words(wait),
            after: production::in_words(other),
            change: change.to_owned(),
        })
    });
    pairs.collect()
}

/// `writes`, `flushes`.
fn many(kind: &str) -> &'static str {
    if kind == "flush" { "flushes" } else { "writes" }
}

/// Devices that both listings of iostat have, the one that changed most first; of each its flushes,
/// which a commit waits for, or its writes, whichever changed more, before the others.
fn devices(before: &Imported, after: &Imported) -> Vec<BeforeAfter> {
    let (names, others) = (device::devices(before), device::devices(after));
    let pairs = names.intersection(&others).filter_map(|name| {
        let (was, is) = (
            device::requests_of(before, name),
            device::requests_of(after, name),
        );
        let kinds = ["write", "flush"].into_iter().zip(was.into_iter().zip(is));
        let mut kinds: Vec<(f64, &str, [RateAndWait; 2])> = kinds
            .filter_map(|(kind, (was, is))| Some((is?.1 / was?.1, kind, [was?, is?])))
            .filter(|(ratio, ..)| ratio.is_finite() && *ratio > 0.0)
            .collect();
        kinds.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
        let side = |at: usize| -> String {
            let of = |(_, kind, sides): &(f64, &str, [RateAndWait; 2])| {
                let (rate, wait) = sides[at];
                let wait = latency(wait * 1e6);
                format!("{wait} per {kind} at {} {}/s", digits(rate), many(kind))
            };
            kinds.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let (ratio, kind, _) = *kinds.first()?;
        let of = if kinds.len() > 1 {
            format!("{kind}: ")
        } else {
            String::new()
        };
        let pair = BeforeAfter {
            what: format!("device {name}"),
            before: side(0),
            after: side(1),
            change: format!("{of}{}", words::change(ratio)),
        };
        Some((ratio, pair))
    });
    let mut pairs: Vec<(f64, BeforeAfter)> = pairs.collect();
    pairs.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// PostgreSQL's counters of its log: the mean sync before, and since then.
fn counters(before: &Imported, after: &Imported) -> Option<BeforeAfter> {
    let of = |imported: &'_ Imported| {
        let line = Tables(&imported.tables).lines("pg_stat_wal").next()?;
        let known = line.number("wal_sync").zip(line.number("wal_sync_time_ms"));
        Some((
            known.filter(|(syncs, _)| *syncs > 0.0)?,
            line.text("stats_reset").to_owned(),
        ))
    };
    let ((was, reset), (is, other)) = (of(before)?, of(after)?);
    let is_later = reset == other && !reset.is_empty() && is.0 > was.0;
    let (syncs, ms) = match is_later {
        true => (is.0 - was.0, is.1 - was.1),
        false => is,
    };
    let words = |syncs: f64, ms: f64| {
        format!(
            "{} per sync over {} syncs",
            latency(ms * 1e6 / syncs),
            count(syncs as u64)
        )
    };
    let ratio = (ms / syncs) / (was.1 / was.0);
    let change = words::change(ratio);
    Some(BeforeAfter {
        what: "syncs of PostgreSQL's log".to_owned(),
        before: words(was.0, was.1),
        after: words(syncs, ms),
        change: match is_later {
            true => {
                format!("{change}; both count from {reset}, so the first reading was subtracted")
            }
            false => change,
        },
    })
}

/// Cautions that one of the two alone has.
fn diagnoses(a: &Run, b: &Run) -> Vec<BeforeAfter> {
    let is_grave = |id: &str, weight: Weight| {
        let of_log = id.starts_with("diagnosis.") || id.starts_with("latency.");
        of_log && matches!(weight, Weight::Caution | Weight::Bad)
    };
    let of = |run: &Run, other: &Run| -> Vec<(String, String)> {
        let own = run.findings.iter().filter(|f| is_grave(&f.id, f.weight));
        let lone = own.filter(|f| {
            !other
                .findings
                .iter()
                .any(|o| o.id == f.id && is_grave(&o.id, o.weight))
        });
        lone.map(|f| (f.id.clone(), f.claim.clone())).collect()
    };
    let before = of(a, b).into_iter().map(|(what, claim)| BeforeAfter {
        what,
        before: claim,
        after: String::new(),
        change: String::new(),
    });
    let after = of(b, a).into_iter().map(|(what, claim)| BeforeAfter {
        what,
        before: String::new(),
        after: claim,
        change: String::new(),
    });
    after.chain(before).collect()
}
