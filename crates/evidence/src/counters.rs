//! Counters since a start: what happened between two listings of the same instance is their
//! difference. It is made where every counter that both have only grows; where one goes back the
//! instance was restarted or its statistics were reset, which is reported, and nothing is
//! subtracted. Listings of different instances are never subtracted.

use super::tables::column;
use measure::imported::{Cell, Column, Diagnostic, Severity, Table};
use std::collections::BTreeMap;

/// Listings of an import that are kept.
const LISTINGS_MAX: usize = 4096;
/// Counters of an import that are kept.
const COUNTERS_MAX: usize = 400_000;

/// What a view lists.
#[derive(Debug, PartialEq, Eq)]
pub struct CounterView {
    /// Id of its table of differences.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// Our key and the evidence's heading for what a line is about; empty if a listing is one line.
    pub name: (&'static str, &'static str),
    /// Keys of a count and of the time of all that it counts, in microseconds: their quotient is
    /// the mean of the stretch.
    pub mean_of: Option<(&'static str, &'static str)>,
}

/// One listing.
#[derive(Clone, Debug)]
pub struct CounterListing {
    /// What is listed.
    pub view: &'static CounterView,
    /// The file.
    pub file: String,
    /// Line of its first counters, from 1.
    pub line: u64,
    /// Of which instance, and since when; empty where the listing does not contain it.
    pub instance: String,
    /// What the listing calls itself: a snapshot, a time; empty where it has no name.
    pub label: String,
    lines: BTreeMap<String, BTreeMap<String, Counter>>,
}

#[derive(Clone, Debug)]
struct Counter {
    heading: String,
    /// Where it stands among the others of its line.
    place: usize,
    value: Cell,
}

impl CounterListing {
    /// An empty one.
    #[must_use]
    pub fn new(view: &'static CounterView, file: &str, line: u64) -> CounterListing {
        CounterListing {
            view,
            file: file.to_owned(),
            line,
            instance: String::new(),
            label: String::new(),
            lines: BTreeMap::new(),
        }
    }

    /// Adds a counter of what is called `name`. Cells that are no numbers are none.
    pub fn add(&mut self, name: &str, column: &Column, value: &Cell) {
        if !matches!(value, Cell::Count(_) | Cell::Real(_)) {
            return;
        }
        let counters = self.lines.entry(name.to_owned()).or_default();
        let place = counters.len();
        counters.entry(column.key.clone()).or_insert(Counter {
            heading: column.heading.clone(),
            place,
            value: value.clone(),
        });
    }

    /// Whether something of that name was listed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.lines.contains_key(name)
    }

    fn counters(&self) -> usize {
        self.lines.values().map(BTreeMap::len).sum()
    }

    fn name(&self) -> String {
        match self.label.as_str() {
            "" => format!("{} line {}", self.file, self.line),
            label => label.to_owned(),
        }
    }
}

/// Adds tables of differences, and diagnostics.
pub fn join(
    listings: &[CounterListing],
    tables: &mut Vec<Table>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut groups: Vec<((&str, &str), Vec<&CounterListing>)> = Vec::new();
    let mut counters = 0;
    for listing in listings.iter().take(LISTINGS_MAX) {
        counters += listing.counters();
        if counters > COUNTERS_MAX {
            break;
        }
        let key = (listing.view.id, listing.instance.as_str());
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(listing),
            None => groups.push((key, vec![listing])),
        }
    }
    for (_, group) in groups {
        let mut table = None;
        for pair in group.windows(2) {
            let [before, after] = pair else { continue };
            match growth(before, after) {
                Ok(lines) => add(&mut table, before, after, &lines),
                Err(back) => diagnostics.push(goes_back(before, after, &back)),
            }
        }
        let table = table.filter(|t: &Table| !t.rows.is_empty());
        if table.is_some() && group[0].instance.is_empty() {
            diagnostics.push(unnamed(group[0]));
        }
        tables.extend(table);
    }
}

/// A counter that went back.
struct Back {
    name: String,
    key: String,
    before: f64,
    after: f64,
}

/// What each counter grew by, in the order of its line: those that both listings have.
type Growth = Vec<(String, Vec<(Column, Cell)>)>;

