//! What the writer of a test is asked to do, and what stops its threads.

use super::channel::PowerToken;
use crate::signals::Interrupt;
use device::SyncMethod;
use redo::Shape;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// When a writer ends by itself; the power ends it otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenUntil {
    /// After this time of writing.
    pub time: Option<Duration>,
    /// After so many commits of all sessions together.
    pub commits: Option<u64>,
}

/// Raw writes instead of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawWrites {
    /// Bytes of each write; each is a multiple of 4096.
    pub sizes: Vec<u32>,
    /// Files of each size.
    pub files: u32,
}

/// A bug that a test plants in the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedWriterBug {
    /// None.
    #[default]
    None,
    /// It acknowledges before the commit returned.
    AcknowledgeBeforeCommit,
}

/// What the writer does.
pub struct WriteOrder<'a> {
    /// The directory on the device under test, or a raw block device.
    pub path: PathBuf,
    /// The path of a raw device once more: its content may be lost.
    pub destroy: Option<PathBuf>,
    /// Host and port of the server.
    pub server: String,
    /// The secret.
    pub token: PowerToken,
    /// Sessions that commit.
    pub jobs: u32,
    /// When it ends by itself.
    pub until: WrittenUntil,
    /// Shape of the log; of raw writes the size of each file.
    pub shape: Shape,
    /// How writes are made durable.
    pub sync_method: SyncMethod,
    /// Bytes of each record.
    pub payload_bytes: u32,
    /// Raw writes instead of a log.
    pub raw: Option<RawWrites>,
    /// Bytes of a file that keeps the page cache busy.
    pub pressure_bytes: Option<u64>,
    /// An earlier test of this path that was not verified is given up.
    pub abandon: bool,
    /// A bug.
    pub planted: PlantedWriterBug,
    /// Takes lines about what happens.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// Ends it.
    pub interrupt: Interrupt,
}

/// What stops the threads of a writer.
#[derive(Debug, Default)]
pub(super) struct StopFlags {
    asked: AtomicBool,
    pub(super) over: AtomicBool,
    /// Commits that may still be begun; without a limit it never gets low.
    left: AtomicU64,
    /// Checkpoints that moved.
    pub(super) switches: AtomicU64,
}

impl StopFlags {
    pub(super) fn new(commits: Option<u64>) -> StopFlags {
        StopFlags {
            left: AtomicU64::new(commits.unwrap_or(u64::MAX)),
            ..StopFlags::default()
        }
    }

    /// Sessions stop.
    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// All sessions have stopped.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Takes one of the commits that are left.
    pub(super) fn may_commit(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        let taken = self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        taken.is_ok()
    }
}
