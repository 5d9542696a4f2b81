//! Study 000's experiment in sentences: what a commit's wait consists of, and what changes it.

use super::Info;
use super::catalogue;
use super::note::Note;
use crate::explain::{ExplainedCondition, LatencyExplanation, LatencyPart, RoundsMean, explain};
use crate::format;
use crate::stats::Estimate;
use measure::run::Run;

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    let Some(explained) = explain(run) else {
        return;
    };
    notes.extend(parts(&explained));
    notes.extend(conditions(&explained));
}

fn us(ns: f64) -> String {
    format!("{} us", format::digits(ns / 1e3))
}

fn interval(mean: &RoundsMean) -> String {
    let text = mean.interval.map(|(low, high)| {
        let (low, high) = (format::digits(low / 1e3), format::digits(high / 1e3));
        format!(", 95 % interval from {low} to {high} us")
    });
    text.unwrap_or_default()
}

/// What the wait consists of.
fn parts(explained: &LatencyExplanation) -> Option<Note> {
    let base = explained.base();
    let (sync, parts) = (base.sync_ns?, base.parts?);
    let whole: f64 = parts.iter().map(|part| part.mean).sum();
    let named = || LatencyPart::ALL.into_iter().zip(parts);
    let listed: Vec<String> = named()
        .map(|(part, mean)| {
            format!(
                "{} {} ({}; {}{})",
                part.name(),
                format::percent(100.0 * mean.mean / whole.max(1.0)),
                part.meaning(),
                us(mean.mean),
                interval(&mean)
            )
        })
        .collect();
    let (largest, _) = named().max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))?;
    let queued = base.run_queue_ns.map_or_else(String::new, |waited| {
        format!(
            " The threads of the sessions were ready to run and waited for a processor for {} per commit.",
            us(waited.mean)
        )
    });
    let joined = base.joined_pct.map_or(100.0, |joined| joined.mean);
    let of = match joined {
        pct if pct > 99.9 => String::new(),
        pct => format!(", for {} of the commits", format::percent(pct)),
    };
    let claim = format!(
        "Log file sync of {} with {} takes {} ({}{}). It consists of{of}: {}.{queued}",
        explained.workload,
        format::jobs(explained.jobs),
        us(sync.mean),
        format::plural(sync.rounds as u64, "round"),
        interval(&sync),
        listed.join("; ")
    );
    let mut note = Note::of(&catalogue::LATENCY_PARTS, Info, claim).advice(advice(largest));
    note = numbers(note, "log_file_sync", &sync);
    for (part, mean) in named() {
        note = numbers(note, part.key(), &mean);
    }
    let note = note.number("joined_pct", joined);
    Some(note.maybe(
        "run_queue_us",
        base.run_queue_ns.map(|waited| waited.mean / 1e3),
    ))
}

fn numbers(note: Note, key: &str, mean: &RoundsMean) -> Note {
    let end = |end: fn((f64, f64)) -> f64| mean.interval.map(|ends| end(ends) / 1e3);
    note.number(format!("{key}_us"), mean.mean / 1e3)
        .maybe(&format!("{key}_low_us"), end(|(low, _)| low))
        .maybe(&format!("{key}_high_us"), end(|(_, high)| high))
}

fn advice(largest: LatencyPart) -> &'static str {
    match largest {
        LatencyPart::Io => {
            "Most of the wait is the log write itself: a device with faster durable writes makes commits faster; more processors do not."
        }
        LatencyPart::GroupCommit => {
            "Most of the wait is for the log write before: log file sync up to twice the log file parallel write is group commit by itself. A faster log write shortens both."
        }
        LatencyPart::Cpu => {
            "Most of the wait is after the redo is durable: the session waits for a processor. Look at the run queue, at the load of the processors and at --log-file-sync; a faster device does not help."
        }
        LatencyPart::LogWriter => {
            "Most of the wait is the log writer, not its device: compare --log-writer inline, lgwr and adaptive, and see that the log writer gets a processor (priority, --log-writer-cpu)."
        }
    }
}

/// What the other conditions change.
fn conditions(explained: &LatencyExplanation) -> Option<Note> {
    let others = || explained.conditions.iter().skip(1);
    let changes: Vec<String> = others()
        .filter_map(|other| change(explained, other))
        .collect();
    if changes.is_empty() {
        return None;
    }
    let claim = format!(
        "Compared with {} on {} without busy threads: {}.",
        explained.label(explained.base()),
        format::plural(u64::from(explained.processors), "processor"),
        changes.join("; ")
    );
    let note = Note::of(&catalogue::LATENCY_CONDITIONS, Info, claim);
    Some(others().fold(note, |note, other| {
        let key = explained.label(other).to_lowercase();
        let key = key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let note = ratio(note, &format!("{key}_rate_ratio"), other.rate_ratio);
        let note = ratio(note, &format!("{key}_sync_ratio"), other.sync_ratio);
        ratio(note, &format!("{key}_io_ratio"), other.io_ratio)
    }))
}

