//! The control: a log that acknowledges what it wrote to the page cache. Were it not excluded, the
//! check of flushes would be worth nothing.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const PEER: Peer = Peer {
    name: "unsynced",
    class: Class::Control,
    package: "redolab-peers",
    settings: "the control: write without any sync, around 256 MiB; must be excluded",
    open: Some(open),
};

fn open(place: &Place) -> Result<Opened, AnyError> {
    let file = Arc::new(File::create(place.directory.join("log"))?);
    let end = Arc::new(AtomicU64::new(0));
    let committer = |_| -> Step {
        let (file, end) = (Arc::clone(&file), Arc::clone(&end));
        blocking(move |record| {
            let at = end.fetch_add(record.len() as u64, Ordering::Relaxed);
            file.write_all_at(record, at % (256 << 20))?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new(file),
    })
}
