//! Physical sectors of every size: a log that is made for them takes its largest records for ever,
//! and one that was made for smaller ones is not opened.

use device::queue::LogDevice;
use device::{Caps, SimDisk};
use redo::control::CONTROL_BYTES;
use redo::format::LogId;
use redo::{CommitMode, Error, LogWriter, Options, Shape};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn disk(bytes: u64, sector: u32) -> Arc<SimDisk> {
    let disk = SimDisk::new(bytes as usize, sector as usize, false);
    disk.set_immediate(true);
    Arc::new(disk)
}

/// A log of this shape on a device of such sectors: its data and its control information.
fn made(block: u32, file_bytes: u64, sector: u32) -> (Arc<SimDisk>, Arc<SimDisk>) {
    let caps = Caps {
        physical_bytes: sector,
        ..disk(4096, 512).caps()
    };
    let shape = Shape::new()
        .block_bytes(Some(block))
        .groups(2)
        .file_bytes(file_bytes);
    let geometry = shape.geometry(&caps, Path::new("log")).expect("possible");
    let control = disk(CONTROL_BYTES, 512);
    redo::control::ControlFile::format(control.clone(), geometry, LogId([8; 16])).expect("healthy");
    (disk(2 * file_bytes, sector), control)
}

fn options(log_writer: LogWriter) -> Options {
    Options::default()
        .log_writer(log_writer)
        .buffer_bytes(1 << 20)
}

/// The largest record needs an eighth of the log buffer, but its batch is padded to a sector: it
/// must still fit, however many sessions press on.
#[test]
fn the_largest_records_fit_for_ever() {
    const SESSIONS: u32 = 4;
    const EACH: u32 = 25;
    let cases = [
        (512, 512 << 10, 512),
        (512, 512 << 10, 4096),
        (4096, 512 << 10, 4096),
        (512, 512 << 10, 65_536),
        (4096, 512 << 10, 65_536),
        // The log buffer and each log hold one sector.
        (512, 2 << 20, 1 << 20),
        (4096, 2 << 20, 1 << 20),
    ];
    for (block, file_bytes, sector) in cases {
        for log_writer in [LogWriter::Inline, LogWriter::Lgwr] {
            let case = format!("{block} {sector} {log_writer:?}");
            let (data, control) = made(block, file_bytes, sector);
            let opened = crate::common::open_on(data.clone(), control.clone(), options(log_writer));
            let (log, _) = opened.expect("a new log");
            let (tell, told) = channel();
            for who in 0..SESSIONS {
                let (mut session, tell) = (log.session(), tell.clone());
                let len = log.max_record_bytes() as usize - (who as usize % 2);
                std::thread::spawn(move || {
                    let body = vec![who as u8; len];
                    for _ in 0..EACH {
                        session.append(&[&body]).expect("open");
                        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                    }
                    tell.send(who).expect("the test waits");
                });
            }
            let patience = Instant::now() + Duration::from_secs(300);
            let mut back = 0;
            while back < SESSIONS {
                back += u32::from(told.recv_timeout(Duration::from_millis(1)).is_ok());
                log.checkpoint(log.durable()).expect("durable");
                assert!(Instant::now() < patience, "{case}: {back} came back");
            }
            log.close().expect("nothing failed");
            let opened = crate::common::open_on(data, control, options(log_writer));
            opened.unwrap_or_else(|e| panic!("{case}: {e}"));
        }
    }
}

/// Between two blocks of one sector lies an acknowledgement: writing the second would put the
/// first at risk.
#[test]
fn a_log_made_for_smaller_sectors_is_not_opened() {
    for (made_for, found) in [(512, 4096), (4096, 65_536)] {
        let (_, control) = made(512, 512 << 10, made_for);
        let data = disk(2 * (512 << 10), found);
        let refused = crate::common::open_on(data, control.clone(), options(LogWriter::Inline));
        let refused = refused.map(drop);
        assert!(matches!(refused, Err(Error::Sectors { .. })), "{refused:?}");
        // Nothing was changed: where its sectors are, it opens.
        let data = disk(2 * (512 << 10), made_for);
        crate::common::open_on(data, control, options(LogWriter::Inline)).expect("its own sectors");
    }
}

/// A request for no batch in flight, or for more than there may be, is refused.
#[test]
fn an_impossible_policy_is_refused() {
    for depth in [0, 9, u32::MAX] {
        let (data, control) = made(512, 512 << 10, 512);
        let mut ways = options(LogWriter::Inline);
        ways.policy.depth = depth;
        let refused = crate::common::open_on(data, control, ways).map(drop);
        assert!(matches!(refused, Err(Error::Depth { .. })), "{refused:?}");
    }
}
