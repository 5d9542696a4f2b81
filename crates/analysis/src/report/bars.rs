//! Stacked horizontal bars: where a commit's time goes.

use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, width};

/// A bar.
pub(super) struct Bar {
    pub(super) label: String,
    /// One value for each part.
    pub(super) parts: Vec<f64>,
    /// What stands at its end.
    pub(super) note: String,
}

const ROW: f64 = 24.0;
const TOP: f64 = 34.0;

/// Bars as SVG, each part in the colour of its place, with a legend above; empty without bars.
pub(super) fn svg(
    id: &str,
    title: &str,
    desc: &str,
    parts: &[&str],
    bars: &[Bar],
    tick: fn(f64) -> String,
) -> String {
    let total = |b: &Bar| b.parts.iter().filter(|p| p.is_finite()).sum::<f64>();
    if bars.is_empty() || bars.iter().all(|b| total(b) <= 0.0) {
        return String::new();
    }
    let size = (460.0, TOP + ROW * bars.len() as f64 + 26.0);
    let widest = |f: fn(&Bar) -> &str| bars.iter().map(|b| width(f(b))).fold(0.0, f64::max);
    let left = widest(|b| &b.label) + 10.0;
    let right = size.0 - widest(|b| &b.note) - 10.0;
    let scale = Scale::exact(0.0, bars.iter().map(total).fold(0.0, f64::max), left, right);
    let mut svg = Svg::open(id, size, "chart", title, desc);
    legend(&mut svg, parts);
    let bottom = TOP + ROW * bars.len() as f64;
    let ticks = Scale::fit(ScaleKind::Linear, bars.iter().map(total), left, right).ticks();
    for value in ticks.into_iter().filter(|v| scale.place(*v) < right - 1.0) {
        let at = scale.place(value);
        svg.line("grid", (at, TOP - 4.0), (at, bottom));
        svg.text("tk", (at, bottom + 14.0), Anchor::Middle, &tick(value));
    }
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        svg.text("lb", (left - 8.0, y + 13.0), Anchor::End, &bar.label);
        let mut sum = 0.0;
        for (part, value) in bar.parts.iter().enumerate() {
            let from = scale.place(sum);
            sum += value.max(0.0);
            let to = scale.place(sum);
            svg.group(&format!("p{part}"));
            svg.rect("seg", (from, y), ((to - from - 1.0).max(0.5), 17.0));
            svg.end();
        }
        svg.text(
            "lb",
            (scale.place(sum) + 6.0, y + 13.0),
            Anchor::Start,
            &bar.note,
        );
    }
    svg.close()
}

fn legend(svg: &mut Svg, parts: &[&str]) {
    let mut x = 2.0;
    for (i, name) in parts.iter().enumerate() {
        svg.group(&format!("p{i}"));
        svg.rect("seg", (x, 4.0), (11.0, 11.0));
        svg.end();
        svg.text("lb", (x + 16.0, 13.5), Anchor::Start, name);
        x += 30.0 + width(name);
    }
}
