//! Samples in short: maxima cut at a ceiling, and what a t test says beside what it does not.

use super::super::catalogue;
use super::super::note::Note;
use super::super::{Bad, Caution};
use super::view::{Line, Tables, place, show};

/// How near maxima stand to each other and below a round number to look cut.
const CEILING: f64 = 0.001;
/// Cohen's d under which an effect is called small; J. Cohen, Statistical Power Analysis, 1988.
const SMALL: f64 = 0.2;
/// The tail of a normal distribution for 95 %.
const Z95: f64 = 1.959_964;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    ceiling(tables, notes);
    for line in tables.lines("welch_t_test") {
        test(&line, notes);
    }
}

/// The next round number above: 1, 2, 4, 5 or 8 times a power of ten.
fn round_above(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0];
    let next = steps
        .iter()
        .map(|s| s * power)
        .find(|r| *r >= x * (1.0 - 1e-12));
    next.unwrap_or(10.0 * power)
}

fn ceiling(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let maxima: Vec<(f64, Line<'_>)> = tables
        .lines("r_summary")
        .filter_map(|l| Some((l.number("max").filter(|m| *m > 0.0)?, l)))
        .collect();
    let mut cut: Vec<&(f64, Line<'_>)> = Vec::new();
    for (i, a) in maxima.iter().enumerate() {
        let near = |b: &(f64, Line<'_>)| (a.0 / b.0 - 1.0).abs() <= CEILING;
        let others = maxima.iter().enumerate().any(|(j, b)| i != j && near(b));
        let round = round_above(a.0);
        if others && (round - a.0) / round <= CEILING {
            cut.push(a);
        }
    }
    let Some((max, line)) = cut.first().copied() else {
        return;
    };
    let round = round_above(*max);
    let shown: Vec<String> = cut.iter().map(|(m, _)| format!("{m}")).collect();
    let unit = line.text("unit");
    let claim = format!(
        "the maxima of {} samples, {}, are within {} % of each other right below {round} {unit}: the \
         data seem to be cut there and cannot show outliers ({})",
        cut.len(),
        shown.join(" and "),
        100.0 * CEILING,
        place(line.table())
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_CEILING, Bad, claim.replace("  ", " "))
            .number("ceiling", round)
            .number("maximum", *max),
    );
}

/// The fewest values that two samples of equal size can have with these degrees of freedom: by
/// Welch and Satterthwaite, df is at most 2 (n - 1), where both deviations are equal.
fn least_size(df: f64) -> f64 {
    (df / 2.0 + 1.0).max(2.0)
}

fn test(line: &Line<'_>, notes: &mut Vec<Note>) {
    let get = |key: &str| line.number(key);
    let (Some(t), Some(df), Some(x), Some(y)) = (get("t"), get("df"), get("mean_x"), get("mean_y"))
    else {
        return;
    };
    let difference = x - y;
    if t == 0.0 || df < 2.0 || y == 0.0 || difference == 0.0 {
        return;
    }
    let error = difference / t;
    interval(line, difference, error, df, notes);
    // The test prints no sizes. With more values the effect is smaller.
    let n = least_size(df);
    let effect = t.abs() * (2.0 / n).sqrt();
    let p = get("p_value").unwrap_or(1.0);
    if p > 0.001 || effect >= SMALL {
        return;
    }
    let claim = format!(
        "the difference of {difference:.4} ({:+.1} %) is highly significant (p {} {p:e}) but small: \
         Cohen's d is at most {effect:.2} for two samples of equal size ({} x sqrt(2 / {}); each has \
         at least df / 2 + 1 values) ({})",
        100.0 * difference / y,
        if line.text("p_is_below") == "yes" {
            "<"
        } else {
            "="
        },
        show(t.abs()),
        crate::format::digits(n),
        place(line.table())
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_SMALL_EFFECT, Caution, claim)
            .number("cohens_d_at_most", effect)
            .number("difference_pct", 100.0 * difference / y)
            .number("difference", difference)
            .number("least_values_each", n)
            .rule_from(
                format!("p under 0.001 and d under {SMALL}"),
                "Cohen, 1988, for the effect's size",
            )
            .advice("Report both: with this many values every difference is significant."),
    );
}

/// The interval from the printed digits of t and the means against the printed one.
fn interval(line: &Line<'_>, difference: f64, error: f64, df: f64, notes: &mut Vec<Note>) {
    let level = line.number("level_pct").unwrap_or(95.0);
    let (Some(low), Some(high)) = (line.number("ci_low"), line.number("ci_high")) else {
        return;
    };
    if level != 95.0 || df < 30.0 {
        return;
    }
    // The first terms of the t distribution's quantile by the normal one's.
    let z = Z95 + (Z95.powi(3) + Z95) / (4.0 * df);
    let (a, b) = (difference - z * error.abs(), difference + z * error.abs());
    // Means are printed with seven digits.
    let mean = line.number("mean_x").unwrap_or(0.0).abs();
    let allowed = 2e-6 * mean.max(1.0) + 0.01 * error.abs();
    if (a - low).abs() <= allowed && (b - high).abs() <= allowed {
        return;
    }
    let claim = format!(
        "t and the means give a 95 % interval of {a:.5} to {b:.5} ({difference:.4} +- {z:.4} x {:.5}), \
         not the printed {low} to {high} ({})",
        error.abs(),
        place(line.table())
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_INTERVAL, Caution, claim)
            .number("ci_low", a)
            .number("ci_high", b),
    );
}
