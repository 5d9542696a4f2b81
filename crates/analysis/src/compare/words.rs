//! Significance and size, said apart.
//!
//! Size is of practice, not of statistics: limits of 2, 10 and 50 % are this project's, for
//! latencies and rates alike, and are applied to the larger of ratio and its inverse. Cohen's d and
//! Cliff's delta are shown with it, with their own words.

use crate::format::{change, change_range, percent};
use crate::stats::blocks::Ratio;
use crate::stats::effect;
use measure::comparison::{Basis, Better, Difference, Size};

/// Limits of negligible, small and medium, in percent.
const LIMITS_PCT: [f64; 3] = [2.0, 10.0, 50.0];

/// How large a ratio is.
pub(super) fn size(ratio: f64) -> Size {
    let away = 100.0 * (ratio.max(1.0 / ratio) - 1.0);
    match away {
        a if a < LIMITS_PCT[0] => Size::Negligible,
        a if a < LIMITS_PCT[1] => Size::Small,
        a if a < LIMITS_PCT[2] => Size::Medium,
        _ => Size::Large,
    }
}

/// Smallest detectable differences that are worth a sentence, in percent: below, the interval
/// itself shows that nothing large was missed; above, the comparison could not have found anything.
const POWER_PCT: std::ops::RangeInclusive<f64> = 10.0..=99.0;

/// Fills in a ratio of fewer rounds than a decision needs: its interval, and no decision.
pub(super) fn tell_undecided(d: &mut Difference, r: &Ratio, needed: usize) {
    d.ratio = Some(r.ratio.value);
    (d.ci_low, d.ci_high) = (Some(r.ratio.low), Some(r.ratio.high));
    d.size = Some(size(r.ratio.value));
    d.sentence = format!(
        "too few rounds to decide: {}; {} were made, at least {needed} are needed",
        interval(r),
        d.units_a
    );
}

/// A ratio with its interval: `+6.6 % (95 %: +2.0 % to +11.4 %)`.
fn interval(r: &Ratio) -> String {
    format!(
        "{} ({:.0} %: {})",
        change(r.ratio.value),
        100.0 * r.ratio.level,
        change_range(r.ratio.low, r.ratio.high)
    )
}

/// Whether the interval of a difference contains both a gain and a harm that matter.
#[must_use]
pub fn cannot_tell(d: &Difference) -> bool {
    let ends = d.ci_low.zip(d.ci_high);
    ends.is_some_and(|(low, high)| {
        let matters = |ratio: f64| size(ratio) > Size::Negligible;
        low < 1.0 && high > 1.0 && matters(low) && matters(high)
    })
}

/// What a difference means for the choice between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceOutcome {
    /// The other is better.
    Better,
    /// The other is worse.
    Worse,
    /// They differ, and neither direction is the better one.
    Differs,
    /// Nothing shows that they differ.
    Undecided,
    /// The interval contains both a gain and a harm that matter.
    CannotTell,
    /// There are too few rounds to decide.
    TooFewRounds,
    /// There is no interval to tell by.
    Unknown,
}

/// What a difference means; `few` rounds decide nothing.
#[must_use]
pub fn outcome(d: &Difference, few: bool) -> DifferenceOutcome {
    use DifferenceOutcome as Is;
    let is_found = d.significant == Some(true);
    match (d.ratio.filter(|_| is_found && !few), d.better) {
        (Some(r), Better::Lower) if r < 1.0 => Is::Better,
        (Some(r), Better::Higher) if r > 1.0 => Is::Better,
        (Some(_), Better::Lower | Better::Higher) => Is::Worse,
        (Some(_), Better::Neither) => Is::Differs,
        _ if d.significant.is_none() && d.basis == Basis::Rounds => Is::TooFewRounds,
        _ if d.significant.is_none() => Is::Unknown,
        _ if cannot_tell(d) && !is_found => Is::CannotTell,
        _ => Is::Undecided,
    }
}

