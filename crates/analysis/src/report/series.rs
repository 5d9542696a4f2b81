//! The seconds of a run: throughput and the longest waits, the rows of a workload one after the
//! other on one axis of measured time.

use super::chart::{Axis, Chart, Look, Series};
use super::figures::{figure, names};
use super::scale::Kind;
use super::{origin_tag, section, ticks};
use crate::findings::rows_of;
use crate::format;
use measure::run::{Interval, Row, Run};

/// Most points of a series.
const MAX_SECONDS: usize = 480;
const SIZE: (f64, f64) = (1060.0, 176.0);

pub(super) fn series(run: &Run) -> String {
    let mut out = String::new();
    for (i, name) in names(run).iter().enumerate() {
        let strip = Strip::of(&rows_of(run, name));
        for (what, drawing) in [
            ("commits by second", strip.rate_chart(i)),
            ("longest wait by second", strip.longest_chart(i)),
        ] {
            let caption = format!("{name}: {what}");
            out.push_str(&figure(
                " class=\"full\"",
                &caption,
                &origin_tag(run),
                &drawing,
            ));
        }
    }
    section(
        "Second by second",
        "All rows of a workload one after the other, parted by their numbers of jobs. Throughput that decays within a row is a cache or a cap filling up; peaks of log file parallel write that log file sync follows are the device's, peaks of log file sync alone are not.",
        &out,
    )
}

fn seconds_axis() -> Axis {
    Axis {
        kind: Kind::Linear,
        label: "measured seconds, rows one after the other".to_owned(),
        tick: ticks::count,
    }
}

/// The intervals of a workload's rows on one axis of measured seconds.
#[derive(Default)]
struct Strip {
    rate: Vec<(f64, f64)>,
    sync: Vec<(f64, f64)>,
    write: Vec<(f64, f64)>,
    marks: Vec<(f64, String)>,
}

impl Strip {
    fn rate_chart(&self, i: usize) -> String {
        let line = Series {
            name: String::new(),
            points: self.rate.clone(),
            look: Look::Plain(0),
        };
        Chart {
            id: &format!("ts{i}"),
            title: "Commits by second",
            desc: "Throughput of each interval; vertical lines part the numbers of jobs.",
            size: SIZE,
            x: seconds_axis(),
            y: Axis {
                kind: Kind::Linear,
                label: "commits / s".to_owned(),
                tick: ticks::count,
            },
            series: vec![line],
            marks: self.marks.clone(),
        }
        .svg()
    }

    fn longest_chart(&self, i: usize) -> String {
        let line = |name: &str, points: &[(f64, f64)], colour| Series {
            name: name.to_owned(),
            points: points.to_vec(),
            look: Look::Plain(colour),
        };
        Chart {
            id: &format!("tm{i}"),
            title: "Longest wait by second",
            desc: "Longest log file sync and longest log file parallel write of each interval.",
            size: SIZE,
            x: seconds_axis(),
            y: Axis {
                kind: Kind::Log,
                label: "longest".to_owned(),
                tick: ticks::latency,
            },
            series: vec![
                line("log file sync", &self.sync, 1),
                line("parallel write", &self.write, 0),
            ],
            marks: self.marks.clone(),
        }
        .svg()
    }

    fn of(rows: &[&Row]) -> Strip {
        let mut strip = Strip::default();
        let total: usize = rows.iter().map(|r| r.intervals.len()).sum();
        let bin = total.div_ceil(MAX_SECONDS).max(1);
        let mut start = 0.0;
        for row in rows.iter().filter(|r| !r.intervals.is_empty()) {
            strip.marks.push((start, format::jobs(row.jobs)));
            let mut at = start;
            for chunk in row.intervals.chunks(bin) {
                at += seconds(chunk);
                strip.push(at, chunk);
            }
            for line in [&mut strip.rate, &mut strip.sync, &mut strip.write] {
                line.push((at, f64::NAN));
            }
            start = at;
        }
        strip
    }

    fn push(&mut self, at: f64, chunk: &[Interval]) {
        let commits: u64 = chunk.iter().map(|i| i.commits).sum();
        let highest = |f: fn(&Interval) -> u64| {
            let top = chunk.iter().map(f).max().unwrap_or(0);
            if top == 0 { f64::NAN } else { top as f64 }
        };
        let length = seconds(chunk);
        let rate = if length > 0.0 {
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
