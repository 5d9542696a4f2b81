//! Views of PostgreSQL's statistics as `psql` prints them: `pg_stat_wal`, `pg_stat_io`,
//! `pg_stat_bgwriter` and `pg_stat_checkpointer`, aligned (every border), unaligned, as separated
//! values, and expanded (`\x`). Columns are read by heading; times of these views are milliseconds.
//!
//! Each column of the source is kept. The counts are since `stats_reset`, which is part of the
//! identity of the instance: [`crate::counters`] subtracts listings.

use crate::Notes;
use crate::counters::{CounterListing, CounterView};
use crate::origin::{CellSource, SourceLine, SourcedCell, text};
use crate::sheets::Sheets;
use crate::tables::column;
use measure::imported::{Cell, Column, Severity};

/// Columns with the time of the reading, as `SELECT now(), * FROM pg_stat_wal` has one.
const READ_AT: [&str; 3] = ["now", "clock_timestamp", "statement_timestamp"];

/// Columns of a listing at most.
const COLUMNS_MAX: usize = 64;

struct View {
    id: &'static str,
    /// Columns of which a listing has at least two.
    known: &'static [&'static str],
    /// Columns that say what a line is about: a listing has all of them.
    names: &'static [&'static str],
    changes: CounterView,
}

const fn changes(
    id: &'static str,
    title: &'static str,
    name: (&'static str, &'static str),
) -> CounterView {
    CounterView {
        id,
        title,
        name,
        mean_of: None,
    }
}

static VIEWS: [View; 4] = [
    View {
        id: "pg_stat_wal",
        known: &[
            "wal_records",
            "wal_fpi",
            "wal_bytes",
            "wal_buffers_full",
            "wal_write",
            "wal_sync",
            "wal_write_time",
            "wal_sync_time",
        ],
        names: &[],
        changes: CounterView {
            mean_of: Some(("wal_sync", "wal_sync_time_ms")),
            ..changes("pg_stat_wal_change", "pg_stat_wal", ("", ""))
        },
    },
    View {
        id: "pg_stat_io",
        known: &[
            "reads",
            "read_time",
            "writes",
            "write_bytes",
            "write_time",
            "writebacks",
            "extends",
            "fsyncs",
            "fsync_time",
        ],
        names: &["backend_type", "object", "context"],
        changes: changes(
            "pg_stat_io_change",
            "pg_stat_io",
            ("of", "backend_type, object, context"),
        ),
    },
    View {
        id: "pg_stat_checkpointer",
        known: &[
            "num_timed",
            "num_requested",
            "num_done",
            "restartpoints_timed",
            "restartpoints_req",
            "restartpoints_done",
            "buffers_written",
        ],
        names: &[],
        changes: changes(
            "pg_stat_checkpointer_change",
            "pg_stat_checkpointer",
            ("", ""),
        ),
    },
    View {
        id: "pg_stat_bgwriter",
        known: &[
            "checkpoints_timed",
            "checkpoints_req",
            "checkpoint_write_time",
            "checkpoint_sync_time",
            "buffers_checkpoint",
            "buffers_clean",
            "maxwritten_clean",
            "buffers_backend",
            "buffers_backend_fsync",
        ],
        names: &[],
        changes: changes("pg_stat_bgwriter_change", "pg_stat_bgwriter", ("", "")),
    },
];

/// Whether a line begins such a listing.
pub fn opens(line: &str) -> bool {
    let is_field = |(key, value): (&str, &str)| {
        VIEWS.iter().any(|v| v.known.contains(&key)) && matches!(cell(value), Cell::Count(_))
    };
    let heading = heading(line);
    heading.is_some_and(|(_, names)| view_of(&names).is_some()) || pair(line).is_some_and(is_field)
}

