//! What threads are doing: plain data of the sessions, of the log writer and of the leader.

use crate::buffer::Place;
use redo::rules::Waiter;
use redo::writer::Batch;
use std::collections::VecDeque;

/// What a thread does when its time on a processor is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its work is done, or there may be room now: it appends redo.
    Append,
    /// The redo is copied.
    Copied(Place),
    /// It has woken the log writer, and looks then whether its batch is durable.
    Posted,
    /// It has woken the log writer, and waits for room.
    PostedForSpace,
    /// As that, and goes on with its transaction.
    PostedAndGoesOn,
    /// It looks whether its batch is durable.
    Look,
    /// It has woken one more of its batch.
    WokeOn,
    /// It leads.
    Lead,
    /// A member's thread returns what it carried out.
    MemberReturns,
    /// It has woken a thread after leading.
    Wake,
    /// The log writer looks whether there is something to write.
    Serve,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) step: Step,
    /// Its batch.
    pub(crate) batch: u64,
    /// The batch's wake word when it began to wait.
    pub(crate) begun: u64,
    /// It slept for its batch.
    pub(crate) slept: bool,
    /// How it began to wait.
    pub(crate) waiter: Waiter,
    /// Records that it has yet to append.
    pub(crate) records: u32,
    /// When its transaction began, and its commit was asked for.
    pub(crate) began: u64,
    pub(crate) asked: u64,
    /// When its wait for room in the log buffer began.
    pub(crate) no_room: Option<u64>,
}

/// What the log writer's thread knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serve {
    pub(crate) sleeps: bool,
    /// Waits for the baton.
    pub(crate) for_baton: bool,
    pub(crate) posts: u64,
    pub(crate) handled: u64,
    pub(crate) overdue: bool,
    /// When it looked last.
    pub(crate) looked: u64,
    /// A look at redo that has lain is on the agenda.
    pub(crate) watched: bool,
}

/// What the leader waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Over,
    /// It is about to look at the open batch.
    Begin,
    Completion,
    Gather,
    Seal,
    /// A batch's records are being copied.
    Fill(u64),
    Checkpoint,
}

/// The baton, and what its holder keeps.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    pub(crate) holder: Option<u32>,
    pub(crate) next: Next,
    /// The first batch that was not durable when it began.
    pub(crate) first: u64,
    pub(crate) gather: (u32, u64),
    pub(crate) gathers: bool,
    /// Commits in the open batch when the last batch was published.
    pub(crate) carried: u32,
    /// Batches that are sealed and not durable.
    pub(crate) underway: VecDeque<Batch>,
    /// Operations of the device: number and bytes.
    pub(crate) in_flight: Vec<(u64, u64)>,
    pub(crate) done: VecDeque<u64>,
    /// It sleeps until an operation ends.
    pub(crate) waits: bool,
    /// A batch was begun, and deferred flushes were not looked at since.
    pub(crate) begun: bool,
    /// The batches before this one are written, and their flush is deferred.
    pub(crate) deferred: u64,
    /// The batch behind the last that somebody waits for.
    pub(crate) wanted: u64,
    pub(crate) last_log: u64,
    /// All blocks before this one are durable.
    pub(crate) durable_block: u64,
}

impl Lead {
    pub(crate) fn is_free(&self) -> bool {
        self.holder.is_none()
    }
}
