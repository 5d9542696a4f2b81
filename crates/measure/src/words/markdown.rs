//! Makes text from outside mean itself in Markdown, as GitHub and most ticket systems read it.
//!
//! Invariants: the result is one line without control characters; it formats nothing, opens no
//! tag, ends no cell of a table, hides no address behind a link and mentions nobody. A bare address
//! stays readable, and a reader may make a link of it. Nobody else in the workspace escapes
//! Markdown.

use super::sanitize;

/// `text` as a line of its own or as an item of a list: what would begin a heading, a list, a rule
/// or a block of code there is escaped too.
#[must_use]
pub fn line(text: &str) -> String {
    let inline = inline(text);
    let start = inline.trim_start();
    match marker(start) {
        Some(at) => format!("{}\\{}", &start[..at], &start[at..]),
        None => start.to_owned(),
    }
}

/// `text` in the middle of a line, such as in a cell of a table.
#[must_use]
pub fn inline(text: &str) -> String {
    let clean = sanitize::line(text);
    let mut out = String::with_capacity(clean.len() + 8);
    let mut before = None;
    let mut chars = clean.chars().peekable();
    while let Some(c) = chars.next() {
        let is_in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            '\\' | '`' | '*' | '|' | '[' | ']' | '~' | '<' | '>' | '$' => out.extend(['\\', c]),
            // Inside a word an underscore means itself.
            '_' if !is_in_word(before) || !is_in_word(chars.peek().copied()) => out.push_str("\\_"),
            '&' => out.push_str("&amp;"),
            // Programs look for these two in the text as it was typed, before it is formatted.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// Where a backslash takes its meaning from the beginning of a line: `- x`, `12. x`, `---`. What
/// else begins a block is escaped wherever it is.
fn marker(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (at, of) = match digits {
        0 => (0, ['-', '+', '=']),
        // At most nine digits number an item.
        1..=9 => (digits, ['.', ')', ')']),
        _ => return None,
    };
    let rest = line.get(at..)?;
    let c = rest.chars().next().filter(|c| of.contains(c))?;
    // `-5` and `1.5` are numbers.
    let next = rest.chars().nth(1);
    next.is_none_or(|next| next == ' ' || next == c)
        .then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        for (text, want) in [
            ("a|b", "a\\|b"),
            ("[x](javascript:1)", "\\[x\\](javascript:1)"),
            ("<b>`x`", "\\<b\\>\\`x\\`"),
            ("one\ntwo", "one two"),
            ("&lt;", "&amp;lt;"),
            ("@dba #12", "&#64;dba &#35;12"),
            ("_x_ a_b", "\\_x\\_ a_b"),
            ("a\\", "a\\\\"),
            ("$x$", "\\$x\\$"),
            ("a\u{1b}[2Jb\u{202e}c", "abc"),
        ] {
            assert_eq!(inline(text), want);
            assert_eq!(line(text), want);
        }
    }

    #[test]
    fn nothing_begins_a_block() {
        for (text, want) in [
            ("- x", "\\- x"),
            ("-", "\\-"),
            ("---", "\\---"),
            ("+ x", "\\+ x"),
            ("==", "\\=="),
            ("1. x", "1\\. x"),
            ("12) x", "12\\) x"),
            ("# x", "&#35; x"),
            ("> x", "\\> x"),
            ("\n\n\n\n\tx", "x"),
            ("-5.2 ms", "-5.2 ms"),
            ("1.5 ms", "1.5 ms"),
            ("1234567890. x", "1234567890. x"),
            ("", ""),
        ] {
            assert_eq!(line(text), want, "{text:?}");
        }
        assert_eq!(inline("-"), "-");
    }
}
