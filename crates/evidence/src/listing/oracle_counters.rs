//! Listings of `v$system_event` and `v$sysstat` and their forms of all instances and snapshots
//! (`gv$`, `dba_hist_`), as SQL*Plus prints them above a rule, or as separated values.
//!
//! Counts are since the start of the instance: [`crate::counters`] subtracts listings of the same
//! instance. Rows that take several lines are not read. A heading `NAME VALUE` is of many views:
//! unless the query names `sysstat`, only names of statistics about redo and commits are taken.

use super::oracle_layout::{
    CONTAINERS, EVENT_NAMES, INSTANCES, Layout, MOMENTS, SNAPS, STATISTIC_NAMES,
};
use crate::Notes;
use crate::awr::ruled::spans;
use crate::counters::{CounterListing, CounterView};
use crate::notes::quote;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::snapshots::STARTED;
use crate::tables::column;
use measure::imported::{Cell, Severity};
use measure::printed;

/// A hundredth of a second in microseconds: the unit of `TIME_WAITED`.
const HUNDREDTH_US: f64 = 10_000.0;
/// In milliseconds: the unit of `AVERAGE_WAIT`.
const HUNDREDTH_MS: f64 = 10.0;

static EVENTS: CounterView = CounterView {
    id: "system_event_change",
    title: "v$system_event",
    name: ("event", "EVENT"),
    mean_of: Some(("waits", "time_us")),
};
static STATISTICS: CounterView = CounterView {
    id: "sysstat_change",
    title: "v$sysstat",
    name: ("statistic", "NAME"),
    mean_of: None,
};

