//! The figures of rows: load against throughput and wait, percentile curves, and where a
//! commit's time goes. Those of seconds are in `series`.

use super::bars::{self, Bar};
use super::chart::{Axis, Chart, Look, Series};
use super::escape::esc;
use super::scale::Kind;
use super::{origin_tag, section, ticks};
use crate::findings::latency::io_share_pct;
use crate::findings::{rows_of, sync_of, workloads};
use crate::format;
use crate::published;
use measure::run::{Origin, Row, Run};

/// Most workloads that get figures of their own.
const MAX_WORKLOADS: usize = 8;
/// Most lines of a percentile figure.
const MAX_CURVES: usize = 6;
const SMALL: (f64, f64) = (460.0, 264.0);

pub(super) fn names(run: &Run) -> Vec<&str> {
    workloads(run).into_iter().take(MAX_WORKLOADS).collect()
}

fn origin_word(run: &Run) -> &'static str {
    match run.origin {
        Origin::Measured => "measured",
        Origin::Simulated => "simulated",
        Origin::Imported => "imported",
    }
}

/// A figure with its caption; nothing where there is no drawing.
pub(super) fn figure(class: &str, caption: &str, tag: &str, svg: &str) -> String {
    if svg.is_empty() {
        return String::new();
    }
    format!(
        "<figure{class}><figcaption>{}{tag}</figcaption><div class=\"pan\">{svg}</div></figure>",
        esc(caption)
    )
}

fn grid(figures: &str) -> String {
    if figures.is_empty() {
        String::new()
    } else {
        format!("<div class=\"figs\">{figures}</div>")
    }
}

pub(super) fn load(run: &Run) -> String {
    let mut out = String::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows = rows_of(run, name);
        out.push_str(&throughput(run, i, name, &rows));
        out.push_str(&sync(run, i, name, &rows));
    }
    let how = format!(
        "Left: a line that stops rising has found its knee. Right: log file sync of the same rows on a logarithmic axis; where the mean climbs in step with the jobs, sessions queue. Grey lines are published platforms ({}), log file sync only, of a whole database on two nodes: a sense of scale, not a race.",
        esc(published::SOURCE)
    );
    section(
        "Throughput and log file sync against jobs",
        &how,
        &grid(&out),
    )
}

fn throughput(run: &Run, i: usize, name: &str, rows: &[&Row]) -> String {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .map(|r| (f64::from(r.jobs), r.commit_throughput_tps))
        .collect();
    let title = format!("{name}: throughput");
    let chart = Chart {
        id: &format!("tp{i}"),
        title: &title,
        desc: &describe(&points, "jobs", "commits a second", format::digits),
        size: SMALL,
        x: Axis {
            kind: Kind::Doubling,
            label: "jobs".to_owned(),
            tick: ticks::jobs,
        },
        y: Axis {
            kind: Kind::Linear,
            label: "commits / s".to_owned(),
            tick: ticks::count,
        },
        series: vec![Series {
            name: String::new(),
            points,
            look: Look::Marked(0),
        }],
        marks: Vec::new(),
    };
    figure("", &title, &origin_tag(run), &chart.svg())
}

fn sync(run: &Run, i: usize, name: &str, rows: &[&Row]) -> String {
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
    if mean.is_empty() {
        let text = "Nobody waited for log file sync (COMMIT WRITE NOWAIT), so there is nothing to set beside published waits.";
        return format!(
            "<figure><figcaption>{}: log file sync</figcaption><p class=\"how\">{text}</p></figure>",
            esc(name)
        );
    }
    let title = format!("{name}: log file sync");
    let desc = describe(&mean, "jobs", "mean log file sync", format::latency);
    let series = sync_series(name, mean, p99);
    let tag = if series.len() > 2 {
        format!(
            "{}<span class=\"tag\">grey: published means</span>",
            origin_tag(run)
        )
    } else {
        origin_tag(run)
    };
    let chart = Chart {
        id: &format!("sy{i}"),
        title: &title,
        desc: &desc,
        size: SMALL,
        x: Axis {
            kind: Kind::Doubling,
            label: "jobs".to_owned(),
            tick: ticks::jobs,
        },
        y: Axis {
            kind: Kind::Log,
            label: "log file sync".to_owned(),
            tick: ticks::latency,
        },
        series,
        marks: Vec::new(),
    };
    figure("", &title, &tag, &chart.svg())
}

