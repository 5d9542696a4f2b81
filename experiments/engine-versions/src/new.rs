//! The present engine.

use crate::AnyError;
use crate::side::{Engine, Place, Writer};
use device_new::{LogDevice, NullDevice, SimDisk};
use redo_new::control::{CONTROL_BYTES, ControlFile};
use redo_new::{
    CommitMode, IoEngine, Layout, Log, LogWrite, LogWriter, Options, Shape, SyncMethod,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(256 << 20);

/// An open log.
pub struct New(Log);

/// Makes a log in a folder.
pub fn create(folder: &Path) -> Result<(), AnyError> {
    Log::builder(folder).shape(SHAPE).create()?;
    Ok(())
}

/// Opens a log.
pub fn open(place: Place<'_>, writer: Writer, observed: bool) -> Result<New, AnyError> {
    let mut options = Options::default()
        .log_writer(match writer {
            Writer::Inline => LogWriter::Inline,
            Writer::Lgwr => LogWriter::Lgwr,
        })
        .sync_method(SyncMethod::Direct)
        .io(IoEngine::Threads);
    if observed {
        let (writes, blocks) = (AtomicU64::new(0), AtomicU64::new(0));
        options = options.observer(move |write: &LogWrite| {
            writes.fetch_add(1, Ordering::Relaxed);
            blocks.fetch_add(write.blocks.into(), Ordering::Relaxed);
        });
    }
    let log = match place {
        Place::Folder(folder) => Log::builder(folder).options(options).open()?.0,
        Place::Null => {
            let caps = NullDevice::PLAIN;
            let geometry = SHAPE.geometry(&caps, Path::new("null"))?;
            let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
            control.set_immediate(true);
            let control: Arc<dyn LogDevice> = Arc::new(control);
            let id = redo_new::format::LogId(*b"null-device-log!");
            ControlFile::format(Arc::clone(&control), geometry, id)?;
            let bytes = geometry.file_bytes * u64::from(geometry.groups);
            let data = Arc::new(NullDevice::new(bytes, caps));
            let layout = Layout::devices(data, control);
            Log::builder(layout).options(options).open()?.0
        }
    };
    Ok(New(log))
}

impl Engine for New {
    type Session = redo_new::Session;

    fn session(&self) -> redo_new::Session {
        self.0.session()
    }

    fn commit(session: &mut redo_new::Session, record: &[&[u8]]) -> Result<(), AnyError> {
        session.append(record)?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        Ok(())
    }

    fn follow(&self, log_seq: &mut u64) -> Result<(), AnyError> {
        let durable = self.0.durable();
        if durable.log_seq > *log_seq {
            *log_seq = durable.log_seq;
            self.0.checkpoint(durable)?;
        }
        Ok(())
    }

    fn close(self) -> Result<(), AnyError> {
        // Nothing to recover when it is opened next.
        self.0.checkpoint(self.0.durable())?;
        Ok(self.0.close()?)
    }
}
