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
//! A change is judged by its interval: breached where the whole interval lies beyond the bound, not
//! breached where the whole interval lies within it, and undetermined otherwise: what noise can
//! explain fails no build and passes none. A bound on the other run's own figure is judged by that
//! figure, and so is a change of what has no noise. What was not measured, a percentile that too
//! few waits support and a change without an interval are undetermined.

use super::{live, metrics};
use crate::format;
use measure::comparison::{Basis, Comparison, Condition, ConditionState, Difference};

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
    /// Judges it by every difference of its metric: one breach is a breach, and what is
    /// undetermined in one row is not passed.
    #[must_use]
    pub fn judge(&self, c: &Comparison) -> Condition {
        let fits = c.differences.iter().filter(|d| d.metric == self.metric);
        let found: Vec<(ConditionState, String)> = fits.map(|d| self.one(c, d)).collect();
        let any = |wanted: ConditionState| found.iter().any(|(state, _)| *state == wanted);
        let state = match found.is_empty() {
            _ if any(ConditionState::Breached) => ConditionState::Breached,
            false if !any(ConditionState::Undetermined) => ConditionState::NotBreached,
            _ => ConditionState::Undetermined,
        };
        let mut details: Vec<String> = found.into_iter().map(|(_, detail)| detail).collect();
        if details.is_empty() {
            details.push(format!("no row of the runs has {} in both", self.metric));
        }
        Condition::new(&self.text, state, details.join("; "))
    }

    fn one(&self, c: &Comparison, d: &Difference) -> (ConditionState, String) {
        let [base, other] = [d.run_a, d.run_b].map(|at| c.runs.get(at));
        // A value is of the other run alone.
        let base = base.filter(|_| !matches!(self.bound, Bound::Value(_)));
        let unsound = base.into_iter().chain(other).find(|run| !run.is_sound());
        let (state, why) = match unsound {
            Some(run) => undetermined(format!("{} is invalid or unfinished", run.name)),
            None => self.of_sound(d),
        };
        let run = match (c.runs.len(), other) {
            (3.., Some(run)) => format!("{}: ", run.name),
            _ => String::new(),
        };
        let jobs = match d.jobs {
            0 => String::new(),
            n => format!(", {}", format::jobs(n)),
        };
        (state, format!("{run}{}{jobs}: {why}", d.workload))
    }

    fn of_sound(&self, d: &Difference) -> (ConditionState, String) {
        let (a, b) = match (self.bound, d.a, d.b) {
            (Bound::Value(limit), _, Some(b)) => return self.by_value(d, b, limit),
            (Bound::Ratio(_) | Bound::Change(_), Some(a), Some(b)) => (a, b),
            _ if d.sentence.is_empty() => return undetermined("not measured in both runs"),
            _ => return undetermined(format!("not known {}", d.sentence)),
        };
        let limit = match self.bound {
            Bound::Ratio(ratio) => a * ratio,
            Bound::Change(change) => a + change,
            Bound::Value(value) => value,
        };
        if d.basis == Basis::Exact {
            let (state, why) = self.by_value(d, b, limit);
            return (state, format!("{why}, from a base of {}", shown(d, a)));
        }
        match d.ci_low.zip(d.ci_high) {
            _ if live::undecided(d) => undetermined(&d.sentence),
            None => undetermined(&d.sentence),
            Some((low, high)) => self.by_interval(d, (a, b), (low * a, high * a), limit),
        }
    }

    fn is_beyond(&self, value: f64, limit: f64) -> bool {
        match (self.above, self.or_equal) {
            (true, false) => value > limit,
            (true, true) => value >= limit,
            (false, false) => value < limit,
            (false, true) => value <= limit,
        }
    }

    /// Judges the other run's figure itself.
    fn by_value(&self, d: &Difference, value: f64, limit: f64) -> (ConditionState, String) {
        let (state, word) = match self.is_beyond(value, limit) {
            true => (ConditionState::Breached, "beyond"),
            false => (ConditionState::NotBreached, "within"),
        };
        let (value, limit) = (shown(d, value), shown(d, limit));
        (state, format!("{value} is {word} the limit of {limit}"))
    }

    /// Judges a change by the interval of the other run's figure about a base that stands as it is.
    fn by_interval(
        &self,
        d: &Difference,
        (a, b): (f64, f64),
        (low, high): (f64, f64),
        limit: f64,
    ) -> (ConditionState, String) {
        let (near, far) = if self.above { (low, high) } else { (high, low) };
        let (state, how) = match (self.is_beyond(near, limit), self.is_beyond(far, limit)) {
            (true, _) => (
                ConditionState::Breached,
                "the whole interval is beyond the limit",
            ),
            (_, false) => (
                ConditionState::NotBreached,
                "the whole interval is within the limit",
            ),
            (false, true) => (
                ConditionState::Undetermined,
                "the limit is within the interval, so noise can explain both",
            ),
        };
        let change = match self.bound {
            Bound::Change(_) => {
                let change = |value: f64| match value < a {
                    true => format!("−{}", shown(d, a - value)),
                    false => format!("+{}", shown(d, value - a)),
                };
                format!("{} ({} to {})", change(b), change(low), change(high))
            }
            _ => {
                let range = format::change_range(low / a, high / a);
                format!("{} ({range})", format::change(b / a))
            }
        };
        (state, format!("{change}, {how}"))
    }
}

fn undetermined(why: impl Into<String>) -> (ConditionState, String) {
    (ConditionState::Undetermined, why.into())
}

