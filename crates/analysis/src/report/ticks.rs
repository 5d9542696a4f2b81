//! Words for the ticks of axes: round values, no digit more than they need.

/// `1 ms`, `200 µs`: round values of an axis.
pub(super) fn latency(ns: f64) -> String {
    match ns {
        v if v < 0.5 => "0".to_owned(),
        v if v < 999.5 => format!("{v:.0} ns"),
        v if v < 999_500.0 => format!("{} µs", round(v / 1e3)),
        v if v < 999_500_000.0 => format!("{} ms", round(v / 1e6)),
        v => format!("{} s", round(v / 1e9)),
    }
}

/// `250`, `10k`, `1.5M`.
#[must_use]
pub fn count(value: f64) -> String {
    match value.abs() {
        a if a < 9_999.5 => round(value),
        a if a < 999_950.0 => format!("{}k", round(value / 1e3)),
        _ => format!("{}M", round(value / 1e6)),
    }
}

fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn jobs(value: f64) -> String {
    format!("{value:.0}")
}

pub(super) fn percentile(value: f64) -> String {
    if value >= 100.0 {
        "max".to_owned()
    } else {
        format!(
            "{} %",
            format!("{value:.5}")
                .trim_end_matches('0')
                .trim_end_matches('.')
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_read_well() {
        assert_eq!(latency(2e5), "200 µs");
        assert_eq!(latency(1e6), "1 ms");
        assert_eq!(count(2500.0), "2500");
        assert_eq!(count(1_500_000.0), "1.5M");
        assert_eq!(percentile(100.0 * (1.0 - 1e-4)), "99.99 %");
        assert_eq!(percentile(100.0), "max");
    }
}
