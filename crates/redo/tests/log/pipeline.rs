//! The pipelined log writer on threads: completions in every order, a failure of every operation,
//! ends while writes are in flight, changes of mode, CPUs.

use crate::common::{Scratch, assert_prefixes, commit, options, recovered};
use crate::orders::{BATCHES, By, Disks, PATIENCE, committer, every_order, pipelined};
use device::fault::{EIO, Fault, FaultTarget, Injection};
use measure::Nanos;
use redo::planted::Planted;
use redo::writer::{Adaptive, Cause};
use redo::{CommitMode, Error, LogWriter, Options};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn completions_in_every_order_acknowledge_what_is_durable_and_no_more() {
    for by in [By::Workers, By::Queue] {
        let orders = every_order(by, None, Planted::none());
        let orders = orders.unwrap_or_else(|what| panic!("{by:?}: {what}"));
        println!("{by:?}: {orders} orders of {BATCHES} batches");
        // Three writes alone have six.
        assert!(orders > 6, "{orders}");
    }
}

#[test]
fn a_failure_of_any_operation_in_any_order_acknowledges_nothing_more() {
    let faults = [
        (FaultTarget::Write, 1),
        (FaultTarget::Write, 2),
        (FaultTarget::Write, 3),
        (FaultTarget::Flush, 1),
    ];
    for fault in faults {
        for by in [By::Workers, By::Queue] {
            let orders = every_order(by, Some(fault), Planted::none());
            let orders = orders.unwrap_or_else(|what| panic!("{by:?}: {what}"));
            println!("{by:?}, {fault:?}: {orders} orders");
        }
    }
}

