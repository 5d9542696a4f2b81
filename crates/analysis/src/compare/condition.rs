//! Conditions that a comparison must not meet: `--fail-if 'log_file_sync.p99 > +10%'`.
//!
//! ```text
//! condition := metric op bound
//! metric    := a row metric | event "." statistic | event (its mean)
//! op        := ">" | ">=" | "<" | "<="
//! bound     := ("+" | "-") number ("%" | unit)?      a change against the base
//!            | number "%"                            a change, where the metric is no percentage
//!            | number unit?                          the other run's own figure
//! unit      := ns us µs ms s (of times) | /s (of rates) | MB/s
//! ```
//! A bound is breached when the whole interval lies beyond it: what noise can explain fails no
//! build. Where a figure has no interval (extremes, single samples) its point estimate is judged,
//! and said to be. What was not measured is undetermined, never passed.

use super::{live, metrics};
use measure::comparison::{Condition, Difference};

/// Why a condition cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It does not read as one.
    #[error(
        "`{text}` is not a condition: {why}; write METRIC > +10%, METRIC < 500/s or METRIC > 2ms"
    )]
    Syntax {
        /// As it was written.
        text: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Nothing of that name is compared.
    #[error("`{metric}` in `{text}` is not a metric of a comparison; use {known}")]
    Unknown {
        /// As it was written.
        text: String,
        /// The name.
        metric: String,
        /// All names.
        known: String,
    },
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    text: String,
    metric: String,
    above: bool,
    or_equal: bool,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// Of the ratio.
    Ratio(f64),
    /// Of the other run's figure less the base's.
    Change(f64),
    /// Of the other run's figure.
    Value(f64),
}

/// What a figure says of a bound.
#[derive(Clone, Copy, PartialEq)]
enum Finding {
    Breached,
    /// Beyond, but the interval reaches back.
    Perhaps,
    Held,
    Unknown,
}

impl std::str::FromStr for FailIf {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<FailIf, ConditionError> {
        let wrong = |why| ConditionError::Syntax {
            text: text.to_owned(),
            why,
        };
        let at = text
            .find(['>', '<'])
            .ok_or_else(|| wrong("it has no > or <"))?;
        let (name, rest) = text.split_at(at);
        let above = rest.starts_with('>');
        let rest = rest.get(1..).unwrap_or_default();
        let (or_equal, rest) = match rest.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let name = name.trim();
        let mean = format!("{name}.mean");
        let metric = [name, mean.as_str()]
            .into_iter()
            .find(|m| metrics::unit(m).is_some());
        let Some(metric) = metric else {
            return Err(ConditionError::Unknown {
                text: text.to_owned(),
                metric: name.to_owned(),
                known: metrics::known(),
            });
        };
        let unit = metrics::unit(metric).unwrap_or_default();
        let bound = bound(rest.trim(), unit).map_err(wrong)?;
        Ok(FailIf {
            text: text.trim().to_owned(),
            metric: metric.to_owned(),
            above,
            or_equal,
            bound,
        })
    }
}

fn bound(text: &str, unit: &str) -> Result<Bound, &'static str> {
    let signed = text.starts_with(['+', '-', '−']);
    let end = text
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || (*i == 0 && signed)))
        .map_or(text.len(), |(i, _)| i);
    let (number, suffix) = text.split_at(end);
    let number: f64 = number
        .replace('−', "-")
        .parse()
        .map_err(|_| "the bound is not a number")?;
    if !number.is_finite() {
        return Err("the bound is not a number");
    }
    let suffix = suffix.trim();
    if suffix == "%" && (signed || unit != "%") {
        let ratio = 1.0 + number / 100.0;
        return if ratio > 0.0 {
            Ok(Bound::Ratio(ratio))
        } else {
            Err("no figure can fall by 100 % or more")
        };
    }
    let scale = match (unit, suffix) {
        ("ns", "ns") => 1.0,
        ("ns", "us" | "µs" | "μs") => 1e3,
        ("ns", "ms") => 1e6,
        ("ns", "s") => 1e9,
        ("ns", "") => return Err("a time needs a unit: ns, us, ms or s"),
        ("µs", "us" | "µs" | "μs") => 1.0,
        ("1/s", "/s") | ("MB/s", "MB/s") | ("%", "%") | (_, "") => 1.0,
        _ => return Err("the unit does not fit the metric"),
    };
    let value = number * scale;
    Ok(if signed {
        Bound::Change(value)
    } else {
        Bound::Value(value)
    })
}

impl FailIf {
    /// Judges it by every difference of its metric: one breach is a breach.
    #[must_use]
    pub fn judge(&self, differences: &[Difference]) -> Condition {
        let fits = differences.iter().filter(|d| d.metric == self.metric);
        let found: Vec<(Finding, String)> = fits.map(|d| self.one(d)).collect();
        let any = |wanted: Finding| found.iter().any(|(f, _)| *f == wanted);
        let breached = any(Finding::Breached);
        let undetermined = !breached && (found.is_empty() || any(Finding::Unknown));
        let mut details: Vec<String> = found.into_iter().map(|(_, detail)| detail).collect();
        if details.is_empty() {
            details.push(format!("no row of the runs has {} in both", self.metric));
        }
        Condition {
            text: self.text.clone(),
            breached,
            undetermined,
            detail: details.join("; "),
        }
    }

