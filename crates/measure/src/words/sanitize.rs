//! Makes text from outside harmless to a terminal.
//!
//! Escape sequences (CSI, OSC, DCS, APC, PM, SOS and the short ones), control characters of both
//! sets and characters that reorder text are removed. What is left cannot move the cursor, change
//! colours or titles, write to the clipboard, or show itself in another order than it is in.

/// One line: newlines and tabs become spaces.
#[must_use]
pub fn line(text: &str) -> String {
    strip(text, false)
}

/// Text of several lines: newlines and tabs stay, carriage returns go.
#[must_use]
pub fn text(text: &str) -> String {
    strip(text, true)
}

fn strip(text: &str, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek().copied() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                Some(']' | 'P' | '_' | '^' | 'X') => {
                    chars.next();
                    skip_string(&mut chars);
                }
                // Short sequences: intermediates, then one final character.
                Some(' '..='/') => {
                    while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
                    chars.next_if(|c| matches!(c, '0'..='~'));
                }
                Some('0'..='~') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            '\n' | '\t' if keep_lines => out.push(c),
            '\n' | '\t' | '\r' if !keep_lines => out.push(' '),
            c if c.is_control() || reorders(c) => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Parameters and intermediates up to the final character.
fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to BEL, ST or the end of the line: an unterminated string must not eat the rest of a file.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Bidirectional controls, line and paragraph separators.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{61c}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_for_the_terminal_is_left() {
        for (input, want) in [
            ("plain µs", "plain µs"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]52;c;YmFk\u{1b}\\x", "x"),
            ("\u{9b}2Jx", "x"),
            ("\u{9d}0;t\u{9c}x", "x"),
            ("\u{1b}P1$r\u{1b}\\x", "x"),
            ("\u{1b}(Bx\u{1b}cy", "xy"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[38;5;\u{1b}[1mx", "x"),
            ("a\u{8}\u{7f}\u{0}b", "ab"),
            ("a\r\nb\tc", "a  b c"),
            ("evil\u{202e}txt.exe", "eviltxt.exe"),
        ] {
            assert_eq!(line(input), want, "{input:?}");
        }
        assert_eq!(text("a\r\nb\tc\u{1b}]never ended\nd"), "a\nb\tc\nd");
    }

    #[test]
    fn every_short_input_comes_out_clean() {
        let alphabet = [
            '\u{1b}', '[', ']', '\\', '\u{7}', '\u{9b}', '0', ';', 'm', '\n', 'x',
        ];
        let base = alphabet.len();
        for code in 0..base.pow(5) {
            let (mut rest, mut input) = (code, String::new());
            for _ in 0..5 {
                input.push(alphabet[rest % base]);
                rest /= base;
            }
            let out = line(&input);
            assert!(!out.chars().any(char::is_control), "{input:?} gave {out:?}");
            assert_eq!(line(&out), out);
        }
    }
}
