//! Blanks that are not ASCII. Pages copied from a browser pad columns with no-break spaces
//! (U+00A0); readers that separate columns at blanks have to see them as blanks.
//!
//! Each such blank becomes one space, so that positions in characters stay as they are. A no-break
//! space between two digits is left alone: it may separate the thousands of one number.

use std::borrow::Cow;

/// The text with a space for each blank that is not ASCII, and for the marks of a line that is
/// quoted in a mail (`> > text`).
#[must_use]
pub fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    let marks = quote_marks(text);
    if marks > 0 {
        let mut own = plain(text.get(marks..).unwrap_or_default()).into_owned();
        own.splice(0..0, std::iter::repeat_n(b' ', marks));
        return Cow::Owned(own);
    }
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Windows-1252 has the no-break space as one byte, which UTF-8 has inside of characters only.
    let is_utf8 = std::str::from_utf8(text).is_ok();
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        let width = blank(rest, is_utf8);
        let digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
        let is_group = digit(out.last()) && digit(rest.get(width));
        if width == 0 || is_group {
            let kept = width.max(1);
            out.extend_from_slice(&rest[..kept]);
            at += kept;
        } else {
            out.push(b' ');
            at += width;
        }
    }
    Cow::Owned(out)
}

/// Bytes of the marks before a quoted line, each with its blank.
fn quote_marks(text: &[u8]) -> usize {
    let mut marks = 0;
    while let [b'>', rest @ ..] = text.get(marks..).unwrap_or_default() {
        match rest {
            [] => return marks + 1,
            [b' ', ..] => marks += 2,
            _ => break,
        }
    }
    marks
}

/// Bytes of the blank that the text begins with; 0 if it begins with none.
fn blank(text: &[u8], is_utf8: bool) -> usize {
    match text {
        [0xc2, 0xa0, ..] => 2,
        [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => 3,
        [0xa0, ..] if !is_utf8 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_blank_is_one_space_and_numbers_keep_their_groups() {
        let said = |text: &[u8]| plain(text).into_owned();
        assert_eq!(said("1\u{a0} \u{a0} 246".as_bytes()), b"1    246");
        assert_eq!(said("a\u{202f}b\u{2003}c\u{3000}d".as_bytes()), b"a b c d");
        let grouped = "1\u{a0}234 5\u{202f}678".as_bytes();
        assert_eq!(said(grouped), grouped);
        assert_eq!(said("à\u{a0}é".as_bytes()), "à é".as_bytes());
        assert_eq!(said(b"log\xa0\xa0file"), b"log  file");
        assert!(matches!(plain(b"plain text"), Cow::Borrowed(_)));
        assert_eq!(said(b"> Event   Waits"), b"  Event   Waits");
        assert_eq!(said(b">> > a > b"), b"     a > b");
        assert_eq!(said(b">"), b" ");
        assert_eq!(said(b">500ms"), b">500ms");
        assert_eq!(said(b">>>>> PROC: NEWORD"), b">>>>> PROC: NEWORD");
    }
}
