//! The figures: load against throughput and wait, percentile curves, where a commit's time
//! goes, and the seconds of the run.

use super::bars::{self, Bar};
use super::chart::{Axis, Chart, Look, Series};
use super::escape::esc;
use super::scale::Kind;
use super::{origin_tag, section};
use crate::findings::latency::io_share_pct;
use crate::findings::{rows_of, sync_of, workloads};
use crate::format;
use crate::published;
use measure::run::{Interval, Origin, Row, Run};

/// Most workloads that get figures of their own.
const MAX_WORKLOADS: usize = 8;
/// Most lines of a percentile figure.
const MAX_CURVES: usize = 6;
/// Most points of a series of seconds.
const MAX_SECONDS: usize = 480;
const SMALL: (f64, f64) = (460.0, 264.0);
const WIDE: (f64, f64) = (1060.0, 176.0);

fn names(run: &Run) -> Vec<&str> {
    workloads(run).into_iter().take(MAX_WORKLOADS).collect()
}

fn origin_word(run: &Run) -> &'static str {
    match run.origin {
        Origin::Measured => "measured",
        Origin::Simulated => "simulated",
        Origin::Imported => "imported",
    }
}

/// `1 ms`, `200 µs`: round values of an axis.
fn latency_tick(ns: f64) -> String {
    match ns {
        v if v < 0.5 => "0".to_owned(),
        v if v < 999.5 => format!("{v:.0} ns"),
        v if v < 999_500.0 => format!("{} µs", round(v / 1e3)),
        v if v < 999_500_000.0 => format!("{} ms", round(v / 1e6)),
        v => format!("{} s", round(v / 1e9)),
    }
}

/// `250`, `10k`, `1.5M`.
fn count_tick(value: f64) -> String {
    match value.abs() {
        a if a < 9_999.5 => round(value),
        a if a < 999_950.0 => format!("{}k", round(value / 1e3)),
        _ => format!("{}M", round(value / 1e6)),
    }
}

fn round(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn jobs_tick(value: f64) -> String {
    format!("{value:.0}")
}

fn percentile_tick(value: f64) -> String {
    if value >= 100.0 {
        "max".to_owned()
    } else {
        format!(
            "{} %",
            format!("{value:.5}")
                .trim_end_matches('0')
                .trim_end_matches('.')
        )
    }
}

fn figure(class: &str, caption: &str, tag: &str, svg: &str) -> String {
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
            tick: jobs_tick,
        },
        y: Axis {
            kind: Kind::Linear,
            label: "commits / s".to_owned(),
            tick: count_tick,
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
    let mut series = vec![
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
        series.push(Series {
            name: platform.label.to_owned(),
            points: platform
                .points
                .iter()
                .map(|(j, ns)| (f64::from(*j), *ns))
                .collect(),
            look: Look::Muted(k),
        });
    }
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
            tick: jobs_tick,
        },
        y: Axis {
            kind: Kind::Log,
            label: "log file sync".to_owned(),
            tick: latency_tick,
        },
        series,
        marks: Vec::new(),
    };
    figure("", &title, &tag, &chart.svg())
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
                tick: percentile_tick,
            },
            y: Axis {
                kind: Kind::Log,
                label: "log file sync".to_owned(),
                tick: latency_tick,
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
            latency_tick,
        );
        out.push_str(&figure("", &title, &origin_tag(run), &svg));
    }
    section(
        "Where a commit's time goes",
        "Mean log file sync, divided: waiting for the log writer to take it (queue), the write, the flush, and running again (wake). A faster device shortens only write and flush; the rest is concurrency and processors.",
        &grid(&out),
    )
}

pub(super) fn series(run: &Run) -> String {
    let mut out = String::new();
    for (i, name) in names(run).iter().enumerate() {
        let strip = Strip::of(&rows_of(run, name));
        let x = || Axis {
            kind: Kind::Linear,
            label: "measured seconds, rows one after the other".to_owned(),
            tick: count_tick,
        };
        let title = format!("{name}: commits by second");
        let rate = Chart {
            id: &format!("ts{i}"),
            title: &title,
            desc: "Throughput of each interval; vertical lines part the numbers of jobs.",
            size: WIDE,
            x: x(),
            y: Axis {
                kind: Kind::Linear,
                label: "commits / s".to_owned(),
                tick: count_tick,
            },
            series: vec![Series {
                name: String::new(),
                points: strip.rate,
                look: Look::Plain(0),
            }],
            marks: strip.marks.clone(),
        };
        out.push_str(&figure(
            " class=\"full\"",
            &title,
            &origin_tag(run),
            &rate.svg(),
        ));
        let title = format!("{name}: longest wait by second");
        let longest = Chart {
            id: &format!("tm{i}"),
            title: &title,
            desc: "Longest log file sync and longest log file parallel write of each interval.",
            size: WIDE,
            x: x(),
            y: Axis {
                kind: Kind::Log,
                label: "longest".to_owned(),
                tick: latency_tick,
            },
            series: vec![
                Series {
                    name: "log file sync".to_owned(),
                    points: strip.sync,
                    look: Look::Plain(1),
                },
                Series {
                    name: "parallel write".to_owned(),
                    points: strip.write,
                    look: Look::Plain(0),
                },
            ],
            marks: strip.marks,
        };
        out.push_str(&figure(
            " class=\"full\"",
            &title,
            &origin_tag(run),
            &longest.svg(),
        ));
    }
    section(
        "Second by second",
        "All rows of a workload one after the other, parted by their numbers of jobs. Throughput that decays within a row is a cache or a cap filling up; peaks of log file parallel write that log file sync follows are the device's, peaks of log file sync alone are not.",
        &out,
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_read_well() {
        assert_eq!(latency_tick(2e5), "200 µs");
        assert_eq!(latency_tick(1e6), "1 ms");
        assert_eq!(count_tick(2500.0), "2500");
        assert_eq!(count_tick(1_500_000.0), "1.5M");
        assert_eq!(percentile_tick(100.0 * (1.0 - 1e-4)), "99.99 %");
        assert_eq!(percentile_tick(100.0), "max");
    }

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
