//! One `WAIT` record: the fast way for records as servers write them, and the tolerant way for
//! those that were cut, glued, copied from a web page or written by an old release.

use crate::number::leading_u64;
use memchr::{memchr, memmem};

/// How a record begins.
pub const WAIT: &[u8] = b"WAIT #";
/// Longest event name; Oracle's are at most 64 bytes.
const NAME_MAX: usize = 100;
/// Longest cursor number with its sign.
const CURSOR_MAX: usize = 24;

/// What a record says, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRecord<'a> {
    /// The event's name.
    pub event: &'a [u8],
    /// Elapsed time in the trace's unit.
    pub ela: u64,
    /// `tim=`, 0 where it is missing.
    pub tim: u64,
    /// What stands between `ela` and the end of the line.
    pub params: &'a [u8],
}

/// Why a record could not be read. Each with the byte of the record at which it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// It ends before the elapsed time is complete.
    Cut(usize),
    /// The elapsed time is negative.
    Negative(usize),
    /// The elapsed time is no number, or past what 64 bits hold.
    NoNumber(usize),
    /// It only begins like a wait.
    NoWait,
}

/// A record at the beginning of `bytes` as servers write it, up to the end of its line, and the
/// bytes that it takes with that end. `None` where anything is unusual.
#[inline]
pub fn fast(bytes: &[u8]) -> Option<(WaitRecord<'_>, usize)> {
    let mut at = WAIT.len();
    while bytes.get(at)?.is_ascii_digit() {
        at += 1;
    }
    let name_at = at + 7;
    if bytes.get(at..name_at)? != b": nam='" {
        return None;
    }
    let name_len = memchr(b'\'', bytes.get(name_at..)?)?;
    let ela_at = name_at + name_len + 7;
    if name_len == 0 || name_len > NAME_MAX || bytes.get(ela_at - 7..ela_at)? != b"' ela= " {
        return None;
    }
    let (ela, digits) = digits(bytes.get(ela_at..)?)?;
    let params_at = ela_at + digits;
    let rest = bytes.get(params_at..)?;
    let end = memchr(b'\n', rest)?;
    let params = match rest[..end] {
        [ref whole @ .., b'\r'] => whole,
        ref whole => whole,
    };
    // Another record that is glued to this one, or letters in the number.
    if !params.is_empty() && (params[0] != b' ' || memchr(b'W', params).is_some()) {
        return None;
    }
    let record = WaitRecord {
        event: &bytes[name_at..name_at + name_len],
        ela,
        tim: tim_at_end(params),
        params,
    };
    Some((record, params_at + end + 1))
}

/// Up to 18 digits, which cannot overflow.
#[inline]
fn digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, b) in bytes.iter().enumerate() {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return (at > 0).then_some((value, at));
        }
        if at == 18 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    None
}

/// The number behind `tim=` where it ends the parameters, else 0.
#[inline]
fn tim_at_end(params: &[u8]) -> u64 {
    let (mut tim, mut unit, mut at) = (0_u64, 1_u64, params.len());
    while let Some(digit) = at.checked_sub(1).map(|i| params[i].wrapping_sub(b'0')) {
        if digit > 9 {
            break;
        }
        tim = tim.wrapping_add(u64::from(digit).wrapping_mul(unit));
        unit = unit.wrapping_mul(10);
        at -= 1;
    }
    let (before, digits) = params.split_at(at);
    if !before.ends_with(b"tim=") {
        0
    } else if digits.len() < 20 {
        tim
    } else {
        // Past what the sum above holds, or zeros before it.
        leading_u64(digits).map_or(0, |(tim, _)| tim)
    }
}

