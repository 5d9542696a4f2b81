//! Log file sync against redo size (study 002), with the size at which it breaks.

use super::chart::{Axis, Chart, Series, SeriesStyle};
use super::data::{ReportData, SizeLine, SizePoint, SizeSweepLines};
use super::figure::Figure;
use super::topic::Topic;
use super::{Section, origin_tag};
use crate::format;
use crate::rows::sync_of;
use crate::stats::segmented::one_break;
use measure::run::Run;
use measure::workload::SIZE_SWEEP;

const SIZE: (f64, f64) = (1060.0, 260.0);
/// Most targets that are shown.
const LINES_MAX: usize = 6;
/// Samples under a straight line by which a break is tested.
const DRAWS: u32 = 400;

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
    let facts = run.workload.redo()?.size_sweep.as_ref()?;
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
    let break_at = lines.first().and_then(|line| broken(line, facts));
    (!lines.is_empty()).then_some(SizeSweepLines { lines, break_at })
}

/// Where the slope of a line changes, both axes being logarithmic, if a straight line does not do.
fn broken(line: &SizeLine, facts: &measure::run::SizeSweep) -> Option<(u64, String)> {
    let logs = |value: fn(&SizePoint) -> f64| -> Vec<f64> {
        line.points
            .iter()
            .map(|p| value(p).max(1.0).log10())
            .collect()
    };
    let (x, y) = (logs(|p| p.redo_bytes as f64), logs(|p| p.mean_ns));
    let fit = one_break(&x, &y, 0.95, DRAWS, 1).ok()?;
    if fit.p.ln() > 0.05_f64.ln() {
        return None;
    }
    let bytes = |exponent: f64| 10f64.powf(exponent.clamp(0.0, 18.0)) as u64;
    let at = bytes(fit.at.value);
    let mut why = format!(
        "the slope goes from {} to {} decades per decade, 95 % interval {} to {}",
        format::digits(fit.before),
        format::digits(fit.after),
        format::bytes(bytes(fit.at.low)),
        format::bytes(bytes(fit.at.high)),
    );
    let triggers = [
        ("the flush threshold", facts.flush_threshold_bytes),
        ("a third of the log buffer", facts.buffer_third_bytes),
    ];
    for (name, bytes) in triggers {
        if let Some(bytes) = bytes {
            why.push_str(&format!("; {name} is {}", format::bytes(bytes)));
        }
    }
    Some((at, why))
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
    let broken = sweep.break_at.as_ref();
    let desc = broken.map_or_else(
        || "No break was found.".to_owned(),
        |(bytes, why)| format!("The line breaks at {}: {why}.", format::bytes(*bytes)),
    );
    let axes = (
        Axis::bytes("redo of a transaction"),
        Axis::latency("log file sync"),
    );
    let title = "Log file sync against redo size";
    let mut chart = Chart::new((id, title, &desc), SIZE, axes, series);
    if let Some((bytes, _)) = broken {
        chart.marks = vec![(*bytes as f64, format!("break at {}", format::bytes(*bytes)))];
    }
    let how = format!(
        "On the left the line is flat: durability decides the time of a commit. On the right the line climbs with the size: bandwidth decides. A break is a size above which redo was written before the commit requested it. {desc}"
    );
    Figure::of_chart(Topic::SizeSweep, &chart, tags, &how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_found_where_it_is_and_not_on_a_straight_line() {
        let line = |at: f64| SizeLine {
            name: String::new(),
            points: (0..16_u32)
                .map(|i| {
                    let x = 3.0 + f64::from(i) * 0.25;
                    let wobble = 0.01 * f64::from(i * 7 % 5);
                    let y = 5.0 + 0.1 * x + 0.9 * (x - at).max(0.0) + wobble;
                    SizePoint {
                        redo_bytes: 10f64.powf(x) as u64,
                        mean_ns: 10f64.powf(y),
                        p99_ns: None,
                        count: 100,
                    }
                })
                .collect(),
        };
        let facts = measure::run::SizeSweep {
            flush_threshold_bytes: Some(1 << 20),
            ..measure::run::SizeSweep::default()
        };
        let (at, why) = broken(&line(6.0), &facts).expect("a break");
        assert!((700_000..1_400_000).contains(&at), "{at}");
        assert!(why.contains("the flush threshold is 1 MiB"), "{why}");
        assert_eq!(broken(&line(99.0), &facts), None);
    }
}
