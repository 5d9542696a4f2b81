//! A comparison as text, and as CSV (`csv`).

mod csv;

pub use self::csv::csv;

use super::section;
use super::table::Style;
use analysis::account::comparison;
use measure::comparison::Comparison;

/// The comparison as text; every metric when `verbose`.
#[must_use]
pub fn text(c: &Comparison, style: Style, verbose: bool) -> String {
    section::account(&comparison::account(c, verbose), style, verbose)
}
