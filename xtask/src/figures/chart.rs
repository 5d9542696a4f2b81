//! A figure of the documentation: rows in groups, each with a median and its range, as bars from
//! zero or as dots on a logarithmic axis, the medians in figures beside them. It is drawn with the
//! pieces of the product's reports (`analysis::report::drawing`).
//!
//! Invariants: what was not measured is not drawn; marks differ by shape as well as by colour. The
//! same input gives the same bytes.

use super::data::Spread;
pub use analysis::report::drawing::ScaleKind;
use analysis::report::drawing::{Anchor, Scale, Svg, count, file, width};
use measure::words::digits;

/// What a figure shows.
pub struct Chart {
    pub title: String,
    /// What the axis measures, with its unit.
    pub axis: String,
    /// Bars from zero where it is linear, else dots.
    pub kind: ScaleKind,
    /// Names of the marks of a row, where there are several.
    pub marks: Vec<&'static str>,
    /// A line to compare with.
    pub reference: Option<(f64, &'static str)>,
    pub groups: Vec<Group>,
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

const WIDTH: f64 = 800.0;
const RIGHT: f64 = 580.0;
const ROW: f64 = 19.0;
const TOP: f64 = 34.0;
/// Colours of a row's marks, and those of a row with one: of our own, and of another's.
const MARKS: [&str; 4] = ["c0", "c2", "c1", "mu"];
const ONE: [&str; 2] = ["c0", "mu"];

/// The figure as a file; `None` when nothing in it was measured. `data` names its files.
pub fn draw(chart: &Chart, data: &[&str]) -> Option<String> {
    let lines = || chart.groups.iter().flat_map(|g| &g.rows);
    let spreads = || lines().flat_map(|l| l.values.iter().flatten());
    spreads().next()?;
    let ends = spreads().flat_map(|s| [s.least, s.most]);
    let ends = ends.chain(chart.reference.map(|(value, _)| value));
    let left = lines().map(|l| width(&l.label)).fold(120.0, f64::max) + 12.0;
    let scale = Scale::fit(chart.kind, ends, left, RIGHT);
    let bottom = TOP + ROW * (lines().count() + chart.groups.len()) as f64 + 4.0;
    let mut svg = Svg::open("figure", (WIDTH, bottom + 40.0), "", &chart.title, "");
    legend(chart, &mut svg);
    for tick in scale.ticks() {
        let x = scale.place(tick);
        svg.line("grid", (x, TOP - 4.0), (x, bottom));
        svg.text("tk", (x, bottom + 15.0), Anchor::Middle, &count(tick));
    }
    let middle = ((left + RIGHT) / 2.0, bottom + 32.0);
    svg.text("xl", middle, Anchor::Middle, &chart.axis);
    if let Some((value, name)) = chart.reference {
        let x = scale.place(value);
        svg.line("need", (x, TOP - 4.0), (x, bottom));
        svg.text("tk", (x, TOP - 8.0), Anchor::Middle, name);
    }
    let mut y = TOP;
    for group in &chart.groups {
        y += ROW;
        svg.text("lb", (0.0, y - 5.0), Anchor::Start, &group.heading);
        for row in &group.rows {
            y += ROW;
            svg.text("tk", (left - 8.0, y - 5.0), Anchor::End, &row.label);
            values(row, chart, &scale, y - 9.0, &mut svg);
        }
    }
    let mut folders: Vec<&str> = data
        .iter()
        .filter_map(|d| Some(d.rsplit_once('/')?.0))
        .collect();
    folders.dedup();
    let from = folders.join(", ");
    let source = format!("median, least to most of the rounds · {from}");
    Some(file(&chart.title, &source, &[&svg.close()]))
}

/// The names of the marks, where a row has several.
fn legend(chart: &Chart, svg: &mut Svg) {
    let mut x = 5.0;
    for (index, name) in chart.marks.iter().enumerate() {
        svg.group(MARKS[index % MARKS.len()]);
        svg.marker(index, (x, 8.0));
        svg.end();
        svg.text("tk", (x + 9.0, 12.0), Anchor::Start, name);
        x += width(name) + 30.0;
    }
}

/// The values of a row around `y`, and its medians in figures.
fn values(row: &Line, chart: &Chart, scale: &Scale, y: f64, svg: &mut Svg) {
    for (index, spread) in row.values.iter().enumerate() {
        let Some(spread) = spread else { continue };
        let class = match chart.marks.is_empty() {
            true => ONE[usize::from(!row.own)],
            false => MARKS[index % MARKS.len()],
        };
        let [zero, x] = [0.0, spread.median].map(|v| scale.place(v));
        svg.group(class);
        match chart.kind {
            ScaleKind::Linear => svg.rect("bar", (zero, y - 6.5), (x - zero, 13.0)),
            _ => svg.marker(index, (x, y)),
        }
        svg.end();
        if spread.most > spread.least {
            let ends = [spread.least, spread.most].map(|v| (scale.place(v), y));
            svg.group("top");
            svg.path("ln", &ends);
            svg.end();
        }
    }
    let medians = row.values.iter();
    let medians = medians.map(|v| v.map_or("–".to_owned(), |s| digits(s.median)));
    let medians = medians.collect::<Vec<_>>().join(" · ");
    svg.text("lb", (RIGHT + 12.0, y + 4.0), Anchor::Start, &medians);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        let chart = |kind, values| Chart {
            title: "t & u".to_owned(),
            axis: "µs".to_owned(),
            kind,
            marks: vec!["p50", "p99"],
            reference: Some((1.0, "floor")),
            groups: vec![Group {
                heading: "8 threads".to_owned(),
                rows: vec![Line {
                    label: "a<b".to_owned(),
                    own: true,
                    values,
                }],
            }],
        };
        assert_eq!(
            draw(
                &chart(ScaleKind::Linear, vec![None]),
                &["e/d.csv", "e/f.csv"]
            ),
            None
        );
        let values = vec![Spread::of([2.0, 3.0, 9.0]), None];
        for (kind, bars, marks) in [(ScaleKind::Linear, 1, 2), (ScaleKind::Log, 0, 3)] {
            let svg = draw(&chart(kind, values.clone()), &["e/d.csv", "e/f.csv"]).expect("a value");
            assert!(svg.contains("3.00 · –") && svg.contains("a&lt;b") && svg.contains("· e<"));
            assert_eq!(svg.matches("class=\"bar\"").count(), bars, "{svg}");
            assert_eq!(svg.matches("class=\"mk\"").count(), marks, "{svg}");
            assert_eq!(svg.matches("class=\"top\"").count(), 1, "{svg}");
        }
    }
}
