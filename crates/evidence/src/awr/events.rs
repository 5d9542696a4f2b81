//! Wait events and their histograms.

use super::over::SharesOver;
use super::{Grid, squeeze};
use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed::{self, Number};

/// What a column of a table of wait events holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The event's name.
    Event,
    /// Number of waits.
    Waits,
    /// Share of time-outs.
    TimeOuts,
    /// Number of time-outs, as Statspack to 9.2 prints it.
    TimedOut,
    /// Total time.
    Time,
    /// Time of a wait.
    Average,
    /// Waits a transaction.
    PerTransaction,
    /// Share of DB time, call time or background time.
    Share,
    /// The class.
    Class,
}

/// The role of a heading and the factor of its values: to seconds, to nanoseconds.
#[must_use]
pub fn role(heading: &str) -> Option<(Role, f64)> {
    let h = squeeze(heading);
    let share = [
        "dbtime",
        "calltime",
        "bgtime",
        "elatime",
        "totaltime",
        "wttime",
    ];
    Some(if h == "event" {
        (Role::Event, 1.0)
    } else if h.starts_with('%') && share.iter().any(|s| h.contains(s)) {
        (Role::Share, 1.0)
    } else if h == "timeouts" {
        (Role::TimedOut, 1.0)
    } else if h.contains("out") {
        (Role::TimeOuts, 1.0)
    } else if h.contains("/txn") {
        (Role::PerTransaction, 1.0)
    } else if h.contains("class") {
        (Role::Class, 1.0)
    } else if h.starts_with("av") || h.starts_with("wait(") {
        let unit = if h.contains("(us)") {
            1e3
        } else if h.contains("(cs)") {
            1e7
        } else if h.contains("(s)") {
            1e9
        } else {
            1e6
        };
        (Role::Average, unit)
    } else if h.contains("time") {
        let unit = if h.contains("(cs)") {
            0.01
        } else if h.contains("(ms)") {
            0.001
        } else {
            1.0
        };
        (Role::Time, unit)
    } else if h.ends_with("waits") {
        (Role::Waits, 1.0)
    } else {
        return None;
    })
}

/// Opens a table of wait events; `id` by what its headings and title say.
pub fn open(grid: &Grid, sheets: &mut Sheets) -> usize {
    let title = squeeze(&grid.title);
    let has = |what: &str| grid.column(|h| h.contains(what)).is_some();
    let background = has("bgtime") || title.starts_with("background");
    // "Wait Events (fg and bg)" of 12c on counts the waits of all processes.
    let both = ["fgandbg", "foregroundandbackground"];
    let (id, name) = if both.iter().any(|b| title.contains(b)) {
        (
            "all_waits",
            "Wait events of foreground and background processes",
        )
    } else if background {
        ("background_waits", "Background wait events")
    } else if has("class") || title.starts_with("top") {
        ("top_events", "Top timed events")
    } else {
        ("foreground_waits", "Foreground wait events")
    };
    let (share, heading) = match (background, has("dbtime")) {
        (true, _) => ("bg_time_pct", "% bg time"),
        (false, true) => ("db_time_pct", "% DB time"),
        (false, false) => ("call_time_pct", "% call time"),
    };
    let columns = [
        ("event", "Event"),
        ("waits", "Waits"),
        ("time_outs_pct", "%Time-outs"),
        ("time_s", "Total Wait Time (s)"),
        ("avg_wait_ms", "Avg wait (ms)"),
        ("waits_per_txn", "Waits/txn"),
        (share, heading),
        ("wait_class", "Wait Class"),
        ("avg_wait", "Avg wait as printed"),
        ("time", "Time as printed"),
    ];
    let mut shown = name.to_owned();
    let same = grid.title.eq_ignore_ascii_case(name);
    if !grid.title.is_empty() && !same && grid.title.len() < 60 {
        shown = format!("{name} ({})", grid.title);
    }
    sheets.open(id, &shown, grid.line, &columns)
}