/// Our keys, the headings of the view, and the factor to our unit; the first heading that a
/// listing has is read.
type Figure = (&'static str, &'static [(&'static str, f64)]);

const EVENT_FIGURES: [Figure; 7] = [
    ("waits", &[("TOTAL_WAITS", 1.0)]),
    ("timeouts", &[("TOTAL_TIMEOUTS", 1.0)]),
    (
        "time_us",
        &[("TIME_WAITED_MICRO", 1.0), ("TIME_WAITED", HUNDREDTH_US)],
    ),
    ("waits_fg", &[("TOTAL_WAITS_FG", 1.0)]),
    (
        "time_fg_us",
        &[
            ("TIME_WAITED_MICRO_FG", 1.0),
            ("TIME_WAITED_FG", HUNDREDTH_US),
        ],
    ),
    (
        AVERAGES[0].0,
        &[
            ("AVERAGE_WAIT", HUNDREDTH_MS),
            ("AVERAGE_WAIT_MS", 1.0),
            ("AVG_WAIT_MS", 1.0),
            ("AVG_MS", 1.0),
            ("AVERAGE_WAIT_MICRO", 1e-3),
            ("AVG_WAIT_US", 1e-3),
            ("AVG_US", 1e-3),
        ],
    ),
    (AVERAGES[1].0, &[("AVERAGE_WAIT_FG", HUNDREDTH_MS)]),
];
/// Averages as printed, with the columns of the waits and of their time: they are no counters.
const AVERAGES: [(&str, usize, usize); 2] = [("avg_wait_ms", 0, 2), ("avg_wait_fg_ms", 3, 4)];
/// The mean of a line, which has more digits than the printed average.
const MEAN: (&str, &str) = ("mean_ms", "Mean ms");

const STATISTIC_FIGURES: [Figure; 1] = [("value", &[("VALUE", 1.0), ("TOTAL", 1.0)])];
/// Whether a line begins such a listing.
pub fn opens(line: &str) -> bool {
    names_sysstat(line) || Layout::of(line).is_some_and(|l| l.is_event || l.is_sysstat)
}

/// Whether a line is part of a query of statistics.
fn names_sysstat(line: &str) -> bool {
    let first = line.as_bytes().iter().find(|b| !b.is_ascii_whitespace());
    let may = first.is_some_and(|b| matches!(b, b'S' | b's' | b'F' | b'f' | b'0'..=b'9'));
    let has = |word: &[u8]| memchr::memmem::find(line.as_bytes(), word).is_some();
    if !may || line.len() > 400 || !(has(b"sysstat") || has(b"SYSSTAT")) {
        return false;
    }
    let small = line.to_ascii_lowercase();
    let from = small.contains("from ") || small.contains("select");
    from && (small.contains("v$sysstat") || small.contains("dba_hist_sysstat"))
}

/// Whether a name is a statistic about redo and commits, which no other view has.
fn is_known(name: &str) -> bool {
    const KNOWN: [&str; 6] = [
        "user commits",
        "user rollbacks",
        "user calls",
        "transaction rollbacks",
        "background timeouts",
        "IMU commits",
    ];
    name.starts_with("redo ") || KNOWN.contains(&name)
}

/// The listings of a file.
#[derive(Debug, Default)]
pub struct OracleCounters {
    file: String,
    layout: Option<Layout>,
    /// The line before was the heading.
    is_after_heading: bool,
    /// The query names the view of statistics.
    is_sysstat: bool,
    tables: [Option<usize>; 2],
    /// What the line above is about, which SQL*Plus leaves out where it repeats (`BREAK ON`).
    above: Vec<(String, SourcedCell)>,
    /// First of the listings of the query that is being read.
    block: usize,
    passed: u64,
    /// The last time that was printed for itself: when what follows was listed.
    moment: Option<String>,
    /// Listings, for their differences.
    pub listings: Vec<CounterListing>,
}

impl OracleCounters {
    /// Of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> OracleCounters {
        OracleCounters {
            file: file.to_owned(),
            ..OracleCounters::default()
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let is_after_heading = std::mem::take(&mut self.is_after_heading);
        if is_after_heading
            && let Some(layout) = &mut self.layout
            && layout.separator.is_none()
        {
            let spans = spans(line).filter(|s| s.len() == layout.names.len());
            match spans {
                Some(spans) => layout.spans = spans,
                None => self.layout = None,
            }
            return;
        }
        let first = line.as_bytes().iter().find(|b| !b.is_ascii_whitespace());
        let Some(first) = first else {
            return;
        };
        if let Some(moment) = crate::stamps::alone(line) {
            self.moment = Some(moment.to_owned());
            self.close(number, notes);
            return;
        }
        if (first.is_ascii_uppercase() || b"\"|".contains(first))
            && let Some(layout) = Layout::of(line)
        {
            self.is_after_heading = true;
            // SQL*Plus repeats headings on each page.
            let goes_on = self
                .layout
                .as_ref()
                .is_some_and(|l| l.names == layout.names);
            if !goes_on {
                self.block = self.listings.len();
                note_columns(&layout, number, notes);
            }
            self.layout = Some(layout);
            return;
        }
        if names_sysstat(line) {
            self.is_sysstat = true;
            self.close(number, notes);
            return;
        }
        // The rule below a heading of Markdown.
        if self.layout.is_none() || line.bytes().all(|b| b"-|:+ ".contains(&b)) {
            return;
        }
        let is_end = line.contains("selected.") || line.starts_with("SQL>");
        if is_end || !self.row(SourceLine::new(number, line), sheets, notes) {
            self.is_sysstat &= !is_end;
            self.close(number, notes);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, notes: &mut Notes) {
        self.close(0, notes);
    }

    fn close(&mut self, number: u64, notes: &mut Notes) {
        self.layout = None;
        self.above.clear();
        self.block = self.listings.len();
        let passed = std::mem::take(&mut self.passed);
        if passed > 0 {
            let at = Some(number).filter(|n| *n > 0);
            notes.add(Severity::Note, "sysstat.other_names", at, None, || {
                format!(
                    "{passed} lines of NAME and VALUE are not known statistics about redo and \
                     commits: left out, because the query does not name v$sysstat"
                )
            });
        }
    }

    /// Whether a line is a row of the listing.
    fn row(&mut self, source: SourceLine<'_>, sheets: &mut Sheets, notes: &mut Notes) -> bool {
        let Some(layout) = self.layout.clone() else {
            return false;
        };
        let Some(cells) = layout.cells(source.text) else {
            return false;
        };
        let of = |wanted: &[&str]| layout.at(wanted).and_then(|i| cells.get(i).copied());
        let (names, figures): (&[&str], &[Figure]) = match layout.is_event {
            true => (EVENT_NAMES, &EVENT_FIGURES),
            false => (STATISTIC_NAMES, &STATISTIC_FIGURES),
        };
        let is_key = |at: usize| {
            let heading = layout.names.get(at).map_or("", String::as_str);
            let of_keys = [SNAPS, MOMENTS, INSTANCES, CONTAINERS, names];
            of_keys.iter().any(|keys| keys.contains(&heading))
        };
        // Those are the first columns of the line: what is behind a value is blank itself.
        let repeated = cells.iter().take_while(|c| c.is_empty()).count();
        let is_repeated = (0..repeated).all(is_key) && self.above.len() >= repeated;
        let repeated = if is_repeated { repeated } else { 0 };
        let at_name = layout.at(names).filter(|at| *at < repeated);
        let above: Vec<(String, SourcedCell)> = self.above.iter().take(repeated).cloned().collect();
        let above_name = at_name.and_then(|at| Some(above.get(at)?.0.clone()));
        let name = above_name
            .as_deref()
            .or_else(|| of(names))
            .unwrap_or_default();
        let figures: Vec<(&str, &str, SourcedCell)> = figures
            .iter()
            .map(|(key, headings)| figure(key, headings, &of, source))
            .collect();
        let is_number = |i: usize| {
            let cell = figures.get(i).map(|(.., cell)| &cell.cell);
            matches!(cell, Some(Cell::Count(_) | Cell::Real(_)))
        };
        let is_whole = is_number(0) && (!layout.is_event || is_number(2));
        if name.is_empty() || !is_whole {
            // A value that is not a number is of another view.
            self.passed += u64::from(!layout.is_event && !name.is_empty());
            return !layout.is_event && !name.is_empty();
        }
        let is_sysstat = self.is_sysstat || layout.is_sysstat;
        if !layout.is_event && !is_sysstat && !is_known(name) {
            self.passed += 1;
            return true;
        }
        if layout.is_event {
            check_averages(name, &figures, &of, source.number, notes);
        }
        let keys = cells
            .iter()
            .enumerate()
            .map(|(at, word)| match above.get(at) {
                Some(above) => above.clone(),
                None => ((*word).to_owned(), label(word, source)),
            });
        let keys: Vec<(String, SourcedCell)> = keys.collect();
        self.give(&layout, name, &figures, &keys, source, sheets);
        self.above = keys;
        true
    }

    fn give(
        &mut self,
        layout: &Layout,
        name: &str,
        figures: &[(&str, &str, SourcedCell)],
        keys: &[(String, SourcedCell)],
        source: SourceLine<'_>,
        sheets: &mut Sheets,
    ) {
        let (view, id, names) = match layout.is_event {
            true => (&EVENTS, "system_event", EVENT_NAMES),
            false => (&STATISTICS, "sysstat", STATISTIC_NAMES),
        };
        let mut columns = vec![
            ("snap", "SNAP_ID"),
            ("begin", "BEGIN_INTERVAL_TIME"),
            ("instance", "INSTANCE_NUMBER"),
            ("container", "CON_ID"),
            view.name,
        ];
        columns.extend(figures.iter().map(|(key, heading, _)| (*key, *heading)));
        if layout.is_event {
            columns.push(MEAN);
        }
        let open = || sheets.open(id, view.title, source.number, &columns);
        let table = *self.tables[usize::from(layout.is_event)].get_or_insert_with(open);
        let key = |wanted: &[&str]| layout.at(wanted).and_then(|at| keys.get(at));
        let part = |wanted: &[&str]| key(wanted).filter(|(word, _)| !word.is_empty());
        let keys = [
            part(SNAPS),
            part(MOMENTS),
            part(INSTANCES),
            part(CONTAINERS),
        ];
        let cell = |of: Option<&(String, SourcedCell)>| {
            of.map_or_else(SourcedCell::blank, |k| k.1.clone())
        };
        let mut row: Vec<SourcedCell> = keys.iter().map(|k| cell(*k)).collect();
        row.push(match key(names) {
            Some((_, cell)) => SourcedCell {
                cell: crate::origin::text(name),
                ..cell.clone()
            },
            None => source.text(name),
        });
        row.extend(figures.iter().map(|(.., cell)| cell.clone()));
        if layout.is_event {
            let mean = mean_us(figures, 0, 2).map(|us| us / 1000.0);
            let inputs = vec!["time_us".into(), "waits".into()];
            row.push(SourcedCell::computed(
                mean,
                "time_us / 1000 / waits",
                inputs,
            ));
        }
        sheets.sourced_row(table, source.number, row);

        let [snap, begin, instance, container] = keys.map(|k| k.map(|(word, _)| word.as_str()));
        let instance = [("instance", instance), ("container", container)];
        let started = part(&["STARTUP_TIME"]).map(|(text, _)| text.as_str());
        let started = (STARTED, started);
        let instance: Vec<String> = instance
            .iter()
            .chain([&started])
            .filter_map(|(what, number)| Some(format!("{what} {}", (*number)?)))
            .collect();
        let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let snap_label = snap.map(|s| match is_number(s) {
            true => format!("snap {s}"),
            false => s.to_owned(),
        });
        let snap_label = snap_label.or(begin.map(str::to_owned));
        let snap_label = snap_label.or_else(|| self.moment.clone());
        let listing = self.listing(view, instance.join(", "), snap_label, name, source.number);
        let is_average = |key: &str| AVERAGES.iter().any(|(average, ..)| *average == key);
        for (key, heading, cell) in figures.iter().filter(|(key, ..)| !is_average(key)) {
            listing.add(name, &column(key, heading), cell);
        }
    }

    /// The listing of this query that has the instance and the snapshot, and not yet the name.
    fn listing(
        &mut self,
        view: &'static CounterView,
        instance: String,
        label: Option<String>,
        name: &str,
        line: u64,
    ) -> &mut CounterListing {
        let label = label.unwrap_or_default();
        let block = self.block.min(self.listings.len());
        let fits = |l: &CounterListing| {
            l.view == view && l.instance == instance && l.label == label && !l.has(name)
        };
        // The last one is nearly always it.
        let found = self.listings[block..].iter().rposition(fits);
        let at = found.map_or(self.listings.len(), |i| block + i);
        if found.is_none() {
            let mut listing = CounterListing::new(view, &self.file, line);
            (listing.instance, listing.label) = (instance, label);
            self.listings.push(listing);
        }
        &mut self.listings[at]
    }
}

/// The mean of an event in microseconds, of the columns of its waits and of their time.
fn mean_us(figures: &[(&str, &str, SourcedCell)], waits: usize, time: usize) -> Option<f64> {
    let of = |at: usize| match figures.get(at).map(|(.., cell)| &cell.cell) {
        Some(Cell::Count(n)) => Some(*n as f64),
        Some(Cell::Real(x)) => Some(*x),
        _ => None,
    };
    let waits = of(waits).filter(|n| *n > 0.0)?;
    Some(of(time)? / waits)
}

/// Reports a printed average that is not the time over the waits, whatever was rounded.
fn check_averages<'a>(
    name: &str,
    figures: &[(&str, &str, SourcedCell)],
    of: &dyn Fn(&[&str]) -> Option<&'a str>,
    line: u64,
    notes: &mut Notes,
) {
    for (key, waits, time) in AVERAGES {
        let headings = EVENT_FIGURES.iter().find(|(of, _)| *of == key);
        let printed = headings.and_then(|(_, headings)| {
            let found = headings
                .iter()
                .find_map(|(h, ms)| Some((*h, *ms, of(&[*h])?)));
            let (heading, unit_ms, word) = found?;
            Some((heading, unit_ms, printed::number(word)?))
        });
        let Some(((heading, unit_ms, printed), mean_us)) =
            printed.zip(mean_us(figures, waits, time))
        else {
            continue;
        };
        let mean = mean_us / 1000.0 / unit_ms;
        // A listing may print whole hundredths of time, too.
        if (printed.value - mean).abs() > printed.half_digit() + 1e-3 * mean {
            let at = Some(line);
            notes.add(Severity::Warning, "sysevent.average", at, None, || {
                let (event, value) = (quote(name.as_bytes()), printed.value);
                format!("{heading} of {event} is {value}, and its time over its waits is {mean:.2}")
            });
        }
    }
}

/// Reports columns of a listing of events that have no place in the table.
fn note_columns(layout: &Layout, line: u64, notes: &mut Notes) {
    let keys = [SNAPS, MOMENTS, CONTAINERS, EVENT_NAMES, INSTANCES].concat();
    let is_read = |name: &&String| {
        let mut headings = EVENT_FIGURES.iter().flat_map(|(_, of)| *of);
        keys.contains(&name.as_str()) || headings.any(|(heading, _)| heading == name)
    };
    let others: Vec<&str> = layout
        .names
        .iter()
        .filter(|n| !is_read(n))
        .map(String::as_str)
        .collect();
    if layout.is_event && !others.is_empty() {
        notes.add(Severity::Note, "sysevent.columns", Some(line), None, || {
            format!("columns that are left out: {}", others.join(", "))
        });
    }
}

/// The figure of a column, by the first of its headings that the listing has.
fn figure<'a>(
    key: &'static str,
    headings: &'static [(&'static str, f64)],
    of: &dyn Fn(&[&str]) -> Option<&'a str>,
    source: SourceLine<'a>,
) -> (&'static str, &'static str, SourcedCell) {
    let found = headings
        .iter()
        .find_map(|(h, factor)| Some((*h, *factor, of(&[*h])?)));
    let Some((heading, factor, word)) = found else {
        return (key, headings[0].0, SourcedCell::blank());
    };
    let number = printed::number(word).filter(|n| n.suffix.is_empty());
    let cell = match number {
        Some(n) if factor != 1.0 => source.scaled(word, n.value, factor),
        Some(_) => source.cell(word),
        None => SourcedCell::blank(),
    };
    (key, heading, cell)
}

/// A number of a snapshot or an instance, or its text.
fn label(word: &str, source: SourceLine<'_>) -> SourcedCell {
    match word.parse::<u64>() {
        Ok(_) => source.cell(word),
        Err(_) => source.text(word),
    }
}
