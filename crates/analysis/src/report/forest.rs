//! A forest plot: ratios with their intervals below each other on one logarithmic axis.
//!
//! Invariants: a ratio without an interval is drawn without one, never with a made-up one; an
//! interval that goes on beyond the scale ends in an arrow; better, worse and undecided differ by
//! shape as well as by colour.

use super::figure::{Figure, Numbers};
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, width};
use super::topic::Topic;
use crate::account::AccountTable;
use crate::account::comparison::{level, value};
use crate::compare::decision::has_few_rounds;
use crate::compare::{DifferenceOutcome, outcome, outcome_word};
use crate::format;
use measure::comparison::{Comparison, Difference};

/// Most lines.
pub(super) const LINES_MAX: usize = 48;
const WIDTH: f64 = 1060.0;
const NARROW: f64 = 360.0;
const ROW: f64 = 19.0;
const TOP: f64 = 36.0;

/// The class and the marker of a difference.
const fn look(outcome: DifferenceOutcome) -> (&'static str, usize) {
    match outcome {
        DifferenceOutcome::Better => ("c2", 2),
        DifferenceOutcome::Worse => ("c1", 4),
        DifferenceOutcome::Differs => ("c0", 3),
        DifferenceOutcome::Unknown => ("mu", 5),
        DifferenceOutcome::Undecided
        | DifferenceOutcome::CannotTell
        | DifferenceOutcome::TooFewRounds => ("mu", 0),
    }
}

fn usable(v: Option<f64>) -> Option<f64> {
    v.filter(|v| v.is_finite() && *v > 0.0)
}

/// Where a plot stands: in a wide window its lines have four columns, in a narrow one two lines of
/// text each. Only one of both is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Wide,
    Narrow,
}

/// Places of a plot.
struct Geometry {
    class: &'static str,
    width: f64,
    row: f64,
    left: f64,
    right: f64,
    /// Where the values of a line end, and its label.
    values: f64,
    label: f64,
}

impl Geometry {
    fn of(layout: Layout, lines: &[&(String, &Difference)]) -> Geometry {
        match layout {
            Layout::Wide => {
                let widest = lines.iter().map(|(l, _)| width(l)).fold(60.0, f64::max);
                let label = widest.min(WIDTH * 0.36) + 4.0;
                Geometry {
                    class: "chart wide only-wide",
                    width: WIDTH,
                    row: ROW,
                    left: label + 180.0,
                    right: WIDTH - 160.0,
                    values: label + 162.0,
                    label,
                }
            }
            Layout::Narrow => Geometry {
                class: "chart only-narrow",
                width: NARROW,
                row: 2.3 * ROW,
                left: 150.0,
                right: NARROW - 10.0,
                values: 138.0,
                label: 0.0,
            },
        }
    }
}

/// The scale of a plot: every ratio, and what of the intervals is within twice that distance.
fn scale(lines: &[&(String, &Difference)], left: f64, right: f64) -> Scale {
    let ratios = || {
        let all = lines.iter().filter_map(|(_, d)| usable(d.ratio));
        all.map(|r| r.clamp(0.02, 50.0))
    };
    let low = ratios().fold(0.9, f64::min) / 2.0;
    let high = ratios().fold(1.1, f64::max) * 2.0;
    let ends = |d: &Difference| [usable(d.ratio), usable(d.ci_low), usable(d.ci_high)];
    let values = lines.iter().flat_map(|(_, d)| ends(d)).flatten();
    let values = values.map(|v| v.clamp(low, high)).chain([0.9, 1.1]);
    Scale::fit(ScaleKind::Log, values, left, right)
}

/// The plot; empty where no difference has a ratio. `few` rounds decide nothing.
pub(super) fn svg(
    id: &str,
    (title, desc): (&str, &str),
    all: &[(String, &Difference)],
    layout: Layout,
    few: bool,
) -> String {
    let lines: Vec<&(String, &Difference)> = all
        .iter()
        .filter(|(_, d)| usable(d.ratio).is_some())
        .take(LINES_MAX)
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let g = Geometry::of(layout, &lines);
    let scale = scale(&lines, g.left, g.right);
    let bottom = TOP + g.row * lines.len() as f64;
    let mut svg = Svg::open(id, (g.width, bottom + 6.0), g.class, title, desc);
    let one = scale.place(1.0);
    for tick in scale.ticks() {
        let at = scale.place(tick);
        svg.line("grid", (at, TOP - 5.0), (at, bottom));
        if (at - one).abs() > 14.0 || tick == 1.0 {
            svg.text("tk", (at, TOP - 9.0), Anchor::Middle, &format!("× {tick}"));
        }
    }
    svg.line("axis", (one, TOP - 5.0), (one, bottom));
    let heading = "ratio to the base, with its interval";
    svg.text(
        "xl",
        ((g.left + g.right) / 2.0, 11.0),
        Anchor::Middle,
        heading,
    );
    for (i, (label, d)) in lines.iter().enumerate() {
        let top = TOP + g.row * i as f64;
        line_of(label, d, (&g, &scale), (layout, top, few), &mut svg);
    }
    svg.close()
}

