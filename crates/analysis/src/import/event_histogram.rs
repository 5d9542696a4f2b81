//! Listings of `v$event_histogram` and `v$event_histogram_micro`, as SQL*Plus prints them or as
//! comma-separated values: with headings or without, with the event in a column or in the query
//! above, one snapshot or many.
//!
//! A bucket's label is its exclusive upper bound, in milliseconds or microseconds; what listings
//! mean together is [`super::snapshots`]'s.

use super::gathered::Ended;
use super::kind::Head;
use super::lines::{Line, Lines};
use super::notes::quote;
use super::number::whole_u64;
use super::snapshots::Snapshot;
use super::{Gathered, Options, Sink};
use measure::imported::Severity;

/// Buckets of a file that are kept: with the differences of snapshots twice as many lines of a
/// table, some 2 kB of memory each until they are stored.
const BUCKETS_MAX: usize = 60_000;
/// Characters of a name that are kept; Oracle's have 64 at most.
const NAME_MAX: usize = 200;
const MS_NS: u64 = 1_000_000;
const US_NS: u64 = 1_000;

/// Whether the head of a file is such a listing.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    let is_heading = |l: &[u8]| columns(l).is_some();
    let is_query = |l: &[u8]| upper(l).contains("V$EVENT_HISTOGRAM");
    head.lines().any(|l| is_heading(l) || is_query(l)) || is_bare(head)
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

fn upper(line: &[u8]) -> String {
    let line = &line[..line.len().min(2000)];
    String::from_utf8_lossy(line).to_ascii_uppercase()
}

/// A line of hyphens under headings.
fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"---") && line.iter().all(|b| matches!(b, b'-' | b' ' | b'\t'))
}

/// What the columns of a listing are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Columns {
    /// Where each column begins and ends; empty for comma-separated values.
    ranges: Vec<(usize, usize)>,
    names: Vec<String>,
    unit_ns: u64,
    is_csv: bool,
}

/// The columns that a heading names, if it is one.
fn columns(line: &[u8]) -> Option<Columns> {
    let text = upper(line);
    let unit_ns = match (
        text.contains("WAIT_TIME_MILLI"),
        text.contains("WAIT_TIME_MICRO"),
    ) {
        (true, false) => MS_NS,
        (false, true) => US_NS,
        _ => return None,
    };
    if !text.contains("WAIT_COUNT") || text.contains("SELECT ") {
        return None;
    }
    let is_csv = text.contains(',');
    let bare = |name: &str| name.trim().trim_matches('"').to_owned();
    let names: Vec<String> = if is_csv {
        text.split(',').map(bare).collect()
    } else {
        text.split_whitespace().map(bare).collect()
    };
    Some(Columns {
        ranges: Vec::new(),
        names,
        unit_ns,
        is_csv,
    })
}

/// Reads one file.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    file: String,
    columns: Option<Columns>,
    /// The event that the query above names.
    asked: Option<String>,
    is_micro: bool,
    /// A new listing began: the next bucket opens a snapshot.
    fresh: bool,
    snapshots: Vec<Snapshot>,
    buckets: usize,
}

impl Reader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(_options: &Options, file: &str) -> Reader {
        Reader {
            lines: Lines::default(),
            state: State {
                file: file.to_owned(),
                columns: None,
                asked: None,
                is_micro: false,
                fresh: true,
                snapshots: Vec::new(),
                buckets: 0,
            },
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        let state = &mut self.state;
        self.lines.feed(text, |line| state.line(line, sink));
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let mut state = self.state;
        let lines = self.lines.end(|line| state.line(line, sink));
        out.yielded += state.buckets as u64;
        out.snapshots.append(&mut state.snapshots);
        Ended {
            lines,
            facts: Vec::new(),
        }
    }
}

