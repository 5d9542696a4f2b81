//! Log file sync against redo size (study 002), with the size at which it breaks.

use super::chart::{Axis, Chart, Look, Series};
use super::data::{ReportData, SizePoint, SizeSweep};
use super::figure::Figure;
use super::links::Topic;
use super::{Section, origin_tag};
use crate::format;
use measure::run::Run;

const SIZE: (f64, f64) = (1060.0, 260.0);
/// Most targets that are shown.
const LINES_MAX: usize = 6;

pub(super) fn section(run: &Run, data: &ReportData) -> Option<Section> {
    let sweep = data.size_sweep.as_ref()?;
    Section::figures(
        "size-sweep",
        "Redo size",
        "Study 002: what a commit waits when its transaction has made more redo.",
        vec![figure(sweep, "sw0", origin_tag(run))],
    )
}

pub(super) fn figure(sweep: &SizeSweep, id: &str, tags: String) -> Figure {
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
            look: Look::Marked(k),
        });
        let p99 = points(&|p| p.p99_ns.map(|ns| ns as f64));
        if !p99.is_empty() {
            series.push(Series {
                name: format!("{prefix}p99"),
                points: p99,
                look: Look::Dashed(k),
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
        "Left, where it is flat, a commit pays for being durable; right, where it climbs in step with the size, it pays for bandwidth. A break is a size past which redo was written before the commit asked for it. {desc}"
    );
    Figure::of_chart(Topic::SizeSweep, &chart, tags, &how)
}
