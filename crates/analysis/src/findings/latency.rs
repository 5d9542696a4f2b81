//! How long log writes and commits take: the mean in bands, the tail, outliers, and whether a
//! commit's time is I/O or scheduling.

use super::catalogue;
use super::constants::gathered;
use super::note::Note;
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::rows::{name_of, sync_of, waiting_rows, write_of};
use crate::thresholds::Thresholds;
use measure::WaitEvent;
use measure::judgement::Weight;
use measure::run::{Origin, Row, Run, WaitStats};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    write_mean(run, t, notes);
    tail(run, t, notes);
    outliers(run, t, notes);
    share(run, t, notes);
    others(run, notes);
}

/// Single waits of evidence that are neither log writes nor log file sync, such as a driver's
/// transactions: a word, since silence looks like health.
fn others(run: &Run, notes: &mut Vec<Note>) {
    let of_log = |row: &Row| write_of(row).or(sync_of(row)).is_some();
    let imported = run.origin == Origin::Imported && !run.rows.iter().any(of_log);
    let waits = run.rows.iter().filter(|_| imported).flat_map(|row| {
        let waits = row.waits.iter();
        waits.map(move |(event, of)| (row, event, of))
    });
    let longest = waits.max_by_key(|(_, _, of)| of.max_ns);
    let Some((row, event, of)) = longest.filter(|(_, _, of)| of.max_ns > 0) else {
        return;
    };
    let p99 = of.p99_ns.map_or_else(String::new, |ns| {
        format!(", p99 {}", format::latency(ns as f64))
    });
    let stalls = without_outliers(run, event, of);
    let figures = match stalls {
        Some(apart) => apart,
        None => format!(
            "the longest {}{p99}, a mean of {} over {}",
            format::latency(of.max_ns as f64),
            format::latency(of.mean_ns),
            format::plural(of.count, "wait"),
        ),
    };
    let claim = format!(
        "{}: {figures} ({}); what a commit of it waited is not known",
        event.replace('_', " "),
        name_of(row)
    );
    let weight = if of.outliers > 0 { Caution } else { Info };
    notes.push(Note::of(&catalogue::LATENCY_SOURCE, weight, claim).advice_if(weight == Caution));
}

/// Outliers apart from the other waits, where an import has them by their times: a mean over both
/// describes neither.
fn without_outliers(run: &Run, event: &str, of: &WaitStats) -> Option<String> {
    const OUTLIER_NS: u64 = 500_000_000;
    let series = run.imported.iter().flat_map(|imported| &imported.series);
    let points = series.filter(|s| s.event == event).flat_map(|s| &s.points);
    let long = points.filter(|point| point.max_ns >= OUTLIER_NS);
    let (count, total_ns) = long.fold((0, 0.0), |(n, sum), point| {
        (n + point.count, sum + point.mean_ns * point.count as f64)
    });
    let others = of.count.checked_sub(count).filter(|n| *n > 0)?;
    let rest_ns = of.total_ns as f64 - total_ns;
    (count > 0 && count == of.outliers && rest_ns > 0.0).then(|| {
        format!(
            "{count} of {} took {} on average, the longest {}, and the other {others} a mean of {}: stalls, which a \
             mean over both hides",
            format::plural(of.count, "wait"),
            format::latency(total_ns / count as f64),
            format::latency(of.max_ns as f64),
            format::latency(rest_ns / others as f64),
        )
    })
}

/// Rows with log writes of workloads whose sessions wait: the rule of thumb is about those.
/// Evidence of others and a log that was watched show the log writer alone, without any session,
/// and count too.
fn written(run: &Run) -> Vec<(&Row, &WaitStats)> {
    let is_of_others = matches!(run.origin, Origin::Imported | Origin::Watched);
    let waits = |r: &&Row| is_of_others || sync_of(r).is_some_and(|w| w.count > 0);
    run.rows
        .iter()
        .filter(waits)
        .filter_map(|r| Some((r, write_of(r).filter(|w| w.count > 0)?)))
        .collect()
}

/// Weight and words of a mean log file parallel write.
pub(super) fn band(mean_ms: f64, t: &Thresholds) -> (Weight, String) {
    let (good, fair, problem) = (
        t.write_mean_good_ms.value,
        t.write_mean_fair_ms.value,
        t.write_mean_problem_ms.value,
    );
    match mean_ms {
        m if m < good => (Good, format!("under {good} ms")),
        m if m < fair => (Info, format!("from {good} to {fair} ms")),
        m if m <= problem => (Caution, format!("from {fair} to {problem} ms")),
        _ => (Bad, format!("over {problem} ms")),
    }
}

