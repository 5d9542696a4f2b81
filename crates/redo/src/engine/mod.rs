//! The engine: a log on threads and real devices.
//!
//! What lives here: the way in ([`LogBuilder`]), creating (`create`) and opening ([`open`]), both
//! on raw devices ([`raw`]), over several directories ([`stripe`]) and as members in several places
//! (`member_layout`, `members`, `held_members`), with a ring (`ring`), giving up redo behind damage
//! (`salvage`),
//! looking without opening (`inspect`; `blocks`: at single records), archive mode (`archive`), the
//! host that carries out the writer's actions (`host`), the same with batches in flight while it
//! waits (`pipeline`), members that return while the log is in use (`resilver`), sessions, tickets
//! and futures of commits that are not waited for one by one (`ticket`), queues of tickets
//! (`completions`) with their `event`, the log writer's threads (`lgwr`). Policy is in
//! `crate::writer`, leading and waiting in `crate::turn`; nothing here decides when to write.

mod archive;
mod back_end;
#[cfg(feature = "internals")]
mod blocks;
mod builder;
mod completions;
mod core;
mod create;
mod deferred;
mod event;
mod headers;
mod held_members;
mod host;
mod inspect;
mod inspect_members;
mod inspect_ring;
mod lgwr;
mod member_layout;
mod members;
mod observer;
pub mod open;
mod openings;
mod options;
mod paths;
mod pipeline;
pub mod raw;
mod reports;
mod resilver;
mod retired;
mod ring;
mod salvage;
mod session;
pub mod stripe;
mod ticket;
mod view;

pub use crate::members::MemberState;
pub use crate::members::ring::RingState;
pub use archive::ArchiveMode;
pub use back_end::BackEnd;
#[cfg(feature = "internals")]
pub use blocks::{LogBlocks, RecordFound};
pub use builder::{Layout, LogBuilder};
pub use completions::{Completions, QueueFull};
pub use event::CompletionEvent;
pub use inspect::{GroupSurvey, Inspection, UNSOUND_LISTED};
pub use inspect_members::{InspectedMember, MemberCondition, MembersInspection};
pub use inspect_ring::RingInspection;
pub use member_layout::{FAILOVER_DELAY_MAX, MemberLayout, RING_MIN_BYTES, ring_file_bytes};
pub use observer::{BatchEvent, LogWrite, Observer, WrittenBatch};
pub use options::{LogPlace, LogWriter, Options, Paths, Shape};
pub use session::{Appended, Session, SpaceWaits};
pub use ticket::{CommitFuture, Ticket};

use crate::control::{ControlFile, ControlInfo, Position};
use crate::error::Error;
use crate::group::Geometry;
use crate::members::{MemberCarrier, Standing};
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::{Reach, RecordReader, overwritten};
use crate::sync::{EngineClock, JoinHandle, Mutex, is_own};
use crate::triggers::Triggers;
use crate::turn::SwitchHold;
use crate::writer::{History, Learned, Writer};
use device::FileSet;
use device::file::LockGuard;
use device::pool::WorkerStats;
use std::path::PathBuf;
use std::sync::Arc;

/// An open redo log. See the crate's documentation for an example.
///
/// It may be shared between threads: every method takes `&self`. Dropped without
/// [`Log::close`] it is left as by a crash: nothing acknowledged is lost. It is locked against
/// other processes until it is dropped; sessions and queues that outlive it get errors, and hold
/// memory alone: the lock, the files and the raw device are given up when the drop returns. A
/// waker may drop it too: on the log writer's own thread, where it is woken, the drop returns at
/// once, and the thread gives all of that up a moment later, when it ends.
pub struct Log {
    core: Arc<core::Core>,
    /// What is given up when it is closed.
    held: Arc<Mutex<Option<HeldLog>>>,
    /// What it says of itself without waiting for what is held.
    view: Arc<view::View>,
    path: PathBuf,
    planted: Planted,
    lgwr: Mutex<Option<JoinHandle<()>>>,
    /// Of a log with members.
    resilver: Mutex<Option<resilver::ResilverThread>>,
    huge_pages: bool,
    workers: Vec<Arc<WorkerStats>>,
    back_end: BackEnd,
    /// The writer as it was when the log was opened.
    fresh: Writer,
}

