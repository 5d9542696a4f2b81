//! Lines that are no longer than the reader's terminal is wide: longer ones are broken at blanks.
//!
//! Invariants: what goes to a pipe or a file keeps its lines, unless the environment names a width
//! (`COLUMNS`), as `clap` takes it for `--help`; a word is never broken, so that paths and commands
//! can be copied.

use measure::words::sanitize;
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// How far the rest of a broken line is indented beyond its beginning.
const INDENT: usize = 2;

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

/// Breaks the lines of `text` that are longer than `width`; the rest of each is indented.
#[must_use]
pub fn fold(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        if line.trim_end_matches('\n').chars().count() <= width {
            out.push_str(line);
            continue;
        }
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        fold_line(&mut out, line, width);
        out.push_str(end);
    }
    out
}

fn fold_line(out: &mut String, line: &str, width: usize) {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let (blanks, rest) = line.split_at(indent);
    out.push_str(blanks);
    let mut column = indent;
    let mut words: Vec<String> = Vec::new();
    for word in rest.split(' ') {
        match words.last_mut() {
            // A number stays with its sign.
            Some(number) if word.starts_with('%') => *number = format!("{number} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    for (at, word) in words.iter().enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > width && !word.is_empty() {
            // Blanks that align columns mean nothing at the end of a line.
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent + INDENT));
            column = indent + INDENT;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
}

/// Prints lines on standard error. They may contain text from outside.
pub fn tell(text: &str) {
    let harmless = sanitize::text(text);
    match columns(std::io::stderr()) {
        Some(width) => eprintln!("{}", fold(&harmless, usize::from(width))),
        None => eprintln!("{harmless}"),
    }
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
        ] {
            assert_eq!(fold(text, 10), want, "{text:?}");
        }
    }
}
