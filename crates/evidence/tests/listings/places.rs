//! What a cell has as its place is there: the characters say the cell, or times the factor give it.

use crate::import;
use measure::imported::Cell;
use measure::origin::{CellOrigin, TextSpan};

/// The characters of a place.
fn characters(text: &str, span: TextSpan) -> String {
    let line = text.lines().nth(span.line as usize - 1).expect("a line");
    let characters = line.chars().skip(span.column as usize - 1);
    characters.take(span.length as usize).collect()
}

/// Digits, without a suffix or a group's commas.
fn digits(word: &str) -> f64 {
    let word = word.replace(',', "");
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let word = &word[..end.unwrap_or(word.len())];
    word.parse().unwrap_or_else(|_| panic!("{word}"))
}

/// Checks every cell of a text's tables that has characters; gives how many numbers have.
pub fn checked(text: &str) -> usize {
    let out = import(&[text]);
    let mut numbers = 0;
    for table in &out.imported.tables {
        for (row, origin) in table.rows.iter().zip(&table.origins) {
            for (cell, place) in row.iter().zip(&origin.cells) {
                let (span, factor) = match place {
                    CellOrigin::Read(span) => (*span, 1.0),
                    CellOrigin::Scaled(scaled) => (scaled.span, scaled.factor),
                    CellOrigin::Given => {
                        let is_number = matches!(cell, Cell::Count(_) | Cell::Real(_));
                        assert!(!is_number, "{} {cell:?} has no origin", table.id);
                        continue;
                    }
                    CellOrigin::Derived(_) => continue,
                };
                let shown = characters(text, span);
                match cell {
                    Cell::Text(text) => assert_eq!(*text, shown, "{}", table.id),
                    Cell::Blank => panic!("{} has a place for a blank", table.id),
                    Cell::Count(n) => assert_eq!(*n as f64, digits(&shown) * factor, "{shown}"),
                    Cell::Real(x) => assert_eq!(*x, digits(&shown) * factor, "{shown}"),
                }
                numbers += usize::from(!matches!(cell, Cell::Text(_)));
            }
        }
    }
    numbers
}

#[test]
fn every_figure_of_the_tools_has_its_place() {
    for (text, least) in [
        (include_str!("real/pgbench-progress.txt"), 15),
        (include_str!("real/pgbench-scripts.txt"), 25),
        (include_str!("real/pgbench-rate.txt"), 15),
        (include_str!("real/psql-18.txt"), 50),
        (include_str!("real/psql-formats.txt"), 40),
        (include_str!("real/fio-jobs.txt"), 90),
        (include_str!("real/fio-clients.txt"), 90),
    ] {
        let numbers = checked(text);
        assert!(
            numbers >= least,
            "{numbers} of {}",
            text.lines().next().expect("a line")
        );
    }
}
