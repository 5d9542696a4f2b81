//! What passes the line: the events that the writer is given and the actions that it wants done.
//! Plain data; neither side's workings show here.

use crate::buffer::Batch;
use crate::group::StreamBlock;
use device::IoFailure;
use measure::Nanos;

/// Batches in flight at most, whatever the policy asks for.
pub const MAX_DEPTH: usize = 8;
/// Actions of one step at most: a checkpoint may let every batch in flight be written, one of them
/// in two logs, and the next log be waited for.
pub const MAX_ACTIONS: usize = MAX_DEPTH + 4;

/// What the writer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The open batch holds redo that somebody wants written. Sent when the host takes the baton
    /// and whenever it may be time to write more.
    Pending {
        /// Commits that wait for the open batch.
        commits: u32,
        /// Its bytes.
        bytes: u32,
        /// Of those commits, how many had arrived when the last batch was published.
        carried: u32,
    },
    /// What was asked for with [`Action::Gather`] has arrived, or time is up.
    Gathered,
    /// The answer to [`Action::Seal`]. Its bytes may still be in the making.
    Sealed(Batch),
    /// Every byte of the batch is in place.
    Filled {
        /// Number of the batch.
        batch: u64,
    },
    /// An operation ended.
    Io {
        /// Which one.
        op: u64,
        /// Bytes transferred, or why not.
        result: Result<u64, IoFailure>,
    },
    /// The checkpoint position is durable in the control information; in archive mode, it and the
    /// archived position: the block up to which logs may be reused.
    Checkpoint(StreamBlock),
    /// Somebody waits for what was deferred ([`Action::Defer`]): for a batch before `batches`.
    /// Those that were known to be waited for when they were sealed need no such event.
    Wanted {
        /// The batch behind the last that somebody waits for; any earlier one when the host only
        /// looks whether it is time.
        batches: u64,
    },
    /// No checkpoint will come any more: the log was closed, or poisoned by somebody else.
    NoCheckpoint,
}

/// What the writer wants done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Let committers arrive until `want` wait for the open batch or the time is `until`; answer
    /// with [`Event::Gathered`].
    Gather {
        /// Commits in the open batch.
        want: u32,
        /// At the latest.
        until: Nanos,
    },
    /// Seal the open batch; answer with [`Event::Sealed`], then [`Event::Filled`].
    Seal,
    /// Do this; answer with [`Event::Io`].
    Io {
        /// Its name.
        op: u64,
        /// What.
        io: Io,
    },
    /// The next block belongs to a log that the checkpoint still needs; tell me of a
    /// [`Event::Checkpoint`] beyond the start of what it holds.
    AwaitCheckpoint {
        /// The log that cannot be written yet.
        log_seq: u64,
    },
    /// The blocks before `upto` are written: their slots in the log buffer may be reused.
    Release {
        /// First block that may not.
        upto: StreamBlock,
    },
    /// The batches before `batches` are durable, and so are the blocks before `block`.
    Publish {
        /// Number of durable batches.
        batches: u64,
        /// First block that is not durable.
        block: StreamBlock,
    },
    /// The batches before `batches` are written, and not flushed as long as nobody waits for them:
    /// tell me with [`Event::Wanted`] of each thread that begins to wait, and of those that had
    /// begun before this.
    Defer {
        /// Number of written batches.
        batches: u64,
    },
    /// Fail every waiter; nothing will be published any more.
    Poison(Cause),
    /// Nothing is in flight and nothing is waited for; the baton may be passed on.
    Idle,
}

/// An operation on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Write these blocks, which lie in one log.
    Write {
        /// First block.
        start: StreamBlock,
        /// Number of blocks.
        blocks: u32,
    },
    /// Make durable what is complete.
    Flush,
}

/// Why a log was poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A write failed.
    Write(IoFailure),
    /// A write was cut short.
    ShortWrite {
        /// Bytes that the device took.
        written: u64,
        /// Bytes that it was given.
        wanted: u64,
    },
    /// A flush failed; what it covered may be lost although a second flush would succeed.
    Flush(IoFailure),
    /// A thread died while it was copying redo into the log buffer, or leading.
    Abandoned,
    /// Control information could not be made durable: what the control file holds is unknown.
    Control(IoFailure),
    /// The log was closed while its next log file waited for the checkpoint.
    NoCheckpoint,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Write(e) => write!(f, "a log write failed: {e}"),
            Cause::ShortWrite { written, wanted } => {
                write!(f, "a log write was cut short: {written} of {wanted} bytes")
            }
            Cause::Flush(e) => write!(f, "a flush failed: {e}"),
            Cause::Control(e) => write!(f, "control information could not be made durable: {e}"),
            Cause::Abandoned => write!(f, "a thread died while copying or writing redo"),
            Cause::NoCheckpoint => write!(
                f,
                "closed while the next log file waited for a checkpoint; checkpoint before closing"
            ),
        }
    }
}

/// The actions of a step.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    list: [Option<Action>; MAX_ACTIONS],
    len: usize,
}

impl Actions {
    #[inline]
    pub(super) fn push(&mut self, action: Action) {
        assert!(
            self.len < MAX_ACTIONS,
            "a step has at most {MAX_ACTIONS} actions"
        );
        self.list[self.len] = Some(action);
        self.len += 1;
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The action at `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Action> {
        if index < self.len {
            self.list[index]
        } else {
            None
        }
    }

    /// In order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Action> + '_ {
        self.list[..self.len]
            .iter()
            .map(|a| a.expect("pushed before len moved"))
    }
}

/// Where the actions of a step go: into a list, or straight to the hands of a host.
pub(crate) trait Out {
    /// Takes the next action.
    fn act(&mut self, action: Action);
}

impl Out for Actions {
    #[inline]
    fn act(&mut self, action: Action) {
        self.push(action);
    }
}
