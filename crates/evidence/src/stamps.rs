//! What another program put before each line: a time stamp (`ts`, `grabserial`, a journal, a
//! shell), a file (`grep`), the mark of a quoted mail. What is behind it begins in another column
//! than its reader expects.

use super::head::Head;

/// Lines of the head that are looked at.
const LINES_MAX: usize = 60;
/// Lines that have to be there.
const LINES_MIN: usize = 3;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// What is before the lines of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinePrefix {
    /// What it is.
    pub(super) what: &'static str,
    /// The first one.
    pub(super) example: String,
    /// The command that cuts it off, in brackets; empty where no single one does.
    pub(super) how: String,
    /// The head without them.
    pub(super) rest: Vec<u8>,
}

/// What programs put before lines: its name, how many bytes of a line it is, the command that cuts
/// it off, where that is always the same, and how many of ten lines have to begin so.
type PrefixKind = (&'static str, fn(&str) -> Option<usize>, &'static str, usize);

const PREFIXES: [PrefixKind; 3] = [
    ("a time stamp", length, "", 9),
    (
        "a file and a line of it, as grep -H and -n print them",
        grepped,
        " (`grep -h` prints none, `sed -E 's/^[^:]*:([0-9]+:)?//'` removes it)",
        9,
    ),
    (
        "the mark of a quoted mail",
        quoted,
        " (`sed -E 's/^(> ?)+//'`)",
        // Who wrote and who answers is around it.
        5,
    ),
];

/// The prefixes of a head whose lines have one each, nearly all of them, because output of other
/// programs may be between them.
pub(super) fn of(head: &Head<'_>) -> Option<LinePrefix> {
    PREFIXES.iter().find_map(|kind| of_kind(head, *kind))
}

fn of_kind(head: &Head<'_>, (what, length, how, of_ten): PrefixKind) -> Option<LinePrefix> {
    let mut example = None;
    let (mut rest, mut widths) = (Vec::new(), Vec::new());
    let (mut lines, mut stamped) = (0, 0);
    for line in head.lines().filter(|l| !l.trim_ascii().is_empty()) {
        let text = String::from_utf8_lossy(line);
        let length = length(&text);
        if lines < LINES_MAX {
            lines += 1;
            stamped += usize::from(length.is_some());
            widths.extend(length);
        }
        if let Some(length) = length {
            let stamp = || text.get(..length).unwrap_or_default().trim().to_owned();
            example.get_or_insert_with(stamp);
        }
        rest.extend_from_slice(
            text.get(length.unwrap_or(0)..)
                .unwrap_or_default()
                .as_bytes(),
        );
        rest.push(b'\n');
    }
    widths.dedup();
    let how = match widths.as_slice() {
        [width] if how.is_empty() => format!(" (`cut -c{}-`)", width + 1),
        _ => how.to_owned(),
    };
    (lines >= LINES_MIN && 10 * stamped >= of_ten * lines).then_some(LinePrefix {
        what,
        example: example?,
        how,
        rest,
    })
}

/// The moment that is all of a line: what a query of the time, `date` or a script printed above
/// its listings.
pub(super) fn alone(line: &str) -> Option<&str> {
    /// `Tue Jun 18 00:00:01 UTC 2024` between rules.
    const BYTES_MAX: usize = 60;
    let has_clock = line.len() <= BYTES_MAX && line.bytes().filter(|b| *b == b':').count() > 1;
    if !has_clock || !line.is_ascii() {
        return None;
    }
    let text = line.trim_matches(|c: char| c.is_whitespace() || "=-*#".contains(c));
    let end = moment(text).filter(|_| date(text).is_some())?;
    // The zone and the year, as `date` prints them.
    let mut behind = text.get(end..)?.split_whitespace();
    let is_short = |word: &str| word.len() <= 5 && word.bytes().all(|b| b.is_ascii_alphanumeric());
    (behind.clone().count() <= 2 && behind.all(is_short)).then_some(text)
}

/// Bytes of what grep puts before a line: `path:`, `path:12:`; a path has a `/` or a `.`.
fn grepped(line: &str) -> Option<usize> {
    let (path, rest) = line.split_once(':')?;
    let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = match digits > 0 && rest[digits..].starts_with(':') {
        true => digits + 1,
        false => 0,
    };
    is_path.then_some(path.len() + 1 + number)
}

/// Bytes of the marks of a quoted mail: `> `, `> > `, `>`.
fn quoted(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches("> ");
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    (rest.len() < line.len()).then_some(line.len() - rest.len())
}

/// Bytes of the stamp that a line begins with, with the blank behind it.
fn length(line: &str) -> Option<usize> {
    let (open, inner) = match line.strip_prefix('[') {
        Some(inner) => (true, inner),
        None => (false, line),
    };
    let end = moment(inner).or_else(|| open.then(|| seconds(inner)).flatten())?;
    let behind = match open {
        true => inner[end..].strip_prefix(']')?,
        false => &inner[end..],
    };
    let behind = behind.strip_prefix([':', ',']).unwrap_or(behind);
    let at = line.len() - behind.len();
    match behind.chars().next() {
        None => Some(at),
        // A table behind it begins with its own blanks.
        Some(' ' | '\t') => Some(at + 1 + journal(&line[at + 1..])),
        Some(_) => None,
    }
}

