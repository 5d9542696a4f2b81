//! A chart: axes, what is drawn under the lines, and lines with labels at their ends instead of a
//! legend.
//!
//! Invariants: labels never overlap; series differ by marker and dash as well as by colour;
//! muted series are for figures that are not ours.

use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, width};
use super::ticks;
use crate::format;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesStyle {
    /// Colour and marker of that number.
    Marked(usize),
    /// The same, dashed.
    Dashed(usize),
    /// Colour of that number, no markers: long series.
    Plain(usize),
    /// Grey, with a dash pattern of its own: published figures.
    Muted(usize),
    /// In the colour of text: the longest waits over a heat map.
    Top,
}

/// A line.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) look: SeriesStyle,
}

/// An axis.
pub(super) struct Axis {
    pub(super) kind: ScaleKind,
    pub(super) label: String,
    pub(super) tick: fn(f64) -> String,
    /// A value as the table beside the chart shows it.
    pub(super) say: fn(f64) -> String,
}

impl Axis {
    fn of(kind: ScaleKind, label: &str, tick: fn(f64) -> String, say: fn(f64) -> String) -> Axis {
        Axis {
            kind,
            label: label.to_owned(),
            tick,
            say,
        }
    }

    /// Latency in nanoseconds, by decades.
    pub(super) fn latency(label: &str) -> Axis {
        Axis::of(ScaleKind::Log, label, ticks::latency, format::latency)
    }

    /// Numbers of jobs.
    pub(super) fn jobs() -> Axis {
        Axis::of(ScaleKind::Doubling, "jobs", ticks::jobs, ticks::jobs)
    }

    /// Any number, by doublings.
    pub(super) fn doubling(label: &str) -> Axis {
        Axis::of(ScaleKind::Doubling, label, ticks::count, format::digits)
    }

    /// Any number, from zero.
    pub(super) fn count(label: &str) -> Axis {
        Axis::of(ScaleKind::Linear, label, ticks::count, format::digits)
    }

    /// Percentiles by their nines.
    pub(super) fn percentile() -> Axis {
        Axis::of(
            ScaleKind::Nines,
            "percentile",
            ticks::percentile,
            ticks::percentile,
        )
    }

    /// Bytes, by doublings.
    pub(super) fn bytes(label: &str) -> Axis {
        let say = |v: f64| format::bytes(v.max(0.0) as u64);
        Axis::of(ScaleKind::Doubling, label, say, say)
    }
}

/// What is drawn in the frame before the lines: cells, dots, ticks of log switches.
pub(super) type Under<'a> = Box<dyn Fn(&Frame, &mut Svg) + 'a>;

/// A chart.
pub(super) struct Chart<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// What it shows, in words, for those who can't see it.
    pub(super) desc: &'a str,
    pub(super) size: (f64, f64),
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Vertical separators with their labels.
    pub(super) marks: Vec<(f64, String)>,
    /// Points that the axes take in besides those of the lines.
    pub(super) domain: Vec<(f64, f64)>,
    pub(super) under: Option<Under<'a>>,
    /// Names stand above the plot: for lines that all end at one place.
    pub(super) has_legend: bool,
}

/// Where a chart draws.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

const LABEL_GAP: f64 = 14.0;
/// Characters of a name that are shown.
const NAME_MAX: usize = 22;

impl<'a> Chart<'a> {
    /// A chart of lines.
    pub(super) fn new(
        (id, title, desc): (&'a str, &'a str, &'a str),
        size: (f64, f64),
        (x, y): (Axis, Axis),
        series: Vec<Series>,
    ) -> Chart<'a> {
        Chart {
            id,
            title,
            desc,
            size,
            x,
            y,
            series,
            marks: Vec::new(),
            domain: Vec::new(),
            under: None,
            has_legend: false,
        }
    }

    /// As SVG; empty when there is nothing to draw.
    pub(super) fn svg(&self) -> String {
        let is_point = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let lines = self.series.iter().flat_map(|s| &s.points);
        if !lines.chain(&self.domain).any(is_point) {
            return String::new();
        }
        let frame = self.frame();
        let class = if self.is_wide() {
            "chart wide"
        } else {
            "chart"
        };
        let mut svg = Svg::open(self.id, self.size, class, self.title, self.desc);
        self.axes(&frame, &mut svg);
        if let Some(under) = &self.under {
            under(&frame, &mut svg);
        }
        for series in self.muted_first() {
            draw(series, &frame, &mut svg);
        }
        if self.has_legend {
            self.legend(&frame, &mut svg);
        } else {
            self.labels(&frame, &mut svg);
        }
        svg.close()
    }

    fn is_wide(&self) -> bool {
        self.size.0 > 600.0
    }

