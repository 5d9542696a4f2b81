//! Counters since a start: what happened between two listings of the same instance is their
//! difference. It is made where every counter that both have only grows; where one goes back the
//! instance was restarted or its statistics were reset, which is reported, and nothing is
//! subtracted. Listings of different instances are never subtracted.

use super::notes::quote;
use super::origin::{CellSource, SourcedCell, add_sourced};
use super::tables::column;
use measure::imported::{Cell, Column, Diagnostic, Severity, Table};
use measure::origin::TextSpan;
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
    /// Keys of a count and of the time of all that it counts, in microseconds, or in milliseconds
    /// where the key ends in `_ms`: their quotient is the mean of the stretch.
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
    /// Its position among the others of its line.
    place: usize,
    value: Cell,
    span: Option<TextSpan>,
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
    pub fn add(&mut self, name: &str, column: &Column, value: &SourcedCell) {
        if !matches!(value.cell, Cell::Count(_) | Cell::Real(_)) {
            return;
        }
        let counters = self.lines.entry(name.to_owned()).or_default();
        let place = counters.len();
        counters.entry(column.key.clone()).or_insert(Counter {
            heading: column.heading.clone(),
            place,
            value: value.cell.clone(),
            span: match &value.source {
                CellSource::Read(span) | CellSource::Scaled(span, _) => Some(*span),
                CellSource::Given | CellSource::Derived(..) => None,
            },
        });
    }

    /// Moves the places of its counters.
    pub(crate) fn move_places(&mut self, move_it: &dyn Fn(&mut TextSpan)) {
        let counters = self.lines.values_mut().flat_map(BTreeMap::values_mut);
        counters.filter_map(|c| c.span.as_mut()).for_each(move_it);
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
    for (_, mut group) in groups {
        if let [first, second] = group[..]
            && is_named_backwards(&first.file, &second.file)
        {
            group.swap(0, 1);
            diagnostics.push(swapped(group[0], group[1]));
        }
        let mut pairs = Vec::new();
        for pair in group.windows(2) {
            let [before, after] = pair else { continue };
            match growth(before, after) {
                Ok(lines) if lines.is_empty() => {}
                Ok(mut lines) => {
                    if leave_out_untimed(&mut lines) {
                        diagnostics.push(untimed(before, after));
                    }
                    pairs.push((*before, *after, lines));
                }
                Err(back) => diagnostics.push(goes_back(before, after, &back)),
            }
        }
        if !pairs.is_empty() && group[0].instance.is_empty() {
            diagnostics.push(unnamed(group[0]));
        }
        tables.extend(table_of(&pairs));
    }
}

/// Whether the names of two files say that the second was made before the first: by name, `after`
/// comes before `before`.
fn is_named_backwards(first: &str, second: &str) -> bool {
    let name = |file: &str| file.rsplit('/').next().unwrap_or(file).to_lowercase();
    let (first, second) = (name(first), name(second));
    let words = [("after", "before"), ("nachher", "vorher"), ("post", "pre")];
    words.iter().any(|(after, before)| {
        let of = first.replace(after, before);
        of != first
            && of.split(before).next() == second.split(before).next()
            && second.contains(before)
    })
}

/// A counter that went back.
struct Back {
    name: String,
    key: String,
    before: f64,
    after: f64,
}

/// What each counter grew by, in the order of its line: those that both listings have.
type Growth = Vec<(String, Vec<(Column, SourcedCell)>)>;

