//! walrus: a topic for each committer, every append synced.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use std::sync::Arc;
use walrus_rust::{FsyncSchedule, ReadConsistency, Walrus};

pub const PEER: Peer = Peer {
    name: "walrus",
    class: Class::Single,
    package: "walrus-rust",
    settings: "a topic for each committer, FsyncSchedule::SyncEach, its descriptor back end \
               (O_SYNC); files are sparse, so each append allocates",
    open: Some(open),
};

/// Which directory it uses, it takes from WALRUS_DATA_DIR alone: the runner sets that.
fn open(place: &Place) -> Result<Opened, AnyError> {
    let directory = std::env::var_os("WALRUS_DATA_DIR").unwrap_or_default();
    if directory != place.directory.as_os_str() {
        return Err("WALRUS_DATA_DIR does not name the cell's directory".into());
    }
    let consistency = ReadConsistency::AtLeastOnce {
        persist_every: u32::MAX,
    };
    let schedule = FsyncSchedule::SyncEach;
    let log = Walrus::with_consistency_and_schedule_for_key("peers", consistency, schedule)?;
    let log = Arc::new(log);
    let committer = |number: u32| -> Step {
        let (log, topic) = (Arc::clone(&log), format!("t{number}"));
        blocking(move |record| {
            log.append_for_topic(&topic, record)?;
            Ok(())
        })
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
