//! Reading what may keep its reader waiting: standard input and FIFOs.
//!
//! A thread reads, so that the command ends within a moment when the user interrupts it, however
//! long the other end of the pipe stays silent.

use crate::signals::Interrupt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that are read ahead.
const AHEAD: usize = 2;
/// How often the user's wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(50);

type Chunk = io::Result<Vec<u8>>;

/// A stream that another thread reads. After an interrupt every read fails.
pub(super) struct Waiting {
    chunks: Receiver<Chunk>,
    current: Cursor<Vec<u8>>,
    interrupt: Interrupt,
}

impl Waiting {
    /// Standard input.
    pub(super) fn stdin(interrupt: &Interrupt) -> io::Result<Waiting> {
        Waiting::start(interrupt, || Ok(io::stdin()))
    }

    /// A FIFO or a character device. Opening a FIFO waits for its writer, so the thread opens it.
    pub(super) fn stream(path: &Path, interrupt: &Interrupt) -> io::Result<Waiting> {
        let path: PathBuf = path.to_owned();
        Waiting::start(interrupt, move || File::open(&path))
    }

    fn start<R: Read>(
        interrupt: &Interrupt,
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> io::Result<Waiting> {
        let (sender, chunks) = sync_channel(AHEAD);
        // It ends with the stream, when nobody takes its chunks, or with the process.
        std::thread::Builder::new()
            .name("evidence".to_owned())
            .spawn(move || match open() {
                Ok(from) => pass_on(from, &sender),
                // A receiver that is gone wants no error.
                Err(e) => drop(sender.send(Err(e))),
            })?;
        Ok(Waiting {
            chunks,
            current: Cursor::default(),
            interrupt: interrupt.clone(),
        })
    }
}

fn pass_on(mut from: impl Read, to: &SyncSender<Chunk>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(n) => {
                chunk.truncate(n);
                Ok(chunk)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let ended = read.is_err();
        if to.send(read).is_err() || ended {
            return;
        }
    }
}

impl Read for Waiting {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buf)?;
            if n > 0 || buf.is_empty() {
                return Ok(n);
            }
            if self.interrupt.requested() {
                return Err(io::Error::other("interrupted"));
            }
            match self.chunks.recv_timeout(LOOK) {
                Ok(chunk) => self.current = Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
