//! The one drawing of the first screen: percentiles of log file sync and commits per second
//! against jobs, with the stated need drawn in. A run of one number of jobs has a percentile curve
//! and its seconds instead.
//!
//! Invariants: it is of LGWR-LAT1 where that was run, else of the first workload that committed;
//! a percentile that too few waits support is not drawn.

use super::chart::{Axis, Chart, Frame, Series, SeriesStyle};
use super::figure::{Figure, Numbers};
use super::svg::{Anchor, Svg, width};
use super::topic::Topic;
use super::{figures, origin_tag};
use crate::account::answer::capitalised;
use crate::format;
use crate::rows::{COMMITS, commit_wait_of, name_of, rows_of, sync_of, workloads};
use measure::run::{Row, Run, WaitStats};

/// Half of the first screen's width.
const SIZE: (f64, f64) = (560.0, 232.0);
/// Id of the figure.
pub(super) const ID: &str = "answer";

/// `None` where nothing committed.
pub(super) fn figure(run: &Run) -> Option<Figure> {
    let name = workload(run)?;
    let rows = one_of_each(rows_of(run, name));
    let figure = if rows.len() > 1 {
        against_jobs(run, name, &rows)
    } else {
        one_row(run, rows.first()?)
    };
    Some(figure).filter(|f| !f.drawing.is_empty())
}

fn workload(run: &Run) -> Option<&str> {
    // No commit of a watched log was seen: its server counted them, if anybody did.
    let committed = |row: &&Row| {
        row.watched.is_none() && row.commit_throughput_tps.is_some_and(|tps| tps > 0.0)
    };
    let names = workloads(run);
    let first = names
        .iter()
        .find(|name| rows_of(run, name).iter().any(committed));
    let standard = names.iter().find(|name| **name == COMMITS);
    standard.or(first).copied()
}

/// The first row of each number of jobs: a soak, or a further round, has a figure of its own.
fn one_of_each(rows: Vec<&Row>) -> Vec<&Row> {
    let mut out: Vec<&Row> = Vec::new();
    for row in rows {
        if out.last().is_none_or(|last| last.jobs != row.jobs) {
            out.push(row);
        }
    }
    out
}

/// What the waits of `row` are called.
fn wait_name(row: Option<&&Row>) -> &'static str {
    match row.and_then(|row| sync_of(row)) {
        Some(_) => "log file sync",
        None => "commit latency",
    }
}

fn against_jobs(run: &Run, name: &str, rows: &[&Row]) -> Figure {
    let wait = wait_name(rows.first());
    let waits = percentiles(run, wait, rows);
    let rates = rates(run, rows);
    let title = format!("{}, and commits per second: {name}", capitalised(wait));
    let mut figure = Figure::of_chart(Topic::Answer, &waits, origin_tag(run), "");
    figure.how = format!(
        "Left: half of all commits waited less than p50, one in a hundred longer than p99. Right: where the line stops rising, more jobs only queue.{}",
        match need_is_drawn(run) {
            true => " The dashed line is the need: waits have to be below it, commits above it.",
            false => "",
        }
    );
    figure.caption = title;
    figure.id = ID.to_owned();
    figure.second = rates.svg();
    figure.is_wide = true;
    figure.table = numbers(rows);
    figure
}

fn need_is_drawn(run: &Run) -> bool {
    run.need.p99_ns.is_some() || run.need.commit_rate.is_some()
}

/// The value of a percentile; `None` where too few waits are beyond it.
type Percentile = fn(&WaitStats) -> Option<u64>;

fn percentiles<'a>(run: &Run, wait: &'a str, rows: &[&Row]) -> Chart<'a> {
    let parts: [(&str, Percentile); 3] = [
        ("p50", |w| w.p50_ns),
        ("p99", |w| w.p99_ns),
        ("p99.9", |w| w.p999_ns),
    ];
    let series = parts.iter().enumerate().map(|(k, (name, value))| {
        let point = |row: &&Row| {
            let ns = value(commit_wait_of(row)?)?;
            Some((f64::from(row.jobs), ns as f64))
        };
        Series {
            name: (*name).to_owned(),
            points: rows.iter().filter_map(point).collect(),
            look: SeriesStyle::Marked(k),
        }
    });
    let axes = (Axis::jobs(), Axis::latency(wait));
    let names = (
        "answer-waits",
        "Percentiles against jobs",
        "The table below has the figures.",
    );
    let mut chart = Chart::new(names, SIZE, axes, series.collect());
    let need = run.need.p99_ns.map(|ns| ns as f64);
    let text = need.map_or_else(String::new, |ns| {
        format!("needed p99: {}", format::latency(ns))
    });
    draw_need(&mut chart, need, text, rows);
    chart
}

fn rates(run: &Run, rows: &[&Row]) -> Chart<'static> {
    let points = rows
        .iter()
        .filter_map(|row| Some((f64::from(row.jobs), row.commit_throughput_tps?)));
    let line = Series {
        name: String::new(),
        points: points.collect(),
        look: SeriesStyle::Marked(0),
    };
    let axes = (Axis::jobs(), Axis::count("commits / s"));
    let names = (
        "answer-rates",
        "Commits per second against jobs",
        "The table below has the figures.",
    );
    let mut chart = Chart::new(names, SIZE, axes, vec![line]);
    let need = run.need.commit_rate;
    let text = need.map_or_else(String::new, |rate| {
        format!("needed: {} commits/s", format::digits(rate))
    });
    draw_need(&mut chart, need, text, rows);
    chart
}