/// That in a word or two.
#[must_use]
pub fn outcome_word(d: &Difference, few: bool) -> &'static str {
    match outcome(d, few) {
        DifferenceOutcome::Better => "better",
        DifferenceOutcome::Worse => "worse",
        DifferenceOutcome::Differs => "differs",
        DifferenceOutcome::Undecided if few => "undecided",
        DifferenceOutcome::Undecided => "not significant",
        DifferenceOutcome::CannotTell => "cannot tell",
        DifferenceOutcome::TooFewRounds => "too few rounds",
        DifferenceOutcome::Unknown => "no interval",
    }
}

/// Fills in a figure that has no noise: a count, or one that never varied.
pub(super) fn tell_exact(d: &mut Difference, why: &str) {
    tell_bare(d, why);
    d.basis = Basis::Exact;
}

/// Fills in what follows from a ratio with an error.
pub(super) fn tell(d: &mut Difference, r: &Ratio) {
    let found = r.ratio.low > 1.0 || r.ratio.high < 1.0;
    let size = size(r.ratio.value);
    d.ratio = Some(r.ratio.value);
    d.ci_low = Some(r.ratio.low);
    d.ci_high = Some(r.ratio.high);
    d.p_value = Some(r.p.value());
    d.p_text = r.p.to_string();
    d.significant = Some(found);
    d.size = Some(size);
    d.detectable_pct = Some(100.0 * (r.detectable - 1.0)).filter(|p| p.is_finite());
    let interval = interval(r);
    let p = match d.p_text.strip_prefix("< ") {
        Some(bound) => format!("p < {bound}"),
        None => format!("p = {}", d.p_text),
    };
    d.sentence = if found {
        let effect = effect_words(d);
        format!("significant and {}: {interval}{effect}, {p}", size.word())
    } else {
        let told = d.detectable_pct.filter(|pct| POWER_PCT.contains(pct));
        let seen = told.map_or_else(String::new, |pct| {
            format!(
                "; this test would have found {} with 80 % power",
                percent(pct)
            )
        });
        let found = match cannot_tell(d) {
            true => "cannot tell",
            false => "no difference found",
        };
        format!("{found}: {interval}, {p}{seen}")
    };
}

/// A ratio without an error.
pub(super) fn tell_bare(d: &mut Difference, why: &str) {
    d.ratio = match (d.a, d.b) {
        (Some(a), Some(b)) if a > 0.0 && b.is_finite() => Some(b / a),
        _ => None,
    };
    d.size = d.ratio.filter(|r| *r > 0.0).map(size);
    d.sentence = match (d.a, d.b, d.ratio) {
        (None, None, _) => format!("in neither run: {why}"),
        (None, ..) => format!("not in the base: {why}"),
        (_, None, _) => format!("not in this run: {why}"),
        (Some(a), Some(b), _) if a == b => format!("equal, without an interval: {why}"),
        (.., Some(ratio)) => format!("{}, without an interval: {why}", change(ratio)),
        _ => format!("no ratio: {why}"),
    };
}

fn effect_words(d: &Difference) -> String {
    let Some(effect) = d.effect else {
        return String::new();
    };
    let (name, word) = match d.effect_kind.as_str() {
        "cliffs_delta" => ("Cliff's delta", effect::size_of_delta(effect).word()),
        _ => ("Cohen's d", effect::size_of_d(effect).word()),
    };
    let number = format!("{effect:.2}").replace('-', "−");
    format!(", {name} {number} ({word})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_as_people_say_them() {
        for (ratio, want) in [
            (1.0, "+0 %"),
            (1.066, "+6.6 %"),
            (0.968, "−3.2 %"),
            (1.004, "+0.40 %"),
            (4.2, "× 4.20"),
            (2.5, "+150 %"),
            (0.004, "÷ 250"),
        ] {
            assert_eq!(change(ratio), want);
        }
        assert_eq!(size(1.019), Size::Negligible);
        assert_eq!(size(1.0 / 1.066), Size::Small);
        assert_eq!(size(0.7), Size::Medium);
        assert_eq!(size(0.5), Size::Large);
    }
}
