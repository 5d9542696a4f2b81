//! Rows in virtual time against what their steps add up to, and against changes of the setup.

use crate::{
    Costs, DeviceModel, LatencyTail, LogSetup, MemberDevices, ServiceModel, SimulationOutcome,
    SimulationSetup, SimulationStopped, run,
};
use measure::workload::{CommitMode, Workload};
use redo::{Geometry, LogFileSync, LogWriter, Policy, Triggers};
use std::sync::atomic::{AtomicU32, Ordering};

/// Costs that are easy to add up.
const COSTS: Costs = Costs {
    work_ns: 1000,
    copy_ns_per_kb: 100,
    turn_ns: 500,
    io_ns: 3000,
    wake_ns: 2000,
    switch_ns: 1500,
    idle_ns: 5000,
    poll_ns: 400,
    contention: 0.0,
    work_variation: 0.0,
};

const DISK: ServiceModel = ServiceModel {
    write_ns: 40_000.0,
    write_ns_per_kb: 50.0,
    flush_ns: Some(40_000.0),
    ..ServiceModel::NOTHING
};

fn setup(writer: LogWriter, sessions: u32) -> SimulationSetup {
    SimulationSetup {
        processors: 2,
        costs: COSTS,
        log: LogSetup {
            writer,
            log_file_sync: None,
            triggers: Triggers::default(),
            policy: Policy::default(),
            geometry: Geometry {
                block_bytes: 4096,
                seal_blocks: 1,
                groups: 3,
                blocks_per_group: 16_000,
                header_bytes: 8192,
                file_bytes: 64 << 20,
            },
            buffer_blocks: 4096,
        },
        sessions,
        workload: Workload::standard()[0].clone(),
        device: DeviceModel::Service(DISK),
        members: None,
        way: crate::WayToDevices::default(),
        warmup_ns: 10_000_000,
        time_ns: 200_000_000,
        commits: None,
        seed: 1,
    }
}

fn rate(of: &SimulationOutcome) -> f64 {
    let commits = of.recording.foreground().latency.count() as f64;
    commits / (of.recording.elapsed_ns() as f64 / 1e9)
}

#[test]
fn one_session_waits_for_what_its_steps_take() {
    let done = run(&setup(LogWriter::Inline, 1)).expect("simulated");
    let sync = done.recording.foreground().sync.stats();
    // Twice to the device and back: a processor sleeps meanwhile. One block is 4 kB.
    let device = (40_000 + 4 * 50) + 40_000;
    let back = COSTS.idle_ns + COSTS.switch_ns + COSTS.io_ns;
    let waits = COSTS.turn_ns + device + 2 * back;
    assert_eq!((sync.mean_ns, sync.max_ns), (waits as f64, waits));
    // A dedicated log writer is woken, and wakes.
    let done = run(&setup(LogWriter::Lgwr, 1)).expect("simulated");
    let woken = COSTS.wake_ns + COSTS.idle_ns + COSTS.switch_ns;
    let sync = done.recording.foreground().sync.stats();
    assert_eq!(sync.max_ns, waits + 2 * woken);
}

#[test]
fn every_commit_and_every_byte_is_in_one_log_write() {
    for writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Auto] {
        let mut of = setup(writer, 16);
        of.warmup_ns = 0;
        let done = run(&of).expect("simulated");
        let commits = done.recording.foreground().latency.count();
        let log = done.recording.background.expect("the log writer wrote");
        let written = log.commits.sum() as u64;
        assert!(
            (commits..=commits + 16).contains(&written),
            "{writer}: {commits}, {written}"
        );
        let each = of.workload.redo_bytes + crate::buffer::RECORD_HEADER_BYTES;
        assert_eq!(log.redo_bytes, written * u64::from(each));
        assert_eq!(log.block_bytes, log.blocks * 4096);
        assert!(log.blocks * 4096 >= log.redo_bytes);
        assert!(
            log.flushes.abs_diff(log.write.count()) <= 1,
            "the last one is on its way"
        );
    }
}

#[test]
fn a_log_writer_without_gathering_commits_less() {
    for writer in [LogWriter::Inline, LogWriter::Lgwr] {
        let with = rate(&run(&setup(writer, 8)).expect("simulated"));
        let mut of = setup(writer, 8);
        of.log.policy = of.log.policy.gather(false);
        let without = rate(&run(&of).expect("simulated"));
        assert!(without < 0.8 * with, "{writer}: {without} against {with}");
    }
}