fn write_mean(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let rows = written(run);
    let by_mean =
        |a: &&(&Row, &WaitStats), b: &&(&Row, &WaitStats)| a.1.mean_ns.total_cmp(&b.1.mean_ns);
    let (Some((best, fast)), Some((worst, slow))) =
        (rows.iter().min_by(by_mean), rows.iter().max_by(by_mean))
    else {
        return;
    };
    let (weight, words) = band(slow.mean_ns / 1e6, t);
    let limit = match weight {
        Weight::Good => &t.write_mean_good_ms,
        Weight::Info => &t.write_mean_fair_ms,
        _ => &t.write_mean_problem_ms,
    };
    let advice = match weight {
        Weight::Good => "",
        Weight::Info => {
            "Fair for a disk behind a cache; a dedicated NVMe drive is usually under 1 ms."
        }
        _ => catalogue::LATENCY_WRITE_MEAN.advice,
    };
    let claim = match rows.as_slice() {
        [(row, write)] => format!(
            "The mean log file parallel write is {} over {} ({}). Band: {words}.",
            format::latency(write.mean_ns),
            format::plural(write.count, "wait"),
            name_of(row),
        ),
        _ => format!(
            "The mean log file parallel write ranges from {} ({}) to {} ({}). Band of the \
             slowest: {words}.",
            format::latency(fast.mean_ns),
            name_of(best),
            format::latency(slow.mean_ns),
            name_of(worst),
        ),
    };
    notes.push(
        Note::of(&catalogue::LATENCY_WRITE_MEAN, weight, claim)
            .number("worst_mean_ms", slow.mean_ns / 1e6)
            .number("best_mean_ms", fast.mean_ns / 1e6)
            .limit(
                format!(
                    "bands of the mean: under {} ms, to {} ms, to {} ms, over {} ms",
                    t.write_mean_good_ms.value,
                    t.write_mean_fair_ms.value,
                    t.write_mean_problem_ms.value,
                    t.write_mean_problem_ms.value
                ),
                limit,
            )
            .advice(advice),
    );
}

/// The 99.9th percentile and the longest are said whatever they are.
fn tail(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let rows: Vec<(&Row, &WaitStats)> = waiting_rows(run)
        .filter_map(|r| Some((r, sync_of(r)?)))
        .collect();
    let Some((longest_row, longest)) = rows.iter().max_by_key(|(_, w)| w.max_ns) else {
        return;
    };
    let worst = rows
        .iter()
        .filter_map(|(r, w)| Some((*r, w.p999_ns?)))
        .max_by_key(|(_, p)| *p);
    let limit = &t.tail_p999_ms;
    let is_long = worst.is_some_and(|(_, p)| p as f64 / 1e6 > limit.value);
    let p999 = match worst {
        Some((row, p)) => format!("at most {} ({})", format::latency(p as f64), name_of(row)),
        None => "not known (fewer than ten samples beyond it in every row)".to_owned(),
    };
    notes.push(
        Note::of(
            &catalogue::LATENCY_TAIL,
            if is_long { Caution } else { Info },
            format!(
                "The 99.9th percentile of log file sync is {p999}; the longest wait was {} ({}).",
                format::latency(longest.max_ns as f64),
                name_of(longest_row),
            ),
        )
        .maybe("p999_ms", worst.map(|(_, p)| p as f64 / 1e6))
        .number("longest_ms", longest.max_ns as f64 / 1e6)
        .limit(format!("99.9th percentile over {} ms", limit.value), limit)
        .advice_if(is_long),
    );
}

fn outliers(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let sum = |f: fn(&Row) -> Option<&WaitStats>| -> u64 {
        run.rows.iter().filter_map(f).map(|w| w.outliers).sum()
    };
    let (writes, syncs) = (sum(write_of), sum(sync_of));
    let waits: u64 = run.rows.iter().filter_map(sync_of).map(|w| w.count).sum();
    let limit = &t.outliers_allowed;
    let path = gathered(&long_waits(run, &WAITS));
    let of_sessions = long_waits(run, &WAITS[..1]).is_empty();
    let others = path.as_ref().filter(|_| of_sessions && writes == 0);
    let others = others.and_then(|_| beside_outliers(run, syncs));
    let is_over = writes.max(syncs) as f64 > limit.value;
    if !is_over && path.is_none() {
        return;
    }
    let kinds = [(writes, "log write"), (syncs, "log file sync wait")];
    let kinds = kinds.map(|(n, what)| (n > 0).then(|| format::plural(n, what)));
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    let words = path.as_ref().map_or("", |(words, _)| words.as_str());
    let claim = match is_over {
        true => format!(
            "{} took over 500 ms{words}{}.",
            kinds.join(" and "),
            others.unwrap_or_default()
        ),
        false => format!("No wait took over 500 ms, but of those over {LONG_MS} ms{words}."),
    };
    notes.push(
        Note::of(&catalogue::LATENCY_OUTLIERS, Caution, claim)
            .advice_or_own(path.map(|(_, advice)| if of_sessions { MISSED } else { advice }))
            .number("log_write_outliers", writes as f64)
            .number("log_file_sync_outliers", syncs as f64)
            .number("log_file_sync_waits", waits as f64)
            .limit(format!("more than {} over 500 ms", limit.value), limit),
    );
}

