//! Cells of the tables that a comparison makes.

use measure::imported::Cell;

pub(super) fn text(value: &str) -> Cell {
    Cell::Text(value.to_owned())
}

/// A figure; blank where it is not known.
pub(super) fn real(value: Option<f64>) -> Cell {
    value
        .filter(|v| v.is_finite())
        .map_or(Cell::Blank, Cell::Real)
}
