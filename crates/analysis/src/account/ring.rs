//! The ring of a log: what it took, what it skipped, how long it lasts, and what it alone held.
//!
//! Invariant: a count that does not exist for a ring is not shown.

use super::{Body, Section, Shown};
use measure::run::{RedoLogFacts, RingFacts, RingFactsKind, Row, Run};
use measure::units::MB_BYTES;
use measure::words;

/// The ring of a run's log and what its figures mean; `None` of a log without.
#[must_use]
pub fn ring(run: &Run) -> Option<Section> {
    let log = run.target.redo_log()?;
    let ring = log.ring.as_deref()?;
    let mut body = vec![Body::Facts(counts(ring))];
    body.push(Body::Text(
        "As Oracle counts, with the log as disk and the ring as flash. All counts are of the whole \
         life of the log, warm-ups included."
            .to_owned(),
    ));
    body.push(Body::Text(cover(run, log, ring)));
    body.push(Body::Text(format!(
        "Window: at most {} bytes were acknowledged and only on the ring. They are lost if the ring \
         is lost before the disk has them.",
        words::count(ring.most_lag_bytes)
    )));
    body.extend((ring.kind == RingFactsKind::Failover).then(|| Body::Text(hedged(ring))));
    let word = ring.kind.name();
    body.push(Body::Text(format!(
        "Disk and ring flush volatile caches here. The caches of an Exadata cell are protected, so \
         its counters are not comparable with these. These counters do not show what the ring gains: \
         measure interleaved rounds with and without it: redolab compare --on disk=DISK --on \
         {word}={word}:DISK,RING"
    )));
    Some(Section::of("ring", format!("Members: {ring}"), "", body))
}

/// What was written where, also as Oracle names it.
fn counts(ring: &RingFacts) -> Vec<(String, Shown)> {
    let given_up = match ring.in_use {
        true => "",
        false => " (given up until the log is opened again)",
    };
    let facts = [
        ("log", Shown::text(&ring.disk_directory)),
        ("ring", Shown::Text(format!("{}{given_up}", ring.directory))),
        ("Log writes", ring.log_writes.into()),
        ("On the ring", Shown::Text(on_ring(ring))),
        (
            "FL_DISK_FIRST",
            ring.flushes.saturating_sub(ring.first).into(),
        ),
        ("FL_FLASH_FIRST", ring.first.into()),
        ("FL_IO_W_SKIP_BUSY", ring.skip_busy.into()),
        ("FL_IO_W_SKIP_LARGE", ring.skip_large.into()),
    ];
    facts.map(|(name, cell)| (name.to_owned(), cell)).to_vec()
}

/// `990 (99 %)`, where there is a whole.
fn on_ring(ring: &RingFacts) -> String {
    let count = words::count(ring.ring_writes);
    match ring.log_writes {
        0 => count,
        all => {
            let share = 100.0 * ring.ring_writes as f64 / all as f64;
            format!("{count} ({})", words::percent(share))
        }
    }
}

/// How long the ring lasts in the row that fills it fastest.
fn cover(run: &Run, log: &RedoLogFacts, ring: &RingFacts) -> String {
    let rate = |row: &Row| -> Option<f64> {
        let redo = row.redo.as_ref()?;
        let padded = redo.redo_size_bytes? + redo.redo_wastage_bytes?;
        let blocks = padded as f64 / row.elapsed_s?;
        // Each log write has a head of its own there, which takes a sector.
        let heads = redo.redo_writes_iops? * f64::from(log.seal_bytes);
        Some(blocks + heads).filter(|rate| *rate > 0.0 && rate.is_finite())
    };
    let rated = run.rows.iter().filter_map(|row| Some((row, rate(row)?)));
    let Some((row, rate)) = rated.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return "Cover: not known, since no row has a rate of redo.".to_owned();
    };
    format!(
        "Cover: {} would be full after {} s without the disk, at the {} MB/s that {} with {} writes \
         (padding and headers of log writes included).",
        words::size(ring.ring_bytes),
        words::digits(ring.ring_bytes as f64 / rate),
        words::digits(rate / MB_BYTES),
        row.workload,
        words::jobs(row.jobs),
    )
}

/// How often the disk was late.
fn hedged(ring: &RingFacts) -> String {
    let delay = words::latency(ring.delay_ns.unwrap_or(0) as f64);
    let budget = match ring.over_budget {
        true => {
            "Over budget: the disk was late more often than that, and the log waited for it then."
        }
        false => "The budget was not exceeded.",
    };
    format!(
        "Hedged: {} of the log writes, because the disk did not answer within {delay}. At most 5 % \
         and 64 more are. {budget}",
        on_ring(ring)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::run::{RedoFigures, Target, TargetFacts};

    fn text(run: &Run) -> String {
        let section = ring(run).expect("a ring");
        super::super::markdown::section(&section, usize::MAX)
    }

    fn run_with(ring: RingFacts) -> Run {
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
        let mut run = clean_run();
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
        let shown = text(&run_with(RingFacts {
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
            "On the ring: 990 (99 %)",
            "FL_DISK_FIRST: 600",
            "FL_FLASH_FIRST: 400",
            "FL_IO_W_SKIP_BUSY: 7",
            "FL_IO_W_SKIP_LARGE: 3",
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
        let shown = text(&run_with(ring.clone()));
        for words in [
            "10 (5 %) of the log writes",
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
        assert!(text(&run_with(over)).contains("Over budget"));
    }
}
