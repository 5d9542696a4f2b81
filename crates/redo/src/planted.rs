//! Bugs that tests plant on purpose, to show that the crash simulation, loom and shuttle would find
//! them.
//!
//! Without the `crash` feature (or loom, or shuttle) there is nothing to plant: the type is empty
//! and every question is answered `false` at compile time.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(feature = "crash", feature = "loom", feature = "shuttle")),
    allow(dead_code)
)]
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
    /// Report a ticket as durable when its redo is written, not when it is flushed.
    TicketAtWritten,
    /// Post the log writer for the first batch only.
    MissingPost,
    /// A foreground that polls never tries to take the baton.
    PollerNeverLeads,
    /// A pipelined log writer reads its bell after it looked, not before.
    ReadBellLate,
    /// A pipelined log writer takes posts for served that came after it had sealed.
    HandledAfterSeal,
    /// Look for room in the log buffer before the record is counted in.
    OverReserve,
    /// Write what lies at the beginning of the ring from one block further.
    RingWrapOffByOne,
    /// Take the lower half of a batch's number for the whole.
    NarrowBatchNumber,
    /// Say of a block in which a record ends that none begins in it.
    WrongFirstRecord,
    /// Say in a block that everything before it is durable.
    DurableUptoTooHigh,
    /// Write a batch of which some bytes are not in place.
    WriteUnfilled,
    /// Release the blocks of a batch when their write is submitted.
    ReleaseEarly,
    /// Write the first block of a log that the checkpoint still needs.
    ReuseOneBlockEarly,
    /// Believe a block whose checksum is wrong.
    SkipBlockChecksum,
    /// Take a block of a later use of the log file for one that does not count.
    IgnoreLaterUse,
    /// Take a block of an incarnation that the control information does not know yet for one that
    /// does not count.
    IgnoreNewerIncarnation,
    /// Believe blocks of another life of the incarnation.
    IgnoreLife,
    /// Ignore what the checkpoint, and the durable position that is kept with it, prove.
    IgnoreKnownDurable,
    /// Look for no proof of damage behind the end.
    NoDamageScan,
    /// Look for it one block less far than the window.
    DamageWindowShort,
    /// Take no samples behind the window.
    SkipDamageSamples,
    /// Take no samples where log files begin.
    SkipLogStarts,
    /// Stop at the gap before an incarnation.
    StopAtGap,
    /// Go on with an unfinished record in the next incarnation.
    JoinIncarnations,
    /// Write both control copies, then flush once.
    ControlCopiesTogether,
    /// Begin an update with the only good control copy.
    GoodCopyFirst,
    /// Lay the baton down without waking who would lead on.
    NoHandOff,
    /// Wake half of many sleepers, and leave nobody word of the other half.
    LostChain,
    /// Sleep without looking whether the word has moved.
    SleepUnchecked,
    /// Release slots before their fill words are zeroed.
    ReleaseBeforeZero,
    /// Take writes of a ring that are in flight for covered by a flush.
    FlushCountsInFlight,
    /// A future puts its waker on the list and does not look again.
    FutureRegistersLate,
    /// A future that is dropped takes the list with it: nobody wakes the others on it.
    CancelLosesOthers,
    /// A future has its commit written when it is polled, not when it is made.
    CancelledDropsCommit,
    /// A thread that swept the list does not look whether it should have been woken meanwhile.
    SweepLooksAway,
    /// An event is armed for a ticket that was decided meanwhile, and not raised.
    ArmLooksAway,
    /// Tasks are not woken when the log fails.
    FailureWakesNoTask,
    /// Defer a flush although what is deferred lies in the way of the checkpoint.
    DeferInTheWay,
    /// Publish what was written and whose flush was deferred.
    PublishDeferred,
    /// Defer a flush without looking whether somebody began to wait meanwhile.
    DeferUnlooked,
    /// Begin to wait for what was deferred without having it flushed.
    LateWaiterSleeps,
    /// A member's flush covers what the first of its cell had completed, not what it had itself.
    FlushOfTheFirst,
    /// A mirror is complete when its first cell is.
    MirrorAtFirst,
    /// Mark a member stale before the others of its cell hold what was acknowledged.
    StaleBeforeCaughtUp,
    /// Go on without a stale member before the mark is durable.
    SkipStaleFence,
    /// Open without making the members equal.
    SkipHeal,
    /// Judge damage behind the end by one member alone.
    DamageOfOneMember,
    /// Take a member that returns for copied before what it got is durable.
    CopiedBeforeFlushed,
    /// Take a member that returned for one in sync before that is durable.
    BelievedBeforeMarked,
    /// Copy a member although an operation of its own has not returned.
    ReturnedInFlight,
    /// Copy a member beside the stream of what is written to it.
    CopyBesideStream,
    /// Take a member that returns while the log is in use for copied before that is durable.
    ReturnedUnflushed,
    /// Have acknowledgements rest on a member that returned before that is durable.
    ReturnedBeforeMarked,
    /// Give a log's members up while operations of theirs are in flight.
    MembersOutliveLog,
    /// Have the end of a log wait for a member that hangs until it answers.
    CloseWaitsForMember,
    /// Call a member in sync before acknowledgements wait for it.
    MarkedBeforeRequired,
    /// Take a member for one that was used apart because of an update that never ended.
    UnendedUpdateCounts,
    /// Have an update of the control information wait for a member that hangs until it answers.
    UpdateWaitsForMember,
    /// Have the copy of a member that returns wait for it, when it hangs, until it answers.
    CopyWaitsForMember,
    /// Keep the checkpoint on one member alone.
    CheckpointOnOneMember,
    /// Write a place of the ring anew when the disk's write is complete, not when it is flushed.
    RingReusedEarly,
    /// Acknowledge when the ring's write is complete, not when it is flushed.
    RingUnflushed,
    /// Take what ended while the ring flushed for covered by that flush.
    RingFlushCountsLater,
    /// Acknowledge when the ring has the last block, also where it lacks one before it.
    RingWithHole,
    /// Take what another life left in the ring for redo.
    RingOfOtherLife,
    /// Announce a ring although what was read of it may be in a cache only.
    RingUnsettled,
    /// Announce a ring for the life that begins alone, not for those of interrupted openings.
    RingNamesOneLife,
    /// Say that the disk has everything while the ring alone has some of it.
    RingSpareEarly,
    /// A reader asks what may be overwritten before it reads, not after.
    ReachBeforeRead,
    /// Reuse a log that was not archived.
    ReuseUnarchived,
    /// Reuse a log before it is durable in the control information that it was archived.
    SkipArchiveFence,
    /// Give up a killed process's lock while its ring still has requests.
    LockLeavesRing,
}

/// The bug that is planted, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planted {
    #[cfg(any(feature = "crash", feature = "loom", feature = "shuttle"))]
    bug: Option<Bug>,
}

impl Planted {
    /// None.
    #[must_use]
    pub const fn none() -> Planted {
        Planted {
            #[cfg(any(feature = "crash", feature = "loom", feature = "shuttle"))]
            bug: None,
        }
    }

    /// This one.
    #[cfg(any(feature = "crash", feature = "loom", feature = "shuttle"))]
    #[must_use]
    pub const fn with(bug: Bug) -> Planted {
        Planted { bug: Some(bug) }
    }

    /// Whether `bug` is planted.
    #[inline]
    #[must_use]
    pub fn has(self, bug: Bug) -> bool {
        #[cfg(any(feature = "crash", feature = "loom", feature = "shuttle"))]
        return self.bug == Some(bug);
        #[cfg(not(any(feature = "crash", feature = "loom", feature = "shuttle")))]
        {
            let _ = bug;
            false
        }
    }
}
