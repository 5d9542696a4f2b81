//! Listings of `v$event_histogram` and `v$event_histogram_micro`, as SQL*Plus and SQLcl print them
//! or as separated values: with headings or without, cut headings, rows of several lines, with the
//! event in a column or in the query above, one snapshot or many.
//!
//! A bucket's label is its exclusive upper bound, in milliseconds or microseconds; what listings
//! mean together is [`super::snapshots`]'s.

mod columns;
mod words;

use super::awr::cell::GridCell;
use super::blanks;
use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::miner::MinerSections;
use super::notes::quote;
use super::number::whole_u64;
use super::origin::{SourceLine, span_of_bytes};
use super::quick::QuickWord;
use super::snapshots::{ListedBucket, STARTED, Snapshot};
use super::wrapped::{Wrapped, WrappedLine, is_heading as is_heading_line};
use super::{Gathered, Sink};
use columns::{
    Columns, INSTANCES, ListingLine, MS_NS, SNAPSHOTS, US_NS, columns, heads, named, upper,
};
use measure::imported::Severity;
use measure::origin::TextSpan;
use words::fields;

/// Buckets of a file that are kept: with the differences of snapshots twice as many lines of a
/// table, some 2 kB of memory each until they are stored.
const BUCKETS_MAX: usize = 60_000;
/// Bytes of a line that are looked at.
const LINE_MAX: usize = 4096;
/// What every query of such a listing contains.
const VIEW: QuickWord = QuickWord::new("v$event_histogram");
/// Characters of a name that are kept; Oracle's have 64 at most.
const NAME_MAX: usize = 200;

/// Whether the head of a file is such a listing.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    is_headed(head) || is_bare(head)
}

/// Whether it has the query or the headings of one.
pub(super) fn is_headed(head: &Head<'_>) -> bool {
    let is_heading = |l: &[u8]| columns(l, None).is_some();
    // The first heading of rows that take several lines.
    let is_part = |l: &[u8]| {
        let line = String::from_utf8_lossy(&l[..l.len().min(LINE_MAX)]);
        let mut words = line.split_whitespace();
        is_heading_line(&line) && words.any(|w| matches!(w, "WAIT_TIME_MILLI" | "WAIT_TIME_MICRO"))
    };
    let is_query = |l: &[u8]| VIEW.is_in(l);
    head.lines()
        .any(|l| is_heading(l) || is_query(l) || is_part(l))
}

/// At least three lines of two numbers, the first of them doubling, and nothing else.
fn is_bare(head: &Head<'_>) -> bool {
    let lines = head
        .lines()
        .map(<[u8]>::trim_ascii)
        .filter(|l| !l.is_empty());
    let mut labels = Vec::new();
    for line in lines.filter(|l| !is_rule(l)).take(40) {
        match bare_pair(line) {
            Some((label, _)) => labels.push(label),
            None => return false,
        }
    }
    labels.len() >= 3 && labels.windows(2).all(|w| w[1] > w[0] || w[1] == 1)
}

fn bare_pair(line: &[u8]) -> Option<(u64, u64)> {
    let mut words = line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty());
    let (label, count) = (number(words.next()?)?, number(words.next()?)?);
    (words.next().is_none() && label.is_power_of_two()).then_some((label, count))
}

fn number(word: &[u8]) -> Option<u64> {
    let word = word.trim_ascii();
    if !word.contains(&b',') {
        return whole_u64(word);
    }
    let groups: Vec<&[u8]> = word.split(|b| *b == b',').collect();
    let is_grouped = groups[0].len() <= 3 && groups[1..].iter().all(|g| g.len() == 3);
    is_grouped.then(|| whole_u64(&groups.concat())).flatten()
}

/// A line of hyphens under headings, with the separators of the columns; SQLcl draws underscores.
fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let drawn = |b: &u8| b"-_+=:|;,~ \t".contains(b);
    let wide = line.windows(3).any(|w| w == b"---" || w == b"___");
    wide && line.iter().all(drawn)
}

