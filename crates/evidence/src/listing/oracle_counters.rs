//! Listings of `v$system_event` and `v$sysstat` and their forms of all instances and snapshots
//! (`gv$`, `dba_hist_`), as SQL*Plus prints them above a rule, or as separated values.
//!
//! Counts are since the start of the instance: [`crate::counters`] subtracts listings of the same
//! instance. Rows may take as many lines as their headings. A heading `NAME VALUE` is of many
//! views: unless the query names `sysstat`, only names of statistics about redo and commits are
//! taken.

use super::oracle_figures::{
    AVERAGES, EVENT_FIGURES, Figure, MEAN, STATISTIC_FIGURES, check_averages, figure, is_wide,
    label, mean_us, note_columns,
};
use super::oracle_layout::{
    CONTAINERS, EVENT_NAMES, INSTANCES, Layout, MOMENTS, SNAPS, STATISTIC_NAMES,
};
use crate::Notes;
use crate::awr::cell::GridCell;
use crate::awr::ruled::spans;
use crate::counters::{CounterListing, CounterView};
use crate::notes::quote;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::snapshots::STARTED;
use crate::tables::column;
use crate::wrapped::{Wrapped, WrappedLine};
use measure::imported::{Cell, Severity};

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

/// Whether a line begins such a listing.
pub fn opens(line: &str) -> bool {
    names_sysstat(line) || Layout::of(line).is_some_and(|l| l.is_event || l.is_sysstat)
}

/// Whether lines have the headings of such a listing whose rows take several lines.
pub fn opens_wrapped<'a>(mut lines: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> bool {
    let mut wrapped = Wrapped::default();
    lines.any(|line| {
        wrapped.line(SourceLine::new(1, &line));
        let is_rule = wrapped.is_open() && spans(&line).is_some();
        is_rule && wrapped_layout(&wrapped).is_some_and(|l| l.is_event || l.is_sysstat)
    })
}

