//! Shares: buckets against totals, percentages against their formula, processors against 100 %,
//! two histograms that are said to be alike.

use crate::findings::catalogue;
use crate::findings::evidence::view::{Tables, lines, place, show};
use crate::findings::note::Note;
use crate::findings::{Bad, Caution};
use measure::imported::Cell;
use std::collections::BTreeMap;

/// What a sum of percentages may be off by beyond rounding.
const SUM_SLACK: f64 = 0.2;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    stated(tables, notes);
    buckets(tables, notes);
    bins(tables, notes);
    processors(tables, notes);
    workers(tables, notes);
    alike(tables, notes);
}

fn stated(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for line in tables.lines("stated_shares") {
        let (Some(said), Some(half), Some(gives)) = (
            line.number("stated_pct"),
            line.number("half_digit"),
            line.number("computed_pct"),
        ) else {
            continue;
        };
        // A tenth of the last digit: rounding is not argued about.
        if (said - gives).abs() <= half * 1.1 {
            continue;
        }
        let claim = format!(
            "{said} % is {gives:.2} % by its own formula {} ({})",
            line.text("formula"),
            place(line.table())
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_PERCENTAGE, Bad, claim)
                .number("stated_pct", said)
                .number("computed_pct", gives)
                .rule(format!("within {half} of the formula")),
        );
    }
}

/// Percent of waits by bucket add up to 100.
fn buckets(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for line in tables.lines("wait_histogram") {
        let columns = line
            .table()
            .columns
            .iter()
            .filter(|c| c.key.starts_with("pct_"));
        let shares: Vec<f64> = columns.filter_map(|c| line.number(&c.key)).collect();
        let sum: f64 = shares.iter().sum();
        // A blank is zero, `.0` is under 0.05.
        let slack = 0.05 * (shares.len() + 1) as f64 + SUM_SLACK;
        if shares.is_empty() || (sum - 100.0).abs() <= slack {
            continue;
        }
        let parts: Vec<String> = shares.iter().map(|s| format!("{s}")).collect();
        let claim = format!(
            "the buckets of {} hold {sum:.1} % of its waits: {} ({})",
            line.text("event"),
            parts.join(" + "),
            place(line.table())
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_BUCKETS, Bad, claim)
                .number("sum_pct", sum)
                .rule(format!("100 % within {slack:.2}")),
        );
    }
}

/// Counts of bins add up to the number of I/Os; so do buckets beside a stated total.
fn bins(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for line in tables.lines("fio_latency") {
        let (Some(count), Some(binned)) = (line.number("count"), line.number("binned")) else {
            continue;
        };
        if count > 0.0 && (binned / count - 1.0).abs() > 1e-3 {
            notes.push(total(
                &format!(
                    "{} {} {}",
                    line.text("job"),
                    line.text("direction"),
                    line.text("latency")
                ),
                binned,
                count,
                &place(line.table()),
            ));
        }
    }
    for table in tables
        .0
        .iter()
        .filter(|t| t.columns.iter().any(|c| c.key == "total_count"))
    {
        let counts = |l: &crate::findings::evidence::view::Line<'_>| {
            let keys = table
                .columns
                .iter()
                .map(|c| &c.key)
                .filter(|k| k.starts_with("count_"));
            keys.filter_map(|k| l.number(k)).sum::<f64>()
        };
        for line in lines(table) {
            let sum = counts(&line);
            if let Some(all) = line
                .number("total_count")
                .filter(|all| *all != sum && sum > 0.0)
            {
                let name = table.rows.first().and_then(|r| match r.first() {
                    Some(Cell::Text(t)) => Some(t.as_str()),
                    _ => None,
                });
                notes.push(total(name.unwrap_or("a line"), sum, all, &place(table)));
            }
        }
    }
}