/// A line: label, values, interval and outcome.
fn line_of(
    label: &str,
    d: &Difference,
    (g, scale): (&Geometry, &Scale),
    (layout, top, few): (Layout, f64, bool),
    svg: &mut Svg,
) {
    let Some(ratio) = usable(d.ratio) else {
        return;
    };
    let values = format!(
        "{} → {}",
        value(d.a, &d.unit).words(""),
        value(d.b, &d.unit).words("")
    );
    let verdict = format!("{} {}", format::change(ratio), outcome_word(d, few));
    let y = match layout {
        Layout::Wide => top + 9.0,
        Layout::Narrow => top + 31.0,
    };
    match layout {
        Layout::Wide => {
            svg.text("lb", (g.label, y + 3.7), Anchor::End, label);
            svg.text("lb", (g.right + 12.0, y + 3.7), Anchor::Start, &verdict);
        }
        Layout::Narrow => {
            svg.line("grid", (0.0, top), (g.width, top));
            svg.text("lb", (0.0, top + 15.0), Anchor::Start, label);
        }
    }
    match layout {
        Layout::Wide => svg.text("tk", (g.values, y + 3.7), Anchor::End, &values),
        Layout::Narrow => {
            svg.text("tk", (0.0, y - 1.0), Anchor::Start, &values);
            svg.text("tk", (0.0, y + 10.0), Anchor::Start, &verdict);
        }
    }
    let (class, marker) = look(outcome(d, few));
    svg.group(class);
    if let (Some(low), Some(high)) = (usable(d.ci_low), usable(d.ci_high)) {
        interval((low, high), y, scale, svg);
    }
    svg.marker(marker, (scale.place(ratio), y));
    svg.end();
}

/// A bar with caps; where it goes on beyond the scale, with an arrow.
fn interval((low, high): (f64, f64), y: f64, scale: &Scale, svg: &mut Svg) {
    let (first, last) = scale.domain();
    let (a, b) = (scale.place(low), scale.place(high));
    svg.path("ln", &[(a, y), (b, y)]);
    for (end, is_clipped, inwards) in [
        (a, low.log10() < first - 1e-9, 5.0),
        (b, high.log10() > last + 1e-9, -5.0),
    ] {
        let points = match is_clipped {
            true => [(end + inwards, y - 4.0), (end, y), (end + inwards, y + 4.0)],
            false => [(end, y - 3.5), (end, y), (end, y + 3.5)],
        };
        svg.path("ln", &points);
    }
}

/// Both drawings of a forest plot: for wide windows and for narrow ones.
fn drawings(c: &Comparison, id: &str, caption: &str, lines: &[(String, &Difference)]) -> String {
    let few = has_few_rounds(c);
    let desc = format!("{} ratios with their intervals.", lines.len());
    let narrow = format!("{id}-narrow");
    [(id, Layout::Wide), (&narrow, Layout::Narrow)]
        .map(|(id, layout)| svg(id, (caption, &desc), lines, layout, few))
        .concat()
}

/// The figure of some differences, in both layouts, with their table.
pub(super) fn figure(
    c: &Comparison,
    id: &str,
    caption: &str,
    lines: &[(String, &Difference)],
    table: Option<AccountTable>,
    tags: String,
) -> Figure {
    let more = match lines.len().saturating_sub(LINES_MAX) {
        0 => String::new(),
        n => format!(" {n} more are in the table."),
    };
    let level = level(c);
    Figure {
        drawing: drawings(c, id, caption, lines),
        id: id.to_owned(),
        topic: Topic::Rows,
        of: String::new(),
        caption: caption.to_owned(),
        tags,
        how: format!(
            "Right of × 1 the compared run has the higher value. The bar is the {level} interval; an arrow at its end means that it goes on beyond the scale. ▲ better, ▼ worse, ◆ differs, ● undecided, + without an interval. A bar that crosses × 1 shows no difference, and does not prove that there is none.{more}"
        ),
        table: table.as_ref().map(Numbers::of_table).unwrap_or_default(),
        is_wide: true,
        second: String::new(),
        zoom: None,
    }
}
