//! A forest plot: ratios with their intervals below each other on one logarithmic axis.
//!
//! Invariants: a ratio without an interval is drawn without one, never with a made-up one; better,
//! worse and undecided differ by shape as well as by colour.

use super::figure::Numbers;
use super::scale::{Kind, Scale};
use super::svg::{Anchor, Svg, width};
use crate::format;
use measure::comparison::{Basis, Better, Difference};

/// Most lines.
pub(super) const LINES_MAX: usize = 48;
/// Most lines of the table.
const ENTRIES_MAX: usize = 400;
const WIDTH: f64 = 1060.0;
const ROW: f64 = 19.0;
const TOP: f64 = 34.0;

/// How a difference is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Better,
    Worse,
    Differs,
    Undecided,
    /// There are too few rounds to decide.
    TooFewRounds,
    /// There is no interval to tell by.
    Unknown,
}

/// What a difference means for the choice between the two.
pub(super) fn outcome(d: &Difference) -> Outcome {
    match (d.significant, d.ratio, d.better) {
        (Some(true), Some(r), Better::Lower) if r < 1.0 => Outcome::Better,
        (Some(true), Some(r), Better::Higher) if r > 1.0 => Outcome::Better,
        (Some(true), Some(_), Better::Lower | Better::Higher) => Outcome::Worse,
        (Some(true), Some(_), Better::Neither) => Outcome::Differs,
        (None, ..) if d.basis == Basis::Rounds => Outcome::TooFewRounds,
        (None, ..) => Outcome::Unknown,
        _ => Outcome::Undecided,
    }
}

impl Outcome {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Differs => "differs",
            Outcome::Undecided => "not significant",
            Outcome::TooFewRounds => "too few rounds",
            Outcome::Unknown => "no interval",
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Outcome::Better => "c2",
            Outcome::Worse => "c1",
            Outcome::Differs => "c0",
            Outcome::Undecided | Outcome::TooFewRounds | Outcome::Unknown => "mu",
        }
    }

    const fn marker(self) -> usize {
        match self {
            Outcome::Better => 2,
            Outcome::Worse => 4,
            Outcome::Differs => 3,
            Outcome::Undecided | Outcome::TooFewRounds => 0,
            Outcome::Unknown => 5,
        }
    }
}

/// Percent by which the other run is above the base, as people say it.
pub(super) fn change(ratio: f64) -> String {
    let pct = 100.0 * (ratio - 1.0);
    if !pct.is_finite() {
        return "–".to_owned();
    }
    if ratio >= 3.0 {
        return format!("{} ×", format::digits(ratio));
    }
    format!("{pct:+.1} %")
}

fn usable(v: Option<f64>) -> Option<f64> {
    v.filter(|v| v.is_finite() && *v > 0.0)
}

/// The plot; empty where no difference has a ratio.
pub(super) fn svg(id: &str, title: &str, desc: &str, all: &[(String, &Difference)]) -> String {
    let lines: Vec<&(String, &Difference)> = all
        .iter()
        .filter(|(_, d)| usable(d.ratio).is_some())
        .take(LINES_MAX)
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let size = (WIDTH, TOP + ROW * lines.len() as f64 + 40.0);
    let mut svg = Svg::open(id, size, "chart wide", title, desc);
    let left = lines
        .iter()
        .map(|(l, _)| width(l))
        .fold(60.0, f64::max)
        .min(WIDTH * 0.45)
        + 14.0;
    let right = WIDTH - 150.0;
    let bottom = TOP + ROW * lines.len() as f64;
    let ends = |d: &Difference| [usable(d.ratio), usable(d.ci_low), usable(d.ci_high)];
    let values = lines
        .iter()
        .flat_map(|(_, d)| ends(d))
        .flatten()
        .chain([0.9, 1.1]);
    // Far ratios are drawn at the edge: their numbers stand beside them.
    let scale = Scale::fit(Kind::Log, values.map(|v| v.clamp(0.02, 50.0)), left, right);
    for tick in scale.ticks() {
        let at = scale.place(tick);
        svg.line("grid", (at, TOP - 6.0), (at, bottom));
        svg.text(
            "tk",
            (at, bottom + 15.0),
            Anchor::Middle,
            &format!("{} ×", format::digits(tick)),
        );
    }
    let one = scale.place(1.0);
    svg.line("axis", (one, TOP - 12.0), (one, bottom));
    svg.text("yl", (one, TOP - 16.0), Anchor::Middle, "as the base");
    svg.text(
        "xl",
        ((left + right) / 2.0, bottom + 32.0),
        Anchor::Middle,
        "ratio to the base, with its interval",
    );
    for (i, (label, d)) in lines.iter().enumerate() {
        let y = TOP + ROW * i as f64 + 8.0;
        svg.text("lb", (left - 12.0, y + 3.7), Anchor::End, label);
        let outcome = outcome(d);
        let Some(ratio) = usable(d.ratio) else {
            continue;
        };
        svg.group(outcome.class());
        if let (Some(low), Some(high)) = (usable(d.ci_low), usable(d.ci_high)) {
            let (a, b) = (scale.place(low), scale.place(high));
            svg.path("ln", &[(a, y), (b, y)]);
            for end in [a, b] {
                svg.path("ln", &[(end, y - 3.5), (end, y + 3.5)]);
            }
        }
        svg.marker(outcome.marker(), (scale.place(ratio), y));
        svg.end();
        let text = format!("{} {}", change(ratio), outcome.word());
        svg.text("lb", (right + 10.0, y + 3.7), Anchor::Start, &text);
    }
    svg.close()
}

fn shown(value: Option<f64>, unit: &str) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if unit == "ns" => format::latency(v),
        Some(v) if unit.is_empty() => format::digits(v),
        Some(v) => format!("{} {unit}", format::digits(v)),
    }
}

const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Events => "events",
        Basis::Intervals => "intervals",
        Basis::Rounds => "rounds",
        Basis::Moments => "moments",
        Basis::None => "none",
    }
}

/// All differences as a table.
pub(super) fn numbers(all: &[(String, &Difference)]) -> Numbers {
    let line = |(label, d): &(String, &Difference)| {
        let interval = match (d.ci_low, d.ci_high) {
            (Some(low), Some(high)) => {
                format!("{} to {}", format::digits(low), format::digits(high))
            }
            _ => "–".to_owned(),
        };
        let effect = d.effect.map_or_else(
            || "–".to_owned(),
            |e| {
                format!(
                    "{} ({})",
                    format::digits(e),
                    d.effect_kind.replace('_', " ")
                )
            },
        );
        vec![
            label.clone(),
            shown(d.a, &d.unit),
            shown(d.b, &d.unit),
            d.ratio.map_or_else(|| "–".to_owned(), change),
            interval,
            effect,
            d.p_text.clone(),
            format!("{} ({}, {})", basis(d.basis), d.units_a, d.units_b),
            outcome(d).word().to_owned(),
        ]
    };
    Numbers {
        head: [
            "Metric",
            "Base",
            "Other",
            "Change",
            "Interval of the ratio",
            "Effect",
            "p",
            "What varied",
            "Outcome",
        ]
        .map(str::to_owned)
        .to_vec(),
        lines: all.iter().take(ENTRIES_MAX).map(line).collect(),
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_well() {
        for (ratio, text) in [(1.066, "+6.6 %"), (0.5, "-50.0 %"), (4.95, "4.95 ×")] {
            assert_eq!(change(ratio), text);
        }
        assert_eq!(change(f64::INFINITY), "–");
    }
}