/// A figure with its unit.
fn shown(d: &Difference, value: f64) -> String {
    match d.unit.as_str() {
        "ns" => format::latency(value),
        "" => format::digits(value),
        "1/s" => format!("{} /s", format::digits(value)),
        unit => format!("{} {unit}", format::digits(value)),
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

    fn judged(text: &str, d: &[Difference]) -> ConditionState {
        judged_in(text, d, &[true, true]).state
    }

    /// Among runs of which some are valid.
    fn judged_in(text: &str, d: &[Difference], valid: &[bool]) -> Condition {
        let condition: FailIf = text.parse().expect(text);
        let mut c = super::super::stored::begun(&super::super::Options::default(), None);
        c.differences = d.to_vec();
        let run = crate::findings::fixture::clean_run();
        for valid in valid {
            let mut told = super::super::compared("run", &run, &[&run], (true, false));
            told.valid = *valid;
            c.runs.push(told);
        }
        condition.judge(&c)
    }

    use ConditionState::{Breached, NotBreached, Undetermined};

    #[test]
    fn a_change_is_judged_by_its_whole_interval_and_a_value_by_itself() {
        let d = [difference(
            "log_file_sync.p99",
            1e6,
            1.2,
            Some((1.15, 1.25)),
        )];
        for (text, state) in [
            ("log_file_sync.p99 > +10%", Breached),
            ("log_file_sync.p99>10%", Breached),
            ("log_file_sync.p99 > +18%", Undetermined),
            ("log_file_sync.p99 > +22%", Undetermined),
            ("log_file_sync.p99 > +25%", NotBreached),
            ("log_file_sync.p99 >= +25%", Undetermined),
            ("log_file_sync.p99 >= +15%", Breached),
            ("log_file_sync.p99 > +15%", Undetermined),
            ("log_file_sync.p99 > +30%", NotBreached),
            ("log_file_sync.p99 > +100us", Breached),
            ("log_file_sync.p99 > +200us", Undetermined),
            ("log_file_sync.p99 > +300us", NotBreached),
            ("log_file_sync.p99 < -5%", NotBreached),
            ("log_file_sync.p99 < +30%", Breached),
            ("log_file_sync.p99 < +20%", Undetermined),
            ("log_file_sync.p99 > 1.1ms", Breached),
            ("log_file_sync.p99 > 1.19 ms", Breached),
            ("log_file_sync.p99 > 1.21ms", NotBreached),
            ("log_file_sync.p99 < 2ms", Breached),
            ("log_file_sync.p99 <= 1.2ms", Breached),
            ("commit_throughput_tps < -5%", Undetermined),
        ] {
            assert_eq!(judged(text, &d), state, "{text}");
        }
        let text = judged_in("log_file_sync.p99 > 1.1ms", &d, &[true, true]).detail;
        assert_eq!(
            text,
            "LGWR-LAT1, 8 jobs: 1.20 ms is beyond the limit of 1.10 ms"
        );
        let text = judged_in("log_file_sync.p99 > +100us", &d, &[true, true]).detail;
        assert!(text.contains("+200 µs (+150 µs to +250 µs)"), "{text}");
    }

    #[test]
    fn without_an_interval_only_a_value_and_a_count_are_judged() {
        let bare = [difference("log_file_sync.max", 1e6, 1.2, None)];
        assert_eq!(judged("log_file_sync.max > +10%", &bare), Undetermined);
        assert_eq!(judged("log_file_sync.max > 1.1ms", &bare), Breached);
        let count = |a: f64, b: f64| {
            let mut d = difference("log_file_sync.outliers", a, 1.0, None);
            (d.a, d.b, d.unit, d.basis) = (Some(a), Some(b), String::new(), Basis::Exact);
            d.ratio = (a > 0.0).then_some(b / a);
            [d]
        };
        for (text, a, b, state) in [
            ("log_file_sync.outliers > 0", 0.0, 0.0, NotBreached),
            ("log_file_sync.outliers > 0", 0.0, 1.0, Breached),
            ("log_file_sync.outliers > +10%", 0.0, 0.0, NotBreached),
            ("log_file_sync.outliers > +10%", 0.0, 1.0, Breached),
            ("log_file_sync.outliers > +10%", 20.0, 21.0, NotBreached),
            ("log_file_sync.outliers > +10%", 20.0, 23.0, Breached),
            ("log_file_sync.outliers > +2", 3.0, 5.0, NotBreached),
            ("log_file_sync.outliers > +2", 3.0, 6.0, Breached),
        ] {
            assert_eq!(judged(text, &count(a, b)), state, "{text}: {a} to {b}");
        }
        // A percentile that too few waits support is not within any limit.
        let mut unknown = bare;
        (unknown[0].a, unknown[0].b, unknown[0].ratio) = (Some(1e6), None, None);
        for text in ["log_file_sync.max > 5s", "log_file_sync.max > +10%"] {
            assert_eq!(judged(text, &unknown), Undetermined, "{text}");
        }
    }

    #[test]
    fn a_breach_weighs_more_than_doubt_and_doubt_more_than_what_holds() {
        let of = |ratio: f64, interval| difference("log_file_sync.p99", 1e6, ratio, interval);
        let (bad, doubtful, good) = (
            of(1.2, Some((1.15, 1.25))),
            of(1.2, Some((0.9, 1.6))),
            of(1.0, Some((0.99, 1.01))),
        );
        let text = "log_file_sync.p99 > +10%";
        for (rows, state) in [
            (vec![&good, &doubtful, &bad], Breached),
            (vec![&good, &doubtful], Undetermined),
            (vec![&good], NotBreached),
        ] {
            let rows: Vec<Difference> = rows.into_iter().cloned().collect();
            assert_eq!(judged(text, &rows), state);
            let of_invalid = judged_in(text, &rows, &[true, false]);
            assert_eq!(of_invalid.state, Undetermined, "{}", of_invalid.detail);
        }
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
