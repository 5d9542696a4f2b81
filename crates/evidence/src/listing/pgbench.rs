//! Output of `pgbench`: the lines of `--progress`, the summary, the statements of `-r`.
//!
//! A summary begins with `transaction type:` before `scaling factor:`, so that prose that mentions
//! one of its lines is none. Releases 9.0 to 18 differ in `:` against `=` and in further lines.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::Cell;

const PROGRESS: &str = "progress: ";
const SUMMARY: &str = "transaction type: ";

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(SUMMARY) || progress(line, SourceLine::new(1, line)).is_some()
}

/// Words of the summary before their value, and the column of it. A release has some of them.
const FIGURES: &[(&str, usize)] = &[
    (SUMMARY, TYPE),
    ("scaling factor: ", 1),
    ("query mode: ", 2),
    ("number of clients: ", 3),
    ("number of threads: ", 4),
    ("number of transactions per client: ", 5),
    ("duration: ", 6),
    ("number of transactions actually processed: ", TRANSACTIONS),
    ("number of failed transactions: ", 8),
    ("number of transactions skipped: ", 9),
    ("number of transactions above the ", 10),
    ("latency average", LATENCY),
    ("latency stddev", 12),
    ("initial connection time", 13),
    ("average connection time", 13),
    ("maximum number of tries: ", MAX_TRIES),
];
const COLUMNS: [(&str, &str); 20] = [
    ("transaction_type", "transaction type"),
    ("scale", "scaling factor"),
    ("query_mode", "query mode"),
    ("clients", "number of clients"),
    ("threads", "number of threads"),
    (
        "transactions_per_client",
        "number of transactions per client",
    ),
    ("duration_s", "duration (s)"),
    ("transactions", "number of transactions actually processed"),
    ("failed", "number of failed transactions"),
    ("skipped", "number of transactions skipped"),
    (
        "above_limit",
        "number of transactions above the latency limit",
    ),
    ("latency_avg_ms", "latency average (ms)"),
    ("latency_stddev_ms", "latency stddev (ms)"),
    ("connection_ms", "connection time (ms)"),
    ("tps_with_connecting", "tps including connections"),
    ("tps", "tps excluding connections"),
    ("lag_avg_ms", "rate limit schedule lag: avg (ms)"),
    ("lag_max_ms", "rate limit schedule lag: max (ms)"),
    ("latency_limit_ms", "latency limit (ms)"),
    ("max_tries", "maximum number of tries"),
];
const TYPE: usize = 0;
const TRANSACTIONS: usize = 7;
const LATENCY: usize = 11;
const TPS_WITH: usize = 14;
const TPS: usize = 15;
const LAG: usize = 16;
const LIMIT: usize = 18;
const MAX_TRIES: usize = 19;

/// The tables of a file.
#[derive(Debug, Default)]
pub struct PgbenchOutput {
    progress: Option<usize>,
    summaries: Option<usize>,
    statements: Option<usize>,
    open: Option<Summary>,
}

#[derive(Debug)]
struct Summary {
    line: u64,
    cells: [SourcedCell; COLUMNS.len()],
    /// Statements of `-r` may follow.
    is_in_statements: bool,
    /// The script whose lines follow, of several.
    script: SourcedCell,
}

impl PgbenchOutput {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        if self.open.is_none()
            && !matches!(line.as_bytes().first(), Some(b'p' | b't' | b' ' | b'\t'))
        {
            return;
        }
        let trimmed = line.trim();
        if trimmed.starts_with(PROGRESS) {
            self.progress(trimmed, SourceLine::new(number, line), sheets);
            return;
        }
        if trimmed.starts_with(SUMMARY) {
            self.give(sheets);
            self.open = Some(Summary {
                line: number,
                cells: Default::default(),
                is_in_statements: false,
                script: SourcedCell::blank(),
            });
        }
        let Some(summary) = &mut self.open else {
            return;
        };
        let source = SourceLine::new(number, line);
        let is_second = number == summary.line + 1;
        if is_second && !trimmed.starts_with("scaling factor: ") {
            self.open = None;
        } else if !summary.takes(trimmed, source) && !self.takes_statement(trimmed, source, sheets)
        {
            self.give(sheets);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets) {
        self.give(sheets);
    }

