//! Lines of a trace that are no records: the header, stamps, and what log writers write beside
//! waits. Each is read on its own; what it means for the lines behind is [`super::merge`]'s.

use crate::number::{leading_u64, whole_u64};
use memchr::memmem;

/// What such a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderFact {
    /// A trace begins: a header of its own follows.
    Begins,
    /// The release, by its first number.
    Release(u64),
    /// Of which process the lines behind are: its number, and the name in the image.
    Process(u64, Option<String>),
    /// `ps` lists a process: its number, and the name of the background process.
    Listed(u64, String),
    /// A time stamp, in microseconds since the beginning of 1970 of its own clock.
    Stamp(i64),
    /// The trace goes on from another file, or was limited or recreated.
    Broken(String),
    /// A log write over the limit: milliseconds, kilobytes.
    SlowWrite(u64, Option<u64>),
    /// A warning of the log writer that is cut before the unit of its time.
    CutWarning(String),
    /// A broadcast that took long: milliseconds. No disk write.
    SlowBroadcast(u64),
    /// The way in which foregrounds learn of their redo changed.
    AdaptiveMode(String),
    /// How many redo synch writes per second there were when the way changed.
    SyncRate(u64),
    /// Anything else of the header: its own name and value.
    Fact(String, String),
    /// Nothing that is needed.
    Nothing,
}

/// What `trcsess` and log writers put between the lines of two processes, whole and as they write
/// it: the process's number, and the bytes with the line's end.
#[inline]
#[must_use]
pub fn separator(bytes: &[u8]) -> Option<(u64, usize)> {
    const BEFORE: &[u8] = b"*** [ Unix process pid: ";
    const BEHIND: &[u8] = b" ]\n";
    let rest = bytes.strip_prefix(BEFORE)?;
    let (pid, digits) = leading_u64(rest)?;
    let end = rest.get(digits..)?;
    end.starts_with(BEHIND)
        .then_some((pid, BEFORE.len() + digits + BEHIND.len()))
}

/// Beginnings of lines about the ways of log writers that change by themselves: post/wait or
/// polling (under two names), one log writer or workers (from 12c on).
pub const ADAPTIVE: &[&str] = &[
    "kcrfw_alfs_update_mode",
    "kcrfw_update_adaptive_sync_mode",
    "kcrfw_slave_adaptive_updatemode",
    "Adaptive scalable LGWR ",
    SWITCHED,
];
/// How the line begins that reports a switch between post/wait and polling.
pub const SWITCHED: &str = "Log file sync switching";
/// How the line below it begins, and how it ends.
const RATE: [&str; 2] = ["Current approximate redo synch write rate is ", " per sec"];
/// How the line above it begins, which gives the reason for the switch.
pub const REASON: &str = "kcrfw_";

/// Reads one line.
#[must_use]
pub fn read(line: &[u8]) -> HeaderFact {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("*** ") {
        return starred(rest);
    }
    if text.starts_with("Trace file ") || text.starts_with("Dump file ") {
        return HeaderFact::Begins;
    }
    if let Some(rest) = text.strip_prefix("Warning: log write ") {
        return warning(rest);
    }
    if ADAPTIVE.iter().any(|a| text.starts_with(a)) {
        return HeaderFact::AdaptiveMode(text.to_owned());
    }
    if let Some(rest) = text.strip_prefix(RATE[0]) {
        let rate = rest.strip_suffix(RATE[1]).map(str::trim);
        let rate = rate.and_then(|r| whole_u64(r.as_bytes()));
        return rate.map_or(HeaderFact::Nothing, HeaderFact::SyncRate);
    }
    if let Some(rest) = text.strip_prefix("Unix process pid:") {
        return process(rest);
    }
    if let Some(rest) = text.strip_prefix("Windows thread id:") {
        return process(rest);
    }
    if let Some(release) = release(text) {
        return HeaderFact::Release(release);
    }
    if let Some((pid, name)) = listed(text) {
        return HeaderFact::Listed(pid, name);
    }
    match text.split_once(':') {
        Some((name, value)) if !value.trim().is_empty() => {
            // The release of the operating system; the banner has that of the database.
            let name = match name.trim() {
                "Release" => "System release",
                name => name,
            };
            HeaderFact::Fact(name.to_owned(), value.trim().to_owned())
        }
        _ => HeaderFact::Nothing,
    }
}

