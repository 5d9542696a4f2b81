//! redolab's own log: every log writer that the library knows is a variant.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use redo::{CommitMode, Log, LogWriter, Options, Shape};
use std::sync::Arc;

pub const INLINE: Peer = Peer {
    name: "redolab:inline",
    class: Class::Own,
    package: "redolab-redo",
    settings: "Options::default(): O_DIRECT and fdatasync, log buffer of 16 MiB; three log files \
               of 128 MiB, written before the load; COMMIT WRITE WAIT IMMEDIATE; a checkpoint \
               after each log switch",
    open: Some(open),
};

pub const LGWR: Peer = Peer {
    name: "redolab:lgwr",
    settings: "the same with a dedicated log writer",
    ..INLINE
};

/// The log writer that a variant names.
pub fn writer(variant: &str) -> Result<LogWriter, AnyError> {
    Ok(variant.parse::<LogWriter>()?)
}

fn open(place: &Place) -> Result<Opened, AnyError> {
    let shape = Shape {
        file_bytes: 128 << 20,
        ..Shape::default()
    };
    Log::create(place.directory, shape, &|_, _| {}, &|| false)?;
    let options = Options {
        log_writer: writer(place.variant)?,
        ..Options::default()
    };
    let log = Arc::new(Log::open(place.directory, options)?.0);
    let committer = |_| -> Step {
        let mut session = log.session();
        blocking(move |record| {
            session.append(&[record])?;
            session.commit(CommitMode::WAIT_IMMEDIATE)?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    let checkpointed = Arc::clone(&log);
    let mut last = log.durable().log_seq;
    let housekeeping = Box::new(move || {
        let durable = checkpointed.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            checkpointed.checkpoint(durable)?;
        }
        Ok(())
    });
    Ok(Opened {
        steps,
        in_flight: 1,
        housekeeping: Some(housekeeping),
        log: Box::new(log),
    })
}
