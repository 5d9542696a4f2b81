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
/// Bins of a decade: each is 10 % wide.
const BINS: usize = 24;
/// A bin of fewer waits is no hump: it is a mark on the axis.
const RARE: u64 = 3;

/// How to read a density.
pub(super) const HOW: &str = "The height is the share of all waits in a bin; a bin is 10 % wide, for example from 100 to 110 µs. Each hump is a code path of its own (a cache hit, a flush, a collision). A dot on the axis is a bin with one or two waits.";
/// What the height of a density is.
const SHARE: &str = "% of waits in a bin";

/// A curve of a density.
pub(super) struct DensityCurve {
    pub(super) name: String,
    pub(super) look: SeriesStyle,
    /// Colour of its marks.
    pub(super) colour: usize,
    pub(super) bins: Vec<DensityBin>,
}

/// A bin with waits, or an empty one beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DensityBin {
    /// Its middle, nanoseconds.
    pub(super) at_ns: f64,
    /// Share of all waits, percent.
    pub(super) share_pct: f64,
    /// It has so few waits that it is drawn as a mark.
    pub(super) is_rare: bool,
}

/// The bins of a grid, from the first with waits to the last, with an empty one at each end.
fn bins(grid: &LatencyGrid) -> Vec<DensityBin> {
    const GROUP: usize = FINE / BINS;
    let fine = grid.fine();
    let total: u64 = fine.iter().sum();
    let Some(last) = fine.iter().rposition(|n| *n > 0) else {
        return Vec::new();
    };
    let (first, last) = (grid::strays(fine) / GROUP, last / GROUP);
    (first.saturating_sub(1)..=last + 1)
        .map(|bin| {
            // What is shorter than the first bin that is drawn does not stretch the axis.
            let count: u64 = match bin < first {
                true => 0,
                false => fine.iter().skip(bin * GROUP).take(GROUP).sum(),
            };
            DensityBin {
                at_ns: grid::edge_ns(bin, BINS) * 10f64.powf(0.5 / BINS as f64),
                share_pct: 100.0 * count as f64 / total as f64,
                is_rare: (1..RARE).contains(&count),
            }
        })
        .collect()
}

/// The same from the buckets that a comparison keeps, whose widths differ a little.
pub(super) fn stored_bins(density: &[(u64, u64, f64)], count: u64) -> Vec<DensityBin> {
    let mut out = Vec::with_capacity(density.len() + 8);
    let empty = |at_ns: f64| DensityBin {
        at_ns,
        share_pct: 0.0,
        is_rare: false,
    };
    let mut before: Option<f64> = None;
    for (low, high, share) in density {
        let (low, high) = ((*low).max(1) as f64, *high as f64);
        let width = (high / low).log10();
        if width <= 0.0 || !share.is_finite() {
            continue;
        }
        if before.is_none_or(|b| low > b * 1.02) {
            out.extend(before.map(empty));
            out.push(empty(low));
        }
        let waits = (share * count as f64).round();
        out.push(DensityBin {
            at_ns: (low * high).sqrt(),
            share_pct: (100.0 * share / (width * BINS as f64)).min(100.0),
            is_rare: waits < RARE as f64,
        });
        before = Some(high);
    }
    out.extend(before.map(empty));
    out
}

/// A density of several curves.
pub(super) fn figure(
    id: &str,
    title: &str,
    label: &str,
    curves: &[DensityCurve],
    tags: String,
) -> Figure {
    let desc: Vec<String> = curves
        .iter()
        .map(|curve| {
            let bins = curve.bins.iter();
            let top = bins.max_by(|a, b| a.share_pct.total_cmp(&b.share_pct));
            let top = top.map_or(0.0, |bin| bin.at_ns);
            format!("{}: most waits around {}", curve.name, format::latency(top))
        })
        .collect();
    let desc = desc.join("; ");
    let series = curves.iter().map(|curve| Series {
        name: curve.name.clone(),
        points: line(&curve.bins),
        look: curve.look,
    });
    let axes = (Axis::latency(label), Axis::count(SHARE));
    let mut chart = Chart::new((id, title, &desc), SMALL, axes, series.collect());
    chart.has_legend = true;
    chart.under = Some(Box::new(|f, svg| {
        for (k, curve) in curves.iter().enumerate() {
            let rare = curve.bins.iter().filter(|bin| bin.is_rare);
            let y = f.bottom - 3.0 - 4.0 * k as f64;
            let dots: Vec<(f64, f64)> = rare.map(|bin| (f.x.place(bin.at_ns), y)).collect();
            svg.group(&format!("c{}", curve.colour % 7));
            svg.dots("dot", &dots);
            svg.end();
        }
    }));
    Figure::of_chart(Topic::Density, &chart, tags, HOW)
}

