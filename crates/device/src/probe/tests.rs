//! Tests of the probe on the temporary directory, and of the choice on figures.

use super::*;
use crate::file::tests::Scratch as Folder;

fn held(folder: &Folder) -> Directory {
    Directory::open(&folder.0).expect("a directory")
}

fn plan(io: IoEngine) -> ProbePlan {
    ProbePlan::for_log(4096, io, UringOptions::default())
}

#[test]
fn every_way_is_measured_or_refused_with_a_reason_and_nothing_stays() {
    for (io, ways) in [
        (IoEngine::Threads, 4),
        (IoEngine::IoUring, 4),
        (IoEngine::Auto, 8),
    ] {
        let folder = Folder::new();
        let outcome = probe(&held(&folder), plan(io)).expect("room for it");
        assert_eq!(outcome.found.len(), 2 * ways);
        for found in &outcome.found {
            assert_eq!(found.p50_ns.is_some(), found.writes > 0, "{found:?}");
            assert!(found.writes > 0 || found.refused.is_some(), "{found:?}");
            assert_ne!(found.way.io, IoEngine::Auto);
        }
        let measured = |f: &&ProbedWay| f.writes > 0 && Some(f.way) == outcome.best;
        let count = outcome.found.iter().filter(measured).count();
        assert_eq!(count > 0, outcome.best.is_some(), "chosen by figures");
        let left = std::fs::read_dir(&folder.0).expect("readable").count();
        assert_eq!(left, 0, "the probe's file is removed");
    }
}

#[test]
fn without_time_nothing_is_measured_and_nothing_chosen() {
    let folder = Folder::new();
    let none = ProbePlan {
        budget: Duration::ZERO,
        ..plan(IoEngine::Threads)
    };
    let outcome = probe(&held(&folder), none).expect("room for it");
    assert_eq!(outcome.best, None);
    for found in outcome.found {
        assert_eq!(found.writes, 0);
        assert!(found.refused.is_some());
    }
}

#[test]
fn refused_rings_leave_the_calls_that_block() {
    let folder = Folder::new();
    let uring = UringOptions {
        refuse_setup: Some(1),
        ..UringOptions::default()
    };
    let refused = ProbePlan {
        uring,
        ..plan(IoEngine::Auto)
    };
    let outcome = probe(&held(&folder), refused).expect("room for it");
    for found in &outcome.found {
        let says = found.refused.as_deref().unwrap_or_default();
        let is_ring = found.way.io == IoEngine::IoUring;
        assert_eq!(is_ring && found.writes == 0, is_ring, "{found:?}");
        assert!(!is_ring || says.contains("io_uring"), "{found:?}");
    }
    assert!(outcome.best.is_none_or(|w| w.io == IoEngine::Threads));
}

#[test]
fn what_a_killed_probe_left_is_removed_and_nothing_else() {
    let folder = Folder::new();
    let path = folder.0.join(FILE_NAME);
    std::fs::write(&path, [HEAD, b"and noise"].concat()).expect("writable");
    probe(&held(&folder), plan(IoEngine::Threads)).expect("the left-over file goes");
    for foreign in [&b"somebody's"[..], b""] {
        std::fs::write(&path, foreign).expect("writable");
        let refused = probe(&held(&folder), plan(IoEngine::Threads)).expect_err("in the way");
        assert!(refused.to_string().contains("move it away"), "{refused}");
        assert_eq!(std::fs::read(&path).expect("still there"), foreign);
    }
    std::fs::remove_file(&path).expect("ours");
    std::os::unix::fs::symlink("elsewhere", &path).expect("link");
    probe(&held(&folder), plan(IoEngine::Threads)).expect_err("a link is not followed");
    let gone = held(&folder);
    drop(folder);
    probe(&gone, plan(IoEngine::Threads)).expect_err("no such directory any more");
}

#[test]
fn the_choice_is_good_at_every_size() {
    let figures = [
        ("a", 4096, 100.0),
        ("a", 131_072, 1000.0),
        ("b", 4096, 120.0),
        ("b", 131_072, 200.0),
        ("c", 4096, 1.0),
    ];
    assert_eq!(best(&figures), Some("b"));
    assert_eq!(best(&figures[..2]), Some("a"));
    assert_eq!(best(&figures[4..]), Some("c"), "one size is all there is");
    assert_eq!(best::<u8>(&[]), None);
}

#[test]
fn rings_are_chosen_only_where_they_gain() {
    let found = |io, bytes, p50_ns| ProbedWay {
        way: WriteMethod {
            method: SyncMethod::Direct,
            io,
        },
        bytes,
        writes: 10,
        p50_ns: Some(p50_ns),
        mean_ns: None,
        refused: None,
    };
    for (ring, chosen) in [
        (1000, IoEngine::Threads),
        (950, IoEngine::Threads),
        (800, IoEngine::IoUring),
    ] {
        let both = [
            found(IoEngine::Threads, 4096, 1000),
            found(IoEngine::Threads, 131_072, 1000),
            found(IoEngine::IoUring, 4096, ring),
            found(IoEngine::IoUring, 131_072, ring),
        ];
        assert_eq!(choose(&both).map(|w| w.io), Some(chosen), "{ring}");
    }
}

#[test]
fn engines_are_named_and_parsed() {
    for io in [IoEngine::Threads, IoEngine::IoUring, IoEngine::Auto] {
        assert_eq!(io.name().parse(), Ok(io));
    }
    let refused = "uring".parse::<IoEngine>().expect_err("no such engine");
    assert!(refused.contains("threads, io_uring or auto"));
}

#[test]
fn durable_writes_go_round_the_space_that_they_were_given() {
    let disk = crate::SimDisk::new(10 * 4096, 4096, false);
    disk.set_immediate(true);
    let mut bench = TimedQueue::new(&disk, 4096, 2 * 4096).expect("memory");
    let mut timing = Timing::default();
    durable_writes(&mut bench, true, &mut timing, &mut |_| true).expect("room for it");
    assert_eq!(timing.total.count(), 8, "each place once");
    let image = disk.durable_image();
    let is_written = |sector: &[u8]| sector.iter().any(|byte| *byte != 0);
    let written: Vec<bool> = image.chunks(4096).map(is_written).collect();
    assert_eq!(written, [vec![false; 2], vec![true; 8]].concat());
    // Without an end it goes on, and never leaves the space.
    durable_writes(&mut bench, false, &mut timing, &mut |count| count < 50).expect("inside");
    assert_eq!(timing.total.count(), 50);
    let image = disk.durable_image();
    assert!(!image[..2 * 4096].iter().any(|byte| *byte != 0));
    assert_eq!(disk.violations(), [""; 0]);
}