/// Bytes of the host and the program that a journal puts behind its stamp: `host iostat[12]: `.
fn journal(text: &str) -> usize {
    let mut words = text.splitn(3, ' ');
    let (host, program) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    match !host.is_empty() && program.ends_with("]:") {
        true => (host.len() + program.len() + 2).min(text.len()),
        false => 0,
    }
}

/// `    0.123456`, `0.000001 0.000001`: seconds since the begin, and since the line before.
fn seconds(text: &str) -> Option<usize> {
    let end = text.find(']')?;
    let inner = text.get(..end)?;
    let is_seconds =
        |w: &str| w.contains('.') && w.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let count = inner.split_whitespace().count();
    let all = inner.split_whitespace().all(is_seconds);
    ((1..=2).contains(&count) && all).then_some(end)
}

/// Bytes of a moment: a date with a time, a time, or seconds since 1970.
fn moment(text: &str) -> Option<usize> {
    if let Some(date) = date(text) {
        let between = text[date..].strip_prefix(['T', ' ', '-'])?;
        let at = text.len() - between.len();
        return Some(at + clock(between)?);
    }
    clock(text).or_else(|| {
        let word = text.split([' ', '\t', ']', ':', ',']).next()?;
        let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
        let is_digits = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit());
        let is_epoch = whole.len() == 10 && whole.starts_with(['1', '2']) && word.contains('.');
        (is_epoch && is_digits(whole) && is_digits(part)).then_some(word.len())
    })
}

/// Bytes of a date: `2020-09-24`, `09/24/2020`, `Sep 24`, `Thu Sep 24`.
fn date(text: &str) -> Option<usize> {
    let word = text.split([' ', 'T', '\t']).next()?;
    let parts: Vec<&str> = word.split(['-', '/', '.']).collect();
    let is_number = |p: &&str| (1..=4).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit());
    let has_year = parts.iter().any(|p| p.len() == 4);
    if parts.len() == 3 && has_year && parts.iter().all(is_number) {
        return Some(word.len());
    }
    let from = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];
    let rest = from
        .iter()
        .find_map(|d| text.strip_prefix(d))
        .unwrap_or(text);
    let day = MONTHS.iter().find_map(|m| rest.strip_prefix(m))?;
    let day = day.trim_start_matches(' ');
    let digits = day.bytes().take_while(u8::is_ascii_digit).count();
    (1..=2)
        .contains(&digits)
        .then(|| text.len() - day.len() + digits)
}

/// Bytes of a time of day: `10:44:05`, `10:44:05.254054`, `04:10:49 PM`, `10:44:05+00:00`.
fn clock(text: &str) -> Option<usize> {
    let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    let is_clock = [0, 1, 3, 4, 6, 7].into_iter().all(digit) && colon(2) && colon(5);
    if !is_clock {
        return None;
    }
    let mut rest = text.get(8..)?;
    if let Some(part) = rest.strip_prefix(['.', ',']) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        rest = &part[digits..];
    }
    for half in [" AM", " PM", "Z"] {
        rest = rest.strip_prefix(half).unwrap_or(rest);
    }
    if let Some(offset) = rest.strip_prefix(['+', '-']) {
        let length = offset
            .bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b':')
            .count();
        rest = &offset[length..];
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_the_usual_programs() {
        for (line, want) in [
            ("2020-09-24 10:44:05.254054\tDevice", Some("Device")),
            ("[2020-09-24T10:44:05Z] Device", Some("Device")),
            ("[2.250001 0.250000]  sdb 1", Some(" sdb 1")),
            ("Sep 24 10:44:05 Device", Some("Device")),
            ("Thu Sep  3 10:44:05 Device", Some("Device")),
            ("09/24/2020 04:10:49 PM Device", Some("Device")),
            ("10:44:05: Device", Some("Device")),
            ("Sep 24 10:44:05 host1 iostat[12]: Device", Some("Device")),
            ("Sep 24 10:44:05 host1 iostat[12]:", Some("")),
            ("1600944245.254 Device", Some("Device")),
            ("2020-09-24 10:44:05", Some("")),
            ("2020-09-24 Device", None),
            ("1,200,0", None),
            ("1600944245 5280", None),
            ("Device r/s w/s", None),
            ("[ 2s ] thds: 1", None),
        ] {
            assert_eq!(length(line).map(|at| &line[at..]), want, "{line}");
        }
        let text = b"10:44:05 a\n\n10:44:06   b\n10:44:07\n";
        let found = of(&Head { bytes: text }).expect("stamps");
        assert_eq!(
            (found.example.as_str(), found.rest.as_slice()),
            ("10:44:05", &b"a\n  b\n\n"[..])
        );
        assert_eq!(
            of(&Head {
                bytes: b"10:44:05 a\nb\nc\nd\n"
            }),
            None
        );
    }
}