    fn one(&self, d: &Difference) -> (Finding, String) {
        let row = match d.jobs {
            0 => d.workload.clone(),
            n => format!("{}, {}", d.workload, crate::format::jobs(n)),
        };
        // The figure that is judged, and its interval.
        let (point, low, high) = match (self.bound, d.a, d.b) {
            (Bound::Ratio(_), ..) => (d.ratio, d.ci_low, d.ci_high),
            // With the base taken as it stands, the ratio's interval is the other figure's.
            (Bound::Value(_), Some(a), Some(b)) => {
                (Some(b), d.ci_low.map(|r| r * a), d.ci_high.map(|r| r * a))
            }
            (Bound::Value(_), None, Some(b)) => (Some(b), None, None),
            (Bound::Change(_), Some(a), Some(b)) => (
                Some(b - a),
                d.ci_low.map(|r| (r - 1.0) * a),
                d.ci_high.map(|r| (r - 1.0) * a),
            ),
            _ => (None, None, None),
        };
        let limit = match self.bound {
            Bound::Ratio(v) | Bound::Change(v) | Bound::Value(v) => v,
        };
        let Some(point) = point else {
            return (
                Finding::Unknown,
                format!("{row}: not measured in both runs"),
            );
        };
        if live::undecided(d) {
            let why = format!("{row}: {}", d.sentence);
            return (Finding::Unknown, why);
        }
        let beyond = |v: f64| match (self.above, self.or_equal) {
            (true, false) => v > limit,
            (true, true) => v >= limit,
            (false, false) => v < limit,
            (false, true) => v <= limit,
        };
        let near = if self.above { low } else { high };
        let (finding, how) = match near {
            Some(end) if beyond(end) => (Finding::Breached, "the whole interval is beyond it"),
            Some(_) if beyond(point) => (
                Finding::Perhaps,
                "the estimate is beyond it, but not the whole interval: not shown",
            ),
            Some(_) => (Finding::Held, "within it"),
            None if beyond(point) => (
                Finding::Breached,
                "the estimate is beyond it; there is no interval",
            ),
            None => (
                Finding::Held,
                "the estimate is within it; there is no interval",
            ),
        };
        let change = d
            .ratio
            .map_or_else(|| "no ratio".to_owned(), crate::format::change);
        let interval = match d.ci_low.zip(d.ci_high) {
            Some((low, high)) => format!(
                " ({} to {})",
                crate::format::change(low),
                crate::format::change(high)
            ),
            None => String::new(),
        };
        (finding, format!("{row}: {change}{interval}, {how}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::comparison::Better;
    use measure::run::Row;

    fn difference(metric: &str, a: f64, ratio: f64, interval: Option<(f64, f64)>) -> Difference {
        let row = Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 8,
            ..Row::default()
        };
        let mut d = super::super::stored::blank(metric.to_owned(), &row, 1, "ns", Better::Lower);
        (d.a, d.b, d.ratio) = (Some(a), Some(a * ratio), Some(ratio));
        (d.ci_low, d.ci_high) = (interval.map(|i| i.0), interval.map(|i| i.1));
        d
    }

    fn judged(text: &str, d: &[Difference]) -> (bool, bool) {
        let c: FailIf = text.parse().expect(text);
        let c = c.judge(d);
        (c.breached, c.undetermined)
    }

    #[test]
    fn only_what_noise_cannot_explain_is_a_breach() {
        let d = [difference(
            "log_file_sync.p99",
            1e6,
            1.2,
            Some((1.15, 1.25)),
        )];
        for (text, breached) in [
            ("log_file_sync.p99 > +10%", true),
            ("log_file_sync.p99>10%", true),
            // The estimate is beyond, the interval reaches back.
            ("log_file_sync.p99 > +18%", false),
            ("log_file_sync.p99 > +30%", false),
            ("log_file_sync.p99 > 1.1ms", true),
            ("log_file_sync.p99 > 1.19 ms", false),
            ("log_file_sync.p99 > +100us", true),
            ("log_file_sync.p99 < -5%", false),
            ("log_file_sync.p99 < 2ms", true),
            ("log_file_sync.p99 <= 1.25ms", true),
        ] {
            assert_eq!(judged(text, &d), (breached, false), "{text}");
        }
        let bare = [difference("log_file_sync.max", 1e6, 1.2, None)];
        assert_eq!(judged("log_file_sync.max > +10%", &bare), (true, false));
        let faster = [difference("log_file_sync.mean", 1e6, 0.8, Some((0.7, 0.9)))];
        assert_eq!(judged("log_file_sync < -5%", &faster), (true, false));
        assert_eq!(
            judged("commit_throughput_tps < -5%", &faster),
            (false, true)
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (text, why) in [
            ("log_file_sync.p99 10%", "no > or <"),
            ("log_file_sync.p98 > 10%", "use commit_throughput_tps"),
            ("p99 > 10%", "not a metric of"),
            ("log_file_sync.p99 > ten", "not a number"),
            ("log_file_sync.p99 > 10", "needs a unit"),
            ("commit_throughput_tps < 10ms", "does not fit the metric"),
            ("log_file_sync.p99 < -100%", "100 %"),
            ("", "no > or <"),
            ("log_file_sync.p99 > ", "not a number"),
            ("log_file_sync.p99 >> 1%", "not a number"),
        ] {
            let e = text.parse::<FailIf>().expect_err(text).to_string();
            assert!(e.contains(why), "{text}: {e}");
        }
    }
}