/// A record at the beginning of `bytes`, which ends where the line or the next record does.
///
/// # Errors
/// What is wrong with it, and where.
pub fn tolerant(bytes: &[u8]) -> Result<WaitRecord<'_>, WaitError> {
    let after = &bytes[WAIT.len()..];
    let colon = after.iter().take(CURSOR_MAX).position(|b| *b == b':');
    let colon = match colon {
        Some(at) => at + WAIT.len(),
        None if after.len() < CURSOR_MAX => return Err(WaitError::Cut(bytes.len())),
        None => return Err(WaitError::NoWait),
    };
    let cursor = bytes[WAIT.len()..colon].trim_ascii();
    if !cursor.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        return Err(WaitError::NoWait);
    }
    let at = skip_blanks(bytes, colon + 1);
    let at = match bytes[at..].strip_prefix(b"nam=") {
        Some(_) => skip_blanks(bytes, at + 4),
        None if b"nam=".starts_with(&bytes[at..]) => return Err(WaitError::Cut(bytes.len())),
        None => return Err(WaitError::NoWait),
    };
    let quote = quote_len(&bytes[at..]);
    let name_at = at + quote;
    let Some(ela) = memmem::find(&bytes[name_at..], b"ela=") else {
        let cut = bytes.len() - name_at <= NAME_MAX + 8;
        return Err(if cut {
            WaitError::Cut(bytes.len())
        } else {
            WaitError::NoWait
        });
    };
    let event = strip_quote(bytes[name_at..name_at + ela].trim_ascii());
    if event.is_empty() || event.len() > NAME_MAX {
        return Err(WaitError::NoWait);
    }
    let at = skip_blanks(bytes, name_at + ela + 4);
    let (ela, digits) = match bytes.get(at) {
        None => return Err(WaitError::Cut(at)),
        Some(b'-') => return Err(WaitError::Negative(at)),
        Some(_) => leading_u64(&bytes[at..]).ok_or(WaitError::NoNumber(at))?,
    };
    let params = &bytes[at + digits..];
    if params.first().is_some_and(|b| !b.is_ascii_whitespace()) {
        return Err(WaitError::NoNumber(at));
    }
    let params = params.trim_ascii_end();
    Ok(WaitRecord {
        event,
        ela,
        tim: tim_at_end(params),
        params,
    })
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let mut at = 0;
    while let Some(blank) = BLANKS.iter().find(|b| rest[at..].starts_with(b)) {
        at += blank.len();
    }
    (from + at).min(bytes.len())
}

/// Blanks as they stand in traces and in copies of pages.
const BLANKS: &[&[u8]] = &[b" ", b"\t", b"&nbsp;", "\u{a0}".as_bytes()];

/// Quotes as they stand in traces and in copies of them: ASCII, Windows-1252, UTF-8, HTML.
const QUOTES: &[&[u8]] = &[
    b"'",
    b"\"",
    b"`",
    b"\x91",
    b"\x92",
    b"\x93",
    b"\x94",
    "\u{2018}".as_bytes(),
    "\u{2019}".as_bytes(),
    "\u{201c}".as_bytes(),
    "\u{201d}".as_bytes(),
    "\u{b4}".as_bytes(),
    "\u{2032}".as_bytes(),
    "\u{2033}".as_bytes(),
    "\u{ab}".as_bytes(),
    "\u{bb}".as_bytes(),
    b"&#39;",
    b"&#039;",
    b"&apos;",
    b"&quot;",
    b"&#8216;",
    b"&#8217;",
    b"&#8220;",
    b"&#8221;",
    b"&lsquo;",
    b"&rsquo;",
    b"&ldquo;",
    b"&rdquo;",
];

fn quote_len(bytes: &[u8]) -> usize {
    let quote = QUOTES.iter().find(|q| bytes.starts_with(q));
    quote.map_or(0, |q| q.len())
}

fn strip_quote(name: &[u8]) -> &[u8] {
    let quote = QUOTES.iter().find(|q| name.ends_with(q));
    quote
        .map_or(name, |q| &name[..name.len() - q.len()])
        .trim_ascii()
}

/// The number behind `key` in parameters, such as `blocks=`.
#[must_use]
pub fn param(params: &[u8], key: &[u8]) -> Option<u64> {
    let at = memmem::find(params, key)?;
    leading_u64(&params[at + key.len()..]).map(|(n, _)| n)
}

