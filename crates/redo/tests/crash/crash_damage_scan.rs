//! How far opening looks behind the end of the redo: what it reads, which damage it finds, and
//! which it misses, as assumption 35 says. Logs are generated, so that they may be large.

use crate::generated::{BLOCK, Generated, RECORD, life};
use measure::workload::split_mix;
use redo::group::StreamBlock;
use redo::planted::Planted;
use redo::recovery::{Reader, Scan};
use redo::{DamageScan, End, Error, Layout, Log, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Blocks of a mebibyte.
const MIB: u64 = (1 << 20) / BLOCK;
/// Blocks of the window.
const WINDOW: u64 = DamageScan::WINDOW_BYTES / BLOCK;
/// Pages that are read apart from the redo and what is behind it: before the checkpoint, behind
/// the limit.
const APART: u64 = 2;

fn scan(log: &Generated, damage_scan: DamageScan, planted: Planted) -> Result<Scan, Error> {
    let reader = Reader::new(log, &log.control, Path::new("redo.ctl"), planted);
    reader.damage_scan(damage_scan).scan(|_, _, _| {})
}

/// Whether damage is found that begins where `log` is damaged; the log must end there if not.
fn found_by(log: &Generated, damage_scan: DamageScan, planted: Planted) -> bool {
    let geometry = log.control.geometry;
    match scan(log, damage_scan, planted) {
        Ok(scan) => {
            assert_eq!(scan.end, log.damaged.start.min(log.written));
            assert_eq!(scan.records, scan.end - log.control.checkpoint.block);
            false
        }
        Err(Error::Corrupt { rba, .. }) => {
            assert_eq!(rba, geometry.rba(log.damaged.start, 0));
            true
        }
        Err(other) => panic!("{other}"),
    }
}

fn found(log: &Generated, damage_scan: DamageScan) -> bool {
    found_by(log, damage_scan, Planted::none())
}

/// A log of four files of 256 MiB that was written up to `written`.
fn log(written: StreamBlock) -> Generated {
    Generated::new(4, 256 << 20, 0..written)
}

/// Blocks of a file of that log.
const FILE: u64 = 256 * MIB - 1;

/// Opens the log as an embedder does; returns the blocks that were read of it.
fn opened(log: &Generated, options: Options) -> u64 {
    let layout = Layout::devices(Arc::new(log.clone()), log.control_device());
    let (_log, recovery) = Log::builder(layout)
        .options(options)
        .open()
        .expect("it opens");
    assert_eq!(
        recovery.scan().bytes,
        recovery.scan().records * (RECORD as u64 - 8)
    );
    let written = log.written - log.control.checkpoint.block;
    assert_eq!(recovery.scan().records, written);
    log.read.bytes.swap(0, Ordering::Relaxed) / BLOCK
}

/// Redo of nothing to 200 MiB in logs of 256 MiB to 1 TiB: what is read is the redo, the window and
/// a page for each sample, and nothing else. Only the samples grow with the log.
#[test]
fn opening_reads_the_redo_and_not_the_log() {
    // Redo in blocks, samples at most for the sizes below.
    for redo in [0, 1, 10 * MIB, 200 * MIB] {
        for (groups, file_mib, samples) in [
            (4, 64, 250),
            (4, 256, 300),
            (4, 1024, 350),
            (16, 1024, 450),
            (1024, 1024, 1024 + 700),
        ] {
            let log = Generated::new(groups, file_mib << 20, 5..5 + redo);
            let read = opened(&log, Options::default());
            let most = redo + WINDOW + samples + APART;
            let least = redo + WINDOW.min(u64::from(groups) * file_mib * MIB - redo - 4096);
            let size = u64::from(groups) * file_mib;
            println!(
                "{redo} blocks of redo in {size} MiB: {read} read, {} behind the window",
                { read.saturating_sub(redo + WINDOW) }
            );
            assert!(read <= most, "{redo} in {size} MiB: {read} over {most}");
            assert!(read >= least, "{redo} in {size} MiB: {read} under {least}");
        }
    }
}

/// What is read in full is never less than the log buffer, and all of it on request.
#[test]
fn the_window_holds_the_log_buffer_and_the_whole_log_can_be_read() {
    let log = log(MIB);
    let none = DamageScan::Bounded { window_bytes: 0 };
    for (options, least, most) in [
        (Options::default().damage_scan(none), 16, 16 + 12),
        (
            Options::default().damage_scan(none).buffer_bytes(96 << 20),
            96,
            96 + 12,
        ),
        (Options::default().buffer_bytes(96 << 20), 96, 96 + 12),
        (
            Options::default().damage_scan(DamageScan::Whole),
            1023,
            1036,
        ),
    ] {
        let read = opened(&log, options) - MIB;
        assert!(
            (least * MIB - 8..=most * MIB).contains(&read),
            "{read} for {least} MiB"
        );
    }
}

/// Damaged blocks, intact ones behind, whether it is found by default. The whole log shows each.
#[test]
fn which_damage_is_found() {
    let cases = [
        // Shorter than the window: one batch behind it is enough.
        (1, 9, true),
        (8, 9, true),
        (MIB, 9, true),
        (16 * MIB, 9, true),
        (31 * MIB, 9, true),
        (WINDOW - 9, 9, true),
        // Longer: a MiB, or a 64th part of it, where no sample meets less by chance.
        (WINDOW + 8, 9, false),
        (WINDOW + 8, MIB, true),
        (100 * MIB + 8, 9, false),
        (100 * MIB + 8, 2 * MIB, true),
        (400 * MIB + 8, 100, false),
        (400 * MIB + 8, 7 * MIB, true),
        (900 * MIB, 100, false),
        (900 * MIB, 15 * MIB, true),
    ];
    for start in [0, 1, 1000] {
        for (damaged, behind, expected) in cases {
            let written = start + damaged + behind;
            let log = log(written).damaged(start..start + damaged);
            let what = format!("{damaged} blocks from {start} and {behind} behind");
            assert_eq!(found(&log, DamageScan::default()), expected, "{what}");
            assert!(found(&log, DamageScan::Whole), "{what}");
        }
    }
}

/// Damage up to the end of a log file, or of several: the next one's first page shows it.
#[test]
fn a_lost_log_file_is_found_by_the_next_ones_first_block() {
    for (start, files) in [(0, 1), (5, 1), (100 * MIB, 1), (17, 2), (FILE - 700, 3)] {
        let next = (start / FILE + files) * FILE;
        let log = log(next + 1).damaged(start..next);
        assert!(found(&log, DamageScan::default()), "{files} from {start}");
        // Nothing was written behind: nobody knows.
        let torn = log.damaged(start..next + 1);
        assert!(!found(&torn, DamageScan::Whole), "{files} from {start}");
    }
}

/// The promise, over drawn places and lengths, also in a log that was reused and in one of version
/// 1: what the search reads in full or meets with its steps is found; what is missed, the whole
/// log shows; and what was never durable is no damage.
#[test]
fn what_is_promised_is_found() {
    let mut state = 35;
    let mut draw = |limit: u64| split_mix(&mut state) % limit;
    let (mut by_bound, mut missed) = (0, 0);
    let cases = if cfg!(debug_assertions) { 100 } else { 400 };
    for case in 0..cases {
        let from = [0, 3 * FILE + 77][case % 2];
        let start = from + draw(300 * MIB);
        let (magnitude, part) = (1 + draw(17), draw(14));
        let damaged = 1 + draw(1 << magnitude);
        let room = from / FILE * FILE + 4 * FILE - start - damaged;
        let behind = draw(1 + (damaged >> part)).min(room - 1);
        let written = start + damaged + behind;
        let mut log = Generated::new(4, 256 << 20, from..written).damaged(start..start + damaged);
        log.batch = 1 + draw(2000);
        if case % 3 == 0 {
            log = log.of_version_1();
        }
        assert!(written < log.control.geometry.reuse_limit(from));
        // The first intact block that proves it, and how many there are from there on.
        let proof = (start / log.batch + 1) * log.batch;
        let first = proof.max(start + damaged);
        let proving = written.saturating_sub(first);
        let distance = first - start;
        let promised =
            proving > 0 && (distance < WINDOW || proving >= MIB.max(distance.div_ceil(64)));
        let bounded = found(&log, DamageScan::default());
        let what = format!("case {case}: {damaged} from {start}, {proving} at {distance}");
        assert!(bounded || !promised, "{what}");
        assert!(proving > 0 || !bounded, "{what}");
        let whole = bounded || found(&log, DamageScan::Whole);
        assert_eq!(whole, proving > 0, "{what}");
        by_bound += usize::from(bounded);
        missed += usize::from(proving > 0 && !bounded);
    }
    println!("{by_bound} found, {missed} missed and shown by the whole log");
    assert!(
        by_bound * 5 > cases && missed * 50 > cases,
        "{by_bound} {missed}"
    );
}

/// Blocks behind the end that show older control information or another copy of the log: refused
/// in the window, and behind it where they are read.
#[test]
fn what_refuses_a_log_refuses_it_behind_the_window_too() {
    let end = 1000;
    let log = log(end);
    let capacity = log.control.geometry.capacity_blocks();
    for (block, seen) in [
        (end + 1, true),
        (end + WINDOW - 1, true),
        (end + WINDOW + 8, false),
        (FILE, true),
        (2 * FILE, true),
    ] {
        let mut later = log.header(block);
        later.stream_block += capacity;
        let mut newer = log.header(block);
        newer.incarnation += 1;
        let mut copy = log.header(block);
        copy.life = Some(life(1).mark());
        for (what, header) in [("later use", later), ("newer", newer), ("copy", copy)] {
            let mut log = log.clone();
            log.instead.insert(block, header);
            for (damage_scan, refused) in [(DamageScan::default(), seen), (DamageScan::Whole, true)]
            {
                let found = scan(&log, damage_scan, Planted::none());
                match found {
                    Err(Error::Corrupt { .. } | Error::MixedCopies { .. }) if refused => {}
                    Ok(scan) if !refused => assert_eq!(scan.end, end),
                    other => panic!("{what} at {block}, {damage_scan:?}: {other:?}"),
                }
            }
        }
    }
}

/// What was written and never acknowledged is a torn tail however far the search goes.
#[test]
fn a_torn_tail_is_one_however_far_the_search_goes() {
    for torn in [1, 5, 100, 4 * MIB] {
        let mut log = log(1000 + torn + 50).damaged(1000..1000 + torn);
        // One batch, of which nothing was durable.
        log.batch = 1 << 40;
        for damage_scan in [DamageScan::default(), DamageScan::Whole] {
            let scan = scan(&log, damage_scan, Planted::none()).expect("no damage");
            assert_eq!((scan.end, scan.how), (1000, End::Torn), "{torn}");
        }
    }
}

/// What one opening missed is not forgotten: while the blocks that prove it are there, an opening
/// that reads them refuses the log, where the redo ends then.
#[test]
fn damage_that_was_missed_is_found_by_a_later_search() {
    let mut log = log(200 * MIB + 9).damaged(50..200 * MIB);
    assert!(!found(&log, DamageScan::default()));
    let begun = log.control.begin_incarnation(50, life(3)).expect("room");
    assert_eq!(begun.first, 50);
    assert!(!found(&log, DamageScan::default()));
    assert!(found(&log, DamageScan::Whole));
}

/// Each bug in the search lets damage through that it finds without the bug.
#[test]
fn planted_bugs_of_the_search_are_found() {
    use redo::planted::Bug;
    let end = 100;
    let hole = |damaged: u64, behind: u64| {
        let mut log = log(end + damaged + behind).damaged(end..end + damaged);
        log.batch = 1;
        log
    };
    for (bug, log) in [
        (Bug::NoDamageScan, hole(1, 9)),
        // The last block of the window is the only one that proves it.
        (Bug::DamageWindowShort, hole(WINDOW - 1, 1)),
        (Bug::SkipDamageSamples, hole(WINDOW + 7, MIB)),
        (Bug::SkipLogStarts, hole(FILE - end, 1)),
    ] {
        assert!(found(&log, DamageScan::default()), "{bug:?}");
        let planted = found_by(&log, DamageScan::default(), Planted::with(bug));
        assert!(!planted, "{bug:?} is not seen");
    }
}
