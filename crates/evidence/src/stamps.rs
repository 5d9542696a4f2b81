//! What a line begins with where another program put it there: a time stamp (`ts`, `grabserial`, a
//! journal, a shell), a file or a number of a line (`grep`, `cat -n`), the mark of a quoted mail.
//! [`super::prefixes`] finds and cuts them.

use super::number::leading_u64;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

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

/// The file that grep puts before a line: `path:`; a path has a `/` or a `.`.
pub(super) fn file(line: &str) -> Option<&str> {
    let (path, _) = line.split_once(':')?;
    let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
    (is_path && !path.is_empty()).then_some(path)
}

/// The number of the line that grep puts before it, and its bytes: `12:`; lines of context have
/// `12-`.
pub(super) fn number(line: &str) -> Option<(u64, usize)> {
    let (number, digits) = leading_u64(line.as_bytes())?;
    let is_marked = line[digits..].starts_with([':', '-']);
    is_marked.then_some((number, digits + 1))
}

/// The number that `cat -n`, `nl` or an editor puts before a line, and its bytes.
pub(super) fn counted(line: &str) -> Option<(u64, usize)> {
    let inner = line.trim_start_matches(' ');
    let (number, digits) = leading_u64(inner.as_bytes())?;
    let end = line.len() - inner.len() + digits;
    match line[end..].chars().next() {
        None => Some((number, end)),
        Some(' ' | '\t') => Some((number, end + 1)),
        Some(_) => None,
    }
}

/// Bytes of the marks of a quoted mail: `> `, `> > `, `>> `, `>`.
pub(super) fn quoted(line: &str) -> Option<usize> {
    let mut rest = line.strip_prefix('>')?;
    // HammerDB's titles.
    if rest.starts_with(">>>") {
        return None;
    }
    loop {
        rest = rest.strip_prefix(' ').unwrap_or(rest);
        let inner = rest.strip_prefix('>');
        match inner.filter(|i| i.is_empty() || i.starts_with([' ', '>'])) {
            Some(inner) => rest = inner,
            None => return Some(line.len() - rest.len()),
        }
    }
}

/// Bytes of the stamp that a line begins with, with the blank behind it.
pub(super) fn length(line: &str) -> Option<usize> {
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
    }

    #[test]
    fn marks_and_numbers_of_lines() {
        let cut = |line: &'static str, at: Option<usize>| at.map(|at| &line[at..]);
        for (line, want) in [
            ("> > a > b", Some("a > b")),
            (">> a", Some("a")),
            (">", Some("")),
            ("> >500ms", Some(">500ms")),
            ("a > b", None),
        ] {
            assert_eq!(cut(line, quoted(line)), want, "{line}");
        }
        for (line, want) in [
            ("31:a", Some("a")),
            ("31-a", Some("a")),
            ("31 a", None),
            (":a", None),
        ] {
            assert_eq!(cut(line, number(line).map(|n| n.1)), want, "{line}");
        }
        for (line, want) in [
            ("    31\ta", Some("a")),
            ("  31  a", Some(" a")),
            ("31", Some("")),
            ("31a", None),
        ] {
            assert_eq!(cut(line, counted(line).map(|n| n.1)), want, "{line}");
        }
    }
}
