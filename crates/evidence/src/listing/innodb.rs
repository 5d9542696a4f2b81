//! What InnoDB prints of its log: the sections LOG and FILE I/O of `SHOW ENGINE INNODB STATUS`,
//! also an excerpt of them, and the variables about the log and commits of `SHOW GLOBAL STATUS` and
//! `SHOW GLOBAL VARIABLES`, with borders, separated by tabs or blanks, or vertical (`\G`). Other
//! sections and variables say nothing about the log and are passed over.

use super::innodb_files::{LogFileSummary, NAMES as OF_FILES};
use crate::counters::{CounterListing, CounterView};
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::tables::column;
use measure::imported::Cell;

const fn view(
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

static STATUS: CounterView = view("innodb_status_change", "InnoDB status", ("", ""));
static VARIABLES: CounterView = view(
    "mysql_status_change",
    "SHOW GLOBAL STATUS",
    ("variable", "Variable_name"),
);

/// Variables about the log, commits, and what else sessions wait for. Those of the second half are
/// no counters.
const COUNTED: [&str; 22] = [
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_log_waits",
    "Innodb_log_writes",
    "Innodb_log_write_requests",
    "Innodb_lsn_current",
    "Innodb_lsn_flushed",
    "Innodb_lsn_last_checkpoint",
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_flushed_to_disk_lsn",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_data_fsyncs",
    "Com_commit",
    "Com_rollback",
    "Handler_commit",
    "Handler_rollback",
    "Binlog_commits",
    "Binlog_group_commits",
    "Innodb_row_lock_waits",
    "Innodb_row_lock_time",
    "Questions",
    "Uptime",
];
const GAUGES: [&str; 6] = [
    "Innodb_os_log_pending_fsyncs",
    "Innodb_os_log_pending_writes",
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_redo_log_logical_size",
    "Innodb_redo_log_capacity_resized",
];
/// Settings of the log.
const SETTINGS: [&str; 6] = [
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
];

/// Columns of a status, and the text before the figure of each that is alone on its line.
const COLUMNS: [(&str, &str); 15] = [
    ("time", "Time"),
    ("lsn", "Log sequence number"),
    ("written_lsn", "Log written up to"),
    ("flushed_lsn", "Log flushed up to"),
    ("pages_flushed_lsn", "Pages flushed up to"),
    ("checkpoint_lsn", "Last checkpoint at"),
    ("pending_log_writes", "pending log writes"),
    ("pending_log_flushes", "pending log flushes"),
    ("pending_checkpoint_writes", "pending chkp writes"),
    ("log_ios", "log i/o's done"),
    ("log_ios_per_s", "log i/o's/second"),
    ("os_file_reads", "OS file reads"),
    ("os_file_writes", "OS file writes"),
    ("os_fsyncs", "OS fsyncs"),
    ("max_checkpoint_age", "Max checkpoint age"),
];
/// Columns that are no counters.
const NO_COUNTERS: [usize; 6] = [0, 6, 7, 8, 10, 14];
const LSN: usize = 1;
const CHECKPOINT: usize = 5;
const BANNER: &str = " INNODB MONITOR OUTPUT";

/// Whether a line begins a status, is the position of a checkpoint, or is a variable of the log.
pub fn opens(line: &str) -> bool {
    let is_banner = line.trim_end().ends_with(BANNER) && !line.starts_with("END OF");
    let is_of_log = |name: &str| name.to_ascii_lowercase().starts_with("innodb_");
    is_banner
        || figure_at(line, CHECKPOINT).is_some()
        || variable(line).is_some_and(|(name, _)| is_of_log(name))
}

/// A variable of the log and its value: `| Innodb_log_waits | 0 |`, with a tab or blanks, or
/// `@@innodb_log_file_size: 0` of a vertical listing.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = match (line.strip_prefix('|'), line.trim_start().strip_prefix("@@")) {
        (Some(inner), _) => inner.trim_end().strip_suffix('|')?.split_once('|')?,
        (None, Some(setting)) => setting.split_once(": ")?,
        (None, None) => line.split_once('\t').or_else(|| line.split_once("  "))?,
    };
    let (name, value) = (name.trim(), value.trim());
    let name = name.strip_prefix("global.").unwrap_or(name);
    value.parse::<u64>().ok().filter(|_| is_known(name))?;
    Some((name, value))
}

