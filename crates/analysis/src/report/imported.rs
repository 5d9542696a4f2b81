//! What a run read from evidence shows: its figures, between the sections of its account.

use super::bars::{self, Bar};
use super::buckets::Buckets;
use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::ReportData;
use super::figure::{Figure, Numbers, left_out, thinned};
use super::figures::{self, SMALL};
use super::page::Content;
use super::scatter::{self, Dots};
use super::topic::Topic;
use super::{Section, density, document, heat, origin_tag, repeat, section, sweep, ticks};
use crate::account::{self, imported as evidence};
use crate::findings::diagnosis::{self, series::REPORT_SERIES};
use crate::findings::evidence::published::sweep_peaks::SWEEP_PEAKS;
use crate::format::{self, count, digits};
use crate::rows::{rows_of, workloads};
use measure::imported::{self, Cell, Imported};
use measure::run::Run;

/// Most lines of a table.
const LINES_MAX: usize = 400;
/// Most series that are drawn, and histograms.
const CHARTS_MAX: usize = 12;
/// Most lines of a percentile figure.
const CURVES_MAX: usize = 6;
/// Points of a figure on the first screen at least.
const FIGURE_LEAST: usize = 4;
/// Points of a curve that says something: some fifty waits.
const CURVE_LEAST: usize = 12;
const WIDE: (f64, f64) = (1060.0, 196.0);

/// Everything that stands in the place of the sections of a measured run.
pub(super) fn sections(run: &Run, imported: &Imported, data: &ReportData) -> Vec<Option<Section>> {
    let of = |part: account::Section| section::of(part, run);
    let mut out = vec![evidence::sources(imported, true).and_then(of)];
    let mut tables = evidence::tables(imported);
    // It is above the findings.
    tables.retain(|of| !document::is_peaks(imported, &of.title));
    let tables = tables.into_iter().enumerate();
    // The first table has the id that findings of evidence lead to.
    let first = Topic::Evidence.section_id().unwrap_or_default();
    out.extend(tables.map(|(at, mut part)| {
        if at == 0 {
            part.id = first.into();
        }
        of(part)
    }));
    out.extend([
        by_time(run, imported),
        is_sweep(run, imported)
            .then(|| figures::load(run))
            .flatten(),
        percentiles(run),
        histograms(run, imported),
        density::section(run, data),
        heat::section(run, data),
        over_time(run, &imported.series),
        scatter::section(run, data),
        sweep::section(run, data),
        evidence::diagnostics(&run.diagnostics).and_then(of),
        account::validity(run).and_then(of),
        repeat::command(run),
    ]);
    out
}

/// The figure of the first screen: what a commit's wait consists of where a report contains both
/// waits, else a figure that is taken out of its section.
pub(super) fn answer(
    run: &Run,
    evidence: &Imported,
    sections: &mut [&mut Section],
) -> Option<Figure> {
    let own = document::figure(run, evidence, sections);
    if own.is_some() {
        return own;
    }
    let is_series = evidence.tables.iter().any(|t| t.id == REPORT_SERIES);
    let waits = commit_waits(run, evidence).filter(|_| !is_series);
    if waits.is_some() {
        return waits;
    }
    for id in [
        "by-time",
        "load",
        "series",
        "histograms",
        "percentiles",
        "density",
    ] {
        let Some(section) = sections.iter_mut().find(|s| s.id == id) else {
            continue;
        };
        let Content::Figures(all) = &mut section.content else {
            continue;
        };
        // A few waits are no picture; one of log writes or log file sync is better than others.
        let is_shown = |f: &&Figure| !f.drawing.is_empty() && f.table.lines.len() >= FIGURE_LEAST;
        let is_of_log = |f: &Figure| f.caption.contains("log file");
        // Of equals the first.
        let shown = all.iter().filter(is_shown).rev();
        let best = shown.max_by_key(|f| is_of_log(f));
        let at = best.and_then(|best| all.iter().position(|f| f.id == best.id));
        if let Some(at) = at {
            return Some(all.remove(at));
        }
    }
    None
}

