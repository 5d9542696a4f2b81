//! Reading records: an application of records that fails, the iterator, and readers of a log that
//! is in use, up to its durable position and behind what was overwritten.

use crate::common::{PATIENCE, SMALL, Scratch, commit, open, options, record, whose};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Injection};
use device::{LogDevice, OpKind, SimDisk};
use redo::control::CONTROL_BYTES;
use redo::{CommitMode, Error, Layout, Log, Rba, RedoRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an engine's own error could be.
#[derive(Debug)]
enum Applying {
    Refused(u32),
    Log(Error),
}

impl From<Error> for Applying {
    fn from(error: Error) -> Applying {
        Applying::Log(error)
    }
}

fn append_many(log: &Log, from: u32, count: u32) -> Vec<Rba> {
    let mut session = log.session();
    let one = |which| session.append(&[&record(0, which)]).expect("open");
    let addresses = (from..from + count).map(one).collect();
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    addresses
}

fn numbers(log: &Log, from: Rba) -> Vec<u32> {
    let reader = log.read_from(from).expect("kept and durable");
    let one = |r: Result<RedoRecord, Error>| whose(&r.expect("readable").bytes).1;
    reader.map(one).collect()
}

/// Several records lie in one block, so the stop must take effect inside a block.
#[test]
fn an_error_of_the_caller_stops_recovery_and_leaves_the_log_as_it_was() {
    let scratch = Scratch::with_log();
    append_many(&open(&scratch.0), 0, 60);
    for stop in [0, 1, 7, 59] {
        let (log, recovery) = crate::common::open_with(&scratch.0, options()).expect("opens");
        let mut seen = 0;
        let stopped = recovery.recover(|_, bytes| {
            let (_, which) = whose(bytes);
            seen += 1;
            match which == stop {
                true => Err(Applying::Refused(which)),
                false => Ok(()),
            }
        });
        assert!(
            matches!(stopped, Err(Applying::Refused(which)) if which == stop),
            "{stopped:?}"
        );
        assert_eq!(seen, stop + 1, "no record follows the one that failed");
        let mut again = 0;
        let all = recovery.recover(|_, _| -> Result<(), Applying> {
            again += 1;
            Ok(())
        });
        assert_eq!((all.expect("readable"), again), (60, 60));
        drop(log);
    }
}

#[test]
fn the_log_s_own_error_comes_as_the_caller_s() {
    let scratch = Scratch::with_log();
    append_many(&open(&scratch.0), 0, 60);
    let (log, recovery) = crate::common::open_with(&scratch.0, options()).expect("opens");
    // What was recovered goes, behind the back of the log.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(scratch.0.join("redo01.log"))
        .expect("there");
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], 8192).expect("written");
    file.sync_all().expect("synced");
    let failed = recovery.recover(|_, _| Ok::<(), Applying>(()));
    assert!(
        matches!(failed, Err(Applying::Log(Error::Corrupt { .. }))),
        "{failed:?}"
    );
    let last = recovery.records().last();
    assert!(matches!(last, Some(Err(Error::Corrupt { .. }))), "{last:?}");
    drop(log);
}

/// Lives that end in a crash leave gaps between incarnations; records span blocks.
#[test]
fn a_reader_begins_at_every_record_and_the_iterator_gives_what_recovery_gives() {
    let scratch = Scratch::with_log();
    let mut addresses = Vec::new();
    for life in 0..4 {
        let log = open(&scratch.0);
        addresses.extend(append_many(&log, life * 25, 25));
    }
    let (log, recovery) = crate::common::open_with(&scratch.0, options()).expect("opens");
    let mut recovered = Vec::new();
    let applied = recovery.recover(|rba, bytes| {
        recovered.push((rba, bytes.to_vec()));
        Ok::<(), Error>(())
    });
    assert_eq!(applied.expect("readable"), 100);
    let copied: Result<Vec<_>, _> = recovery.records().collect();
    let copied = copied.expect("readable");
    let pairs: Vec<_> = copied.iter().map(|r| (r.rba, r.bytes.clone())).collect();
    assert_eq!(pairs, recovered);
    for (which, at) in (0..).zip(&addresses) {
        let expected: Vec<u32> = (which..100).collect();
        assert_eq!(numbers(&log, *at), expected, "from {at}");
        let next = copied[which as usize].next;
        assert_eq!(numbers(&log, next), expected[1..], "behind {at}: {next}");
    }
    assert_eq!(numbers(&log, log.durable()), []);
}