fn starred(rest: &str) -> HeaderFact {
    if let Some(inner) = rest.strip_prefix("[ Unix process pid:") {
        return process(inner.trim_end_matches(['*', ' ', ']']));
    }
    if let Some(inner) = rest.strip_prefix("[ Windows thread id:") {
        return process(inner.trim_end_matches(['*', ' ', ']']));
    }
    if rest.starts_with("TRACE ") || rest.starts_with("DUMP FILE SIZE") {
        return HeaderFact::Broken(rest.trim_end_matches(['*', ' ']).to_owned());
    }
    if let Some(stamp) = stamp(rest) {
        return HeaderFact::Stamp(stamp);
    }
    // `NAME:(text) stamp`: the stamp is what counts here.
    match rest.rsplit_once(") ").and_then(|(_, at)| stamp(at)) {
        Some(stamp) => HeaderFact::Stamp(stamp),
        None => HeaderFact::Nothing,
    }
}

/// ` 127312, image: oracle@host (LG00)`; some releases and systems write `image: (LG00)`.
fn process(rest: &str) -> HeaderFact {
    let rest = rest.trim();
    let Some((pid, len)) = leading_u64(rest.as_bytes()) else {
        return HeaderFact::Nothing;
    };
    let image = rest[len..].rsplit_once('(').map(|(_, name)| name);
    let name = image
        .and_then(|name| name.split_once(')'))
        .map(|(name, _)| name.trim());
    let name = name.filter(|n| !n.is_empty()).map(str::to_owned);
    HeaderFact::Process(pid, name)
}

/// `oracle 127312 1 0 10:23 ? 00:00:01 ora_lg00_ORCL`, or the same of `ps -o pid,args`.
fn listed(text: &str) -> Option<(u64, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (name, _) = words.last()?.strip_prefix("ora_")?.split_once('_')?;
    let pid = words.iter().take(2).find_map(|w| whole_u64(w.as_bytes()))?;
    let is_name = (3..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric());
    is_name.then(|| (pid, name.to_ascii_uppercase()))
}

/// `elapsed time 780ms, size 4KB`, `broadcast wait time 2331ms (SCN 0x…)`.
fn warning(rest: &str) -> HeaderFact {
    let after = |key: &str| {
        let behind = rest[rest.find(key)? + key.len()..].trim_start();
        leading_u64(behind.as_bytes()).map(|(n, digits)| (n, &behind[digits..]))
    };
    let number = |key: &str| after(key).map(|(n, _)| n);
    // A file that ends within a number has another number.
    if after("time").is_some_and(|(_, unit)| !unit.trim_start().starts_with("ms")) {
        return HeaderFact::CutWarning(rest.to_owned());
    }
    if rest.starts_with("broadcast") {
        return number("wait time").map_or(HeaderFact::Nothing, HeaderFact::SlowBroadcast);
    }
    // To 10.2 it is `log write time 540ms`.
    let elapsed = number("elapsed time").or_else(|| number("time"));
    match elapsed {
        Some(ms) => HeaderFact::SlowWrite(ms, number("size")),
        None => HeaderFact::Nothing,
    }
}

/// The first number of the release that a banner names: `Oracle8i Enterprise Edition Release
/// 8.1.7.4.0`, `Oracle Database 19c … Release 19.0.0.0.0`, `Version 19.14.2.0.0`.
fn release(text: &str) -> Option<u64> {
    let banner = text.starts_with("Oracle") || text.starts_with("Personal Oracle");
    if let Some(rest) = text.strip_prefix("Version ") {
        return dotted(rest);
    }
    if !banner {
        return None;
    }
    let at = memmem::find(text.as_bytes(), b"Release ")?;
    dotted(&text[at + 8..])
}

fn dotted(text: &str) -> Option<u64> {
    let (major, rest) = text.trim_start().split_once('.')?;
    rest.starts_with(|c: char| c.is_ascii_digit())
        .then(|| whole_u64(major.as_bytes()))
        .flatten()
}

/// A time stamp: `2013-08-26 14:40:23.035`, `2023-05-19T05:28:00.339263+02:00 (PDB(11))`. An offset
/// from UTC is left out: only distances matter.
#[must_use]
pub fn stamp(text: &str) -> Option<i64> {
    let b = text.as_bytes();
    let two = |at: usize| whole_u64(b.get(at..at + 2)?);
    let fixed = [
        (4, b"-".as_slice()),
        (7, b"-"),
        (10, b" T"),
        (13, b":"),
        (16, b":"),
    ];
    let is_shaped = fixed
        .iter()
        .all(|(at, any)| b.get(*at).is_some_and(|c| any.contains(c)));
    if !is_shaped {
        return None;
    }
    let year = whole_u64(b.get(..4)?)? as i64;
    let (month, day) = (two(5)? as i64, two(8)? as i64);
    let (hour, minute, second) = (two(11)? as i64, two(14)? as i64, two(17)? as i64);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut micros = 0;
    if b.get(19) == Some(&b'.') {
        let digits = b[20..].iter().take(6).take_while(|c| c.is_ascii_digit());
        let (value, len) = digits.fold((0_i64, 0_u32), |(v, n), c| {
            (v * 10 + i64::from(c - b'0'), n + 1)
        });
        micros = value * 10_i64.pow(6 - len);
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds * 1_000_000 + micros)
}