/// Reads the lines of a file: all of them, or those of the listings among other evidence.
#[derive(Debug, Default)]
pub struct HistogramLines {
    file: String,
    /// Other evidence is around the listings: a listing begins with its query or heading, and ends
    /// with the first line that does not fit.
    is_among_others: bool,
    columns: Option<Columns>,
    /// The fields of the line above, which the next may leave out.
    above: Option<Vec<GridCell>>,
    wrapped: Wrapped,
    /// The event that the query above names.
    asked: Option<GridCell>,
    /// Inside the lines of a query.
    in_query: bool,
    /// A mark of AWR-Miner ended the section: numbers are no buckets until the next heading.
    ended: bool,
    /// The unit of the view that the query above names.
    unit_ns: Option<u64>,
    /// A new listing began: the next bucket opens a snapshot.
    fresh: bool,
    /// The first snapshot of the listing.
    block: usize,
    snapshots: Vec<Snapshot>,
    buckets: usize,
    sections: MinerSections,
}

impl LineReader for HistogramLines {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        HistogramLines::line(self, line, sink);
    }

    fn end(mut self: Box<Self>, lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        self.sections.end(lines, self.buckets, &mut sink.notes);
        HistogramLines::end(&mut self, out);
        Facts::new()
    }
}

impl HistogramLines {
    /// Of the file of that name; `is_among_others` if the file holds other evidence, too.
    #[must_use]
    pub fn new(file: &str, is_among_others: bool) -> HistogramLines {
        HistogramLines {
            file: file.to_owned(),
            is_among_others,
            fresh: true,
            ..HistogramLines::default()
        }
    }

    /// Ends the file.
    pub fn end(&mut self, out: &mut Gathered) {
        out.yielded += self.buckets as u64;
        out.snapshots.append(&mut self.snapshots);
    }