/// Log file sync of each report: the time of a log write, and what is beyond it.
fn commit_waits(run: &Run, evidence: &Imported) -> Option<Figure> {
    const REPORTS_MAX: usize = 8;
    const PARTS: [&str; 2] = ["beyond it", "one log write"];
    let all = diagnosis::commit_waits(evidence);
    let bars: Vec<Bar> = all
        .iter()
        .take(REPORTS_MAX)
        .map(|waits| {
            let (sync, write) = (waits.sync.0, waits.write.0);
            Bar {
                label: file_name(&waits.file),
                parts: vec![(sync - write).max(0.0), write.min(sync)],
                note: format::latency(sync),
            }
        })
        .collect();
    let line = |waits: &diagnosis::CommitWaits| {
        vec![
            waits.file.clone(),
            format::latency(waits.sync.0),
            format::latency(waits.write.0),
            digits(waits.sync.0 / waits.write.0),
        ]
    };
    let caption = "Log file sync and the log write in it, means".to_owned();
    let desc = "Each bar is the mean log file sync of a report.";
    let drawing = bars::svg("answer", &caption, desc, &PARTS, &bars, ticks::latency);
    let figure = Figure {
        id: "answer".to_owned(),
        topic: Topic::Answer,
        of: String::new(),
        caption,
        tags: origin_tag(run),
        how: "The bar is the mean log file sync; the coloured part is as long as log file parallel write, which the device decides. Up to as much again is group commit: a commit waits for the rest of the log write in flight, then for its own. What is beyond that has another cause.".to_owned(),
        drawing,
        second: String::new(),
        table: Numbers {
            head: ["Report", "Log file sync", "Log file parallel write", "Ratio"]
                .map(str::to_owned)
                .to_vec(),
            lines: all.iter().take(LINES_MAX).map(line).collect(),
            note: String::new(),
        },
        is_wide: false,
        zoom: None,
    };
    Some(figure).filter(|f| !f.drawing.is_empty())
}

/// Reports of one instance by time, a small figure for each of their figures.
fn by_time(run: &Run, imported: &Imported) -> Option<Section> {
    let mut all = Vec::new();
    let tables = imported.tables.iter().filter(|t| t.id == REPORT_SERIES);
    for (of, table) in tables.enumerate() {
        for (at, column) in table.columns.iter().enumerate() {
            let point = |(hour, row): (usize, &Vec<Cell>)| match row.get(at) {
                Some(Cell::Real(value)) => Some((hour as f64, *value)),
                _ => None,
            };
            let points: Vec<(f64, f64)> = table.rows.iter().enumerate().filter_map(point).collect();
            if points.len() < 2 {
                continue;
            }
            let line = Series {
                name: String::new(),
                points,
                look: SeriesStyle::Marked(0),
            };
            let (id, title) = (
                format!("bt{of}-{at}"),
                format!("{} {}", column.heading, table.title.to_lowercase()),
            );
            let axes = (
                Axis::count("reports in their order"),
                Axis::count(&column.heading),
            );
            let desc = "The table below has the times.";
            let chart = Chart::new((&id, &title, desc), SMALL, axes, vec![line]);
            all.push(Figure::of_chart(
                Topic::Evidence,
                &chart,
                origin_tag(run),
                "",
            ));
        }
    }
    let how = "A point for each report. A step in log file sync with a step in log file parallel write points to the device; without one, to something else.";
    Section::figures("by-time", "By time", how, all)
}

/// The last part of a path, as far as a label has room for it.
fn file_name(path: &str) -> String {
    const MOST: usize = 24;
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.chars().count() {
        0 => "all files".to_owned(),
        n if n <= MOST => name.to_owned(),
        n => format!("…{}", name.chars().skip(n - MOST).collect::<String>()),
    }
}

