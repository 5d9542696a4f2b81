//! Sections of an account as Markdown, to be pasted into a ticket.
//!
//! Invariants: no text of a run can become markup, neither of Markdown nor of HTML; every line is
//! bounded; what a table leaves out is counted.

use super::{AccountTable, Body, ColumnHeading, ColumnRole, Section, Shown, Statement};
use measure::words::{self, markdown as escape};
use std::fmt::Write;

/// Most characters of a text of the run.
const TEXT_MAX: usize = 600;

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
pub fn body(part: &Body, most: usize, out: &mut String) {
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

fn statement(of: &Statement) -> String {
    let word = match of.word.as_str() {
        "" => String::new(),
        word => format!("{word}: "),
    };
    let details: String = of.details.iter().map(|text| format!(" {text}")).collect();
    format!("{word}{}{details}", of.claim)
}

/// A list of texts.
pub fn list(items: impl ExactSizeIterator<Item = String>, most: usize, out: &mut String) {
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

    #[test]
    fn text_is_bounded() {
        assert_eq!(text(&"x".repeat(5_000)).chars().count(), TEXT_MAX + 1);
        assert_eq!(text(&"|".repeat(5_000)).matches("\\|").count(), TEXT_MAX);
    }
}
