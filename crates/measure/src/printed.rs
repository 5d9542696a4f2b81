//! Numbers as reports print them: grouped digits, decimal commas, suffixes of size, count and time.
//!
//! A separator is read by its place: the last of two different ones is the decimal mark, groups of
//! three digits are groups, a single comma before anything but three digits is a decimal comma.
//! What stays open (`1.234` of a report that prints decimal commas) is read as a decimal point.

use crate::imported::Cell;

/// A number with what its text shows besides its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'a> {
    /// The value without its suffix.
    pub value: f64,
    /// The exact value, of a whole number within `u64`.
    pub whole: Option<u64>,
    /// Digits after the decimal mark.
    pub decimals: u32,
    /// A comma was the decimal mark.
    pub comma: bool,
    /// Letters or `%` after it: `M`, `us`, `ms`, `K`.
    pub suffix: &'a str,
}

/// Bytes of a number's text that are looked at.
const TEXT_MAX: usize = 48;

impl Number<'_> {
    /// Half of the last digit: how far the printed value may be from the exact one.
    #[must_use]
    pub fn half_digit(&self) -> f64 {
        0.5 * 10_f64.powi(-(self.decimals as i32))
    }

    /// The value in bytes, with K, M, G, T, P as powers of `base` (1000 or 1024).
    #[must_use]
    pub fn bytes(&self, base: f64) -> Option<f64> {
        Some(self.value * self.unit(base)?)
    }

    /// The value as a count: K, M, G are powers of 1000 there.
    #[must_use]
    pub fn count(&self) -> Option<f64> {
        self.bytes(1000.0)
    }

    /// The value in nanoseconds; without a suffix it is in `unit_ns`.
    #[must_use]
    pub fn nanos(&self, unit_ns: f64) -> Option<f64> {
        let unit = match self.suffix {
            "" => unit_ns,
            "ns" => 1.0,
            "us" | "usec" | "µs" | "μs" => 1e3,
            "ms" | "msec" => 1e6,
            "s" | "sec" | "secs" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        Some(self.value * unit)
    }

    /// The milliseconds of one of its unit; without a suffix that is `unit_ms`.
    #[must_use]
    pub fn millis(&self, unit_ms: f64) -> Option<f64> {
        Some(match self.suffix {
            "" => unit_ms,
            "ns" => 1e-6,
            "us" | "usec" | "µs" | "μs" => 1e-3,
            "ms" | "msec" => 1.0,
            "s" | "sec" | "secs" => 1e3,
            "m" | "min" => 60e3,
            "h" => 3600e3,
            _ => return None,
        })
    }

    /// The factor of its suffix, with K, M, G, T, P as powers of `base` (1000 or 1024).
    #[must_use]
    pub fn unit(&self, base: f64) -> Option<f64> {
        Some(base.powi(power(self.suffix)?))
    }

    /// As a cell: whole numbers stay whole.
    #[must_use]
    pub fn cell(&self) -> Cell {
        match (self.whole, self.suffix) {
            (Some(n), "") => Cell::Count(n),
            _ => Cell::Real(self.value),
        }
    }
}

fn power(suffix: &str) -> Option<i32> {
    Some(match suffix {
        "" | "B" => 0,
        "K" | "k" | "KB" | "kB" => 1,
        "M" | "MB" => 2,
        "G" | "GB" => 3,
        "T" | "TB" => 4,
        "P" | "PB" => 5,
        _ => return None,
    })
}

/// Whether numbers of a table have decimal commas, and none a decimal point: `66.310` is grouped
/// there.
#[must_use]
pub fn prints_commas<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> bool {
    let numbers = || texts.clone().filter_map(number);
    // Three digits behind a point may be a group.
    let has_point = |n: &Number<'_>| n.decimals > 0 && n.decimals != 3 && !n.comma;
    numbers().any(|n| n.comma) && !numbers().any(|n| has_point(&n))
}

/// A number with points for its commas and commas for its points; any other text as it is.
#[must_use]
pub fn pointed(text: &str) -> String {
    let other = |c: char| match c {
        ',' => '.',
        '.' => ',',
        c => c,
    };
    match number(text) {
        Some(_) => text.chars().map(other).collect(),
        None => text.to_owned(),
    }
}

