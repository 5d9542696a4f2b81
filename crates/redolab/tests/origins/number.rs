//! Numbers as files print them, read with a parser of the checker's own.

/// What the digits say, and the letters behind them.
#[derive(Debug, PartialEq)]
pub struct Printed {
    pub value: f64,
    pub suffix: String,
}

/// How a file writes its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marks {
    /// Commas group thousands unless only one of them is there with other than three digits.
    Usual,
    /// Commas are decimal marks and points group.
    Comma,
    /// Commas are decimal marks, and nothing groups.
    NoGroups,
}

/// Reads all of a text as a number.
pub fn printed(text: &str, marks: Marks) -> Option<Printed> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(i, c)| {
            let is_sign = *i == 0 && matches!(c, '-' | '+');
            !(c.is_ascii_digit() || matches!(c, '.' | ',') || is_sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (digits, rest) = text.split_at(end);
    if !digits.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    // An exponent.
    if let Some(power) = rest.strip_prefix(['e', 'E'])
        && power
            .trim_start_matches(['+', '-'])
            .bytes()
            .all(|b| b.is_ascii_digit())
        && power.bytes().any(|b| b.is_ascii_digit())
    {
        let value = text.parse().ok()?;
        return Some(Printed {
            value,
            suffix: String::new(),
        });
    }
    let value = value(digits, marks)?;
    Some(Printed {
        value,
        suffix: rest.trim().to_owned(),
    })
}

fn value(digits: &str, marks: Marks) -> Option<f64> {
    let (sign, digits) = match digits.strip_prefix(['-', '+']) {
        Some(rest) if digits.starts_with('-') => (-1.0, rest),
        Some(rest) => (1.0, rest),
        None => (1.0, digits),
    };
    let (commas, points) = (digits.matches(',').count(), digits.matches('.').count());
    let last = digits.rfind([',', '.']);
    let behind = last.map_or(0, |at| digits.len() - at - 1);
    let decimal = match (commas, points, marks) {
        (0, 0, _) => None,
        (_, _, Marks::NoGroups) => last,
        (0, 1, Marks::Comma) if behind == 3 => None,
        (0, 1, _) => last,
        (0, _, _) => None,
        (1, 0, Marks::Comma) => last,
        (1, 0, _) if behind != 3 => last,
        (_, 0, _) => None,
        // Both: the last of them is the decimal mark if it is there once.
        _ => {
            let mark = digits.get(last?..=last?)?;
            (digits.matches(mark).count() == 1).then_some(last?)
        }
    };
    let (whole, part) = match decimal {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, ""),
    };
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let plain = format!("{}.{}", if whole.is_empty() { "0" } else { &whole }, part);
    plain
        .trim_end_matches('.')
        .parse::<f64>()
        .ok()
        .map(|v| sign * v)
}

/// Seconds or bytes of a suffix, and which of them.
pub fn unit(suffix: &str, base: f64) -> Option<(char, f64)> {
    let suffix = suffix.strip_suffix("/s").unwrap_or(suffix);
    let kibi = suffix.strip_suffix("iB").filter(|s| s.len() == 1);
    Some(match kibi.unwrap_or(suffix) {
        "ns" => ('t', 1e-9),
        "us" | "usec" | "µs" | "μs" => ('t', 1e-6),
        "ms" | "msec" => ('t', 1e-3),
        "s" | "sec" | "secs" => ('t', 1.0),
        "min" | "m" => ('t', 60.0),
        "h" => ('t', 3600.0),
        "K" | "k" | "KB" | "kB" => ('b', base),
        "M" | "MB" => ('b', base.powi(2)),
        "G" | "GB" => ('b', base.powi(3)),
        "T" | "TB" => ('b', base.powi(4)),
        "P" | "PB" => ('b', base.powi(5)),
        _ => return None,
    })
}

#[test]
fn numbers_are_read_as_files_print_them() {
    for (text, marks, value, suffix) in [
        ("6,700,242", Marks::Usual, 6_700_242.0, ""),
        ("13,437.25", Marks::Usual, 13_437.25, ""),
        ("13.437,2", Marks::Comma, 13_437.2, ""),
        ("66.310", Marks::Comma, 66_310.0, ""),
        ("66.310", Marks::Usual, 66.310, ""),
        ("44,53", Marks::Usual, 44.53, ""),
        ("1,234", Marks::NoGroups, 1.234, ""),
        ("4.7T", Marks::Usual, 4.7, "T"),
        (".99ms", Marks::Usual, 0.99, "ms"),
        ("2.2e-16", Marks::Usual, 2.2e-16, ""),
        ("-3", Marks::Usual, -3.0, ""),
    ] {
        let read = printed(text, marks).expect(text);
        assert_eq!(
            (read.value, read.suffix.as_str()),
            (value, suffix),
            "{text}"
        );
    }
    assert_eq!(printed("abc", Marks::Usual), None);
}
