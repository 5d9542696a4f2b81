//! A latency column that grows with the clock is a clock.

use crate::findings::Bad;
use crate::findings::catalogue;
use crate::findings::evidence::view::{Tables, show};
use crate::findings::note::Note;
use measure::imported::{Cell, Table};

/// Rows from which a line is believed.
const ROWS_MIN: usize = 5;
/// How well a line has to fit: independent latencies never do.
const FIT_MIN: f64 = 0.999_99;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    // Listings of one kind are one series, however many files hold them.
    let mut seen: Vec<(&str, &str, &str)> = Vec::new();
    for table in tables.0 {
        for (x, y) in pairs(table) {
            let key = (table.id.as_str(), x, y);
            if !seen.contains(&key) {
                seen.push(key);
                judge(tables, key, notes);
            }
        }
    }
}

fn pairs(table: &Table) -> Vec<(&str, &str)> {
    let keys = || table.columns.iter().map(|c| c.key.as_str());
    let times =
        keys().filter(|k| k.contains("timestamp") || *k == "epoch_s" || *k == "time_s_since_epoch");
    let is_latency = |k: &str| {
        ["latency", "elapsed", "wait", "duration"]
            .iter()
            .any(|w| k.contains(w))
    };
    let mut out = Vec::new();
    for time in times {
        out.extend(
            keys()
                .filter(|k| is_latency(k) && *k != time)
                .map(|k| (time, k)),
        );
    }
    out
}

/// Whether the column `y` of the tables of that id is a clock, by any column of times.
pub(in crate::findings) fn is_clock(tables: Tables<'_>, id: &str, y: &str) -> bool {
    let of_id = tables.0.iter().filter(|table| table.id == id);
    let pairs: Vec<(&str, &str)> = of_id.flat_map(pairs).filter(|(_, of)| *of == y).collect();
    let mut pairs = pairs.into_iter();
    pairs.any(|(x, y)| fitted(&tables, (id, x, y)).is_some())
}

fn judge(tables: &Tables<'_>, key: (&str, &str, &str), notes: &mut Vec<Note>) {
    let Some((rows, slope, fit)) = fitted(tables, key) else {
        return;
    };
    let (_, x, y) = key;
    let tick_ms = 1000.0 / slope;
    let claim = format!(
        "{} is a clock, not a latency: over {} rows it grows by {slope:.2} per second of {} \
         (R\u{b2} = {fit:.10}), which is ticks of {} ms",
        y.to_uppercase(),
        rows,
        x.to_uppercase(),
        show(tick_ms)
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_CLOCK, Bad, claim)
            .number("slope_per_s", slope)
            .number("r_squared", fit)
            .number("rows", rows as f64)
            .number("tick_ms", tick_ms)
            .rule(format!(
                "R\u{b2} of at least {FIT_MIN} over {ROWS_MIN} rows"
            )),
    );
}

/// Rows, slope and R² where a column is a clock.
fn fitted(tables: &Tables<'_>, (id, x, y): (&str, &str, &str)) -> Option<(usize, f64, f64)> {
    let mut points = Vec::new();
    for table in tables.0.iter().filter(|t| t.id == id) {
        let at = |key: &str| table.columns.iter().position(|c| c.key == key);
        let (Some(i), Some(j)) = (at(x), at(y)) else {
            continue;
        };
        let number = |cell: Option<&Cell>| match cell {
            Some(Cell::Count(n)) => Some(*n as f64),
            Some(Cell::Real(v)) if v.is_finite() => Some(*v),
            _ => None,
        };
        points.extend(
            table
                .rows
                .iter()
                .filter_map(|r| Some((number(r.get(i))?, number(r.get(j))?))),
        );
    }
    let (slope, fit) = line(&points)?;
    let is_clock = points.len() >= ROWS_MIN && fit >= FIT_MIN && slope > 0.0;
    is_clock.then_some((points.len(), slope, fit))
}

/// Slope and R² of the straight line through points.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        let (dx, dy) = (x - mx, y - my);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    (xx > 0.0 && yy > 0.0).then(|| (xy / xx, xy * xy / (xx * yy)))
}
