//! The seconds of a run: throughput and the longest waits, the rows of a workload one after the
//! other on one axis of measured time.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::figure::Figure;
use super::figures::names;
use super::topic::Topic;
use super::zoom::{self, Full};
use super::{Section, heat, origin_tag};
use crate::format;
use crate::rows::rows_of;
use measure::run::{Interval, Row, Run};

/// Most points of a drawing.
const MAX_SECONDS: usize = 480;
const SIZE: (f64, f64) = (1060.0, 176.0);

pub(super) fn series(run: &Run) -> Option<Section> {
    let mut figures = Vec::new();
    let names = names(run);
    let full = zoom::points_each(names.len());
    for (i, name) in names.iter().enumerate() {
        let rows = rows_of(run, name);
        let (strip, full) = (Strip::of(&rows, MAX_SECONDS), Strip::of(&rows, full));
        figures.push(strip.rate_figure(run, i, name, &full).of(name));
        figures.push(strip.longest_figure(run, i, name, &full).of(name));
    }
    Section::figures(
        "series",
        "Second by second",
        "All rows of a workload one after the other, separated by their numbers of jobs. If a long series is condensed for the drawing, its peaks are kept. If scripts are enabled, you can zoom: drag, use the buttons, or press + − ← → 0.",
        figures,
    )
}

const SECONDS: &str = "measured seconds, rows one after the other";

/// The intervals of a workload's rows on one axis of measured seconds.
#[derive(Default)]
struct Strip {
    rate: Vec<(f64, f64)>,
    sync: Vec<(f64, f64)>,
    write: Vec<(f64, f64)>,
    marks: Vec<(f64, String)>,
    switches: Vec<f64>,
    /// Where the last row ends.
    end_s: f64,
}

impl Strip {
    fn rate_figure(&self, run: &Run, i: usize, name: &str, full: &Strip) -> Figure {
        let line = Series {
            name: String::new(),
            points: self.rate.clone(),
            look: SeriesStyle::Plain(0),
        };
        let (id, title) = (format!("ts{i}"), format!("{name}: commits by second"));
        let desc = "Throughput of each interval; vertical lines separate the numbers of jobs.";
        let axes = (Axis::count(SECONDS), Axis::count("commits / s"));
        let chart = self.chart((&id, &title, desc), axes, vec![line]);
        let how = "Throughput that decays within a row points to a cache that fills or a cap that is reached. Dips at even distances point to log switches, checkpoints or garbage collection.";
        let mut figure = Figure::of_chart(Topic::Rate, &chart, origin_tag(run), how);
        figure.zoom = zoom::json(&chart, &full.values(&[&full.rate]));
        figure
    }

    fn longest_figure(&self, run: &Run, i: usize, name: &str, full: &Strip) -> Figure {
        let line = |name: &str, points: &[(f64, f64)], colour| Series {
            name: name.to_owned(),
            points: points.to_vec(),
            look: SeriesStyle::Plain(colour),
        };
        let lines = vec![
            line("log file sync", &self.sync, 1),
            line("parallel write", &self.write, 0),
        ];
        let (id, title) = (format!("tm{i}"), format!("{name}: longest wait by second"));
        let desc = "Longest log file sync and longest log file parallel write of each interval.";
        let axes = (Axis::count(SECONDS), Axis::latency("longest"));
        let chart = self.chart((&id, &title, desc), axes, lines);
        let how = "If log file parallel write and log file sync have a peak together, the device causes it. If only log file sync has a peak, the device does not cause it.";
        let mut figure = Figure::of_chart(Topic::Longest, &chart, origin_tag(run), how);
        figure.zoom = zoom::json(&chart, &full.values(&[&full.sync, &full.write]));
        figure
    }

    fn chart<'a>(
        &'a self,
        names: (&'a str, &'a str, &'a str),
        axes: (Axis, Axis),
        lines: Vec<Series>,
    ) -> Chart<'a> {
        let mut chart = Chart::new(names, SIZE, axes, lines);
        chart.marks.clone_from(&self.marks);
        chart.domain = vec![(self.end_s, f64::NAN)];
        chart.under = Some(Box::new(|f, svg| heat::rug(&self.switches, f, svg)));
        chart
    }

    /// Every point, as the script wants them.
    fn values(&self, lines: &[&Vec<(f64, f64)>]) -> Full {
        Full {
            at: self.rate.iter().map(|p| p.0).collect(),
            lines: lines
                .iter()
                .map(|l| l.iter().map(|p| p.1).collect())
                .collect(),
        }
    }

    /// At most about `most` points.
    fn of(rows: &[&Row], most: usize) -> Strip {
        let mut strip = Strip::default();
        let total: usize = rows.iter().map(|r| r.intervals.len()).sum();
        let bin = total.div_ceil(most.max(1)).max(1);
        let mut start = 0.0;
        for row in rows.iter().filter(|r| !r.intervals.is_empty()) {
            strip.marks.push((start, format::jobs(row.jobs)));
            let mut at = start;
            for chunk in row.intervals.chunks(bin) {
                // In the middle of what it counts, as the cells of the heat maps are.
                let length = seconds(chunk);
                strip.push(at + length / 2.0, chunk, row.commits.is_some());
                at += length;
            }
            strip.end_s = at;
            for line in [&mut strip.rate, &mut strip.sync, &mut strip.write] {
                line.push((at, f64::NAN));
            }
            start = at;
        }
        strip
    }

    /// `counts`: commits were counted.
    fn push(&mut self, at: f64, chunk: &[Interval], counts: bool) {
        if chunk.iter().any(|i| i.log_switches > Some(0)) {
            self.switches.push(at);
        }
        let commits: u64 = chunk.iter().map(|i| i.commits).sum();
        let highest = |f: fn(&Interval) -> Option<u64>| {
            let top = chunk.iter().filter_map(f).max();
            top.filter(|ns| *ns > 0).map_or(f64::NAN, |ns| ns as f64)
        };
        let length = seconds(chunk);
        let rate = if length > 0.0 && counts {
            commits as f64 / length
        } else {
            f64::NAN
        };
        self.rate.push((at, rate));
        self.sync.push((at, highest(|i| i.log_file_sync_max_ns)));
        self.write
            .push((at, highest(|i| i.log_file_parallel_write_max_ns)));
    }
}

fn seconds(chunk: &[Interval]) -> f64 {
    chunk
        .iter()
        .map(|i| i.seconds)
        .filter(|s| s.is_finite())
        .sum()
}