fn total(name: &str, sum: f64, all: f64, place: &str) -> Note {
    let claim = format!(
        "the buckets of {name} hold {} values, its total is {}: {} are missing or doubled ({place})",
        show(sum),
        show(all),
        show((all - sum).abs())
    );
    Note::of(&catalogue::EVIDENCE_BUCKETS, Bad, claim)
        .number("in_buckets", sum)
        .number("total", all)
}

fn processors(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for line in tables.lines("host_cpu") {
        let get = |key: &str| line.number(key).unwrap_or(0.0);
        let without = get("cpu_user_pct") + get("cpu_sys_pct") + get("cpu_idle_pct");
        let with = without + get("cpu_iowait_pct");
        // Waiting for I/O is part of idle in some ports and not in others.
        if (without - 100.0).abs() <= 3.0 || (with - 100.0).abs() <= 3.0 {
            continue;
        }
        let claim = format!(
            "user, system, waiting and idle are {with:.1} % of the processors ({without:.1} % without \
             waiting), not 100 ({})",
            place(line.table())
        );
        notes.push(Note::of(&catalogue::EVIDENCE_CPU, Caution, claim).number("sum_pct", with));
    }
}

/// What is over 10 ms is also over 1 ms, and nothing is longer than the longest.
fn workers(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for line in tables.lines("worker_latency_published") {
        let get = |key: &str| line.number(key);
        let (Some(a), Some(b), Some(c), Some(max)) = (
            get("over_1ms_pct"),
            get("over_10ms_pct"),
            get("over_20ms_pct"),
            get("max_ms"),
        ) else {
            continue;
        };
        let ordered = a >= b && b >= c;
        let reached =
            (max > 1.0 || a == 0.0) && (max > 10.0 || b == 0.0) && (max > 20.0 || c == 0.0);
        if ordered && reached {
            continue;
        }
        let claim = format!(
            "{}: {a} % over 1 ms, {b} % over 10 ms, {c} % over 20 ms and a longest of {max} ms do not \
             fit each other ({})",
            line.text("process"),
            place(line.table())
        );
        notes.push(Note::of(&catalogue::EVIDENCE_THRESHOLDS, Bad, claim));
    }
}

/// Standard errors from which two shares differ, and the factor from which it matters.
const DIFFERENT: f64 = 5.0;
const MATTERS: f64 = 1.1;

/// Two histograms of one event: whether they are proportionally the same.
fn alike(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut by_event: BTreeMap<&str, Vec<(&str, f64, f64)>> = BTreeMap::new();
    for line in tables.lines("event_histogram_summary") {
        let (Some(waits), Some(pct)) = (line.number("waits"), line.number("over_1ms_pct")) else {
            continue;
        };
        let snapshot = line.text("snapshot");
        // What was subtracted holds what it was subtracted from.
        if waits > 0.0 && !snapshot.contains(" to ") {
            let event = by_event.entry(line.text("event")).or_default();
            event.push((snapshot, waits, pct / 100.0));
        }
    }
    for (event, of) in by_event {
        // Of many snapshots some always differ.
        let [(_, n, p), (_, m, q)] = of.as_slice() else {
            continue;
        };
        let both = (n * p + m * q) / (n + m);
        let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
        let z = (p - q).abs() / error.max(1e-300);
        if !(z >= DIFFERENT && (p / q).max(q / p) >= MATTERS) {
            continue;
        }
        let claim = format!(
            "{event}: the two histograms are not proportionally the same: {:.3} % of {} waits are at or \
             over 1 ms in the first, {:.3} % of {} in the second ({z:.0} standard errors)",
            100.0 * p,
            crate::format::digits(*n),
            100.0 * q,
            crate::format::digits(*m)
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_NOT_ALIKE, Caution, claim)
                .number("first_pct", 100.0 * p)
                .number("second_pct", 100.0 * q)
                .number("standard_errors", z)
                .rule(format!(
                    "within {DIFFERENT} standard errors or a factor of {MATTERS}"
                )),
        );
    }
}