fn ratio(note: Note, key: &str, ratio: Option<Estimate>) -> Note {
    let Some(ratio) = ratio else {
        return note;
    };
    note.number(key, ratio.value)
        .number(format!("{key}_low"), ratio.low)
        .number(format!("{key}_high"), ratio.high)
}

/// What one condition changes, where at least two rounds show how much rounds vary.
fn change(explained: &LatencyExplanation, other: &ExplainedCondition) -> Option<String> {
    let label = explained.label(other);
    let ends = |ratio: &Estimate| {
        let [low, high] = [ratio.low, ratio.high].map(format::digits);
        format!("95 % interval from {low} to {high}")
    };
    let changed = |ratio: &Estimate| ratio.low > 1.0 || ratio.high < 1.0;
    if let Some(ratio) = &other.sync_ratio {
        let times = format!("{} times as long", format::digits(ratio.value));
        return Some(match changed(ratio) {
            true => format!(
                "with {label} log file sync takes {times} ({}){}",
                ends(ratio),
                in_io(explained, other).unwrap_or_default()
            ),
            false => format!(
                "with {label} log file sync is not measurably different ({times}, {})",
                ends(ratio)
            ),
        });
    }
    let ratio = other.rate_ratio.as_ref()?;
    Some(format!(
        "{label} commits {} times as many transactions per second ({})",
        format::digits(ratio.value),
        ends(ratio)
    ))
}

/// Busy threads that make the part I/O longer: they do not write, so a processor was missing there.
fn in_io(explained: &LatencyExplanation, other: &ExplainedCondition) -> Option<String> {
    let is_busy = other.condition.busy_threads > explained.base().condition.busy_threads;
    let ratio = other.io_ratio.filter(|io| is_busy && io.low > 1.0)?;
    Some(format!(
        ", and its I/O {} times as long: busy threads do not write, so the log writer waited for a processor there",
        format::digits(ratio.value)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::{clean_run, explained_run};
    use measure::judgement::Finding;

    fn found(run: &Run) -> Vec<Finding> {
        let mut notes = Vec::new();
        collect(run, &mut notes);
        notes.into_iter().map(Note::done).collect()
    }

    fn number(finding: &Finding, name: &str) -> f64 {
        let found = finding.numbers.iter().find(|(n, _)| n == name);
        found.unwrap_or_else(|| panic!("{name}: {finding:?}")).1
    }

    #[test]
    fn the_parts_are_said_with_their_shares_and_what_helps() {
        let all = found(&explained_run(&[190.0, 200.0, 210.0]));
        let parts = &all[0];
        assert_eq!(parts.id, "latency.parts");
        for words in [
            "LGWR-LAT1 with 8 jobs takes 200 us (3 rounds, 95 % interval from 175 to 225 us)",
            "I/O 50 %",
            "group commit 30 %",
            "CPU 15 %",
            "log writer 5",
            "waited for a processor for 10.0 us per commit",
        ] {
            assert!(parts.claim.contains(words), "{words}: {}", parts.claim);
        }
        assert!(parts.advice.contains("more processors do not"));
        let sum: f64 = LatencyPart::ALL
            .into_iter()
            .map(|part| number(parts, &format!("{}_us", part.key())))
            .sum();
        assert!((sum - number(parts, "log_file_sync_us")).abs() < 1e-6);
        assert!(number(parts, "io_low_us") < 100.0 && number(parts, "io_high_us") > 100.0);
    }

    #[test]
    fn conditions_are_compared_by_their_rounds() {
        let all = found(&explained_run(&[190.0, 200.0, 210.0]));
        let conditions = &all[1];
        assert_eq!(conditions.id, "latency.conditions");
        for words in [
            "Compared with WAIT IMMEDIATE, adaptive",
            "NOWAIT BATCH commits 2.00 times as many transactions per second",
            "with 4 busy threads log file sync takes 3.00 times as long",
            "and its I/O 3.00 times as long: busy threads do not write",
            "with polling log file sync takes 0.9",
        ] {
            let claim = &conditions.claim;
            assert!(claim.contains(words), "{words}: {claim}");
        }
        assert!(number(conditions, "4_busy_threads_sync_ratio_low") > 2.0);
        assert!(number(conditions, "nowait_batch_rate_ratio") > 1.9);
    }

    #[test]
    fn a_run_without_conditions_and_a_single_round_say_no_more_than_they_know() {
        assert_eq!(found(&clean_run()), Vec::new());
        let single = found(&explained_run(&[200.0]));
        assert_eq!(single.len(), 1, "no ratio from one pair: {single:?}");
        assert!(!single[0].claim.contains("interval"), "{}", single[0].claim);
    }
}