/// The separator and the names of a heading.
fn heading(line: &str) -> Option<(char, Vec<&str>)> {
    let bytes = line.as_bytes();
    let first = *bytes.iter().find(|b| **b != b' ')?;
    if !first.is_ascii_lowercase() && first != b'|' {
        return None;
    }
    let separator = match (memchr::memchr(b'|', bytes), first) {
        (Some(_), _) => '|',
        (None, b'w' | b'b' | b'n' | b'c') if memchr::memchr(b',', bytes).is_some() => ',',
        _ => return None,
    };
    let fields = fields(line, separator, first == b'|');
    let names: Vec<&str> = fields.take(COLUMNS_MAX + 1).collect();
    let is_name = |n: &&str| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_?".contains(&b);
        !n.is_empty() && n.bytes().all(plain)
    };
    let fits = (2..=COLUMNS_MAX).contains(&names.len()) && names.iter().all(is_name);
    fits.then_some((separator, names))
}

/// The fields of a line; a border at its ends belongs to none.
fn fields(line: &str, separator: char, has_border: bool) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let inner = line
        .strip_prefix('|')
        .and_then(|l| l.strip_suffix('|'))
        .filter(|_| has_border);
    inner.unwrap_or(line).split(separator).map(str::trim)
}

fn view_of(names: &[&str]) -> Option<&'static View> {
    VIEWS.iter().find(|v| {
        let known = names.iter().filter(|n| v.known.contains(n)).count();
        known >= 2 && v.names.iter().all(|n| names.contains(n))
    })
}

/// `-------------+---------`, or with borders `+----+----+`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains("---") && line.bytes().all(|b| matches!(b, b'-' | b'+' | b'|' | b':'))
}

/// `wal_records      | 295075`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let mut parts = fields(line, '|', line.starts_with('|'));
    let (key, value) = (parts.next()?, parts.next()?);
    let is_pair = parts.next().is_none() && !key.is_empty() && !key.contains(' ');
    is_pair.then_some((key, value))
}

#[derive(Debug)]
struct Open {
    view: usize,
    line: u64,
    separator: char,
    has_border: bool,
    names: Vec<String>,
    table: usize,
    rows: u64,
}

/// The listings of a file.
#[derive(Debug, Default)]
pub struct PsqlListings {
    file: String,
    open: Option<Open>,
    /// The record of an expanded listing that is being read: its line and its fields.
    record: Option<(u64, Vec<(String, SourcedCell)>)>,
    /// Records of one expanded listing: the table that they are in.
    expanded: Option<Open>,
    /// The time that `\watch` prints above.
    watch: String,
    /// Listings, for their differences.
    pub listings: Vec<CounterListing>,
}

impl PsqlListings {
    /// Of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> PsqlListings {
        PsqlListings {
            file: file.to_owned(),
            ..PsqlListings::default()
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let is_idle = self.open.is_none() && self.record.is_none();
        let has_mark = || memchr::memchr3(b'|', b',', b'(', line.as_bytes()).is_some();
        if is_idle && !line.starts_with("-[") && !has_mark() {
            return;
        }
        if line.starts_with("-[ RECORD ") {
            self.give_record(sheets, notes);
            self.open = None;
            self.record = Some((number, Vec::new()));
            return;
        }
        if let Some((_, record)) = &mut self.record {
            if let Some((key, value)) = pair(line).filter(|_| record.len() < COLUMNS_MAX) {
                let source = SourceLine::new(number, line);
                let value = SourcedCell::read(cell(value), source.span(value));
                record.push((key.to_owned(), value));
                return;
            }
            self.give_record(sheets, notes);
            self.expanded = None;
        }
        if self.row(SourceLine::new(number, line), sheets, notes) {
            return;
        }
        if let Some((separator, names)) = heading(line)
            && let Some(view) = view_of(&names)
        {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            let has_border = line.trim_start().starts_with('|');
            let open = self.begin(view, separator, names, number, sheets);
            self.open = Some(Open { has_border, ..open });
        } else if line.ends_with(')') && line.contains(" (every ") && line.len() < 100 {
            self.watch = line
                .trim()
                .split(" (every ")
                .next()
                .unwrap_or_default()
                .to_owned();
        }
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets, notes: &mut Notes) {
        self.give_record(sheets, notes);
        if let Some(open) = self.open.take() {
            note_cut(&open, notes);
        }
    }

