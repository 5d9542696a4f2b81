//! The seconds of a run: throughput and the longest waits, the rows of a workload one after the
//! other on one axis of measured time.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::figure::Figure;
use super::figures::names;
use super::topic::Topic;
use super::zoom::{self, Full};
use super::{Section, heat, origin_tag};
use crate::findings::BUCKET;
use crate::format;
use crate::rows::rows_of;
use measure::judgement::Finding;
use measure::run::{Interval, Row, Run};

/// Most points of a drawing.
const MAX_SECONDS: usize = 480;
const SIZE: (f64, f64) = (1060.0, 176.0);

pub(super) fn series(run: &Run) -> Option<Section> {
    let mut figures = Vec::new();
    let names = names(run);
    let full = zoom::points_each(names.len());
    let burst = DrainedBurst::of(run);
    for (i, name) in names.iter().enumerate() {
        let rows = rows_of(run, name);
        let strip = |most| Strip::of(&rows, most, burst.as_ref());
        let (strip, full) = (strip(MAX_SECONDS), strip(full));
        let drained = burst.as_ref().filter(|b| b.is_in(&rows));
        figures.push(strip.rate_figure(run, (i, name), &full, drained).of(name));
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

/// The burst of a soak that drained its credits, as the finding has it.
struct DrainedBurst<'a> {
    soak: &'a Row,
    emptied_at_s: f64,
    /// Commits per second before and after.
    levels: [f64; 2],
    /// Both levels in all their units.
    words: String,
}

impl<'a> DrainedBurst<'a> {
    fn of(run: &'a Run) -> Option<DrainedBurst<'a>> {
        let found = run.findings.iter().find(|f| f.id == BUCKET)?;
        let soaks = run.rows.iter().filter(|row| row.soak);
        let length = |row: &Row| row.elapsed_s.unwrap_or(0.0);
        let soak = soaks.max_by(|a, b| length(a).total_cmp(&length(b)))?;
        let level = |when: &str| -> Option<String> {
            let of = |what: &str| Some(format::digits(number(found, &format!("{when}_{what}"))?));
            Some(format!(
                "{} commits/s, {} log writes/s, {} MB/s written",
                of("tps")?,
                of("log_writes_per_s")?,
                of("written_mbps")?
            ))
        };
        let emptied_at_s = number(found, "emptied_at_s")?;
        Some(DrainedBurst {
            soak,
            emptied_at_s,
            levels: [number(found, "burst_tps")?, number(found, "sustained_tps")?],
            words: format!(
                "The straight lines are the levels before and after the burst bucket was empty (after {} s): burst {}; sustained {}.",
                format::digits(emptied_at_s),
                level("burst")?,
                level("sustained")?
            ),
        })
    }

    fn is_in(&self, rows: &[&Row]) -> bool {
        rows.iter().any(|row| std::ptr::eq(*row, self.soak))
    }

    /// The level at `at_s` seconds of the row.
    fn level(&self, at_s: f64) -> f64 {
        let [burst, sustained] = self.levels;
        if at_s < self.emptied_at_s {
            burst
        } else {
            sustained
        }
    }

    /// The text at the moment at which it was empty.
    fn mark(&self) -> String {
        let [burst, sustained] = self.levels.map(format::digits);
        let at = format::digits(self.emptied_at_s);
        format!("empty at {at} s: {burst} to {sustained} commits/s")
    }
}

fn number(finding: &Finding, name: &str) -> Option<f64> {
    let found = finding.numbers.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| *value)
}

/// The intervals of a workload's rows on one axis of measured seconds.
#[derive(Default)]
struct Strip {
    rate: Vec<(f64, f64)>,
    /// Levels of a burst and after it; empty where no burst was drained.
    level: Vec<(f64, f64)>,
    sync: Vec<(f64, f64)>,
    write: Vec<(f64, f64)>,
    marks: Vec<(f64, String)>,
    /// These, and the moment at which a burst ended.
    rate_marks: Vec<(f64, String)>,
    switches: Vec<f64>,
    /// Where the last row ends.
    end_s: f64,
}

impl Strip {
    fn rate_figure(
        &self,
        run: &Run,
        (i, name): (usize, &str),
        full: &Strip,
        burst: Option<&DrainedBurst<'_>>,
    ) -> Figure {
        let line = |name: &str, points: &[(f64, f64)], colour| Series {
            name: name.to_owned(),
            points: points.to_vec(),
            look: SeriesStyle::Plain(colour),
        };
        let (mut lines, mut values) = (vec![line("", &self.rate, 0)], vec![&full.rate]);
        let how = "Throughput that decays within a row points to a cache that fills or a cap that is reached. Dips at even distances point to log switches, checkpoints or garbage collection.";
        let mut how = how.to_owned();
        if let Some(burst) = burst {
            lines = vec![
                line("measured", &self.rate, 0),
                line("level", &self.level, 1),
            ];
            values.push(&full.level);
            how = format!("{} {how}", burst.words);
        }
        let (id, title) = (format!("ts{i}"), format!("{name}: commits by second"));
        let desc = "Throughput of each interval; vertical lines separate the numbers of jobs.";
        let axes = (Axis::count(SECONDS), Axis::count("commits / s"));
        let mut chart = self.chart((&id, &title, desc), axes, lines);
        chart.marks.clone_from(&self.rate_marks);
        let mut figure = Figure::of_chart(Topic::Rate, &chart, origin_tag(run), &how);
        figure.zoom = zoom::json(&chart, &full.values(&values));
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
    fn of(rows: &[&Row], most: usize, burst: Option<&DrainedBurst<'_>>) -> Strip {
        let mut strip = Strip::default();
        let total: usize = rows.iter().map(|r| r.intervals.len()).sum();
        let bin = total.div_ceil(most.max(1)).max(1);
        let mut start = 0.0;
        for row in rows.iter().filter(|r| !r.intervals.is_empty()) {
            strip.marks.push((start, format::jobs(row.jobs)));
            strip.rate_marks.push((start, format::jobs(row.jobs)));
            let burst = burst.filter(|b| std::ptr::eq(*row, b.soak));
            if let Some(burst) = burst {
                strip
                    .rate_marks
                    .push((start + burst.emptied_at_s, burst.mark()));
            }
            let mut at = start;
            for chunk in row.intervals.chunks(bin) {
                // In the middle of what it counts, as the cells of the heat maps are.
                let length = seconds(chunk);
                let middle = at + length / 2.0;
                strip.push(middle, chunk, row.commits.is_some());
                let level = burst.map_or(f64::NAN, |b| b.level(middle - start));
                strip.level.push((middle, level));
                at += length;
            }
            strip.end_s = at;
            let Strip {
                rate,
                level,
                sync,
                write,
                ..
            } = &mut strip;
            for line in [rate, level, sync, write] {
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
