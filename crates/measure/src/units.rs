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

    /// As milliseconds.
    #[must_use]
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
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

/// Parses a size such as `512`, `64k`, `16M`, `2G`: binary multiples, with or without `B`, `iB`.
///
/// # Errors
/// Says what was read and what is accepted.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim();
    let split = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(split);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a size; write for example 512, 64k, 16M or 2G"))?;
    let lower = suffix.trim().to_ascii_lowercase();
    let factor: f64 = match lower.trim_end_matches("ib").trim_end_matches('b') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => {
            return Err(format!(
                "`{text}`: unknown size suffix `{suffix}`; use k, M, G or T"
            ));
        }
    };
    let bytes = value * factor;
    if bytes.is_finite() && bytes < 9.0e18 {
        Ok(bytes as u64)
    } else {
        Err(format!("`{text}` is larger than any device"))
    }
}

/// Parses a duration such as `90`, `90s`, `10m`, `3h`, `500ms`; bare numbers are seconds.
///
/// # Errors
/// Says what was read and what is accepted.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    let t = text.trim();
    let split = t
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(t.len());
    let (number, suffix) = t.split_at(split);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a duration; write for example 30, 90s, 10m or 3h"))?;
    let factor = match suffix.trim() {
        "" | "s" => 1e9,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in [
            ("512", 512),
            ("64k", 65536),
            ("16MiB", 16 << 20),
            ("2G", 2 << 30),
            ("1.5k", 1536),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for bad in ["", "k", "-1", "1q", "99999999999T"] {
            assert!(parse_bytes(bad).is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, ns) in [
            ("90", 90_000_000_000),
            ("90s", 90_000_000_000),
            ("10m", 600_000_000_000),
            ("250ms", 250_000_000),
            ("80us", 80_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Nanos(ns)), "{text}");
        }
        for bad in ["", "s", "-1s", "5 fortnights"] {
            assert!(parse_duration(bad).is_err(), "{bad} was accepted");
        }
    }
}