/// A worker hangs in its device while another one's write fails: everybody gets the error at once,
/// and the log's memory stays until the worker has come back.
#[test]
fn a_worker_that_hangs_keeps_nobody_waiting_but_the_end() {
    for close in [true, false] {
        let disks = Disks::new(By::Workers);
        let log = disks.open(pipelined(Planted::none()));
        disks.data.inject(Injection {
            target: FaultTarget::Write,
            nth: disks.data.counts().writes + 1,
            fault: Fault::Errno(EIO),
            for_good: false,
        });
        let gate = disks.data.gate();
        let told: Vec<_> = (0..2)
            .map(|which| {
                let told = committer(&log, which);
                gate.await_pending(which + 1, PATIENCE).expect("written");
                told
            })
            .collect();
        gate.release(gate.pending()[0].ticket);
        for told in &told {
            let answer = told.recv_timeout(PATIENCE).expect("answered at once");
            let poisoned = matches!(answer, Err(Error::Poisoned(Cause::Write(_))));
            assert!(poisoned, "{answer:?}");
        }
        let ending = std::thread::spawn(move || {
            if close {
                assert!(matches!(log.close(), Err(Error::Poisoned(_))));
            } else {
                drop(log);
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!ending.is_finished(), "a write is in flight");
        drop(gate);
        ending.join().expect("no panic");
    }
}

/// The log is full up to its checkpoint, two batches are in flight and a third waits for the
/// checkpoint: the end waits for those in flight, and says what was not written.
#[test]
fn a_full_log_ends_with_writes_in_flight() {
    for close in [true, false] {
        let disks = Disks::new(By::Workers);
        let log = disks.open(pipelined(Planted::none()));
        let capacity = log.geometry().capacity_blocks() as usize;
        let mut session = log.session();
        for which in 0..capacity - 2 {
            session.append(&[&which.to_le_bytes()]).expect("open");
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        }
        let gate = disks.data.gate();
        let mut told = Vec::new();
        for which in 0..2 {
            told.push(committer(&log, capacity - 2 + which));
            gate.await_pending(which + 1, PATIENCE).expect("written");
        }
        told.push(committer(&log, capacity));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(
            gate.pending().len(),
            2,
            "the third waits for the checkpoint"
        );
        let ending = std::thread::spawn(move || {
            if close {
                let closed = log.close();
                let incomplete = matches!(closed, Err(Error::CheckpointIncomplete));
                assert!(incomplete, "{closed:?}");
            } else {
                drop(log);
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!ending.is_finished(), "writes are in flight");
        drop(gate);
        ending.join().expect("no panic");
        for told in told {
            told.recv_timeout(PATIENCE).expect("nobody hangs").ok();
        }
        let data: Arc<dyn device::LogDevice> = disks.data.clone();
        let opened = crate::common::open_on(data, Arc::clone(&disks.control), Options::default());
        let (_log, recovery) = opened.expect("it recovers");
        let mut found = 0;
        let count = recovery.recover(|_, record| {
            assert_eq!(record, (found as usize).to_le_bytes());
            found += 1;
            Ok::<(), redo::Error>(())
        });
        // What was in flight had reached the device.
        assert_eq!(count.expect("readable"), capacity as u64);
    }
}

/// A writer that changes its mode at every turn loses nothing, and its history replays.
#[test]
fn an_adaptive_log_writer_changes_its_mode_under_load() {
    let scratch = Scratch::with_log();
    let modes = [AtomicU64::new(0), AtomicU64::new(0)];
    let modes = Arc::new(modes);
    let (seen, workers) = (Arc::clone(&modes), Arc::new(Mutex::new(Vec::new())));
    let named = Arc::clone(&workers);
    let mut ways = options()
        .log_writer(LogWriter::Adaptive)
        .record_history(true)
        .observer(move |write| {
            seen[usize::from(write.scalable)].fetch_add(1, Ordering::Relaxed);
            assert_eq!(write.scalable, write.worker.is_some());
            named.lock().expect("whole").extend(write.worker);
        });
    ways.policy.adaptive = Some(
        Adaptive::default()
            .window_batches(1)
            .window_min(Nanos(0))
            .settling(0)
            .busy_part(0)
            .margin(16)
            .skip_max(0),
    );
    let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
    let each = 100;
    std::thread::scope(|scope| {
        for who in 0..4 {
            let mut session = log.session();
            let log = &log;
            scope.spawn(move || {
                for which in 0..each {
                    let rba = commit(&mut session, who, which).expect("durable");
                    if which % 16 == 0 {
                        assert!(log.durable() >= rba);
                    }
                }
            });
        }
    });
    let history = log.history().expect("whole").expect("it was asked for");
    assert_eq!(history.replay(log.fresh_writer()), Ok(history.steps()));
    let [alone, scalable] = modes.each_ref().map(|n| n.load(Ordering::Relaxed));
    assert!(
        alone > 10 && scalable > 10,
        "{alone} alone, {scalable} by workers"
    );
    let named = workers.lock().expect("whole");
    assert!(named.iter().all(|w| usize::from(*w) < log.workers().len()));
    let carried: u64 = log.workers().iter().map(|w| w.operations()).sum();
    assert!(
        carried >= scalable,
        "{carried} operations, {scalable} batches"
    );
    log.close().expect("nothing failed");
    assert_prefixes(&recovered(&scratch.0).0, &[each; 4]);
}

/// CPUs that each thread of this process may run on whose name is one of `names`.
fn placed(names: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").expect("Linux") {
        let path = task.expect("a thread").path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if names.contains(&name.trim()) {
            let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
            let list = status
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
            found.push((name.trim().to_owned(), list.unwrap_or("").trim().to_owned()));
        }
    }
    found.sort();
    found
}

/// Runs alone in a process of its own: other tests have log writers too.
#[test]
fn the_log_writer_stays_on_its_cpus() {
    const ASKED: &str = "REDO_PLACED";
    let test = "pipeline::the_log_writer_stays_on_its_cpus";
    if std::env::var_os(ASKED).is_none() {
        let child = std::process::Command::new(std::env::current_exe().expect("a path"))
            .args([test, "--exact", "--nocapture"])
            .env(ASKED, "1")
            .status();
        assert!(child.expect("the test runs again").success());
        return;
    }
    let last = *device::cpus::allowed()
        .expect("the system says")
        .last()
        .expect("this runs on one");
    let scratch = Scratch::with_log();
    let ways = |cpus| {
        options()
            .log_writer(LogWriter::Workers(2))
            .log_writer_cpus(cpus)
    };
    let (log, _) = crate::common::open_with(&scratch.0, ways(vec![last])).expect("a new log");
    // A thread that has written has been placed.
    let mut session = log.session();
    commit(&mut session, 0, 0).expect("durable");
    let cpu = last.to_string();
    let all = ["lg00", "lg01", "lgwr"].map(|name| (name.to_owned(), cpu.clone()));
    let (names, begun) = (["lg00", "lg01", "lgwr"], std::time::Instant::now());
    while placed(&names) != all && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(placed(&names), all);
    log.close().expect("nothing failed");
    for log_writer in [LogWriter::Lgwr, LogWriter::Workers(1)] {
        let ways = ways(vec![100_000]).log_writer(log_writer);
        let refused = crate::common::open_with(&scratch.0, ways)
            .expect_err("no such CPU")
            .to_string();
        assert!(refused.contains("CPU 100000"), "{refused}");
    }
}

#[test]
fn modes_are_named_parsed_and_bounded() {
    for writer in crate::common::WRITERS {
        assert_eq!(writer.to_string().parse(), Ok(writer));
    }
    for wrong in [
        "workers=0",
        "workers=9",
        "workers=",
        "workers",
        "dbwr",
        "workers=-1",
    ] {
        let refused = wrong.parse::<LogWriter>().expect_err(wrong);
        assert!(
            refused.contains("workers=") && refused.contains('8'),
            "{refused}"
        );
    }
    let scratch = Scratch::with_log();
    for count in [0, 9] {
        let ways = options().log_writer(LogWriter::Workers(count));
        let refused = crate::common::open_with(&scratch.0, ways).expect_err("out of bounds");
        assert!(refused.to_string().contains("use 1 to 8"), "{refused}");
    }
}