fn growth(before: &CounterListing, after: &CounterListing) -> Result<Growth, Back> {
    let mut all = Vec::new();
    for (name, counters) in &after.lines {
        let Some(earlier) = before.lines.get(name) else {
            continue;
        };
        let mut grown: Vec<(usize, Column, Cell)> = Vec::new();
        for (key, counter) in counters {
            let Some(from) = earlier.get(key) else {
                continue;
            };
            let Some(change) = difference(&from.value, &counter.value) else {
                return Err(Back {
                    name: name.clone(),
                    key: key.clone(),
                    before: value(&from.value),
                    after: value(&counter.value),
                });
            };
            grown.push((counter.place, column(key, &counter.heading), change));
        }
        grown.sort_by_key(|(place, ..)| *place);
        let grown = grown.into_iter().map(|(_, column, cell)| (column, cell));
        all.push((name.clone(), grown.collect()));
    }
    Ok(all)
}

fn value(cell: &Cell) -> f64 {
    match cell {
        Cell::Count(n) => *n as f64,
        Cell::Real(x) => *x,
        Cell::Blank | Cell::Text(_) => 0.0,
    }
}

/// What a counter grew by; `None` if it went back.
fn difference(before: &Cell, after: &Cell) -> Option<Cell> {
    if let (Cell::Count(before), Cell::Count(after)) = (before, after) {
        return after.checked_sub(*before).map(Cell::Count);
    }
    let change = value(after) - value(before);
    // Views print at most six decimals: the difference has no more.
    (change >= 0.0).then(|| Cell::Real((change * 1e6).round() / 1e6))
}

fn add(table: &mut Option<Table>, before: &CounterListing, after: &CounterListing, lines: &Growth) {
    let view = after.view;
    let table = table.get_or_insert_with(|| {
        let of = match after.instance.as_str() {
            "" => String::new(),
            instance => format!(" of {instance}"),
        };
        let mut columns = vec![column("from", "From"), column("to", "To")];
        if !view.name.0.is_empty() {
            columns.push(column(view.name.0, view.name.1));
        }
        Table {
            id: view.id.to_owned(),
            title: format!("{}: differences of listings{of}", view.title),
            columns,
            ..Table::default()
        }
    });
    for (name, counters) in lines {
        let mut row = vec![Cell::Text(before.name()), Cell::Text(after.name())];
        if !view.name.0.is_empty() {
            row.push(Cell::Text(name.clone()));
        }
        for (column, cell) in counters {
            set(table, &mut row, column.clone(), cell.clone());
        }
        if let Some(mean) = mean_us(view, counters) {
            set(table, &mut row, column("mean_us", "Mean (us)"), mean);
        }
        row.resize(table.columns.len().max(row.len()), Cell::Blank);
        table.rows.push(row);
    }
    let width = table.columns.len();
    table
        .rows
        .iter_mut()
        .for_each(|r| r.resize(width, Cell::Blank));
}

/// Puts a cell into its column, which is made where there is none.
fn set(table: &mut Table, row: &mut Vec<Cell>, column: Column, cell: Cell) {
    let found = table.columns.iter().position(|c| c.key == column.key);
    let at = found.unwrap_or_else(|| {
        table.columns.push(column);
        table.columns.len() - 1
    });
    row.resize(row.len().max(at + 1), Cell::Blank);
    row[at] = cell;
}

fn mean_us(view: &CounterView, counters: &[(Column, Cell)]) -> Option<Cell> {
    let (count, time) = view.mean_of?;
    let of = |key: &str| {
        counters
            .iter()
            .find(|(c, _)| c.key == key)
            .map(|(_, v)| value(v))
    };
    let (count, time) = (of(count)?, of(time)?);
    (count > 0.0).then(|| Cell::Real(time / count))
}

fn goes_back(before: &CounterListing, after: &CounterListing, back: &Back) -> Diagnostic {
    let of = match back.name.as_str() {
        "" => String::new(),
        name => format!("{name}: "),
    };
    Diagnostic {
        severity: Severity::Warning,
        id: "counters.goes_back".to_owned(),
        file: after.file.clone(),
        line: Some(after.line),
        column: None,
        detail: format!(
            "{}: {of}{} goes back from {} to {} between {} and {}: the instance was restarted, its \
             statistics were reset, or these are listings of two instances; not subtracted",
            after.view.title,
            back.key,
            back.before,
            back.after,
            before.name(),
            after.name()
        ),
        count: 1,
    }
}

fn unnamed(first: &CounterListing) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        id: "counters.no_instance".to_owned(),
        file: first.file.clone(),
        line: Some(first.line),
        column: None,
        detail: format!(
            "listings of {} do not name their instance: no counter goes back, so they were \
             subtracted as listings of one instance",
            first.view.title
        ),
        count: 1,
    }
}