/// A stamp as text, `2013-08-26 14:40:23.035`: the inverse of [`stamp`], without the offset.
#[must_use]
pub fn civil(stamp: i64) -> String {
    let (seconds, micros) = (stamp.div_euclid(1_000_000), stamp.rem_euclid(1_000_000));
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Eras of 400 years that begin in March, so that the leap day is the last of its year.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let begin = format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}");
    match micros {
        n if n % 1000 == 0 => format!("{begin}.{:03}", n / 1000),
        n => format!("{begin}.{n:06}"),
    }
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leaps = year / 4 - year / 100 + year / 400;
    365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn header_lines_of_every_release() {
        let process = |pid, name: Option<&str>| HeaderFact::Process(pid, name.map(str::to_owned));
        for (line, want) in [
            ("Trace file /u01/x_lg00_1.trc", HeaderFact::Begins),
            ("Dump file C:\\oracle\\x.trc", HeaderFact::Begins),
            (
                "Oracle8i Enterprise Edition Release 8.1.7.4.0 - Production",
                HeaderFact::Release(8),
            ),
            (
                "Oracle9i Enterprise Edition Release 9.2.0.1.0 - Production",
                HeaderFact::Release(9),
            ),
            (
                "Oracle Database 12c Enterprise Edition Release 12.1.0.1.0 - 64bit Production",
                HeaderFact::Release(12),
            ),
            ("Version 19.14.2.0.0", HeaderFact::Release(19)),
            (
                "Unix process pid: 7, image: oracle@host (LG00)",
                process(7, Some("LG00")),
            ),
            (
                "Unix process pid: 127322, image: (LG03)",
                process(127_322, Some("LG03")),
            ),
            (
                "Unix process pid: 613102, image: oracle@t.example.com",
                process(613_102, None),
            ),
            (
                "Unix process pid: 5, image: oracle@h (TNS V1-V3)",
                process(5, Some("TNS V1-V3")),
            ),
            ("*** [ Unix process pid: 42 ]", process(42, None)),
            (
                "Warning: log write elapsed time 780ms, size 4KB",
                HeaderFact::SlowWrite(780, Some(4)),
            ),
            ("*** [ Windows thread id: 42 ]", process(42, None)),
            (
                "Warning: log write time 540ms, size 5444KB",
                HeaderFact::SlowWrite(540, Some(5444)),
            ),
            (
                "Adaptive scalable LGWR enabling workers",
                HeaderFact::AdaptiveMode("Adaptive scalable LGWR enabling workers".to_owned()),
            ),
            (
                "Current approximate redo synch write rate is 10286 per sec",
                HeaderFact::SyncRate(10_286),
            ),
            (
                "Current approximate redo synch write rate is 10",
                HeaderFact::Nothing,
            ),
            (
                "Warning: log write elapsed time 501ms, size 0KB",
                HeaderFact::SlowWrite(501, Some(0)),
            ),
            (
                "Warning: log write broadcast wait time 2331ms (SCN 0xbaca.55)",
                HeaderFact::SlowBroadcast(2331),
            ),
            (
                "*** 1970-01-02 00:00:01.5",
                HeaderFact::Stamp(86_401_500_000),
            ),
            (
                "*** SESSION ID:(1.2) 1970-01-01T00:00:00.000007+02:00",
                HeaderFact::Stamp(7),
            ),
            (
                "*** 1970-01-01T00:00:00.000009 (PDB(3))",
                HeaderFact::Stamp(9),
            ),
            (
                "Warning: log write elapsed time 15",
                HeaderFact::CutWarning("elapsed time 15".to_owned()),
            ),
            ("*** ACTION NAME:() and no stamp", HeaderFact::Nothing),
            ("Version #1 SMP", HeaderFact::Nothing),
        ] {
            assert_eq!(read(line.as_bytes()), want, "{line}");
        }
    }

    #[test]
    fn stamps_follow_the_calendar() {
        let day = 86_400_000_000;
        for (text, want) in [
            ("2000-02-29 00:00:00", Some(11_016 * day)),
            ("2000-03-01 00:00:00.000", Some(11_017 * day)),
            ("2013-13-01 00:00:00", None),
            ("2013-08-26 25:00:00", None),
            ("2013-08-26", None),
            ("hello", None),
        ] {
            assert_eq!(stamp(text), want, "{text}");
        }
        for text in [
            "1969-12-31 23:59:59.999999",
            "2000-02-29 00:00:00.000",
            "2000-03-01 12:34:56.789",
            "2024-12-31 23:59:59.001",
            "2025-01-01 00:00:00.000001",
        ] {
            assert_eq!(stamp(text).map(civil).as_deref(), Some(text));
        }
    }
}