    fn progress(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) {
        let number = source.number;
        let Some(cells) = progress(line, source) else {
            return;
        };
        let columns = [
            ("at_s", "progress (s)"),
            ("tps", "tps"),
            ("latency_avg_ms", "lat (ms)"),
            ("latency_stddev_ms", "stddev (ms)"),
            ("failed", "failed"),
            ("lag_ms", "lag (ms)"),
            ("skipped", "skipped"),
        ];
        let open = || sheets.open("pgbench_progress", "pgbench: progress", number, &columns);
        let table = *self.progress.get_or_insert_with(open);
        sheets.sourced_row(table, number, cells);
    }

    /// Gives the summary that was read. One without a rate and without a latency is cut.
    fn give(&mut self, sheets: &mut Sheets) {
        let Some(summary) = self.open.take() else {
            return;
        };
        let figures = [LATENCY, TPS, TPS_WITH];
        if figures
            .iter()
            .all(|at| summary.cells[*at].cell == Cell::Blank)
        {
            return;
        }
        let open = || sheets.open("pgbench", "pgbench", summary.line, &COLUMNS);
        let table = *self.summaries.get_or_insert_with(open);
        sheets.sourced_row(table, summary.line, summary.cells.to_vec());
    }

    /// A statement of `-r`: milliseconds, the failures and retries of newer releases, and the
    /// statement, which never begins with a number.
    fn takes_statement(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) -> bool {
        let number = source.number;
        let Some(summary) = self.open.as_ref().filter(|s| s.is_in_statements) else {
            return false;
        };
        let Some((ms, rest)) = line.split_once(char::is_whitespace) else {
            return false;
        };
        // Releases to 9.4 print six decimals.
        let Some(latency) = decimals(ms, 3).or_else(|| decimals(ms, 6)) else {
            return false;
        };
        let (failures, rest) = leading_count(rest);
        let (retries, statement) = leading_count(rest);
        let columns = [
            ("latency_avg_ms", "latency (ms)"),
            ("failures", "failures"),
            ("retries", "retries"),
            ("statement", "Statement"),
            ("script", "SQL script"),
        ];
        let open = || {
            sheets.open(
                "pgbench_statements",
                "pgbench: statements",
                number,
                &columns,
            )
        };
        let table = *self.statements.get_or_insert_with(open);
        let count =
            |word: Option<&str>| word.map_or_else(SourcedCell::blank, |word| source.cell(word));
        let cells = vec![
            source.scaled(ms, latency, 1.0),
            count(failures),
            count(retries),
            source.text(statement),
            summary.script.clone(),
        ];
        sheets.sourced_row(table, number, cells);
        true
    }
}

/// A number that begins a text, and what is behind it.
fn leading_count(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start();
    match text.split_once(char::is_whitespace) {
        Some((word, behind)) if whole(word).is_some() => (Some(word), behind),
        _ => (None, text),
    }
}

impl Summary {
    /// Whether a line belongs to the summary.
    fn takes(&mut self, line: &str, source: SourceLine<'_>) -> bool {
        let inner = line.strip_prefix("- ").unwrap_or(line);
        if inner.starts_with("statement latencies in milliseconds") {
            self.is_in_statements = true;
            return true;
        }
        if let Some(rest) = line.strip_prefix("tps = ") {
            return self.tps(rest, source);
        }
        let found = FIGURES.iter().find_map(|(begin, at)| {
            let rest = line.strip_prefix(begin)?;
            Some((*at, rest.trim_start_matches([' ', '=', ':'])))
        });
        if let Some((at, value)) = found {
            // A further script repeats the latencies.
            if let Some(slot) = self.cells.get_mut(at).filter(|c| c.cell == Cell::Blank) {
                *slot = figure(at, value, source);
            }
            // `20.0 ms latency limit: 3/561 (0.535%)`
            let limit = value.split_once(" ms latency limit").filter(|_| at == 10);
            if let Some((word, ms)) = limit.and_then(|(w, _)| Some((w, real(w)?))) {
                self.cells[LIMIT] = source.scaled(word, ms, 1.0);
            }
            return true;
        }
        if let Some(rest) = line.strip_prefix("rate limit schedule lag: avg ") {
            self.lag(rest, source);
            return true;
        }
        if let Some(script) = line.strip_prefix("SQL script ") {
            self.script = source.text(script);
            self.is_in_statements = false;
            return true;
        }
        // What other releases print, and what belongs to one of several scripts.
        let others = [
            "- ",
            "rate limit",
            "partition",
            "number of transactions retried: ",
            "total number of retries: ",
        ];
        others.iter().any(|o| line.starts_with(o))
    }