/// Bins with more than a wait or two; the rest is at zero, of which only the ends are drawn.
fn line(bins: &[DensityBin]) -> Vec<(f64, f64)> {
    let share = |bin: &DensityBin| if bin.is_rare { 0.0 } else { bin.share_pct };
    let all: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.at_ns, share(bin))).collect();
    let is_inside = |i: usize| {
        let near = all.get(i.saturating_sub(1)..=i + 1);
        near.is_some_and(|near| near.len() == 3 && near.iter().all(|p| p.1 == 0.0))
    };
    let kept = all.iter().enumerate().filter(|(i, _)| !is_inside(*i));
    kept.map(|(_, point)| *point).collect()
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
            let with = thinned(&with, CURVES_MAX);
            let look = |k: usize| match (with.len(), k % 2) {
                (1, _) => SeriesStyle::Plain(k),
                (_, 0) => SeriesStyle::Marked(k),
                _ => SeriesStyle::Dashed(k),
            };
            let curves = with
                .iter()
                .enumerate()
                .map(|(k, (name, grid))| DensityCurve {
                    name: name.clone(),
                    look: look(k),
                    colour: k,
                    bins: bins(grid),
                });
            let curves: Vec<DensityCurve> = curves.collect();
            let id = format!("{prefix}{i}");
            let mut figure = figure(&id, &title, event.name(), &curves, origin_tag(run));
            if event == WaitEvent::LogFileParallelWrite {
                figure.topic = Topic::WriteDensity;
            }
            figures.push(figure.of(name));
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

    fn grid_of(values: impl Iterator<Item = u64>) -> LatencyGrid {
        let (mut h, mut grid) = (Histogram::new(), LatencyGrid::default());
        values.for_each(|v| h.record(v));
        grid.add(0, 1_000_000_000, &h);
        grid
    }

    #[test]
    fn the_shares_of_all_bins_are_all_waits() {
        for n in [50_u64, 5_000, 500_000] {
            let bins = bins(&grid_of((0..n).map(|i| 50_000 + i * 37 % 400_000)));
            let sum: f64 = bins.iter().map(|bin| bin.share_pct).sum();
            assert!((sum - 100.0).abs() < 0.5, "{n}: {sum}");
        }
    }

    #[test]
    fn a_single_wait_is_a_mark_and_no_hump() {
        let bins = bins(&grid_of((0..5_000).map(|_| 100_000).chain([90_000_000])));
        let rare: Vec<&DensityBin> = bins.iter().filter(|bin| bin.is_rare).collect();
        assert_eq!(rare.len(), 1);
        assert!((80e6..100e6).contains(&rare[0].at_ns));
        let drawn = line(&bins);
        assert!(drawn.iter().filter(|p| p.1 > 0.0).all(|p| p.0 < 1e6));
        assert!(drawn.iter().all(|p| p.1 <= 100.0));
    }

    #[test]
    fn no_waits_no_curve() {
        assert!(bins(&LatencyGrid::default()).is_empty());
        assert!(stored_bins(&[], 0).is_empty());
    }

    #[test]
    fn stored_buckets_are_shares_of_bins() {
        // Two buckets of 9 %, all waits in one: less than all are in the tenth around its middle
        // only where the bucket is wider than a bin.
        let bins = stored_bins(
            &[(100_000, 109_000, 0.999), (900_000, 980_000, 0.001)],
            1000,
        );
        let top = bins.iter().map(|bin| bin.share_pct).fold(0.0, f64::max);
        assert!((90.0..=100.0).contains(&top), "{top}");
        assert_eq!(bins.iter().filter(|bin| bin.is_rare).count(), 1);
    }
}
