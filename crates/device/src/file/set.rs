//! [`FileSet`]: equal files end to end as one device, and its queues, which run in `submit`.
//!
//! Invariants:
//! - A write counts as *written* to its file before its completion can be returned; a flush
//!   counts as *flushed* only what was written before it asked the system, and only after the
//!   system said yes. So a flush that runs beside another never relies on the unfinished one, and
//!   a write beside a flush stays to be flushed.
//! - Each queue has open files of its own: the system reports a lost page once per open file, so
//!   on a shared one the error could go to one flush while another one succeeds.
//! - Once a flush of a file failed, every later flush of that file fails: the pages may be gone. A
//!   flush that a signal interrupted has not failed; it is asked for again.
//! - After a failed or short operation the rest of its batch is cancelled, not run.
//! - What an earlier process left in caches is made durable by `settle`, which asks the system for
//!   every file, whatever is counted here; a set that was opened only to be read refuses that.

use crate::error::DeviceError;
use crate::file::DirectoryEntry;
use crate::file::{LockGuard, Misstated, Node, Reader, SyncMethod, io_error};
use crate::queue::{
    Caps, IoFailure, IoOrDevice, LogDevice, Op, OpCompletion, OpKind, Piece, Queue,
};
use crate::region::Region;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

mod open;

/// A linear space over equal files.
#[derive(Clone, Debug)]
pub struct FileSet {
    shared: Arc<Shared>,
    /// What its queues hold beside the files, as long as its owner does.
    lock: Weak<OwnedFd>,
}

/// What all queues of a set share, whichever way they write.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) files: Box<[LogFile]>,
    bytes_each: u64,
    pub(crate) method: SyncMethod,
    caps: Caps,
    misstated: Option<Misstated>,
    access: Access,
    node: Node,
}

/// What a set may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadWrite,
    /// Works on a read-only mount and for somebody who may only read; changes nothing.
    ReadOnly,
}

impl Access {
    fn flags(self) -> OFlags {
        match self {
            Access::ReadWrite => OFlags::RDWR,
            Access::ReadOnly => OFlags::RDONLY,
        }
    }
}

/// What all queues know of a file.
#[derive(Debug)]
pub(crate) struct LogFile {
    at: DirectoryEntry,
    identity: (u64, u64),
    reader: Reader,
    /// Writes that completed.
    pub(crate) written: AtomicU64,
    /// Of those, how many are known to be durable.
    pub(crate) flushed: AtomicU64,
    /// A flush failed.
    pub(crate) lost: AtomicBool,
}

impl FileSet {
    /// Its queues hold this lock too: who is given it next meets no write of one that hangs.
    #[must_use]
    pub fn under_lock(mut self, lock: &LockGuard) -> FileSet {
        self.lock = lock.shared();
        self
    }

    /// How its writes reach the medium.
    #[must_use]
    pub fn method(&self) -> SyncMethod {
        self.shared.method
    }

    /// Size of each file, bytes.
    #[must_use]
    pub fn bytes_each(&self) -> u64 {
        self.shared.bytes_each
    }

