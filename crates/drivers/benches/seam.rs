//! What the seam costs: transactions of LGWR-LAT1 of one session on the null device, made by calls
//! of the log and through `measure::driver`, in turns A B B A, every second group B A A B.
//!
//! Prints CSV: cell, group, commits per second of both chunks of direct calls and of both chunks
//! through the driver.
//!
//!     cargo bench -p redolab-drivers --bench seam -- [GROUPS] > data.csv

use device::SyncMethod;
use drivers::embedded::{AskedOfLog, EmbeddedLog, null_layout};
use measure::driver::{Driver, SessionLoad};
use measure::workload::{CommitWait, Generator, Payload, Workload};
use measure::{Clock, Nanos, RealClock};
use redo::{Log, LogFileSync, LogWriter, Shape};
use std::error::Error;
use std::sync::Arc;

/// Time of a chunk.
const CHUNK: Nanos = Nanos::from_millis(20);
const GROUPS: usize = 300;
const POOL_BYTES: usize = 4 << 20;

/// What a session keeps of a transaction, however it was made.
#[derive(Clone, Copy)]
struct Kept {
    latency_ns: u64,
    sync_ns: Option<u64>,
    path_ns: Option<[u64; 4]>,
}

/// A log on the null device.
fn null_log() -> Result<Log, redo::Error> {
    let layout = null_layout(&Shape::default(), |device| device)?;
    Ok(Log::builder(layout).open()?.0)
}

/// A transaction by calls of the log, as sessions made it before there was a driver.
fn direct(
    session: &mut redo::Session,
    generator: &mut Generator,
    workload: &Workload,
    start: Nanos,
) -> Result<(Kept, Nanos), redo::Error> {
    generator.next_transaction();
    for index in 0..workload.records.max(1) {
        let (stamp, body) = generator.record(index, workload.record_bytes(index));
        session.append(&[&stamp, body])?;
    }
    let commit = session.commit(workload.commit)?;
    let waits = workload.commit.wait == CommitWait::Wait;
    let path = commit.path();
    let kept = Kept {
        latency_ns: commit.returned.since(start).0,
        sync_ns: waits.then(|| commit.log_file_sync().0),
        path_ns: path.map(|p| [p.queue_ns, p.write_ns, p.flush_ns, p.wake_ns]),
    };
    Ok((kept, commit.returned))
}

/// Commits per second of a chunk of what `transaction` makes from the time that it is given.
fn chunk<E>(
    clock: RealClock,
    samples: &mut Vec<Kept>,
    mut transaction: impl FnMut(Nanos) -> Result<(Kept, Nanos), E>,
) -> Result<f64, E> {
    let begun = clock.now();
    let (mut start, mut commits) = (begun, 0_u64);
    while start.since(begun) < CHUNK {
        let (kept, returned) = transaction(start)?;
        commits += 1;
        if samples.len() == 64 {
            std::hint::black_box(&*samples);
            samples.clear();
        }
        samples.push(kept);
        start = returned;
    }
    Ok(commits as f64 / start.since(begun).as_secs())
}

fn main() -> Result<(), Box<dyn Error>> {
    let groups = std::env::args().skip(1).find_map(|text| text.parse().ok());
    let asked = AskedOfLog {
        sync_method: SyncMethod::Direct,
        log_writer: LogWriter::Inline,
        log_writer_cpus: Vec::new(),
        log_file_sync: LogFileSync::default(),
        io_depth: 1,
        unwritten_extents: None,
        stripe: None,
        members: Vec::new(),
        ring: None,
        stays: false,
    };
    let log = EmbeddedLog::start(null_log()?, asked)?;
    let clock = log.clock();
    let payload = Payload::default();
    let load = SessionLoad {
        number: 0,
        workload: Arc::new(Workload::standard().remove(0)),
        cpu_per_txn: Nanos::ZERO,
        payload,
        pool: payload.pool(1, POOL_BYTES),
        seed: 1,
    };
    let workload = Arc::clone(&load.workload);
    let (mut own, mut generator) = (log.log().session(), load.generator());
    let mut session = log.session(load)?;
    let mut samples = Vec::with_capacity(64);
    println!("cell,group,direct_1,direct_2,driver_1,driver_2");
    for group in 1..=groups.unwrap_or(GROUPS) {
        let (mut by_log, mut by_driver) = (Vec::new(), Vec::new());
        let driver_first = group % 2 == 0;
        for turn in 0..4 {
            if (turn == 1 || turn == 2) == driver_first {
                let made = |start| direct(&mut own, &mut generator, &workload, start);
                by_log.push(chunk(clock, &mut samples, made)?);
            } else {
                let made = |start: Nanos| {
                    let done = session.transaction()?;
                    let kept = Kept {
                        latency_ns: done.returned.since(start).0,
                        sync_ns: done.sync_ns,
                        path_ns: done.path_ns,
                    };
                    Ok::<_, measure::driver::DriverError>((kept, done.returned))
                };
                by_driver.push(chunk(clock, &mut samples, made)?);
            }
        }
        let rate = |of: &[f64], at: usize| of.get(at).copied().unwrap_or(f64::NAN);
        println!(
            "null-1,{group},{:.0},{:.0},{:.0},{:.0}",
            rate(&by_log, 0),
            rate(&by_log, 1),
            rate(&by_driver, 0),
            rate(&by_driver, 1)
        );
    }
    let used: u64 = samples.iter().map(|kept| kept.latency_ns).sum();
    let waits = samples.iter().filter_map(|kept| kept.sync_ns).count();
    let parts = samples.iter().filter_map(|kept| kept.path_ns).count();
    std::hint::black_box((used, waits, parts));
    Ok(())
}
