//! What all rounds of a target come to: one figure for each metric, and one table in place of one
//! per round.
//!
//! Invariants: a figure of rounds is their geometric mean, wherever it is shown; products and
//! ratios of such figures are figures of the same kind, so that a cell can be recomputed from the
//! cells beside it. What a round lacks is unknown of all of them.

use super::live::LiveSide;
use super::{bytes, cells, tables};
use measure::imported::{Cell, Table};
use measure::run::Run;

/// The figure of all rounds: the geometric mean; where one of them is zero, the mean. `None` where
/// a round has none.
pub(super) fn figure(values: &[Option<f64>]) -> Option<f64> {
    let all: Option<Vec<f64>> = values.iter().copied().collect();
    let all = all.filter(|v| !v.is_empty() && v.iter().all(|v| v.is_finite()))?;
    let n = all.len() as f64;
    if all.iter().all(|v| *v > 0.0) {
        return Some((all.iter().map(|v| v.ln()).sum::<f64>() / n).exp());
    }
    Some(all.iter().sum::<f64>() / n)
}

/// The tables of all rounds of the sides.
pub(super) fn tables(sides: &[LiveSide], rounds: usize) -> Vec<Table> {
    let of_round = |round: usize| {
        let of_side =
            |side: &'_ LiveSide| Some((side.name.clone(), round_of(side, round)?.clone()));
        let runs: Vec<(String, Run)> = sides.iter().filter_map(of_side).collect();
        bytes::with_tables(runs.iter().map(|(name, run)| (name.as_str(), run)))
    };
    let all: Vec<Vec<Table>> = (0..rounds).map(of_round).collect();
    let Some((first, others)) = all.split_first() else {
        return Vec::new();
    };
    let mut found: Vec<Table> = Vec::new();
    for table in first.iter().filter(|t| t.id != tables::RATIOS) {
        let alike = |t: &&Table| t.id == table.id && t.columns == table.columns;
        let rest: Option<Vec<&Table>> = others.iter().map(|o| o.iter().find(alike)).collect();
        found.extend(rest.and_then(|rest| merged(table, &rest)));
    }
    tables::add_ratios(&mut found, sides.first().map_or("", |s| s.name.as_str()));
    if rounds > 1 {
        for table in &mut found {
            table.title = format!("{}, geometric means of {rounds} rounds", table.title);
        }
    }
    found
}

fn round_of(side: &LiveSide, round: usize) -> Option<&Run> {
    side.rounds.get(round).map(|r| &r.run)
}

/// One table of the first round's and the other rounds'; rows that a round lacks are left out.
fn merged(first: &Table, others: &[&Table]) -> Option<Table> {
    let keys: Vec<usize> = (first.columns.iter().enumerate())
        .filter(|(_, column)| tables::is_key(&column.key))
        .map(|(at, _)| at)
        .collect();
    let key = |row: &Vec<Cell>| -> Vec<Cell> {
        let cells = keys.iter().filter_map(|at| row.get(*at));
        cells.cloned().collect()
    };
    let mut rows = Vec::new();
    for (at, row) in first.rows.iter().enumerate() {
        let own = key(row);
        // Points of a sweep have the same key; they come in the same order in every round.
        let before = first.rows.iter().take(at).filter(|r| key(r) == own).count();
        let same = |table: &&Table| {
            table
                .rows
                .iter()
                .filter(|r| key(r) == own)
                .nth(before)
                .cloned()
        };
        let rest: Option<Vec<Vec<Cell>>> = others.iter().map(same).collect();
        let Some(rest) = rest else { continue };
        let cell = |(column, cell): (usize, &Cell)| {
            let of_rounds = rest.iter().map(|r| r.get(column));
            let of_rounds: Vec<&Cell> = std::iter::once(Some(cell))
                .chain(of_rounds)
                .flatten()
                .collect();
            match keys.contains(&column) {
                true => cell.clone(),
                false => of_cells(&of_rounds),
            }
        };
        rows.push(row.iter().enumerate().map(cell).collect());
    }
    let table = Table {
        rows,
        ..first.clone()
    };
    (!table.rows.is_empty()).then_some(table)
}

/// The figure of the cells of all rounds.
fn of_cells(cells: &[&Cell]) -> Cell {
    if cells.windows(2).all(|pair| pair[0] == pair[1]) {
        return cells.first().map_or(Cell::Blank, |cell| (*cell).clone());
    }
    let number = |cell: &&Cell| match cell {
        Cell::Count(n) => Some(*n as f64),
        Cell::Real(x) => Some(*x),
        Cell::Blank | Cell::Text(_) => None,
    };
    let numbers: Vec<Option<f64>> = cells.iter().map(number).collect();
    cells::real(figure(&numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_figures_are_figures_of_ratios() {
        let (a, b) = ([2.0, 8.0, 3.0], [5.0, 6.0, 7.0]);
        let all = |v: &[f64]| figure(&v.iter().copied().map(Some).collect::<Vec<_>>());
        let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
        let (a, b, ratio) = (all(&a), all(&b), all(&ratios));
        let (a, b) = a.zip(b).expect("both have figures");
        assert!((ratio.expect("a figure") - b / a).abs() < 1e-12);
        assert_eq!(all(&[0.0, 4.0]), Some(2.0));
        assert_eq!((all(&[]), figure(&[Some(1.0), None])), (None, None));
        assert_eq!(all(&[1.0, f64::NAN]), None);
    }
}