    fn begin(
        &mut self,
        view: &'static View,
        separator: char,
        names: Vec<String>,
        number: u64,
        sheets: &mut Sheets,
    ) -> Open {
        let keys: Vec<Column> = names.iter().map(|n| key_of(n)).collect();
        let mut columns: Vec<(&str, &str)> = keys
            .iter()
            .map(|c| (c.key.as_str(), c.heading.as_str()))
            .collect();
        if has_sync_mean(names.iter().map(String::as_str)) {
            columns.push(("wal_sync_mean_ms", "wal_sync_time / wal_sync"));
        }
        let at = VIEWS
            .iter()
            .position(|v| v.id == view.id)
            .unwrap_or_default();
        let mut listing = CounterListing::new(&VIEWS[at].changes, &self.file, number);
        listing.label = std::mem::take(&mut self.watch);
        self.listings.push(listing);
        Open {
            view: at,
            line: number,
            separator,
            has_border: false,
            names,
            table: sheets.open(view.id, view.id, number, &columns),
            rows: 0,
        }
    }

    /// Whether a line belongs to the listing that is open.
    fn row(&mut self, source: SourceLine<'_>, sheets: &mut Sheets, notes: &mut Notes) -> bool {
        let line = source.text;
        let Some(open) = &mut self.open else {
            return false;
        };
        if is_rule(line) {
            return true;
        }
        let fields = fields(line, open.separator, open.has_border);
        let values: Vec<&str> = fields.collect();
        if values.len() == open.names.len() {
            let cells = values
                .iter()
                .map(|v| SourcedCell::read(cell(v), source.span(v)));
            let pairs = open.names.iter().map(String::as_str).zip(cells);
            let pairs = timed(pairs.collect(), source.number, notes);
            let cells = take(&VIEWS[open.view], pairs, self.listings.last_mut());
            open.rows += 1;
            sheets.sourced_row(open.table, source.number, cells);
            return true;
        }
        let is_footer = line.starts_with('(') && line.contains(" row");
        if !is_footer && open.rows > 0 {
            note_cut(open, notes);
        }
        self.open = None;
        is_footer
    }

    /// Gives the record of an expanded listing.
    fn give_record(&mut self, sheets: &mut Sheets, notes: &mut Notes) {
        let Some((number, fields)) = self.record.take() else {
            return;
        };
        let names: Vec<&str> = fields.iter().map(|(k, _)| k.as_str()).collect();
        let Some(view) = view_of(&names) else {
            return;
        };
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let goes_on = self.expanded.as_ref().is_some_and(|e| e.names == names);
        if !goes_on {
            let open = self.begin(view, '|', names, number, sheets);
            self.expanded = Some(open);
        }
        let Some(open) = &self.expanded else {
            return;
        };
        let pairs = fields
            .iter()
            .map(|(k, v)| (k.as_str(), v.clone()))
            .collect();
        let pairs = timed(pairs, number, notes);
        let cells = take(view, pairs, self.listings.last_mut());
        sheets.sourced_row(open.table, number, cells);
    }
}