    /// The device takes no direct transfer of the sectors that it states; its capabilities hold
    /// what it takes.
    #[must_use]
    pub fn misstated(&self) -> Option<&Misstated> {
        self.shared.misstated.as_ref()
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Open files for a new queue.
    ///
    /// # Errors
    /// A set that was opened only to be read, a file that was replaced, or the system's refusal.
    pub(crate) fn reopen(&self) -> Result<Box<[OwnedFd]>, DeviceError> {
        if self.shared.access == Access::ReadOnly {
            return Err(DeviceError::Unsuitable {
                path: self.shared.files[0].at.path().to_owned(),
                what: "was opened only to be read".to_owned(),
            });
        }
        let (method, node) = (self.shared.method, self.shared.node);
        let files = self.shared.files.iter();
        files.map(|file| file.reopen(method, node)).collect()
    }

    /// Whether each file still stands under its name: what is written to one that was removed or
    /// replaced is gone with the process.
    ///
    /// # Errors
    /// The first file that does not.
    pub fn still_there(&self) -> Result<(), DeviceError> {
        let gone = |file: &&LogFile| !file.reader.is_at(&file.at);
        match self.shared.files.iter().find(gone) {
            None => Ok(()),
            Some(file) => Err(DeviceError::Unsuitable {
                path: file.at.path().to_owned(),
                what: "was removed or replaced while the log was open; what the log writes there \
                       is lost when its process ends"
                    .to_owned(),
            }),
        }
    }

    /// Whether [`LogDevice::read`] comes from the medium on every file, as far as has been seen;
    /// where `O_DIRECT` is refused it comes through the page cache.
    #[cfg(test)]
    fn reads_bypass_cache(&self) -> bool {
        self.shared.files.iter().all(|f| f.reader.bypasses_cache())
    }
}

impl LogFile {
    /// Makes durable what was written before the call; nothing to do is success.
    #[inline]
    fn flush(&self, file: &OwnedFd) -> Result<(), Errno> {
        let written = self.written.load(Ordering::Acquire);
        if self.flushed.load(Ordering::Acquire) < written {
            if let Err(errno) = uninterrupted(|| rustix::fs::fdatasync(file)) {
                self.lost.store(true, Ordering::Release);
                return Err(errno);
            }
            self.flushed.fetch_max(written, Ordering::AcqRel);
        }
        if self.lost.load(Ordering::Acquire) {
            return Err(Errno::IO);
        }
        Ok(())
    }
}

// SAFETY: a queue reads what a write names, inside `submit`, and keeps no operation.
unsafe impl LogDevice for FileSet {
    fn caps(&self) -> Caps {
        self.shared.caps
    }

