//! Sessions: foregrounds that append redo and commit it.

use super::core::Core;
use super::ticket::{LogHandle, Ticket};
use crate::buffer::{Full, Reservation, Source};
use crate::commit::{Commit, CommitMode, CommitPost, CommitWait};
use crate::error::Error;
use crate::format::{RECORD_HEADER_BYTES, encode_record_header};
use crate::rba::Rba;
use crate::tickets::CommitRequest;
use crate::writer::Cause;
use measure::{Clock, Nanos};
use std::sync::Arc;

/// A foreground. Cheap to make; belongs to one thread at a time.
pub struct Session {
    core: Arc<Core>,
    /// What its tickets share.
    handle: Arc<LogHandle>,
    /// The batch of the last record that was appended.
    last_batch: Option<u64>,
    appended: Appended,
    space_waits: u64,
    space_wait_ns: u64,
}

/// Waits of a session for room in the log buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceWaits {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total: Nanos,
}

/// What a session appended so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Records.
    pub records: u64,
    /// Their bytes in the log, record headers included.
    pub bytes: u64,
}

/// Poisons the log if the thread dies between reserving and filling: the hole would otherwise
/// make everybody wait for ever. Forgotten once it is filled, since a thread may well append while
/// it unwinds for another reason.
struct FillGuard<'a>(&'a Core);

impl Drop for FillGuard<'_> {
    fn drop(&mut self) {
        self.0.poison(Cause::Abandoned);
    }
}

impl Session {
    pub(crate) fn new(core: Arc<Core>) -> Session {
        Session {
            handle: LogHandle::new(&core),
            core,
            last_batch: None,
            appended: Appended::default(),
            space_waits: 0,
            space_wait_ns: 0,
        }
    }

    /// Appends one redo record made of `vectors`, one after the other. It is durable only after a
    /// commit that waits. Blocks while the log buffer is full.
    ///
    /// # Errors
    /// A record over [`super::Log::max_record_bytes`], or a poisoned log.
    #[inline]
    pub fn append(&mut self, vectors: &[&[u8]]) -> Result<Rba, Error> {
        let payload = self.admit(vectors)?;
        let len = payload + RECORD_HEADER_BYTES as u32;
        let reservation = match self.core.buffer.reserve(len) {
            Ok(reservation) => reservation,
            Err(Full) => self.reserve_when_room(len)?,
        };
        Ok(self.fill(&reservation, payload, vectors))
    }

    /// As [`Session::append`], but never blocks: `None` means that the log buffer is full, or the
    /// part of it that a batch nobody waits for may take, and that nothing was appended. The log
    /// writer is posted then, so that there is room soon: await a commit that is under way, or let
    /// other tasks run, and try again.
    ///
    /// # Errors
    /// As [`Session::append`].
    #[inline]
    pub fn try_append(&mut self, vectors: &[&[u8]]) -> Result<Option<Rba>, Error> {
        let payload = self.admit(vectors)?;
        let len = payload + RECORD_HEADER_BYTES as u32;
        match self.core.buffer.reserve(len) {
            Ok(reservation) => Ok(Some(self.fill(&reservation, payload, vectors))),
            Err(Full) => {
                self.core.post();
                Ok(None)
            }
        }
    }

    /// Bytes of a record that this log accepts now.
    #[inline]
    fn admit(&self, vectors: &[&[u8]]) -> Result<u32, Error> {
        let payload: u64 = vectors.iter().map(|v| v.len() as u64).sum();
        if payload > self.core.max_record {
            return Err(Error::RecordTooLarge {
                len: payload,
                max: self.core.max_record,
            });
        }
        self.core.check()?;
        Ok(payload as u32)
    }

    /// Copies a record of `payload` bytes into its place.
    #[inline]
    fn fill(&mut self, reservation: &Reservation, payload: u32, vectors: &[&[u8]]) -> Rba {
        let core = &*self.core;
        let guard = FillGuard(core);
        let header = encode_record_header(payload);
        core.buffer.fill(reservation, Source::new(&header, vectors));
        std::mem::forget(guard);
        self.last_batch = Some(reservation.batch);
        self.appended.records += 1;
        self.appended.bytes += u64::from(reservation.len);
        core.appended(reservation);
        let per_block = core.geometry.payload();
        let block = reservation.start + u64::from(reservation.offset / per_block);
        core.geometry.rba(block, reservation.offset % per_block)
    }

    #[cold]
    fn reserve_when_room(&mut self, len: u32) -> Result<Reservation, Error> {
        let start = self.core.clock.now();
        let core = &*self.core;
        let reservation = core.reserve_when_room(len, |host| host.lead(core))?;
        self.space_waits += 1;
        self.space_wait_ns += self.core.clock.now().since(start).0;
        Ok(reservation)
    }

    /// Commits everything that this session appended. With WAIT it returns when that is durable,
    /// otherwise at once.
    ///
    /// # Errors
    /// A poisoned log: the commit is *not* acknowledged, whatever is found after recovery.
    #[inline]
    pub fn commit(&mut self, mode: CommitMode) -> Result<Commit, Error> {
        let core = &*self.core;
        let requested = core.clock.now();
        core.check()?;
        let Some(batch) = self.last_batch else {
            return Ok(self.done(requested, 0, true));
        };
        let durable = core.buffer.published() > batch;
        match (mode.wait, mode.post) {
            _ if durable => return Ok(self.done(requested, batch, true)),
            (CommitWait::Nowait, CommitPost::Immediate) => core.request(batch),
            (CommitWait::Nowait, CommitPost::Batch) => {}
            (CommitWait::Wait, post) => {
                core.await_durable(batch, post == CommitPost::Immediate)?;
                let returned = core.clock.now();
                let stations = core.buffer.stations(batch);
                return Ok(Commit {
                    batch,
                    durable: true,
                    immediate: false,
                    requested,
                    returned,
                    stations,
                });
            }
        }
        Ok(self.done(requested, batch, false))
    }

    /// Commits everything that this session appended, and returns at once: without waiting,
    /// without a system call but for the post of a batch, and without reading the clock. The
    /// ticket shows later whether it is durable: give it to a [`super::Completions`].
    ///
    /// With [`CommitPost::Immediate`] a dedicated log writer is posted, once for each batch; where
    /// foregrounds write for themselves, the thread that waits or asks for the ticket sees to it.
    /// With [`CommitPost::Batch`] it is left to the next log write. Nobody need keep a ticket:
    /// without it the commit is one with NOWAIT.
    ///
    /// # Errors
    /// A poisoned or closed log: nothing was committed.
    #[inline]
    pub fn commit_async(&mut self, post: CommitPost) -> Result<Ticket, Error> {
        let core = &*self.core;
        core.check()?;
        let immediate = post == CommitPost::Immediate;
        let through = self.last_batch.map_or(0, |batch| {
            core.commit_async(batch, immediate);
            batch + 1
        });
        let request = CommitRequest { through, immediate };
        Ok(Ticket::new(request, &self.handle))
    }

    fn done(&self, requested: Nanos, batch: u64, durable: bool) -> Commit {
        Commit {
            batch,
            durable,
            immediate: durable,
            requested,
            returned: requested,
            stations: None,
        }
    }

    /// What this session appended so far, as the log counted it.
    #[must_use]
    pub fn appended(&self) -> Appended {
        self.appended
    }

    /// Waits for room in the log buffer so far.
    #[must_use]
    pub fn space_waits(&self) -> SpaceWaits {
        SpaceWaits {
            count: self.space_waits,
            total: Nanos(self.space_wait_ns),
        }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests;