/// A dashed line across the plot, with what is needed beside it where no line of the plot is.
fn draw_need(chart: &mut Chart<'_>, need: Option<f64>, text: String, rows: &[&Row]) {
    let Some(value) = need.filter(|v| v.is_finite() && *v > 0.0) else {
        return;
    };
    let jobs = rows.first().map_or(1.0, |row| f64::from(row.jobs));
    chart.domain.push((jobs, value));
    let lines: Vec<Vec<(f64, f64)>> = chart.series.iter().map(|s| s.points.clone()).collect();
    chart.under = Some(Box::new(move |f: &Frame, svg: &mut Svg| {
        let y = f.y.place(value);
        svg.line("need", (f.left, y), (f.right, y));
        let at = free_place(f, y, 1.1 * width(&text), &lines);
        svg.text("lb needed", at, Anchor::Start, &text);
    }));
}

/// Where a text of that width beside the height `y` is crossed least: its left end and base line.
fn free_place(f: &Frame, y: f64, width: f64, lines: &[Vec<(f64, f64)>]) -> (f64, f64) {
    const STEPS: u32 = 24;
    let (left, right) = (f.left + 6.0, f.right - 6.0 - width);
    let places = [left, right, f64::midpoint(left, right)];
    let places = [y - 5.0, y + 13.0]
        .into_iter()
        .filter(|y| (f.top + 8.0..f.bottom - 3.0).contains(y))
        .flat_map(|y| places.map(|x| (x, y)));
    let is_within = |(x, y): (f64, f64), p: (f64, f64)| {
        (x - 4.0..x + width + 4.0).contains(&p.0) && (y - 13.0..y + 5.0).contains(&p.1)
    };
    let crossed = |place: (f64, f64)| -> usize {
        let pairs = lines.iter().flat_map(|line| line.windows(2));
        let points = pairs.flat_map(|pair| {
            let [a, b] = [pair[0], pair[1]].map(|p| (f.x.place(p.0), f.y.place(p.1)));
            (0..=STEPS).map(move |i| {
                let part = f64::from(i) / f64::from(STEPS);
                (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part)
            })
        });
        points.filter(|p| is_within(place, *p)).count()
    };
    places
        .min_by_key(|place| crossed(*place))
        .unwrap_or((left, y - 5.0))
}

fn numbers(rows: &[&Row]) -> Numbers {
    let dash = || "–".to_owned();
    let ns = |ns: Option<u64>| ns.map_or_else(dash, |ns| format::latency(ns as f64));
    let line = |row: &&Row| {
        let wait = commit_wait_of(row);
        vec![
            row.jobs.to_string(),
            row.commit_throughput_tps.map_or_else(dash, format::digits),
            wait.map_or_else(dash, |w| format::latency(w.mean_ns)),
            ns(wait.and_then(|w| w.p50_ns)),
            ns(wait.and_then(|w| w.p99_ns)),
            ns(wait.and_then(|w| w.p999_ns)),
            ns(wait.map(|w| w.max_ns)),
        ]
    };
    let head = [
        "Jobs",
        "Commits/s",
        "Mean",
        "p50",
        "p99",
        "p99.9",
        "Longest",
    ];
    Numbers {
        head: head.map(str::to_owned).to_vec(),
        lines: rows.iter().map(line).collect(),
        note: String::new(),
    }
}

/// The percentile curve of the only number of jobs, and its commits by second.
fn one_row(run: &Run, row: &Row) -> Figure {
    let wait = wait_name(Some(&row));
    let name = name_of(row);
    let curve = row
        .curves
        .get("log_file_sync")
        .map_or(&[][..], Vec::as_slice);
    let mut line = figures::curve(0, String::new(), curve);
    line.look = SeriesStyle::Marked(0);
    let axes = (Axis::percentile(), Axis::latency(wait));
    let names = (
        "answer-waits",
        "Percentile curve",
        "The table below has the figures.",
    );
    let mut waits = Chart::new(names, SIZE, axes, vec![line]);
    if let Some(need) = run.need.p99_ns.map(|ns| ns as f64) {
        let text = format!("needed p99: {}", format::latency(need));
        draw_need(&mut waits, Some(need), text, &[]);
    }
    let seconds = by_second(row);
    let mut figure = Figure::of_chart(Topic::Answer, &waits, origin_tag(run), "");
    let (waits, seconds) = (figure.drawing, seconds.svg());
    (figure.drawing, figure.second) = match waits.is_empty() {
        true => (seconds, String::new()),
        false => (waits, seconds),
    };
    figure.how =
        "Left: each step to the right is ten times rarer; the last point is the longest wait. Right: commits per second, second by second.".to_owned();
    figure.caption = format!("{} and commits per second: {name}", capitalised(wait));
    figure.id = ID.to_owned();
    figure.is_wide = true;
    figure.table = numbers(&[row]);
    figure
}

fn by_second(row: &Row) -> Chart<'static> {
    const MOST: usize = 400;
    let group = row.intervals.len().div_ceil(MOST).max(1);
    let point = |chunk: &[measure::run::Interval]| {
        let seconds: f64 = chunk.iter().map(|i| i.seconds).sum();
        let commits: u64 = chunk.iter().map(|i| i.commits).sum();
        let end = chunk.last().map_or(f64::NAN, |i| i.t_s);
        (end - seconds / 2.0, commits as f64 / seconds)
    };
    let line = Series {
        name: String::new(),
        points: row.intervals.chunks(group).map(point).collect(),
        look: SeriesStyle::Plain(0),
    };
    let axes = (Axis::count("measured seconds"), Axis::count("commits / s"));
    let names = (
        "answer-rates",
        "Commits by second",
        "The section on seconds has the figures.",
    );
    let mut chart = Chart::new(names, SIZE, axes, vec![line]);
    let end = row.intervals.last().map_or(f64::NAN, |i| i.t_s);
    chart.domain = vec![(end, f64::NAN)];
    chart
}
