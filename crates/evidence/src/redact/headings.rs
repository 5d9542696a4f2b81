//! Names under a heading without a rule, as some reports have it: `DB Name   DB Id   Instance`, and
//! their values in the lines below, up to an empty line.

use super::columns::of_heading;
use super::{Mark, MarkKind, NameKind};
use std::ops::Range;

/// Words of a heading, at least: fewer are prose.
const WORDS_MIN: usize = 3;
/// Columns by which a value may begin before or behind its heading.
const SHIFT_MAX: usize = 2;

/// The heading that is in force.
#[derive(Debug, Default)]
pub(super) struct Headings {
    columns: Vec<(usize, Option<MarkKind>)>,
}

impl Headings {
    /// The places of a line.
    pub(super) fn marks(&mut self, text: &str) -> Vec<Mark> {
        let cells = cells(text);
        if let Some(columns) = heading(text, &cells) {
            self.columns = columns;
            return Vec::new();
        }
        // Under a rule, the columns are those of the rule.
        if text.contains("--") && text.bytes().all(|b| b"-+ \t".contains(&b)) {
            self.columns.clear();
        }
        if self.columns.is_empty() {
            return Vec::new();
        }
        let values = self.values(text, &cells);
        if values.is_empty() {
            self.columns.clear();
        }
        values
    }

    /// The values by their order, or, where some are missing, by their places.
    fn values(&self, text: &str, cells: &[Range<usize>]) -> Vec<Mark> {
        let mut marks = Vec::new();
        let is_full = cells.len() == self.columns.len();
        for (index, (start, kind)) in self.columns.iter().enumerate() {
            let cell = match is_full {
                true => cells.get(index).cloned(),
                false => word_at(text, *start),
            };
            if let (Some(at), Some(kind)) = (cell, kind) {
                marks.push(Mark { at, kind: *kind });
            }
        }
        marks
    }
}

/// A heading names a host, an instance or a database and has words only.
fn heading(text: &str, cells: &[Range<usize>]) -> Option<Vec<(usize, Option<MarkKind>)>> {
    let is_in_heading = |c: char| c.is_alphabetic() || " _()#%".contains(c);
    if cells.len() < WORDS_MIN || !text.chars().all(|c| is_in_heading(c) || c == '\t') {
        return None;
    }
    let columns: Vec<(usize, Option<MarkKind>)> = cells
        .iter()
        .map(|cell| {
            let name = text.get(cell.clone()).unwrap_or_default();
            let kind = of_heading(name).filter(|_| !name.contains('%'));
            (cell.start, kind.filter(|kind| is_of_site(*kind)))
        })
        .collect();
    let has_name = columns.iter().any(|(_, kind)| kind.is_some());
    has_name.then_some(columns)
}

fn is_of_site(kind: MarkKind) -> bool {
    use NameKind::{Database, Host, Instance, Module, Service, User};
    let kinds = [Database, Host, Instance, Module, Service, User];
    kind == MarkKind::Kept || kinds.iter().any(|name| kind == MarkKind::Name(*name))
}

/// What two blanks or a tab separate.
fn cells(text: &str) -> Vec<Range<usize>> {
    let mut cells: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for word in text.split([' ', '\t']) {
        let end = at + word.len();
        if !word.is_empty() {
            let is_next = cells
                .last()
                .filter(|last| last.end + 1 == at && text.get(last.end..at) == Some(" "));
            match is_next.is_some() {
                true => cells
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|last| last.end = end),
                false => cells.push(at..end),
            }
        }
        at = end + 1;
    }
    cells
}

/// The word that begins nearest to a place: values may be a little wider than their headings.
fn word_at(text: &str, start: usize) -> Option<Range<usize>> {
    let mut at = 0_usize;
    let mut words = Vec::new();
    for word in text.split([' ', '\t']) {
        if !word.is_empty() && at.abs_diff(start) <= SHIFT_MAX {
            words.push(at..at + word.len());
        }
        at += word.len() + 1;
    }
    words
        .into_iter()
        .min_by_key(|word| word.start.abs_diff(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_below_a_heading_without_a_rule_are_found() {
        let mut headings = Headings::default();
        for (line, found) in [
            (
                "DB Name     DB Id      Instance  Inst num  Release     RAC",
                vec![],
            ),
            (
                "KIOSK       77001122   kiosk2    2         12.1.0.2    NO",
                vec!["KIOSK", "kiosk2", "12.1.0.2"],
            ),
            ("", vec![]),
            (
                "KIOSK       77001122   kiosk2    2         12.1.0.2    NO",
                vec![],
            ),
            ("DB Name  DB Id  Instance", vec![]),
            ("-------  -----  --------", vec![]),
            ("KIOSK    77     kiosk2", vec![]),
            ("Host Name     Platform          CPUs  Cores", vec![]),
            ("kiosk-db07    Linux x86 64-bit  16", vec!["kiosk-db07"]),
            ("", vec![]),
            ("Time (s)  %Total  %user  SQL Module  PDB Name", vec![]),
            (
                "1.5       2.50    3.50   kioskapp    KPDB",
                vec!["kioskapp", "KPDB"],
            ),
            (
                "1.5       2.50     13.500 kioskapp    KPDB",
                vec!["kioskapp", "KPDB"],
            ),
            ("", vec![]),
            ("the host name is   not a  heading 17", vec![]),
            ("kiosk-db07    Linux", vec![]),
        ] {
            let marks = headings.marks(line);
            let parts: Vec<&str> = marks.iter().map(|mark| &line[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{line}");
        }
    }
}
