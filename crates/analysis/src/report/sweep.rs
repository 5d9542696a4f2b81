//! Log file sync against redo size (study 002), with the size at which it breaks.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::{ReportData, SizeLine, SizePoint, SizeSweepLines};
use super::figure::Figure;
use super::topic::Topic;
use super::{Section, origin_tag};
use crate::format;
use crate::rows::sync_of;
use crate::size_sweep::{self, SizeBreak};
use measure::run::Run;
use measure::workload::SIZE_SWEEP;

const SIZE: (f64, f64) = (1060.0, 260.0);
/// Most targets that are shown.
const LINES_MAX: usize = 6;

pub(super) fn section(run: &Run, data: &ReportData) -> Option<Section> {
    let own = of_run(run);
    let sweep = data.size_sweep.as_ref().or(own.as_ref())?;
    Section::figures(
        "size-sweep",
        "Redo size",
        "Study 002: how long a commit waits, depending on the redo of its transaction.",
        vec![figure(sweep, "sw0", origin_tag(run))],
    )
}

/// The sweep that a run's own rows make: a line for each number of jobs.
fn of_run(run: &Run) -> Option<SizeSweepLines> {
    run.workload.redo()?.size_sweep.as_ref()?;
    let mut lines: Vec<(u32, SizeLine)> = Vec::new();
    for row in run.rows.iter().filter(|r| r.workload == SIZE_SWEEP) {
        let (Some(redo_bytes), Some(sync)) = (row.redo_bytes_per_txn, sync_of(row)) else {
            continue;
        };
        let point = SizePoint {
            redo_bytes,
            mean_ns: sync.mean_ns,
            p99_ns: sync.p99_ns,
            count: sync.count,
        };
        match lines.iter_mut().find(|(jobs, _)| *jobs == row.jobs) {
            Some((_, line)) => line.points.push(point),
            None => {
                let line = SizeLine {
                    name: format::jobs(row.jobs),
                    points: vec![point],
                };
                lines.push((row.jobs, line));
            }
        }
    }
    let mut lines: Vec<SizeLine> = lines.into_iter().map(|(_, line)| line).collect();
    for line in &mut lines {
        line.points.sort_by_key(|p| p.redo_bytes);
    }
    let break_at =
        size_sweep::jobs(run)
            .into_iter()
            .find_map(|jobs| match size_sweep::of_jobs(run, jobs) {
                SizeBreak::Between([(below, _), (above, _)]) => Some([below, above]),
                _ => None,
            });
    (!lines.is_empty()).then_some(SizeSweepLines {
        lines,
        break_at,
        found: size_sweep::sentences(run).join(" "),
    })
}

pub(super) fn figure(sweep: &SizeSweepLines, id: &str, tags: String) -> Figure {
    let mut series = Vec::new();
    for (k, line) in sweep.lines.iter().take(LINES_MAX).enumerate() {
        let points = |value: &dyn Fn(&SizePoint) -> Option<f64>| -> Vec<(f64, f64)> {
            let each = line.points.iter().filter(|p| p.redo_bytes > 0);
            each.filter_map(|p| Some((p.redo_bytes as f64, value(p)?)))
                .collect()
        };
        let prefix = match (sweep.lines.len(), line.name.as_str()) {
            (1, _) | (_, "") => String::new(),
            (_, name) => format!("{name} "),
        };
        series.push(Series {
            name: format!("{prefix}mean"),
            points: points(&|p| Some(p.mean_ns)),
            look: SeriesStyle::Marked(k),
        });
        let p99 = points(&|p| p.p99_ns.map(|ns| ns as f64));
        if !p99.is_empty() {
            series.push(Series {
                name: format!("{prefix}p99"),
                points: p99,
                look: SeriesStyle::Dashed(k),
            });
        }
    }
    let desc = &sweep.found;
    let axes = (
        Axis::bytes("redo of a transaction"),
        Axis::latency("log file sync"),
    );
    let title = "Log file sync against redo size";
    let mut chart = Chart::new((id, title, desc), SIZE, axes, series);
    if let Some([below, above]) = sweep.break_at {
        let middle = (below as f64 * above as f64).sqrt();
        let words = format!("break above {}", format::bytes(below));
        chart.marks = vec![(middle, words)];
    }
    let how = format!(
        "On the left the line is flat: durability decides the time of a commit. On the right the line climbs with the size: bandwidth decides. A break is a size above which redo was written before the commit requested it. {desc}"
    );
    Figure::of_chart(Topic::SizeSweep, &chart, tags, &how)
}
