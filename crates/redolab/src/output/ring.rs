//! The ring of a log: what it took, what it skipped, how long it lasts, and what it alone held.
//!
//! Invariant: a count that does not exist for a ring is not printed.

use super::cells::{grouped, real};
use super::lines::wrap;
use measure::run::{RedoLogFacts, RingFacts, RingFactsKind, Row, Run};
use measure::words::{self, sanitize, size};

/// Bytes in a MB of rates of redo.
const MB: f64 = 1024.0 * 1024.0;

/// Lines of this text are not longer.
const WIDTH: usize = 80;

/// The ring of a run's log and what its figures mean; nothing for a log without.
#[must_use]
pub fn text(run: &Run) -> String {
    let log = run.target.redo_log();
    let Some((log, ring)) = log.and_then(|log| Some((log, log.ring.as_ref()?))) else {
        return String::new();
    };
    let (disk, place) = (&ring.disk_directory, &ring.directory);
    let mut text = format!(
        "\nMembers: {ring}\n  log: {}\n  ring: {}{}\n",
        sanitize::line(disk),
        sanitize::line(place),
        match ring.in_use {
            true => "",
            false => " (given up until the log is opened again)",
        },
    );
    text.push_str(&counts(ring));
    text.push_str(&cover(&run.rows, log, ring));
    let window = format!(
        "Window: at most {} bytes were acknowledged and only on the ring. They are lost if the ring \
         is lost before the disk has them.",
        grouped(ring.most_lag_bytes)
    );
    wrap(&mut text, "", &window, WIDTH);
    if ring.kind == RingFactsKind::Failover {
        text.push_str(&hedged(ring));
    }
    let word = ring.kind.name();
    text.push_str(&format!(
        "Disk and ring flush volatile caches here. The caches of an Exadata cell are\nprotected, so its \
         counters are not comparable with these.\nThese counters do not show what the ring gains: measure interleaved rounds \
         with\nand without it:\n  redolab compare --on disk=DISK --on {word}={word}:DISK,RING\n"
    ));
    text
}

/// What was written where, also as Oracle names it.
fn counts(ring: &RingFacts) -> String {
    format!(
        "All counts are of the whole life of the log, warm-ups included.\n\
         Log writes {}, of these on the ring {}{}\n\
         As Oracle counts, with the log as disk and the ring as flash:\n  \
         FL_DISK_FIRST {}  FL_FLASH_FIRST {}\n  \
         FL_IO_W_SKIP_BUSY {}  FL_IO_W_SKIP_LARGE {}\n",
        grouped(ring.log_writes),
        grouped(ring.ring_writes),
        percent(ring.ring_writes, ring.log_writes),
        grouped(ring.flushes.saturating_sub(ring.first)),
        grouped(ring.first),
        grouped(ring.skip_busy),
        grouped(ring.skip_large),
    )
}

/// ` (12.5 %)`, where there is a whole.
fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        all => format!(" ({} %)", real(part as f64 * 100.0 / all as f64)),
    }
}

/// How long the ring lasts in the row that fills it fastest.
fn cover(rows: &[Row], log: &RedoLogFacts, ring: &RingFacts) -> String {
    let rate = |row: &Row| -> Option<f64> {
        let redo = row.redo.as_ref()?;
        let padded = redo.redo_size_bytes? + redo.redo_wastage_bytes?;
        let blocks = padded as f64 / row.elapsed_s?;
        // Each log write has a head of its own there, which takes a sector.
        let heads = redo.redo_writes_iops? * f64::from(log.seal_bytes);
        Some(blocks + heads).filter(|rate| *rate > 0.0 && rate.is_finite())
    };
    let rated = rows.iter().filter_map(|row| Some((row, rate(row)?)));
    let Some((row, rate)) = rated.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return "Cover: not known, since no row has a rate of redo.\n".to_owned();
    };
    let text = format!(
        "Cover: {} would be full after {} s without the disk, at the {} MB/s that {} with {} writes \
         (padding and headers of log writes included).",
        size(ring.ring_bytes),
        real(ring.ring_bytes as f64 / rate),
        real(rate / MB),
        sanitize::line(&row.workload),
        words::jobs(row.jobs),
    );
    let mut out = String::new();
    wrap(&mut out, "", &text, WIDTH);
    out
}

/// How often the disk was late.
fn hedged(ring: &RingFacts) -> String {
    let delay = words::latency(ring.delay_ns.unwrap_or(0) as f64);
    let budget = match ring.over_budget {
        true => {
            "Over budget: the disk was late more often than that, and the log waited for\nit then.\n"
        }
        false => "The budget was not exceeded.\n",
    };
    format!(
        "Hedged: {} of the log writes{},\nbecause the disk did not answer within {delay}. At most 5 % and \
         64 more are.\n{budget}",
        grouped(ring.ring_writes),
        percent(ring.ring_writes, ring.log_writes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{RedoFigures, Target, TargetFacts};

    fn run(ring: RingFacts) -> Run {
        let row = |redo: u64| Row {
            workload: "LGWR-LAT1".to_owned(),
            jobs: 8,
            elapsed_s: Some(2.0),
            redo: Some(RedoFigures {
                redo_size_bytes: Some(redo),
                redo_wastage_bytes: Some(redo),
                redo_writes_iops: Some(256.0),
                ..RedoFigures::default()
            }),
            ..Row::default()
        };
        let mut run = crate::output::table::tests::run();
        run.rows = vec![row(256 << 10), row(1 << 20)];
        run.target = Target {
            facts: TargetFacts::RedoLog(RedoLogFacts {
                seal_bytes: 4096,
                ring: Some(Box::new(ring)),
                ..RedoLogFacts::default()
            }),
            ..Target::default()
        };
        run
    }

    #[test]
    fn a_ring_is_shown_with_its_cover_and_its_window() {
        let shown = text(&run(RingFacts {
            ring_bytes: 64 << 20,
            in_use: true,
            log_writes: 1000,
            ring_writes: 990,
            flushes: 1000,
            first: 400,
            skip_busy: 7,
            skip_large: 3,
            most_lag_bytes: 8192,
            ..RingFacts::default()
        }));
        // 2 MB of redo and padding in 2 s, and 256 heads of 4 KiB in each.
        for words in [
            "Members: ring of 64.0 MiB",
            "on the ring 990 (99.0 %)",
            "FL_DISK_FIRST 600  FL_FLASH_FIRST 400",
            "FL_IO_W_SKIP_BUSY 7  FL_IO_W_SKIP_LARGE 3",
            "full after 32.0 s",
            "at most 8,192 bytes",
            "ring=ring:DISK,RING",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(
            !shown.contains("Hedged") && !shown.contains("OUTLIERS"),
            "{shown}"
        );
    }

    #[test]
    fn failover_shows_what_was_hedged_and_whether_that_sufficed() {
        let ring = RingFacts {
            kind: RingFactsKind::Failover,
            delay_ns: Some(20_000_000),
            log_writes: 200,
            ring_writes: 10,
            ..RingFacts::default()
        };
        let shown = text(&run(ring.clone()));
        for words in [
            "10 of the log writes (5.00 %)",
            "within 20.0 ms",
            "not exceeded",
            "given up",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let over = RingFacts {
            over_budget: true,
            ..ring
        };
        assert!(text(&run(over)).contains("Over budget"));
    }
}
