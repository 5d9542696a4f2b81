//! The figures of rows: load against throughput and wait, percentile curves, and where a
//! commit's time goes. Those of seconds are in `series`.

use super::bars::{self, Bar};
use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::figure::{Figure, Numbers, thinned};
use super::topic::Topic;
use super::{Section, origin_tag, ticks};
use crate::findings::latency::io_share_pct;
use crate::format;
use crate::published;
use crate::rows::{rows_of, sync_of, workloads};
use measure::run::{Row, Run};
use std::collections::BTreeSet;

/// Most workloads that get figures of their own.
const MAX_WORKLOADS: usize = 12;
/// Most lines of a percentile figure.
const MAX_CURVES: usize = 6;
/// A figure of half the page's width.
pub(super) const SMALL: (f64, f64) = (460.0, 264.0);

pub(super) fn names(run: &Run) -> Vec<&str> {
    workloads(run).into_iter().take(MAX_WORKLOADS).collect()
}

pub(super) fn load(run: &Run) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows = rows_of(run, name);
        // One number of jobs is no line: its figures are in the table.
        let jobs: BTreeSet<u32> = rows.iter().map(|r| r.jobs).collect();
        if jobs.len() < 2 {
            continue;
        }
        figures.push(throughput(run, i, name, &rows).of(name));
        figures.push(sync(run, i, name, &rows).of(name));
    }
    let how = format!(
        "Grey lines are published platforms ({}), log file sync only, of a whole database on two nodes. They show the order of magnitude and are not a comparison.",
        published::SOURCE
    );
    Section::figures(
        "load",
        "Throughput and log file sync against jobs",
        &how,
        figures,
    )
}

fn throughput(run: &Run, i: usize, name: &str, rows: &[&Row]) -> Figure {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|r| Some((f64::from(r.jobs), r.commit_throughput_tps?)))
        .collect();
    let title = format!("{name}: throughput");
    let id = format!("tp{i}");
    let desc = describe(&points, "jobs", "commits per second", format::digits);
    let line = Series {
        name: String::new(),
        points,
        look: SeriesStyle::Marked(0),
    };
    let axes = (Axis::jobs(), Axis::count("commits / s"));
    let chart = Chart::new((&id, &title, &desc), SMALL, axes, vec![line]);
    let how = "The knee is the point of the largest throughput over latency: beyond it latency grows faster than throughput.";
    Figure::of_chart(Topic::Throughput, &chart, origin_tag(run), how)
}

fn sync(run: &Run, i: usize, name: &str, rows: &[&Row]) -> Figure {
    let waits = || {
        rows.iter()
            .filter_map(|r| Some((r, sync_of(r).filter(|w| w.count > 0)?)))
    };
    let mean: Vec<(f64, f64)> = waits()
        .map(|(r, w)| (f64::from(r.jobs), w.mean_ns))
        .collect();
    let p99: Vec<(f64, f64)> = waits()
        .filter_map(|(r, w)| Some((f64::from(r.jobs), w.p99_ns? as f64)))
        .collect();
    let title = format!("{name}: log file sync");
    let id = format!("sy{i}");
    if mean.is_empty() {
        return nobody_waited(id, title);
    }
    let desc = describe(&mean, "jobs", "mean log file sync", format::latency);
    let series = sync_series(name, mean, p99);
    let tags = if series.len() > 2 {
        format!(
            "{}<span class=\"tag\">grey: published means</span>",
            origin_tag(run)
        )
    } else {
        origin_tag(run)
    };
    let axes = (Axis::jobs(), Axis::latency("log file sync"));
    let chart = Chart::new((&id, &title, &desc), SMALL, axes, series);
    let how = "If the mean grows in proportion to the jobs, sessions queue. A growing gap between mean and p99 means that there are stalls, or that sessions are served unevenly.";
    Figure::of_chart(Topic::SyncByJobs, &chart, tags, how)
}

/// Stands where log file sync would, and says why it does not.
fn nobody_waited(id: String, caption: String) -> Figure {
    Figure {
        id,
        topic: Topic::SyncByJobs,
        of: String::new(),
        caption,
        tags: String::new(),
        how: String::new(),
        drawing: "<p class=\"none-drawn\">No session waited for log file sync (COMMIT WRITE NOWAIT), so there is nothing to compare with published waits.</p>".to_owned(),
        table: Numbers::default(),
        is_wide: false,
        second: String::new(),
        zoom: None,
    }
}

/// Ours, and the published platforms in grey.
fn sync_series(name: &str, mean: Vec<(f64, f64)>, p99: Vec<(f64, f64)>) -> Vec<Series> {
    let mut out = vec![
        Series {
            name: "mean".to_owned(),
            points: mean,
            look: SeriesStyle::Marked(0),
        },
        Series {
            name: "p99".to_owned(),
            points: p99,
            look: SeriesStyle::Dashed(1),
        },
    ];
    for (k, platform) in published::log_file_sync(name).into_iter().enumerate() {
        let points = platform.points.iter().map(|(j, ns)| (f64::from(*j), *ns));
        out.push(Series {
            name: platform.label.to_owned(),
            points: points.collect(),
            look: SeriesStyle::Muted(k),
        });
    }
    out
}

