//! An account as Markdown with GitHub's tables, to be pasted into a ticket.
//!
//! Invariants: no text of a run can become markup, neither of Markdown nor of HTML; every line is
//! bounded; what a table leaves out is counted.

use super::columns::Columns;
use super::{Account, AccountTable, Body, ColumnHeading, ColumnRole, Section, Shown, Statement};
use measure::comparison::Comparison;
use measure::judgement::Weight;
use measure::run::Run;
use measure::words::{self, markdown as escape};
use std::fmt::Write;

/// Most characters of a text of the run.
const TEXT_MAX: usize = 600;

/// Most lines of a table or a list unless all are asked for.
const LINES_MAX: usize = 60;
/// The same in a ticket.
const TICKET_MAX: usize = 40;
/// Sections that a ticket has no room for, by the beginnings of their ids.
const LONG: [&str; 5] = ["table-", "method", "not-compared", "sources", "diagnostics"];

/// A run, its rows in `columns`; with `all` that there is of it.
#[must_use]
pub fn run(run: &Run, columns: &Columns, all: bool) -> String {
    let most = if all { usize::MAX } else { LINES_MAX };
    account(&super::run(run, columns, all), most)
}

/// A comparison; with `all` that there is of it.
#[must_use]
pub fn comparison(c: &Comparison, all: bool) -> String {
    let most = if all { usize::MAX } else { LINES_MAX };
    account(&super::comparison::account(c, all), most)
}

/// The answer and what decides, for a ticket.
#[must_use]
pub fn ticket(mut of: Account) -> String {
    let is_long = |of: &Section| LONG.iter().any(|id| of.id.starts_with(id));
    of.sections.retain(|of| !is_long(of));
    account(&of, TICKET_MAX)
}

/// All of an account, with at most `most` lines of a table or a list.
#[must_use]
pub fn account(of: &Account, most: usize) -> String {
    let answer = &of.answer;
    let is_judged = answer.is_verdict();
    let mut out = format!("### {}", text(&of.question));
    match answer.words.as_str() {
        "" => out.push('\n'),
        words if is_judged => {
            let _ = writeln!(out, " {}", text(&words.to_uppercase()));
        }
        words => {
            let _ = write!(out, "\n\n**{}**\n", text(words));
        }
    }
    if answer.is_wrong() {
        out.push_str("\n**INVALID: do not use these figures.**\n");
    }
    if !answer.doubts.is_empty() {
        out.push('\n');
    }
    let doubts = answer.doubts.iter().map(|(of, _)| statement(of));
    list(doubts, most, &mut out);
    for why in &answer.why {
        let _ = write!(out, "\n{}\n", text(why));
    }
    let axes = answer.axes.iter();
    let axes = axes.map(|(name, words)| format!("{name}: {words}"));
    let facts = answer.facts.iter().map(|(name, words, details)| {
        match (words.as_str(), details.as_str()) {
            (words, "") => format!("{name}: {words}"),
            ("", details) => format!("{name}: {details}"),
            (words, details) => format!("{name}: {words} ({details})"),
        }
    });
    let below: Vec<String> = axes.chain(facts).collect();
    out.push('\n');
    list(below.into_iter(), usize::MAX, &mut out);
    out.push('\n');
    out.extend(of.sections.iter().map(|of| section(of, most)));
    let _ = writeln!(out, "{}, {}", text(&of.origin), text(&of.made));
    out
}

/// The section below its title, if it has one, with at most `most` lines of a table or a list.
#[must_use]
pub fn section(of: &Section, most: usize) -> String {
    let mut out = match of.title.as_str() {
        "" => "\n".to_owned(),
        title => format!("**{}**\n\n", text(title)),
    };
    for part in &of.body {
        body(part, most, &mut out);
    }
    out
}

/// A part of a section, with a blank line behind it.
fn body(part: &Body, most: usize, out: &mut String) {
    let before = out.len();
    match part {
        Body::Table(of) => table(of, most, out),
        Body::Text(words) => {
            let _ = writeln!(out, "{}", text(words));
        }
        Body::Facts(facts) => {
            let facts = facts.iter();
            list(
                facts.map(|(name, cell)| format!("{name}: {}", cell.words(""))),
                most,
                out,
            );
        }
        Body::Findings(all) => list(all.iter().map(statement), most, out),
    }
    if out.len() > before {
        out.push('\n');
    }
}

/// A claim behind its word, else behind how it weighs.
fn statement(of: &Statement) -> String {
    let word = match (of.word.as_str(), of.weight) {
        ("", Weight::Info) => String::new(),
        ("", weight) => format!("{}: ", super::weight_in_words(weight)),
        (word, _) => format!("{word}: "),
    };
    let details: String = of.details.iter().map(|text| format!(" {text}")).collect();
    format!("{word}{}{details}", of.claim)
}

/// A list of texts.
fn list(items: impl ExactSizeIterator<Item = String>, most: usize, out: &mut String) {
    let more = items.len().saturating_sub(most);
    for item in items.take(most) {
        let _ = writeln!(out, "- {}", text(&item));
    }
    if more > 0 {
        let _ = writeln!(out, "- and {} more", words::count(more as u64));
    }
}

fn table(of: &AccountTable, most: usize, out: &mut String) {
    let mut line = |cells: Vec<String>| {
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    let heading = |of: &ColumnHeading| text(&of.words());
    line(of.columns.iter().map(heading).collect());
    let rule = |of: &ColumnHeading| match of.role {
        ColumnRole::Label => ":---".to_owned(),
        ColumnRole::Figure | ColumnRole::Detail => "---:".to_owned(),
    };
    line(of.columns.iter().map(rule).collect());
    for cells in of.lines.iter().take(most) {
        let cells = cells.iter().zip(&of.columns);
        let words = |(cell, of): (&Shown, &ColumnHeading)| text(&cell.words(of.unit));
        line(cells.map(words).collect());
    }
    let more = of.lines.len().saturating_sub(most);
    if more > 0 {
        let more = words::plural(more as u64, "more line");
        let _ = writeln!(out, "\n({more})");
    }
}

/// A text of the run in Markdown, bounded.
#[must_use]
pub fn text(raw: &str) -> String {
    let mut short: String = raw.chars().take(TEXT_MAX).collect();
    if short.len() < raw.len() {
        short.push('…');
    }
    escape::line(&short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;

    #[test]
    fn text_is_bounded() {
        assert_eq!(text(&"x".repeat(5_000)).chars().count(), TEXT_MAX + 1);
        assert_eq!(text(&"|".repeat(5_000)).matches("\\|").count(), TEXT_MAX);
    }

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
            let mut run = clean_run();
            let s = || text.to_owned();
            run.rows[0].workload = s();
            (run.target.kind, run.target.path) = (s(), s());
            (run.run_id, run.redolab_version, run.created) = (s(), s(), s());
            run.notes.label = Some(s());
            run.notes.tags.insert(s(), s());
            run.validity.add(text, true, text);
            structure(&super::run(&run, &Columns::Usual, true))
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
        let mut run = clean_run();
        run.validity.add("io_error", true, "EIO on a write");
        let text = super::run(&run, &Columns::Usual, true);
        assert!(
            text.contains("INVALID") && text.contains("io_error: EIO on a write"),
            "{text}"
        );
    }
}
