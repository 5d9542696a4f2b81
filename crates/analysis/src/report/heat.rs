//! Heat maps of waits: time to the right, latency upwards, colour for how many.
//!
//! Invariants: the longest wait of each stretch is drawn exactly, however few waits there are
//! beside it; all maps of a page that are to be compared share one scale; the number of cells is
//! bounded by what the page can hold.

use super::chart::{Axis, Chart, Frame, Series, SeriesStyle};
use super::data::ReportData;
use super::figure::{Figure, Numbers};
use super::figures::names;
use super::grid::{self, BANDS, GridColumn, LatencyGrid};
use super::svg::{Anchor, Svg, width};
use super::topic::Topic;
use super::{Section, origin_tag};
use crate::format;
use crate::rows::rows_of;
use measure::WaitEvent;
use measure::run::{Row, Run};

const SIZE: (f64, f64) = (1060.0, 250.0);
/// Colours.
const LEVELS: usize = 8;
/// Columns of all maps of a page together, and the bounds of one.
const COLUMNS_IN_ALL: usize = 960;
const COLUMNS_LEAST: usize = 24;
/// Fewer stretches than these are no time to look along: the density shows them.
const WORTH: usize = 8;
/// A row of fewer stretches is a stripe, not a map: it is left out.
const ROW_LEAST: usize = 3;
/// Lines of a map's table.
const LINES_MAX: usize = 40;

/// What a map shows, its rows one after the other.
#[derive(Default)]
pub(super) struct Strip {
    /// Stretches with the time that passed before their row.
    columns: Vec<(f64, GridColumn)>,
    /// Where each row begins, and its name.
    rows: Vec<(f64, String)>,
    /// Seconds in which log switches began.
    switches: Vec<f64>,
    end_s: f64,
}

/// What maps that are compared have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The lowest band that is drawn; what is below counts in it.
    low: usize,
    high_ns: f64,
    /// Most waits of a cell.
    most: u64,
    end_s: f64,
}

impl Strip {
    /// Of rows of one run, which are named by their numbers of jobs.
    fn of(rows: &[(usize, &Row)], data: &ReportData, event: WaitEvent, most: usize) -> Strip {
        let with = rows.iter().filter_map(|(i, row)| {
            let grid = data.grid(*i, event)?;
            Some((format::jobs(row.jobs), *row, grid))
        });
        Strip::joined(with.collect(), most)
    }

    /// Of rows with their names, one after the other, in at most `most` stretches.
    pub(super) fn joined(mut all: Vec<(String, &Row, &LatencyGrid)>, most: usize) -> Strip {
        let mut strip = Strip::default();
        all.retain(|(_, _, grid)| grid.columns().len() >= ROW_LEAST);
        let each = (most / all.len().max(1)).max(2);
        for (name, row, grid) in all {
            let start = strip.end_s;
            strip.rows.push((start, name));
            for column in grid::joined(grid.columns(), each) {
                strip.end_s = strip.end_s.max(start + column.end_s);
                strip.columns.push((start, column));
            }
            let began = row.intervals.iter().filter(|i| i.log_switches > Some(0));
            let began = began.map(|i| start + i.t_s - i.seconds / 2.0);
            strip
                .switches
                .extend(began.filter(|s| s.is_finite()).take(20_000));
        }
        strip
    }

