//! What a commit's wait consists of, in the report.

use super::escape::esc;
use super::{Section, origin_tag};
use crate::explain::{ExplainedCondition, LatencyExplanation, LatencyPart, RoundsMean, explain};
use crate::format::{digits, jobs, percent};
use crate::stats::Estimate;
use measure::run::Run;

/// Empty of a run without conditions.
pub(super) fn section(run: &Run) -> Option<Section> {
    let explained = explain(run)?;
    let how = format!(
        "{} with {}, in interleaved rounds. A round is one sample; intervals are Student's at 95 %. I/O is the commit's own log write until it was durable, group commit the time in which an earlier log write was in flight, CPU the time from durable until the session ran again, log writer the rest. Run queue is the time for which the sessions' threads were ready to run and waited for a processor; it lies in any of the parts, or between two commits. A dash is a figure that the condition does not have.",
        explained.workload,
        jobs(explained.jobs)
    );
    let html = format!("{}{}", parts(&explained), conditions(&explained));
    let section = Section::html("explained-latency", "What a commit waits for", &how, html);
    section.map(|section| section.tagged(origin_tag(run)))
}

fn us(mean: &RoundsMean) -> String {
    digits(mean.mean / 1e3)
}

fn ends(mean: &RoundsMean) -> String {
    mean.interval.map_or_else(
        || "–".to_owned(),
        |(low, high)| format!("{} to {}", digits(low / 1e3), digits(high / 1e3)),
    )
}

/// The parts of the base; empty where they are not known.
fn parts(explained: &LatencyExplanation) -> String {
    let base = explained.base();
    let (Some(sync), Some(parts)) = (&base.sync_ns, &base.parts) else {
        return String::new();
    };
    let line = |name: &str, meaning: &str, mean: &RoundsMean, share: String| {
        format!(
            "<tr><th class=\"t\">{}</th><td class=\"t\">{}</td><td>{}</td><td>{}</td><td>{share}</td></tr>",
            esc(name),
            esc(meaning),
            us(mean),
            ends(mean)
        )
    };
    let whole: f64 = parts.iter().map(|part| part.mean).sum();
    let mut lines: String = LatencyPart::ALL
        .into_iter()
        .zip(parts)
        .map(|(part, mean)| {
            let share = percent(100.0 * mean.mean / whole.max(1.0));
            line(part.name(), part.meaning(), mean, esc(&share))
        })
        .collect();
    lines.push_str(&line("log file sync", "all of it", sync, String::new()));
    format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"t\">Part</th><th class=\"t\">What it is</th><th>Mean<small>us</small></th><th>95 % interval<small>us</small></th><th>Share</th></tr></thead><tbody>{lines}</tbody></table></div>"
    )
}

/// A line for each condition.
fn conditions(explained: &LatencyExplanation) -> String {
    let lines: String = explained
        .conditions
        .iter()
        .map(|of| condition(&explained.label(of), of))
        .collect();
    let heads: String = LatencyPart::ALL
        .iter()
        .map(|part| format!("<th>{}<small>us</small></th>", esc(part.name())))
        .collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"t\">Condition</th><th>Rounds</th><th>Commits<small>1/s</small></th><th>Log file sync<small>us</small></th>{heads}<th>Run queue<small>us</small></th><th>Commits ratio</th><th>Log file sync ratio</th></tr></thead><tbody>{lines}</tbody></table></div>"
    )
}

fn condition(label: &str, of: &ExplainedCondition) -> String {
    let dash = || "–".to_owned();
    let cell = |mean: Option<&RoundsMean>| mean.map_or_else(dash, us);
    let ratio = |ratio: Option<&Estimate>| {
        ratio.map_or_else(dash, |r| {
            let [value, low, high] = [r.value, r.low, r.high].map(digits);
            format!("{value} ({low} to {high})")
        })
    };
    let rate = of.commits_per_s.as_ref();
    let mut cells = vec![
        of.rounds.to_string(),
        rate.map_or_else(dash, |rate| digits(rate.mean)),
        cell(of.sync_ns.as_ref()),
    ];
    cells.extend((0..LatencyPart::ALL.len()).map(|at| cell(of.parts.as_ref().map(|p| &p[at]))));
    cells.push(cell(of.run_queue_ns.as_ref()));
    cells.push(ratio(of.rate_ratio.as_ref()));
    cells.push(ratio(of.sync_ratio.as_ref()));
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td>{cell}</td>"))
        .collect();
    format!("<tr><th class=\"t\">{}</th>{cells}</tr>", esc(label))
}
