//! Logs of `pgbench -l`: a line for each transaction, or with `--aggregate-interval` one for each
//! interval. They are lines of numbers, so a file is recognised only if each of its first lines
//! fits.
//!
//! A transaction's line is client, transaction, microseconds, script, seconds since 1970,
//! microseconds of it, then what `-R` and `--max-tries` add. Transactions that were skipped or
//! failed have a word where others have their time.

use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::notes::quote;
use super::origin::{SourcedCell, span_of_bytes};
use super::series::GrowingSeries;
use super::sheets::Sheets;
use super::tables::row;
use super::tally::{Tally, TallyBudget};
use super::{Gathered, Sink, number};
use measure::imported::{Axis, Cell, Series, Severity};
use measure::origin::{OriginInput, TextSpan};
use std::collections::BTreeMap;

/// Lines from which such a file is recognised.
const RECOGNISED_FROM: usize = 20;
/// Scripts of a file that are kept apart.
const SCRIPTS_MAX: usize = 64;
/// Wait under which the transactions' times are kept.
const TRANSACTION: &str = "pgbench_transaction";

/// Whether each of the first lines is one of such a log.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    let mut lines: Vec<&[u8]> = head.lines().filter(|l| !l.is_empty()).collect();
    // The head may end inside of the last line.
    if !head.bytes.ends_with(b"\n") && lines.len() > 1 {
        lines.pop();
    }
    lines.truncate(RECOGNISED_FROM);
    !lines.is_empty() && lines.iter().all(|l| entry(l).is_some())
}

enum Entry {
    Transaction {
        script: u64,
        at_us: u64,
        us: u64,
    },
    /// It was skipped or failed.
    Without,
    Interval(Interval),
}

struct Interval {
    start_s: u64,
    transactions: u64,
    sum_us: u64,
    squares: u64,
    min_us: u64,
    max_us: u64,
}

fn entry(line: &[u8]) -> Option<Entry> {
    if !line.first()?.is_ascii_digit() || line.len() > 400 {
        return None;
    }
    let mut words: [&[u8]; 16] = [&[]; 16];
    let mut count = 0;
    for word in line.split(|b| *b == b' ') {
        *words.get_mut(count)? = word;
        count += 1;
    }
    let of = |at: usize| number::whole_u64(words[at]);
    let epoch = |at: usize| of(at).filter(|s| (1_000_000_000..4_000_000_000).contains(s));
    if (6..=8).contains(&count)
        && let (Some(seconds), Some(micros)) = (epoch(4), of(5).filter(|us| *us < 1_000_000))
    {
        let (_, _, script) = (of(0)?, of(1)?, of(3)?);
        let without: [&[u8]; 4] = [b"skipped", b"failed", b"serialization", b"deadlock"];
        if without.contains(&words[2]) {
            return Some(Entry::Without);
        }
        return Some(Entry::Transaction {
            script,
            at_us: seconds.checked_mul(1_000_000)?.checked_add(micros)?,
            us: of(2)?,
        });
    }
    let interval = Interval {
        start_s: epoch(0).filter(|_| count >= 6)?,
        transactions: of(1)?,
        sum_us: of(2)?,
        squares: of(3)?,
        min_us: of(4)?,
        max_us: of(5)?,
    };
    interval.is_possible().then_some(Entry::Interval(interval))
}

impl Interval {
    /// Whether the figures can be of the same transactions: nothing else is six such numbers.
    fn is_possible(&self) -> bool {
        let [n, sum, squares] = [self.transactions, self.sum_us, self.squares].map(u128::from);
        let (min, max) = (u128::from(self.min_us), u128::from(self.max_us));
        let is_empty = n == 0 && sum == 0 && squares == 0;
        let fits = n * min <= sum && sum <= n * max && sum * sum <= n * squares;
        is_empty || (min <= max && fits)
    }

    /// The figures of the line with the places of its numbers.
    fn cells(&self, line: &Line<'_>) -> Vec<SourcedCell> {
        let words = line
            .bytes
            .split(|b| *b == b' ')
            .filter(|w| !w.trim_ascii().is_empty());
        let spans = words.map(|w| span_of_bytes(line.number, line.bytes, w));
        let spans: Vec<Option<TextSpan>> = spans.take(6).collect();
        let span = |at: usize| spans.get(at).copied().flatten();
        let inputs = || spans.iter().skip(1).take(3).flatten().copied();
        let inputs = || inputs().map(OriginInput::Span).collect();
        let n = self.transactions as f64;
        let mean = self.sum_us as f64 / n;
        let spread = (self.squares as f64 / n - mean * mean).max(0.0).sqrt();
        let some = |us: f64| (self.transactions > 0).then_some(us / 1000.0);
        let scaled = |us: u64, at| match self.transactions {
            0 => SourcedCell::blank(),
            _ => SourcedCell::scaled(us as f64, 0.001, span(at)),
        };
        let deviation =
            "standard deviation of a values by their sum b and sum of squares c, / 1000";
        vec![
            SourcedCell::read(Cell::Count(self.start_s), span(0)),
            SourcedCell::read(Cell::Count(self.transactions), span(1)),
            SourcedCell::computed(some(mean), "b / a / 1000", inputs()),
            SourcedCell::computed(some(spread), deviation, inputs()),
            scaled(self.min_us, 4),
            scaled(self.max_us, 5),
        ]
    }
}