    /// Takes a line.
    pub fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let plain = blanks::plain(line.bytes);
        let line = Line {
            bytes: &plain,
            ..line
        };
        if !self.is_among_others {
            sink.notes.lines.line(line.number, line.bytes);
        }
        let text = line.bytes.trim_ascii();
        if self.sections.line(text, line.number, self.buckets) {
            self.columns = None;
            self.wrapped = Wrapped::default();
            (self.asked, self.unit_ns) = (None, None);
            (self.in_query, self.fresh, self.ended) = (false, true, true);
            return;
        }
        let head = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(LINE_MAX)]);
        let took = self.wrapped.line(SourceLine::new(line.number, &head));
        if text.is_empty() || self.query(text, line.number, line.bytes) {
            return;
        }
        if self.wrapped(took, line.number, sink) {
            return;
        }
        if let Some(mut columns) = columns(text, self.unit_ns) {
            if columns.separator.is_none() {
                columns.heads = heads(line.bytes);
            }
            // SQL*Plus repeats headings on each page: the same ones go on.
            let same = self
                .columns
                .as_ref()
                .is_some_and(|c| c.names == columns.names);
            self.fresh |= !same;
            if !same {
                (self.columns, self.above) = (Some(columns), None);
            }
            self.in_query = false;
            return;
        }
        if is_rule(text) {
            self.rule(line.bytes);
            return;
        }
        let before = self.buckets;
        let listed = ListingLine {
            number: line.number,
            bytes: line.bytes,
        };
        match self.bucket(listed) {
            Some(bucket) => self.take(bucket, line.number, sink),
            None if self.looks_like_data(text) => {
                let at = Some(line.number);
                sink.notes
                    .add(Severity::Warning, "histogram.bad_line", at, Some(1), || {
                        format!("{} does not fit the columns and was left out", quote(text))
                    });
            }
            None => {}
        }
        if self.is_among_others && self.buckets == before {
            self.columns = None;
            self.unit_ns = None;
            self.asked = None;
        }
    }

    /// A query names the view and the event; it may take several lines.
    fn query(&mut self, text: &[u8], number: u64, line: &[u8]) -> bool {
        if !self.in_query && !VIEW.is_in(text) {
            return false;
        }
        let upper = upper(text);
        let event = || {
            let line = String::from_utf8_lossy(line);
            words::event_of(SourceLine::new(number, &line))
        };
        let is_prose =
            self.is_among_others && !upper.contains("SELECT") && !upper.contains("FROM ");
        if upper.contains("V$EVENT_HISTOGRAM") && !is_prose {
            let is_micro = upper.contains("V$EVENT_HISTOGRAM_MICRO");
            self.unit_ns = Some(if is_micro { US_NS } else { MS_NS });
            self.asked = event();
            self.ended = false;
            self.columns = None;
            self.fresh = true;
            self.in_query = !text.ends_with(b";");
            return true;
        }
        let clause = ["WHERE", " AND ", "ORDER BY", "GROUP BY", "UNION"];
        if !self.in_query || !clause.iter().any(|c| upper.contains(c)) {
            return false;
        }
        self.asked = self.asked.take().or_else(event);
        self.in_query = !text.ends_with(b";");
        true
    }

    /// Rows of several lines.
    fn wrapped(&mut self, took: WrappedLine, line: u64, sink: &mut Sink) -> bool {
        let cells = match took {
            WrappedLine::No => return false,
            WrappedLine::Part => return self.wrapped_columns().is_some(),
            WrappedLine::Row(cells) => cells,
        };
        let Some(columns) = self.wrapped_columns() else {
            return false;
        };
        if let Some(bucket) = self.bucket_of(&columns, &cells) {
            self.take(bucket, line, sink);
        }
        true
    }

    fn wrapped_columns(&self) -> Option<Columns> {
        let names = self.wrapped.names();
        let names = names.iter().map(|n| n.to_ascii_uppercase()).collect();
        named(names, None, self.unit_ns)
    }

    /// Hyphens tell where each column is.
    fn rule(&mut self, line: &[u8]) {
        let Some(columns) = &mut self.columns else {
            self.fresh = true;
            return;
        };
        let mut ranges = Vec::new();
        let mut at = 0;
        for run in line.split(|b| *b != b'-') {
            if !run.is_empty() {
                ranges.push((at, at + run.len()));
            }
            at += run.len() + 1;
        }
        // Where blanks were collapsed the names are not above their columns.
        let overlaps = |(range, head): (&(usize, usize), &(usize, usize))| {
            range.0 < head.1 && head.0 < range.1
        };
        let fits = columns.heads.is_empty() || ranges.iter().zip(&columns.heads).all(overlaps);
        if ranges.len() == columns.names.len() && fits {
            columns.ranges = ranges;
        }
    }

    /// Lines of prose and prompts are passed over; lines that begin or end with a number are not.
    fn looks_like_data(&self, text: &[u8]) -> bool {
        let is_number = |w: &[u8]| number(w).is_some();
        let mut words = text.split(|b| b.is_ascii_whitespace());
        let first = words.next().is_some_and(is_number);
        let last = words.next_back().is_some_and(is_number);
        let is_footer = text.ends_with(b"selected.") || text.ends_with(b"selected");
        self.columns.is_some() && (first || last) && !is_footer
    }

    fn bucket(&mut self, line: ListingLine<'_>) -> Option<Bucket> {
        let Some(columns) = &self.columns else {
            if self.ended || (self.is_among_others && self.unit_ns.is_none()) {
                return None;
            }
            let text = line.bytes.trim_ascii();
            let (label, count) = bare_pair(text)?;
            let unit_ns = self.unit_ns.unwrap_or(MS_NS);
            label.checked_mul(unit_ns)?;
            let mut words = text.split(|b| b.is_ascii_whitespace());
            let mut span = || {
                let word = words.find(|w| !w.is_empty())?;
                span_of_bytes(line.number, line.bytes, word)
            };
            return Some(Bucket {
                event: short(self.asked.clone().unwrap_or_default()),
                instance: GridCell::default(),
                started: GridCell::default(),
                snap: GridCell::default(),
                label,
                unit_ns,
                count,
                label_span: span(),
                count_span: span(),
            });
        };
        let cells = fields(columns, line, self.above.as_deref())?;
        let bucket = self.bucket_of(columns, &cells)?;
        self.above = Some(cells);
        Some(bucket)
    }

    fn bucket_of(&self, columns: &Columns, fields: &[GridCell]) -> Option<Bucket> {
        let field = |name: &[&str]| {
            let at = columns
                .names
                .iter()
                .position(|n| name.contains(&n.as_str()))?;
            fields.get(at)
        };
        let label_field = field(&["WAIT_TIME_MILLI", "WAIT_TIME_MICRO"])?;
        let label = number(label_field.as_bytes())?;
        let count_field = field(&["WAIT_COUNT"])?;
        let count = number(count_field.as_bytes())?;
        let event = field(&["EVENT_NAME", "EVENT"]).cloned();
        let part = |name: &str| field(&[name]).filter(|v| !v.is_empty()).cloned();
        let instance = INSTANCES.iter().find_map(|name| part(name));
        let snap = SNAPSHOTS.iter().find_map(|name| part(name));
        label.checked_mul(columns.unit_ns)?;
        Some(Bucket {
            event: short(event.or_else(|| self.asked.clone()).unwrap_or_default()),
            instance: short(instance.unwrap_or_default()),
            started: short(part("STARTUP_TIME").unwrap_or_default()),
            snap: short(snap.unwrap_or_default()),
            label,
            unit_ns: columns.unit_ns,
            count,
            label_span: label_field.span,
            count_span: count_field.span,
        })
    }

    fn take(&mut self, bucket: Bucket, line: u64, sink: &mut Sink) {
        if self.buckets == BUCKETS_MAX {
            sink.notes.add(
                Severity::Error,
                "histogram.many_buckets",
                Some(line),
                None,
                || format!("over {BUCKETS_MAX} buckets: the rest was not read"),
            );
            return;
        }
        let event = match bucket.event.text.as_str() {
            "" => "unnamed event",
            name => name,
        };
        let prefixed = |prefix: &str, cell: &GridCell| match cell.text.as_str() {
            "" => String::new(),
            // A moment says what it is.
            text if text.bytes().all(|b| b.is_ascii_digit()) => format!("{prefix} {text}"),
            text => text.to_owned(),
        };
        // Counts of another start are those of another instance.
        let instance = match bucket.started.text.as_str() {
            "" => prefixed("instance", &bucket.instance),
            since => {
                let named = prefixed("instance", &bucket.instance);
                format!("{named} {STARTED} {since}").trim_start().to_owned()
            }
        };
        let snap = prefixed("snap", &bucket.snap);
        let bound_ns = bucket.label.saturating_mul(bucket.unit_ns);
        if std::mem::take(&mut self.fresh) {
            self.block = self.snapshots.len();
        }
        // A listing may be in the order of its events, so that each snapshot comes again.
        let listing = self.snapshots.get(self.block..).unwrap_or_default();
        let has_room = |s: &Snapshot| {
            s.label == snap && s.instance == instance && s.count(event, bound_ns).is_none()
        };
        let last = listing.len().checked_sub(1);
        let found = match snap.is_empty() {
            true => last.filter(|at| has_room(&listing[*at])),
            false => listing.iter().rposition(has_room),
        };
        let at = found.map_or(self.snapshots.len(), |at| self.block + at);
        if found.is_none() {
            let snapshot = Snapshot::new(&self.file, line, &instance, &snap);
            self.snapshots.push(snapshot);
        }
        if let Some(snapshot) = self.snapshots.get_mut(at) {
            let listed = ListedBucket {
                label: bucket.label,
                unit_ns: bucket.unit_ns,
                count: bucket.count,
                label_span: bucket.label_span,
                count_span: bucket.count_span,
                event_span: bucket.event.span,
                name_spans: [bucket.instance.span, bucket.snap.span],
            };
            snapshot.add(event, bound_ns, listed);
            self.buckets += 1;
        }
    }
}

struct Bucket {
    event: GridCell,
    instance: GridCell,
    /// When it was started.
    started: GridCell,
    snap: GridCell,
    label: u64,
    unit_ns: u64,
    count: u64,
    label_span: Option<TextSpan>,
    count_span: Option<TextSpan>,
}

/// A name, cut where it is longer than any.
fn short(mut name: GridCell) -> GridCell {
    if let Some((at, _)) = name.text.char_indices().nth(NAME_MAX) {
        name.text.truncate(at);
    }
    name
}
