//! Rows of HTML tables under their headings: cells may take several columns (`colspan`) and rows
//! (`rowspan`), and headings several rows. A row whose cells do not end where the headings do is
//! not matched to them: it is counted, and none of its cells is shown.

use super::Grid;
use super::cell::GridCell;

/// Columns of a table.
pub(super) const COLUMNS_MAX: usize = 256;

/// A cell as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct HtmlCell {
    pub(super) cell: GridCell,
    pub(super) is_head: bool,
    /// Columns and rows that it takes.
    pub(super) spans: (usize, usize),
}

/// A row as it is written, with its line.
pub(super) type HtmlRow = (u64, Vec<HtmlCell>);

/// A column of a row: the cell that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// Index of the row and of the cell in it.
    of: (usize, usize),
    /// The cell begins in this column.
    is_first: bool,
}

/// The columns of every row.
fn slots(rows: &[HtmlRow]) -> Vec<Vec<Slot>> {
    let mut out = Vec::with_capacity(rows.len());
    // Cells that take further rows: by column, how many, and the cell.
    let mut from_above: Vec<(usize, Slot)> = Vec::new();
    for (at, (_, row)) in rows.iter().enumerate() {
        let mut slots: Vec<Slot> = Vec::new();
        let mut next: Vec<(usize, Slot)> = Vec::new();
        let none = (
            0,
            Slot {
                of: (0, 0),
                is_first: false,
            },
        );
        let mut cells = row.iter().enumerate();
        while slots.len() < COLUMNS_MAX {
            let column = slots.len();
            let above = from_above.get(column).copied().unwrap_or(none);
            if above.0 > 0 {
                slots.push(above.1);
                next.resize(column, none);
                next.push((above.0 - 1, above.1));
                continue;
            }
            let Some((index, cell)) = cells.next() else {
                break;
            };
            for part in 0..cell.spans.0.clamp(1, COLUMNS_MAX - column) {
                let slot = Slot {
                    of: (at, index),
                    is_first: part == 0,
                };
                next.resize(slots.len(), none);
                next.push((cell.spans.1.saturating_sub(1), slot));
                slots.push(slot);
            }
        }
        from_above = next;
        out.push(slots);
    }
    out
}

/// Whether a row is one of headings: what is not a heading is empty.
fn is_heading(row: &[HtmlCell]) -> bool {
    let is_blank = |c: &HtmlCell| c.cell.trim().is_empty();
    row.iter().any(|c| c.is_head) && row.iter().all(|c| c.is_head || is_blank(c))
}

/// Puts the rows of a table below its headings.
pub(super) fn lay_out(grid: &mut Grid, rows: &[HtmlRow]) {
    let heads = rows.iter().take_while(|(_, row)| is_heading(row)).count();
    let Some(last) = heads.checked_sub(1) else {
        for (line, row) in rows {
            grid.push(*line, row.iter().map(|c| c.cell.clone()).collect());
        }
        return;
    };
    let slots = slots(rows);
    let cell = |slot: &Slot| &rows[slot.of.0].1[slot.of.1].cell;
    let leaves = &slots[last];
    // A row of groups that does not end where the headings do is above none of them.
    let groups = slots[..last].iter().filter(|g| g.len() == leaves.len());
    let groups: Vec<&Vec<Slot>> = groups.collect();
    let ends_apart = |slots: &[Slot]| slots.len() != leaves.len();
    let is_split = |row: &[Slot], column: usize| row.get(column).is_some_and(|s| s.is_first);
    // Columns of one heading are one where no row has a cell of its own in the further ones.
    let kept = (0..leaves.len()).filter(|column| {
        let rows = slots[heads..].iter().filter(|row| !ends_apart(row));
        is_split(leaves, *column) || rows.into_iter().any(|row| is_split(row, *column))
    });
    let kept: Vec<usize> = kept.collect();
    for column in &kept {
        let leaf = &leaves[*column];
        let mut names: Vec<&str> = Vec::new();
        for group in &groups {
            let above = &group[*column];
            if above.of != leaf.of && !cell(above).is_empty() {
                names.push(cell(above));
            }
        }
        grid.groups.push(names.join(" "));
        grid.headings.push(cell(leaf).text.clone());
    }
    let is_ambiguous = groups.len() < last && has_doubles(&grid.headings);
    for ((line, written), row) in rows.iter().zip(&slots).skip(heads) {
        // A cell below two headings is of neither.
        let covers = |column: usize| !is_split(row, column) && is_split(leaves, column);
        if is_ambiguous || ends_apart(row) || (0..row.len()).any(covers) {
            grid.unmatched.push((*line, written.len()));
            continue;
        }
        let cells = kept.iter().map(|column| {
            let slot = &row[*column];
            match slot.is_first {
                true => cell(slot).clone(),
                false => GridCell::default(),
            }
        });
        grid.push(*line, cells.collect());
    }
}