/// The first, last and highest points in words.
fn describe(points: &[(f64, f64)], x: &str, y: &str, show: fn(f64) -> String) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let top = points
        .iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(last);
    format!(
        "{y}: {} at {} {x}, {} at {} {x}; highest {} at {} {x}.",
        show(first.1),
        first.0,
        show(last.1),
        last.0,
        show(top.1),
        top.0
    )
}

pub(super) fn percentiles(run: &Run) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows: Vec<&Row> = rows_of(run, name)
            .into_iter()
            .filter(|r| r.curves.get("log_file_sync").is_some_and(|c| !c.is_empty()))
            .collect();
        let series: Vec<Series> = thinned(&rows, MAX_CURVES)
            .iter()
            .enumerate()
            .filter_map(|(k, r)| {
                Some(curve(
                    k,
                    format::jobs(r.jobs),
                    r.curves.get("log_file_sync")?,
                ))
            })
            .collect();
        let title = format!("{name}: log file sync by percentile");
        let id = format!("pc{i}");
        let desc = format!("Percentile curves of log file sync, {}.", run.origin);
        let axes = (Axis::percentile(), Axis::latency("log file sync"));
        let chart = Chart::new((&id, &title, &desc), SMALL, axes, series);
        let how = "Each step to the right is ten times rarer. If a line turns up sharply, the waits beyond that point have a second cause. The last point is the longest wait.";
        figures.push(Figure::of_chart(Topic::Percentiles, &chart, origin_tag(run), how).of(name));
    }
    Section::figures(
        "percentiles",
        "Percentiles of log file sync",
        "One commit in a thousand exceeds the value at 99.9 %.",
        figures,
    )
}

/// A percentile curve as the line number `k` of a chart.
pub(super) fn curve(k: usize, name: String, points: &[(f64, u64)]) -> Series {
    Series {
        name,
        points: points
            .iter()
            .take(256)
            .map(|(p, ns)| (*p, *ns as f64))
            .collect(),
        look: if k.is_multiple_of(2) {
            SeriesStyle::Marked(k)
        } else {
            SeriesStyle::Dashed(k)
        },
    }
}

pub(super) fn commit_path(run: &Run) -> Option<Section> {
    let mut figures = Vec::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows = rows_of(run, name).into_iter();
        let rows: Vec<&Row> = rows
            .filter(|r| r.commit_path.as_ref().is_some_and(|p| p.attributed > 0))
            .take(24)
            .collect();
        figures.push(path_of(run, i, name, &rows).of(name));
    }
    Section::figures(
        "commit-path",
        "Where a commit's time goes",
        "Mean log file sync in its parts: waiting for the log writer (queue), the write, the flush, and running again (wake).",
        figures,
    )
}

fn path_of(run: &Run, i: usize, name: &str, rows: &[&Row]) -> Figure {
    const PARTS: [&str; 4] = ["queue", "write", "flush", "wake"];
    let parts = |r: &Row| {
        let path = r.commit_path.as_ref();
        path.map_or_else(Vec::new, |p| {
            vec![p.queue_ns, p.write_ns, p.flush_ns, p.wake_ns]
        })
    };
    let bar = |r: &&Row| {
        let parts = parts(r);
        let share = io_share_pct(r).map_or_else(String::new, |s| format!(" · I/O {s:.0} %"));
        Bar {
            label: format::jobs(r.jobs),
            note: format!("{}{share}", format::latency(parts.iter().sum())),
            parts,
        }
    };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    let caption = format!("{name}: where a commit's time goes");
    let desc: Vec<String> = bars
        .iter()
        .map(|b| format!("{}: {}", b.label, b.note))
        .collect();
    let id = format!("cp{i}");
    let line = |r: &&Row| {
        let parts = parts(r).into_iter().map(format::latency);
        std::iter::once(format::jobs(r.jobs)).chain(parts).collect()
    };
    Figure {
        drawing: bars::svg(
            &id,
            &caption,
            &desc.join("; "),
            &PARTS,
            &bars,
            ticks::latency,
        ),
        id,
        topic: Topic::CommitPath,
        of: String::new(),
        caption,
        tags: origin_tag(run),
        how:
            "A faster device shortens only write and flush; the rest is concurrency and processors."
                .to_owned(),
        table: Numbers {
            head: std::iter::once("")
                .chain(PARTS)
                .map(str::to_owned)
                .collect(),
            lines: rows.iter().map(line).collect(),
            note: String::new(),
        },
        is_wide: false,
        second: String::new(),
        zoom: None,
    }
}
