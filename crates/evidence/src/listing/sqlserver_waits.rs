//! Listings of SQL Server's `sys.dm_os_wait_stats`, as sqlcmd aligns them or with tabs, commas or
//! bars: every wait type with its figures, among them WRITELOG, the wait of commits. There is no
//! SQL Server here: the layout is that of its documentation, unverified.

use crate::counters::{CounterListing, CounterView};
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::tables::column;
use measure::imported::Cell;

static WAITS: CounterView = CounterView {
    id: "sqlserver_waits_change",
    title: "sys.dm_os_wait_stats",
    name: ("wait_type", "wait_type"),
    mean_of: None,
};

/// Our keys and the headings; the longest wait is no counter.
const FIGURES: [(&str, &str); 4] = [
    ("waits", "waiting_tasks_count"),
    ("wait_ms", "wait_time_ms"),
    ("max_ms", "max_wait_time_ms"),
    ("signal_ms", "signal_wait_time_ms"),
];
const NAME: &str = "wait_type";

/// Whether a line is the heading of such a listing.
pub fn opens(line: &str) -> bool {
    heading(line).is_some()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split([' ', '\t', ',', '|', ';']);
    words.map(|w| w.trim_matches('"')).filter(|w| !w.is_empty())
}

fn heading(line: &str) -> Option<Vec<&str>> {
    if !line.contains(NAME) || line.len() > 400 {
        return None;
    }
    let names: Vec<&str> = words(line).collect();
    let is_name = |n: &&str| {
        n.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let has = |name: &str| names.contains(&name);
    let fits = has(NAME) && has(FIGURES[0].1) && has(FIGURES[1].1) && names.iter().all(is_name);
    fits.then_some(names)
}

/// The listings of a file.
#[derive(Debug, Default)]
pub struct SqlServerWaits {
    file: String,
    names: Vec<String>,
    table: Option<usize>,
    /// Listings, for their differences.
    pub listings: Vec<CounterListing>,
}

impl SqlServerWaits {
    /// Of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> SqlServerWaits {
        SqlServerWaits {
            file: file.to_owned(),
            ..SqlServerWaits::default()
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let first = line.as_bytes().first();
        if self.names.is_empty() && !matches!(first, Some(b'w' | b'"' | b'|' | b's')) {
            return;
        }
        if let Some(names) = heading(line) {
            self.names = names.into_iter().map(str::to_owned).collect();
            self.listings
                .push(CounterListing::new(&WAITS, &self.file, number));
            return;
        }
        if self.names.is_empty() {
            return;
        }
        let is_rule = line
            .bytes()
            .all(|b| matches!(b, b'-' | b' ' | b'+' | b'|' | b'\t'));
        if !is_rule && !self.row(SourceLine::new(number, line), sheets) {
            self.names.clear();
        }
    }

    fn row(&mut self, source: SourceLine<'_>, sheets: &mut Sheets) -> bool {
        let values: Vec<&str> = words(source.text).collect();
        let of = |name: &str| {
            let at = self.names.iter().position(|n| n == name)?;
            values.get(at).copied()
        };
        let Some(name) = of(NAME).filter(|_| values.len() == self.names.len()) else {
            return false;
        };
        let is_type = name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let cells = FIGURES.map(|(_, heading)| {
            let word = of(heading).filter(|w| w.parse::<u64>().is_ok());
            word.map_or_else(SourcedCell::blank, |w| source.cell(w))
        });
        let is_number = |cell: &SourcedCell| matches!(cell.cell, Cell::Count(_));
        if !is_type || !cells[..2].iter().all(is_number) {
            return false;
        }
        if let Some(listing) = self.listings.last_mut() {
            for ((key, heading), cell) in FIGURES.iter().zip(&cells) {
                if *key != "max_ms" {
                    listing.add(name, &column(key, heading), cell);
                }
            }
        }
        let mean = match (&cells[0].cell, &cells[1].cell) {
            (Cell::Count(n), Cell::Count(ms)) if *n > 0 => Some(*ms as f64 / *n as f64),
            _ => None,
        };
        let mean = SourcedCell::computed(
            mean,
            "wait_ms / waits",
            vec!["wait_ms".into(), "waits".into()],
        );
        let mut columns = vec![(NAME, NAME)];
        columns.extend(FIGURES);
        columns.push(("mean_ms", "Mean ms"));
        let open = || sheets.open("sqlserver_waits", WAITS.title, source.number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let mut row = vec![source.text(name)];
        row.extend(cells);
        row.push(mean);
        sheets.sourced_row(table, source.number, row);
        true
    }
}