/// The evidence contains throughput for several numbers of jobs, and no platforms of them.
fn is_sweep(run: &Run, imported: &Imported) -> bool {
    let told = |name: &&str| {
        let rows = rows_of(run, name);
        rows.len() > 2 && rows.iter().all(|r| r.commit_throughput_tps.is_some())
    };
    let is_published = imported.tables.iter().any(|t| t.id == SWEEP_PEAKS);
    !is_published && workloads(run).iter().any(told)
}

/// Percentile curves of the processes beside each other.
fn percentiles(run: &Run) -> Option<Section> {
    let mut all = Vec::new();
    for (i, event) in ["log_file_sync", "log_file_parallel_write"]
        .iter()
        .enumerate()
    {
        let with = run
            .rows
            .iter()
            .filter_map(|row| Some((row, row.curves.get(*event)?)));
        let with: Vec<_> = with
            .filter(|(_, curve)| curve.len() >= CURVE_LEAST)
            .collect();
        let lines = with.iter().take(CURVES_MAX).enumerate();
        let series =
            lines.map(|(k, (row, points))| figures::curve(k, row.workload.clone(), points));
        let series: Vec<_> = series.collect();
        let (id, title) = (format!("pc{i}"), format!("{} by percentile", spaced(event)));
        let axes = (Axis::percentile(), Axis::latency(&spaced(event)));
        let chart = Chart::new((&id, &title, "Percentile curves."), SMALL, axes, series);
        let more = with.len().saturating_sub(CURVES_MAX);
        let more = match more {
            0 => String::new(),
            n => format!(
                " {} more in the tables.",
                format::plural(n as u64, "process")
            ),
        };
        let how = format!(
            "Each step to the right is ten times rarer. If the lines of processes are apart, the processes do not share the work evenly.{more}"
        );
        all.push(Figure::of_chart(
            Topic::Percentiles,
            &chart,
            origin_tag(run),
            &how,
        ));
    }
    Section::figures(
        "percentiles",
        "Percentiles",
        "One line for each process.",
        all,
    )
}

/// Event histograms as bars: a figure for each snapshot and event.
fn histograms(run: &Run, imported: &Imported) -> Option<Section> {
    let tables = imported.tables.iter().filter(|t| t.id == "event_histogram");
    let mut found: Vec<(String, Vec<(f64, u64)>)> = Vec::new();
    for row in tables.flat_map(|t| &t.rows) {
        let [
            Cell::Text(snapshot),
            Cell::Text(event),
            bound,
            Cell::Count(waits),
            ..,
        ] = &row[..]
        else {
            continue;
        };
        let bound_ns = match bound {
            Cell::Real(ms) => ms * 1e6,
            Cell::Count(ms) => *ms as f64 * 1e6,
            Cell::Blank | Cell::Text(_) => continue,
        };
        let title = format!("{event}: {snapshot}");
        match found.iter().position(|(t, _)| *t == title) {
            Some(at) => found[at].1.push((bound_ns, *waits)),
            None if found.len() < CHARTS_MAX => found.push((title, vec![(bound_ns, *waits)])),
            None => {}
        }
    }
    let each = found.into_iter().enumerate().map(|(i, (title, counts))| {
        let bars = Buckets {
            id: format!("bh{i}"),
            title,
            counts,
        };
        bars.figure(origin_tag(run))
    });
    let how = "Each bucket counts the waits under its bound that are not in the previous bucket.";
    Section::figures("histograms", "Event histograms", how, each.collect())
}

fn spaced(event: &str) -> String {
    event.replace('_', " ")
}

