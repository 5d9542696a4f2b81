//! Escapes text from outside for GitHub's Markdown: it formats nothing, links to nothing, mentions
//! nobody, and nothing of it is HTML.

use super::sanitize;

/// One line of text, escaped.
#[must_use]
pub fn escaped(text: &str) -> String {
    let clean = sanitize::line(text);
    let mut out = String::with_capacity(clean.len());
    let chars: Vec<char> = clean.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        // Inside a word an underscore means itself.
        let inside = |at: Option<usize>| {
            at.and_then(|at| chars.get(at))
                .is_some_and(|c| c.is_alphanumeric())
        };
        match c {
            '\\' | '`' | '*' | '|' | '[' | ']' | '~' | '<' | '>' => out.extend(['\\', *c]),
            '_' if !inside(at.checked_sub(1)) || !inside(Some(at + 1)) => out.push_str("\\_"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            c => out.push(*c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        for (text, want) in [
            ("a|b", "a\\|b"),
            ("<script>", "\\<script\\>"),
            ("@dba #12", "&#64;dba &#35;12"),
            ("_x_ a_b", "\\_x\\_ a_b"),
            ("`*[x](y)", "\\`\\*\\[x\\](y)"),
            ("&lt;", "&amp;lt;"),
            ("a\u{1b}[2Jb\nc", "ab c"),
        ] {
            assert_eq!(escaped(text), want);
        }
    }
}