fn is_known(name: &str) -> bool {
    [&COUNTED[..], &GAUGES, &SETTINGS]
        .iter()
        .any(|names| names.contains(&name))
}

/// The figure of a column of a status whose words begin the line.
fn figure_at(line: &str, column: usize) -> Option<&str> {
    let (_, words) = COLUMNS.get(column)?;
    let figure = line.strip_prefix(words)?;
    let figure = figure.strip_prefix(' ')?.trim();
    is_figure(figure).then_some(figure)
}

/// A status that is being read.
#[derive(Debug)]
struct OpenStatus {
    line: u64,
    cells: [SourcedCell; COLUMNS.len()],
    /// The section is one of those that are read.
    is_in_section: bool,
    /// Its banner is missing: it is given where it has the position of a checkpoint.
    is_excerpt: bool,
}

/// The statuses and variables of a file.
#[derive(Debug, Default)]
pub struct InnodbOutput {
    file: String,
    open: Option<OpenStatus>,
    tables: [Option<usize>; 3],
    /// The name of a vertical listing, whose value follows.
    name: Option<SourcedCell>,
    /// The listing of variables that is being read.
    variables: Option<CounterListing>,
    files: LogFileSummary,
    /// Listings, for their differences.
    pub listings: Vec<CounterListing>,
}

impl InnodbOutput {
    /// Of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> InnodbOutput {
        InnodbOutput {
            file: file.to_owned(),
            ..InnodbOutput::default()
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let first = line.as_bytes().first();
        let may = matches!(
            first,
            Some(
                b'|' | b'@' | b' ' | b'0'
                    ..=b'9' | b'I' | b'C' | b'H' | b'B' | b'Q' | b'U' | b'V' | b'L' | b'i' | b's'
            )
        );
        if self.open.is_none() && self.name.is_none() && !may {
            return;
        }
        let source = SourceLine::new(number, line);
        if line.contains(BANNER) {
            self.give(sheets);
            if let Some(time) = line
                .trim_end()
                .strip_suffix(BANNER)
                .filter(|t| !t.starts_with("END"))
            {
                let mut cells: [SourcedCell; COLUMNS.len()] = Default::default();
                // A thread's number is behind the time in some releases.
                cells[0] = source.text(time);
                self.open = Some(OpenStatus {
                    line: number,
                    cells,
                    is_in_section: false,
                    is_excerpt: false,
                });
            }
            return;
        }
        for (name, value) in self.files.line(line) {
            self.variable(SourcedCell::label(name), source.cell(value), number, sheets);
        }
        let found = variable(line);
        // A status may be cut, and what follows it is of another statement.
        let is_behind = found.is_some() || line.starts_with("Variable_name: ");
        self.excerpt(line, number, sheets);
        if self.open.is_some() && !is_behind {
            self.status(line, source);
            return;
        }
        self.give(sheets);
        self.vertical(line, source, sheets);
        if let Some((name, value)) = found {
            self.variable(source.text(name), source.cell(value), number, sheets);
        }
    }

    /// Opens a status without its banner at its first position; in an excerpt, the next one.
    fn excerpt(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let is_again = |open: &OpenStatus| open.is_excerpt && open.cells[LSN].cell != Cell::Blank;
        if figure_at(line, LSN).is_none() || !self.open.as_ref().is_none_or(is_again) {
            return;
        }
        self.give(sheets);
        self.open = Some(OpenStatus {
            line: number,
            cells: Default::default(),
            is_in_section: true,
            is_excerpt: true,
        });
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets) {
        self.give(sheets);
        self.listings.extend(self.variables.take());
    }

