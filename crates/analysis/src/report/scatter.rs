//! Scatter plots of single waits: latency against time or sequence, and against the size of the
//! write (study 000). From events where there are some, else from the stretches of an import.

use super::chart::{Axis, Chart, Frame};
use super::data::{ReportData, RowEvents};
use super::figure::{Figure, Numbers};
use super::figures::SMALL;
use super::sample::SampledEvent;
use super::svg::Svg;
use super::topic::Topic;
use super::{Section, origin_tag};
use crate::format;
use measure::run::Run;

const WIDE: (f64, f64) = (1060.0, 220.0);
/// Most rows and events that are shown.
const PROCESSES_MAX: usize = 6;
/// Longest waits that a figure's table lists.
const LISTED: usize = 20;

/// Dots, most of them the same colour; those that stand for the longest stand out.
pub(super) struct Dots {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) class: &'static str,
}

/// A chart of dots.
pub(super) fn chart<'a>(
    names: (&'a str, &'a str, &'a str),
    size: (f64, f64),
    axes: (Axis, Axis),
    dots: &'a [Dots],
) -> Chart<'a> {
    let mut chart = Chart::new(names, size, axes, Vec::new());
    chart.domain = dots.iter().flat_map(|d| d.points.iter().copied()).collect();
    chart.under = Some(Box::new(move |f: &Frame, svg: &mut Svg| {
        for group in dots {
            let usable = group
                .points
                .iter()
                .filter(|p| p.0.is_finite() && p.1.is_finite());
            let places: Vec<(f64, f64)> =
                usable.map(|p| (f.x.place(p.0), f.y.place(p.1))).collect();
            svg.dots(group.class, &places);
        }
    }));
    chart
}

/// Scatter plots of a run's events.
pub(super) fn section(run: &Run, data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, events) in data.events.iter().take(PROCESSES_MAX).enumerate() {
        let row = run.rows.get(events.row);
        let name = row.map_or("", |r| r.workload.as_str());
        let jobs = row.map_or_else(String::new, |r| format!(" with {}", format::jobs(r.jobs)));
        let what = format!("{name}{jobs}: {}", events.event.replace('_', " "));
        let sample = events.sample.events();
        figures.push(against_time(run, i, events, &sample, &what).of(name));
        figures.push(against_size(run, i, &sample, &what).of(name));
    }
    Section::figures(
        "scatter",
        "Single waits",
        "A dot is one wait. The dots show what means and percentiles hide: regular peaks, waits that were served in two ways, writes that are slow because they are large.",
        figures,
    )
}

fn against_time(
    run: &Run,
    i: usize,
    events: &RowEvents,
    sample: &[SampledEvent],
    what: &str,
) -> Figure {
    let (unit, label, word) = if events.has_time {
        (1e9, "seconds since the first", "time")
    } else {
        (
            1.0,
            "number of the wait: there are no time stamps",
            "sequence",
        )
    };
    let points = sample.iter().map(|e| (e.at as f64 / unit, e.ns as f64));
    let dots = [Dots {
        points: points.collect(),
        class: "dot c0",
    }];
    let id = format!("sc{i}");
    let title = format!("{what} against {word}");
    let longest = sample.iter().map(|e| e.ns).max().unwrap_or(0);
    let desc = format!(
        "{} waits; the longest took {}.",
        format::count(events.sample.seen()),
        format::latency(longest as f64)
    );
    let axes = (Axis::count(label), Axis::latency("latency"));
    let chart = chart((&id, &title, &desc), WIDE, axes, &dots);
    let how = format!(
        "A dot far above the others is a peak. Peaks at even distances have a periodic cause; a row of peaks is one stall in which many waits took long. {}",
        events.sample.note()
    );
    let mut figure = Figure::of_chart(Topic::Scatter, &chart, origin_tag(run), how.trim_end());
    figure.table = longest_of(sample, unit);
    figure
}

fn against_size(run: &Run, i: usize, sample: &[SampledEvent], what: &str) -> Figure {
    let sized = sample
        .iter()
        .filter_map(|e| Some((e.bytes? as f64, e.ns as f64)));
    let dots = [Dots {
        points: sized.collect(),
        class: "dot c1",
    }];
    let id = format!("sz{i}");
    let title = format!("{what} against bytes written");
    let axes = (Axis::bytes("bytes written"), Axis::latency("latency"));
    let desc = "Latency of single log writes by their size.";
    let chart = chart((&id, &title, desc), SMALL, axes, &dots);
    let how = "A cloud that climbs to the right shows bandwidth; a flat cloud shows a cost per durable write that does not depend on its size.";
    let mut figure = Figure::of_chart(Topic::Scatter, &chart, origin_tag(run), how);
    figure.table = Numbers::default();
    figure
}

/// The longest waits of a sample, longest first.
fn longest_of(sample: &[SampledEvent], unit: f64) -> Numbers {
    let mut all: Vec<&SampledEvent> = sample.iter().collect();
    all.sort_by_key(|e| std::cmp::Reverse(e.ns));
    let line = |e: &&SampledEvent| {
        vec![
            format::digits(e.at as f64 / unit),
            format::latency(e.ns as f64),
            e.bytes.map_or_else(|| "–".to_owned(), format::bytes),
        ]
    };
    Numbers {
        head: ["At", "Latency", "Written"].map(str::to_owned).to_vec(),
        lines: all.iter().take(LISTED).map(line).collect(),
        note: format!("The {} longest.", LISTED.min(all.len())),
    }
}
