//! Words for people: numbers with their units, and text from outside that is made harmless
//! ([`sanitize`], [`markdown`]). One number reads the same in findings, verdict, table and report.
//!
//! Numbers have three significant digits and always a unit, and nothing is rounded to a lie: a
//! share that is not all is never shown as 100 %.

pub mod markdown;
pub mod sanitize;

/// A latency given in nanoseconds: `87.2 µs`, `1.23 ms`, `2.10 s`.
#[must_use]
pub fn latency(ns: f64) -> String {
    if !ns.is_finite() {
        return "–".to_owned();
    }
    match ns.abs() {
        a if a < 0.5 => "0 µs".to_owned(),
        a if a < 999.5 => format!("{ns:.0} ns"),
        a if a < 999_500.0 => format!("{} µs", digits(ns / 1e3)),
        a if a < 999_500_000.0 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

/// Three significant digits, thousands separated: `2.20e-16`, `0.0123`, `1.23`, `12.3`, `123`,
/// `12,345`.
#[must_use]
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let a = value.abs();
    match a {
        _ if a == 0.0 => "0".to_owned(),
        // What is not zero is not shown as zero.
        _ if a < 0.000_01 => format!("{value:.2e}"),
        _ if a < 0.001 => format!("{value:.5}"),
        _ if a < 0.01 => format!("{value:.4}"),
        _ if a < 0.9995 => format!("{value:.3}"),
        _ if a < 9.995 => format!("{value:.2}"),
        _ if a < 99.95 => format!("{value:.1}"),
        _ => grouped(value.round()),
    }
}

/// A whole number, thousands separated by commas.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(value as f64)
}

fn grouped(value: f64) -> String {
    let text = format!("{:.0}", value.abs());
    let mut out = String::with_capacity(text.len() + text.len() / 3 + 1);
    if value < 0.0 {
        out.push('-');
    }
    for (i, c) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A share in percent. Only an exact nothing is `0 %`, only an exact whole is `100 %`.
#[must_use]
pub fn percent(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".to_owned(),
        0.0 => "0 %".to_owned(),
        v if v > 0.0 && v < 0.001 => "< 0.001 %".to_owned(),
        v if (99.95..100.0).contains(&v) => "> 99.9 %".to_owned(),
        v if v.abs() < 0.1 => format!("{v:.3} %"),
        v if v.abs() < 1.0 => format!("{v:.2} %"),
        v if v.abs() >= 1000.0 => format!("{} %", grouped(v.round())),
        v if v == v.round() => format!("{v:.0} %"),
        v => format!("{v:.1} %"),
    }
}

/// A ratio as a change: `+6.6 %`, `−3.2 %`; a ratio of 3 and more as `× 4.2`, one below a hundredth
/// as `÷ 250`.
#[must_use]
pub fn change(ratio: f64) -> String {
    if ratio >= 3.0 {
        return format!("× {}", digits(ratio));
    }
    if ratio > 0.0 && ratio < 0.01 {
        return format!("÷ {}", digits(1.0 / ratio));
    }
    let pct = 100.0 * (ratio - 1.0);
    let text = if pct.abs() >= 99.95 || pct == 0.0 {
        format!("{pct:+.0} %")
    } else if pct.abs() < 0.995 {
        format!("{pct:+.2} %")
    } else {
        format!("{pct:+.1} %")
    };
    text.replace('-', "−")
}

/// The interval of a ratio as changes: `−3.2 % to +6.6 %`. An end that is further away than a
/// thousandfold says no more than that: `under ÷ 1,000 to over × 1,000`.
#[must_use]
pub fn change_range(low: f64, high: f64) -> String {
    const FAR: f64 = 1000.0;
    let end = |ratio: f64| match ratio {
        r if r > FAR => format!("over × {}", digits(FAR)),
        r if r < 1.0 / FAR => format!("under ÷ {}", digits(FAR)),
        r => change(r),
    };
    format!("{} to {}", end(low), end(high))
}

/// Bytes in binary units: `512 B`, `4 KiB`, `1.50 GiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1023.5 {
            let number = if scaled == scaled.round() {
                format!("{scaled:.0}")
            } else {
                digits(scaled)
            };
            return format!("{number} {unit}");
        }
        scaled /= 1024.0;
    }
    format!("{} PiB", digits(scaled))
}

/// `1 job`, `8 jobs`; of a watched log, which has none of redolab's, `sessions of others`.
#[must_use]
pub fn jobs(n: u32) -> String {
    match n {
        0 => "sessions of others".to_owned(),
        n => plural(u64::from(n), "job"),
    }
}

/// A number of jobs as a cell; a dash of a watched log.
#[must_use]
pub fn job_cell(n: u32) -> String {
    match n {
        0 => "–".to_owned(),
        n => n.to_string(),
    }
}

/// `1 wait`, `3 waits`.
#[must_use]
pub fn plural(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(n))
}

/// Bytes with one decimal, in binary units: `512 bytes`, `15.3 GiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut name = "bytes";
    for unit in units {
        if value < 1023.95 {
            break;
        }
        value /= 1024.0;
        name = unit;
    }
    if name == "bytes" {
        format!("{bytes} bytes")
    } else {
        format!("{value:.1} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_a_lie() {
        for (value, text) in [
            (0.0, "0 %"),
            (0.0004, "< 0.001 %"),
            (0.0123, "0.012 %"),
            (0.437, "0.44 %"),
            (12.0, "12 %"),
            (52.34, "52.3 %"),
            (99.99, "> 99.9 %"),
            (100.0, "100 %"),
            (-6.6, "-6.6 %"),
            (1431.7, "1,432 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(value), text);
        }
    }

    #[test]
    fn an_end_that_is_far_away_is_a_bound() {
        for (low, high, text) in [
            (0.968, 1.066, "−3.2 % to +6.6 %"),
            (1.0 / 340_363_797.0, 2.46e6, "under ÷ 1,000 to over × 1,000"),
            (0.0, f64::INFINITY, "under ÷ 1,000 to over × 1,000"),
        ] {
            assert_eq!(change_range(low, high), text);
        }
    }

    #[test]
    fn latencies_carry_the_unit_that_reads_best() {
        for (ns, text) in [
            (0.0, "0 µs"),
            (350.0, "350 ns"),
            (87_230.0, "87.2 µs"),
            (999_600.0, "1.00 ms"),
            (13_660_000.0, "13.7 ms"),
            (2_100_000_000.0, "2.10 s"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(latency(ns), text);
        }
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(0), "0");
        assert_eq!(count(367_848), "367,848");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(digits(-12_345.6), "-12,346");
        assert_eq!(bytes(4096), "4 KiB");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
        assert_eq!(jobs(1), "1 job");
        assert_eq!(plural(3, "wait"), "3 waits");
    }
}
