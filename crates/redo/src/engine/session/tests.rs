//! A session that is stopped between reserving and filling.

use super::*;
use crate::buffer::LogBuffer;
use crate::commit::CommitMode;
use crate::control::CONTROL_BYTES;
use crate::engine::{Log, LogWriter, Options, Shape};
use crate::format::LogId;
use device::{LogDevice, SimDisk};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SHAPE: Shape = Shape {
    block_bytes: Some(4096),
    groups: 2,
    file_bytes: 512 << 10,
};
const STOPPED: Duration = Duration::from_secs(1);
const OTHERS: u8 = 4;

fn disk(bytes: u64) -> Arc<dyn LogDevice> {
    let disk = SimDisk::new(bytes as usize, 4096, false);
    disk.set_immediate(true);
    Arc::new(disk)
}

/// Has `log` commit while a record was reserved and not filled. How many commits were acknowledged
/// before it was filled, and after.
fn commit_beside_a_stopped_filler(log: &Log, record: &[u8]) -> (u32, u32) {
    let buffer: &LogBuffer = &log.core.buffer;
    let len = (RECORD_HEADER_BYTES + record.len()) as u32;
    let reservation = buffer.reserve(len).expect("room");
    let acknowledged = AtomicU32::new(0);
    let mut early = 0;
    std::thread::scope(|scope| {
        for who in 0..OTHERS {
            let (mut session, acknowledged) = (log.session(), &acknowledged);
            scope.spawn(move || {
                session.append(&[&[who; 100]]).expect("room");
                let commit = session.commit(CommitMode::WAIT_IMMEDIATE);
                assert!(commit.expect("no device fails").durable);
                acknowledged.fetch_add(1, Ordering::SeqCst);
            });
        }
        std::thread::sleep(STOPPED);
        early = acknowledged.load(Ordering::SeqCst);
        let header = encode_record_header(record.len() as u32);
        buffer.fill(&reservation, Source::new(&header, &[record]));
        log.core.appended(&reservation);
    });
    (early, acknowledged.into_inner())
}

/// Assumption 29: commits wait for it, and when it goes on all of them are durable.
#[test]
fn commits_wait_for_a_stopped_filler_and_none_is_lost() {
    for log_writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Workers(2)] {
        let control = disk(CONTROL_BYTES);
        let data = disk(SHAPE.file_bytes * u64::from(SHAPE.groups));
        let geometry = SHAPE.geometry(&control.caps(), "memory".as_ref());
        let geometry = geometry.expect("a shape");
        crate::control::ControlFile::format(Arc::clone(&control), geometry, LogId([5; 16]))
            .expect("a new log");
        let open = || {
            let options = Options {
                log_writer,
                buffer_bytes: 1 << 20,
                ..Options::default()
            };
            let opened = Log::open_devices(Arc::clone(&data), Arc::clone(&control), options);
            opened.expect("the log opens")
        };
        let (log, _) = open();
        let (early, late) = commit_beside_a_stopped_filler(&log, b"stopped");
        assert_eq!((early, late), (0, OTHERS.into()), "{log_writer:?}");
        // As by a crash: what counts is what was acknowledged.
        drop(log);
        let (_log, recovery) = open();
        let mut found = Vec::new();
        let each = |_, record: &[u8]| {
            found.push(record.to_vec());
            Ok::<(), crate::Error>(())
        };
        recovery.recover(each).expect("readable");
        found.sort_unstable();
        let mut expected: Vec<Vec<u8>> = (0..OTHERS).map(|who| vec![who; 100]).collect();
        expected.push(b"stopped".to_vec());
        assert_eq!(found, expected, "{log_writer:?}");
    }
}
