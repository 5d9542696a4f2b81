//! Wait events: averages against time and number, printed averages that hide a ratio, shares
//! against the time that they are shares of.

use super::super::catalogue;
use super::super::note::Note;
use super::super::{Bad, Caution};
use super::view::{Line, Tables, lines, place, show};
use measure::imported::Table;
use measure::printed;

/// Tables of wait events.
const TABLES: [&str; 4] = [
    "top_events",
    "all_waits",
    "foreground_waits",
    "background_waits",
];
/// A ratio is hidden where the printed one is off by this factor.
const HIDDEN: f64 = 1.25;
/// What figures may differ by beyond their rounding.
const SLACK: f64 = 0.03;
/// Shares are compared where rounding is finer than this.
const SHARE_DIGITS: f64 = 0.02;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for table in tables.of("system_event") {
        averages_of_view(table, notes);
    }
    for id in TABLES {
        let of: Vec<&Table> = tables.of(id).collect();
        of.iter().for_each(|t| averages(t, notes));
        of.iter().for_each(|t| shares(t, notes));
        for (i, a) in of.iter().enumerate() {
            // Reports of different hours or instances are no two columns of one comparison.
            for b in of[i + 1..].iter().filter(|b| b.file == a.file) {
                ratios(a, b, notes);
            }
        }
    }
}

/// The printed number of a column and how far it may be off, in its own unit.
fn printed(line: &Line<'_>, key: &str) -> Option<(f64, f64)> {
    let n = printed::number(line.text(key))?;
    let factor = n.count()? / n.value.abs().max(1e-300);
    Some((
        n.count()?,
        n.half_digit() * if n.value == 0.0 { 1.0 } else { factor },
    ))
}

/// Mean wait from time and number, in ms, and how far rounding of the time allows it to be off.
fn exact(line: &Line<'_>) -> Option<(f64, f64)> {
    let waits = line.number("waits").filter(|w| *w > 0.0)?;
    let time = line.number("time_s").filter(|t| *t > 0.0)?;
    let (shown, half) = printed(line, "time")?;
    let off = half / shown.max(1e-300);
    Some((1000.0 * time / waits, off))
}

fn averages(table: &Table, notes: &mut Vec<Note>) {
    for line in lines(table) {
        let Some((mean, off)) = exact(&line) else {
            continue;
        };
        let Some(average) = line.number("avg_wait_ms") else {
            continue;
        };
        let Some(n) = printed::number(line.text("avg_wait")) else {
            continue;
        };
        let half = n.half_digit() * average / n.value.max(1e-300);
        // Whole milliseconds are cut by some releases and rounded by others.
        let half = if n.decimals == 0 {
            1.0_f64.max(2.0 * half)
        } else {
            half
        };
        let allowed = half + mean * (off + SLACK);
        if (average - mean).abs() <= allowed {
            continue;
        }
        let claim = format!(
            "{}: {} waits in {} s are {} ms each, but {} is printed ({})",
            line.text("event"),
            show(line.number("waits").unwrap_or(0.0)),
            line.text("time"),
            show(mean),
            line.text("avg_wait"),
            place(table)
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_AVERAGE, Caution, claim)
                .number("computed_ms", mean)
                .number("printed_ms", average)
                .rule(format!("within rounding, {} ms", show(allowed))),
        );
    }
}

/// A printed average of `v$system_event` and the mean of its waits, in ms.
struct ViewAverage<'a> {
    event: &'a str,
    printed_ms: f64,
    mean_ms: f64,
}