/// The files or the devices of an open log. The locks go last.
struct HeldLog {
    control: ControlFile,
    /// What carries control information to each member that is there.
    carriers: Vec<(usize, Arc<MemberCarrier>)>,
    view: Arc<view::View>,
    /// The log files of each member, or of the log without members, where they are files.
    files: Vec<(usize, FileSet)>,
    /// The members, where it has some.
    members: Option<Arc<Standing>>,
    /// Its ring, where it has one that is used.
    ring: Option<ring::HeldRing>,
    _locks: Vec<LockGuard>,
}

impl Log {
    /// A new foreground.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new(Arc::clone(&self.core))
    }

    /// A queue for the tickets of one thread's asynchronous commits, `capacity` of them at a time
    /// (at least one). Cheap but for the memory, which is taken at once.
    #[must_use]
    pub fn completions<T>(&self, capacity: usize) -> Completions<T> {
        Completions::new(Arc::clone(&self.core), capacity)
    }

    /// What adaptive learning came to so far; `None` where foregrounds learn in a fixed way.
    #[must_use]
    pub fn learned(&self) -> Option<Learned> {
        self.core.learned()
    }

    /// For schedules: the policy of adaptive learning changed its mind.
    #[cfg(all(test, feature = "shuttle"))]
    pub(crate) fn change_mind(&self, polling: bool, inline: bool) {
        self.core.change_mind(polling, inline);
    }

    /// What makes the log writer write.
    #[must_use]
    pub fn triggers(&self) -> Triggers {
        self.core.rules.triggers
    }

    /// The clock of every time that this log reports.
    #[must_use]
    pub fn clock(&self) -> EngineClock {
        self.core.clock
    }

    /// The log's shape.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.core.geometry
    }

    /// Its log buffer is in huge pages.
    #[must_use]
    pub fn huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// What each of the log writer's workers did so far, in their order; none where it has none.
    #[must_use]
    pub fn workers(&self) -> &[Arc<WorkerStats>] {
        &self.workers
    }

    /// How it is written, and what it does without.
    #[must_use]
    pub fn back_end(&self) -> &BackEnd {
        &self.back_end
    }

    /// Bytes of the log buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.core.buffer.ring_blocks() * u64::from(self.core.geometry.block_bytes)
    }

    /// The longest record that it takes, in bytes.
    #[must_use]
    pub fn max_record_bytes(&self) -> u64 {
        self.core.max_record
    }

    /// Everything before this address is durable.
    #[must_use]
    pub fn durable(&self) -> Rba {
        self.core.geometry.rba(self.core.buffer.durable_block(), 0)
    }

    /// Everything before this address is written, and nothing before [`Log::durable`] is not. What
    /// lies between the two is what a power cut can take although it was written: redo that nobody
    /// waits for, whose flush is deferred for up to
    /// [`defer_bytes`](crate::writer::Policy::defer_bytes) and the period of the flush triggers.
    #[must_use]
    pub fn written(&self) -> Rba {
        self.core.geometry.rba(self.core.buffer.written_block(), 0)
    }

    /// Says that every record before `upto` has been applied and need not be recovered. Durable
    /// when it returns; logs that lie before it may then be reused.
    ///
    /// # Errors
    /// A position that is not durable yet; a device that fails, or a log file that was removed or
    /// replaced: the log is poisoned then, since what the files hold is unknown.
    pub fn checkpoint(&self, upto: Rba) -> Result<(), Error> {
        let refuse = |why| Error::Checkpoint { asked: upto, why };
        let position = Position::of(&self.core.geometry, upto)
            .ok_or_else(|| refuse("no such address in this log"))?;
        self.advance(SwitchHold::Checkpoint, position, refuse)
    }

    /// Reads the records that begin at `from` or behind it, up to the durable position, while the
    /// log is in use: for an archive, a replica, a tail. The reader holds the files until it is
    /// dropped. Begin at a record's address, at
    /// [`RedoRecord::next`](crate::recovery::RedoRecord::next), at a checkpoint or at
    /// [`Log::durable`]. What lies before the log file of the checkpoint may be overwritten at any
    /// time, but for what is not archived in archive mode; a reader that comes too late gets
    /// [`Error::Overwritten`], never other bytes.
    ///
    /// # Errors
    /// [`Error::Overwritten`] for redo that is not kept any more; [`Error::Position`] for a
    /// position that this log cannot have or that is not durable yet.
    pub fn read_from(&self, from: Rba) -> Result<RecordReader<'_>, Error> {
        let refuse = |why| Error::Position { asked: from, why };
        let position = Position::of(&self.core.geometry, from)
            .ok_or_else(|| refuse("no such address in this log"))?;
        let durable = self.core.buffer.durable_block();
        if position.block > durable || position.block == durable && position.offset > 0 {
            return Err(refuse("the log is not durable up to it"));
        }
        let seen = self.view.seen()?;
        let control = ControlInfo::clone(&seen.info);
        // Of blocks that are older nobody knows any more which incarnation had to write them.
        if control
            .incarnations
            .first()
            .is_some_and(|i| position.block < i.first)
        {
            return Err(overwritten(&control, position.block, self.reach().reusable));
        }
        let (data, path, planted) = (seen.data, &*self.path, self.planted);
        let reach = || self.reach();
        Ok(RecordReader::new(
            data, control, path, position, planted, reach,
        ))
    }

    /// What can be read now.
    fn reach(&self) -> Reach {
        let geometry = &self.core.geometry;
        let reusable = self.core.reusable();
        Reach {
            end: self.core.buffer.durable_block(),
            reusable: reusable - reusable % geometry.blocks_per_group,
        }
    }

    /// Writes out everything that was appended and waits until it is durable.
    ///
    /// # Errors
    /// A poisoned log.
    pub fn flush(&self) -> Result<(), Error> {
        self.core.flush()
    }

    #[doc(hidden)]
    /// The writer's history so far, when it is kept.
    ///
    /// # Errors
    /// A poisoned log.
    pub fn history(&self) -> Result<Option<History>, Error> {
        self.core.look(|host| host.history.clone())
    }

    #[doc(hidden)]
    /// A writer as this log's was when it was opened, to replay its history on.
    #[must_use]
    pub fn fresh_writer(&self) -> Writer {
        self.fresh.clone()
    }

    /// Closes the log: everything is durable, and the control file records where it ends, so that
    /// opening distinguishes a missing end from a torn one. Sessions that live on and every later
    /// call get errors; the lock and the files are given up when it returns.
    ///
    /// # Errors
    /// A poisoned log, or one that needs a checkpoint before what is left can be written: it is
    /// closed all the same and recovers when it is opened again. [`Error::Closed`] for a log that
    /// was closed before. [`Error::ClosedByWaker`] on the thread of a log writer that has log
    /// writes in flight.
    pub fn close(&self) -> Result<(), Error> {
        if !self.stop() && self.core.pipelined {
            return Err(Error::ClosedByWaker);
        }
        let drained = self.core.drain();
        // While members that hang can still be marked.
        self.core.settle(host::Host::catch_up);
        self.view.close();
        let held = self.held.lock().map_err(|_| Error::Closed)?.take();
        let mut held = held.ok_or(Error::Closed)?;
        let closed = drained.and_then(|()| {
            held.ring_catches_up()?;
            let end = self.core.buffer.open_start();
            held.control.update(|info| {
                info.closed_at = Some(end);
                info.durable = end;
                if let Some(ring) = &mut info.ring {
                    ring.spare = true;
                }
                Ok(())
            })
        });
        held.updated();
        self.retire();
        closed
    }

    /// Ends the threads of the log. False on the log writer's own thread, where a waker called: it
    /// ends when the waker has returned.
    fn stop(&self) -> bool {
        let resilver = self
            .resilver
            .lock()
            .ok()
            .and_then(|mut thread| thread.take());
        drop(resilver);
        self.view.stop();
        self.core.close();
        let other = |lgwr: &mut JoinHandle<()>| !is_own(lgwr);
        let Ok(mut lgwr) = self.lgwr.lock() else {
            return true;
        };
        let Some(thread) = lgwr.take_if(other) else {
            return lgwr.is_none();
        };
        drop(lgwr);
        // A log writer that died has poisoned the log, which every caller is told.
        let _ = thread.join();
        true
    }

    /// Nothing is written any more, and sessions that live on hold no file.
    fn retire(&self) {
        self.core.settle(host::Host::retire);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.stop() {
            self.retire();
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("path", &self.path)
            .field("durable", &self.durable())
            .finish()
    }
}
