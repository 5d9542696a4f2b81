//! A figure as SVG: rows in groups, each with a median and its range, as bars from zero or as dots
//! on a logarithmic axis, the medians in figures beside them.
//!
//! Invariants: every number is finite; text is escaped; one style serves light and dark; marks
//! differ by shape as well as by colour. The same input gives the same bytes.

use super::data::Spread;
use std::fmt::Write;

/// What a figure shows.
pub struct Chart {
    pub title: String,
    /// What the axis measures, with its unit.
    pub axis: String,
    pub kind: Kind,
    /// Names of the marks of a row, where there are several.
    pub marks: Vec<&'static str>,
    /// A line to compare with.
    pub reference: Option<(f64, &'static str)>,
    pub groups: Vec<Group>,
}

/// How it is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bars from zero.
    Bars,
    /// Dots on a logarithmic axis.
    Dots,
}

/// Rows under one heading.
pub struct Group {
    pub heading: String,
    pub rows: Vec<Line>,
}

/// One thing that was measured.
pub struct Line {
    pub label: String,
    /// Ours, not another's: drawn in the first colour.
    pub own: bool,
    /// One for each mark; `None` where it was not measured.
    pub values: Vec<Option<Spread>>,
}

const WIDTH: f64 = 820.0;
const LEFT: f64 = 214.0;
const RIGHT: f64 = 610.0;
const ROW: f64 = 19.0;
const TOP: f64 = 62.0;
const STYLE: &str = "svg{--bg:#fff;--ink:#171a1f;--dim:#5a6472;--grid:#e3e7ec;--a:#0072b2;\
    --b:#8a94a1;--c:#d55e00;--d:#009e73}\
    @media(prefers-color-scheme:dark){svg{--bg:#14171b;--ink:#e8eaed;--dim:#a3adb8;--grid:#2c323a;\
    --a:#56b4e9;--b:#7d8793;--c:#f0894a;--d:#3fc79a}}\
    text{font:12px system-ui,sans-serif;fill:var(--ink)}.h{font-size:15px;font-weight:600}\
    .g{font-weight:600}.d{fill:var(--dim)}.bg{fill:var(--bg)}.grid{stroke:var(--grid)}\
    .ref{stroke:var(--c);stroke-dasharray:4 3}.m0{fill:var(--a)}.m1{fill:var(--d)}\
    .m2{fill:var(--c)}.m3{fill:var(--b)}.o{fill:var(--b)}\
    .w{stroke:var(--ink);stroke-width:1.2}";

/// The axis: from a value to a place.
struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(chart: &Chart) -> Option<Scale> {
        let lines = chart.groups.iter().flat_map(|g| &g.rows);
        let spreads = lines.flat_map(|l| l.values.iter().flatten());
        let ends = spreads.flat_map(|s| [s.least, s.most]);
        let positive = |v: &f64| v.is_finite() && *v > 0.0;
        let mut ends: Vec<f64> = ends.filter(positive).collect();
        // A line to compare with is nothing without what it is compared with.
        let reference = chart.reference.filter(|_| !ends.is_empty());
        ends.extend(reference.map(|(value, _)| value).filter(positive));
        let low = ends.iter().copied().reduce(f64::min)?;
        let high = ends.iter().copied().reduce(f64::max)?;
        let (low, high) = match chart.kind {
            Kind::Bars => (0.0, high * 1.02),
            Kind::Dots => (low.log10().floor(), (high * 1.02).log10()),
        };
        let high = if high > low { high } else { low + 1.0 };
        Some(Scale {
            kind: chart.kind,
            low,
            high,
        })
    }

    fn place(&self, value: f64) -> f64 {
        let inner = match self.kind {
            Kind::Bars => value,
            Kind::Dots => value.max(1e-12).log10(),
        };
        let part = (inner - self.low) / (self.high - self.low);
        LEFT + part.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Bars => {
                let raw = self.high / 5.0;
                let decade = 10f64.powf(raw.log10().floor());
                let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * decade);
                let step = steps.into_iter().find(|s| *s >= raw).unwrap_or(raw);
                let count = (self.high / step).floor() as u32;
                (0..=count).map(|i| f64::from(i) * step).collect()
            }
            Kind::Dots => (self.low as i32..=self.high.floor() as i32)
                .map(|e| 10f64.powi(e))
                .collect(),
        }
    }
}