/// Averages of `v$system_event` that are not the time over the waits: the unit is the one in which
/// most lines agree, and the others contradict it.
fn averages_of_view(table: &Table, notes: &mut Vec<Note>) {
    /// Units of averages, as factors of the one that the heading names.
    const UNITS: [f64; 6] = [1.0, 0.1, 10.0, 1e-3, 100.0, 1e3];
    let known = lines(table).filter_map(|line| {
        let known = |key: &str| line.number(key).filter(|ms| *ms > 0.0);
        Some(ViewAverage {
            event: line.text("event"),
            printed_ms: known("avg_wait_ms")?,
            mean_ms: known("mean_ms")?,
        })
    });
    let known: Vec<ViewAverage<'_>> = known.collect();
    let half = half_digit(known.iter().map(|of| of.printed_ms));
    let fits = |of: &ViewAverage<'_>, unit: f64| {
        let mean = unit * of.mean_ms;
        (of.printed_ms - mean).abs() <= half + (HIDDEN - 1.0) * mean
    };
    let agree = |unit: f64| known.iter().filter(|of| fits(of, unit)).count();
    // Of units in which as many agree, the first one; a single line has no other one.
    let unit = UNITS.into_iter().rev().max_by_key(|unit| agree(*unit));
    let unit = unit.filter(|unit| agree(*unit) > 1).unwrap_or(UNITS[0]);
    let off: Vec<&ViewAverage<'_>> = known.iter().filter(|of| !fits(of, unit)).collect();
    if unit != UNITS[0] && off.is_empty() {
        notes.push(another_unit(unit, agree(unit), known.len(), table));
    }
    let Some(first) = off.iter().max_by(|a, b| {
        let by = |of: &ViewAverage<'_>| (of.printed_ms / of.mean_ms / unit).ln().abs();
        by(a).total_cmp(&by(b))
    }) else {
        return;
    };
    let agreed = match agree(unit) {
        0 => String::new(),
        n => format!(" ({n} of {} lines agree)", known.len()),
    };
    let sync = known.iter().find(|of| of.event == "log file sync");
    let sync_ms = sync.map(|sync| sync.mean_ms);
    notes.push(contradiction(
        (first, &off),
        unit,
        (&agreed, sync_ms),
        table,
    ));
}

/// A column of averages in another unit than its heading says, in `agree` of `all` lines.
fn another_unit(unit: f64, agree: usize, all: usize, table: &Table) -> Note {
    let (times, other) = match unit {
        0.1 => ("a tenth of", "hundredths of a second, not milliseconds"),
        10.0 => ("ten times", "milliseconds, not hundredths of a second"),
        1e-3 => ("a thousandth of", "seconds, not milliseconds"),
        1e3 => ("a thousand times", "microseconds, not milliseconds"),
        _ => ("a hundred times", "another unit than its heading says"),
    };
    let claim = format!(
        "the column of averages is {times} the time over the waits in {agree} of {all} lines: it is in {other}; means \
         here are of time and waits ({})",
        place(table)
    );
    Note::of(&catalogue::EVIDENCE_AVERAGE, Caution, claim)
        .number("factor", unit)
        .number("lines", agree as f64)
}

/// The line that is furthest off and the others; in how many lines the unit agrees, in words, and
/// the mean of `log file sync`.
fn contradiction(
    (first, off): (&ViewAverage<'_>, &[&ViewAverage<'_>]),
    unit: f64,
    (agreed, sync_ms): (&str, Option<f64>),
    table: &Table,
) -> Note {
    let printed_ms = first.printed_ms / unit;
    let factor = (printed_ms / first.mean_ms).max(first.mean_ms / printed_ms);
    let others: Vec<&str> = off
        .iter()
        .filter(|of| of.event != first.event)
        .map(|of| of.event)
        .collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!("; {} are off too", others.join(", ")),
    };
    // A commit waits for its log write.
    let is_write = first.event == "log file parallel write";
    let likelier = sync_ms.filter(|ms| is_write && *ms < printed_ms);
    let likelier = likelier.map_or_else(String::new, |ms| {
        format!(
            "; log file sync takes {} ms, so the second is likelier",
            show(ms)
        )
    });
    let claim = format!(
        "the printed average of {} is {} ms, by its time and waits {} ms: a factor of \
         {}{agreed}{likelier}{others} ({})",
        first.event,
        show(printed_ms),
        show(first.mean_ms),
        crate::format::digits(factor),
        place(table)
    );
    Note::of(&catalogue::EVIDENCE_AVERAGE, Caution, claim)
        .number("computed_ms", first.mean_ms)
        .number("printed_ms", printed_ms)
        .number("lines_off", off.len() as f64)
}