fn has_doubles(names: &[String]) -> bool {
    let is_double = |(at, name): (usize, &String)| names[..at].contains(name);
    names.iter().enumerate().any(is_double)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[(&str, bool, usize, usize)]) -> HtmlRow {
        let cell = |(text, is_head, columns, rows): &(&str, bool, usize, usize)| HtmlCell {
            cell: GridCell {
                text: (*text).to_owned(),
                ..GridCell::default()
            },
            is_head: *is_head,
            spans: (*columns, *rows),
        };
        (1, cells.iter().map(cell).collect())
    }

    fn laid_out(rows: &[HtmlRow]) -> (Vec<String>, Vec<Vec<String>>, usize) {
        let mut grid = Grid::default();
        lay_out(&mut grid, rows);
        let names = grid.groups.iter().zip(&grid.headings);
        let names = names.map(|(g, h)| format!("{g} {h}").trim().to_owned());
        let texts = |row: &Vec<GridCell>| row.iter().map(|c| c.text.clone()).collect();
        let rows = grid.rows.iter().map(|(_, row)| texts(row)).collect();
        (names.collect(), rows, grid.unmatched.len())
    }

    #[test]
    fn cells_are_below_their_headings() {
        let heads = [
            row(&[
                ("", false, 1, 1),
                ("Reads", true, 3, 1),
                ("Writes", true, 2, 1),
            ]),
            row(&[
                ("Disk", true, 1, 1),
                ("Total", true, 1, 1),
                ("Mean", true, 2, 1),
                ("Total", true, 1, 1),
                ("Mean", true, 1, 1),
            ]),
        ];
        let below = |rows: &[HtmlRow]| laid_out(&[&heads[..], rows].concat());
        let whole = row(&[
            ("sda", false, 1, 1),
            ("1", false, 1, 1),
            ("2", false, 2, 1),
            ("3", false, 1, 1),
            ("4", false, 1, 1),
        ]);
        let (names, rows, unmatched) = below(std::slice::from_ref(&whole));
        assert_eq!(
            names,
            [
                "Disk",
                "Reads Total",
                "Reads Mean",
                "Writes Total",
                "Writes Mean"
            ]
        );
        assert_eq!(
            (rows, unmatched),
            (
                vec![["sda", "1", "2", "3", "4"].map(str::to_owned).to_vec()],
                0
            )
        );
        // Five cells in five columns of six: which is below which heading is not known.
        let short = row(&["sdb", "1", "2", "3", "4"].map(|t| (t, false, 1, 1)));
        let (_, rows, unmatched) = below(&[whole.clone(), short]);
        assert_eq!((rows.len(), unmatched), (1, 1));
        // A cell over the border of two headings.
        let over = row(&[("sdc", false, 1, 1), ("1", false, 3, 1), ("3", false, 2, 1)]);
        assert_eq!(below(&[over]).2, 1);
        // A name that is of two rows.
        let first = row(&[
            ("sdd", false, 1, 2),
            ("1", false, 1, 1),
            ("2", false, 2, 1),
            ("3", false, 1, 1),
            ("4", false, 1, 1),
        ]);
        let second = row(&[
            ("5", false, 1, 1),
            ("6", false, 2, 1),
            ("7", false, 1, 1),
            ("8", false, 1, 1),
        ]);
        let (_, rows, _) = below(&[first, second]);
        assert_eq!(rows[1], ["sdd", "5", "6", "7", "8"]);
    }

    #[test]
    fn groups_that_are_above_nothing_are_no_part_of_unlike_headings() {
        let heads = [
            row(&[("All", true, 5, 1)]),
            row(&[("Event", true, 1, 1), ("Waits", true, 1, 1)]),
        ];
        let data = row(&[("a", false, 1, 1), ("1", false, 1, 1)]);
        let (names, rows, unmatched) =
            laid_out(&[&heads[..], std::slice::from_ref(&data)].concat());
        assert_eq!(
            (names, rows.len(), unmatched),
            (vec!["Event".to_owned(), "Waits".to_owned()], 1, 0)
        );
        let same = [
            heads[0].clone(),
            row(&[("Waits", true, 1, 1), ("Waits", true, 1, 1)]),
            data,
        ];
        assert_eq!(laid_out(&same).2, 1);
    }
}
