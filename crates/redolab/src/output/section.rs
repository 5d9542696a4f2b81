//! A section of an account on the terminal.
//!
//! Invariants: columns that name a line are never left out, details first where it is narrow; text
//! of the account is made harmless here.

use super::lines::wrap;
use super::table::{Style, draw, fit};
use super::verdict::LINE_MAX;
use analysis::account::{AccountTable, Body, ColumnHeading, ColumnRole, Section};
use measure::words::sanitize;

/// Those sections that there are, a blank line between them.
#[must_use]
pub fn texts(
    sections: impl IntoIterator<Item = Option<Section>>,
    style: Style,
    about: bool,
) -> String {
    let texts = sections.into_iter().flatten();
    let texts: Vec<String> = texts.map(|of| text(&of, style, about)).collect();
    texts.join("\n")
}

/// The section as text, with how to read it where that is asked for.
#[must_use]
pub fn text(section: &Section, style: Style, about: bool) -> String {
    let mut out = format!("{}\n", sanitize::line(&section.title));
    let width = style.width.min(LINE_MAX);
    if about {
        wrap(&mut out, "", &section.about, width);
    }
    for part in &section.body {
        match part {
            Body::Table(of) => out.push_str(&table(of, style)),
            Body::Text(text) => wrap(&mut out, "", text, width),
            Body::Facts(facts) => {
                for (name, cell) in facts {
                    wrap(&mut out, "", &format!("{name}: {}", cell.words("")), width);
                }
            }
        }
    }
    out
}

fn table(of: &AccountTable, style: Style) -> String {
    let words = |heading: &ColumnHeading| match heading.unit {
        "" => heading.name.to_string(),
        unit if unit.starts_with('/') => format!("{}{unit}", heading.name),
        unit => format!("{} {unit}", heading.name),
    };
    let names: Vec<String> = of.columns.iter().map(words).collect();
    let headings: Vec<&str> = names.iter().map(String::as_str).collect();
    let cells = |line: &Vec<_>| {
        let cells = line.iter().zip(&of.columns);
        let cells =
            cells.map(|(cell, heading): (&analysis::account::Shown, _)| cell.words(heading.unit));
        cells.map(|cell| sanitize::line(&cell)).collect()
    };
    let lines = of.lines.iter().map(cells).collect();
    let details = of.columns.iter().zip(&headings).rev();
    let details = details.filter(|(heading, _)| heading.role == ColumnRole::Detail);
    let victims: Vec<&str> = details.map(|(_, name)| *name).collect();
    let (headings, lines) = fit(&headings, lines, &victims, style);
    draw(&headings, lines, of.labels(), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines::width;
    use analysis::account::{AccountColumn, Shown, detail, figure, label};

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
            id: "x",
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