    /// `0.112 (max 5.093) ms`.
    fn lag(&mut self, rest: &str, source: SourceLine<'_>) {
        let words = rest
            .strip_suffix(") ms")
            .and_then(|r| r.split_once(" (max "));
        let Some((mean, max)) = words else {
            return;
        };
        for (at, word) in [(LAG, mean), (LAG + 1, max)] {
            if let Some(ms) = real(word) {
                self.cells[at] = source.scaled(word, ms, 1.0);
            }
        }
    }

    /// `12.580114 (including connections establishing)`.
    fn tps(&mut self, rest: &str, source: SourceLine<'_>) -> bool {
        let Some((value, of)) = rest.split_once(" (").filter(|(_, of)| of.ends_with(')')) else {
            return false;
        };
        let at = match of.starts_with("including") {
            true => TPS_WITH,
            false => TPS,
        };
        if let Some(tps) = real(value) {
            self.cells[at] = source.scaled(value, tps, 1.0);
        }
        true
    }
}

/// The figure of a column; blank where it is cut or no number.
fn figure(at: usize, value: &str, source: SourceLine<'_>) -> SourcedCell {
    let count = |text: &str| {
        let word = text.split([' ', '/']).next();
        let word = word.and_then(|w| text.get(..w.len()));
        let word = word.filter(|w| whole(w).is_some());
        word.map_or_else(SourcedCell::blank, |w| source.cell(w))
    };
    let unit = |unit: &str| {
        let word = value.strip_suffix(unit).and_then(|w| Some((w, real(w)?)));
        word.map_or_else(SourcedCell::blank, |(w, n)| source.scaled(w, n, 1.0))
    };
    match at {
        TYPE | 2 => source.text(value),
        6 => unit(" s"),
        LATENCY..=13 => unit(" ms"),
        // `20.0 ms latency limit: 3/561 (0.535%)`; 9.5 and 9.6 print only the count.
        10 => count(value.split_once(": ").map_or("", |(_, shown)| shown)),
        _ => count(value),
    }
}

/// `progress: 2.0 s, 3611.3 tps, lat 1.093 ms stddev 3.493, 0 failed, lag 0.112 ms, 0 skipped`.
fn progress(line: &str, source: SourceLine<'_>) -> Option<Vec<SourcedCell>> {
    let mut parts = line.strip_prefix(PROGRESS)?.split(", ");
    let figure = |word: &str, value: f64| source.scaled(word, value, 1.0);
    let exact = |word: &str, wanted| Some(figure(word, decimals(word, wanted)?));
    // Without a transaction in the interval there is no latency: `NaN`, of some libraries `-nan`.
    let latency_of = |word: &str| match word.trim_start_matches('-') {
        "NaN" | "nan" => Some(SourcedCell::blank()),
        _ => exact(word, 3),
    };
    let at = parts.next()?.strip_suffix(" s")?;
    let tps = parts.next()?.strip_suffix(" tps")?;
    let latency = parts.next()?.strip_prefix("lat ")?;
    let (mean, stddev) = latency.split_once(" ms stddev ")?;
    let mut row = vec![
        figure(at, real(at)?),
        exact(tps, 1)?,
        latency_of(mean)?,
        latency_of(stddev)?,
    ];
    row.resize(7, SourcedCell::blank());
    for part in parts {
        let count = |suffix: &str| {
            let word = part.strip_suffix(suffix)?;
            whole(word).map(|_| source.cell(word))
        };
        let lag = part
            .strip_prefix("lag ")
            .and_then(|l| latency_of(l.strip_suffix(" ms")?));
        let found = [count(" failed"), lag, count(" skipped")];
        for (slot, cell) in row[4..].iter_mut().zip(found) {
            if let Some(cell) = cell {
                *slot = cell;
            }
        }
    }
    Some(row)
}

/// A number that has so many decimals: with fewer it is cut.
fn decimals(word: &str, wanted: usize) -> Option<f64> {
    let (_, tail) = word.split_once('.')?;
    real(word).filter(|_| tail.len() == wanted)
}

/// A number of digits and at most one point.
fn real(word: &str) -> Option<f64> {
    let is_plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = word.parse().ok().filter(|_| is_plain && word.len() < 32);
    number.filter(|n: &f64| n.is_finite())
}

fn whole(word: &str) -> Option<u64> {
    let is_plain = word.bytes().all(|b| b.is_ascii_digit());
    word.parse().ok().filter(|_| is_plain)
}