#[test]
fn more_processors_cheaper_wake_ups_and_faster_devices_commit_more() {
    let base = setup(LogWriter::Lgwr, 64);
    let changed = |change: fn(&mut SimulationSetup)| {
        let mut of = base.clone();
        change(&mut of);
        rate(&run(&of).expect("simulated"))
    };
    let usual = changed(|_| {});
    assert!(changed(|s| s.processors = 1) < 0.9 * usual);
    assert!(changed(|s| s.costs.wake_ns /= 2) > 1.05 * usual);
    assert!(changed(|s| s.costs.contention = 0.5) < 0.95 * usual);
    assert!(changed(|s| s.device = s.device.scaled(4.0)) < 0.7 * usual);
    let polling = |s: &mut SimulationSetup| s.log.log_file_sync = Some(LogFileSync::Polling);
    assert!(changed(polling) > usual, "nobody has to be woken");
}

#[test]
fn one_seed_gives_one_result() {
    let of = |seed| {
        let mut of = setup(LogWriter::Auto, 32);
        of.costs.work_variation = 0.4;
        of.seed = seed;
        run(&of).expect("simulated")
    };
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}

#[test]
fn redo_that_nobody_waits_for_goes_as_fast_as_the_device() {
    let mut of = setup(LogWriter::Lgwr, 4);
    of.workload = Workload::standard()[3].clone();
    assert_eq!(of.workload.commit, CommitMode::NOWAIT_BATCH);
    let slow = ServiceModel {
        write_ns: 0.0,
        write_ns_per_kb: 10_000.0,
        flush_ns: None,
        ..DISK
    };
    of.device = DeviceModel::Service(slow);
    of.time_ns = 4_000_000_000;
    let done = run(&of).expect("simulated");
    let seconds = done.recording.elapsed_ns() as f64 / 1e9;
    let log = done.recording.background.expect("the log writer wrote");
    // 100 kB of blocks per ms, but for the log writer's own time.
    let share = log.block_bytes as f64 / 1024.0 / seconds / 100_000.0;
    assert!((0.95..=1.05).contains(&share), "{share}");
    assert!(done.recording.space_waits.is_some_and(|w| w.count > 0));
}

#[test]
fn what_cannot_go_on_is_said() {
    let mut of = setup(LogWriter::Lgwr, 2);
    of.log.triggers = Triggers::NONE;
    let stopped = run(&of).expect_err("nobody has the redo written");
    assert!(
        matches!(stopped, SimulationStopped::Deadlock { .. }),
        "{stopped}"
    );
    let mut of = setup(LogWriter::Lgwr, 2);
    of.time_ns = u64::MAX;
    assert_eq!(run(&of), Err(SimulationStopped::EndOfTime));
    let mut of = setup(LogWriter::Lgwr, 2);
    of.processors = 0;
    assert!(matches!(run(&of), Err(SimulationStopped::NotModelled(_))));
    let interrupted = crate::run_while(&setup(LogWriter::Lgwr, 2), &|| false);
    assert_eq!(interrupted, Err(SimulationStopped::Interrupted));
    let workers = run(&setup(LogWriter::Workers(2), 2)).expect_err("not yet");
    assert!(workers.to_string().contains("workers=2"), "{workers}");
}

#[test]
fn a_log_write_that_lies_in_two_logs_ends_once() {
    let mut of = setup(LogWriter::Inline, 8);
    of.log.geometry.blocks_per_group = 101;
    of.log.geometry.file_bytes = 8192 + 101 * 4096;
    of.log.buffer_blocks = 100;
    let done = run(&of).expect("simulated");
    let log = done.recording.background.expect("the log writer wrote");
    assert!(log.switches > 20, "{}", log.switches);
}

/// Logs as small as they can be, with as large a log buffer: nobody waits for ever for a log.
#[test]
fn the_smallest_logs_go_on() {
    for (sessions, redo_bytes, records) in [(1, 2000, 1), (8, 30_000, 1), (8, 300_000, 100)] {
        for commit in [CommitMode::WAIT_IMMEDIATE, CommitMode::NOWAIT_BATCH] {
            for writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Auto] {
                let mut of = setup(writer, sessions);
                of.log.geometry.groups = 2;
                of.log.geometry.blocks_per_group = 64;
                of.log.geometry.file_bytes = 8192 + 64 * 4096;
                of.log.buffer_blocks = 64;
                of.workload.redo_bytes = redo_bytes;
                (of.workload.records, of.workload.commit) = (records, commit);
                let done = run(&of).expect("simulated");
                let commits = done.recording.foreground().latency.count();
                assert!(commits > 10, "{writer} {redo_bytes} {commit}: {commits}");
            }
        }
    }
}

