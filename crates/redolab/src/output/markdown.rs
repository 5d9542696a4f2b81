//! A run as Markdown with GitHub's tables, as the report's button copies it; of imported evidence
//! with its tables.
//!
//! Invariants: every text from outside is escaped, so that it neither formats nor links nor
//! mentions; no column is left out for its width.

use super::overview::View;
use analysis::account::{imported, markdown};
use measure::run::Run;

/// Most lines of a table unless more is asked for.
const LINES_MAX: usize = 60;

/// The run.
#[must_use]
pub fn text(run: &Run, view: View<'_>) -> String {
    let mut out = analysis::report::markdown(run, view.columns, view.verbose);
    if let Some(evidence) = &run.imported {
        let most = if view.verbose { usize::MAX } else { LINES_MAX };
        let mut sections: Vec<_> = imported::sources(evidence, false).into_iter().collect();
        sections.extend(imported::tables(evidence));
        sections.extend(imported::diagnostics(&run.diagnostics));
        let sections = sections.iter().map(|of| markdown::section(of, most));
        out = format!("{out}\n{}", sections.collect::<String>());
    }
    out
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
