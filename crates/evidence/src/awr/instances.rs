//! Wait events of a report of a whole cluster: a row is of the instance that `I#` names, in it or
//! in a row above; `*` is all of them together.
//!
//! Invariants: a row without an instance above it is of none, and is reported; what is of all
//! instances is a table as printed, and no figure of it is judged.

use super::cell::GridCell;
use super::storage::{as_printed, keys};
use super::{Grid, events, squeeze};
use crate::Notes;
use crate::sheets::Sheets;
use measure::imported::Severity;

/// The mark of all instances.
const ALL: &str = "*";

/// Where the instance of a row is, if a grid has wait events by instance.
fn instance_column(grid: &Grid) -> Option<usize> {
    const NAMES: [&str; 5] = ["i#", "inst#", "inst", "instid", "instance#"];
    let has = |name: &str| grid.column(|h| h == name).is_some();
    let at = grid.column(|h| NAMES.contains(&h))?;
    (has("event") && has("waits")).then_some(at)
}

/// The heading of a column as tables of one instance have it; `None` of what sums up instances.
fn usual(group: &str, heading: &str) -> Option<String> {
    let (group, name) = (squeeze(group), squeeze(heading));
    let is_summary = group.starts_with("summary");
    let of_instances = ["min", "max", "stddev", "cnt"].contains(&name.as_str());
    if is_summary || of_instances {
        return None;
    }
    Some(match name.as_str() {
        "class" => "Wait Class".to_owned(),
        "total(s)" | "time(s)" => "Total Wait Time (s)".to_owned(),
        "%dbtime" => "% DB time".to_owned(),
        "%bgtime" => "% bg time".to_owned(),
        _ => heading.to_owned(),
    })
}

/// The tables of such a grid, one for each instance; those of all together are given. `None` of any
/// other grid.
pub(super) fn apart(grid: &Grid, sheets: &mut Sheets, notes: &mut Notes) -> Option<Vec<Grid>> {
    let at = instance_column(grid)?;
    let group = |column: usize| grid.groups.get(column).map_or("", String::as_str);
    let names = grid.headings.iter().enumerate();
    let mut columns: Vec<(usize, String)> = names
        .filter(|(column, _)| *column != at)
        .filter_map(|(column, heading)| Some((column, usual(group(column), heading)?)))
        .collect();
    // The event is the first column of the others.
    columns.sort_by_key(|(_, heading)| squeeze(heading) != "event");
    let is_average = |name: &str| matches!(events::role(name), Some((events::Role::Average, _)));
    let first = columns.iter().position(|(_, name)| is_average(name));
    let mut column = 0;
    columns.retain(|(_, name)| {
        column += 1;
        !is_average(name) || Some(column - 1) == first
    });
    let mut instance = GridCell::default();
    let mut all: Vec<(u64, Vec<GridCell>)> = Vec::new();
    let mut out: Vec<Grid> = Vec::new();
    for (line, row) in &grid.rows {
        if let Some(own) = row.get(at).filter(|cell| !cell.trim().is_empty()) {
            instance = own.clone();
        }
        match instance.trim() {
            "" => notes.add(
                Severity::Warning,
                "awr.no_instance",
                Some(*line),
                None,
                || "a row of which no instance is named, in it or above it: left out".to_owned(),
            ),
            ALL => all.push((*line, row.clone())),
            number => {
                let title = format!("instance {number}");
                let cells = columns.iter().map(|(column, _)| row.get(*column));
                let cells = cells
                    .map(|cell| cell.cloned().unwrap_or_default())
                    .collect();
                let known = out.iter().position(|of| of.title == title);
                let known = known.unwrap_or_else(|| {
                    out.push(Grid {
                        title,
                        line: *line,
                        headings: columns.iter().map(|(_, name)| name.clone()).collect(),
                        ..Grid::default()
                    });
                    out.len() - 1
                });
                out[known].push(*line, cells);
            }
        }
    }
    give_all(grid, &all, sheets);
    Some(out)
}

/// The rows of all instances together, as printed.
fn give_all(grid: &Grid, rows: &[(u64, Vec<GridCell>)], sheets: &mut Sheets) {
    let Some((line, _)) = rows.first() else {
        return;
    };
    let headings = grid.whole_headings();
    let keys = keys(&headings);
    let names = headings.iter().map(String::as_str);
    let columns: Vec<(&str, &str)> = keys.iter().map(String::as_str).zip(names).collect();
    let title = "Wait events of all instances together, and means over instances";
    let table = sheets.open("cluster_waits", title, *line, &columns);
    for (line, row) in rows {
        let cells = row.iter().take(columns.len()).map(as_printed).collect();
        sheets.sourced_row(table, *line, cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: &[[&str; 7]]) -> Grid {
        let cell = |text: &&str| GridCell {
            text: (*text).to_owned(),
            ..GridCell::default()
        };
        let named = |names: [&str; 7]| names.map(str::to_owned).to_vec();
        let mut grid = Grid {
            headings: named([
                "I#", "Class", "Event", "Waits", "Total(s)", "Avg Wait", "Avg",
            ]),
            groups: named([
                "",
                "Wait",
                "Wait",
                "Event",
                "Wait Time",
                "Wait Time",
                "Summary",
            ]),
            ..Grid::default()
        };
        for (line, row) in (1..).zip(rows) {
            grid.push(line, row.iter().map(cell).collect());
        }
        grid
    }

    #[test]
    fn rows_are_of_the_instance_above_them() {
        let grid = grid(&[
            ["", "", "db file sequential read", "1", "1", "1ms", ""],
            ["*", "Commit", "log file sync", "9", "9", "1ms", "5ms"],
            ["1", "", "DB CPU", "", "7", "", ""],
            ["", "Commit", "log file sync", "4", "1", "250ms", ""],
            ["2", "Commit", "log file sync", "5", "8", "1.6s", ""],
        ]);
        let (mut sheets, mut notes) = (Sheets::new("f"), Notes::new("f"));
        let found = apart(&grid, &mut sheets, &mut notes).expect("a table of a cluster");
        let shown = found.iter().flat_map(|of| {
            of.rows.iter().map(|(_, row)| {
                let cells: Vec<&str> = row.iter().map(GridCell::as_str).collect();
                format!("{}: {}", of.title, cells.join("|"))
            })
        });
        let want = [
            "instance 1: DB CPU|||7|",
            "instance 1: log file sync|Commit|4|1|250ms",
            "instance 2: log file sync|Commit|5|8|1.6s",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), want);
        let headings = [
            "Event",
            "Wait Class",
            "Waits",
            "Total Wait Time (s)",
            "Avg Wait",
        ];
        assert_eq!(found[0].headings, headings);
        let tables = sheets.into_tables(&mut notes);
        assert_eq!((tables.len(), tables[0].rows.len()), (1, 1));
        assert_eq!(notes.first().map(|n| n.line), Some(Some(1)));
    }
}