/// The figure; `None` when nothing in it was measured.
pub fn draw(chart: &Chart) -> Option<String> {
    let scale = Scale::of(chart)?;
    let lines: usize = chart.groups.iter().map(|g| g.rows.len() + 1).sum();
    let bottom = TOP + ROW * lines as f64 + 4.0;
    let height = bottom + 40.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n\
         <rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escape(&chart.title)
    );
    text(&mut out, "h", (12.0, 22.0), "start", &chart.title);
    legend(chart, &mut out);
    for tick in scale.ticks() {
        let x = scale.place(tick);
        line(&mut out, "grid", (x, TOP - 4.0), (x, bottom));
        text(&mut out, "d", (x, bottom + 15.0), "middle", &short(tick));
    }
    let middle = (LEFT + RIGHT) / 2.0;
    text(
        &mut out,
        "d",
        (middle, bottom + 32.0),
        "middle",
        &chart.axis,
    );
    let mut y = TOP;
    for group in &chart.groups {
        y += ROW;
        text(&mut out, "g", (12.0, y - 5.0), "start", &group.heading);
        for row in &group.rows {
            y += ROW;
            row_of(row, chart, &scale, y, &mut out);
        }
    }
    if let Some((value, name)) = chart.reference {
        let x = scale.place(value);
        line(&mut out, "ref", (x, TOP - 4.0), (x, bottom));
        text(&mut out, "d", (x, TOP - 8.0), "middle", name);
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn legend(chart: &Chart, out: &mut String) {
    let mut x = 12.0;
    let name = |x: f64, of: &str, out: &mut String| {
        text(out, "d", (x, 42.0), "start", of);
        x + 7.0 * of.chars().count() as f64 + 26.0
    };
    if chart.marks.len() > 1 {
        for (index, of) in chart.marks.iter().enumerate() {
            mark(out, index, &format!("m{index}"), (x + 5.0, 38.0));
            x = name(x + 14.0, of, out);
        }
    }
    name(x, "median, least to most of the rounds", out);
}

fn row_of(row: &Line, chart: &Chart, scale: &Scale, y: f64, out: &mut String) {
    let at = y - 9.0;
    text(out, "", (LEFT - 8.0, y - 5.0), "end", &row.label);
    for (index, spread) in row.values.iter().enumerate() {
        let Some(spread) = spread else { continue };
        let several = chart.marks.len() > 1;
        let class = match (several, row.own) {
            (true, _) => format!("m{index}"),
            (false, true) => "m0".to_owned(),
            (false, false) => "o".to_owned(),
        };
        let x = scale.place(spread.median);
        if chart.kind == Kind::Bars {
            let width = round(x - LEFT);
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{}\" width=\"{width}\" height=\"13\"/>",
                round(at - 6.5)
            );
        }
        if spread.most > spread.least {
            let (from, to) = (scale.place(spread.least), scale.place(spread.most));
            line(out, "w", (from, at), (to, at));
        }
        if chart.kind == Kind::Dots {
            mark(out, index, &class, (x, at));
        }
    }
    let medians = row.values.iter();
    let medians = medians.map(|v| v.map_or("–".to_owned(), |s| short(s.median)));
    let medians: Vec<String> = medians.collect();
    text(
        out,
        "d",
        (RIGHT + 10.0, y - 5.0),
        "start",
        &medians.join(" · "),
    );
}

/// One of four shapes.
fn mark(out: &mut String, index: usize, class: &str, at: (f64, f64)) {
    let (x, y) = (round(at.0), round(at.1));
    let path = match index % 4 {
        0 => format!("M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"),
        1 => format!("M{x} {y}m-3.5 -3.5h7v7h-7Z"),
        2 => format!("M{x} {y}m0 -4.5l4.2 7.5h-8.4Z"),
        _ => format!("M{x} {y}m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6Z"),
    };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
}

fn line(out: &mut String, class: &str, a: (f64, f64), b: (f64, f64)) {
    let [x1, y1, x2, y2] = [a.0, a.1, b.0, b.1].map(round);
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
    );
}

fn text(out: &mut String, class: &str, at: (f64, f64), anchor: &str, text: &str) {
    let (x, y) = (round(at.0), round(at.1));
    let text = escape(text);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

fn round(value: f64) -> f64 {
    if value.is_finite() {
        (value * 10.0).round() / 10.0
    } else {
        0.0
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Three significant digits: `0.98`, `12.3`, `1,230`, `193k`, `2.01M`.
fn short(value: f64) -> String {
    let trimmed = |text: String| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    let digits = |v: f64| match v.abs() {
        a if a < 1.0 => trimmed(format!("{v:.3}")),
        a if a < 9.995 => trimmed(format!("{v:.2}")),
        a if a < 99.95 => trimmed(format!("{v:.1}")),
        _ => format!("{v:.0}"),
    };
    match value.abs() {
        a if a < 9_999.5 => digits(value),
        a if a < 999_500.0 => format!("{}k", digits(value / 1e3)),
        _ => format!("{}M", digits(value / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(kind: Kind, values: Vec<Option<Spread>>) -> Chart {
        let row = Line {
            label: "a<b".to_owned(),
            own: true,
            values,
        };
        Chart {
            title: "t & u".to_owned(),
            axis: "µs".to_owned(),
            kind,
            marks: vec!["p50", "p99"],
            reference: Some((1.0, "floor")),
            groups: vec![Group {
                heading: "8 threads".to_owned(),
                rows: vec![row],
            }],
        }
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        assert_eq!(draw(&chart(Kind::Bars, vec![None])), None);
        let values = vec![Spread::of([2.0, 3.0, 9.0]), None];
        for kind in [Kind::Bars, Kind::Dots] {
            let svg = draw(&chart(kind, values.clone())).expect("a value");
            assert!(svg.contains("3 · –") && svg.contains("a&lt;b"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert_eq!(svg.matches("class=\"w\"").count(), 1, "{svg}");
        }
    }

    #[test]
    fn places_are_inside_and_ticks_are_round() {
        let values = vec![Spread::of([90.0, 100.0, 4_100.0])];
        let dots = Scale::of(&chart(Kind::Dots, values.clone())).expect("values");
        assert_eq!(dots.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        let bars = Scale::of(&chart(Kind::Bars, values)).expect("values");
        assert_eq!(bars.ticks(), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        for value in [-1.0, 0.0, f64::NAN, 1e30] {
            for scale in [&dots, &bars] {
                let place = scale.place(value);
                assert!(place.is_nan() || (LEFT..=RIGHT).contains(&place), "{value}");
            }
        }
    }

    #[test]
    fn figures_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (0.976, "0.976"),
            (1.05, "1.05"),
            (10.0, "10"),
            (193_971.0, "194k"),
            (2_010_000.0, "2.01M"),
        ] {
            assert_eq!(short(value), expected);
        }
    }
}
