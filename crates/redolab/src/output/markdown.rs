//! A run as Markdown with GitHub's tables, as the report's button copies it; of imported evidence
//! with its tables.
//!
//! Invariants: every text from outside is escaped, so that it neither formats nor links nor
//! mentions; no column is left out for its width.

mod imported;

use super::overview::View;
use measure::run::Run;
use measure::words::markdown as escape;
use std::fmt::Write;

/// The run.
#[must_use]
pub fn text(run: &Run, view: View<'_>) -> String {
    let mut out = analysis::report::markdown(run, view.columns, view.verbose);
    if run.imported.is_some() {
        out.push('\n');
        imported::text(&mut out, run, view.verbose);
    }
    out
}

/// A paragraph; nothing for an empty text.
fn paragraph(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "{}\n", escape::line(text));
    }
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{}**\n", escape::line(title));
    items.iter().for_each(|text| item(out, text));
    out.push('\n');
}

fn item(out: &mut String, text: &str) {
    let _ = writeln!(out, "- {}", escape::line(text));
}

/// A table. The first `texts` columns are aligned to the left, the rest to the right.
fn table(out: &mut String, headings: &[String], lines: Vec<Vec<String>>, texts: usize) {
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::inline(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    line(headings);
    let rule = (0..headings.len()).map(|at| if at < texts { "---" } else { "---:" });
    line(&rule.map(str::to_owned).collect::<Vec<_>>());
    lines.iter().for_each(|cells| line(cells));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::text as text_of;
    use super::*;

    const VIEW: View<'_> = View {
        columns: &analysis::account::columns::Columns::Usual,
        verbose: true,
    };

    /// The marks of each line that format something: those that no backslash disarms.
    fn structure(markdown: &str) -> Vec<String> {
        let marks = |line: &str| {
            let mut marks = String::new();
            let line = line.replace("&#35;", "x").replace("&#64;", "x");
            let mut chars = line.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' => drop(chars.next()),
                    '`' | '*' | '|' | '[' | ']' | '<' | '>' | '~' | '@' | '#' => marks.push(c),
                    c if c.is_control() || c == '\u{202e}' => marks.push('?'),
                    _ => {}
                }
            }
            let start = line.strip_prefix("- ").unwrap_or(&line);
            let is_block = start.starts_with(['-', '+', '=', ' ', '\t']);
            format!("{marks}{}", if is_block { " block" } else { "" })
        };
        markdown.lines().map(marks).collect()
    }

    #[test]
    fn hostile_text_formats_nothing() {
        let made = |text: &str| {
            let mut run = crate::output::table::tests::run();
            let s = || text.to_owned();
            run.rows[0].workload = s();
            (run.target.kind, run.target.path) = (s(), s());
            (run.run_id, run.redolab_version, run.created) = (s(), s(), s());
            run.notes.label = Some(s());
            run.notes.tags.insert(s(), s());
            run.validity.add(text, true, text);
            structure(&text_of(&run, VIEW))
        };
        let plain = made("plain");
        for hostile in [
            "a|b | c",
            "`code` ```",
            "back\\slash\\",
            "one\n\n# two\r\n- three",
            "[here](https://example.org) ![x](y)",
            "<script>alert(1)</script><!-- <b>",
            "# heading",
            "- item",
            "---",
            "    indented",
            "**bold** _it_ ~~gone~~ @dba #12",
            "\u{1b}[31mred\u{1b}]0;title\u{7}",
            "\u{202e}gnp.exe",
        ] {
            assert_eq!(made(hostile), plain, "{hostile:?}");
        }
    }

    #[test]
    fn an_invalid_run_is_called_that() {
        let mut run = crate::output::table::tests::run();
        run.validity.add("io_error", true, "EIO on a write");
        let text = text_of(&run, VIEW);
        assert!(
            text.contains("INVALID") && text.contains("io_error: EIO on a write"),
            "{text}"
        );
    }
}
