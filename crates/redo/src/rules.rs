//! Decisions of the threads around the log writer, as pure functions: who leads next, when redo is
//! written that nobody asked for, how many sleepers are woken.
//!
//! What lives here: what a host decides from numbers alone. The engine's threads and the crash
//! simulation call the same functions, and any other host does.
//!
//! What it must not know: threads, clocks, devices, and the policy of `crate::writer`.

use crate::format::RECORD_HEADER_BYTES;
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use measure::Nanos;
use std::time::Duration;

/// How many sleepers of a published batch are woken, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakes {
    /// Sleepers that the leader wakes; all that there are when it is `u32::MAX`.
    pub by_leader: u32,
    /// Sleepers that are left to the woken ones, each of which wakes one.
    pub by_woken: u32,
}

/// Whether a leader that laid the baton down must hand it on: redo is in the batch `open`, and
/// somebody wants it written. `asked` reads that batch's mark: the number behind the last batch in
/// its slot that was asked for.
#[inline]
pub fn hands_on(bytes: u32, asked: impl FnOnce() -> u64, open: u64) -> bool {
    bytes > 0 && asked() > open
}

/// Whether a foreground that waits for its batch tries to take the baton: it wants the batch
/// written, or was handed the baton. One that polls comes by often and tries only while the batch
/// is not sealed (`unsealed`), since a sealed one is in somebody's hands already.
#[inline]
pub fn tries_to_lead(
    willing: bool,
    handed: bool,
    polls: bool,
    unsealed: impl FnOnce() -> bool,
) -> bool {
    (willing || handed) && (!polls || unsealed())
}

/// A foreground that waits for its batch, as it was when it began to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// It wants its batch written: its commit is IMMEDIATE, and commits make the log writer write.
    pub willing: bool,
    /// Foregrounds wrote for themselves.
    pub leads: bool,
    /// The flush of its batch was deferred: it is to be had now.
    pub late: bool,
}

impl Waiter {
    /// Whether it posts the log writer when it begins. `first` says, and is only asked where that
    /// decides, whether nobody asked for its open batch before.
    #[inline]
    pub fn posts(self, first: impl FnOnce() -> bool) -> bool {
        !self.leads && (self.late || self.willing && first())
    }

    /// Whether it tries to take the baton: as in [`tries_to_lead`], where it leads at all; always
    /// where it has to have its batch flushed itself.
    #[inline]
    pub fn tries_to_lead(self, handed: bool, polls: bool, unsealed: impl FnOnce() -> bool) -> bool {
        self.leads && self.late
            || tries_to_lead(self.willing && self.leads, handed, polls, unsealed)
    }
}

/// Whether a deferred flush is wanted: somebody waits for a batch before `wanted` that is not
/// durable, and that is one whose flush is deferred, or the batch `open` and nobody asked for a
/// write of it. Where that was asked for (`hands_on`), it is written next, and what is deferred is
/// flushed with it.
#[inline]
pub fn flush_is_wanted(
    wanted: u64,
    published: u64,
    open: u64,
    hands_on: impl FnOnce() -> bool,
) -> bool {
    wanted > published && (wanted <= open || !hands_on())
}

/// Whether a log writer leads: there is redo and it was posted, or redo is overdue, be it in the
/// open batch or in batches whose flush is `deferred`.
#[inline]
#[must_use]
pub const fn is_due(bytes: u32, posted: bool, overdue: bool, deferred: bool) -> bool {
    bytes > 0 && posted || overdue && (bytes > 0 || deferred)
}

/// Bytes of redo that a batch has at most, record headers included, where `depth` batches may be in
/// flight: half of the log buffer or a third of it, and at least as much as the longest record.
#[must_use]
pub fn batch_bytes(geometry: &Geometry, ring_blocks: u64, depth: u32) -> u64 {
    let longest = geometry.max_record(ring_blocks) + RECORD_HEADER_BYTES as u64;
    let parts = (u64::from(depth) + 1).min(BATCH_PARTS);
    (ring_blocks / parts * u64::from(geometry.payload())).max(longest)
}

/// Parts of the log buffer that batches have at most: two in flight keep a device busy
/// (experiments/stream), and a third of the log buffer, a flush trigger, fits at every depth.
const BATCH_PARTS: u64 = 3;

/// Above this many sleepers the leader wakes half, and each of those wakes one more.
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub const WAKE_ALONE: u32 = 32;
/// So few in models that the rest of the rule shows.
#[cfg(any(feature = "loom", feature = "shuttle"))]
pub const WAKE_ALONE: u32 = 1;

/// Whether redo that has lain for this long is written by the trigger of time.
#[inline]
#[must_use]
pub fn is_overdue(lain: Nanos, period: Option<Duration>) -> bool {
    period.is_some_and(|period| u128::from(lain.0) >= period.as_nanos())
}

/// For how long a log writer may sleep when redo may have lain for `lain`: until it is overdue;
/// for a whole period when it is, because then it was just looked at. `None` is for ever.
#[inline]
#[must_use]
pub fn sleeps_for(lain: Nanos, period: Option<Duration>) -> Option<Duration> {
    period.map(|period| {
        let left = period.saturating_sub(Duration::from_nanos(lain.0));
        if left.is_zero() { period } else { left }
    })
}

/// Whether a gathering is over: as many commits are in the batch as were waited for, or time is up.
/// The clock is read only where that decides.
#[inline]
pub fn has_gathered(
    commits: u32,
    (want, until): (u32, Nanos),
    now: impl FnOnce() -> Nanos,
) -> bool {
    commits >= want || now() >= until
}