    /// Rows that are in it.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    fn cells(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let bands = self
            .columns
            .iter()
            .flat_map(|(_, c)| c.bands.iter().copied().enumerate());
        bands.filter(|(_, n)| *n > 0)
    }

    /// What it takes to show it; `None` without waits.
    pub(super) fn range(&self) -> Option<Range> {
        let mut bands = vec![0; self.columns.first()?.1.bands.len()];
        for (band, n) in self.cells() {
            bands[band] += n;
        }
        let low = grid::strays(&bands);
        let high = self.cells().map(|(band, _)| band).max()?;
        let longest = self.columns.iter().map(|(_, c)| c.max_ns).max()?;
        Some(Range {
            low,
            high_ns: grid::edge_ns(high + 1, BANDS).max(longest as f64),
            most: self.cells().map(|(_, n)| n).max()?,
            end_s: self.end_s,
        })
    }

    /// Waits of a cell; the lowest that is drawn has all below.
    fn count(&self, column: &GridColumn, band: usize, low: usize) -> u64 {
        let from = if band == low { 0 } else { band };
        column.bands.get(from..=band).map_or(0, |b| b.iter().sum())
    }

    /// Waits in the lowest band that is drawn that are shorter than it.
    fn below(&self, low: usize) -> u64 {
        self.cells()
            .filter(|(band, _)| *band < low)
            .map(|(_, n)| n)
            .sum()
    }

    /// The longest wait of each stretch, as steps.
    fn longest(&self) -> Vec<(f64, f64)> {
        let mut out = Vec::with_capacity(2 * self.columns.len());
        let mut before = None;
        for (start, c) in self.columns.iter().filter(|(_, c)| c.count > 0) {
            if before.is_some_and(|b| b != *start) {
                out.push((start + c.start_s, f64::NAN));
            }
            before = Some(*start);
            let y = if c.max_ns == 0 {
                f64::NAN
            } else {
                c.max_ns as f64
            };
            out.push((start + c.start_s, y));
            out.push((start + c.end_s, y));
        }
        out
    }

    fn numbers(&self) -> Numbers {
        let columns: Vec<(f64, &GridColumn)> = self.columns.iter().map(|(s, c)| (*s, c)).collect();
        let group = columns.len().div_ceil(LINES_MAX).max(1);
        let line = |chunk: &[(f64, &GridColumn)]| -> Option<Vec<String>> {
            let (first, last) = (chunk.first()?, chunk.last()?);
            let count: u64 = chunk.iter().map(|(_, c)| c.count).sum();
            let sum: u128 = chunk.iter().map(|(_, c)| c.sum_ns).sum();
            let max = chunk.iter().map(|(_, c)| c.max_ns).max()?;
            Some(vec![
                format!(
                    "{} to {}",
                    format::digits(first.0 + first.1.start_s),
                    format::digits(last.0 + last.1.end_s)
                ),
                format::count(count),
                format::latency(sum as f64 / count.max(1) as f64),
                format::latency(max as f64),
            ])
        };
        Numbers {
            head: ["Seconds", "Waits", "Mean", "Longest"]
                .map(str::to_owned)
                .to_vec(),
            lines: columns.chunks(group).filter_map(line).collect(),
            note: String::new(),
        }
    }
}

impl Range {
    /// What it takes to show both on one scale.
    pub(super) fn with(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high_ns: self.high_ns.max(other.high_ns),
            most: self.most.max(other.most),
            end_s: self.end_s.max(other.end_s),
        }
    }

    /// The colour of a cell of `count` waits.
    fn level(&self, count: u64) -> usize {
        let whole = (self.most.max(2) as f64).ln();
        let place = (count.max(1) as f64).ln() / whole * LEVELS as f64;
        (place as usize).min(LEVELS - 1)
    }

    /// The least count that has colour `level`.
    fn least(&self, level: usize) -> u64 {
        let whole = (self.most.max(2) as f64).ln();
        (whole * level as f64 / LEVELS as f64).exp().ceil() as u64
    }
}

/// A map; `range` is its own, or that of all it is compared with.
pub(super) fn map(
    id: &str,
    title: &str,
    strip: &Strip,
    range: Range,
    tags: String,
    topic: Topic,
) -> Figure {
    let desc = format!(
        "{} waits in {} seconds; the longest took {}.",
        format::count(strip.columns.iter().map(|(_, c)| c.count).sum()),
        format::digits(strip.end_s),
        format::latency(
            strip
                .columns
                .iter()
                .map(|(_, c)| c.max_ns)
                .max()
                .unwrap_or(0) as f64
        ),
    );
    let line = Series {
        name: "longest".to_owned(),
        points: strip.longest(),
        look: SeriesStyle::Top,
    };
    let axes = (Axis::count("measured seconds"), Axis::latency("latency"));
    let mut chart = Chart::new((id, title, &desc), SIZE, axes, vec![line]);
    chart.domain = vec![
        (0.0, grid::edge_ns(range.low, BANDS)),
        (range.end_s, range.high_ns),
    ];
    if strip.rows.len() > 1 {
        chart.marks.clone_from(&strip.rows);
    }
    chart.under = Some(Box::new(move |f, svg| {
        cells(strip, range, f, svg);
        legend(range, f, svg);
        rug(&strip.switches, f, svg);
    }));
    let mut how = "The colour of a cell shows how many waits fell into it; each colour is a fixed multiple of the one before. The line is the exact longest wait of each stretch. Look for bands that split, climb or repeat at intervals.".to_owned();
    if !strip.switches.is_empty() {
        how.push_str(" A tick at the top marks where a log switch began.");
    }
    let below = strip.below(range.low);
    if below > 0 {
        how.push_str(&format!(
            " The lowest cells also count {} shorter than {}.",
            format::plural(below, "wait"),
            format::latency(grid::edge_ns(range.low, BANDS))
        ));
    }
    let mut figure = Figure::of_chart(topic, &chart, tags, &how);
    figure.table = strip.numbers();
    figure
}