/// Reads all of `text` as a number.
#[must_use]
pub fn number(text: &str) -> Option<Number<'_>> {
    let text = text.trim();
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let end = body
        .bytes()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
    let end = end.count();
    let (digits, suffix) = body.split_at(end);
    let suffix = suffix.trim_start();
    let plain = suffix.len() <= 4 && suffix.chars().all(|c| c.is_alphabetic() || c == '%');
    if end > TEXT_MAX || !plain || !digits.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let (clean, decimals, comma) = separate(digits)?;
    let value: f64 = clean.parse().ok()?;
    let whole = if decimals == 0 && !negative {
        clean.parse().ok()
    } else {
        None
    };
    Some(Number {
        value: if negative { -value } else { value },
        whole,
        decimals,
        comma,
        suffix,
    })
}

/// The digits with a point as the decimal mark, how many stand behind it, and whether it was a
/// comma.
fn separate(digits: &str) -> Option<(String, u32, bool)> {
    let last = digits.rfind(['.', ',']);
    let Some(at) = last else {
        return Some((digits.to_owned(), 0, false));
    };
    let mark = digits.as_bytes()[at];
    let (head, tail) = (&digits[..at], &digits[at + 1..]);
    let other = if mark == b',' { '.' } else { ',' };
    let again = head.as_bytes().contains(&mark);
    let is_group = |mark: char| {
        let mut parts = head.split(mark);
        let first = parts.next().is_some_and(|p| (1..=3).contains(&p.len()));
        first && parts.all(|p| p.len() == 3)
    };
    // Of one separator alone, a comma before three digits groups them and a point does not.
    // Nothing is grouped behind a zero: `0,257`.
    let is_grouped = tail.len() == 3 && !head.starts_with('0');
    let groups = again || (mark == b',' && !head.contains(other) && is_grouped);
    if groups && head.is_empty() {
        return None;
    }
    if groups {
        if head.contains(other) || tail.len() != 3 || !is_group(mark as char) {
            return None;
        }
        return Some((digits.replace(mark as char, ""), 0, false));
    }
    if head.contains(other) && !is_group(other) {
        return None;
    }
    let whole = head.replace(other, "");
    let whole = if whole.is_empty() { "0" } else { &whole };
    let tail = if tail.is_empty() { "0" } else { tail };
    let decimals = digits.len() - at - 1;
    Some((format!("{whole}.{tail}"), decimals as u32, mark == b','))
}

/// The value of a plain number; `None` with a suffix.
#[must_use]
pub fn plain(text: &str) -> Option<f64> {
    number(text)
        .filter(|n| n.suffix.is_empty())
        .map(|n| n.value)
}

/// A cell of a plain number; blank where there is none.
#[must_use]
pub fn cell(text: &str) -> Cell {
    number(text).map_or(Cell::Blank, |n| n.cell())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_every_dress() {
        for (text, value, whole, suffix) in [
            ("6,700,242", 6_700_242.0, Some(6_700_242), ""),
            (" .99ms", 0.99, None, "ms"),
            ("4.7T", 4.7, None, "T"),
            ("12.1K", 12.1, None, "K"),
            ("13.437,2", 13437.2, None, ""),
            ("13,437.25", 13437.25, None, ""),
            ("44,53", 44.53, None, ""),
            ("1.234.567", 1_234_567.0, Some(1_234_567), ""),
            ("-3", -3.0, None, ""),
            ("0", 0.0, Some(0), ""),
            ("5.", 5.0, None, ""),
            ("12 %", 12.0, Some(12), "%"),
        ] {
            let n = number(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (n.value, n.whole, n.suffix),
                (value, whole, suffix),
                "{text}"
            );
        }
        for text in [
            "", ".", ",", "-", "1,2,3", "1.2.3", "####", "1e5", "NaN", "0x1", ",123", "a1",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn units_are_as_printed() {
        let n = number("4.7T").expect("a number");
        assert_eq!(n.bytes(1024.0), Some(4.7 * 1024_f64.powi(4)));
        assert_eq!(n.bytes(1000.0), Some(4.7 * 1000_f64.powi(4)));
        assert_eq!(
            number("288.84us").and_then(|n| n.nanos(1e6)),
            Some(288_840.0)
        );
        assert_eq!(number("2").and_then(|n| n.nanos(1e6)), Some(2e6));
        assert_eq!(number("288.84us").and_then(|n| n.millis(1.0)), Some(1e-3));
        assert_eq!(number("2").and_then(|n| n.millis(10.0)), Some(10.0));
        assert_eq!(number("2").map(|n| n.half_digit()), Some(0.5));
        assert_eq!(number("1xy").and_then(|n| n.bytes(1024.0)), None);
    }
}