#[test]
fn commits_are_as_fast_as_each_shipped_device_lets_them() {
    let sync_us = |of: DeviceModel, sessions| {
        let mut setup = setup(LogWriter::Inline, sessions);
        (setup.device, setup.time_ns) = (of, 2_000_000_000);
        let done = run(&setup).expect("simulated");
        assert_eq!(
            done,
            run(&setup).expect("simulated"),
            "one seed, one result"
        );
        done.recording.foreground().sync.stats().mean_ns / 1e3
    };
    let shipped = |name| crate::ModelDevice::shipped(name).expect("shipped").device;
    for (name, least, most) in [
        // A commit per rotation of 4 ms.
        ("hdd", 3900.0, 4100.0),
        ("hdd-array", 850.0, 900.0),
        // A flush programs a page.
        ("sata", 700.0, 900.0),
        ("nvme", 10.0, 40.0),
        ("pmem", 0.0, 20.0),
        ("gp2-100", 750.0, 900.0),
        ("gp3", 750.0, 900.0),
        ("io2", 330.0, 400.0),
    ] {
        let mean = sync_us(shipped(name), 1);
        assert!((least..most).contains(&mean), "{name}: {mean} us");
    }
    // The sector behind the last one has passed: a rotation, and the 4 kB themselves.
    let mut of = setup(LogWriter::Inline, 1);
    (of.device, of.time_ns) = (shipped("hdd"), 4_000_000_000);
    let each = 1e9 / rate(&run(&of).expect("simulated"));
    assert!(
        (each / (4e6 * (1.0 + 4.0 / 637.0)) - 1.0).abs() < 1e-3,
        "{each} ns"
    );
    // A device of 100 GB has no room for a log of 192 GB.
    let mut of = setup(LogWriter::Inline, 1);
    of.device = shipped("gp3");
    of.log.geometry.file_bytes = 64 << 30;
    let refused = run(&of).expect_err("too large").to_string();
    assert!(
        refused.contains("192.0 GiB does not fit into a device of 100.0 GiB"),
        "{refused}"
    );
}

/// A device whose writes take an exponentially distributed time with this mean, and are durable.
fn memoryless(mean_ns: f64) -> DeviceModel {
    DeviceModel::Service(ServiceModel {
        flush_ns: None,
        tail: LatencyTail {
            share: 1.0,
            mean_ns,
        },
        ..ServiceModel::NOTHING
    })
}

/// What is in the way to both devices no race hides; what is in one of them it does.
#[test]
fn a_race_hides_what_only_one_device_has() {
    let rare = LatencyTail {
        share: 0.05,
        mean_ns: 5e6,
    };
    let plain = ServiceModel {
        flush_ns: None,
        ..DISK
    };
    let p99 = |tail, before, race: bool| {
        let mut of = setup(LogWriter::Inline, 4);
        of.device = DeviceModel::Service(ServiceModel { tail, ..plain });
        of.time_ns = 4_000_000_000;
        let others = vec![DeviceModel::Service(plain)];
        of.members = race.then_some(MemberDevices {
            others,
            cell: 2,
            have_threads: false,
        });
        of.way.tail = before;
        let done = run(&of).expect("simulated");
        done.recording.foreground().sync.quantile_raw(0.99)
    };
    let none = LatencyTail::default();
    assert!(p99(rare, none, false) > 4_000_000);
    assert!(p99(rare, none, true) < 1_000_000);
    assert!(p99(none, rare, true) > 4_000_000);
}

/// One session on members alone: what its log writes take on average, nanoseconds, and which share
/// of them the first member decided.
fn on_members(devices: &[DeviceModel], cell: usize) -> (f64, f64) {
    let mut of = setup(LogWriter::Inline, 1);
    of.device = devices[0].clone();
    of.members = Some(MemberDevices {
        others: devices[1..].to_vec(),
        cell,
        have_threads: false,
    });
    // Longer than both: no member is behind when the next one begins.
    of.costs.work_ns = 40_000_000;
    (of.time_ns, of.commits) = (u64::MAX / 4, Some(20_000));
    let done = run(&of).expect("simulated");
    let decided: u64 = done.members.iter().map(|m| m.first).sum();
    let log = done.recording.background.expect("a log writer");
    let first = done.members[0].first as f64 / decided as f64;
    (log.write.mean(), first)
}