/// Reads one file.
#[derive(Debug)]
pub struct PgbenchLogReader {
    file: String,
    sheets: Sheets,
    table: Option<usize>,
    scripts: BTreeMap<u64, Script>,
    budget: TallyBudget,
    without: u64,
    /// Microseconds since 1970 of the first transaction.
    first_us: Option<u64>,
}

#[derive(Debug)]
struct Script {
    tally: Tally,
    series: GrowingSeries,
}

impl PgbenchLogReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> PgbenchLogReader {
        PgbenchLogReader {
            file: file.to_owned(),
            sheets: Sheets::new(file),
            table: None,
            scripts: BTreeMap::new(),
            budget: TallyBudget::default(),
            without: 0,
            first_us: None,
        }
    }

    fn transaction(&mut self, script: u64, at_us: u64, us: u64) {
        // Scripts beyond the bound are counted with the first one.
        let is_known = self.scripts.contains_key(&script) || self.scripts.len() < SCRIPTS_MAX;
        let first = *self.first_us.get_or_insert(at_us);
        let script = self.scripts.entry(if is_known { script } else { 0 });
        let script = script.or_insert_with(|| Script {
            tally: Tally::default(),
            series: GrowingSeries::new(Axis::Time),
        });
        let ns = us.saturating_mul(1000);
        script.tally.add(ns, &mut self.budget);
        script.series.add(at_us.saturating_sub(first), ns, 0);
    }

    fn interval(&mut self, interval: &Interval, line: &Line<'_>) {
        let number = line.number;
        let columns = [
            ("start_s", "Start (s since 1970)"),
            ("transactions", "Transactions"),
            ("latency_avg_ms", "Mean ms"),
            ("latency_stddev_ms", "Std dev ms"),
            ("latency_min_ms", "Min ms"),
            ("latency_max_ms", "Max ms"),
        ];
        let title = "pgbench: intervals of --aggregate-interval";
        let open = || {
            self.sheets
                .open("pgbench_intervals", title, number, &columns)
        };
        let table = *self.table.get_or_insert_with(open);
        let cells = interval.cells(line);
        self.sheets.sourced_row(table, number, cells);
    }
}

impl LineReader for PgbenchLogReader {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            return;
        }
        match entry(text).filter(|_| !line.cut) {
            Some(Entry::Transaction { script, at_us, us }) => self.transaction(script, at_us, us),
            Some(Entry::Without) => self.without += 1,
            Some(Entry::Interval(interval)) => self.interval(&interval, &line),
            None => {
                let at = Some(line.number);
                sink.notes.add(
                    Severity::Warning,
                    "pgbench_log.bad_line",
                    at,
                    Some(1),
                    || format!("{} is not a line of pgbench -l: left out", quote(text)),
                );
            }
        }
    }

    /// It may be cut in a number, and is left out.
    fn last_line(&mut self, line: Line<'_>, sink: &mut Sink) {
        sink.notes.last_line("pgbench_log.last_line", line.number);
    }

    fn end(self: Box<Self>, _lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        if self.without > 0 {
            sink.notes.add(
                Severity::Note,
                "pgbench_log.without_time",
                None,
                None,
                || {
                    let n = self.without;
                    format!("{n} transactions were skipped or failed: they have no latency")
                },
            );
        }
        let is_one = self.scripts.len() == 1;
        for (number, script) in self.scripts {
            let mut row = match is_one {
                true => row(&self.file),
                false => row(&format!("{} script {number}", self.file)),
            };
            row.waits
                .insert(TRANSACTION.to_owned(), script.tally.stats());
            row.curves
                .insert(TRANSACTION.to_owned(), script.tally.curve());
            let (axis, width, points) = script.series.points();
            out.series.push(Series {
                row: out.rows.len(),
                event: TRANSACTION.to_owned(),
                axis,
                width,
                points,
                distribution: None,
            });
            out.yielded += script.tally.count();
            out.rows.push(row);
        }
        out.yielded += self.sheets.found;
        out.tables.extend(self.sheets.into_tables(&mut sink.notes));
        Facts::new()
    }
}
