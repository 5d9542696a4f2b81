//! I/O statistics by function and by file type.
//!
//! `Data` is printed in multiples of 1024 (the report says so), `4.7T` with one decimal at most:
//! the window that volume and rate imply is given in both unit systems, since a page that quotes a
//! report often means the other one.

use super::{Grid, squeeze};
use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed::{self, Number};

/// What a column holds: volume, requests per second, rate; of reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Data(Side),
    Requests(Side),
    Rate(Side),
    Waits,
    Average,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Reads,
    Writes,
}

fn roles(headings: &[String]) -> Vec<Option<Role>> {
    // Pages that lost the reads keep the writes' heading; without either they are reads first.
    let mut side = Side::Reads;
    let mut volumes = 0;
    let each = headings.iter().map(|heading| {
        let h = squeeze(heading);
        // Statspack draws a line of groups above, which names the middle column of each only.
        volumes += usize::from(h == "datavolume");
        if volumes == 2 {
            side = Side::Writes;
        }
        if h.starts_with("reads") {
            side = Side::Reads;
        } else if h.starts_with("writes") {
            side = Side::Writes;
        }
        Some(if h.contains("req") {
            Role::Requests(side)
        } else if h.contains("datapersec") || h.contains("data/sec") || h.contains("vol/sec") {
            Role::Rate(side)
        } else if h.contains("data") {
            Role::Data(side)
        } else if h.starts_with("wait") || h == "count" {
            Role::Waits
        } else if h.contains("avg") || h.ends_with("tm(ms)") {
            Role::Average
        } else {
            return None;
        })
    });
    each.collect()
}

/// A table of I/O by function or file type.
pub fn by(grid: &Grid, sheets: &mut Sheets) {
    let by_file = grid.column(|h| h == "filetypename").is_some();
    let (id, title, name) = if by_file {
        ("iostat_by_filetype", "I/O by file type", "Filetype Name")
    } else {
        ("iostat_by_function", "I/O by function", "Function Name")
    };
    let columns = [
        ("name", name),
        ("read_data_bytes", "Reads: Data"),
        ("read_reqs_per_s", "Reqs per sec"),
        ("read_mb_per_s", "Data per sec (MB)"),
        ("write_data_bytes", "Writes: Data"),
        ("write_reqs_per_s", "Reqs per sec"),
        ("write_mb_per_s", "Data per sec (MB)"),
        ("waits", "Waits: Count"),
        ("avg_wait_ms", "Avg Time (ms)"),
        ("write_data", "Writes: Data as printed"),
        ("write_data_per_s", "Data per sec as printed"),
        ("implied_window_s", "Data / rate (s, 1024)"),
        ("implied_window_decimal_s", "Data / rate (s, 1000)"),
    ];
    let table = sheets.open(id, title, grid.line, &columns);
    let roles = roles(grid.headings.get(1..).unwrap_or_default());
    for (number, row) in &grid.rows {
        if row.first().is_none_or(|n| n.is_empty()) {
            continue;
        }
        let values: Vec<(Role, &str)> = roles
            .iter()
            .zip(&row[1..])
            .filter_map(|(role, cell)| role.map(|r| (r, cell.as_str())))
            .collect();
        sheets.row(table, *number, line(&row[0], &values));
    }
}

fn line(name: &str, values: &[(Role, &str)]) -> Vec<Cell> {
    let printed = |role: Role| {
        let found = values.iter().find(|(r, _)| *r == role);
        found.map(|(_, t)| *t).filter(|t| !t.trim().is_empty())
    };
    let number = |role| printed(role).and_then(printed::number);
    let real = |v: Option<f64>| v.map_or(Cell::Blank, Cell::Real);
    let bytes = |role| real(number(role).and_then(|n| n.bytes(1024.0)));
    let mb = |role| real(number(role).and_then(|n| Some(n.bytes(1024.0)? / 1_048_576.0)));
    let plain = |role| number(role).map_or(Cell::Blank, |n: Number<'_>| Cell::Real(n.value));
    let shown = |role| printed(role).map_or(Cell::Blank, text);
    let volume = number(Role::Data(Side::Writes));
    let rate = number(Role::Rate(Side::Writes));
    let window = |base| volume.zip(rate).and_then(|(v, r)| window(v, r, base));
    let average = number(Role::Average).and_then(|n| n.nanos(1e6));
    let waits = number(Role::Waits).and_then(|n| match n.whole {
        Some(w) if n.suffix.is_empty() => Some(Cell::Count(w)),
        _ => n.count().map(Cell::Real),
    });
    vec![
        text(name),
        bytes(Role::Data(Side::Reads)),
        plain(Role::Requests(Side::Reads)),
        mb(Role::Rate(Side::Reads)),
        bytes(Role::Data(Side::Writes)),
        plain(Role::Requests(Side::Writes)),
        mb(Role::Rate(Side::Writes)),
        waits.unwrap_or(Cell::Blank),
        real(average.map(|ns| ns / 1e6)),
        shown(Role::Data(Side::Writes)),
        shown(Role::Rate(Side::Writes)),
        real(window(1024.0)),
        real(window(1000.0)),
    ]
}

/// Seconds that a volume takes at a rate, with suffixes as powers of `base`.
#[must_use]
pub fn window(volume: Number<'_>, rate: Number<'_>, base: f64) -> Option<f64> {
    let rate = rate.bytes(base).filter(|r| *r > 0.0)?;
    Some(volume.bytes(base)? / rate)
}