#[test]
fn a_reader_goes_on_when_more_is_durable_and_gives_nothing_before() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut reader = log.read_from(log.durable()).expect("durable");
    let mut session = log.session();
    for which in 0..40 {
        session.append(&[&record(0, which)]).expect("open");
        assert!(reader.next().is_none(), "{which} is not durable yet");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        let got = reader.next().expect("durable").expect("readable");
        assert_eq!(whose(&got.bytes), (0, which));
    }
    assert!(reader.next().is_none());
}

/// A log in memory whose operations end at once, of blocks of so many bytes on sectors of 4096.
fn in_memory(block_bytes: u32) -> (SimDisk, SimDisk) {
    let disk = |bytes: u64| {
        let disk = SimDisk::new(bytes as usize, 4096, false);
        disk.set_immediate(true);
        disk
    };
    let shape = SMALL.block_bytes(Some(block_bytes));
    let data = disk(shape.file_bytes * u64::from(shape.groups));
    let control = disk(CONTROL_BYTES);
    let layout = Layout::devices(Arc::new(data.clone()), Arc::new(control.clone()));
    crate::common::create_with(layout, shape, &|_, _| {}, &|| false).expect("a new log");
    (data, control)
}

/// Eight blocks make a sector. A write that was cut leaves some of them, so recovery ends inside a
/// sector and the next incarnation begins behind it: what lies between belongs to nobody.
#[test]
fn a_reader_passes_over_the_gaps_between_incarnations() {
    let (mut data, control) = in_memory(512);
    let (mut expected, mut gaps) = (Vec::new(), 0);
    for life in 0..5_u32 {
        let faulty = Arc::new(FaultDevice::new(Arc::new(data.clone())));
        let (log, recovery) =
            crate::common::open_on(faulty.clone(), Arc::new(control.clone()), options())
                .expect("opens");
        let found: Result<Vec<_>, _> = recovery.records().collect();
        let found: Vec<u32> = found
            .expect("readable")
            .iter()
            .map(|r| whose(&r.bytes).1)
            .collect();
        assert!(found.starts_with(&expected), "{found:?}");
        expected = found;
        let first = 100 * life;
        let at = append_many(&log, first, 10)[0];
        expected.extend(first..first + 10);
        let from_here: Vec<u32> = (first..first + 10).collect();
        assert_eq!(numbers(&log, at), from_here);
        let start = Rba {
            log_seq: 1,
            ..Rba::default()
        };
        assert_eq!(numbers(&log, start), expected, "across all lives");
        faulty.inject(Injection {
            target: FaultTarget::Flush,
            nth: faulty.counts().flushes + 1,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        let end = u64::from(log.durable().block);
        let geometry = *log.geometry();
        let mut session = log.session();
        for which in 10..20 {
            session.append(&[&record(0, first + which)]).expect("open");
        }
        session
            .commit(CommitMode::WAIT_IMMEDIATE)
            .expect_err("it fails");
        drop((session, log, recovery));
        // Three blocks of that write reach the medium.
        let mut image = vec![0; data.bytes() as usize];
        data.read(0, &mut image).expect("readable");
        let cut = geometry.address(end + 3) as usize;
        let behind = geometry.address(end + 40) as usize;
        image[cut..behind].fill(0);
        data = data.after_crash(image);
        data.set_immediate(true);
        gaps += u64::from(geometry.round_up(end + 3) > end + 3);
    }
    assert_eq!(gaps, 5);
}

/// Only the gap before an incarnation may hold blocks that do not count; any other one is damage,
/// and nothing behind it is given.
#[test]
fn a_durable_block_that_does_not_count_ends_a_reader_with_an_error() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let all: Vec<Rba> = (0..10)
        .map(|which| commit(&mut session, 0, which).expect("durable"))
        .collect();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(scratch.0.join("redo01.log"))
        .expect("there");
    let place = log.geometry().address(5);
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], place).expect("written");
    let mut reader = log.read_from(all[0]).expect("kept and durable");
    for which in 0..5 {
        let got = reader.next().expect("durable").expect("readable");
        assert_eq!(whose(&got.bytes), (0, which));
    }
    let damaged = reader.next();
    assert!(
        matches!(damaged, Some(Err(Error::Corrupt { rba, .. })) if rba == all[5]),
        "{damaged:?}"
    );
    assert!(reader.next().is_none(), "nothing behind an error");
}

