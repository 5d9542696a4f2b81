//! A section of an account on the terminal.
//!
//! Invariants: columns that name a line are never left out, details first where it is narrow; text
//! of the account is made harmless here.

use super::drawing::{draw, fit};
use super::lines::{LINE_MAX, wrap};
use super::table::Style;
use analysis::account::{
    Account, AccountTable, Body, ColumnHeading, ColumnRole, Section, Shown, Statement,
};
use measure::judgement::Weight;
use measure::words::{self, sanitize};

/// Most lines of a table, and of a list, unless more is asked for.
const LINES_MAX: usize = 60;

/// An account that has a heading of its own: what was asked, the answer, what raises doubt, and its
/// sections.
#[must_use]
pub fn account(of: &Account, style: Style, verbose: bool) -> String {
    let width = style.width.min(LINE_MAX);
    let mut out = format!("{}\n", sanitize::line(&of.question));
    // A comparison of two runs says it again of both by their names.
    let is_said = |part: &Body| match part {
        Body::Findings(all) => all
            .iter()
            .any(|of_it| of_it.claim.contains(&of.answer.words)),
        _ => false,
    };
    let first = of.sections.first();
    if !first.is_some_and(|of_it| of_it.body.iter().any(is_said)) {
        wrap(&mut out, "", &of.answer.words, width);
        let why = of.answer.why.iter();
        why.for_each(|why| wrap(&mut out, "  ", why, width));
    }
    for (doubt, _) in &of.answer.doubts {
        statement(&mut out, doubt, width);
    }
    let sections = of.sections.iter().cloned().map(Some);
    format!("{out}\n{}", texts(sections, style, verbose))
}

/// Those sections that there are, a blank line between them.
#[must_use]
pub fn texts(
    sections: impl IntoIterator<Item = Option<Section>>,
    style: Style,
    verbose: bool,
) -> String {
    let texts = sections.into_iter().flatten();
    let texts: Vec<String> = texts.map(|of| text(&of, style, verbose)).collect();
    texts.join("\n")
}

/// The section as text; `verbose` with how to read it and all its lines.
#[must_use]
pub fn text(section: &Section, style: Style, verbose: bool) -> String {
    let mut out = format!("{}\n", sanitize::line(&section.title));
    let width = style.width.min(LINE_MAX);
    if verbose && !section.about.is_empty() {
        wrap(&mut out, "", &section.about, width);
    }
    let most = if verbose { usize::MAX } else { LINES_MAX };
    for part in &section.body {
        let lines = match part {
            Body::Table(of) => {
                out.push_str(&table(of, most, style));
                of.lines.len()
            }
            Body::Text(text) => {
                wrap(&mut out, "", text, width);
                1
            }
            Body::Facts(facts) => {
                for (name, cell) in facts.iter().take(most) {
                    wrap(&mut out, "", &format!("{name}: {}", cell.words("")), width);
                }
                facts.len()
            }
            Body::Findings(all) => {
                let shown = all.iter().take(most);
                shown.for_each(|of| statement(&mut out, of, width));
                all.len()
            }
        };
        let more = lines.saturating_sub(most);
        if more > 0 {
            let more = words::plural(more as u64, "more line");
            out.push_str(&format!("({more} with -v)\n"));
        }
    }
    out
}

/// A claim behind the mark of its weight, and below it what belongs to it.
pub(super) fn statement(out: &mut String, of: &Statement, width: usize) {
    let mark = match of.weight {
        Weight::Bad => "  - ",
        Weight::Caution => "  ! ",
        Weight::Good => "  + ",
        Weight::Info => "    ",
    };
    let claim = match of.word.as_str() {
        "" => of.claim.clone(),
        word => format!("{word}: {}", of.claim),
    };
    wrap(out, mark, &claim, width);
    for detail in of.details.iter().filter(|detail| !detail.is_empty()) {
        wrap(out, "      ", detail, width);
    }
}

/// A table of at most `most` lines.
pub(super) fn table(of: &AccountTable, most: usize, style: Style) -> String {
    let names: Vec<String> = of.columns.iter().map(ColumnHeading::words).collect();
    let names: Vec<String> = names.iter().map(|name| sanitize::line(name)).collect();
    let headings: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = |line: &Vec<Shown>| {
        let cells = line.iter().zip(&of.columns);
        let cells = cells.map(|(cell, heading)| cell.words(heading.unit));
        cells.map(|cell| sanitize::line(&cell)).collect()
    };
    let lines = of.lines.iter().take(most).map(cells).collect();
    let details = of.columns.iter().zip(&headings).rev();
    let details = details.filter(|(heading, _)| heading.role == ColumnRole::Detail);
    let victims: Vec<&str> = details.map(|(_, name)| *name).collect();
    // What nothing limits has all columns.
    let width = style.limit().unwrap_or(usize::MAX);
    let (headings, lines) = fit(&headings, lines, &victims, Style { width, ..style });
    draw(&headings, lines, of.labels(), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines::width;
    use analysis::account::{AccountColumn, detail, figure, label};

    #[test]
    fn a_narrow_terminal_leaves_out_details_and_never_what_names_a_line() {
        let columns: [AccountColumn<'_, f64>; 6] = [
            (label("Workload"), &|_| Shown::text("LGWR-LAT125")),
            (label("Jobs"), &|_| Shown::Count(4096)),
            (detail("Log writes of all members", ""), &|_| {
                Shown::Count(123_456_789)
            }),
            (figure("Log file parallel write", "ms"), &|ns| {
                Shown::Ns(*ns)
            }),
            (figure("Commits", "/s"), &|_| Shown::Number(1_234_567.0)),
            (detail("Flushes of all members", ""), &|_| Shown::Missing),
        ];
        let table = AccountTable::of([1_500_000.0], &columns).expect("a line");
        let section = Section {
            id: "x".into(),
            title: "Each\u{1b}[2J".to_owned(),
            about: "How to read it.".to_owned(),
            body: vec![Body::Table(table)],
        };
        for (columns, shown) in [(60, 4), (200, 6)] {
            let style = Style {
                width: columns,
                frame: true,
            };
            let text = text(&section, style, columns == 200);
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            let last = text.lines().last().expect("its line");
            assert_eq!(last.split_whitespace().count(), shown, "{text}");
            assert!(
                last.starts_with("LGWR-LAT125") && last.contains("1.50"),
                "{text}"
            );
            assert!(
                last.contains("4,096") && last.contains("1,234,567"),
                "{text}"
            );
            assert_eq!(text.contains("How to read it."), columns == 200);
            assert!(
                !text.contains('\u{1b}') && text.contains("Commits/s"),
                "{text}"
            );
        }
    }
}
