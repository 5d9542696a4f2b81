//! fsys: its journal, an append and `sync_through` a commit.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use fsys::JournalOptions;
use std::sync::Arc;

pub const BUFFERED: Peer = Peer {
    name: "fsys",
    class: Class::GroupCommit,
    package: "fsys",
    settings: "journal through the page cache, 4 GiB preallocated (unwritten extents: it has no \
               way to write them before), no window for gathering (its default of 500 µs is paid \
               by every group)",
    open: Some(open),
};

pub const DIRECT: Peer = Peer {
    name: "fsys:direct",
    settings: "the same with O_DIRECT and a log buffer of 1 MiB",
    ..BUFFERED
};

fn open(place: &Place) -> Result<Opened, AnyError> {
    let options = JournalOptions::new().group_commit_window(None);
    let options = match place.variant {
        "direct" => options.direct(true).log_buffer_kib(1024),
        _ => options,
    };
    let handle = fsys::builder().build()?;
    let log = Arc::new(handle.journal_with(place.directory.join("journal"), options)?);
    log.preallocate(0, 4 << 30)?;
    if place.variant == "direct" && !log.is_direct_active() {
        return Err("the file system refuses O_DIRECT, and fsys fell back".into());
    }
    let committer = |_| -> Step {
        let log = Arc::clone(&log);
        blocking(move |record| {
            let end = log.append(record)?;
            log.sync_through(end)?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new((handle, log)),
    })
}
