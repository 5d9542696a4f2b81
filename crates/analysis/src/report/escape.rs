//! The only way by which text of a run enters the report.
//!
//! Invariants: [`esc`] is safe between tags and inside quoted attributes; control characters,
//! terminal escape sequences and bidirectional overrides never pass; text is bounded, so that
//! one field cannot make the report grow without limit.

/// Characters of one text that are shown.
const MAX_CHARS: usize = 4_000;

/// `text` for a place between tags or in a quoted attribute.
#[must_use]
pub fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in bounded(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            _ => out.push(c),
        }
    }
    out
}

/// `text`, [`clean`] and cut where it is very long, for a place that escapes by itself.
#[must_use]
pub fn bounded(text: &str) -> String {
    let mut out = clean(text);
    if let Some((at, _)) = out.char_indices().nth(MAX_CHARS) {
        out.truncate(at);
        out.push('…');
    }
    out
}

/// `text` without control characters, ESC and OSC sequences and direction overrides; tabs and
/// line ends become spaces.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if c.is_control() || is_direction(c) => {}
            c => out.push(c),
        }
    }
    out
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what follows an ESC: `[ … letter` (CSI), `] … BEL` or `] … ESC \` (OSC), else one
/// character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            while let Some(c) = chars.peek() {
                let is_end = ('\u{40}'..='\u{7e}').contains(c);
                let is_part = ('\u{20}'..='\u{3f}').contains(c);
                if is_end || is_part {
                    chars.next();
                }
                if !is_part {
                    return;
                }
            }
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            esc("<script>\"'&#x3c;`"),
            "&lt;script&gt;&quot;&#39;&amp;#x3c;&#96;"
        );
    }

    #[test]
    fn terminal_sequences_and_overrides_vanish() {
        for (text, shown) in [
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;x\u{1b}\\b", "ab"),
            ("a\u{1b}", "a"),
            ("a\u{1b}[", "a"),
            ("a\0b\u{9b}c\u{7f}", "abc"),
            ("x\u{202e}y", "xy"),
            ("two\nlines\tand", "two lines and"),
        ] {
            assert_eq!(clean(text), shown, "{text:?}");
        }
    }

    #[test]
    fn text_is_bounded() {
        assert!(esc(&"<".repeat(1_000_000)).len() < 5 * MAX_CHARS);
    }
}
