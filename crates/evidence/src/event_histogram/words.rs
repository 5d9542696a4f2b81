//! Lines of a listing: what of a line belongs to which column, by its place, by separators, or by
//! words where the columns are apart by blanks alone.
//!
//! SQL*Plus leaves out what repeats the line above (`BREAK ON`): then the first columns are missing
//! from the line, and have the values of the line above.

use super::columns::{Columns, ListingLine};
use crate::awr::cell::GridCell;
use crate::number::whole_u64;
use crate::origin::SourceLine;

/// Oracle's classes of waits, as words.
const CLASSES: [&[&str]; 13] = [
    &["Administrative"],
    &["Application"],
    &["Cluster"],
    &["Commit"],
    &["Concurrency"],
    &["Configuration"],
    &["Idle"],
    &["Network"],
    &["Other"],
    &["Queueing"],
    &["Scheduler"],
    &["System", "I/O"],
    &["User", "I/O"],
];

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Event,
    Class,
    /// One word, or the words of a moment.
    Value,
}

fn content(name: &str) -> Content {
    match name {
        "EVENT" | "EVENT_NAME" => Content::Event,
        "WAIT_CLASS" => Content::Class,
        _ => Content::Value,
    }
}

/// Whether a column holds moments.
pub(super) fn is_moment(name: &str) -> bool {
    let is_bound = name.starts_with("WAIT_TIME");
    !is_bound && (name.ends_with("TIME") || name.ends_with("DATE"))
}

/// Words of the moment that a line begins with: `01-NOV-19 05.00.15.638 PM`,
/// `2019-11-01 05:00:15 +01:00`; 0 where it is none.
fn moment(words: &[&[u8]]) -> usize {
    let digit = |w: &[u8]| w.first().is_some_and(u8::is_ascii_digit);
    let parts = |w: &[u8], marks: &[u8]| w.split(|b| marks.contains(b)).count();
    let is_date = |w: &&[u8]| digit(w) && parts(w, b"-/") == 3;
    let is_time = |w: &&[u8]| digit(w) && (2..=4).contains(&parts(w, b":."));
    let is_half = |w: &&[u8]| [&b"AM"[..], b"PM"].contains(w);
    let is_offset = |w: &&[u8]| matches!(w.first(), Some(b'+' | b'-')) && w.contains(&b':');
    let mut count = usize::from(words.first().is_some_and(is_date));
    for is in [&is_time as &dyn Fn(&&[u8]) -> bool, &is_half, &is_offset] {
        count += usize::from(count > 0 && words.get(count).is_some_and(is));
    }
    count
}

/// The column of `v$event_histogram_micro` that has the label once more, with a unit.
const LABEL_IN_WORDS: &str = "WAIT_TIME_FORMAT";

/// Whether words are a label with its unit: `64 microseconds`.
fn is_label(words: &[&[u8]]) -> bool {
    const UNITS: [&[u8]; 4] = [b"microsecond", b"millisecond", b"second", b"minute"];
    let is_unit = |w: &[u8]| UNITS.contains(&w.strip_suffix(b"s").unwrap_or(w));
    matches!(words, [number, unit] if whole_u64(number).is_some() && is_unit(unit))
}

/// Whether a line is below the hyphens: where blanks were collapsed its words are between two
/// columns, or a number is below another heading.
fn is_below(columns: &Columns, line: &[u8]) -> bool {
    let mut from = 0;
    let mut gaps = columns.ranges.iter().map(|(start, end)| {
        let before = std::mem::replace(&mut from, *end).min(line.len());
        let gap = line.get(before..(*start).min(line.len()));
        gap.is_none_or(|gap| gap.trim_ascii().is_empty())
    });
    let is_apart = gaps.all(|is| is);
    let is_number = |name: &String| name.starts_with("WAIT_TIME_MI") || name == "WAIT_COUNT";
    let mut cells = columns
        .names
        .iter()
        .zip(&columns.ranges)
        .filter(|(n, _)| is_number(n));
    let digits = |b: &u8| b.is_ascii_digit() || *b == b',' || *b == b'#';
    is_apart
        && cells.all(|(_, (start, end))| {
            let cell = line.get(*start..(*end).min(line.len())).unwrap_or_default();
            cell.trim_ascii().iter().all(digits)
        })
}