    /// A line of a status.
    fn status(&mut self, line: &str, source: SourceLine<'_>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let is_title = !line.is_empty()
            && line
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b" /".contains(&b));
        if is_title {
            open.is_in_section = matches!(line, "LOG" | "FILE I/O");
        }
        if !open.is_in_section {
            return;
        }
        let cells = &mut open.cells;
        for (at, (_, words)) in COLUMNS.iter().enumerate().skip(1) {
            let figure = match line.strip_prefix(words) {
                Some(rest) => Some(rest),
                // `0 pending log writes, 0 pending chkp writes`: the figure is before its words.
                None => line
                    .split(',')
                    .find_map(|part| part.trim().strip_suffix(words)),
            };
            let figure = figure.map(str::trim).filter(|f| is_figure(f));
            let slot = cells.get_mut(at).filter(|c| c.cell == Cell::Blank);
            if let (Some(figure), Some(slot)) = (figure, slot) {
                *slot = source.cell(figure);
            }
        }
    }

    fn give(&mut self, sheets: &mut Sheets) {
        let Some(open) = self.open.take() else {
            return;
        };
        let OpenStatus { line, cells, .. } = open;
        let is_cut = open.is_excerpt && cells[CHECKPOINT].cell == Cell::Blank;
        if cells[LSN].cell == Cell::Blank || is_cut {
            return;
        }
        let mut listing = CounterListing::new(&STATUS, &self.file, line);
        if let Cell::Text(time) = &cells[0].cell {
            listing.label.clone_from(time);
        }
        for (at, ((key, heading), cell)) in COLUMNS.iter().zip(&cells).enumerate() {
            if !NO_COUNTERS.contains(&at) {
                listing.add("", &column(key, heading), cell);
            }
        }
        self.listings.push(listing);
        let open = || sheets.open("innodb_status", "InnoDB status: log", line, &COLUMNS);
        let table = *self.tables[0].get_or_insert_with(open);
        sheets.sourced_row(table, line, cells.to_vec());
    }

    /// `Variable_name: Innodb_log_waits`, then `        Value: 0`.
    fn vertical(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) {
        if let Some(name) = line.strip_prefix("Variable_name: ").map(str::trim) {
            self.name = is_known(name).then(|| source.text(name));
            return;
        }
        let Some(name) = self.name.take() else {
            return;
        };
        let value = line.trim().strip_prefix("Value: ");
        if let Some(value) = value.filter(|v| v.parse::<u64>().is_ok()) {
            self.variable(name, source.cell(value), source.number, sheets);
        }
    }

    fn variable(
        &mut self,
        name: SourcedCell,
        value: SourcedCell,
        number: u64,
        sheets: &mut Sheets,
    ) {
        let Cell::Text(key) = &name.cell else {
            return;
        };
        let key = key.clone();
        if SETTINGS.contains(&key.as_str()) {
            let columns = [("variable", "Variable_name"), ("value", "Value")];
            let title = "SHOW GLOBAL VARIABLES: log";
            let open = || sheets.open("mysql_variables", title, number, &columns);
            let table = *self.tables[2].get_or_insert_with(open);
            sheets.sourced_row(table, number, vec![name, value]);
            return;
        }
        let mut listing = match self.variables.take() {
            Some(listing) if !listing.has(&key) => listing,
            before => {
                self.listings.extend(before);
                CounterListing::new(&VARIABLES, &self.file, number)
            }
        };
        if COUNTED.contains(&key.as_str()) || OF_FILES.contains(&key.as_str()) {
            listing.add(&key, &column("value", "Value"), &value);
        }
        let first = listing.line;
        self.variables = Some(listing);
        let columns = [
            ("variable", "Variable_name"),
            ("value", "Value"),
            ("listing", "Listing"),
        ];
        let title = "SHOW GLOBAL STATUS: log and commits";
        let open = || sheets.open("mysql_status", title, number, &columns);
        let table = *self.tables[1].get_or_insert_with(open);
        let of = SourcedCell::label(&format!("line {first}"));
        sheets.sourced_row(table, number, vec![name, value, of]);
    }
}

fn is_figure(word: &str) -> bool {
    let mut points = 0;
    let plain = word.bytes().all(|b| {
        points += usize::from(b == b'.');
        b.is_ascii_digit() || b == b'.'
    });
    plain && points <= 1 && !word.is_empty()
}
