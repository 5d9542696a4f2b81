//! Figures of what documents answer: platforms of a sweep beside each other, two sides as bars, and
//! two log writer workers in one plot.
//!
//! Invariant: a platform has the same colour in all figures of a sweep.

use super::bars::{self, Bar};
use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::figure::{Figure, Numbers};
use super::figures::SMALL;
use super::page::Content;
use super::scatter::{self, Dots};
use super::topic::Topic;
use super::{Section, origin_tag, section, ticks};
use crate::account::answer::capitalised;
use crate::account::document::{self, DocumentAnswer};
use crate::account::imported as evidence;
use crate::findings::evidence::published::sweep::groups;
use crate::findings::evidence::published::sweep_peaks::SWEEP_PEAKS;
use crate::findings::evidence::view::{Line, Tables, lines};
use measure::imported::{self, Imported};
use measure::run::Run;
use std::collections::BTreeSet;

/// Most platforms of a figure.
const PLATFORMS_MAX: usize = 8;
/// Most workloads that are drawn.
const WORKLOADS_MAX: usize = 12;
const WIDE: (f64, f64) = (1060.0, 220.0);

/// What is below the first screen: of a sweep, its platforms by workload.
pub(super) fn main(run: &Run, imported: &Imported) -> Vec<Section> {
    let peaks = evidence::tables(imported)
        .into_iter()
        .find(|of| is_peaks(imported, &of.title));
    let table = peaks.and_then(|mut of| {
        of.id = "platforms".into();
        of.about =
            "Times: commits per second, times those of the slowest platform of the workload. \
                    Sync %: log file sync as a share of a commit, there and with the fewest jobs; \
                    where it is small, a faster log changes little."
                .to_owned();
        section::of(of, run)
    });
    [table, sweep(run, imported)]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a section of that title is the table of platforms.
pub(super) fn is_peaks(imported: &Imported, title: &str) -> bool {
    let of = |table: &imported::Table| table.id == SWEEP_PEAKS && table.title == title;
    imported.tables.iter().any(of)
}

/// A figure that is drawn of a line of a sweep: its name, the axis, the value, the topic.
type SweepFigure = (
    &'static str,
    fn(&str) -> Axis,
    fn(&Line<'_>) -> Option<f64>,
    Topic,
);

/// Throughput and log file sync by jobs, a line for each platform.
fn sweep(run: &Run, imported: &Imported) -> Option<Section> {
    const EACH: [SweepFigure; 2] = [
        (
            "commits / s",
            Axis::count,
            |l| l.number("commit_throughput_tps"),
            Topic::Throughput,
        ),
        (
            "log file sync",
            Axis::latency,
            |l| Some(l.number("log_file_sync_ms")? * 1e6),
            Topic::SyncByJobs,
        ),
    ];
    let tables = Tables(&imported.tables);
    let groups = groups(&tables);
    let platforms: BTreeSet<&str> = groups.keys().map(|(platform, _)| *platform).collect();
    let mut workloads: Vec<&str> = Vec::new();
    for line in tables.of(SWEEP_PEAKS).flat_map(lines) {
        let name = line.text("workload");
        if !workloads.contains(&name) && workloads.len() < WORKLOADS_MAX {
            workloads.push(name);
        }
    }
    let mut all = Vec::new();
    for (at, workload) in workloads.into_iter().enumerate() {
        for (which, (label, axis, value, topic)) in EACH.into_iter().enumerate() {
            let series = platforms
                .iter()
                .take(PLATFORMS_MAX)
                .enumerate()
                .map(|(k, platform)| {
                    let of = groups.get(&(*platform, workload));
                    let point = |l: &Line<'_>| Some((l.number("jobs")?, value(l)?));
                    Series {
                        name: short(platform, &platforms),
                        points: of.into_iter().flatten().filter_map(point).collect(),
                        look: SeriesStyle::Marked(k),
                    }
                });
            let series: Vec<Series> = series.filter(|s| s.points.len() > 1).collect();
            let (id, title) = (
                format!("sp{at}-{which}"),
                format!("{workload}: {label} by platform"),
            );
            let desc = "A line for each platform; the table has the figures.";
            let mut chart = Chart::new(
                (&id, &title, desc),
                SMALL,
                (Axis::jobs(), axis(label)),
                series,
            );
            chart.has_legend = true;
            all.push(Figure::of_chart(topic, &chart, origin_tag(run), "").of(workload));
        }
    }
    let how = "A platform has the same colour in all figures. Jobs are the sessions that commit.";
    Section::figures("sweep", "Platforms by jobs", how, all)
}

/// The first words of a platform's name, as far as a legend has room and no other begins so.
fn short(name: &str, all: &BTreeSet<&str>) -> String {
    const MOST: usize = 16;
    let ends = name.match_indices(' ').map(|(at, _)| at);
    let end = ends
        .take_while(|at| *at <= MOST)
        .last()
        .unwrap_or(name.len());
    let head = &name[..end];
    match all.iter().filter(|other| other.starts_with(head)).count() {
        1 => head.to_owned(),
        _ => name.to_owned(),
    }
}

/// The figure of the first screen: that of the answer.
pub(super) fn figure(
    run: &Run,
    imported: &Imported,
    sections: &mut [&mut Section],
) -> Option<Figure> {
    let own = document::answer(imported)?;
    if !own.sides.is_empty() {
        return Some(sides(run, &own)).filter(|f| !f.drawing.is_empty());
    }
    let (table, line) = &own.table;
    let is_it = |f: &Figure| match *table {
        SWEEP_PEAKS => f.topic == Topic::Throughput && f.of == *line,
        _ => f.topic == Topic::Buckets && f.caption.ends_with(&format!(": {line}")),
    };
    sections
        .iter_mut()
        .find_map(|section| match &mut section.content {
            Content::Figures(all) => all.iter().position(is_it).map(|at| all.remove(at)),
            Content::Html(_) => None,
        })
}

/// What is compared, a bar each.
fn sides(run: &Run, own: &DocumentAnswer) -> Figure {
    let bar = |(name, value): &(String, crate::account::Shown)| Bar {
        label: name.clone(),
        parts: vec![value.number().unwrap_or(0.0)],
        note: value.words(""),
    };
    let bars: Vec<Bar> = own.sides.iter().map(bar).collect();
    let caption = capitalised(&own.source);
    let desc = "A bar for each side; the table has the figures.";
    Figure {
        id: "answer".to_owned(),
        topic: Topic::Answer,
        of: String::new(),
        drawing: bars::svg("answer", &caption, desc, &["time"], &bars, ticks::latency),
        caption,
        tags: origin_tag(run),
        how: String::new(),
        second: String::new(),
        table: Numbers {
            head: ["", "Time"].map(str::to_owned).to_vec(),
            lines: bars
                .iter()
                .map(|b| vec![b.label.clone(), b.note.clone()])
                .collect(),
            note: String::new(),
        },
        is_wide: false,
        zoom: None,
    }
}

/// The axis of places, and what a drawing is over.
pub(super) fn place_label(axis: imported::Axis) -> (&'static str, &'static str) {
    match axis {
        imported::Axis::Time => ("seconds since the first", "over time"),
        imported::Axis::Sequence => (
            "number of the wait: there are no time stamps",
            "over sequence",
        ),
    }
}

/// The number of a log writer's worker: 0 of `LG00 (127312)`.
fn worker(name: &str) -> Option<u32> {
    let number = name.strip_prefix("LG")?.split(' ').next()?;
    (number.len() == 2).then(|| number.parse().ok()).flatten()
}

/// Workers that take turns, LG00 with LG01 and so on, in one plot each: what both have at one place
/// is a cause that they share.
pub(super) fn pairs(run: &Run, all: &[imported::Series]) -> Vec<Figure> {
    let name = |s: &imported::Series| run.rows.get(s.row).map_or("", |row| row.workload.as_str());
    let mut out = Vec::new();
    for one in all {
        let number = worker(name(one)).filter(|n| n % 2 == 0);
        let is_other = |other: &&imported::Series| {
            let next = worker(name(other))
                .zip(number)
                .is_some_and(|(m, n)| m == n + 1);
            next && other.event == one.event && other.axis == one.axis
        };
        let Some(other) = all.iter().find(is_other) else {
            continue;
        };
        let dots = [(one, "dot c0"), (other, "dot c1")].map(|(of, class)| Dots {
            points: of.points.iter().map(|p| (p.at, p.max_ns as f64)).collect(),
            class,
        });
        let (label, over) = place_label(one.axis);
        let id = format!("wp{}", out.len());
        let names = [name(one), name(other)];
        let event = one.event.replace('_', " ");
        let title = format!("{} and {}: {event} {over}", names[0], names[1]);
        let axes = (Axis::count(label), Axis::latency("longest wait"));
        let chart = scatter::chart((&id, &title, "Waits of both workers."), WIDE, axes, &dots);
        let names = names.map(super::escape::esc);
        let tags = format!(
            "{}<span class=\"tag k0\">{}</span><span class=\"tag k1\">{}</span>",
            origin_tag(run),
            names[0],
            names[1]
        );
        let how = "Peaks of both at one place have one cause. Over sequence the places are only nearly those of one time.";
        out.push(Figure::of_chart(Topic::Longest, &chart, tags, how));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::imported::SeriesPoint;

    #[test]
    fn two_workers_of_a_pair_are_in_one_plot_and_others_are_not() {
        let mut run = clean_run();
        let row = run.rows[0].clone();
        run.rows.clear();
        let mut series = Vec::new();
        for (at, name) in ["LG00 (11)", "LG01 (12)", "LG02", "LGWR"]
            .iter()
            .enumerate()
        {
            run.rows.push(measure::run::Row {
                workload: (*name).to_owned(),
                ..row.clone()
            });
            let point = |k: u32| SeriesPoint {
                at: f64::from(k),
                count: 1,
                mean_ns: 5e5,
                max_ns: 500_000 + u64::from(k),
                ..SeriesPoint::default()
            };
            series.push(imported::Series {
                row: at,
                event: "log_file_parallel_write".to_owned(),
                axis: imported::Axis::Sequence,
                width: 1.0,
                distribution: None,
                points: (0..9).map(point).collect(),
            });
        }
        let all = pairs(&run, &series);
        assert_eq!(all.len(), 1);
        assert!(
            all[0].caption.starts_with("LG00 (11) and LG01 (12): "),
            "{}",
            all[0].caption
        );
        assert!(all[0].tags.contains("LG01 (12)") && all[0].drawing.contains("dot c1"));
        assert!(pairs(&run, &series[2..]).is_empty(), "LG02 alone");
    }
}
