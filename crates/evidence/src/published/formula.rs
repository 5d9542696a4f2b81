//! Percentages that a text gives beside their own formula, `3.8% … (7-2)*100/(7-2+9-1)`: both are
//! kept, so that they can be compared with each other.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::printed;

/// Bytes of a formula, and how deep it may nest.
const FORMULA_MAX: usize = 200;
const DEPTH_MAX: u32 = 16;
/// Bytes between the percentage and its formula.
const NEAR: usize = 60;

/// The formulas of a file.
#[derive(Debug, Default)]
pub struct Formulas {
    table: Option<usize>,
}

impl Formulas {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let Some((printed, formula)) = find(line) else {
            return;
        };
        let (Some(claimed), Some(computed)) = (printed::number(printed), evaluate(formula)) else {
            return;
        };
        let columns = [
            ("stated_pct", "Stated %"),
            ("half_digit", "Half of its last digit"),
            ("computed_pct", "Its formula gives %"),
            ("formula", "Formula"),
        ];
        let title = "Percentages and their formulas";
        let open = || sheets.open("stated_shares", title, number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let line = SourceLine::new(number, line);
        let half = Some(claimed.half_digit());
        let row = vec![
            line.scaled(printed, claimed.value, 1.0),
            SourcedCell::computed(
                half,
                "half of the last digit of a",
                vec!["stated_pct".into()],
            ),
            SourcedCell::computed(Some(computed), "value of a", vec!["formula".into()]),
            line.text(formula),
        ];
        sheets.sourced_row(table, number, row);
        sheets.found -= 1;
    }
}

/// The digits before the last `%` that an expression follows, and that expression.
fn find(line: &str) -> Option<(&str, &str)> {
    if !line.as_bytes().contains(&b'%') {
        return None;
    }
    for (at, _) in line.match_indices('%').take(8) {
        let before = &line[..at];
        let digits = before
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_digit() || *b == b'.');
        let printed = &before[before.len() - digits.count()..];
        let after = &line[at + 1..];
        let Some(open) = after.find('(').filter(|o| *o <= NEAR) else {
            continue;
        };
        let rest = &after[open..];
        let is_part = |b: &u8| b.is_ascii_digit() || b"()+-*/., ".contains(b);
        let end = rest.bytes().take(FORMULA_MAX).take_while(is_part).count();
        let formula = rest[..end].trim_end_matches(|c: char| !matches!(c, ')' | '0'..='9'));
        let operators = formula.bytes().filter(|b| b"+-*/".contains(b)).count();
        if !printed.is_empty() && operators >= 2 {
            return Some((printed, formula));
        }
    }
    None
}

/// The value of an expression of numbers, `+ - * /` and brackets.
fn evaluate(formula: &str) -> Option<f64> {
    let mut rest = formula.as_bytes();
    let value = sum(&mut rest, 0)?;
    (rest.is_empty() && value.is_finite()).then_some(value)
}

fn skip(rest: &mut &[u8]) {
    while let [b' ', tail @ ..] = rest {
        *rest = tail;
    }
}

fn sum(rest: &mut &[u8], depth: u32) -> Option<f64> {
    let mut total = product(rest, depth)?;
    loop {
        skip(rest);
        match rest {
            [b'+', tail @ ..] => {
                *rest = tail;
                total += product(rest, depth)?;
            }
            [b'-', tail @ ..] => {
                *rest = tail;
                total -= product(rest, depth)?;
            }
            _ => return Some(total),
        }
    }
}

fn product(rest: &mut &[u8], depth: u32) -> Option<f64> {
    let mut total = atom(rest, depth)?;
    loop {
        skip(rest);
        match rest {
            [b'*', tail @ ..] => {
                *rest = tail;
                total *= atom(rest, depth)?;
            }
            [b'/', tail @ ..] => {
                *rest = tail;
                total /= atom(rest, depth)?;
            }
            _ => return Some(total),
        }
    }
}

fn atom(rest: &mut &[u8], depth: u32) -> Option<f64> {
    skip(rest);
    if let [b'(', tail @ ..] = rest {
        if depth >= DEPTH_MAX {
            return None;
        }
        *rest = tail;
        let value = sum(rest, depth + 1)?;
        skip(rest);
        *rest = rest.strip_prefix(b")")?;
        return Some(value);
    }
    let is_digit = |b: &&u8| b.is_ascii_digit() || matches!(**b, b'.' | b',');
    let end = rest.iter().take_while(is_digit).count();
    let (digits, tail) = rest.split_at(end);
    *rest = tail;
    printed::plain(std::str::from_utf8(digits).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_beside_its_formula() {
        let line =
            "it won only 12.5% of times (1,200-1,100)*100/(1,200-1,100+900-200) and more (see it).";
        let (printed, formula) = find(line).expect("both are there");
        assert_eq!(printed, "12.5");
        assert_eq!(evaluate(formula), Some(12.5));
        for bad in ["(1+", "1)", "((1)", "1//2", "1/0", "", "1+x"] {
            assert_eq!(evaluate(bad), None, "{bad}");
        }
        assert_eq!(evaluate(&"(".repeat(1000)), None);
        assert_eq!(find("50 % of (them)"), None);
    }
}