/// Ours, and the published platforms in grey.
fn sync_series(name: &str, mean: Vec<(f64, f64)>, p99: Vec<(f64, f64)>) -> Vec<Series> {
    let mut out = vec![
        Series {
            name: "mean".to_owned(),
            points: mean,
            look: Look::Marked(0),
        },
        Series {
            name: "p99".to_owned(),
            points: p99,
            look: Look::Dashed(1),
        },
    ];
    for (k, platform) in published::log_file_sync(name).into_iter().enumerate() {
        let points = platform.points.iter().map(|(j, ns)| (f64::from(*j), *ns));
        out.push(Series {
            name: platform.label.to_owned(),
            points: points.collect(),
            look: Look::Muted(k),
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

/// At most `most` of `rows`, the first and the last always among them.
fn thinned<'a>(rows: &[&'a Row], most: usize) -> Vec<&'a Row> {
    let n = rows.len();
    if n <= most {
        return rows.to_vec();
    }
    (0..most)
        .filter_map(|i| rows.get(i * (n - 1) / (most - 1)).copied())
        .collect()
}

pub(super) fn percentiles(run: &Run) -> String {
    let mut out = String::new();
    for (i, name) in names(run).iter().enumerate() {
        let rows: Vec<&Row> = rows_of(run, name)
            .into_iter()
            .filter(|r| r.curves.get("log_file_sync").is_some_and(|c| !c.is_empty()))
            .collect();
        let series: Vec<Series> = thinned(&rows, MAX_CURVES)
            .iter()
            .enumerate()
            .filter_map(|(k, r)| {
                let curve = r.curves.get("log_file_sync")?;
                let points = curve
                    .iter()
                    .take(256)
                    .map(|(p, ns)| (*p, *ns as f64))
                    .collect();
                let look = if k % 2 == 0 {
                    Look::Marked(k)
                } else {
                    Look::Dashed(k)
                };
                Some(Series {
                    name: format::jobs(r.jobs),
                    points,
                    look,
                })
            })
            .collect();
        let title = format!("{name}: log file sync by percentile");
        let chart = Chart {
            id: &format!("pc{i}"),
            title: &title,
            desc: &format!("Percentile curves of log file sync, {}.", origin_word(run)),
            size: SMALL,
            x: Axis {
                kind: Kind::Nines,
                label: "percentile".to_owned(),
                tick: ticks::percentile,
            },
            y: Axis {
                kind: Kind::Log,
                label: "log file sync".to_owned(),
                tick: ticks::latency,
            },
            series,
            marks: Vec::new(),
        };
        out.push_str(&figure("", &title, &origin_tag(run), &chart.svg()));
    }
    section(
        "Percentiles of log file sync",
        "Each step to the right is ten times rarer: read at 99.9 % what one commit in a thousand exceeds. A line that turns up sharply has a second cause beyond its knee; the last point is the longest wait itself.",
        &grid(&out),
    )
}

pub(super) fn commit_path(run: &Run) -> String {
    const PARTS: [&str; 4] = ["queue", "write", "flush", "wake"];
    let mut out = String::new();
    for (i, name) in names(run).iter().enumerate() {
        let bars: Vec<Bar> = rows_of(run, name)
            .iter()
            .filter(|r| r.commit_path.attributed > 0)
            .take(24)
            .map(|r| {
                let p = &r.commit_path;
                let parts = vec![p.queue_ns, p.write_ns, p.flush_ns, p.wake_ns];
                let share =
                    io_share_pct(r).map_or_else(String::new, |s| format!(" · I/O {s:.0} %"));
                Bar {
                    label: format::jobs(r.jobs),
                    note: format!("{}{share}", format::latency(parts.iter().sum())),
                    parts,
                }
            })
            .collect();
        let title = format!("{name}: where a commit's time goes");
        let desc = bars
            .iter()
            .map(|b| format!("{}: {}", b.label, b.note))
            .collect::<Vec<_>>()
            .join("; ");
        let svg = bars::svg(
            &format!("cp{i}"),
            &title,
            &desc,
            &PARTS,
            &bars,
            ticks::latency,
        );
        out.push_str(&figure("", &title, &origin_tag(run), &svg));
    }
    section(
        "Where a commit's time goes",
        "Mean log file sync, divided: waiting for the log writer to take it (queue), the write, the flush, and running again (wake). A faster device shortens only write and flush; the rest is concurrency and processors.",
        &grid(&out),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends() {
        let rows: Vec<Row> = (1..=36)
            .map(|jobs| Row {
                jobs,
                ..Row::default()
            })
            .collect();
        let all: Vec<&Row> = rows.iter().collect();
        let jobs: Vec<u32> = thinned(&all, 6).iter().map(|r| r.jobs).collect();
        assert_eq!(
            (jobs.len(), jobs.first(), jobs.last()),
            (6, Some(&1), Some(&36))
        );
    }
}
