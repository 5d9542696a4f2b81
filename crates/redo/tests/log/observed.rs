//! What an observer counts beside what the device counted: writes, flushes, bytes, and the time
//! for which a flush was deferred.

use crate::common::{SMALL, Scratch, WRITERS, create_with, open_on, options};
use device::{FaultDevice, FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::{BatchEvent, LogWrite, Paths, WrittenBatch};
use redo::{CommitMode, Log, LogWriter, Triggers};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Default)]
struct Seen {
    written: Vec<WrittenBatch>,
    durable: Vec<LogWrite>,
}

/// A log of 48 MiB on a device that counts, and what its observer saw.
fn observed_log(
    scratch: &Scratch,
    log_writer: LogWriter,
    method: SyncMethod,
) -> (Arc<FaultDevice>, Log, Arc<Mutex<Seen>>) {
    let shape = SMALL.file_bytes(16 << 20);
    create_with(&scratch.0, shape, &|_, _| {}, &|| false).expect("a new log");
    let paths = Paths::new(&scratch.0);
    let files = |files: &[_], bytes, method| {
        Arc::new(FileSet::open(files, bytes, method).expect("the log's files"))
    };
    let data = files(&paths.logs(shape.groups), shape.file_bytes, method);
    let data = Arc::new(FaultDevice::new(data));
    let control = files(&[paths.control()], CONTROL_BYTES, SyncMethod::Buffered);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let notes = Arc::clone(&seen);
    // The period is long: nothing is flushed because of time.
    let triggers = Triggers::NONE.commit(true).bytes(Some(64 << 10));
    let ways = options()
        .log_writer(log_writer)
        .triggers(triggers.period(Some(Duration::from_secs(60))))
        .buffer_bytes(1 << 20)
        .observe_batches(move |event| {
            let mut seen = notes.lock().expect("whole");
            match event {
                BatchEvent::Written(batch) => seen.written.push(*batch),
                BatchEvent::Durable(write) => {
                    let known = seen.written.iter().any(|batch| batch.batch == write.batch);
                    assert!(known, "batch {} was durable before written", write.batch);
                    seen.durable.push(*write);
                }
            }
        });
    let device: Arc<dyn LogDevice> = data.clone();
    let (log, _) = open_on(device, control, ways).expect("a new log");
    (data, log, seen)
}

/// Records that nobody waits for, 16 kB each, a pause, and one commit that waits.
fn stream_and_wait(log: &Log, records: u32) {
    let mut session = log.session();
    let mut last = log.written();
    for _ in 0..records {
        last = session.append(&[&[7; 16_000]]).expect("open");
        session.commit(CommitMode::NOWAIT_IMMEDIATE).expect("open");
    }
    crate::common::until("all is written", || log.written() > last);
    std::thread::sleep(Duration::from_millis(30));
    session.append(&[b"and one more"]).expect("open");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("open");
}

#[test]
fn operations_are_counted_as_the_device_counts_them() {
    for method in [SyncMethod::Buffered, SyncMethod::Dsync] {
        for log_writer in WRITERS {
            let scratch = Scratch::new();
            let (device, log, seen) = observed_log(&scratch, log_writer, method);
            // What opening did.
            let before = device.counts();
            stream_and_wait(&log, 256);
            log.flush().expect("open");
            let (counts, seen) = (device.counts(), seen.lock().expect("whole"));
            let device_writes = counts.writes - before.writes;
            let device_flushes = counts.flushes - before.flushes;
            let case = format!("{log_writer} {method:?}");
            let all = |of: fn(&LogWrite) -> u32| seen.durable.iter().map(of).sum::<u32>();
            let writes: u32 = seen.written.iter().map(|batch| batch.writes).sum();
            assert_eq!(u64::from(writes), device_writes, "{case}");
            assert_eq!(all(|write| write.writes), writes, "{case}");
            assert_eq!(seen.written.len(), seen.durable.len(), "{case}");
            let made_durable = match method {
                SyncMethod::Buffered => device_flushes,
                _ => device_writes,
            };
            assert_eq!(
                u64::from(all(|write| write.flushes)),
                made_durable,
                "{case}"
            );
            let blocks: u32 = seen.written.iter().map(|batch| batch.blocks).sum();
            assert_eq!(all(|write| write.blocks), blocks, "{case}");
            // The last commit waits, and few batches deferred before it need no flush of their own.
            if method == SyncMethod::Buffered && device_writes > 2 {
                assert!(device_flushes < device_writes, "{case}: {counts:?}");
            }
        }
    }
}

#[test]
fn the_time_for_which_a_flush_was_deferred_is_no_time_of_the_log_write() {
    let pause = Duration::from_millis(30).as_nanos() as u64;
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (_device, log, seen) = observed_log(&scratch, log_writer, SyncMethod::Buffered);
        // After 64 log writes a flush would come by itself.
        stream_and_wait(&log, 60);
        let seen = seen.lock().expect("whole");
        let (last, before) = seen.durable.split_last().expect("log writes");
        assert_eq!(last.deferred_ns, 0, "{log_writer}: somebody waited for it");
        assert!(!before.is_empty(), "{log_writer}");
        for write in before {
            assert!(write.deferred_ns >= pause, "{log_writer}: {write:?}");
            let stations = write.stations;
            let waited = stations.durable_ns - stations.written_ns;
            assert!(write.deferred_ns <= waited, "{log_writer}: {write:?}");
        }
    }
}

/// While one part of the log buffer is written, another is filled: a log write never takes all.
#[test]
fn a_log_write_takes_its_part_of_the_log_buffer() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (device, log, seen) = observed_log(&scratch, log_writer, SyncMethod::Buffered);
        device.set_delay(Duration::from_millis(2));
        let mut session = log.session();
        // Twice the log buffer of 1 MiB and more.
        for _ in 0..200 {
            session.append(&[&[7; 16_000]]).expect("open");
            session.commit(CommitMode::NOWAIT_IMMEDIATE).expect("open");
        }
        log.flush().expect("open");
        let depth = log_writer.workers().unwrap_or(1);
        let seen = seen.lock().expect("whole");
        let most = (1 << 20) / (depth + 1).min(3);
        let largest = seen.durable.iter().map(|write| write.redo_bytes).max();
        let largest = largest.expect("log writes");
        let longest = log.max_record_bytes() as u32 + 64;
        assert!(
            largest <= most.max(longest),
            "{log_writer}: {largest} of {most}"
        );
        assert!(
            largest > most / 2,
            "{log_writer}: {largest} of {most}: never full"
        );
    }
}
