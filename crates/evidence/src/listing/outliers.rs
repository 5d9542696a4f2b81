//! `V$LGWRIO_OUTLIER` and `X$KSFDSTLL`: log writes over 500 ms, as SQL*Plus lists them. Columns are
//! recognised by the rule and heading, or, where a page lost the heading, by the query above.

use crate::Notes;
use crate::awr::cell::GridCell;
use crate::awr::ruled::{slice, spans};
use crate::origin::{SourceLine, SourcedCell};
use crate::quick::{QuickWord, has_any};
use crate::sheets::Sheets;
use crate::wrapped::{Wrapped, WrappedLine};
use measure::imported::Severity;
use measure::printed;

/// Every line that begins a listing contains one of these.
const WORDS: [QuickWord; 3] = [
    QuickWord::new("io_latency"),
    QuickWord::new("lgwrio_outlier"),
    QuickWord::new("ksfdstll"),
];
/// Columns of a listing.
const COLUMNS_MAX: usize = 40;

/// Whether a line begins such a listing.
pub fn opens(line: &str) -> bool {
    if !has_any(line, &WORDS) {
        return false;
    }
    let upper = line.to_ascii_uppercase();
    let heading = upper.contains("IO_LATENCY") && upper.contains("IO_SIZE");
    let query = upper.trim_start().starts_with("SELECT") || upper.contains("SQL>");
    let view = upper.contains("LGWRIO_OUTLIER") || upper.contains("KSFDSTLL");
    heading || (query && view && upper.contains("SELECT") && !upper.contains("DEFINITION"))
}

/// The listings of a file.
#[derive(Debug, Default)]
pub struct Outliers {
    /// Names of columns, once a query or heading has named them.
    names: Vec<String>,
    spans: Vec<(usize, usize)>,
    wrapped: Wrapped,
    table: Option<usize>,
    rows: u64,
    blanks: u32,
}

impl Outliers {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        // Names of files are long: rows take several lines unless the user set a long one.
        let source = SourceLine::new(number, line);
        match self.wrapped.line(source) {
            WrappedLine::Row(cells) => {
                let names = self.wrapped.names();
                if names.iter().any(|n| n == "io_latency") {
                    self.names = names;
                    self.give(&cells, number, sheets);
                    return;
                }
            }
            WrappedLine::Part if !self.names.is_empty() => return,
            WrappedLine::Part | WrappedLine::No => {}
        }
        if opens(line) {
            let names = names(line);
            if self.table.is_none() || line.to_ascii_uppercase().contains("SELECT") {
                self.table = None;
                self.rows = 0;
            }
            if !names.is_empty() {
                self.names = names;
            }
            return;
        }
        if !self.names.is_empty() && of_another_view(line) {
            self.names.clear();
        }
        if self.names.is_empty() {
            return;
        }
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.blanks += 1;
            return;
        }
        let blanks = std::mem::take(&mut self.blanks);
        if let Some(spans) = spans(line) {
            self.spans = if spans.len() == self.names.len() {
                spans
            } else {
                Vec::new()
            };
            return;
        }
        if let Some(selected) = selected(trimmed) {
            self.selected(selected, number, notes);
            return;
        }
        if !self.row(source, sheets) && (blanks > 0 || trimmed.len() > 100) && self.rows > 0 {
            self.names.clear();
        }
    }

    fn row(&mut self, line: SourceLine<'_>, sheets: &mut Sheets) -> bool {
        let words = line.text.split_whitespace();
        let words: Vec<GridCell> = words.map(|w| GridCell::of(line, w)).collect();
        // Names of functions and files have no blanks; the figures show whether columns fit.
        let is_figure = |name: &str| name.starts_with("io_") || name == "timestamp";
        let fits =
            |(name, word): (&String, &GridCell)| !is_figure(name) || printed::plain(word).is_some();
        let is_by_words = words.len() == self.names.len()
            && self.names.iter().zip(&words).all(fits)
            && words.iter().filter(|w| printed::plain(w).is_some()).count() > 1;
        let cells = if is_by_words {
            words
        } else if !self.spans.is_empty() {
            let cells = slice(line, &self.spans);
            let latency = self.names.iter().position(|n| n == "io_latency");
            let number = latency
                .and_then(|i| cells.get(i))
                .and_then(|c| printed::plain(c));
            if number.is_none() {
                return false;
            }
            cells
        } else {
            return false;
        };
        self.give(&cells, line.number, sheets);
        true
    }

    fn give(&mut self, cells: &[GridCell], number: u64, sheets: &mut Sheets) {
        let names = &self.names;
        let table = *self.table.get_or_insert_with(|| {
            let columns: Vec<(String, String)> = names
                .iter()
                .map(|n| (n.clone(), n.to_ascii_uppercase()))
                .collect();
            let columns: Vec<(&str, &str)> = columns
                .iter()
                .map(|(k, h)| (k.as_str(), h.as_str()))
                .collect();
            let title = "Log writes that the database lists as outliers";
            sheets.open("io_outliers", title, number, &columns)
        });
        let cell = |c: &GridCell| match printed::number(c) {
            Some(n) if n.suffix.is_empty() => SourcedCell::read(n.cell(), c.span),
            _ => c.sourced_or_blank(),
        };
        sheets.sourced_row(table, number, cells.iter().map(cell).collect());
        self.rows += 1;
    }

    fn selected(&mut self, selected: f64, number: u64, notes: &mut Notes) {
        let rows = self.rows;
        if rows > 0 && rows as f64 != selected {
            notes.add(
                Severity::Warning,
                "outliers.not_all",
                Some(number),
                None,
                || format!("{rows} rows are here of {selected} that the query gave"),
            );
        }
        self.rows = 0;
        self.names.clear();
    }

    /// Ends the file.
    pub fn end(&self, notes: &mut Notes) {
        if self.table.is_none() && !self.names.is_empty() {
            notes.add(Severity::Warning, "outliers.none", None, None, || {
                "a query of log write outliers without rows".to_owned()
            });
        }
    }
}

/// Whether a line begins the listing of an event histogram.
fn of_another_view(line: &str) -> bool {
    let upper = line.to_ascii_uppercase();
    upper.contains("EVENT_HISTOGRAM") || upper.contains("WAIT_TIME_MI")
}

fn selected(trimmed: &str) -> Option<f64> {
    let count = trimmed.strip_suffix("rows selected.")?;
    printed::plain(count)
}

/// The columns of a query or a heading, in small letters.
fn names(line: &str) -> Vec<String> {
    let small = line.to_ascii_lowercase();
    let list = match (small.find("select"), small.find(" from ")) {
        (Some(from), Some(to)) if from < to => &small[from + 6..to],
        (Some(_), _) => return Vec::new(),
        _ => small.trim(),
    };
    let parts = list.split([',', ' ', '\t', '|']).filter(|p| !p.is_empty());
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    let is_name = |p: &String| p.chars().all(|c| c.is_alphanumeric() || c == '_');
    let known = parts.iter().any(|p| p == "io_latency");
    if known && parts.len() <= COLUMNS_MAX && parts.iter().all(is_name) {
        parts
    } else {
        Vec::new()
    }
}
