//! Who was first: the times of each log write on the members, and what one of them alone holds.
//!
//! A log write is here what a flush made durable, from the submission of the first write that the
//! flush covers to the flush's completion on that member, as the log writer saw it: members that
//! were done when it looked are a tie, which the lower number wins.
//!
//! What it must not know: what is returned, and when. Nothing depends on these figures.

use super::Standing;
use super::driver::Lane;
use super::lane::Number;
use measure::Nanos;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a member did since the log was opened.
#[derive(Debug, Default)]
pub(crate) struct MemberStats {
    pub(super) writes: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) margin_ns: AtomicU64,
    pub(super) slow: AtomicU64,
    pub(super) longest_ns: AtomicU64,
    pub(super) window_bytes: AtomicU64,
    pub(super) window_ns: AtomicU64,
}

/// What the members of a cell did together.
#[derive(Debug, Default)]
pub(crate) struct CellStats {
    pub(super) all_slow: AtomicU64,
}

/// A log write that some members have not completed.
struct Running {
    /// The last write that the flush covers.
    number: Number,
    begun: Nanos,
    /// Members that have not.
    left: u16,
    /// Members that took longer than an outlier may.
    slow: u16,
    /// For each cell, since when one of its members had completed it.
    first: Vec<Option<(usize, Nanos)>>,
}

pub(super) struct Contest {
    running: VecDeque<Running>,
    /// When the first write was submitted that no flush covers yet.
    begun: Option<Nanos>,
    /// For each member, since when something is acknowledged that it lacks.
    lacks_since: Vec<Option<Nanos>>,
    /// A log write that takes longer is an outlier.
    outlier: Nanos,
    /// A flush was submitted that [`Contest::look`] has not seen: members that flush unasked may
    /// have completed it already, and then nothing of them moves any more.
    unseen: bool,
}

fn most(to: &AtomicU64, time: Nanos) {
    to.fetch_max(time.0, Ordering::Relaxed);
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Contest {
    pub(super) fn new(members: usize, outlier: Duration) -> Contest {
        Contest {
            running: VecDeque::new(),
            begun: None,
            lacks_since: vec![None; members],
            outlier: Nanos(nanos(outlier)),
            unseen: false,
        }
    }

    pub(super) fn writing(&mut self, now: Nanos) {
        self.begun.get_or_insert(now);
    }

    pub(super) fn flushing(&mut self, number: Number, lanes: &[Lane], cells: usize) {
        let Some(begun) = self.begun.take() else {
            return;
        };
        self.unseen = true;
        let there = lanes.iter().filter(|lane| !lane.has_failed());
        self.running.push_back(Running {
            number,
            begun,
            left: there.fold(0, |mask, lane| mask | 1 << lane.member),
            slow: 0,
            first: vec![None; cells],
        });
    }

    pub(super) fn has_unseen(&self) -> bool {
        self.unseen
    }

    /// Takes in what the members have completed by now.
    pub(super) fn look(&mut self, lanes: &[Lane], standing: &Standing) {
        self.unseen = false;
        let now = standing.now();
        let cell_of = |member: usize| member / usize::from(standing.table.cell);
        let present = lanes.iter().filter(|lane| !lane.has_failed());
        let present = present.fold(0_u16, |mask, lane| mask | 1 << lane.member);
        for running in &mut self.running {
            running.left &= present;
            let time = now.since(running.begun);
            for lane in lanes {
                let bit = 1 << lane.member;
                if running.left & bit == 0 || lane.durable().number < running.number {
                    continue;
                }
                running.left &= !bit;
                let stats = &standing.stats[lane.member];
                stats.writes.fetch_add(1, Ordering::Relaxed);
                most(&stats.longest_ns, time);
                if time > self.outlier {
                    stats.slow.fetch_add(1, Ordering::Relaxed);
                    running.slow |= bit;
                }
                match &mut running.first[cell_of(lane.member)] {
                    first @ None => {
                        *first = Some((lane.member, now));
                        stats.first.fetch_add(1, Ordering::Relaxed);
                    }
                    Some((winner, at)) => {
                        // Where there are more than two, by how much it was before each of them.
                        let margin = now.since(*at).0;
                        let winner = &standing.stats[*winner].margin_ns;
                        winner.fetch_add(margin, Ordering::Relaxed);
                    }
                }
            }
        }
        while self
            .running
            .front()
            .is_some_and(|running| running.left == 0)
        {
            let Some(ended) = self.running.pop_front() else {
                break;
            };
            for (cell, members) in standing.table.cells().enumerate() {
                let all = members.fold(0_u16, |mask, member| mask | 1 << member);
                if ended.slow & all == all {
                    let all_slow = &standing.cells[cell].all_slow;
                    all_slow.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        for lane in lanes {
            self.keep_window(lane, standing, now);
        }
    }

    /// A flush that covers `bytes` of the log is returned.
    pub(super) fn acknowledged(&mut self, bytes: u64, lanes: &[Lane], standing: &Standing) {
        let now = standing.now();
        for lane in lanes.iter().filter(|lane| lane.durable().bytes < bytes) {
            let window = bytes - lane.durable().bytes;
            let stats = &standing.stats[lane.member];
            stats.window_bytes.fetch_max(window, Ordering::Relaxed);
            self.lacks_since[lane.member].get_or_insert(now);
        }
        standing.acknowledged_bytes.store(bytes, Ordering::Relaxed);
    }

    /// A member has returned: what it lacked while it was stale does not count, nor does what it
    /// had not completed when it was given up.
    pub(super) fn returned(&mut self, member: usize) {
        for running in &mut self.running {
            running.left &= !(1 << member);
        }
        self.lacks_since[member] = None;
    }

    fn keep_window(&mut self, lane: &Lane, standing: &Standing, now: Nanos) {
        let Some(since) = self.lacks_since[lane.member] else {
            return;
        };
        let stats = &standing.stats[lane.member];
        most(&stats.window_ns, now.since(since));
        if lane.durable().bytes >= standing.acknowledged_bytes.load(Ordering::Relaxed) {
            self.lacks_since[lane.member] = None;
        }
    }
}
