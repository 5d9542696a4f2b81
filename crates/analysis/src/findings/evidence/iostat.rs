//! Little's law over samples of `iostat`: the mean queue is the rate times the mean time.

use super::super::Caution;
use super::super::catalogue;
use super::super::note::Note;
use super::view::{Line, Tables, place, show};

/// Queues shorter than this are below what rounding shows.
const QUEUE_MIN: f64 = 0.2;
/// What the law may be off by: the two are counted at different ends of a request.
const SLACK: f64 = 0.25;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut off: Vec<(f64, String)> = Vec::new();
    let mut judged = 0_u64;
    for line in tables.lines("iostat") {
        let (Some(queue), Some((rate, time, half))) = (line.number("queue"), load(&line)) else {
            continue;
        };
        let expected = rate * time / 1000.0;
        if queue.max(expected) < QUEUE_MIN {
            continue;
        }
        judged += 1;
        let allowed = 0.01 + rate * half / 1000.0 + SLACK * queue.max(expected);
        if (queue - expected).abs() <= allowed {
            continue;
        }
        let words = format!(
            "{} has {} requests per second of {} ms each, so {} are in the queue on average (Little's \
             law), and {} is printed ({})",
            line.text("device"),
            show(rate),
            show(time),
            show(expected),
            show(queue),
            place(line.table())
        );
        off.push(((queue / expected.max(1e-9)).ln().abs(), words));
    }
    let count = off.len();
    if let Some((_, words)) = off.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
        notes.push(
            Note::of(&catalogue::EVIDENCE_QUEUE, Caution, words)
                .number("samples", judged as f64)
                .number("samples_off", count as f64)
                .rule(format!("queue = rate x time within {:.0} %", 100.0 * SLACK)),
        );
    }
}

/// Requests a second, their mean time in ms, and half of its last digit.
fn load(line: &Line<'_>) -> Option<(f64, f64, f64)> {
    let get = |key: &str| line.number(key);
    let discards = get("discards_per_s").unwrap_or(0.0);
    let flushes = get("flushes_per_s").unwrap_or(0.0);
    // Their times are not among the columns that are kept.
    if discards > 0.0 {
        return None;
    }
    let (reads, writes) = (
        get("reads_per_s").unwrap_or(0.0),
        get("writes_per_s").unwrap_or(0.0),
    );
    let rate = reads + writes;
    if rate <= 0.0 {
        return None;
    }
    if let Some(time) = get("await_ms") {
        return Some((rate, time, 0.005));
    }
    let of = |rate: f64, key: &str| match rate > 0.0 {
        true => get(key).map(|t| rate * t),
        false => Some(0.0),
    };
    let sum = of(reads, "read_await_ms")? + of(writes, "write_await_ms")?;
    let flushed = flushes * get("flush_await_ms").unwrap_or(0.0);
    let all = rate + flushes;
    Some((all, (sum + flushed) / all, 0.005))
}