    fn bytes(&self) -> u64 {
        self.shared.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(FileQueue {
            files: self.reopen()?,
            shared: Arc::clone(&self.shared),
            region,
            done: Vec::with_capacity(64),
            _lock: self.lock.upgrade().map(|file| LockGuard { file }),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let shared = &*self.shared;
        if !shared.holds(addr, out.len()) {
            return Err(DeviceError::Unsuitable {
                path: shared.files[0].at.path().to_owned(),
                what: format!(
                    "{} bytes at {addr} lie outside the log's {} bytes",
                    out.len(),
                    shared.bytes()
                ),
            });
        }
        let (mut addr, mut out) = (addr, out);
        while !out.is_empty() {
            let (index, offset) = shared.locate(addr);
            let take = shared.room(offset, out.len());
            let (part, rest) = out.split_at_mut(take);
            let file = &shared.files[index];
            file.reader.read(file.at.path(), offset, part)?;
            addr += take as u64;
            out = rest;
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        for (file, state) in self.reopen()?.iter().zip(&self.shared.files) {
            settle_file(file)
                .map_err(|e| io_error(state.at.path(), "make earlier writes durable", e))?;
        }
        Ok(())
    }
}

/// A call that a signal interrupted is made again: it was not answered, so nothing was lost.
fn settle_file(file: &OwnedFd) -> Result<(), Errno> {
    loop {
        match rustix::fs::fdatasync(file) {
            Err(Errno::INTR) => {}
            answered => return answered,
        }
    }
}

impl Shared {
    fn bytes(&self) -> u64 {
        self.bytes_each * self.files.len() as u64
    }

    pub(crate) fn holds(&self, addr: u64, len: usize) -> bool {
        addr.checked_add(len as u64)
            .is_some_and(|end| end <= self.bytes())
    }

    /// The file of an address inside the space, and the offset in it.
    #[inline]
    pub(crate) fn locate(&self, addr: u64) -> (usize, u64) {
        ((addr / self.bytes_each) as usize, addr % self.bytes_each)
    }

    /// How many of `len` bytes lie in the same file from `offset` on.
    #[inline]
    pub(crate) fn room(&self, offset: u64, len: usize) -> usize {
        usize::try_from(self.bytes_each - offset).map_or(len, |room| room.min(len))
    }
}

struct FileQueue {
    shared: Arc<Shared>,
    files: Box<[OwnedFd]>,
    region: Arc<Region>,
    done: Vec<OpCompletion>,
    /// Given up after the files.
    _lock: Option<LockGuard>,
}

impl Queue for FileQueue {
    fn submit(&mut self, ops: &[Op]) {
        let mut broken = false;
        for op in ops {
            let result = match op.kind {
                _ if broken => Err(Errno::CANCELED),
                OpKind::Write { addr, pieces } => self.write(addr, pieces),
                OpKind::Flush => self.flush(),
            };
            broken |= result != Ok(op.bytes());
            self.done.push(OpCompletion {
                id: op.id,
                result: result.map(|n| n as u64).map_err(|e| IoFailure {
                    errno: e.raw_os_error(),
                }),
                by: 0,
            });
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }
}

impl FileQueue {
    #[inline]
    fn write(&self, addr: u64, pieces: [Piece; 2]) -> Result<usize, Errno> {
        let len = pieces[0].len + pieces[1].len;
        if !self.shared.holds(addr, len) {
            return Err(Errno::INVAL);
        }
        if len == 0 {
            return Ok(0);
        }
        let (index, offset) = self.shared.locate(addr);
        if self.shared.room(offset, len) == len {
            return self.write_file(index, offset, pieces);
        }
        self.write_across(addr, pieces)
    }

    /// A write over a file boundary, part by part. A failure of a later part is the write's
    /// failure: its reason says more than a short count.
    #[cold]
    fn write_across(&self, mut addr: u64, mut pieces: [Piece; 2]) -> Result<usize, Errno> {
        let mut transferred = 0;
        loop {
            let left = pieces[0].len + pieces[1].len;
            if left == 0 {
                return Ok(transferred);
            }
            let (index, offset) = self.shared.locate(addr);
            let take = self.shared.room(offset, left);
            let part = take_front(&mut pieces, take);
            let wrote = self.write_file(index, offset, part)?;
            transferred += wrote;
            if wrote < take {
                return Ok(transferred);
            }
            addr += take as u64;
        }
    }

    #[inline]
    fn write_file(&self, index: usize, offset: u64, pieces: [Piece; 2]) -> Result<usize, Errno> {
        let (file, state) = (&self.files[index], &self.shared.files[index]);
        let [first, second] = pieces;
        // SAFETY: the memory of a write belongs to the device from submission until its
        // completion is returned, so nobody writes it during the call; `slice` checks bounds.
        let (first, second) = unsafe {
            (
                self.region.slice(first.at, first.len),
                self.region.slice(second.at, second.len),
            )
        };
        let method = self.shared.method;
        let both = [IoSlice::new(first), IoSlice::new(second)];
        let pieces = &both[..1 + usize::from(!second.is_empty())];
        let result = uninterrupted(|| match method {
            SyncMethod::DirectDsync => {
                rustix::io::pwritev2(file, pieces, offset, method.write_flags())
            }
            _ if second.is_empty() => rustix::io::pwrite(file, first, offset),
            _ => rustix::io::pwritev(file, pieces, offset),
        });
        if !method.durable_writes() {
            state.written.fetch_add(1, Ordering::AcqRel);
        }
        result
    }

    /// One file after the other: only a write over a file boundary, one in each log file, leaves
    /// two of them to be flushed (assumption 31).
    #[inline]
    fn flush(&self) -> Result<usize, Errno> {
        for (state, file) in self.shared.files.iter().zip(&self.files) {
            state.flush(file)?;
        }
        Ok(0)
    }
}

/// Asks again as long as a signal interrupts the call. That is not a retry of something that
/// failed: a write was interrupted before its first byte, and a flush found no lost page, which the
/// system reports as EIO, ENOSPC or EDQUOT. The next flush covers the same writes (assumption 30).
#[inline]
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Takes the first `len` bytes off `pieces`.
pub(crate) fn take_front(pieces: &mut [Piece; 2], len: usize) -> [Piece; 2] {
    let mut left = len;
    let mut taken = [Piece::default(); 2];
    for (taken, piece) in taken.iter_mut().zip(pieces.iter_mut()) {
        let now = left.min(piece.len);
        *taken = Piece {
            at: piece.at,
            len: now,
        };
        piece.at += now;
        piece.len -= now;
        left -= now;
    }
    taken
}

#[cfg(test)]
mod tests;