/// The write of a commit has ended and its flush has not.
#[test]
fn redo_that_is_written_and_not_flushed_is_not_read() {
    let (data, control) = in_memory(4096);
    let data = Arc::new(FaultDevice::new(Arc::new(data)));
    let (log, _) =
        crate::common::open_on(data.clone(), Arc::new(control), options()).expect("opens");
    let mut session = log.session();
    let first = commit(&mut session, 0, 0).expect("durable");
    let durable = log.durable();
    let gate = data.gate();
    let thread = std::thread::spawn(move || {
        commit(&mut session, 0, 1).expect("durable");
    });
    let write = gate.await_pending(1, PATIENCE).expect("submitted")[0];
    assert!(matches!(write.op.kind, OpKind::Write { .. }));
    assert!(gate.release(write.ticket));
    let flush = gate.await_pending(1, PATIENCE).expect("submitted")[0];
    assert_eq!(flush.op.kind, OpKind::Flush);
    assert_eq!(log.durable(), durable);
    assert_eq!(numbers(&log, first), [0]);
    assert_eq!(numbers(&log, durable), []);
    let behind = Rba {
        block: durable.block + 1,
        ..durable
    };
    let refused = log.read_from(behind);
    assert!(
        matches!(refused, Err(Error::Position { .. })),
        "{refused:?}"
    );
    let refused = log.checkpoint(behind);
    assert!(
        matches!(refused, Err(Error::Checkpoint { .. })),
        "{refused:?}"
    );
    drop(gate);
    thread.join().expect("no panic");
    assert_eq!(numbers(&log, first), [0, 1]);
    assert_eq!(numbers(&log, behind), []);
}

#[test]
fn positions_that_the_log_cannot_have_are_refused() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    append_many(&log, 0, 10);
    let durable = log.durable();
    let odd = [
        Rba {
            log_seq: 0,
            ..durable
        },
        Rba {
            block: u32::MAX,
            ..durable
        },
        Rba {
            log_seq: 9,
            ..durable
        },
        Rba {
            offset: 1,
            ..durable
        },
    ];
    for at in odd {
        let refused = log.read_from(at);
        assert!(
            matches!(refused, Err(Error::Position { asked, .. }) if asked == at),
            "{at}: {refused:?}"
        );
    }
}

/// Fills the log's three files until the first is overwritten.
#[test]
fn redo_that_was_overwritten_is_refused_with_the_position_that_is_kept() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let first = commit(&mut session, 0, 0).expect("durable");
    let mut late = log.read_from(first).expect("kept");
    for which in 1..600 {
        commit(&mut session, 0, which).expect("durable");
        log.checkpoint(log.durable()).expect("durable");
    }
    let error = late.next().expect("an error").expect_err("overwritten");
    let Error::Overwritten { asked, kept } = error else {
        panic!("{error}");
    };
    assert_eq!((asked.log_seq, asked.block), (first.log_seq, first.block));
    assert!(late.next().is_none(), "nothing follows an error");
    let found = numbers(&log, kept);
    let expected: Vec<u32> = (found[0]..600).collect();
    assert!(found[0] > 0 && found == expected, "{found:?}");
    // The life in which they were written is not known any more.
    drop(late);
    drop((session, log));
    for which in 600..602 {
        let log = open(&scratch.0);
        commit(&mut log.session(), 0, which).expect("durable");
        log.checkpoint(log.durable()).expect("durable");
    }
    let log = open(&scratch.0);
    let gone = log.read_from(first);
    assert!(matches!(gone, Err(Error::Overwritten { .. })), "{gone:?}");
}

/// The reader is overtaken again and again, wherever it is: it may miss records, and never gets
/// one that is not what was committed in its place.
#[test]
fn a_reader_beside_a_log_writer_that_overtakes_it_gets_right_records_alone() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let done = AtomicBool::new(false);
    let mut at = log.durable();
    let (mut read, mut overtaken) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = log.session();
            for which in 0..1500 {
                commit(&mut session, 0, which).expect("durable");
                log.checkpoint(log.durable()).expect("durable");
            }
            done.store(true, Ordering::Release);
        });
        let mut last = None;
        while !done.load(Ordering::Acquire) || read == 0 {
            for got in log.read_from(at).into_iter().flatten() {
                match got {
                    Ok(got) => {
                        let (_, which) = whose(&got.bytes);
                        assert!(last < Some(which), "{which} behind {last:?}");
                        (last, at) = (Some(which), got.next);
                        read += 1;
                    }
                    Err(Error::Overwritten { kept, .. }) => {
                        overtaken += 1;
                        at = kept;
                    }
                    Err(error) => panic!("{error}"),
                }
                std::thread::yield_now();
            }
        }
    });
    println!("{read} records read, overtaken {overtaken} times");
}
