//! What a commit's wait consists of, as text: the parts of the base, then every condition.

use super::cells::real;
use super::table::{Style, draw, fit};
use super::{lines, verdict};
use analysis::explain::{ExplainedCondition, LatencyExplanation, LatencyPart, RoundsMean, explain};
use measure::run::Run;
use measure::words::{self, sanitize};

/// The tables; `None` of a run without conditions.
#[must_use]
pub fn text(run: &Run, style: Style) -> Option<String> {
    let explained = explain(run)?;
    let parts = parts(&explained, style);
    let conditions = conditions(&explained, style);
    let mut out = format!(
        "What a commit of {} with {} waits for (us; 95 % intervals; {})\n{}\n{conditions}\n",
        sanitize::line(&explained.workload),
        words::jobs(explained.jobs),
        sanitize::line(&explained.base().condition.log_file_sync),
        parts.unwrap_or_else(|| "(no round has all parts of the base)\n".to_owned())
    );
    let width = style.width.min(verdict::LINE_MAX);
    let named = ["latency.parts", "latency.conditions"];
    for finding in run
        .findings
        .iter()
        .filter(|f| named.contains(&f.id.as_str()))
    {
        lines::wrap(&mut out, "", &finding.claim, width);
        if !finding.advice.is_empty() {
            lines::wrap(&mut out, "  -> ", &finding.advice, width);
        }
    }
    Some(out)
}

fn us(mean: &RoundsMean) -> String {
    real(mean.mean / 1e3)
}

/// The parts of the base with their intervals and shares; `None` where they are not known.
fn parts(explained: &LatencyExplanation, style: Style) -> Option<String> {
    let base = explained.base();
    let (sync, parts) = (base.sync_ns?, base.parts?);
    let whole: f64 = parts.iter().map(|part| part.mean).sum();
    let line = |name: &str, meaning: &str, mean: &RoundsMean, share: String| {
        let ends = mean.interval.map_or_else(
            || "-".to_owned(),
            |(low, high)| format!("{} to {}", real(low / 1e3), real(high / 1e3)),
        );
        vec![name.to_owned(), meaning.to_owned(), us(mean), ends, share]
    };
    let mut lines: Vec<Vec<String>> = LatencyPart::ALL
        .into_iter()
        .zip(&parts)
        .map(|(part, mean)| {
            let share = words::percent(100.0 * mean.mean / whole.max(1.0));
            line(part.name(), part.meaning(), mean, share)
        })
        .collect();
    lines.push(line("log file sync", "", &sync, String::new()));
    let headings = ["Part", "Meaning", "Mean", "Interval", "Share"];
    let (headings, lines) = fit(&headings, lines, &["Meaning"], style);
    let text_columns = headings.len() - 3;
    Some(draw(&headings, lines, text_columns, style))
}

/// A line for each condition.
fn conditions(explained: &LatencyExplanation, style: Style) -> String {
    let headings = [
        "Condition",
        "Commits/s",
        "Sync",
        "I/O",
        "Group commit",
        "CPU",
        "Log writer",
        "Run queue",
    ];
    let lines = explained.conditions.iter().map(|of| {
        let label = explained.label(of);
        // The heading above has the base's way of waiting.
        let short = label.split(',').next().filter(|_| of == explained.base());
        condition(short.unwrap_or(&label), of)
    });
    let victims = ["Run queue", "Log writer"];
    let (headings, lines) = fit(&headings, lines.collect(), &victims, style);
    draw(&headings, lines, 1, style)
}

fn condition(label: &str, of: &ExplainedCondition) -> Vec<String> {
    let dash = || "-".to_owned();
    let cell = |mean: Option<&RoundsMean>| mean.map_or_else(dash, us);
    let rate = of.commits_per_s.map_or_else(dash, |rate| real(rate.mean));
    let mut cells = vec![sanitize::line(label), rate, cell(of.sync_ns.as_ref())];
    cells.extend((0..LatencyPart::ALL.len()).map(|at| cell(of.parts.as_ref().map(|p| &p[at]))));
    cells.push(cell(of.run_queue_ns.as_ref()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{CommitPathFigures, Row, RowCondition, WaitParts, WaitStats};

    fn explained() -> Run {
        let mut run = crate::output::table::tests::run();
        let row = |round: u32, busy_threads: u32, nowait: bool| {
            let ns = 2e5 + 1e4 * f64::from(round) + 4e6 * f64::from(busy_threads);
            let waits = WaitStats {
                count: 10,
                mean_ns: ns,
                ..WaitStats::default()
            };
            Row {
                workload: "LGWR-LAT1".to_owned(),
                jobs: 8,
                condition: Some(RowCondition {
                    commit_write: if nowait {
                        "nowait-batch"
                    } else {
                        "wait-immediate"
                    }
                    .to_owned(),
                    log_file_sync: "adaptive".to_owned(),
                    busy_threads,
                    round,
                }),
                commit_throughput_tps: Some(123_456.7),
                waits: [("log_file_sync".to_owned(), waits)]
                    .into_iter()
                    .filter(|_| !nowait)
                    .collect(),
                commit_path: Some(CommitPathFigures {
                    parts: (!nowait).then_some(WaitParts {
                        commits: 10,
                        io_ns: ns * 0.3,
                        group_commit_ns: ns * 0.4,
                        cpu_ns: ns * 0.2,
                        log_writer_ns: ns * 0.1,
                    }),
                    run_queue_ns: Some(ns * 0.1),
                    ..CommitPathFigures::default()
                }),
                ..Row::default()
            }
        };
        run.rows = (1..=3)
            .flat_map(|round| {
                [
                    row(round, 0, false),
                    row(round, 0, true),
                    row(round, 12, false),
                ]
            })
            .collect();
        run
    }

    #[test]
    fn every_part_and_condition_is_shown_in_80_columns() {
        let style = Style {
            width: 80,
            frame: false,
        };
        let text = text(&explained(), style).expect("it has conditions");
        assert!(text.lines().all(|l| lines::width(l) <= 80), "{text}");
        assert!(text.contains("Run") && text.contains("Meaning"), "{text}");
        let of = |begin: &str| {
            let line = text.lines().find(|line| line.starts_with(begin));
            line.unwrap_or_else(|| panic!("{begin}: {text}"))
        };
        for (part, share) in [
            ("I/O", "30"),
            ("group commit", "40"),
            ("CPU", "20"),
            ("log writer", "10"),
        ] {
            assert!(of(part).contains(share), "{text}");
        }
        assert!(of("log file sync").contains("220"), "{text}");
        assert!(of("12 busy threads").contains("48"), "{text}");
        assert!(of("NOWAIT BATCH").contains("-"), "{text}");
        assert_eq!(
            super::text(&crate::output::table::tests::run(), style),
            None
        );
    }
}
