//! How long waits took, as the histograms of a report show it: shares under bounds.
//!
//! Invariant: the parts of a histogram that a report divides into several tables are one
//! distribution.

use super::view::{Tables, lines};

/// How long waits took: the share of them under each bound, by ascending bounds.
#[derive(Debug, Default, PartialEq)]
pub(in crate::findings) struct Distribution(pub(in crate::findings) Vec<(f64, f64)>);

impl Distribution {
    /// Of buckets: their ends in ms, and how many waits are in each.
    pub(in crate::findings) fn of_buckets(buckets: &[(f64, f64, f64)]) -> Option<Distribution> {
        let all: f64 = buckets.iter().map(|(_, _, n)| n).sum();
        let (mut out, mut below) = (Distribution::default(), 0.0);
        for (lower_ms, upper_ms, count) in buckets {
            // Buckets without waits may not be listed.
            out.add(lower_ms * 1e6, 100.0 * below / all);
            below += count;
            out.add(upper_ms * 1e6, 100.0 * below / all);
        }
        (all > 0.0).then_some(out)
    }

    /// A bound in nanoseconds, and the percent of waits under it.
    fn add(&mut self, bound_ns: f64, pct: f64) {
        let at = self.0.partition_point(|(bound, _)| *bound < bound_ns);
        let is_known = self.0.get(at).is_some_and(|(bound, _)| *bound == bound_ns);
        if !is_known {
            self.0.insert(at, (bound_ns, pct));
        }
    }

    /// The ends of the bucket that contains a percentile, nanoseconds; `None` where it is in the
    /// open one.
    pub(in crate::findings) fn percentile(&self, pct: f64) -> Option<[u64; 2]> {
        let at = self.0.iter().position(|(_, below)| *below > pct - 1e-6)?;
        let low = at.checked_sub(1).and_then(|before| self.0.get(before));
        let low = low.map_or(0.0, |(bound, _)| *bound);
        // Casts saturate.
        Some([low as u64, self.0.get(at)?.0 as u64])
    }

    /// The least that the mean can be, nanoseconds.
    pub(in crate::findings) fn mean_at_least(&self) -> f64 {
        let (mut below, mut sum) = ((0.0, 0.0), 0.0);
        for point in &self.0 {
            sum += below.0 * (point.1 - below.1).max(0.0);
            below = *point;
        }
        (sum + below.0 * (100.0 - below.1).max(0.0)) / 100.0
    }
}

/// The end of a bucket, from the key of its column: `pct_under_1ms`, `pct_under_1_8s`, `pct_to_1s`;
/// `None` for an open one.
fn bound_ns(key: &str) -> Option<f64> {
    let name = key.strip_prefix("pct_")?;
    let name = name
        .strip_prefix("under_")
        .or_else(|| name.strip_prefix("to_"))?;
    let unit_at = name.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = name.split_at(unit_at);
    let unit_ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 6e10,
        _ => return None,
    };
    let value = match number.split_once('_') {
        Some((of, parts)) => of.parse::<f64>().ok()? / parts.parse::<f64>().ok()?,
        None => number.parse().ok()?,
    };
    Some(value * unit_ns).filter(|ns| ns.is_finite())
}

/// The distribution of an event in the histograms of one report: a release from 12.2 on divides it
/// into several tables, each with shares of all waits.
pub(in crate::findings) fn of_report(
    tables: Tables<'_>,
    file: &str,
    event: &str,
) -> Option<Distribution> {
    let mut out = Distribution::default();
    let parts = tables.of("wait_histogram").filter(|t| t.file == file);
    let own = parts.flat_map(lines);
    for line in own.filter(|line| line.text("event") == event) {
        let mut below = 0.0;
        for column in &line.table().columns {
            let Some(bound) = bound_ns(&column.key) else {
                continue;
            };
            below += line.number(&column.key).unwrap_or(0.0);
            out.add(bound, below);
        }
    }
    (!out.0.is_empty()).then_some(out)
}
