//! Figures in tables of documents: each is computed from the measured data that its mark names.
//!
//! A table is behind a comment that holds it with marks in place of figures, and before another
//! comment that ends it:
//!
//! ```text
//! <!-- table: in peers/data.csv; digits 2
//! | peer | commits |
//! |---|---|
//! | inline | {of commits_per_s; where peer=redolab:inline; over max peer!=redolab*; as range} |
//! -->
//! | peer | commits |
//! |---|---|
//! | inline | 1.79 (1.46 to 2.02) |
//! <!-- /table -->
//! ```
//!
//! The first line has what is common to the marks of the table; a mark adds to it.
//! - `in`: a CSV file below `experiments/`.
//! - `of`: a column, or several with `*` and `/` between them, from left to right; `+` between
//!   columns adds them up first.
//! - `where`: cells of the rows that count, `column=text` or `column!=text`; a `*` at the end of
//!   the text stands for any rest.
//! - `over max` or `over min`, and cells: each value is divided by the greatest or the least of
//!   those rows *of the same round*. Never are two medians divided.
//! - `as`: `range` (the default: median, and in brackets least and most), `interval` (median, and
//!   in brackets its 95 % interval by ranks), `median`, `least`, `most`, `sum`, `rows`, or `bound`:
//!   with none in so many tries, below 3/N with 95 % confidence, percent.
//! - `digits`: after the point, 2 unless stated; with 0 thousands are parted by commas.
//!
//! Invariant: a mark that cannot be computed is an error.

use super::data::{Row, Spread, Table};
use crate::Outcome;
use crate::tree::File;

const OPENS: &str = "<!-- table:";
const HEAD_CLOSES: &str = "\n-->";
const CLOSES: &str = "<!-- /table -->";

/// What a mark says.
#[derive(Debug, Default)]
struct Mark<'a> {
    file: &'a str,
    of: &'a str,
    cells: Vec<Cell<'a>>,
    over: Option<(bool, Vec<Cell<'a>>)>,
    shown: &'a str,
    digits: usize,
}

/// A cell that a row has, or has not.
#[derive(Debug)]
struct Cell<'a> {
    column: &'a str,
    text: &'a str,
    is: bool,
}