/// What log file sync is without its `outliers`, where each of them is known by its time: a mean
/// over both describes neither.
fn beside_outliers(run: &Run, outliers: u64) -> Option<String> {
    let long = long_waits(run, &WAITS[1..]);
    let long_ms: f64 = long.iter().sum();
    let all = run.rows.iter().filter_map(sync_of);
    let (waits, all_ms) = all.fold((0, 0.0), |(n, ms), of| {
        (n + of.count, ms + of.total_ns as f64 / 1e6)
    });
    let others = waits.checked_sub(outliers).filter(|n| *n > 0)?;
    let mean_ms = (all_ms - long_ms) / others as f64;
    (long.len() as u64 == outliers && mean_ms > 0.0).then(|| {
        format!(
            "; they have {:.1} % of the time of all {waits}, and the other {others} took {} on average",
            100.0 * long_ms / all_ms,
            format::latency(mean_ms * 1e6)
        )
    })
}

/// Waits that are longer are looked at for constants at which they gather: no medium that works
/// takes as long.
const LONG_MS: f64 = 100.0;

/// Keys of log writes and log file sync.
const WAITS: [&str; 2] = [
    WaitEvent::LogFileParallelWrite.key(),
    WaitEvent::LogFileSync.key(),
];

/// What to look at where sessions wait for a time-out and the log writer does not.
const MISSED: &str = "Sessions whose wake-up is missed wait until a time-out: look at the log writer's own writes at \
                      that time, its processor and its priority, and adaptive log file sync (switches between \
                      post/wait and polling); a faster medium does not help.";

/// The long waits for these events that an import has by their times, in ms.
fn long_waits(run: &Run, events: &[&str]) -> Vec<f64> {
    let series = run.imported.iter().flat_map(|imported| &imported.series);
    let of_log = series.filter(|s| events.contains(&s.event.as_str()));
    let points = of_log.flat_map(|series| &series.points);
    let longest = points.map(|point| point.max_ns as f64 / 1e6);
    longest.filter(|ms| *ms >= LONG_MS).collect()
}

/// I/O against scheduling, from the commits that could be joined to their log write.
fn share(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let rows: Vec<(&Row, f64)> = waiting_rows(run)
        .filter_map(|r| Some((r, io_share_pct(r)?)))
        .collect();
    let (Some((low_row, low)), Some((high_row, high))) = (
        rows.iter().min_by(|a, b| a.1.total_cmp(&b.1)),
        rows.iter().max_by(|a, b| a.1.total_cmp(&b.1)),
    ) else {
        return;
    };
    let limit = &t.io_share_high_pct;
    let advice = match (*low >= limit.value, *high < limit.value) {
        (true, _) => "A faster device makes commits faster at every load that was run.",
        (_, true) => {
            "A faster device would not help: look at run queues, wake-ups and group commit."
        }
        _ => "At low load the device decides, at high load queueing and scheduling: look at both.",
    };
    notes.push(
        Note::of(
            &catalogue::LATENCY_IO_SHARE,
            Info,
            format!(
                "Write and flush are {} of log file sync in {} and {} in {}; the rest is queueing for \
                 the log writer and waking up.",
                format::percent(*high),
                name_of(high_row),
                format::percent(*low),
                name_of(low_row),
            ),
        )
        .number("highest_io_share_pct", *high)
        .number("lowest_io_share_pct", *low)
        .limit(format!("mostly I/O from {} %", limit.value), limit)
        .advice(advice),
    );
}

/// Write and flush as a share of a commit's path, percent.
pub(crate) fn io_share_pct(row: &Row) -> Option<f64> {
    let p = row.commit_path.as_ref()?;
    let all = p.queue_ns + p.write_ns + p.flush_ns + p.wake_ns;
    (p.attributed > 0 && all > 0.0).then(|| 100.0 * (p.write_ns + p.flush_ns) / all)
}