/// Order statistics: the lesser of two exponential times has half the mean, the greater half as
/// much again; of different means m and n the first is first in n of m + n.
#[test]
fn a_race_takes_the_first_of_its_members_and_a_mirror_the_last() {
    let mean = 1_000_000.0;
    let both = [memoryless(mean), memoryless(mean)];
    let (race, first) = on_members(&both, 2);
    assert!((race / mean - 0.5).abs() < 0.02, "{race}");
    assert!((first - 0.5).abs() < 0.02, "{first}");
    let (mirror, _) = on_members(&both, 1);
    assert!((mirror / mean - 1.5).abs() < 0.03, "{mirror}");
    let (race, first) = on_members(&[memoryless(mean), memoryless(3.0 * mean)], 2);
    assert!((race / mean - 0.75).abs() < 0.02, "{race}");
    assert!((first - 0.75).abs() < 0.02, "{first}");
}

/// Mirrored races: the greater of two lesser times, of four equal members.
#[test]
fn a_mirror_of_races_takes_the_slower_of_two_firsts() {
    let mean = 1_000_000.0;
    let four = [(); 4].map(|()| memoryless(mean));
    let (taken, _) = on_members(&four, 2);
    // The lesser of two has half the mean; of two such the greater has half as much again.
    assert!((taken / mean - 0.75).abs() < 0.02, "{taken}");
}

/// Members that flush, one of them beside one whose writes are durable at once: all go on.
#[test]
fn members_with_caches_of_their_own_go_on() {
    let cached = DeviceModel::Service(DISK);
    let durable = DeviceModel::Service(ServiceModel {
        flush_ns: None,
        ..DISK
    });
    let alone = rate(&run(&setup(LogWriter::Auto, 8)).expect("simulated"));
    for (others, cell) in [(cached.clone(), 1), (cached, 2), (durable, 2)] {
        let mut of = setup(LogWriter::Auto, 8);
        let others = vec![others];
        of.members = Some(MemberDevices {
            others,
            cell,
            have_threads: true,
        });
        let done = run(&of).expect("simulated");
        assert!(rate(&done) > alone * 0.6, "{} of {alone}", rate(&done));
        let log = done.recording.background.expect("a log writer");
        let decided: u64 = done.members.iter().map(|m| m.first_durable).sum();
        assert!(
            decided.abs_diff(log.flushes) <= 1,
            "{decided} {}",
            log.flushes
        );
    }
}

#[test]
fn a_mirror_whose_member_falls_behind_is_not_simulated() {
    let mut of = setup(LogWriter::Lgwr, 8);
    let slow = DeviceModel::Service(DISK).scaled(10_000.0);
    let members = |cell, others| {
        Some(MemberDevices {
            others,
            cell,
            have_threads: true,
        })
    };
    of.members = members(2, vec![slow.clone()]);
    of.workload.redo_bytes = 100_000;
    of.time_ns = 3_000_000_000;
    let behind = run(&of).expect_err("it has no room");
    assert!(
        behind.to_string().contains("member 1 is behind"),
        "{behind}"
    );
    of.members = members(3, vec![slow]);
    let refused = run(&of).expect_err("two members are no cell of three");
    assert!(
        refused.to_string().contains("cells of equal size"),
        "{refused}"
    );
}

/// Costs that are found again from the cells that they made.
#[test]
fn a_fit_finds_what_made_the_cells() {
    let cell = |sessions| {
        let mut of = setup(LogWriter::Lgwr, sessions);
        of.time_ns = 20_000_000;
        let done = run(&of).expect("simulated");
        crate::MeasuredCell {
            per_s: rate(&done),
            processor_ns: Some(done.processor_ns_per_commit()),
            sync_p50_ns: Some(done.recording.foreground().sync.quantile_raw(0.5) as f64),
            setup: of,
        }
    };
    let cells = [cell(1), cell(16)];
    let mut begun = COSTS;
    begun.wake_ns = 4000;
    let slower = DeviceModel::Service(DISK).scaled(1.5);
    let effort = crate::FitEffort {
        starts: 0,
        steps: 150,
        commits: 2000,
    };
    let fit = crate::fit(&cells, (begun, &slower), effort, &|| true).expect("fits");
    assert!(fit.error < 0.02, "{fit:?}");
    let asked = AtomicU32::new(0);
    let for_a_while = || asked.fetch_add(1, Ordering::Relaxed) < 40;
    let ended = crate::fit(&cells, (begun, &slower), effort, &for_a_while);
    assert_eq!(ended, Err(SimulationStopped::Interrupted));
    assert!(asked.into_inner() < 80, "it ends soon");
}