/// The values in front of the event: a word each, a moment, or a label with its unit where there is
/// a column of those; ends with the first other word.
fn values<'a, 'w>(words: &'w [&'a [u8]], has_labels: bool) -> Vec<&'w [&'a [u8]]> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_label = has_labels && words.get(at..at + 2).is_some_and(is_label);
        let count = match moment(&words[at..]) {
            0 if is_label => 2,
            0 => usize::from(whole_u64(word).is_some()),
            count => count,
        };
        if count == 0 {
            break;
        }
        out.push(&words[at..at + count]);
        at += count;
    }
    out
}

/// The fields of a line by its columns: by position where the hyphens show it, else by words.
/// `above` are those of the line before it, which it may leave out.
pub(super) fn fields(
    columns: &Columns,
    line: ListingLine<'_>,
    above: Option<&[GridCell]>,
) -> Option<Vec<GridCell>> {
    let bytes = line.bytes;
    if let Some(separator) = columns.separator {
        let mut fields = separated(line, separator);
        repeated(columns, &mut fields, above);
        return (fields.len() == columns.names.len()).then_some(fields);
    }
    if !columns.ranges.is_empty() && is_below(columns, bytes) {
        let last = columns.ranges.len() - 1;
        let each = columns.ranges.iter().enumerate().map(|(i, (from, to))| {
            let to = if i == last { bytes.len().max(*to) } else { *to };
            line.field(bytes.get(*from..to.min(bytes.len())).unwrap_or_default())
        });
        let mut fields: Vec<GridCell> = each.collect();
        repeated(columns, &mut fields, above);
        return Some(fields);
    }
    by_words(columns, line, above)
}

