//! Bugs that tests plant on purpose, to show that the crash simulation and loom would find them.
//!
//! Without the `crash` feature (or loom) there is nothing to plant: the type is empty and every
//! question is answered `false` at compile time.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(any(feature = "crash", loom)), allow(dead_code))]
pub enum Bug {
    /// Publish when the write is complete, not when it is flushed.
    AcknowledgeBeforeFlush,
    /// Publish what was written when the flush *completed*, not what it covered.
    PublishBeyondSnapshot,
    /// Take a short write for a whole one.
    IgnoreShortWrite,
    /// Accept a block of an earlier use of the log file.
    AcceptStaleBlock,
    /// Reuse a log before the checkpoint that allows it is durable.
    SkipCheckpointFence,
    /// Open without flushing the recovered tail.
    SkipTailFlushFence,
    /// Update the control file although the copy that was read may be in a cache only.
    SkipControlFlushFence,
    /// Open before the new incarnation is durable.
    SkipIncarnationFence,
    /// Accept blocks of an old incarnation beyond its end.
    AcceptOldIncarnation,
    /// Do not bump the wake word on publication and hand-off.
    MissingBump,
    /// Give out a slot of the log buffer before its block was written.
    SlotReuse,
    /// Publish a batch whose predecessor is not complete.
    PublishOutOfOrder,
    /// Retry after a failed flush.
    RetryFailedFlush,
    /// Tell a ticket durable when its redo is written, not when it is flushed.
    TicketAtWritten,
    /// Post the log writer for the first batch only.
    MissingPost,
    /// A foreground that polls never tries to take the baton.
    PollerNeverLeads,
}

/// The bug that is planted, if any.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planted {
    #[cfg(any(feature = "crash", loom))]
    bug: Option<Bug>,
}

impl Planted {
    /// None.
    #[must_use]
    pub const fn none() -> Planted {
        Planted {
            #[cfg(any(feature = "crash", loom))]
            bug: None,
        }
    }

    /// This one.
    #[cfg(any(feature = "crash", loom))]
    #[must_use]
    pub const fn with(bug: Bug) -> Planted {
        Planted { bug: Some(bug) }
    }

    /// Whether `bug` is planted.
    #[inline]
    #[must_use]
    pub fn has(self, bug: Bug) -> bool {
        #[cfg(any(feature = "crash", loom))]
        return self.bug == Some(bug);
        #[cfg(not(any(feature = "crash", loom)))]
        {
            let _ = bug;
            false
        }
    }
}
