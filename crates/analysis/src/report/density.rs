//! Densities of waits on a logarithmic axis, as study 004 drew them, and histograms in the
//! buckets of `v$event_histogram_micro`.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::ReportData;
use super::figure::{Figure, thinned};
use super::figures::{SMALL, names};
use super::grid::{self, FINE, LatencyGrid};
use super::heat::indexed;
use super::topic::Topic;
use super::{Section, buckets, origin_tag};
use crate::format;
use measure::WaitEvent;
use measure::run::{Row, Run};

/// Most curves of a figure.
const CURVES_MAX: usize = 5;
/// Waits that a bin should hold on average before bins are made finer.
const FULL: u64 = 200;

/// How to read a density.
pub(super) const HOW: &str = "The area under a curve between two latencies is the share of waits between them. Each hump is a code path of its own (a cache hit, a flush, a collision); its height shows how often this path was taken.";

/// Points of a density: latency in nanoseconds, percent of all waits per decade.
pub(super) fn points(grid: &LatencyGrid) -> Vec<(f64, f64)> {
    let fine = grid.fine();
    let total: u64 = fine.iter().sum();
    let Some(last) = fine.iter().rposition(|n| *n > 0) else {
        return Vec::new();
    };
    let first = grid::strays(fine);
    // Bins are as fine as their number of waits bears.
    let spread = (last - first + 1) as u64;
    let group = [1_usize, 2, 3, 4, 6]
        .into_iter()
        .find(|g| total * *g as u64 / spread >= FULL)
        .unwrap_or(6);
    let (first, last) = (first / group, last / group);
    let per_decade = FINE / group;
    let share = |bin: usize| {
        let bins = fine.iter().skip(bin * group).take(group);
        100.0 * bins.sum::<u64>() as f64 / total as f64 * per_decade as f64
    };
    let middle = |bin: usize| grid::edge_ns(bin, per_decade) * 10f64.powf(0.5 / per_decade as f64);
    let before = first.checked_sub(1).map(|bin| (middle(bin), 0.0));
    let inner = (first..=last).map(|bin| (middle(bin), share(bin)));
    before
        .into_iter()
        .chain(inner)
        .chain(std::iter::once((middle(last + 1), 0.0)))
        .collect()
}

/// A density of several curves.
pub(super) fn figure(
    id: &str,
    title: &str,
    event: WaitEvent,
    curves: Vec<(String, &LatencyGrid)>,
    tags: String,
) -> Figure {
    let desc: Vec<String> = curves
        .iter()
        .map(|(name, grid)| {
            let top = points(grid).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let top = top.map_or(0.0, |p| p.0);
            format!("{name}: most waits around {}", format::latency(top))
        })
        .collect();
    let series = curves.iter().enumerate().map(|(k, (name, grid))| Series {
        name: name.clone(),
        points: points(grid),
        look: if curves.len() == 1 {
            SeriesStyle::Plain(k)
        } else if k.is_multiple_of(2) {
            SeriesStyle::Marked(k)
        } else {
            SeriesStyle::Dashed(k)
        },
    });
    let axes = (
        Axis::latency(event.name()),
        Axis::count("% of waits per decade"),
    );
    let desc = desc.join("; ");
    let mut chart = Chart::new((id, title, &desc), SMALL, axes, series.collect());
    chart.has_legend = true;
    Figure::of_chart(Topic::Density, &chart, tags, HOW)
}

/// Densities and histograms of a run.
pub(super) fn section(run: &Run, data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows = indexed(run, name);
        for (event, prefix) in [
            (WaitEvent::LogFileSync, "ds"),
            (WaitEvent::LogFileParallelWrite, "dw"),
        ] {
            let with: Vec<(String, &LatencyGrid)> = rows
                .iter()
                .filter_map(|(at, row)| Some((format::jobs(row.jobs), data.grid(*at, event)?)))
                .collect();
            let title = format!("{name}: density of {}", event.name());
            let curves = thinned(&with, CURVES_MAX);
            let id = format!("{prefix}{i}");
            figures.push(figure(&id, &title, event, curves, origin_tag(run)).of(name));
        }
    }
    Section::figures(
        "density",
        "Densities",
        "The distribution of waits, on a logarithmic axis. Two runs with the same mean can have quite different distributions.",
        figures,
    )
}

/// Histograms of the row of each workload that committed most.
pub(super) fn histograms(run: &Run, data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows = indexed(run, name);
        let tps = |row: &Row| row.commit_throughput_tps.unwrap_or(0.0);
        let best = rows.iter().max_by(|a, b| tps(a.1).total_cmp(&tps(b.1)));
        let Some((at, row)) = best else {
            continue;
        };
        for (event, prefix) in [
            (WaitEvent::LogFileSync, "bs"),
            (WaitEvent::LogFileParallelWrite, "bw"),
        ] {
            let Some(grid) = data.grid(*at, event) else {
                continue;
            };
            let counts = grid.doublings().iter().enumerate();
            let counts = counts.map(|(k, n)| (1000.0 * 2f64.powi(k as i32), *n));
            let title = format!("{name} with {}: {}", format::jobs(row.jobs), event.name());
            let bars = buckets::Buckets {
                id: format!("{prefix}{i}"),
                title,
                counts: counts.collect(),
            };
            figures.push(bars.figure(origin_tag(run)).of(name));
        }
    }
    Section::figures(
        "histograms",
        "Histograms",
        "The buckets are those of v$event_histogram_micro, so you can compare them with a database. They are of the number of jobs that committed most.",
        figures,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;

    #[test]
    fn the_area_under_a_density_is_all_waits() {
        for n in [50_u64, 5_000, 500_000] {
            let (mut h, mut grid) = (Histogram::new(), LatencyGrid::default());
            for i in 0..n {
                h.record(50_000 + i * 37 % 400_000);
            }
            grid.add(0, 1_000_000_000, &h);
            let points = points(&grid);
            let area: f64 = points
                .windows(2)
                .map(|w| (w[1].0.log10() - w[0].0.log10()) * (w[0].1 + w[1].1) / 2.0)
                .sum();
            assert!((area - 100.0).abs() < 0.5, "{n}: {area}");
        }
    }

    #[test]
    fn no_waits_no_curve() {
        assert!(points(&LatencyGrid::default()).is_empty());
    }
}
