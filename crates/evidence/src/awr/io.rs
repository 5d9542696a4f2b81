//! I/O statistics by function and by file type.
//!
//! `Data` is printed in multiples of 1024 (the report says so), `4.7T` with one decimal at most:
//! the window that volume and rate imply is given in both unit systems, since a page that quotes a
//! report often means the other one.

use super::cell::GridCell;
use super::{Grid, squeeze};
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
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

/// The role of each heading, and the power of 1024 of a number without a suffix below it.
fn roles(headings: &[String], by_file: bool) -> Vec<Option<(Role, i32)>> {
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
        // A heading that names the unit prints no suffixes.
        let power = if h.contains("(mb)") { 2 } else { 0 };
        let role = if h.contains("req") {
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
        };
        Some((role, power))
    });
    let mut roles: Vec<Option<(Role, i32)>> = each.collect();
    // One group alone without its word may be either: nothing of it is read.
    let has_word = |h: &String| {
        ["reads", "writes", "volume"]
            .iter()
            .any(|w| squeeze(h).contains(w))
    };
    let groups = roles
        .iter()
        .flatten()
        .filter(|(r, _)| matches!(r, Role::Data(_)));
    let least = usize::from(by_file);
    if (least..2).contains(&groups.count()) && !headings.iter().any(has_word) {
        roles.iter_mut().for_each(|role| {
            if role.is_some_and(|(r, _)| !matches!(r, Role::Waits | Role::Average)) {
                *role = None;
            }
        });
    }
    roles
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
    let headings = grid.whole_headings();
    let roles = roles(headings.get(1..).unwrap_or_default(), by_file);
    for (number, row) in &grid.rows {
        if row.first().is_none_or(|n| n.is_empty()) {
            continue;
        }
        let values: Vec<IoValue<'_>> = roles
            .iter()
            .zip(&row[1..])
            .filter_map(|(role, cell)| Some(IoValue::new((*role)?, cell)))
            .collect();
        sheets.sourced_row(table, *number, line(&row[0], &values));
    }
}

/// A cell with its role.
struct IoValue<'a> {
    role: Role,
    power: i32,
    cell: &'a GridCell,
}

impl<'a> IoValue<'a> {
    fn new((role, power): (Role, i32), cell: &'a GridCell) -> IoValue<'a> {
        IoValue { role, power, cell }
    }

    fn number(&self) -> Option<Number<'a>> {
        printed::number(&self.cell.text)
    }

    /// The unit of the number, with suffixes as powers of `base`.
    fn unit(&self, base: f64) -> Option<f64> {
        match self.number()? {
            n if n.suffix.is_empty() => Some(base.powi(self.power)),
            n => n.unit(base),
        }
    }

    fn bytes(&self, base: f64) -> Option<f64> {
        Some(self.number()?.value * self.unit(base)?)
    }
}

fn line(name: &GridCell, values: &[IoValue<'_>]) -> Vec<SourcedCell> {
    let get = |role: Role| values.iter().find(|v| v.role == role);
    let cell = |role, make: fn(&IoValue<'_>) -> SourcedCell| {
        get(role).map_or_else(SourcedCell::blank, make)
    };
    let bytes = |role| cell(role, |v| v.cell.scaled(v.unit(1024.0)));
    let mb = |role| {
        cell(role, |v| {
            v.cell.scaled(v.unit(1024.0).map(|u| u / 1_048_576.0))
        })
    };
    let plain = |role| {
        cell(role, |v| {
            v.cell.scaled(v.number().and_then(|n| n.unit(1000.0)))
        })
    };
    let shown = |role| cell(role, |v| v.cell.sourced_or_blank());
    let (volume, rate) = (Role::Data(Side::Writes), Role::Rate(Side::Writes));
    let window = |base: f64, formula| {
        let seconds = get(volume).zip(get(rate)).and_then(|(volume, rate)| {
            let rate = rate.bytes(base).filter(|r| *r > 0.0)?;
            Some(volume.bytes(base)? / rate)
        });
        let inputs = vec!["write_data".into(), "write_data_per_s".into()];
        SourcedCell::computed(seconds, formula, inputs)
    };
    vec![
        name.sourced(),
        bytes(Role::Data(Side::Reads)),
        plain(Role::Requests(Side::Reads)),
        mb(Role::Rate(Side::Reads)),
        bytes(volume),
        plain(Role::Requests(Side::Writes)),
        mb(rate),
        cell(Role::Waits, |v| v.cell.count()),
        cell(Role::Average, |v| {
            v.cell.scaled(v.number().and_then(|n| n.millis(1.0)))
        }),
        shown(volume),
        shown(rate),
        window(
            1024.0,
            "write_data / write_data_per_s, with suffixes as powers of 1024",
        ),
        window(
            1000.0,
            "write_data / write_data_per_s, with suffixes as powers of 1000",
        ),
    ]
}
