//! What happens next: moments in the order of their time, and of their making where that is equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// A thread's time on a processor is over.
    Ran(u32),
    /// An operation of the device ends.
    Ended(u64),
    /// An operation of the log writer reaches the members.
    Reaches(u64),
    /// What a member carries out under a number ends.
    MemberEnded(u16, u64),
    /// A thread that polls has its turn, and finds what it looks for.
    Found(u32),
    /// The time for gathering is up.
    GatherUp,
    /// The log writer looks for redo that nobody asked for.
    Period,
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    moments: BinaryHeap<Reverse<(u64, u64, Moment)>>,
    made: u64,
}

impl Agenda {
    /// `moment` happens at `at`, nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, at: u64, moment: Moment) {
        self.made += 1;
        self.moments.push(Reverse((at, self.made, moment)));
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u64, Moment)> {
        self.moments
            .pop()
            .map(|Reverse((at, _, moment))| (at, moment))
    }
}