/// The columns of rows of several lines.
fn wrapped_layout(wrapped: &Wrapped) -> Option<Layout> {
    let names = wrapped.names().into_iter();
    Layout::named(names.map(|n| n.to_ascii_uppercase()).collect(), None)
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

/// What a snapshot is called, by its number or its begin, and when its counters were read: an
/// interval's begin is of the snapshot before.
fn snapshot_name(snap: Option<&str>, read_at: Option<&str>) -> Option<String> {
    let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let snap = snap.map(|s| match is_number(s) {
        true => format!("snap {s}"),
        false => s.to_owned(),
    });
    match (snap, read_at) {
        (Some(snap), Some(moment)) => Some(format!("{snap}, {moment}")),
        (snap, moment) => snap.or(moment.map(str::to_owned)),
    }
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
    /// Rows of several lines, and whether it was said what of them is not read.
    wrapped: Wrapped,
    is_named: bool,
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
        if self.wrapped_line(SourceLine::new(number, line), sheets, notes) {
            return;
        }
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

    /// Takes a line, if it is one of a listing whose rows take several.
    fn wrapped_line(
        &mut self,
        source: SourceLine<'_>,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) -> bool {
        let was_in_row = self.wrapped.is_in_row();
        let cells = match self.wrapped.line(source) {
            WrappedLine::Part => return true,
            WrappedLine::Row(cells) => cells,
            WrappedLine::No => {
                if was_in_row {
                    let why = "has fewer lines than its headings";
                    left_out(source.number.saturating_sub(1), why, notes);
                }
                let is_rule = self.wrapped.is_open() && spans(source.text).is_some();
                if is_rule {
                    // The headings above are no listing of their own.
                    self.close(source.number, notes);
                    (self.is_after_heading, self.is_named) = (false, false);
                }
                return is_rule;
            }
        };
        let line = cells
            .iter()
            .find_map(|c| c.span)
            .map_or(source.number, |s| s.line.into());
        let layout = wrapped_layout(&self.wrapped);
        let is_named = std::mem::replace(&mut self.is_named, true);
        match &layout {
            _ if is_named => {}
            None => name_other(&self.wrapped.names(), line, notes),
            Some(layout) => note_columns(layout, line, notes),
        }
        let is_aligned = self.wrapped.is_aligned(&cells);
        let is_row = match &layout {
            Some(layout) if is_aligned => self.row_of(layout, &cells, line, sheets, notes),
            Some(_) => false,
            None => is_aligned,
        };
        if !is_row {
            self.wrapped = Wrapped::default();
            if layout.is_some() {
                left_out(line, "is not below its headings", notes);
            }
        }
        true
    }

    /// Whether a line is a row of the listing.
    fn row(&mut self, source: SourceLine<'_>, sheets: &mut Sheets, notes: &mut Notes) -> bool {
        let Some(layout) = self.layout.clone() else {
            return false;
        };
        let Some(cells) = layout.cells(source.text) else {
            return false;
        };
        let cells: Vec<GridCell> = cells.iter().map(|c| GridCell::of(source, c)).collect();
        self.row_of(&layout, &cells, source.number, sheets, notes)
    }

    /// Whether cells are a row of a listing.
    fn row_of(
        &mut self,
        layout: &Layout,
        cells: &[GridCell],
        line: u64,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) -> bool {
        let of = |wanted: &[&str]| layout.at(wanted).and_then(|i| cells.get(i));
        let is_event = layout.is_event;
        let (names, figures): (&[&str], &[Figure]) = match is_event {
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
            .or_else(|| Some(of(names)?.as_str()))
            .unwrap_or_default();
        let figures: Vec<(&str, &str, SourcedCell)> = figures
            .iter()
            .map(|(key, headings)| figure(key, headings, &of))
            .collect();
        let is_number = |i: usize| {
            let cell = figures.get(i).map(|(.., cell)| &cell.cell);
            matches!(cell, Some(Cell::Count(_) | Cell::Real(_)))
        };
        // What is wider than its column is printed as `####`, and its row is one all the same.
        let is_there = |i: usize| is_number(i) || is_event && is_wide(&EVENT_FIGURES[i], &of);
        let is_whole = is_there(0) && (!is_event || is_there(2));
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
            check_averages(name, &figures, &of, line, notes);
        }
        let keys = cells
            .iter()
            .enumerate()
            .map(|(at, word)| match above.get(at) {
                Some(above) => above.clone(),
                None => (word.text.clone(), label(word)),
            });
        let keys: Vec<(String, SourcedCell)> = keys.collect();
        self.give(layout, name, &figures, &keys, line, sheets);
        self.above = keys;
        true
    }

    fn give(
        &mut self,
        layout: &Layout,
        name: &str,
        figures: &[(&str, &str, SourcedCell)],
        keys: &[(String, SourcedCell)],
        line: u64,
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
        let open = || sheets.open(id, view.title, line, &columns);
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
            None => SourcedCell::label(name),
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
        sheets.sourced_row(table, line, row);

        let [snap, begin, instance, container] = keys.map(|k| k.map(|(word, _)| word.as_str()));
        let instance = [("instance", instance), ("container", container)];
        let started = part(&["STARTUP_TIME"]).map(|(text, _)| text.as_str());
        let started = (STARTED, started);
        let instance: Vec<String> = instance
            .iter()
            .chain([&started])
            .filter_map(|(what, number)| Some(format!("{what} {}", (*number)?)))
            .collect();
        let read_at = part(&["END_INTERVAL_TIME", "SNAP_TIME"]).map(|(text, _)| text.as_str());
        let snap_label = snapshot_name(snap.or(begin), read_at).or_else(|| self.moment.clone());
        let listing = self.listing(view, instance.join(", "), snap_label, name, line);
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

/// Reports a row of several lines that is not read.
fn left_out(line: u64, why: &str, notes: &mut Notes) {
    let at = Some(line);
    notes.add(Severity::Warning, "sysevent.wrapped_row", at, None, || {
        format!("a row of a listing whose lines are wrapped {why}: left out")
    });
}

/// Names a wrapped listing of a view that is not read.
fn name_other(names: &[String], line: u64, notes: &mut Notes) {
    // Those have readers of their own.
    let is_read = |name: &String| ["io_latency", "wait_count"].contains(&name.as_str());
    if names.iter().any(is_read) {
        return;
    }
    let at = Some(line);
    notes.add(Severity::Note, "sysevent.other_listing", at, None, || {
        let names = quote(names.join(", ").as_bytes());
        format!("a listing of {names}, whose lines are wrapped: it is of no view that is read")
    });
}
