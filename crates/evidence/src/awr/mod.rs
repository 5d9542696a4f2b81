//! Reports of AWR and Statspack, text and HTML, from 10.2 on: load profile, host CPU, wait events
//! and their histograms, I/O by function and file type, instance activity, parameters.
//!
//! Both forms become [`Grid`]s of text; [`give`] knows what each is by its headings, never by a
//! position. Columns are checked by count; averages carry units; a blank is a blank.

pub mod cell;
pub mod delimited;
pub mod events;
mod folded;
pub mod give;
mod headless;
pub mod html;
mod html_table;
mod instances;
pub mod io;
mod listed;
pub mod loose;
mod loose_headings;
mod over;
mod pages;
mod rows;
pub mod ruled;
mod storage;
pub mod text;
pub mod views;

use super::gathered::Ended;
use super::head::Head;
use super::sheets::Sheets;
use super::{Gathered, Options, Sink};
use cell::GridCell;
use html::Html;

/// Rows of a grid that are kept: the longest table of a report has some hundreds.
const ROWS_MAX: usize = 5000;

/// Whether a title, or a line that is one, is of a list of SQL statements: most of a report.
pub(crate) fn lists_statements(title: &[u8]) -> bool {
    const TITLES: [&[u8]; 2] = [b"SQL ordered by ", b"Complete List of SQL Text"];
    TITLES.iter().any(|begin| title.starts_with(begin))
}

/// A table of text.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// What stands above it.
    pub title: String,
    /// Line of its heading, from 1.
    pub line: u64,
    /// Its headings.
    pub headings: Vec<String>,
    /// Headings over several columns, above each of its headings; empty where there are none.
    pub groups: Vec<String>,
    /// Its rows, each with its line.
    pub rows: Vec<(u64, Vec<GridCell>)>,
    /// Lines of rows that are not below its headings, and how many cells each has.
    pub unmatched: Vec<(u64, usize)>,
}

impl Grid {
    /// Adds a row, within bounds.
    pub fn push(&mut self, line: u64, row: Vec<GridCell>) {
        if self.rows.len() < ROWS_MAX {
            self.rows.push((line, row));
        }
    }

    /// Its headings with those above them.
    #[must_use]
    pub fn whole_headings(&self) -> Vec<String> {
        let group = |at: usize| self.groups.get(at).map_or("", String::as_str);
        let whole = |(at, heading): (usize, &String)| format!("{} {heading}", group(at));
        let each = self.headings.iter().enumerate().map(whole);
        each.map(|h| h.trim().to_owned()).collect()
    }

    /// The column whose heading, in small letters and without spaces, `is` accepts.
    #[must_use]
    pub fn column(&self, is: impl Fn(&str) -> bool) -> Option<usize> {
        self.headings.iter().position(|h| is(&squeeze(h)))
    }
}

/// A heading in small letters without spaces.
#[must_use]
pub fn squeeze(heading: &str) -> String {
    let small = heading.chars().filter(|c| !c.is_whitespace());
    small.flat_map(char::to_lowercase).collect()
}

/// Whether the head of a file is such a report in HTML.
pub(super) fn recognise_html(head: &Head<'_>) -> bool {
    let markup = head.has("<html") || head.has("<HTML") || head.has("<table") || head.has("<TABLE");
    let title = [
        "AWR Report",
        "WORKLOAD REPOSITORY",
        "STATSPACK",
        "class=\"awr",
        "class='awr",
        "class=awr",
    ];
    let known = [
        "This table displays load profile",
        "Load Profile",
        "Foreground Wait Events",
        "Background Wait Events",
        "Top Timed Events",
    ];
    markup && (title.iter().any(|t| head.has(t)) || known.iter().any(|t| head.has(t)))
}

/// Reads a report in HTML.
#[derive(Debug)]
pub struct AwrReader {
    file: String,
    html: Html,
    give: give::ReportFigures,
    sheets: Sheets,
}

impl AwrReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(_options: &Options, file: &str) -> AwrReader {
        AwrReader {
            file: file.to_owned(),
            html: Html::default(),
            give: give::ReportFigures::default(),
            sheets: Sheets::new(file),
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        let (give, sheets) = (&mut self.give, &mut self.sheets);
        let each = &mut |grid: Grid| give.grid(&grid, sheets, &mut sink.notes);
        self.html.feed(text, each);
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let (give, sheets) = (&mut self.give, &mut self.sheets);
        let each = &mut |grid: Grid| give.grid(&grid, sheets, &mut sink.notes);
        let lines = self.html.end(each);
        let facts = {
            let notes = &mut sink.notes;
            self.give.end(&self.file, &mut self.sheets, notes, out)
        };
        out.yielded += self.sheets.found;
        out.tables.extend(self.sheets.into_tables(&mut sink.notes));
        Ended { lines, facts }
    }
}
