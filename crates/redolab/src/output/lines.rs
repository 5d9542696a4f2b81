//! How wide text is on a terminal, and lines that are no wider than it: longer ones are broken at
//! blanks.
//!
//! Invariants: widths are columns of the terminal: a CJK character or an emoji takes two, a
//! combining character none. What goes to a pipe or a file keeps its lines, unless the environment
//! names a width (`COLUMNS`), as `clap` takes it for `--help`; a word is never broken, so that
//! paths and commands can be copied.

use crate::standard_error;
use measure::words::sanitize;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Longer lines are hard to read, however wide the terminal is.
pub(super) const LINE_MAX: usize = 110;
/// How far the rest of a broken line is indented beyond its beginning.
const INDENT: usize = 2;

/// Columns that `text`, which is one line, takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Columns of the widest line of `text`.
#[must_use]
pub fn widest(text: &str) -> usize {
    text.lines().map(width).max().unwrap_or(0)
}

/// `text` in at most `most` columns; what is cut ends with an ellipsis.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut room = most.saturating_sub(3);
    let fits = |c: &char| {
        let left = room.checked_sub(c.width().unwrap_or(0));
        room = left.unwrap_or(room);
        left.is_some()
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{kept}...")
}

/// Number of columns of `stream`: those of the terminal, else of `COLUMNS`; `None` where neither is
/// known.
pub fn columns(stream: impl AsFd + IsTerminal) -> Option<u16> {
    let terminal = stream.is_terminal();
    let size = rustix::termios::tcgetwinsize(&stream).ok();
    let own = size.filter(|_| terminal).map(|size| size.ws_col);
    let named = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    own.filter(|columns| *columns > 0)
        .or_else(named)
        .filter(|columns| *columns > 0)
}

/// Breaks the lines of `text` that are wider than `most`; the rest of each is indented.
#[must_use]
pub fn fold(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        if width(line) <= most {
            out.push_str(line);
        } else {
            let words = line.trim_start_matches(' ');
            let indent = line.len() - words.len();
            out.push_str(&line[..indent]);
            pour(&mut out, words, (indent, indent + INDENT), most);
        }
        out.push_str(end);
    }
    out
}

/// Appends `text` behind `mark`, broken at blanks; further lines are indented as far as the mark.
pub fn wrap(out: &mut String, mark: &str, text: &str, most: usize) {
    let indent = width(mark);
    out.push_str(mark);
    pour(out, &sanitize::line(text), (indent, indent), most);
    out.push('\n');
}

/// Appends the words of `text` from `column` on; further lines begin at `indent`.
fn pour(out: &mut String, text: &str, (mut column, indent): (usize, usize), most: usize) {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            // A number stays with its sign.
            Some(number) if word.starts_with('%') => *number = format!("{number} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    for (at, word) in words.iter().enumerate() {
        let length = width(word);
        if at > 0 && column + 1 + length > most && !word.is_empty() {
            // Blanks that align columns mean nothing at the end of a line.
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
}

/// `text` with lines that fit `stream`, where its width is known.
#[must_use]
pub fn fitted(text: &str, stream: impl AsFd + IsTerminal) -> String {
    columns(stream).map_or_else(|| text.to_owned(), |most| fold(text, usize::from(most)))
}

/// Prints lines on standard error. They may contain text from outside.
pub fn tell(text: &str) {
    let shown = fitted(&sanitize::text(text), std::io::stderr());
    standard_error::write(&format!("{shown}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_blanks_and_indented() {
        for (text, want) in [
            ("short\n", "short\n"),
            ("one two three four\n", "one two\n  three\n  four\n"),
            ("  one two three", "  one two\n    three"),
            (
                "/a/very/long/path is kept\n",
                "/a/very/long/path\n  is kept\n",
            ),
            ("a\n\nb\n", "a\n\nb\n"),
            ("a  b     cccccc", "a  b\n  cccccc"),
            ("one two (5 %) x", "one two\n  (5 %) x"),
            ("測試 測試 測試", "測試 測試\n  測試"),
            (
                "e\u{301}\u{301}\u{301} b c d e",
                "e\u{301}\u{301}\u{301} b c d e",
            ),
        ] {
            assert_eq!(fold(text, 10), want, "{text:?}");
        }
    }

    #[test]
    fn widths_are_columns_of_a_terminal() {
        for (text, want) in [("", 0), ("µs", 2), ("測試", 4), ("e\u{301}", 1), ("🚀", 2)] {
            assert_eq!(width(text), want, "{text:?}");
        }
        assert_eq!(widest("a\n測試\nabc\n"), 4);
        let mut out = String::new();
        wrap(&mut out, "測 ", "one two", 8);
        assert_eq!(out, "測 one\n   two\n");
    }

    #[test]
    fn what_is_cut_is_no_wider_than_it_may_be() {
        for (text, most, want) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "ab..."),
            ("測試測試", 8, "測試測試"),
            ("測試測試", 7, "測試..."),
            ("測試測試", 6, "測..."),
        ] {
            assert_eq!(cut(text, most), want);
        }
    }
}