impl State {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            return;
        }
        let query = upper(text);
        if query.contains("V$EVENT_HISTOGRAM") {
            self.is_micro = query.contains("V$EVENT_HISTOGRAM_MICRO");
            self.asked = event_of(&String::from_utf8_lossy(text));
            self.columns = None;
            self.fresh = true;
            return;
        }
        if let Some(columns) = columns(text) {
            // SQL*Plus repeats headings on each page: the same ones go on.
            let same = self
                .columns
                .as_ref()
                .is_some_and(|c| c.names == columns.names);
            self.fresh |= !same;
            if !same {
                self.columns = Some(columns);
            }
            return;
        }
        if is_rule(text) {
            self.rule(line.bytes);
            return;
        }
        match self.bucket(line.bytes) {
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
        if ranges.len() == columns.names.len() {
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

    fn bucket(&self, line: &[u8]) -> Option<Bucket> {
        let Some(columns) = &self.columns else {
            let (label, count) = bare_pair(line.trim_ascii())?;
            let unit_ns = if self.is_micro { US_NS } else { MS_NS };
            return Some(Bucket {
                event: short(self.asked.clone().unwrap_or_default()),
                snap: String::new(),
                bound_ns: label.checked_mul(unit_ns)?,
                count,
            });
        };
        let fields = fields(columns, line)?;
        let field = |name: &[&str]| {
            let at = columns
                .names
                .iter()
                .position(|n| name.contains(&n.as_str()))?;
            fields.get(at).map(|f| f.trim())
        };
        let label = number(field(&["WAIT_TIME_MILLI", "WAIT_TIME_MICRO"])?.as_bytes())?;
        // A blank count is zero.
        let count = match field(&["WAIT_COUNT"])? {
            "" => 0,
            text => number(text.as_bytes())?,
        };
        let event = field(&["EVENT_NAME", "EVENT"]).map(str::to_owned);
        let part = |name: &str| field(&[name]).filter(|v| !v.is_empty());
        let snap = part("SNAP_ID").map(|v| format!("snap {v}"));
        let instance = part("INST_ID").or_else(|| part("INSTANCE_NUMBER"));
        let instance = instance.map(|v| format!("instance {v}"));
        let snap: Vec<String> = [instance, snap].into_iter().flatten().collect();
        Some(Bucket {
            event: short(event.or_else(|| self.asked.clone()).unwrap_or_default()),
            snap: short(snap.join(" ")),
            bound_ns: label.checked_mul(columns.unit_ns)?,
            count,
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
        let event = match bucket.event.as_str() {
            "" => "unnamed event",
            name => name,
        };
        let last = self.snapshots.last();
        let again = last
            .is_none_or(|s| s.label != bucket.snap || s.count(event, bucket.bound_ns).is_some());
        if self.fresh || again {
            self.snapshots
                .push(Snapshot::new(&self.file, line, &bucket.snap));
            self.fresh = false;
        }
        if let Some(snapshot) = self.snapshots.last_mut() {
            snapshot.add(event, bucket.bound_ns, bucket.count);
            self.buckets += 1;
        }
    }
}

struct Bucket {
    event: String,
    snap: String,
    bound_ns: u64,
    count: u64,
}

/// A name, cut where it is longer than any.
fn short(mut name: String) -> String {
    if let Some((at, _)) = name.char_indices().nth(NAME_MAX) {
        name.truncate(at);
    }
    name
}

/// The fields of a line by its columns: by position where the hyphens told it, else by words, the
/// event being what the other columns leave.
fn fields(columns: &Columns, line: &[u8]) -> Option<Vec<String>> {
    let text = |b: &[u8]| String::from_utf8_lossy(b).trim().to_owned();
    if columns.is_csv {
        let bare = |f: &[u8]| text(f).trim_matches('"').to_owned();
        let fields: Vec<String> = line.split(|b| *b == b',').map(bare).collect();
        return (fields.len() == columns.names.len()).then_some(fields);
    }
    if !columns.ranges.is_empty() {
        let last = columns.ranges.len() - 1;
        let each = columns.ranges.iter().enumerate().map(|(i, (from, to))| {
            let to = if i == last { line.len().max(*to) } else { *to };
            text(line.get(*from..to.min(line.len())).unwrap_or_default())
        });
        return Some(each.collect());
    }
    let words: Vec<&[u8]> = line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty())
        .collect();
    let spare = words.len().checked_sub(columns.names.len())?;
    let mut words = words.into_iter();
    let each = columns.names.iter().map(|name| {
        let takes = if name.starts_with("EVENT") {
            spare + 1
        } else {
            1
        };
        let parts: Vec<String> = words.by_ref().take(takes).map(text).collect();
        parts.join(" ")
    });
    Some(each.collect())
}

/// The event that a query asks for: `where event = 'log file parallel write'`.
fn event_of(query: &str) -> Option<String> {
    let at = query.to_ascii_lowercase().rfind("event")?;
    let rest = query.get(at..)?;
    let open = rest.find(['\'', '\u{2018}', '\u{2019}'])?;
    let inner = rest[open..].chars().skip(1).collect::<String>();
    let close = inner.find(['\'', '\u{2018}', '\u{2019}'])?;
    Some(inner[..close].trim().to_owned()).filter(|e| !e.is_empty())
}
