//! Listings of SQL Server's `sys.dm_os_wait_stats`, as sqlcmd aligns them, with tabs, commas or
//! bars, or as Markdown, also under the headings of common scripts: every wait type with its
//! figures, among them WRITELOG, the wait of commits. There is no SQL Server here: the layout is
//! that of its documentation, unverified.

use crate::Notes;
use crate::awr::squeeze;
use crate::counters::{CounterListing, CounterView};
use crate::notes::quote;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::tables::column;
use measure::imported::{Cell, Severity};
use measure::printed;

static WAITS: CounterView = CounterView {
    id: "sqlserver_waits_change",
    title: "sys.dm_os_wait_stats",
    name: ("wait_type", "wait_type"),
    mean_of: Some(("waits", "wait_ms")),
};

/// Our keys and the headings of the view; the longest wait is no counter.
const FIGURES: [(&str, &str); 4] = [
    ("waits", "waiting_tasks_count"),
    ("wait_ms", "wait_time_ms"),
    ("max_ms", "max_wait_time_ms"),
    ("signal_ms", "signal_wait_time_ms"),
];
const NAME: &str = "wait_type";
/// Headings of the view and of scripts, in small letters without blanks, by figure, and the
/// milliseconds of their unit.
const HEADINGS: [(usize, &str, f64); 18] = [
    (0, "waiting_tasks_count", 1.0),
    (0, "waits", 1.0),
    (0, "waitcount", 1.0),
    (0, "wait_count", 1.0),
    (0, "waitingtasks", 1.0),
    (1, "wait_time_ms", 1.0),
    (1, "milliseconds", 1.0),
    (1, "wait_ms", 1.0),
    (1, "waitms", 1.0),
    (1, "waittime(ms)", 1.0),
    (1, "waittimems", 1.0),
    (1, "wait_s", 1000.0),
    (1, "waittime(s)", 1000.0),
    (1, "seconds", 1000.0),
    (2, "max_wait_time_ms", 1.0),
    (2, "maxwaittime(ms)", 1.0),
    (3, "signal_wait_time_ms", 1.0),
    (3, "signal_s", 1000.0),
];

/// Whether a line is the heading of such a listing.
pub fn opens(line: &str) -> bool {
    Layout::of(line).is_some()
}

/// The cells of a line.
fn cells(line: &str, separator: char) -> Vec<&str> {
    if separator == ' ' {
        return line.split_whitespace().collect();
    }
    let line = line.trim();
    let inner = match separator {
        '|' => line.strip_prefix('|').unwrap_or(line),
        _ => line,
    };
    let inner = match separator {
        '|' => inner.strip_suffix('|').unwrap_or(inner),
        _ => inner,
    };
    let each = inner.split(separator);
    each.map(|c| c.trim().trim_matches(['"', '`', '*']).trim())
        .collect()
}

/// Where the columns of a listing are.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    separator: char,
    columns: usize,
    name: usize,
    /// By figure: the column, and the milliseconds of its unit.
    figures: [Option<(usize, f64)>; FIGURES.len()],
    /// Columns that are no figure.
    others: Vec<String>,
}

impl Layout {
    fn of(line: &str) -> Option<Layout> {
        if line.len() > 400 || !line.to_ascii_lowercase().contains("wait") {
            return None;
        }
        let separator = ['|', '\t', ',', ';']
            .into_iter()
            .find(|s| line.contains(*s));
        let separator = separator.unwrap_or(' ');
        let printed = cells(line, separator);
        let names: Vec<String> = printed.iter().map(|c| squeeze(c)).collect();
        let name = names.iter().position(|n| n == NAME || n == "waittype")?;
        let figures: [Option<(usize, f64)>; FIGURES.len()] = std::array::from_fn(|figure| {
            let of_it = HEADINGS.iter().filter(|(of, ..)| *of == figure);
            of_it.into_iter().find_map(|(_, heading, unit)| {
                Some((names.iter().position(|n| n == heading)?, *unit))
            })
        });
        if figures[0].is_none() || figures[1].is_none() {
            return None;
        }
        let is_read = |at: usize| at == name || figures.iter().flatten().any(|(of, _)| *of == at);
        let others = (0..names.len()).filter(|at| !is_read(*at));
        Some(Layout {
            separator,
            columns: names.len(),
            name,
            figures,
            others: others.map(|at| printed[at].to_owned()).collect(),
        })
    }
}

/// The listings of a file.
#[derive(Debug, Default)]
pub struct SqlServerWaits {
    file: String,
    layout: Option<Layout>,
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
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let first = line.as_bytes().first();
        let may = matches!(first, Some(b'w' | b'W' | b'"' | b'|' | b's' | b' '));
        if self.layout.is_none() && !may {
            return;
        }
        if let Some(layout) = Layout::of(line) {
            if !layout.others.is_empty() {
                let at = Some(number);
                notes.add(Severity::Note, "sqlserver.columns", at, None, || {
                    let others = quote(layout.others.join(", ").as_bytes());
                    format!("columns that are left out: {others}")
                });
            }
            self.layout = Some(layout);
            self.listings
                .push(CounterListing::new(&WAITS, &self.file, number));
            return;
        }
        let Some(layout) = &self.layout else {
            return;
        };
        let is_rule = line
            .bytes()
            .all(|b| matches!(b, b'-' | b' ' | b'+' | b'|' | b'\t' | b':'));
        let layout = layout.clone();
        if !is_rule && !self.row(&layout, SourceLine::new(number, line), sheets) {
            self.layout = None;
        }
    }

    fn row(&mut self, layout: &Layout, source: SourceLine<'_>, sheets: &mut Sheets) -> bool {
        let values = cells(source.text, layout.separator);
        let name = values.get(layout.name).copied();
        let Some(name) = name.filter(|_| values.len() == layout.columns) else {
            return false;
        };
        let is_type = name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let cells = layout.figures.map(|found| {
            let found = found.and_then(|(at, unit)| Some((*values.get(at)?, unit)));
            let plain = found.and_then(|(w, unit)| Some((w, unit, printed::plain(w)?)));
            match plain {
                None => SourcedCell::blank(),
                Some((word, 1.0, _)) => source.cell(word),
                Some((word, unit, n)) => source.scaled(word, n, unit),
            }
        });
        let is_number = |cell: &SourcedCell| amount(cell).is_some();
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
        let of = amount(&cells[0]).filter(|n| *n > 0.0);
        let mean = of.zip(amount(&cells[1])).map(|(n, ms)| ms / n);
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

fn amount(cell: &SourcedCell) -> Option<f64> {
    match cell.cell {
        Cell::Count(n) => Some(n as f64),
        Cell::Real(x) => Some(x),
        Cell::Blank | Cell::Text(_) => None,
    }
}
