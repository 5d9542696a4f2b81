//! Wait events and their histograms.

use super::cell::GridCell;
use super::over::SharesOver;
use super::{Grid, squeeze};
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
use measure::imported::Cell;
use measure::printed;

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
    } else if h.starts_with("av") || h.contains("avg") || h.starts_with("wait(") {
        let unit = if h.contains("(us)") {
            1e3
        } else if h.contains("(cs)") {
            1e7
        } else if h.contains("(s)") || h.contains("(sec)") {
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
    } else if title.is_empty() && !(has("/txn") && has("dbtime")) {
        ("all_waits", "Wait events of a table without a title")
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
    let is_cut = grid
        .rows
        .iter()
        .any(|(_, row)| row.iter().any(|c| c.is_cut));
    let rounded = is_cut.then_some(("rounded", "Rounded: cut to its column"));
    let columns: Vec<(&str, &str)> = columns.into_iter().chain(rounded).collect();
    let mut shown = name.to_owned();
    let same = grid.title.eq_ignore_ascii_case(name);
    if !grid.title.is_empty() && !same && grid.title.len() < 60 {
        shown = format!("{name} ({})", grid.title);
    }
    sheets.open(id, &shown, grid.line, &columns)
}

/// A line of a table of wait events from values by role; gives the average of log file sync, ms.
pub fn line(
    table: usize,
    at: u64,
    values: &[(Role, f64, &GridCell)],
    sheets: &mut Sheets,
) -> Option<f64> {
    let get = |role: Role| {
        let found = values.iter().find(|(r, _, _)| *r == role);
        found.map(|(_, unit, cell)| (*unit, *cell))
    };
    let or_blank = |role, make: fn(f64, &GridCell) -> SourcedCell| {
        get(role).map_or_else(SourcedCell::blank, |(unit, cell)| make(unit, cell))
    };
    let waits = or_blank(Role::Waits, |_, cell| cell.count());
    let time = or_blank(Role::Time, |unit, cell| {
        let n = printed::number(cell);
        cell.scaled(n.and_then(|n| Some(n.unit(1000.0)? * unit)))
    });
    let average = or_blank(Role::Average, |unit, cell| {
        let n = printed::number(cell);
        cell.scaled(n.and_then(|n| n.millis(unit / 1e6)))
    });
    let average = shortened(average, &time, &waits);
    let sync_ms = match average.cell {
        Cell::Real(ms) if get(Role::Event).is_some_and(|(_, n)| &**n == "log file sync") => {
            Some(ms)
        }
        _ => None,
    };
    let shown = |role| or_blank(role, |_, cell| cell.sourced_or_blank());
    let plain = |role| or_blank(role, |_, cell| cell.number());
    let cells = vec![
        or_blank(Role::Event, |_, cell| cell.sourced()),
        waits,
        time_outs(get(Role::TimedOut), get(Role::Waits)).unwrap_or_else(|| plain(Role::TimeOuts)),
        time,
        average,
        plain(Role::PerTransaction),
        plain(Role::Share),
        shown(Role::Class),
        shown(Role::Average),
        shown(Role::Time),
        cut_columns(values),
    ];
    sheets.sourced_row(table, at, cells);
    sync_ms
}

/// The columns whose values the report cut.
fn cut_columns(values: &[(Role, f64, &GridCell)]) -> SourcedCell {
    let cut = values.iter().filter(|(_, _, cell)| cell.is_cut);
    let names = cut.map(|(role, ..)| match role {
        Role::Waits | Role::TimedOut => "waits",
        Role::Time => "time",
        Role::Average => "average",
        _ => "share",
    });
    match names.collect::<Vec<&str>>().as_slice() {
        [] => SourcedCell::blank(),
        names => SourcedCell::label(&names.join(", ")),
    }
}

/// The share of time-outs, where their number is printed.
fn time_outs(out: Option<(f64, &GridCell)>, of: Option<(f64, &GridCell)>) -> Option<SourcedCell> {
    let ((_, out), (_, of)) = (out?, of?);
    let share = match (
        printed::number(out)?.count()?,
        printed::number(of)?.count()?,
    ) {
        (out, of) if of > 0.0 => 100.0 * out / of,
        _ => return None,
    };
    let inputs = out.input().into_iter().chain(of.input()).collect();
    let formula = "100 * a / b";
    Some(SourcedCell::computed(Some(share), formula, inputs))
}

/// The average that is shown, in ms: the printed one, or the total time over the waits where the
/// printed one was cut to zero.
fn shortened(printed: SourcedCell, time: &SourcedCell, waits: &SourcedCell) -> SourcedCell {
    let number = |cell: &SourcedCell| match cell.cell {
        Cell::Real(x) => Some(x),
        Cell::Count(n) => Some(n as f64),
        Cell::Blank | Cell::Text(_) => None,
    };
    let total = number(time).zip(number(waits));
    match total.filter(|(seconds, waits)| *seconds > 0.0 && *waits > 0.0) {
        Some((seconds, waits)) if number(&printed) == Some(0.0) => SourcedCell::computed(
            Some(1000.0 * seconds / waits),
            "1000 * time_s / waits",
            vec!["time_s".into(), "waits".into()],
        ),
        _ => printed,
    }
}

/// A table of wait events; gives the average of log file sync in ms.
pub fn waits(grid: &Grid, sheets: &mut Sheets) -> Option<f64> {
    let table = open(grid, sheets);
    let roles: Vec<Option<(Role, f64)>> = grid.headings.iter().map(|h| role(h)).collect();
    let mut sync = None;
    for (number, row) in &grid.rows {
        let values: Vec<(Role, f64, &GridCell)> = roles
            .iter()
            .zip(row)
            .filter_map(|(role, cell)| role.map(|(r, unit)| (r, unit, cell)))
            .collect();
        sync = line(table, *number, &values, sheets).or(sync);
    }
    sync
}

/// Whether a grid whose first heading is `Event` is a histogram: bounds are its headings.
#[must_use]
pub fn is_histogram(grid: &Grid) -> bool {
    let bounds = grid.headings.iter().filter(|h| bound(h));
    bounds.count() >= 4
}

/// Whether a heading is the bound of a bucket.
#[must_use]
pub fn bound(heading: &str) -> bool {
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
    for (line, row) in &grid.rows {
        let cells = row.iter().enumerate().map(|(i, c)| match i {
            0 => c.sourced(),
            1 => c.count(),
            _ => c.number(),
        });
        let cells: Vec<SourcedCell> = cells.collect();
        over.row(grid.line, &bounds, &cells);
        sheets.sourced_row(table, *line, cells);
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