/// Whether the record from `offset` to `end` of the open batch makes it so large that the log
/// writer is posted.
#[inline]
#[must_use]
pub const fn posts_for_size(offset: u32, end: u32, post_bytes: u32) -> bool {
    offset < post_bytes && end >= post_bytes
}

/// How the `sleepers` of a published batch are woken: up to `alone` by the leader, of more the
/// half, and each of those wakes one more. Those that the leader wakes are at least as many as
/// those left to them.
#[inline]
#[must_use]
pub const fn wakes(sleepers: u32, alone: u32) -> Wakes {
    if sleepers <= alone {
        return Wakes {
            by_leader: u32::MAX,
            by_woken: 0,
        };
    }
    let by_woken = sleepers / 2;
    Wakes {
        by_leader: sleepers - by_woken,
        by_woken,
    }
}

/// What is archived of a log outside of archive mode, where nothing waits for it: a block that none
/// ever reaches, and that can be added to without overflow.
pub const NOT_ARCHIVING: StreamBlock = 1 << 60;

/// The block up to which logs may be reused: everything before it is needed neither by recovery,
/// which begins at `checkpoint`, nor by the archiver, which has everything before `archived`
/// ([`NOT_ARCHIVING`] outside of archive mode).
#[inline]
#[must_use]
pub fn reusable(checkpoint: StreamBlock, archived: StreamBlock, planted: Planted) -> StreamBlock {
    if planted.has(Bug::ReuseUnarchived) {
        return checkpoint;
    }
    checkpoint.min(archived)
}

/// Whether the checkpoint in the block `checkpoint` lets the log that begins at `start` be written.
#[inline]
#[must_use]
pub fn lets_write(geometry: &Geometry, checkpoint: StreamBlock, start: StreamBlock) -> bool {
    geometry.reuse_limit(checkpoint) > start
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn whoever_wants_redo_written_is_served() {
        assert!(hands_on(1, || 8, 7), "asked for");
        assert!(!hands_on(0, || 8, 7), "nothing to write");
        assert!(!hands_on(9, || 7, 7), "a mark of the past");
        let never = || unreachable!("it does not poll");
        assert!(tries_to_lead(true, false, false, never));
        assert!(tries_to_lead(false, true, false, never));
        assert!(!tries_to_lead(false, false, true, never));
        assert!(tries_to_lead(true, false, true, || true));
        assert!(!tries_to_lead(true, true, true, || false));
        assert!(is_due(1, true, false, false) && is_due(1, false, true, false));
        assert!(!is_due(1, false, false, true) && !is_due(0, true, true, false));
        assert!(is_due(0, false, true, true) && !is_due(0, true, false, true));
    }

    #[test]
    fn a_waiter_leads_or_posts_and_not_both() {
        let never = || unreachable!("it does not decide");
        let of = |willing, leads, late| Waiter {
            willing,
            leads,
            late,
        };
        assert!(of(true, false, false).posts(|| true) && !of(true, false, false).posts(|| false));
        assert!(of(false, false, true).posts(never) && !of(false, true, true).posts(never));
        assert!(!of(false, false, false).posts(never) && !of(true, true, false).posts(never));
        assert!(of(false, true, true).tries_to_lead(false, true, never));
        assert!(of(true, true, false).tries_to_lead(false, false, never));
        assert!(!of(true, false, true).tries_to_lead(false, false, never));
        assert!(
            of(false, false, false).tries_to_lead(true, false, never),
            "handed on"
        );
    }

    #[test]
    fn a_deferred_flush_is_wanted_by_who_waits_for_no_write() {
        let never = || unreachable!("it does not decide");
        assert!(!flush_is_wanted(7, 7, 9, never), "all of it is durable");
        assert!(flush_is_wanted(8, 7, 9, never), "deferred");
        assert!(
            flush_is_wanted(10, 7, 9, || false),
            "the open batch, not asked for"
        );
        assert!(!flush_is_wanted(10, 7, 9, || true), "written next");
    }

    #[test]
    fn redo_is_overdue_after_its_period_and_never_without_one() {
        let period = Some(Duration::from_nanos(100));
        assert!(is_overdue(Nanos(100), period) && !is_overdue(Nanos(99), period));
        assert!(!is_overdue(Nanos(u64::MAX), None));
        assert_eq!(
            sleeps_for(Nanos(30), period),
            Some(Duration::from_nanos(70))
        );
        assert_eq!(sleeps_for(Nanos(100), period), period);
        assert_eq!(sleeps_for(Nanos(101), period), period);
        assert_eq!(sleeps_for(Nanos(0), None), None);
    }

    #[test]
    fn a_gathering_ends_with_enough_commits_or_with_its_time() {
        let wanted = (3, Nanos(50));
        assert!(has_gathered(3, wanted, || unreachable!("enough have come")));
        assert!(!has_gathered(2, wanted, || Nanos(49)));
        assert!(has_gathered(2, wanted, || Nanos(50)));
    }

    #[test]
    fn one_record_of_a_batch_posts_for_its_size() {
        let posts = |offset, end| posts_for_size(offset, end, 100);
        assert!(posts(0, 100) && posts(99, 300));
        assert!(!posts(0, 99) && !posts(100, 101));
    }

    #[test]
    fn every_sleeper_is_woken_by_the_leader_or_by_a_woken_one() {
        for sleepers in 0..200 {
            let Wakes {
                by_leader,
                by_woken,
            } = wakes(sleepers, 32);
            if sleepers <= 32 {
                assert_eq!((by_leader, by_woken), (u32::MAX, 0));
            } else {
                assert_eq!(by_leader + by_woken, sleepers);
                assert!(by_leader >= by_woken && by_woken >= 16);
            }
        }
    }
}