/// A line of a table of wait events from values by role; gives the average of log file sync, ms.
pub fn line(table: usize, values: &[(Role, f64, &str)], sheets: &mut Sheets) -> Option<f64> {
    let get = |role: Role| values.iter().find(|(r, _, _)| *r == role);
    let number = |role| {
        let (_, unit, text) = get(role)?;
        Some((*unit, printed::number(text)?))
    };
    let shown = |role| get(role).map_or(Cell::Blank, |(_, _, t)| blank_or(t));
    let plain = |role| number(role).map_or(Cell::Blank, |(_, n): (f64, Number<'_>)| n.cell());
    let count = |n: Number<'_>| match n.whole {
        Some(w) if n.suffix.is_empty() => Cell::Count(w),
        _ => n.count().map_or(Cell::Blank, Cell::Real),
    };
    let time = number(Role::Time).and_then(|(unit, n)| Some(n.count()? * unit));
    let waited = number(Role::Waits).and_then(|(_, n)| n.count());
    let printed_average = number(Role::Average).and_then(|(unit, n)| n.nanos(unit));
    let average = shortened(printed_average, time, waited);
    let name = get(Role::Event).map_or("", |(_, _, t)| t);
    let mut time_outs = plain(Role::TimeOuts);
    let counts = number(Role::TimedOut).zip(number(Role::Waits));
    if let Some(((_, out), (_, of))) = counts.filter(|(_, (_, of))| of.value > 0.0) {
        time_outs = Cell::Real(100.0 * out.value / of.value);
    }
    sheets.row(
        table,
        vec![
            text(name),
            number(Role::Waits).map_or(Cell::Blank, |(_, n)| count(n)),
            time_outs,
            time.map_or(Cell::Blank, Cell::Real),
            average.map_or(Cell::Blank, |ns| Cell::Real(ns / 1e6)),
            plain(Role::PerTransaction),
            plain(Role::Share),
            shown(Role::Class),
            shown(Role::Average),
            shown(Role::Time),
        ],
    );
    average
        .filter(|_| name == "log file sync")
        .map(|ns| ns / 1e6)
}

/// The average that is shown, in ns: the printed one, or the total time over the waits where the
/// printed one was cut to zero.
fn shortened(printed: Option<f64>, time_s: Option<f64>, waits: Option<f64>) -> Option<f64> {
    let total = time_s.filter(|s| *s > 0.0).zip(waits.filter(|w| *w > 0.0));
    match (printed, total) {
        (Some(0.0), Some((seconds, waits))) => Some(seconds * 1e9 / waits),
        _ => printed,
    }
}

fn blank_or(cell: &str) -> Cell {
    if cell.trim().is_empty() {
        Cell::Blank
    } else {
        text(cell)
    }
}

/// A table of wait events; gives the average of log file sync in ms.
pub fn waits(grid: &Grid, sheets: &mut Sheets) -> Option<f64> {
    let table = open(grid, sheets);
    let roles: Vec<Option<(Role, f64)>> = grid.headings.iter().map(|h| role(h)).collect();
    let mut sync = None;
    for (_, row) in &grid.rows {
        let values: Vec<(Role, f64, &str)> = roles
            .iter()
            .zip(row)
            .filter_map(|(role, cell)| role.map(|(r, unit)| (r, unit, cell.as_str())))
            .collect();
        sync = line(table, &values, sheets).or(sync);
    }
    sync
}

/// Whether a grid whose first heading is `Event` is a histogram: bounds are its headings.
#[must_use]
pub fn is_histogram(grid: &Grid) -> bool {
    let bounds = grid.headings.iter().filter(|h| bound(h));
    bounds.count() >= 4
}

fn bound(heading: &str) -> bool {
    let h = squeeze(heading);
    h.starts_with(['<', '>']) || h.starts_with("upto")
}

/// A histogram of wait events: the headings, which move by release, are the buckets' bounds; the
/// values are percent of the waits.
pub fn histogram(grid: &Grid, sheets: &mut Sheets, over: &mut SharesOver) {
    let keys: Vec<String> = grid.headings.iter().map(|h| key(h)).collect();
    let columns: Vec<(&str, &str)> = keys
        .iter()
        .zip(&grid.headings)
        .map(|(k, h)| (k.as_str(), h.as_str()))
        .collect();
    let bounds: Vec<String> = grid.headings.iter().map(|h| squeeze(h)).collect();
    let range = grid.headings.get(1).map_or("", String::as_str);
    let title = format!("Wait event histogram, percent of waits ({range})");
    let table = sheets.open("wait_histogram", &title, grid.line, &columns);
    for (_, row) in &grid.rows {
        let cells = row.iter().enumerate().map(|(i, c)| match i {
            0 => text(c),
            1 => {
                let n = printed::number(c);
                n.map_or(Cell::Blank, |n| match (n.whole, n.suffix) {
                    (Some(_), "") => n.cell(),
                    _ => n.count().map_or(Cell::Blank, Cell::Real),
                })
            }
            _ => printed::cell(c),
        });
        let cells: Vec<Cell> = cells.collect();
        over.row(grid.line, &bounds, &cells);
        sheets.row(table, cells);
    }
}

fn key(heading: &str) -> String {
    let h = squeeze(heading);
    if h == "event" {
        return h;
    }
    if !bound(heading) {
        return "waits".to_owned();
    }
    let word = match (
        h.strip_prefix("<="),
        h.strip_prefix('<'),
        h.strip_prefix(">="),
    ) {
        (Some(rest), _, _) => format!("to_{rest}"),
        (_, Some(rest), _) => format!("under_{rest}"),
        (_, _, Some(rest)) => format!("from_{rest}"),
        _ => format!("over_{}", h.trim_start_matches('>')),
    };
    format!("pct_{}", word.replace('/', "_"))
}
