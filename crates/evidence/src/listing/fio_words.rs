//! Words of fio's text: what begins a job, its host and its error, units and suffixes.

use crate::origin::{SourceLine, SourcedCell};

/// `redo: (groupid=0, jobs=1): err= 0: pid=19788: …`, also behind `<host> `: host and name.
pub fn job(line: &str) -> Option<(Option<&str>, &str)> {
    let at = memchr::memmem::find(line.as_bytes(), b": (groupid=")?;
    let (name, rest) = line.split_at_checked(at)?;
    if !rest.contains(", jobs=") || !rest.contains("): err=") {
        return None;
    }
    let (host, name) = host_of(name);
    Some((host, name))
}

/// The number behind `err=`.
pub fn err_of(source: SourceLine<'_>) -> SourcedCell {
    let rest = source
        .text
        .split_once("): err=")
        .map(|(_, r)| r.trim_start());
    let digits = |r: &str| r.bytes().take_while(u8::is_ascii_digit).count();
    let word = rest
        .and_then(|r| r.get(..digits(r)))
        .filter(|w| !w.is_empty());
    word.map_or_else(SourcedCell::blank, |w| source.cell(w))
}

/// `<host> rest`.
pub fn host_of(line: &str) -> (Option<&str>, &str) {
    let parts = line.strip_prefix('<').and_then(|l| l.split_once("> "));
    parts.map_or((None, line), |(host, rest)| (Some(host), rest))
}

/// The client whose results follow: `Jobs: 4 (f=4)<host> `, with the blank that fio prints.
pub fn host_line(line: &str) -> Option<&str> {
    let (_, host) = line.strip_suffix("> ")?.rsplit_once('<')?;
    (!host.is_empty() && !host.contains(' ') && host.len() < 256).then_some(host)
}

/// Microseconds of the unit that a text begins with or that is in its parentheses.
pub fn unit_us(text: &str) -> Option<f64> {
    let unit = text.trim_start_matches('(').split(')').next()?;
    match unit {
        "nsec" => Some(1e-3),
        "usec" => Some(1.0),
        "msec" => Some(1e3),
        "sec" => Some(1e6),
        _ => None,
    }
}

/// A figure in a unit of so many of the column's.
pub fn sourced(word: &str, unit: f64, source: SourceLine<'_>) -> Option<SourcedCell> {
    let (value, scale) = thousands(word)?;
    Some(source.scaled(word, value, scale * unit))
}

/// A number, and fio's suffix of thousands: `17746k`, `1.2M`.
pub fn thousands(word: &str) -> Option<(f64, f64)> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'k' | b'K' => (&word[..word.len() - 1], 1e3),
        b'M' => (&word[..word.len() - 1], 1e6),
        b'G' => (&word[..word.len() - 1], 1e9),
        _ => (word, 1.0),
    };
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = digits
        .parse()
        .ok()
        .filter(|_| is_plain && digits.len() < 32);
    number.map(|n: f64| (n, scale))
}

/// `2218KiB/s` and `7848.2KB/s` (of 1024, of fio 2), `37.1MiB/s`, `24.1Mi` of all clients: a
/// number, and the mebibytes of its unit.
pub fn mebibytes(word: &str) -> Option<(f64, f64)> {
    let is_digit = |b: &u8| b.is_ascii_digit() || *b == b'.';
    let (digits, unit) = word.split_at(word.bytes().take_while(is_digit).count());
    let scale = match unit.trim_end_matches("/s").trim_end_matches('B') {
        "" => 1.0 / 1_048_576.0,
        "Ki" | "K" => 1.0 / 1024.0,
        "Mi" | "M" => 1.0,
        "Gi" | "G" => 1024.0,
        _ => return None,
    };
    thousands(digits).map(|(n, _)| (n, scale))
}