fn over_time(run: &Run, series: &[imported::Series]) -> Option<Section> {
    let mut all = document::pairs(run, series);
    for (i, s) in series.iter().take(CHARTS_MAX).enumerate() {
        let name = run.rows.get(s.row).map_or("", |r| r.workload.as_str());
        let what = format!("{name}: {}", spaced(&s.event));
        all.push(latency(run, i, s, &what).of(name));
    }
    for (i, s) in series.iter().take(CHARTS_MAX).enumerate() {
        let name = run.rows.get(s.row).map_or("", |r| r.workload.as_str());
        let what = format!("{name}: {}", spaced(&s.event));
        if s.points.iter().any(|p| p.blocks > 0) {
            all.push(blocks(run, i, s, &what).of(name));
        }
    }
    Section::figures(
        "series",
        "Latency over time or sequence",
        "Over time if the evidence has time stamps, otherwise over the number of the wait.",
        all,
    )
}

/// What a dot stands for.
fn stretch(s: &imported::Series, is_single: bool) -> String {
    let each = match s.axis {
        _ if is_single => return "A dot is one wait.".to_owned(),
        imported::Axis::Sequence => format::plural(s.width as u64, "wait"),
        imported::Axis::Time => format!("{} s", digits(s.width)),
    };
    format!("Two dots show {each}: the exact longest wait, and the mean.")
}

fn latency(run: &Run, i: usize, s: &imported::Series, what: &str) -> Figure {
    let (label, over) = document::place_label(s.axis);
    let dots = |class, y: fn(&imported::SeriesPoint) -> f64| Dots {
        points: s.points.iter().map(|p| (p.at, y(p))).collect(),
        class,
    };
    let is_single = s.points.iter().all(|p| p.count == 1);
    let mut both = vec![dots("dot c1", |p| p.max_ns as f64)];
    if !is_single {
        both.push(dots("dot c0", |p| p.mean_ns));
    }
    let (id, title) = (format!("im{i}"), format!("{what} {over}"));
    let longest = s.points.iter().map(|p| p.max_ns).max().unwrap_or(0);
    let waits: u64 = s.points.iter().map(|p| p.count).sum();
    let desc = format!(
        "{} waits; the longest took {}.",
        count(waits),
        format::latency(longest as f64)
    );
    let axes = (Axis::count(label), Axis::latency("latency"));
    let chart = scatter::chart((&id, &title, &desc), WIDE, axes, &both);
    let how = format!(
        "{} Peaks at even distances have a periodic cause; two bands mean that waits were served in two ways.",
        stretch(s, is_single)
    );
    let mut tag = origin_tag(run);
    if !is_single {
        tag.push_str("<span class=\"tag k1\">longest</span><span class=\"tag k0\">mean</span>");
    }
    let mut figure = Figure::of_chart(Topic::Longest, &chart, tag, &how);
    figure.table = points(s, label);
    figure
}

fn points(s: &imported::Series, label: &str) -> Numbers {
    let kept = thinned(&s.points, 40);
    let line = |p: &imported::SeriesPoint| {
        vec![
            digits(p.at),
            count(p.count),
            format::latency(p.mean_ns),
            format::latency(p.max_ns as f64),
        ]
    };
    Numbers {
        head: [label, "Waits", "Mean", "Longest"]
            .map(str::to_owned)
            .to_vec(),
        lines: kept.iter().map(line).collect(),
        note: left_out(s.points.len(), kept.len()),
    }
}

/// Latency against the mean size of the writes.
fn blocks(run: &Run, i: usize, s: &imported::Series, what: &str) -> Figure {
    let with = s.points.iter().filter(|p| p.blocks > 0 && p.count > 0);
    let dots = [Dots {
        points: with
            .map(|p| (p.blocks as f64 / p.count as f64, p.mean_ns))
            .collect(),
        class: "dot c0",
    }];
    let (id, title) = (format!("ib{i}"), format!("{what} against blocks"));
    let axes = (
        Axis::doubling("blocks of a wait"),
        Axis::latency("mean latency"),
    );
    let desc = "Mean latency against the mean number of blocks of each stretch.";
    let chart = scatter::chart((&id, &title, desc), SMALL, axes, &dots);
    let how = "A cloud that climbs to the right shows bandwidth; a flat cloud shows a cost per write that does not depend on its size.";
    Figure::of_chart(Topic::Scatter, &chart, origin_tag(run), how)
}