impl<'a> Cell<'a> {
    fn read(text: &'a str) -> Outcome<Cell<'a>> {
        let (column, text) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not column=text"))?;
        let is = !column.ends_with('!');
        Ok(Cell {
            column: column.trim_end_matches('!').trim(),
            text: text.trim(),
            is,
        })
    }

    fn all(text: &'a str) -> Outcome<Vec<Cell<'a>>> {
        text.split(',').map(str::trim).map(Cell::read).collect()
    }

    fn takes(&self, row: Row<'_>) -> bool {
        let own = row.text(self.column).unwrap_or("");
        let equal = match self.text.strip_suffix('*') {
            Some(head) => own.starts_with(head),
            None => own == self.text,
        };
        equal == self.is
    }
}

impl<'a> Mark<'a> {
    fn read(text: &'a str) -> Outcome<Mark<'a>> {
        let mut mark = Mark {
            shown: "range",
            digits: 2,
            ..Mark::default()
        };
        for part in text.split(';').map(str::trim) {
            let (key, value) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
            let value = value.trim();
            match key {
                "in" => mark.file = value,
                "of" => mark.of = value,
                "where" => mark.cells.extend(Cell::all(value)?),
                "over" => {
                    let (which, cells) = value.split_once(' ').unwrap_or((value, ""));
                    let most = match which {
                        "max" => true,
                        "min" => false,
                        _ => return Err(format!("`over {value}`: write max or min, then cells")),
                    };
                    mark.over = Some((most, Cell::all(cells)?));
                }
                "as" => mark.shown = value,
                "digits" => {
                    let number = value.parse();
                    mark.digits =
                        number.map_err(|_| format!("`digits {value}` is not a number"))?;
                }
                "" => {}
                _ => return Err(format!("`{part}`: there is no `{key}`")),
            }
        }
        if mark.file.is_empty() || (mark.of.is_empty() && mark.shown != "rows") {
            return Err("`in` and `of` are needed".to_owned());
        }
        Ok(mark)
    }

    /// The figure as the data has it.
    fn figure(&self, table: &Table) -> Outcome<String> {
        let rows: Vec<Row<'_>> = table
            .rows()
            .filter(|row| self.cells.iter().all(|cell| cell.takes(*row)))
            .collect();
        if rows.is_empty() {
            return Err(format!("no row of {} is meant", self.file));
        }
        if self.shown == "rows" {
            return Ok(number(rows.len() as f64, 0));
        }
        let values: Outcome<Vec<f64>> = rows.iter().map(|row| self.value(table, *row)).collect();
        let values = values?;
        let spread = Spread::of(values.iter().copied()).ok_or("no finite value")?;
        let shown = |value| number(value, self.digits);
        let sum: f64 = values.iter().sum();
        let range = |s: Spread| {
            let (median, least, most) = (shown(s.median), shown(s.least), shown(s.most));
            format!("{median} ({least} to {most})")
        };
        Ok(match self.shown {
            "median" => shown(spread.median),
            "least" => shown(spread.least),
            "most" => shown(spread.most),
            "sum" => shown(sum),
            "bound" if sum > 0.0 => format!("{} %", shown(300.0 / sum)),
            "range" => range(spread),
            "interval" => range(Spread::interval(values).ok_or("too few values for an interval")?),
            other => return Err(format!("`as {other}` is not known")),
        })
    }

    fn value(&self, table: &Table, row: Row<'_>) -> Outcome<f64> {
        let own = product(row, self.of)?;
        let Some((most, cells)) = &self.over else {
            return Ok(own);
        };
        let round = row.text("round").ok_or("rows have no round")?;
        let others = table
            .rows()
            .filter(|other| other.is("round", round) && cells.iter().all(|c| c.takes(*other)))
            .filter_map(|other| product(other, self.of).ok());
        let best = if *most {
            others.max_by(f64::total_cmp)
        } else {
            others.min_by(f64::total_cmp)
        };
        let best = best.ok_or_else(|| format!("round {round} has nothing to divide by"))?;
        Ok(own / best)
    }
}

/// `a*b+c/d` of a row's columns, as `a * (b + c) / d`.
fn product(row: Row<'_>, of: &str) -> Outcome<f64> {
    let mut result = 1.0;
    let mut rest = of;
    let mut divides = false;
    loop {
        let end = rest.find(['*', '/']);
        let mut value = 0.0;
        for column in rest[..end.unwrap_or(rest.len())].split('+').map(str::trim) {
            let number = row.number(column);
            value += number.ok_or_else(|| format!("a row has no number `{column}`"))?;
        }
        if divides {
            result /= value;
        } else {
            result *= value;
        }
        let Some(end) = end else { return Ok(result) };
        divides = rest[end..].starts_with('/');
        rest = &rest[end + 1..];
    }
}

/// A number as documents write it.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let mut parted = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let behind = whole.len() - index;
        if index > 0 && behind % 3 == 0 && !parted.ends_with('-') {
            parted.push(',');
        }
        parted.push(digit);
    }
    match rest {
        "" => parted,
        rest => format!("{parted}.{rest}"),
    }
}

/// The document with each of its tables as the data has it.
///
/// # Errors
/// Line and mark of what cannot be computed.
pub fn filled(document: &File, files: &[File]) -> Outcome<String> {
    let mut text = String::new();
    let mut rest = document.text.as_str();
    while let Some((before, after)) = rest.split_once(OPENS) {
        text.push_str(before);
        let line = text.matches('\n').count() + 1;
        let told = |what: &str| format!("{}, line {line}: {what}", document.path);
        let closed = || told("a table is not closed");
        let (head, after) = after.split_once(HEAD_CLOSES).ok_or_else(closed)?;
        let (_, after) = after.split_once(CLOSES).ok_or_else(closed)?;
        let (common, template) = head.split_once('\n').ok_or_else(closed)?;
        let mut parts = template.split('{');
        let mut table = parts.next().unwrap_or("").to_owned();
        for part in parts {
            let (mark, behind) = part.split_once('}').ok_or_else(closed)?;
            let figure = figure(&format!("{common}; {mark}"), files);
            table.push_str(&figure.map_err(|problem| told(&format!("`{mark}`: {problem}")))?);
            table.push_str(behind);
        }
        text.push_str(&format!("{OPENS}{head}{HEAD_CLOSES}\n{table}\n{CLOSES}"));
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}
fn figure(mark: &str, files: &[File]) -> Outcome<String> {
    let mark = Mark::read(mark)?;
    let path = format!("experiments/{}", mark.file);
    let file = files.iter().find(|file| file.path == path);
    let table = Table::read(file.ok_or_else(|| format!("there is no {path}"))?)?;
    mark.figure(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "round,case,per_s,bytes\n\
        0,ours,20,1\n0,a,10,1\n0,b,8,1\n1,ours,90,1\n1,a,30,1\n1,b,60,1\n\
        2,ours,44,1\n2,a,20,1\n2,b,40,1\n";

    fn of(mark: &str) -> Outcome<String> {
        let file = |path: &str, text: String| File {
            path: path.to_owned(),
            text,
        };
        let data = file("experiments/x/data.csv", DATA.to_owned());
        let text = format!(
            "a\n<!-- table: in x/data.csv; digits 2\n| b |\n|---|\n| {{{mark}}} c |\n-->\nold\n\
             <!-- /table -->\nd <!-- table:\n{{in x/data.csv; as rows}}\n-->\n<!-- /table -->\n"
        );
        let filled = filled(&file("docs/page.md", text), std::slice::from_ref(&data))?;
        let again = file("docs/page.md", filled.clone());
        assert_eq!(
            super::filled(&again, &[data]).as_ref(),
            Ok(&filled),
            "it settles"
        );
        let (_, rest) = filled.split_once("-->\n| b |\n|---|\n| ").expect("a table");
        let (figure, rest) = rest.split_once(" c |\n<!-- /table -->").expect("its end");
        assert!(rest.ends_with("-->\n9\n<!-- /table -->\n"), "{rest}");
        Ok(figure.to_owned())
    }

    #[test]
    fn figures_follow_from_the_data() {
        for (mark, expected) in [
            ("of per_s; where case=ours", "44.00 (20.00 to 90.00)"),
            // Within rounds 2, 1.5 and 1.1; the ratio of the medians is 2.2.
            (
                "of per_s; where case=ours; over max case!=ours; digits 1",
                "1.5 (1.1 to 2.0)",
            ),
            (
                "of per_s; where case=ours; over min case!=ours; as most",
                "3.00",
            ),
            ("of per_s*bytes/per_s; where case=a; as sum; digits 0", "3"),
            ("of per_s; where case=o*; as bound", "1.95 %"),
            // Of 20, 90, 44: (20 + 1) / 1 * 2, and so on.
            (
                "of per_s+bytes/bytes*bytes+bytes; where case=ours; digits 0",
                "90 (42 to 182)",
            ),
            ("of per_s; as interval; digits 0", "30 (10 to 60)"),
            ("as rows; where case!=ours", "6"),
            ("of bytes; where case=a; as median; digits 0", "1"),
        ] {
            assert_eq!(of(mark), Ok(expected.to_owned()), "{mark}");
        }
    }

    #[test]
    fn a_mark_that_cannot_be_computed_is_an_error_with_its_line() {
        for (mark, word) in [
            ("of nothing; where case=a", "no number `nothing`"),
            ("of per_s; where case=z", "no row"),
            ("of per_s; where case", "not column=text"),
            ("of per_s; over best case=a", "write max or min"),
            ("of per_s; over max case=z", "nothing to divide by"),
            ("of per_s; as mean", "not known"),
            ("of per_s; where case=a; as interval", "too few values"),
            ("of per_s+none; where case=a", "no number `none`"),
            ("of per_s; rounded 2", "there is no `rounded`"),
            ("of per_s; digits two", "not a number"),
        ] {
            let problem = of(mark).expect_err(mark);
            assert!(
                problem.contains(word) && problem.contains("line 2"),
                "{problem}"
            );
        }
    }

    #[test]
    fn thousands_are_parted() {
        for (value, digits, expected) in [
            (1234567.4, 0, "1,234,567"),
            (-123.0, 0, "-123"),
            (999.5, 1, "999.5"),
            (1000.25, 2, "1,000.25"),
        ] {
            assert_eq!(number(value, digits), expected);
        }
    }
}