    fn muted_first(&self) -> impl Iterator<Item = &Series> {
        let is_muted = |s: &&Series| matches!(s.look, SeriesStyle::Muted(_));
        let ours = self.series.iter().filter(move |s| !is_muted(s));
        self.series.iter().filter(is_muted).chain(ours)
    }

    /// The frame and its scales.
    pub(super) fn frame(&self) -> Frame {
        // Wide charts stand above each other on one axis, so they keep the same room for labels.
        let least = if self.is_wide() {
            width("parallel write")
        } else {
            0.0
        };
        let named = self.series.iter().filter(|_| !self.has_legend);
        let label = named.map(|s| width(&short(&s.name))).fold(least, f64::max);
        let (w, h) = self.size;
        let (left, right) = (58.0, w - label.min(w * 0.3) - 26.0);
        let is_high = !self.marks.is_empty() || self.has_legend;
        let top = if is_high { 38.0 } else { 22.0 };
        let bottom = h - 38.0;
        let lines = || self.series.iter().flat_map(|s| s.points.iter());
        let points = || lines().chain(&self.domain);
        let x = match self.x.kind {
            ScaleKind::Linear => {
                let end = points()
                    .map(|p| p.0)
                    .filter(|v| v.is_finite())
                    .fold(0.0, f64::max);
                Scale::exact(0.0, end, left, right)
            }
            kind => Scale::fit(kind, points().map(|p| p.0), left, right),
        };
        let y = Scale::fit(self.y.kind, points().map(|p| p.1), bottom, top);
        Frame {
            left,
            right,
            top,
            bottom,
            x,
            y,
        }
    }

    fn axes(&self, f: &Frame, svg: &mut Svg) {
        svg.text("yl", (2.0, 11.0), Anchor::Start, &self.y.label);
        for tick in f.y.ticks() {
            let at = f.y.place(tick);
            svg.line("grid", (f.left, at), (f.right, at));
            svg.text(
                "tk",
                (f.left - 7.0, at + 3.7),
                Anchor::End,
                &(self.y.tick)(tick),
            );
        }
        svg.line("axis", (f.left, f.bottom), (f.right, f.bottom));
        self.x_ticks(f, svg);
        let middle = (f.left + f.right) / 2.0;
        svg.text(
            "xl",
            (middle, f.bottom + 32.0),
            Anchor::Middle,
            &self.x.label,
        );
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &self.marks {
            let at = f.x.place(*value);
            svg.line("mark", (at, f.top - 17.0), (at, f.bottom));
            // Left of its line where there is no room to the right.
            let is_left = at + 4.0 + width(text) > self.size.0;
            if is_left && at - width(text) - 8.0 >= free_from {
                svg.text("tk mt", (at - 4.0, f.top - 9.0), Anchor::End, text);
                free_from = at;
            } else if at >= free_from {
                svg.text("tk mt", (at + 4.0, f.top - 9.0), Anchor::Start, text);
                free_from = at + width(text) + 10.0;
            }
        }
    }

    /// Ticks with labels where there is room; the last one always has its label.
    fn x_ticks(&self, f: &Frame, svg: &mut Svg) {
        let ticks: Vec<(f64, String)> =
            f.x.ticks()
                .into_iter()
                .map(|t| (f.x.place(t), (self.x.tick)(t)))
                .collect();
        let ends_at = ticks
            .last()
            .map_or(f64::INFINITY, |(at, text)| at - width(text) / 2.0);
        let mut free_from = f64::NEG_INFINITY;
        for (i, (at, text)) in ticks.iter().enumerate() {
            svg.line("axis xt", (*at, f.bottom), (*at, f.bottom + 4.0));
            let half = width(text) / 2.0;
            let is_last = i + 1 == ticks.len();
            if is_last || (at - half >= free_from && at + half + 6.0 <= ends_at) {
                svg.text("tk xt", (*at, f.bottom + 16.0), Anchor::Middle, text);
                free_from = at + half + 6.0;
            }
        }
    }

    /// Names with their line's look, in a row above the plot as far as there is room.
    fn legend(&self, f: &Frame, svg: &mut Svg) {
        let mut x = f.left;
        for series in self.series.iter().filter(|s| !s.name.is_empty()) {
            if x + 24.0 > f.right {
                return;
            }
            svg.group(&class(series.look));
            svg.path("ln", &[(x, f.top - 13.0), (x + 18.0, f.top - 13.0)]);
            if let SeriesStyle::Marked(shape) | SeriesStyle::Dashed(shape) = series.look {
                svg.marker(shape, (x + 9.0, f.top - 13.0));
            }
            let name = short(&series.name);
            svg.text("lb", (x + 23.0, f.top - 9.3), Anchor::Start, &name);
            svg.end();
            x += 38.0 + width(&name);
        }
    }

