//! okaywal: an entry of one chunk a commit; segments are recycled by a manager that keeps nothing.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use okaywal::{Configuration, LogVoid, WriteAheadLog};

pub const PEER: Peer = Peer {
    name: "okaywal",
    class: Class::GroupCommit,
    package: "okaywal",
    settings: "segments of 64 MiB, a checkpoint after 48 MiB (its own ratio), buffer of 64 KiB; \
               six segments are filled before the load, since a new one is zeroed in the path of \
               a commit and a recycled one is not",
    open: Some(open),
};

const SEGMENT_MIB: u32 = 64;

fn open(place: &Place) -> Result<Opened, AnyError> {
    let checkpoint_bytes = (u64::from(SEGMENT_MIB) * 3 / 4) << 20;
    let log = Configuration::default_for(place.directory)
        .preallocate_bytes(SEGMENT_MIB << 20)
        .checkpoint_after_bytes(checkpoint_bytes)
        .buffer_bytes(64 << 10)
        .open(LogVoid)?;
    let large = measure::workload::pool(7, 1 << 20);
    for _ in 0..(6 * checkpoint_bytes) >> 20 {
        commit(&log, &large)?;
    }
    let committer = |_| -> Step {
        let log = log.clone();
        blocking(move |record| commit(&log, record))
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new(log),
    })
}

fn commit(log: &WriteAheadLog, record: &[u8]) -> Result<(), AnyError> {
    let mut entry = log.begin_entry()?;
    entry.write_chunk(record)?;
    entry.commit()?;
    Ok(())
}