/// The fields of a line of separated values; a separator inside of quotes does not separate.
fn separated(line: ListingLine<'_>, separator: u8) -> Vec<GridCell> {
    let mut fields = Vec::new();
    let (mut quoted, mut from) = (false, 0);
    let mut push = |part: &[u8]| {
        let mut field = line.field(bare(part));
        field.text.retain(|c| c != '"');
        fields.push(field);
    };
    for (at, b) in line.bytes.iter().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b if *b == separator && !quoted => {
                push(&line.bytes[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    push(&line.bytes[from..]);
    fields
}

/// Without the quotes around it.
fn bare(part: &[u8]) -> &[u8] {
    match part.trim_ascii() {
        [b'"', inner @ .., b'"'] => inner,
        part => part,
    }
}

/// The words of a value.
type ValueWords<'w, 'a> = &'w [&'a [u8]];

/// The values behind the event, each one word, a moment or a label with its unit, and where they
/// begin.
fn values_behind<'a, 'w>(
    names: &[String],
    words: &'w [&'a [u8]],
) -> Option<(Vec<ValueWords<'w, 'a>>, usize)> {
    let mut end = words.len();
    let mut behind = Vec::new();
    for name in names.iter().rev() {
        let is_labels = name == LABEL_IN_WORDS;
        let longest = match is_moment(name) || is_labels {
            true => 4.min(end),
            false => 1,
        };
        let fits = |count: &usize| match is_labels {
            true => is_label(&words[end - count..end]),
            false => moment(&words[end - count..end]) == *count,
        };
        let count = (2..=longest).rev().find(fits).unwrap_or(1);
        end = end.checked_sub(count)?;
        behind.push(&words[end..end + count]);
    }
    behind.reverse();
    Some((behind, end))
}

/// The fields of a line whose columns are apart by blanks alone; `above` are those of the line
/// before it.
fn by_words(
    columns: &Columns,
    line: ListingLine<'_>,
    above: Option<&[GridCell]>,
) -> Option<Vec<GridCell>> {
    let words = line.bytes.split(u8::is_ascii_whitespace);
    let words: Vec<&[u8]> = words.filter(|w| !w.is_empty()).collect();
    let is_drawn = |w: &&[u8]| w.len() > 2 && w.iter().all(|b| *b == b'-');
    if words.iter().any(is_drawn) {
        return None;
    }
    let contents: Vec<Content> = columns.names.iter().map(|n| content(n)).collect();
    let named = |c: &Content| *c != Content::Value;
    let first = contents.iter().position(named).unwrap_or(0);
    let last = contents.iter().rposition(named).map_or(0, |at| at + 1);
    let (behind, end) = values_behind(&columns.names[last..], &words)?;
    let mut words = &words[..end];
    // A name in front may be any word, so that it is missed only where it is there.
    let is_named = columns.names[..first].iter().any(|n| n.ends_with("NAME"));
    let before = match (first, is_named) {
        (0, _) => Vec::new(),
        (_, true) => words.chunks(1).take(first).collect(),
        (_, false) => values(
            words,
            columns.names[..first].iter().any(|n| n == LABEL_IN_WORDS),
        ),
    };
    words = &words[before.iter().map(|w| w.len()).sum()..];
    // Those that are missing are the first.
    let missing = first.checked_sub(before.len())?;
    let mut out = vec![None; missing];
    out.extend(before.iter().map(|words| Some(joined(line, words))));
    let is_repeated = words.is_empty();
    if is_repeated && missing < first {
        return None;
    }
    let mut named = contents[first..last].iter().peekable();
    while let Some(content) = named.next() {
        let class = || CLASSES.iter().find(|c| begins(words, c)).map(|c| c.len());
        let count = match (content, named.peek()) {
            (Content::Class, _) => class(),
            (_, Some(Content::Class)) => {
                let class = CLASSES.iter().find(|c| ends(words, c));
                class.and_then(|c| words.len().checked_sub(c.len()))
            }
            _ => Some(words.len()),
        };
        let (own, rest) = words.split_at(count.unwrap_or(0));
        out.push((!own.is_empty()).then(|| joined(line, own)));
        words = rest;
    }
    out.extend(behind.iter().map(|words| Some(joined(line, words))));
    if !words.is_empty() || out.len() != contents.len() {
        return None;
    }
    // What is missing is of the line above.
    let each = out.into_iter().enumerate();
    each.map(|(at, cell)| cell.or_else(|| above?.get(at).cloned()))
        .collect()
}

fn begins(words: &[&[u8]], class: &[&str]) -> bool {
    words.len() >= class.len() && words.iter().zip(class).all(|(w, c)| *w == c.as_bytes())
}

fn ends(words: &[&[u8]], class: &[&str]) -> bool {
    let from = words.len().checked_sub(class.len());
    from.is_some_and(|from| begins(&words[from..], class))
}

fn joined(line: ListingLine<'_>, words: &[&[u8]]) -> GridCell {
    let mut cell = GridCell::default();
    for word in words {
        let part = line.field(word);
        cell.join(&part.text, part.span);
    }
    cell
}

/// The cells of a line whose first ones are blank because they repeat those of the line above.
fn repeated(columns: &Columns, fields: &mut [GridCell], above: Option<&[GridCell]>) {
    let is_bucket = |name: &str| name.starts_with("WAIT_TIME") || name == "WAIT_COUNT";
    let pairs = columns.names.iter().zip(fields.iter_mut()).enumerate();
    for (at, (name, field)) in pairs {
        if !field.is_empty() || is_bucket(name) {
            return;
        }
        if let Some(cell) = above.and_then(|above| above.get(at)) {
            field.clone_from(cell);
        }
    }
}

/// The event that a query asks for: `where event = 'log file parallel write'`.
pub(super) fn event_of(line: SourceLine<'_>) -> Option<GridCell> {
    let query = line.text;
    let at = query.to_ascii_lowercase().rfind("event")?;
    let rest = query.get(at..)?;
    let quotes = ['\'', '\u{2018}', '\u{2019}'];
    let (_, inner) = rest.split_once(quotes)?;
    let (event, _) = inner.split_once(quotes)?;
    Some(GridCell::of(line, event)).filter(|e| !e.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::columns::columns;
    use super::*;

    fn read(heading: &str, lines: &[&str]) -> Vec<Option<String>> {
        let columns = columns(heading.as_bytes(), None).expect("a heading");
        let mut above: Option<Vec<GridCell>> = None;
        let each = lines.iter().map(|line| {
            let bytes = line.as_bytes();
            let found = fields(&columns, ListingLine { number: 1, bytes }, above.as_deref())?;
            let texts: Vec<&str> = found.iter().map(GridCell::as_str).collect();
            let shown = texts.join("|");
            above = Some(found);
            Some(shown)
        });
        each.collect()
    }

    #[test]
    fn what_repeats_the_line_above_is_left_out_from_the_left() {
        let heading = "BEGIN_INTERVAL_TIME INST EVENT_NAME WAIT_TIME_MILLI WAIT_COUNT";
        let lines = [
            "01-NOV-19 05.00.15.638 PM 1 log file parallel write 1 1000",
            "1 log file parallel write 2 300",
            "log file sync 4 20",
            "8 21",
            "SQL> exit 1",
        ];
        let time = "01-NOV-19 05.00.15.638 PM|1";
        let want = [
            Some(format!("{time}|log file parallel write|1|1000")),
            Some(format!("{time}|log file parallel write|2|300")),
            Some(format!("{time}|log file sync|4|20")),
            Some(format!("{time}|log file sync|8|21")),
        ];
        assert_eq!(read(heading, &lines[..4]), want);
        // Nothing is above the first line.
        assert_eq!(read(heading, &lines[1..2]), [None]);
    }

    #[test]
    fn classes_and_moments_take_their_own_words() {
        let heading = "EVENT WAIT_CLASS WAIT_TIME_MILLI WAIT_COUNT LAST_UPDATE_TIME CON_ID";
        let line = "log file sync User I/O 4 20 13-JAN-16 10.05.01.123456 AM +01:00 0";
        let want = "log file sync|User I/O|4|20|13-JAN-16 10.05.01.123456 AM +01:00|0";
        assert_eq!(read(heading, &[line]), [Some(want.to_owned())]);
        let heading = "SNAP_ID WAIT_CLASS EVENT_NAME WAIT_TIME_MILLI WAIT_COUNT";
        let line = "7 System I/O log file parallel write 4 20";
        let want = "7|System I/O|log file parallel write|4|20";
        assert_eq!(read(heading, &[line]), [Some(want.to_owned())]);
    }

    #[test]
    fn labels_with_their_unit_are_one_value_wherever_they_are() {
        for (heading, line) in [
            (
                "EVENT WAIT_TIME_MICRO WAIT_COUNT WAIT_TIME_FORMAT",
                "log file parallel write 64 11 64 microseconds",
            ),
            (
                "EVENT WAIT_TIME_FORMAT WAIT_TIME_MICRO WAIT_COUNT",
                "log file parallel write 64 microseconds 64 11",
            ),
            (
                "WAIT_TIME_MICRO WAIT_COUNT WAIT_TIME_FORMAT EVENT",
                "64 11 64 microseconds log file parallel write",
            ),
            (
                "INST_ID WAIT_TIME_MICRO\tEVENT\tWAIT_COUNT\tWAIT_TIME_FORMAT",
                "1 64\tlog file parallel write\t11\t64 microseconds",
            ),
            (
                "|EVENT|WAIT_TIME_MICRO|WAIT_COUNT|WAIT_TIME_FORMAT|",
                "|log file parallel write|64|11|64 microseconds|",
            ),
        ] {
            let names = columns(heading.as_bytes(), None).expect("a heading").names;
            let found = read(heading, &[line])[0].clone().expect("a row");
            let cells: Vec<&str> = found.split('|').collect();
            let of = |name: &str| cells[names.iter().position(|n| n == name).expect("a name")];
            let got = ["EVENT", "WAIT_TIME_MICRO", "WAIT_COUNT", "WAIT_TIME_FORMAT"].map(of);
            assert_eq!(
                got,
                ["log file parallel write", "64", "11", "64 microseconds"],
                "{heading}"
            );
        }
        let heading = "EVENT WAIT_TIME_MICRO WAIT_COUNT WAIT_TIME_FORMAT";
        assert_eq!(read(heading, &["13 rows selected."]), [None]);
    }
}
