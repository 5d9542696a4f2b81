//! Measured data as the benches print it: CSV with a heading, lines of `#` being remarks; and what
//! repeated rounds come to.
//!
//! Invariant: a cell that is empty is `None`, never zero; a line with another number of cells than
//! the heading is an error that names it.

use crate::Outcome;
use crate::prove::record;
use crate::tree::File;

/// One CSV file.
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A line of it.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    heading: &'a [String],
    cells: &'a [String],
}

impl Table {
    /// Reads a file.
    pub fn read(file: &File) -> Outcome<Table> {
        let lines = file.text.lines().enumerate();
        let mut lines = lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
        let split = |line: &str| -> Vec<String> {
            let fields = record::fields(line).into_iter();
            fields.map(|field| field.trim().to_owned()).collect()
        };
        let (_, heading) = lines
            .next()
            .ok_or_else(|| format!("{}: no heading", file.path))?;
        let heading = split(heading);
        let mut rows = Vec::new();
        for (index, line) in lines {
            let cells = split(line);
            if cells.len() != heading.len() {
                return Err(format!(
                    "{}:{}: {} cells where the heading has {}",
                    file.path,
                    index + 1,
                    cells.len(),
                    heading.len()
                ));
            }
            rows.push(cells);
        }
        Ok(Table { heading, rows })
    }

    /// Its lines.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row {
            heading: &self.heading,
            cells,
        })
    }

    /// The values of a text column, each once, in the order in which they come.
    pub fn distinct(&self, column: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for value in self.rows().filter_map(|row| row.text(column)) {
            if !found.iter().any(|f| f == value) {
                found.push(value.to_owned());
            }
        }
        found
    }
}

impl<'a> Row<'a> {
    /// A cell; `None` when it is empty or there is no such column.
    pub fn text(self, column: &str) -> Option<&'a str> {
        let at = self.heading.iter().position(|name| name == column)?;
        let cell = self.cells.get(at)?.as_str();
        (!cell.is_empty()).then_some(cell)
    }

    /// A cell as a finite number.
    pub fn number(self, column: &str) -> Option<f64> {
        let value: f64 = self.text(column)?.parse().ok()?;
        value.is_finite().then_some(value)
    }

    /// Whether a cell says this.
    pub fn is(self, column: &str, value: &str) -> bool {
        self.text(column) == Some(value)
    }
}

/// Median, least and most of repeated rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Of these values; `None` of none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (low, high) = (
            values[(values.len() - 1) / 2],
            *values.get(values.len() / 2)?,
        );
        Some(Spread {
            median: f64::midpoint(low, high),
            least,
            most,
        })
    }

    /// Median, and as least and most the bounds of its 95 % interval: the two values of the same
    /// rank from below and from above between which the median of the population lies with at
    /// least that probability, whatever its distribution (the sign test inverted; Conover,
    /// Practical Nonparametric Statistics, 3.2). `None` of fewer than six values, which have no
    /// such two.
    pub fn interval(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let median = Spread::of(values.iter().copied())?.median;
        let count = values.len();
        // Logarithm of the probability that as many values as `below` lie below the median.
        let mut log_probability = -(count as f64) * std::f64::consts::LN_2;
        let (mut below, mut outside) = (0, log_probability.exp());
        while outside <= 0.025 {
            log_probability += (((count - below) as f64) / (below + 1) as f64).ln();
            outside += log_probability.exp();
            below += 1;
        }
        let rank = below.checked_sub(1)?;
        Some(Spread {
            median,
            least: values[rank],
            most: values[count - 1 - rank],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File {
            path: "experiments/x/data.csv".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn cells_are_found_by_name_and_remarks_are_not_rows() {
        let text = "round,case,per_s\n0,a b,12.5\n# a b: 3\n1,a b,\n1,c,nan\n";
        let table = Table::read(&file(text)).expect("whole");
        let rates: Vec<_> = table.rows().map(|row| row.number("per_s")).collect();
        assert_eq!(rates, [Some(12.5), None, None]);
        assert_eq!(table.distinct("case"), ["a b", "c"]);
        assert!(table.rows().all(|row| row.text("none").is_none()));
    }

    #[test]
    fn a_broken_line_is_named() {
        for (text, told) in [
            ("", "experiments/x/data.csv: no heading"),
            (
                "a,b\n1,2\n1\n",
                "experiments/x/data.csv:3: 1 cells where the heading has 2",
            ),
        ] {
            assert_eq!(Table::read(&file(text)).err().as_deref(), Some(told));
        }
    }

    #[test]
    fn spreads() {
        assert_eq!(Spread::of([]), None);
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).expect("values");
        assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 4.0));
        assert_eq!(Spread::of([7.0]).map(|s| s.median), Some(7.0));
    }

    /// Ranks as tables of the sign test print them (Conover, table A3): with 6 values the extremes,
    /// with 20 the sixth from each end, with 300 the 133rd.
    #[test]
    fn intervals_of_medians() {
        let ranks = |count: u32| {
            let spread = Spread::interval((1..=count).rev().map(f64::from));
            spread.map(|s| (s.median, s.least, s.most))
        };
        for (count, expected) in [
            (5, None),
            (6, Some((3.5, 1.0, 6.0))),
            (9, Some((5.0, 2.0, 8.0))),
            (20, Some((10.5, 6.0, 15.0))),
            (300, Some((150.5, 133.0, 168.0))),
        ] {
            assert_eq!(ranks(count), expected, "{count}");
        }
    }
}