fn growth(before: &CounterListing, after: &CounterListing) -> Result<Growth, Back> {
    let mut all = Vec::new();
    for (name, counters) in &after.lines {
        let Some(earlier) = before.lines.get(name) else {
            continue;
        };
        let mut grown: Vec<(usize, Column, SourcedCell)> = Vec::new();
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
            // Characters of another file have no place in this one.
            let is_one_file = before.file == after.file;
            let spans = counter.span.zip(from.span).filter(|_| is_one_file);
            let inputs = spans.map_or(Vec::new(), |(a, b)| vec![a.into(), b.into()]);
            let formula = match is_one_file {
                true => "a - b",
                false => "after - before, of two files",
            };
            let change = SourcedCell::derived(change, formula, inputs);
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

/// The table of the differences of an instance.
fn table_of(pairs: &[(&CounterListing, &CounterListing, Growth)]) -> Option<Table> {
    let (_, first, _) = pairs.first()?;
    let view = first.view;
    let has_name = !view.name.0.is_empty();
    let mut columns = vec![column("from", "From"), column("to", "To")];
    columns.extend(has_name.then(|| column(view.name.0, view.name.1)));
    let leads = columns.len();
    let all = pairs.iter().flat_map(|(.., lines)| lines);
    for (column, _) in all.flat_map(|(_, counters)| counters) {
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    columns.extend(mean_column(view, &columns));
    let of = match first.instance.as_str() {
        "" => String::new(),
        instance => format!(" of {instance}"),
    };
    let mut table = Table {
        id: view.id.to_owned(),
        title: format!("{}: differences of listings{of}", view.title),
        columns,
        ..Table::default()
    };
    for (before, after, lines) in pairs {
        for (name, counters) in lines {
            let mut row = vec![
                SourcedCell::label(&before.name()),
                SourcedCell::label(&after.name()),
            ];
            row.extend(has_name.then(|| SourcedCell::label(name)));
            for column in &table.columns[leads..] {
                let found = counters.iter().find(|(c, _)| c == column);
                row.push(match (found, view.mean_of) {
                    (Some((_, cell)), _) => cell.clone(),
                    (None, Some(mean)) if is_mean(column) => mean_of(mean, counters),
                    (None, _) => SourcedCell::blank(),
                });
            }
            add_sourced(&mut table, &after.file, (after.line, after.line), row);
        }
    }
    Some(table)
}

fn mean_of(
    (count, time): (&'static str, &'static str),
    counters: &[(Column, SourcedCell)],
) -> SourcedCell {
    let of = |key: &str| {
        let found = counters.iter().find(|(c, _)| c.key == key);
        let found = found.filter(|(_, v)| v.cell != Cell::Blank);
        found.map(|(_, v)| value(&v.cell))
    };
    let both = of(count).zip(of(time)).filter(|(count, _)| *count > 0.0);
    let mean = both.map(|(count, time)| time / count);
    SourcedCell::computed(mean, "a / b", vec![time.into(), count.into()])
}

/// The column of the mean. A view whose times are in milliseconds has it where it has the times.
fn mean_column(view: &CounterView, columns: &[Column]) -> Option<Column> {
    let (_, time) = view.mean_of?;
    if !time.ends_with("_ms") {
        return Some(column("mean_us", "Mean (us)"));
    }
    let has_time = columns.iter().any(|c| c.key == time);
    has_time.then(|| column("mean_ms", "Mean (ms)"))
}

fn is_mean(column: &Column) -> bool {
    matches!(column.key.as_str(), "mean_us" | "mean_ms")
}

/// Leaves out times of WAL that did not grow although writes or syncs did: whether it did.
fn leave_out_untimed(lines: &mut Growth) -> bool {
    let mut is_left_out = false;
    for (_, counters) in lines {
        let times = ["wal_write_time_ms", "wal_sync_time_ms"];
        let is_of = |c: &Column, keys: &[&str]| keys.contains(&c.key.as_str());
        let grew = |keys: &[&str]| {
            let mut of = counters.iter().filter(|(c, _)| is_of(c, keys));
            of.any(|(_, cell)| value(&cell.cell) > 0.0)
        };
        let has_time = counters.iter().any(|(c, _)| is_of(c, &times));
        if has_time && !grew(&times) && grew(&["wal_write", "wal_sync"]) {
            is_left_out = true;
            for (_, cell) in counters.iter_mut().filter(|(c, _)| is_of(c, &times)) {
                *cell = SourcedCell::blank();
            }
        }
    }
    is_left_out
}

fn untimed(before: &CounterListing, after: &CounterListing) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        id: "counters.wal_not_timed".to_owned(),
        file: after.file.clone(),
        line: Some(after.line),
        column: None,
        detail: format!(
            "times of WAL did not grow between {} and {} although writes or syncs did: \
             track_wal_io_timing was off, so they are left blank",
            before.name(),
            after.name()
        ),
        count: 1,
    }
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
    let detail = format!(
        "listings of {} do not name their instance: where no counter goes back they were \
         subtracted as listings of one instance",
        first.view.title
    );
    note_at(first, "counters.no_instance", detail)
}

/// Two listings were taken in the order that their names say.
fn swapped(before: &CounterListing, after: &CounterListing) -> Diagnostic {
    let detail = format!(
        "{} of {} is taken as the later listing, by its name",
        after.view.title,
        quote(after.file.as_bytes()),
    );
    note_at(before, "counters.named_order", detail)
}

fn note_at(listing: &CounterListing, id: &str, detail: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        id: id.to_owned(),
        file: listing.file.clone(),
        line: Some(listing.line),
        column: None,
        detail,
        count: 1,
    }
}