    /// Names at the ends of lines, pushed apart where they would touch.
    fn labels(&self, f: &Frame, svg: &mut Svg) {
        let mut ends: Vec<(&Series, (f64, f64))> = self
            .series
            .iter()
            .filter(|s| !s.name.is_empty())
            .filter_map(|s| {
                let last = s
                    .points
                    .iter()
                    .rev()
                    .find(|p| p.0.is_finite() && p.1.is_finite())?;
                Some((s, (f.x.place(last.0), f.y.place(last.1))))
            })
            .collect();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let wanted: Vec<f64> = ends.iter().map(|e| e.1.1).collect();
        let places = spread(&wanted, f.top, f.bottom);
        for ((series, end), y) in ends.iter().zip(places) {
            let x = f.right + 10.0;
            svg.group(&class(series.look));
            if (y - end.1).abs() > 4.0 || x - end.0 > 24.0 {
                svg.line("lead", (end.0 + 5.0, end.1), (x - 3.0, y));
            }
            let name = if matches!(series.look, SeriesStyle::Muted(_)) {
                "lb dim"
            } else {
                "lb"
            };
            svg.text(name, (x, y + 3.7), Anchor::Start, &short(&series.name));
            svg.end();
        }
    }
}

/// A name as a chart has room for it: its end distinguishes it better than its middle.
fn short(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME_MAX {
        return name.to_owned();
    }
    let head: String = name.chars().take(NAME_MAX / 2 - 1).collect();
    let tail: String = name.chars().skip(count - NAME_MAX / 2).collect();
    format!("{head}…{tail}")
}

fn class(look: SeriesStyle) -> String {
    match look {
        SeriesStyle::Marked(i) | SeriesStyle::Plain(i) => format!("c{}", i % 7),
        SeriesStyle::Dashed(i) => format!("c{} dash", i % 7),
        SeriesStyle::Muted(i) => format!("mu mu{}", i % 3),
        SeriesStyle::Top => "top".to_owned(),
    }
}

fn draw(series: &Series, f: &Frame, svg: &mut Svg) {
    let place = |p: &(f64, f64)| {
        if p.0.is_finite() && p.1.is_finite() {
            (f.x.place(p.0), f.y.place(p.1))
        } else {
            (f64::NAN, f64::NAN)
        }
    };
    let places: Vec<(f64, f64)> = series.points.iter().map(place).collect();
    svg.group(&class(series.look));
    let line = if matches!(series.look, SeriesStyle::Plain(_) | SeriesStyle::Top) {
        "ln thin"
    } else {
        "ln"
    };
    svg.path(line, &places);
    if let SeriesStyle::Marked(shape) | SeriesStyle::Dashed(shape) = series.look {
        // On dense lines every so many points, each shape at places of its own.
        let every = places.len().div_ceil(24).max(1) * if places.len() > 24 { 3 } else { 1 };
        let visible = places.iter().skip(shape % every).step_by(every);
        for at in visible.filter(|p| p.0.is_finite()) {
            svg.marker(shape, *at);
        }
    }
    svg.end();
}

/// Moves ascending places apart by at least a label's height: those that would touch are
/// centred on their own mean, and all stay within `top..bottom` where that is possible.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Clusters of touching labels: sum of the places that would centre it, and members.
    let mut clusters: Vec<(f64, usize)> = Vec::new();
    let first = |(sum, n): (f64, usize)| {
        let height = LABEL_GAP * (n - 1) as f64;
        (sum / n as f64).min(bottom - height).max(top)
    };
    for y in wanted {
        let mut next = (*y, 1);
        while let Some(last) = clusters.last().copied() {
            if first(last) + LABEL_GAP * last.1 as f64 <= first(next) {
                break;
            }
            clusters.pop();
            let shift = LABEL_GAP * (last.1 * next.1) as f64;
            next = (last.0 + next.0 - shift, last.1 + next.1);
        }
        clusters.push(next);
    }
    clusters
        .into_iter()
        .flat_map(|c| (0..c.1).map(move |i| first(c) + LABEL_GAP * i as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_apart_and_stay_inside() {
        for wanted in [
            vec![50.0, 50.0, 50.0],
            vec![20.0, 21.0, 199.0, 200.0],
            vec![200.0; 8],
            vec![],
        ] {
            let places = spread(&wanted, 20.0, 200.0);
            assert!(
                places.windows(2).all(|p| p[1] - p[0] >= LABEL_GAP - 1e-9),
                "{places:?}"
            );
            assert!(
                places.iter().all(|p| (19.0..=200.0).contains(p)),
                "{places:?}"
            );
        }
    }

    #[test]
    fn a_chart_without_points_is_nothing() {
        let line = Series {
            name: "a".into(),
            points: vec![(1.0, f64::NAN)],
            look: SeriesStyle::Marked(0),
        };
        let axes = (Axis::jobs(), Axis::latency("ms"));
        let chart = Chart::new(("x", "t", "d"), (460.0, 260.0), axes, vec![line]);
        assert_eq!(chart.svg(), "");
    }
}
