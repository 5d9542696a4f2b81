//! Units: one type or one suffix each, converted once, at the edge.
//!
//! The study's tables use binary units (1 kB = 1024 B, 1 MB = 1024 kB); so do the columns here.

use serde::{Deserialize, Serialize};

/// A duration or a point on a clock's own scale, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Nanos = Nanos(0);

    /// `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }

    /// From `earlier` to `self`; zero when the order is reversed.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// Sum, saturating.
    #[must_use]
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// As seconds.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Bytes in one kB of the study's tables.
pub const KB_BYTES: f64 = 1024.0;
/// Bytes in one MB of the study's tables.
pub const MB_BYTES: f64 = 1024.0 * 1024.0;

/// Splits a number from what follows it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim())
}

/// Parses a size such as `512B`, `64k`, `16M`, `2G`: binary multiples, with or without `B`, `iB`. A
/// bare number is refused, since nobody can know what it counts; only 0 needs no unit.
///
/// # Errors
/// Says what was read and what is accepted.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    scaled_bytes(text, 1024.0)
}

/// Parses a size as data sheets of drives write it, such as `600T` or `1.2PB`: multiples of 1000.
///
/// # Errors
/// As of [`parse_bytes`].
pub fn parse_decimal_bytes(text: &str) -> Result<u64, String> {
    scaled_bytes(text, 1000.0)
}

fn scaled_bytes(text: &str, step: f64) -> Result<u64, String> {
    let (number, suffix) = split(text);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a size; write for example 64k, 16M or 2G"))?;
    let lower = suffix.to_ascii_lowercase();
    let prefix = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b'));
    let power = match prefix.unwrap_or(&lower) {
        "" if suffix.is_empty() && value != 0.0 => {
            return Err(format!(
                "`{text}` has no unit; write {number}k, {number}M, {number}G or {number}T (or \
                 {number}B for bytes)"
            ));
        }
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => {
            return Err(format!(
                "`{text}`: unknown size suffix `{suffix}`; use B, k, M, G, T or P"
            ));
        }
    };
    let bytes = value * step.powi(power);
    let is_part = bytes > 0.0 && bytes < 1.0;
    if is_part || (power == 0 && bytes.fract() != 0.0) {
        return Err(format!(
            "`{text}` is not a whole number of bytes; write for example 512B or 64k"
        ));
    }
    if bytes.is_finite() && bytes < 9.0e18 {
        Ok(bytes as u64)
    } else {
        Err(format!("`{text}` is larger than any device"))
    }
}

/// Parses a duration such as `90s`, `10m`, `3h`, `500ms`, `80us`. A bare number is refused; only 0
/// needs no unit.
///
/// # Errors
/// Says what was read and what is accepted.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    let (number, unit) = split(text);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a duration; write for example 30s, 10m or 3h"))?;
    let factor = match unit {
        "" if value == 0.0 => 0.0,
        "" => {
            return Err(format!(
                "`{text}` has no unit; write {number}ms, {number}s or {number}m"
            ));
        }
        "s" => 1e9,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        other => {
            return Err(format!(
                "`{text}`: unknown unit `{other}`; use us, ms, s, m or h"
            ));
        }
    };
    let ns = value * factor;
    if ns.is_finite() && ns < 9.0e18 {
        Ok(Nanos(ns as u64))
    } else {
        Err(format!("`{text}` is too long"))
    }
}

/// Parses a count or a rate per second such as `5000`, `5k`, `1.5M`: multiples of 1000.
///
/// # Errors
/// Says what was read and what is accepted.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let plain = text.trim();
    let is_number = plain.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if let Ok(value) = plain.parse::<f64>()
        && is_number
        && value.is_finite()
    {
        return Ok(value);
    }
    let (number, suffix) = split(text);
    let refused = || format!("`{text}` is not a number; write for example 500, 5k or 1.5M");
    let factor = match suffix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        _ => return Err(refused()),
    };
    let value: f64 = number.parse().map_err(|_| refused())?;
    let scaled = value * factor;
    if scaled.is_finite() {
        Ok(scaled)
    } else {
        Err(refused())
    }
}

/// Parses a whole number such as `200000` or `200k`: multiples of 1000.
///
/// # Errors
/// As of [`parse_rate`], and what is not whole.
pub fn parse_count(text: &str) -> Result<u64, String> {
    if let Ok(plain) = text.trim().parse() {
        return Ok(plain);
    }
    let value = parse_rate(text)?;
    if value.fract() == 0.0 && value < 9.0e15 {
        Ok(value as u64)
    } else {
        Err(format!("`{text}` is not a whole number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("512B", 512),
            ("64k", 65536),
            ("64 kB", 65536),
            ("16MiB", 16 << 20),
            ("2G", 2 << 30),
            ("1.5k", 1536),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for bad in [
            "",
            "k",
            "-1",
            "1q",
            "99999999999T",
            "512",
            "80",
            "1.5",
            "99999999999P",
            "0.5B",
            "1.5B",
            "0.0001k",
        ] {
            assert!(parse_bytes(bad).is_err(), "{bad} was accepted");
        }
        assert_eq!(parse_bytes("0.5k"), Ok(512));
        assert_eq!(
            parse_bytes("1.1k"),
            Ok(1126),
            "whole bytes of a larger unit"
        );
        let told = parse_bytes("0.5B").expect_err("half a byte");
        assert!(told.contains("whole number of bytes"), "{told}");
        let told = parse_bytes("80").expect_err("no unit");
        assert!(told.contains("80k, 80M, 80G"), "{told}");
        assert_eq!(parse_decimal_bytes("600TB"), Ok(600_000_000_000_000));
        assert_eq!(parse_decimal_bytes("1.2P"), Ok(1_200_000_000_000_000));
        assert!(parse_decimal_bytes("600").is_err());
    }

    #[test]
    fn rates_and_counts_are_bare_or_in_thousands() {
        for (text, rate) in [
            ("5000", 5e3),
            ("5k", 5e3),
            ("1.5M", 1.5e6),
            ("0.5", 0.5),
            ("1e12", 1e12),
        ] {
            assert_eq!(parse_rate(text), Ok(rate), "{text}");
        }
        for bad in ["", "k", "5s", "5G", "nan", "-5", "1e400"] {
            assert!(parse_rate(bad).is_err(), "{bad} was accepted");
        }
        assert_eq!(parse_count("200k"), Ok(200_000));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        assert!(parse_count("1.5").is_err() && parse_count("0.1234k").is_err());
    }

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, ns) in [
            ("0", 0),
            ("90s", 90_000_000_000),
            ("10m", 600_000_000_000),
            ("250ms", 250_000_000),
            ("80us", 80_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Nanos(ns)), "{text}");
        }
        for bad in ["", "s", "-1s", "5 fortnights", "2", "90", "0.5"] {
            assert!(parse_duration(bad).is_err(), "{bad} was accepted");
        }
        let told = parse_duration("2").expect_err("no unit");
        assert!(told.contains("2ms, 2s or 2m"), "{told}");
    }
}