/// Half of the last digit of averages that were printed with the same number of digits, in ms; a
/// heading without a unit is in hundredths of a second.
fn half_digit(printed_ms: impl Iterator<Item = f64> + Clone) -> f64 {
    /// Steps that a digit may have, in ms.
    const STEPS: [f64; 6] = [10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4];
    let is_whole = |step: f64| {
        let off = |ms: f64| (ms / step - (ms / step).round()).abs();
        printed_ms.clone().all(|ms| off(ms) < 1e-6)
    };
    STEPS
        .into_iter()
        .find(|step| is_whole(*step))
        .map_or(0.0, |step| step / 2.0)
}

/// The same event in two tables: the ratio of the printed averages against the exact one.
fn ratios(a: &Table, b: &Table, notes: &mut Vec<Note>) {
    for x in lines(a) {
        let event = x.text("event");
        let Some(y) = lines(b).find(|y| y.text("event") == event) else {
            continue;
        };
        let (Some((mx, ox)), Some((my, oy))) = (exact(&x), exact(&y)) else {
            continue;
        };
        let (px, py) = (x.number("avg_wait_ms"), y.number("avg_wait_ms"));
        let (Some(px), Some(py)) = (px.filter(|p| *p > 0.0), py.filter(|p| *p > 0.0)) else {
            continue;
        };
        let (shown, real) = (py / px, my / mx);
        let off = (real / shown).max(shown / real);
        if ox + oy > 0.05 || off < HIDDEN {
            continue;
        }
        let part = |l: &Line<'_>, m: f64| {
            let waits = show(l.number("waits").unwrap_or(0.0));
            format!("{} s / {waits} waits = {m:.3} ms", l.text("time"))
        };
        let claim = format!(
            "{event}: {} and {} ms are printed, a ratio of {shown:.2}; the exact values are {} and {}, a ratio \
             of {real:.1} ({} and {})",
            x.text("avg_wait"),
            y.text("avg_wait"),
            part(&x, mx),
            part(&y, my),
            place(a),
            place(b)
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_ROUNDING, Bad, claim)
                .number("printed_ratio", shown)
                .number("ratio", real)
                .number("a_ms", mx)
                .number("b_ms", my)
                .rule(format!("ratios within a factor of {HIDDEN}")),
        );
    }
}

/// Time / share is the same total for every event of a table.
fn shares(table: &Table, notes: &mut Vec<Note>) {
    let key = ["db_time_pct", "bg_time_pct", "call_time_pct"]
        .into_iter()
        .find(|k| table.columns.iter().any(|c| c.key == *k));
    let Some(key) = key else { return };
    let mut totals: Vec<(f64, f64, &str)> = Vec::new();
    for line in lines(table) {
        let (Some(time), Some(pct)) = (line.number("time_s"), line.number(key)) else {
            continue;
        };
        let Some((shown, half)) = printed(&line, "time").filter(|_| pct > 0.0 && time > 0.0) else {
            continue;
        };
        // Shares are printed with one or two decimals: the coarser is assumed.
        let off = half / shown + 0.05 / pct;
        if off <= SHARE_DIGITS {
            totals.push((time / (pct / 100.0), off, line.text("event")));
        }
    }
    let by = |a: &&(f64, f64, &str), b: &&(f64, f64, &str)| a.0.total_cmp(&b.0);
    let (Some(low), Some(high)) = (totals.iter().min_by(by), totals.iter().max_by(by)) else {
        return;
    };
    if high.0 / low.0 - 1.0 <= low.1 + high.1 + SLACK {
        return;
    }
    let claim = format!(
        "shares and times of {} do not fit one total: time / share is {} s by {} and {} s by {}",
        place(table),
        show(low.0),
        low.2,
        show(high.0),
        high.2
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_SHARES, Caution, claim)
            .number("lowest_total_s", low.0)
            .number("highest_total_s", high.0),
    );
}
