//! Drawing any table, as wide as its reader's terminal.
//!
//! Invariants: a table that is too wide drops the columns that its owner can do without, then
//! breaks its cells at blanks; where that does not suffice, its lines are printed one below the
//! other. No word and no number is broken.

use super::lines::{widest, width};
use super::table::Style;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets,
};

/// Leaves out columns in the order of `victims` until the rest fits.
pub(super) fn fit<'a>(
    headings: &[&'a str],
    lines: Vec<Vec<String>>,
    victims: &[&str],
    style: Style,
) -> (Vec<&'a str>, Vec<Vec<String>>) {
    let width = |i: usize| {
        let cells = lines.iter().filter_map(|l| l.get(i));
        let heading = widest(&heading_lines(headings[i]));
        cells.map(|c| widest(c)).fold(heading, usize::max) + 2
    };
    let mut shown: Vec<usize> = (0..headings.len()).collect();
    for victim in victims {
        if shown.iter().map(|i| width(*i)).sum::<usize>() <= style.width {
            break;
        }
        shown.retain(|i| headings[*i] != *victim);
    }
    let pick = |line: &Vec<String>| shown.iter().filter_map(|i| line.get(*i).cloned()).collect();
    let lines = lines.iter().map(pick).collect();
    (shown.iter().map(|i| headings[*i]).collect(), lines)
}

/// Any table in the same dress, for lists of the other commands. The first `text_columns` are
/// aligned to the left, the rest to the right. Cells are expected to be sanitised.
#[must_use]
pub fn draw(
    headings: &[&str],
    lines: Vec<Vec<String>>,
    text_columns: usize,
    style: Style,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    if style.frame {
        for part in [
            TableComponent::HeaderLines,
            TableComponent::MiddleHeaderIntersections,
        ] {
            table.set_style(part, '─');
        }
    }
    // The rule under the headings brings a blank between columns of its own.
    let gap = if style.frame { 1 } else { 2 };
    let headings: Vec<String> = headings.iter().map(|h| heading_lines(h)).collect();
    let bounds = match style
        .limit()
        .map(|most| narrowed(&headings, &lines, (most, gap)))
    {
        Some(Narrowed::Stacked) => return stacked(&headings, &lines),
        Some(Narrowed::Broken(bounds)) => Some(bounds),
        Some(Narrowed::Fits) | None => None,
    };
    table.set_content_arrangement(match &bounds {
        Some(_) => ContentArrangement::Dynamic,
        None => ContentArrangement::Disabled,
    });
    if bounds.is_some() {
        table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    }
    table.set_header(headings);
    for line in lines {
        table.add_row(line);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, gap));
        if i >= text_columns {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if let Some(bound) = bounds.as_ref().and_then(|bounds| bounds.get(i)) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*bound)));
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A heading in two lines, broken where they are shortest, so that a column is as narrow as its
/// figures allow.
fn heading_lines(heading: &str) -> String {
    let blanks = heading.match_indices(' ').map(|(at, _)| at);
    let longer = |at: &usize| {
        let (first, second) = heading.split_at(*at);
        width(first).max(width(second) - 1)
    };
    match blanks.min_by_key(longer) {
        Some(at) => format!("{}\n{}", &heading[..at], &heading[at + 1..]),
        None => heading.to_owned(),
    }
}

/// How a table fits a width.
enum Narrowed {
    /// As it is.
    Fits,
    /// With cells that are broken at blanks; the least width of each column.
    Broken(Vec<u16>),
    /// Not as a table.
    Stacked,
}

fn narrowed(headings: &[String], lines: &[Vec<String>], (most, gap): (usize, u16)) -> Narrowed {
    let columns = |measured: &dyn Fn(&str) -> usize| -> Vec<usize> {
        let cell = |i: usize| lines.iter().filter_map(move |line| line.get(i));
        let widest = |(i, heading): (usize, &String)| {
            let cells = cell(i).map(|text| measured(text));
            cells.fold(measured(heading), usize::max) + usize::from(gap)
        };
        headings.iter().enumerate().map(widest).collect()
    };
    let word = |text: &str| {
        let words = text.split_whitespace().map(width);
        words.max().unwrap_or(0)
    };
    // A rule under the headings takes a column between two columns.
    let between = if gap == 1 { headings.len() } else { 0 };
    let whole = columns(&widest).iter().sum::<usize>() + between;
    if whole.saturating_sub(usize::from(gap)) <= most {
        return Narrowed::Fits;
    }
    let least = columns(&word);
    if least.iter().sum::<usize>() + between > most {
        return Narrowed::Stacked;
    }
    let bound = |width: &usize| u16::try_from(*width).unwrap_or(u16::MAX);
    Narrowed::Broken(least.iter().map(bound).collect())
}

/// The lines of a table below each other: the first cell, and below it the others with their
/// headings.
fn stacked(headings: &[String], lines: &[Vec<String>]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(line.first().map_or("", String::as_str));
        let named = headings.iter().zip(line).skip(1);
        let cells: Vec<String> = named
            .map(|(heading, cell)| format!("{}: {cell}", heading.replace('\n', " ")))
            .collect();
        out.push_str(&format!("\n  {}\n", cells.join("; ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let style = Style {
            width: 80,
            frame: false,
        };
        let text = draw(
            &["Name", "Value"],
            vec![
                vec!["a".into(), "5".into()],
                vec!["bb".into(), "1,234,567".into()],
            ],
            1,
            style,
        );
        let ends: Vec<usize> = text.lines().map(width).collect();
        assert!(ends.iter().all(|e| *e == ends[0]), "{text}");
    }

    #[test]
    fn a_wide_table_breaks_its_cells_and_then_its_lines() {
        let event = "log file switch (checkpoint incomplete)";
        let line = |columns: usize| {
            let first = vec![event.to_owned()];
            let all: Vec<String> = first
                .into_iter()
                .chain((1..columns).map(|n| format!("{n},234,567")))
                .collect();
            vec![all]
        };
        let headings = |columns: usize| -> Vec<&str> {
            ["Event"]
                .into_iter()
                .chain((1..columns).map(|_| "Total wait"))
                .collect()
        };
        for frame in [true, false] {
            let style = Style { width: 80, frame };
            for columns in 2..12 {
                let text = draw(&headings(columns), line(columns), 1, style);
                let rule = |l: &str| l.chars().all(|c| c == '─' || c == ' ');
                for line in text.lines() {
                    let fits = width(line) <= 80 || columns > 7;
                    assert!(fits || rule(line), "{line}\n{text}");
                }
                for n in 1..columns {
                    assert!(text.contains(&format!("{n},234,567")), "{text}");
                }
                let all: String = text.split_whitespace().collect();
                let whole = all.contains("logfileswitch(checkpointincomplete)");
                assert!(whole || columns < 8, "{text}");
            }
            let stacked = draw(&headings(9), line(9), 1, style);
            assert!(
                stacked.starts_with(&format!("{event}\n  Total wait: 1,234,567; ")),
                "{stacked}"
            );
        }
        // A pipe takes what there is.
        let plain = draw(&headings(12), line(12), 1, Style::detect(false, None));
        assert_eq!(plain.lines().count(), 3, "{plain}");
    }

    #[test]
    fn headings_break_where_they_are_shortest() {
        for (heading, want) in [
            ("Jobs", "Jobs"),
            ("Mean ms", "Mean\nms"),
            ("95 % interval", "95 %\ninterval"),
            ("Over 500 ms", "Over\n500 ms"),
        ] {
            assert_eq!(heading_lines(heading), want);
        }
    }
}
