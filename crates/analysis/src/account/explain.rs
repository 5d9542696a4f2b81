//! What a commit's wait consists of: the parts of the base, then every condition.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use crate::explain::{ExplainedCondition, LatencyExplanation, LatencyPart, RoundsMean, explain};
use measure::run::Run;
use measure::words;

/// Findings that say what the tables show.
const FINDINGS: [&str; 2] = ["latency.parts", "latency.conditions"];

/// The tables; `None` of a run without conditions.
#[must_use]
pub fn explained_latency(run: &Run) -> Option<Section> {
    let explained = explain(run)?;
    let parts = parts(&explained).map_or_else(
        || Body::Text("No round has all parts of the base.".to_owned()),
        Body::Table,
    );
    let mut body = vec![parts];
    body.extend(conditions(&explained).map(Body::Table));
    let named = |id: &&str| run.findings.iter().find(|finding| finding.id == **id);
    for finding in FINDINGS.iter().filter_map(named) {
        let texts = [&finding.claim, &finding.advice];
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        body.extend(texts.map(|text| Body::Text(text.clone())));
    }
    let jobs = words::jobs(explained.jobs);
    Some(Section {
        id: "explained-latency".into(),
        title: format!(
            "What a commit of {} with {jobs} waits for",
            explained.workload
        ),
        about:
            "In interleaved rounds. A round is one sample; intervals are Student's at 95 %. I/O \
                is the commit's own log write until it was durable, group commit the time in which \
                an earlier log write was in flight, CPU the time from durable until the session \
                ran again, log writer the rest. Run queue is the time for which the sessions' \
                threads were ready to run and waited for a processor; it lies in any of the parts, \
                or between two commits. A dash is a figure that the condition does not have."
                .to_owned(),
        body,
    })
}

/// The parts of the base with their intervals and shares; `None` where they are not known.
fn parts(explained: &LatencyExplanation) -> Option<AccountTable> {
    let base = explained.base();
    let (sync, parts) = (base.sync_ns.as_ref()?, base.parts.as_ref()?);
    let whole: f64 = parts.iter().map(|part| part.mean).sum();
    let named = LatencyPart::ALL.into_iter().zip(parts);
    let lines = named.map(|(part, mean)| (part.name(), part.meaning(), mean));
    let columns: [AccountColumn<'_, (&str, &str, &RoundsMean)>; 5] = [
        (label("Part"), &|(name, ..)| Shown::text(name)),
        (label("What it is"), &|(_, meaning, _)| Shown::text(meaning)),
        (figure("Mean", "µs"), &|(.., of)| Shown::Ns(of.mean)),
        (figure("95 % interval", "µs"), &|(.., of)| {
            of.interval
                .map(|(low, high)| Shown::Range(low / 1e3, high / 1e3))
                .into()
        }),
        (figure("Share", ""), &|(.., of)| {
            Shown::Share(100.0 * of.mean / whole.max(1.0))
        }),
    ];
    let all = ("log file sync", "all of it", sync);
    AccountTable::of(lines.chain([all]), &columns)
}

/// A line for each condition.
fn conditions(explained: &LatencyExplanation) -> Option<AccountTable> {
    let time = |mean: Option<&RoundsMean>| Shown::from(mean.map(|of| Shown::Ns(of.mean)));
    let part = |of: &ExplainedCondition, at: usize| time(of.parts.as_ref().map(|parts| &parts[at]));
    let [io, group, cpu, writer] = LatencyPart::ALL.map(LatencyPart::name);
    let ratio = |of: Option<&crate::stats::Estimate>| {
        Shown::from(of.map(|of| Shown::Estimate([of.value, of.low, of.high])))
    };
    let columns: [AccountColumn<'_, &ExplainedCondition>; 11] = [
        (label("Condition"), &|of| Shown::Text(explained.label(of))),
        (detail("Rounds", ""), &|of| of.rounds.into()),
        (figure("Commits", "/s"), &|of| {
            of.commits_per_s.as_ref().map(|of| of.mean).into()
        }),
        (figure("Log file sync", "µs"), &|of| {
            time(of.sync_ns.as_ref())
        }),
        (figure(io, "µs"), &|of| part(of, 0)),
        (figure(group, "µs"), &|of| part(of, 1)),
        (figure(cpu, "µs"), &|of| part(of, 2)),
        (detail(writer, "µs"), &|of| part(of, 3)),
        (detail("Run queue", "µs"), &|of| {
            time(of.run_queue_ns.as_ref())
        }),
        (detail("Commits", "ratio"), &|of| {
            ratio(of.rate_ratio.as_ref())
        }),
        (detail("Log file sync", "ratio"), &|of| {
            ratio(of.sync_ratio.as_ref())
        }),
    ];
    AccountTable::of(&explained.conditions, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::{CommitPathFigures, Row, RowCondition, WaitParts, WaitStats};

    fn explained() -> Run {
        let mut run = clean_run();
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
    fn every_part_and_condition_is_shown() {
        let section = explained_latency(&explained()).expect("it has conditions");
        let lines = words_of(&section);
        for (line, part, share) in [
            (&lines[0], "I/O", "30 %"),
            (&lines[1], "group commit", "40 %"),
            (&lines[2], "CPU", "20 %"),
            (&lines[3], "log writer", "10 %"),
            (&lines[4], "log file sync", "100 %"),
        ] {
            assert_eq!((&*line[0], &*line[4]), (part, share));
        }
        assert_eq!(lines[4][2], "220", "of 210, 220 and 230 µs");
        let Body::Table(conditions) = &section.body[1] else {
            panic!("{section:?}")
        };
        let label = |words: &str| {
            conditions
                .lines
                .iter()
                .find(|line| line[0] == Shown::text(words))
        };
        assert_eq!(label("NOWAIT BATCH").expect("one")[3], Shown::Missing);
        let busy = label("12 busy threads").expect("one");
        assert!(busy[3].words("µs").starts_with("48"), "{busy:?}");
        assert_eq!(explained_latency(&clean_run()), None);
    }
}