/// Blocks of a log write: `files=1 blocks=58` or, to 10.1, `p1=1 p2=58`.
#[inline]
#[must_use]
pub fn blocks(params: &[u8]) -> u64 {
    let named = params
        .strip_prefix(b" files=")
        .and_then(|rest| {
            let (_, len) = leading_u64(rest)?;
            rest[len..].strip_prefix(b" blocks=")
        })
        .and_then(leading_u64);
    match named {
        Some((n, _)) => n,
        None => param(params, b" blocks=")
            .or_else(|| param(params, b" p2="))
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &[&str] = &[
        "WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58",
        "WAIT #0: nam='log file parallel write' ela= 562 files=1 blocks=4 requests=1 obj#=-1 tim=9",
        "WAIT #46929157733848: nam='gc cr grant 2-way' ela= 286 p1=7 p2=29618220 p3=1 obj#=82015 tim=1377520823035597",
        "WAIT #0: nam='LGWR worker group idle' ela= 39",
        "WAIT #3: nam='SQL*Net message to client' ela= 2 driver id=675562835 #bytes=1 p3=0 obj#=89440 tim=5793511830853",
    ];

    #[test]
    fn both_ways_read_the_same() {
        for line in USUAL {
            for end in ["\n", "\r\n"] {
                let text = format!("{line}{end}WAIT #");
                let (fast, taken) = fast(text.as_bytes()).expect(line);
                assert_eq!(taken, line.len() + end.len());
                assert_eq!(Ok(fast), tolerant(line.as_bytes()), "{line}");
            }
            assert_eq!(fast(line.as_bytes()), None, "without an end it may be cut");
        }
        let record = tolerant(USUAL[1].as_bytes()).expect("reads");
        assert_eq!((record.ela, record.tim, blocks(record.params)), (562, 9, 4));
        for (tim, want) in [
            ("9999999999999999999", 9_999_999_999_999_999_999),
            ("18446744073709551615", u64::MAX),
            ("18446744073709551616", 0),
            ("00000000000000000000007", 7),
            ("", 0),
        ] {
            assert_eq!(tim_at_end(format!(" x=1 tim={tim}").as_bytes()), want);
        }
        assert_eq!(
            (tim_at_end(b"5"), tim_at_end(b"im=5"), tim_at_end(b"")),
            (0, 0, 0)
        );
        assert_eq!(blocks(b" p1=2 p2=17 p3=1"), 17);
        assert_eq!(blocks(b" requests=1"), 0);
    }

    #[test]
    fn unusual_records_are_read() {
        for line in [
            "WAIT #1: nam=\u{2018}log file sync\u{2019} ela= 77 buffer#=1 tim=5",
            "WAIT #1: nam=\"log file sync\" ela=77 tim=5",
            "WAIT #1:  nam='log file sync'  ela=    77 p1=1  tim=5 ",
            "WAIT #-40: nam='log file sync' ela= 77 tim=5",
            "WAIT #1: nam=&#8216;log file sync&#8217; ela=&nbsp;77 tim=5",
            "WAIT #1: nam=&#39;log file sync&#39; ela=\u{a0}77 tim=5",
            "WAIT #1: nam=\u{2032}log file sync\u{2032} ela= 77 tim=5",
            "WAIT #1: nam=\u{2033}log file sync\u{2033} ela= 77 tim=5",
        ] {
            let record = tolerant(line.as_bytes()).expect(line);
            assert_eq!(record.event, b"log file sync", "{line}");
            assert_eq!((record.ela, record.tim), (77, 5), "{line}");
        }
        let windows = b"WAIT #1: nam=\x91log file sync\x92 ela= 77";
        assert_eq!(
            tolerant(windows).map(|r| r.event),
            Ok(&b"log file sync"[..])
        );
    }

    #[test]
    fn broken_records_are_told() {
        for (line, want) in [
            ("WAIT #", WaitError::Cut(6)),
            ("WAIT #0: na", WaitError::Cut(11)),
            ("WAIT #0: nam='log fi", WaitError::Cut(20)),
            ("WAIT #0: nam='x' ela= ", WaitError::Cut(22)),
            ("WAIT #0: nam='x' ela= -5 tim=1", WaitError::Negative(22)),
            ("WAIT #0: nam='x' ela= NaN", WaitError::NoNumber(22)),
            ("WAIT #0: nam='x' ela= 5x", WaitError::NoNumber(22)),
            (
                "WAIT #0: nam='x' ela= 99999999999999999999",
                WaitError::NoNumber(22),
            ),
            (
                "WAIT #of the world, a long line without it",
                WaitError::NoWait,
            ),
            ("WAIT #x: nam='x' ela= 5", WaitError::NoWait),
            ("WAIT #0: nam='' ela= 5", WaitError::NoWait),
        ] {
            assert_eq!(tolerant(line.as_bytes()), Err(want), "{line}");
            assert_eq!(fast(format!("{line}\n").as_bytes()), None, "{line}");
        }
        for line in USUAL {
            for cut in WAIT.len()..line.len() {
                let part = &line.as_bytes()[..cut];
                if let (Ok(part), Ok(whole)) = (tolerant(part), tolerant(line.as_bytes())) {
                    assert!(part.ela <= whole.ela && part.event == whole.event);
                }
            }
        }
    }
}