/// Cells as horizontal runs of one colour.
fn cells(strip: &Strip, range: Range, f: &Frame, svg: &mut Svg) {
    let mut runs: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new(); LEVELS];
    let bands = strip.cells().map(|(band, _)| band + 1).max().unwrap_or(0);
    let mut height: f64 = 1.0;
    for band in range.low..bands {
        let (low, high) = (grid::edge_ns(band, BANDS), grid::edge_ns(band + 1, BANDS));
        let (bottom, top) = (f.y.place(low), f.y.place(high));
        height = height.max(bottom - top);
        let middle = (bottom + top) / 2.0;
        // Level, left and right end of the run that is going on.
        let mut going: Option<(usize, f64, f64)> = None;
        for (start, c) in &strip.columns {
            let count = strip.count(c, band, range.low);
            let (left, right) = (f.x.place(start + c.start_s), f.x.place(start + c.end_s));
            let level = (count > 0).then(|| range.level(count));
            going = match (going, level) {
                (Some((l, from, to)), Some(level)) if l == level && left - to < 0.2 => {
                    Some((l, from, right))
                }
                (before, level) => {
                    if let Some((l, from, to)) = before {
                        runs[l].push((from, middle, to - from));
                    }
                    level.map(|level| (level, left, right))
                }
            };
        }
        if let Some((l, from, to)) = going {
            runs[l].push((from, middle, to - from));
        }
    }
    for (level, runs) in runs.iter().enumerate() {
        svg.runs(&format!("ht h{level}"), height, runs);
    }
}

/// Colours with the counts at which they begin.
fn legend(range: Range, f: &Frame, svg: &mut Svg) {
    const STEP: f64 = 15.0;
    let most = format!("{} waits", format::count(range.most));
    let right = f.right - width(&most);
    let left = right - STEP * LEVELS as f64 - 6.0;
    let least = format::count(range.least(0).max(1));
    svg.text("tk", (left - 6.0, 11.0), Anchor::End, &least);
    for level in 0..LEVELS {
        let runs = [(left + STEP * level as f64, 7.0, STEP)];
        svg.runs(&format!("ht h{level}"), 10.0, &runs);
    }
    svg.text("tk", (right, 11.0), Anchor::Start, &most);
}

/// A tick for each second in which a log switch began, as far as they can be distinguished.
pub(super) fn rug(seconds: &[f64], f: &Frame, svg: &mut Svg) {
    let mut last = f64::NEG_INFINITY;
    for second in seconds {
        let at = f.x.place(*second);
        if at - last >= 2.0 {
            svg.line("rug", (at, f.top - 5.0), (at, f.top));
            last = at;
        }
    }
}

/// The maps of a run.
pub(super) fn section(run: &Run, data: &ReportData) -> Option<Section> {
    const EVENTS: [(WaitEvent, Topic, &str); 2] = [
        (WaitEvent::LogFileSync, Topic::SyncHeat, "hs"),
        (WaitEvent::LogFileParallelWrite, Topic::WriteHeat, "hw"),
    ];
    let mut figures = Vec::new();
    let names = names(run);
    let most = columns_each(2 * names.len());
    for (i, name) in names.iter().enumerate() {
        let rows = indexed(run, name);
        let strips = EVENTS.map(|(event, ..)| Strip::of(&rows, data, event, most));
        // One scale for both, so that what the device did and what sessions felt compare.
        let ranges: Vec<Range> = strips.iter().filter_map(Strip::range).collect();
        let Some(range) = ranges.into_iter().reduce(Range::with) else {
            continue;
        };
        for (strip, (event, topic, prefix)) in strips.iter().zip(EVENTS) {
            if strip.columns.len() < WORTH {
                continue;
            }
            let title = format!("{name}: {} over time", event.name());
            let id = format!("{prefix}{i}");
            figures.push(map(&id, &title, strip, range, origin_tag(run), topic).of(name));
        }
    }
    Section::figures(
        "heat",
        "Heat maps",
        "Every wait of every second. Both maps of a workload have the same scale: the device did not cause what is only in the map of log file sync.",
        figures,
    )
}

/// Columns of one map when `maps` share the page.
pub(super) fn columns_each(maps: usize) -> usize {
    (COLUMNS_IN_ALL / maps.max(1)).clamp(COLUMNS_LEAST, grid::COLUMNS_MAX)
}

/// Rows of a workload with their places in the run, by ascending number of jobs.
pub(super) fn indexed<'a>(run: &'a Run, name: &str) -> Vec<(usize, &'a Row)> {
    let place = |row: &Row| run.rows.iter().position(|r| std::ptr::eq(r, row));
    rows_of(run, name)
        .into_iter()
        .filter_map(|row| Some((place(row)?, row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_multiples() {
        let range = Range {
            low: 24,
            high_ns: 1e6,
            most: 100_000_000,
            end_s: 1.0,
        };
        assert_eq!((range.level(1), range.level(9), range.level(11)), (0, 0, 1));
        assert_eq!(range.level(100_000_000), LEVELS - 1);
        assert_eq!(range.least(0), 1);
        assert!((10..=11).contains(&range.least(1)));
        for level in 0..LEVELS {
            assert_eq!(range.level(range.least(level) + 1), level);
        }
    }
}