/// The cells of a line; its counters are added to the listing.
fn take(
    view: &View,
    pairs: Vec<(&str, SourcedCell)>,
    listing: Option<&mut CounterListing>,
) -> Vec<SourcedCell> {
    let of = |name: &str| {
        let found = pairs.iter().find(|(k, _)| *k == name);
        found.map_or("", |(_, v)| match &v.cell {
            Cell::Text(text) => text.as_str(),
            Cell::Blank | Cell::Count(_) | Cell::Real(_) => "",
        })
    };
    if let Some(listing) = listing {
        let names: Vec<&str> = view.names.iter().map(|n| of(n)).collect();
        let name = names.join(", ");
        let since = of("stats_reset");
        if !since.is_empty() {
            listing.instance = format!("the statistics since {since}");
        }
        if let Some(time) = READ_AT
            .iter()
            .map(|name| of(name))
            .find(|time| !time.is_empty())
        {
            time.clone_into(&mut listing.label);
        }
        for (key, cell) in &pairs {
            // The bytes of an operation are a size and no counter.
            if *key != "op_bytes" {
                listing.add(&name, &key_of(key), cell);
            }
        }
    }
    let mean = has_sync_mean(pairs.iter().map(|(k, _)| *k)).then(|| sync_mean(&pairs));
    pairs.into_iter().map(|(_, c)| c).chain(mean).collect()
}

/// Whether a listing has what the mean time of a sync is computed of.
fn has_sync_mean<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |wanted: &str| names.clone().any(|n| n == wanted);
    has("wal_sync") && has("wal_sync_time")
}

fn amount(pairs: &[(&str, SourcedCell)], name: &str) -> Option<(f64, SourcedCell)> {
    let (_, cell) = pairs.iter().find(|(k, _)| *k == name)?;
    match cell.cell {
        Cell::Count(n) => Some((n as f64, cell.clone())),
        Cell::Real(x) => Some((x, cell.clone())),
        Cell::Blank | Cell::Text(_) => None,
    }
}

fn sync_mean(pairs: &[(&str, SourcedCell)]) -> SourcedCell {
    let both = amount(pairs, "wal_sync_time").zip(amount(pairs, "wal_sync"));
    let Some(((time, of_time), (syncs, of_syncs))) = both.filter(|(_, (n, _))| *n > 0.0) else {
        return SourcedCell::blank();
    };
    let spans = [of_time, of_syncs]
        .into_iter()
        .filter_map(|c| match c.source {
            CellSource::Read(span) => Some(span.into()),
            _ => None,
        });
    SourcedCell::computed(Some(time / syncs), "a / b", spans.collect())
}

/// Leaves out times of WAL that are all 0 beside writes or syncs: they were not measured.
fn timed<'a>(
    mut pairs: Vec<(&'a str, SourcedCell)>,
    number: u64,
    notes: &mut Notes,
) -> Vec<(&'a str, SourcedCell)> {
    let of = |name: &str| amount(&pairs, name).map(|(n, _)| n);
    let times = ["wal_write_time", "wal_sync_time"];
    let mut known = times.iter().filter_map(|t| of(t)).peekable();
    let is_met = known.peek().is_some();
    let is_zero = is_met && known.all(|t| t == 0.0);
    let has_work = ["wal_write", "wal_sync"].iter().any(|n| of(n) > Some(0.0));
    if is_zero && has_work {
        for (_, cell) in pairs.iter_mut().filter(|(k, _)| times.contains(k)) {
            *cell = SourcedCell::blank();
        }
        let line = Some(number);
        notes.add(Severity::Note, "psql.wal_not_timed", line, None, || {
            "times of WAL writes and syncs are 0 although there were writes or syncs: \
             track_wal_io_timing was off, so they are left blank"
                .to_owned()
        });
    }
    pairs
}

/// Our key has the unit.
fn key_of(name: &str) -> Column {
    match name.ends_with("_time") {
        true => column(&format!("{name}_ms"), name),
        false => column(name, name),
    }
}

fn cell(value: &str) -> Cell {
    if value.is_empty() {
        return Cell::Blank;
    }
    if let Ok(n) = value.parse() {
        return Cell::Count(n);
    }
    let is_plain = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let real = value
        .parse()
        .ok()
        .filter(|x: &f64| is_plain && x.is_finite());
    real.map_or_else(|| text(value), Cell::Real)
}

fn note_cut(open: &Open, notes: &mut Notes) {
    let line = Some(open.line);
    notes.add(Severity::Note, "psql.no_footer", line, None, || {
        "the listing does not end with the number of its rows: it may be cut".to_owned()
    });
}
