//! Sections of Exadata and Data Guard: there log writes are decided on such machines. Each is a
//! table as printed, by its own headings: releases name and order them differently, and no figure
//! is interpreted here.

use super::Grid;
use super::cell::GridCell;
use crate::Notes;
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
use crate::tables::key_of;
use measure::imported::Severity;
use measure::printed;

/// Words of a title, with the id of the section's table.
const TITLES: &[(&str, &[&str])] = &[
    (
        "data_guard_section",
        &["data guard", "redo transport", "standby "],
    ),
    (
        "exadata_section",
        &[
            "exadata",
            "flash log",
            "smart flash",
            "flash cache",
            "cell ",
            "pmem",
            "xrmem",
        ],
    ),
];
/// Sections of a report that are read.
const SECTIONS_MAX: usize = 64;

/// The sections so far.
#[derive(Debug, Default)]
pub struct StorageSections {
    /// Line of the first one.
    first: Option<u64>,
    sections: usize,
}

impl StorageSections {
    /// Takes a grid, if it is such a section; whether it is one.
    pub fn take(&mut self, grid: &Grid, sheets: &mut Sheets) -> bool {
        let Some(id) = id_of(grid).filter(|_| self.sections < SECTIONS_MAX) else {
            return false;
        };
        let is_empty = |cell: &GridCell| cell.trim().is_empty();
        if grid.rows.iter().all(|(_, row)| row.iter().all(is_empty)) {
            return false;
        }
        self.sections += 1;
        self.first.get_or_insert(grid.line);
        let headings = grid.whole_headings();
        let keys = keys(&headings);
        let names = headings.iter().map(String::as_str);
        let columns: Vec<(&str, &str)> = keys.iter().map(String::as_str).zip(names).collect();
        let title = match grid.title.as_str() {
            "" => "a section of storage without a title",
            title => title,
        };
        let table = sheets.open(id, title, grid.line, &columns);
        for (line, row) in &grid.rows {
            if row.iter().all(is_empty) {
                continue;
            }
            let cells = row.iter().take(columns.len()).map(as_printed).collect();
            sheets.sourced_row(table, *line, cells);
        }
        true
    }

    /// Reports that they are as printed.
    pub fn say(&self, notes: &mut Notes) {
        if self.sections == 0 {
            return;
        }
        notes.add(Severity::Note, "awr.as_printed", self.first, None, || {
            format!(
                "{} sections of Exadata or Data Guard are tables as printed: their layouts are \
                 unverified, and no figure of them is judged",
                self.sections
            )
        });
    }
}

fn id_of(grid: &Grid) -> Option<&'static str> {
    let title = format!("{} ", grid.title.to_lowercase());
    let has = |words: &[&str]| words.iter().any(|w| title.contains(w));
    let titled = TITLES.iter().find(|(_, words)| has(words));
    let is_cell = |h: &String| {
        let h = h.to_lowercase();
        h.starts_with("cell name") || h.contains("flash log")
    };
    let is_cell = grid
        .headings
        .iter()
        .any(is_cell)
        .then_some("exadata_section");
    titled.map(|(id, _)| *id).or(is_cell)
}

/// Keys of the headings, each once.
pub(super) fn keys(headings: &[String]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::with_capacity(headings.len());
    for heading in headings {
        let key = key_of(heading);
        let same = keys
            .iter()
            .filter(|k| **k == key || k.starts_with(&format!("{key}_")))
            .count();
        keys.push(match same {
            0 => key,
            n => format!("{key}_{}", n + 1),
        });
    }
    keys
}

/// A plain number, or the text as printed, with its unit.
pub(super) fn as_printed(printed: &GridCell) -> SourcedCell {
    let number = printed::number(printed).filter(|n| n.suffix.is_empty());
    match number {
        Some(n) => SourcedCell::read(n.cell(), printed.span),
        None => printed.sourced_or_blank(),
    }
}
