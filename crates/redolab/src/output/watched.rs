//! A log that was watched: the line of each second while it is, and afterwards its flushes, sizes,
//! layers and counts.

use super::cells::{grouped, ns_as_ms, real};
use super::lines::wrap;
use super::table::{Style, draw, fit};
use crate::watch::WatchedSecond;
use measure::run::{Row, Run, TargetFacts, WaitStats, WatchedFacts, WatchedFigures};
use measure::units::MB_BYTES;
use measure::words::{self, sanitize};

/// Lines of this text are not longer.
const WIDTH: usize = 80;

/// The heading of the lines of seconds.
#[must_use]
pub fn live_heading() -> String {
    "   time s  log writes/s      MB/s   mean ms    p99 ms    max ms  flush mean ms".to_owned()
}

/// What was seen in a second.
#[must_use]
pub fn live_line(second: &WatchedSecond) -> String {
    let per_second = |count: f64| count / second.seconds.max(1e-9);
    let ms = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1e6));
    let write = &second.write;
    let some = (write.count() > 0).then_some(write);
    let flush = (second.flush.count() > 0).then(|| second.flush.mean());
    format!(
        "{:>9.0}  {:>12.0}  {:>8.2}  {:>8}  {:>8}  {:>8}  {:>13}",
        second.at_s,
        per_second(write.count() as f64),
        per_second(second.bytes as f64 / MB_BYTES),
        ms(some.map(measure::Histogram::mean)),
        ms(some
            .and_then(|write| write.quantile(0.99))
            .map(|ns| ns as f64)),
        ms(some.map(|write| write.max() as f64)),
        ms(flush),
    )
}

/// What was seen of the log beside its log writes; `None` of every other run.
#[must_use]
pub fn text(run: &Run, style: Style) -> Option<String> {
    let TargetFacts::Watched(facts) = &run.target.facts else {
        return None;
    };
    let mut out = subject(facts);
    for row in run.rows.iter().filter(|row| row.watched.is_some()) {
        let watched = row.watched();
        out.push_str(&times(row, watched, style));
        out.push_str(&counts(watched));
        out.push_str(&layers(watched));
        for note in &watched.notes {
            wrap(&mut out, "  ", &sanitize::line(note), WIDTH);
        }
    }
    Some(out)
}

fn subject(facts: &WatchedFacts) -> String {
    let mut text = format!("Watched: {}", sanitize::line(&facts.product));
    let files = words::plural(facts.log_files.len() as u64, "log file");
    text.push_str(&format!(", {files}, {}", words::size(facts.log_bytes)));
    if facts.added_files > 0 {
        text.push_str(&format!(
            ", {} added while it was watched",
            grouped(facts.added_files)
        ));
    }
    if !facts.open_flags.is_empty() {
        text.push_str(&format!(
            ", opened with {}",
            sanitize::line(&facts.open_flags.join(", "))
        ));
    }
    let mut out = String::new();
    wrap(&mut out, "", &text, WIDTH);
    out
}

/// Distributions beside that of log file parallel write.
fn times(row: &Row, watched: &WatchedFigures, style: Style) -> String {
    let headings = ["What", "Count", "Mean", "p50", "p99", "p99.9", "Max"];
    let ms = |stats: &WaitStats, name: &str| {
        line(name, stats, &|value| format!("{} ms", ns_as_ms(value)))
    };
    let write = row.wait(measure::WaitEvent::LogFileParallelWrite);
    let known = [
        ("log file parallel write", write),
        ("call that writes", watched.write_call.as_ref()),
        ("flush of the log", watched.flush.as_ref()),
        ("write at the device", watched.device_write.as_ref()),
        ("flush of the device", watched.device_flush.as_ref()),
        ("begin to begin", watched.between_writes.as_ref()),
    ];
    let mut lines: Vec<Vec<String>> = known
        .into_iter()
        .filter_map(|(name, stats)| Some(ms(stats?, name)))
        .collect();
    lines.extend(watched.size_bytes.as_ref().map(|stats| {
        line("size of a log write", stats, &|value| {
            format!("{} kB", real(value / 1024.0))
        })
    }));
    if lines.is_empty() {
        return String::new();
    }
    let (headings, lines) = fit(&headings, lines, &["p50", "p99.9"], style);
    draw(&headings, lines, 1, style)
}

fn line(name: &str, stats: &WaitStats, shown: &dyn Fn(f64) -> String) -> Vec<String> {
    let or_none = |value: Option<u64>| value.map_or_else(String::new, |v| shown(v as f64));
    vec![
        name.to_owned(),
        grouped(stats.count),
        shown(stats.mean_ns),
        or_none(stats.p50_ns),
        or_none(stats.p99_ns),
        or_none(stats.p999_ns),
        shown(stats.max_ns as f64),
    ]
}

fn counts(watched: &WatchedFigures) -> String {
    let some = |count: Option<u64>| count.filter(|n| *n > 0);
    let counts = [
        (watched.write_calls, "calls that wrote redo"),
        (watched.server_writes, "writes by the server's own count"),
        (watched.server_flushes, "flushes by the server's own count"),
        (watched.written_bytes, "bytes written"),
        (watched.device_bytes, "bytes of the log files at the device"),
        (
            some(watched.other_flushes),
            "flushes without a log write before them",
        ),
        (
            some(watched.left_out_writes),
            "writes of headers and checkpoints left out",
        ),
        (some(watched.not_flushed), "calls not flushed at the end"),
        (watched.events, "events read"),
        (watched.lost_events, "events lost"),
    ];
    let shown = |(count, what): (Option<u64>, &str)| Some(format!("{} {what}", grouped(count?)));
    let mut parts: Vec<String> = counts.into_iter().filter_map(shown).collect();
    let commits = watched.commits_per_write;
    parts.extend(commits.map(|n| format!("{} commits per log write", real(n))));
    let mut out = String::new();
    wrap(
        &mut out,
        "",
        &format!("Counted: {}", parts.join(", ")),
        WIDTH,
    );
    out
}

/// Where the time of a log write went.
fn layers(watched: &WatchedFigures) -> String {
    let Some(layers) = &watched.layers else {
        return String::new();
    };
    let all = layers.device_write_ns + layers.device_flush_ns + layers.file_system_ns;
    let share = |ns: f64| {
        format!(
            "{} ms ({} %)",
            ns_as_ms(ns),
            real(100.0 * ns / all.max(1.0))
        )
    };
    let text = format!(
        "Layers of a log write: device writes {}, device flushes {}, file system and queue {}",
        share(layers.device_write_ns),
        share(layers.device_flush_ns),
        share(layers.file_system_ns)
    );
    let mut out = String::new();
    wrap(&mut out, "", &text, WIDTH);
    out
}
