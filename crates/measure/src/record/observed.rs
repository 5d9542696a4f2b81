//! What the kernel counts of devices, processors and processes, by who observed it.
//!
//! Two recordings may hold the same observation: two agents on one machine read the same counters
//! of the same disk. Each observation therefore carries the id of what was observed and its window.
//! Invariants: one thing in one stretch of time counts once, however many recordings hold it;
//! different things add, and so does one thing in different stretches.

use super::OBSERVED_MAX;
use super::window::TimeWindow;
use crate::bounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts that add.
pub trait AdditiveCounts: Copy + Ord + Default {
    /// The sum of both, saturating.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

/// What a device counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Length of the time between the two readings, in nanoseconds.
    pub observed_ns: u64,
    /// Writes that carried data.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with a request in flight, in milliseconds, as the kernel counts it.
    pub busy_ms: u64,
}

impl AdditiveCounts for DeviceCounts {
    fn plus(self, other: DeviceCounts) -> DeviceCounts {
        DeviceCounts {
            observed_ns: self.observed_ns.saturating_add(other.observed_ns),
            writes: self.writes.saturating_add(other.writes),
            written_bytes: self.written_bytes.saturating_add(other.written_bytes),
            busy_ms: self.busy_ms.saturating_add(other.busy_ms),
        }
    }
}

/// Where the time of a machine's processors went, in clock ticks of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessorTicks {
    /// User, nice and guests.
    pub user: u64,
    /// Kernel and interrupts.
    pub sys: u64,
    /// Idle.
    pub idle: u64,
    /// Idle with an I/O outstanding.
    pub iowait: u64,
    /// Taken by a hypervisor.
    pub steal: u64,
}

impl ProcessorTicks {
    /// Ticks in which a processor was not idle.
    #[must_use]
    pub const fn busy(&self) -> u64 {
        self.user
            .saturating_add(self.sys)
            .saturating_add(self.steal)
    }

    /// All ticks.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.busy()
            .saturating_add(self.idle)
            .saturating_add(self.iowait)
    }
}

impl AdditiveCounts for ProcessorTicks {
    fn plus(self, other: ProcessorTicks) -> ProcessorTicks {
        ProcessorTicks {
            user: self.user.saturating_add(other.user),
            sys: self.sys.saturating_add(other.sys),
            idle: self.idle.saturating_add(other.idle),
            iowait: self.iowait.saturating_add(other.iowait),
            steal: self.steal.saturating_add(other.steal),
        }
    }
}

/// What a process of the lab used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Processor time, in microseconds.
    pub cpu_us: u64,
    /// Context switches, voluntary or not.
    pub context_switches: u64,
    /// Bytes that it wrote; `None` where the kernel does not account for them.
    pub written_bytes: Option<u64>,
}

impl AdditiveCounts for ProcessUse {
    fn plus(self, other: ProcessUse) -> ProcessUse {
        let written = self.written_bytes.zip(other.written_bytes);
        ProcessUse {
            written_bytes: written.map(|(a, b)| a.saturating_add(b)),
            cpu_us: self.cpu_us.saturating_add(other.cpu_us),
            context_switches: self.context_switches.saturating_add(other.context_switches),
        }
    }
}

/// What was counted in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation<T> {
    /// When.
    pub window: TimeWindow,
    /// What.
    pub counts: T,
}

/// What becomes of one thing that two recordings observed at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SameObserver {
    /// It counts once.
    Once,
    /// It counts twice: the error that the property test must find.
    #[cfg(test)]
    Twice,
}

/// Observations of one kind, by the id of what was observed. Empty where nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "T: Deserialize<'de>"))]
pub struct Observations<T>(
    #[serde(deserialize_with = "bounded::fields::<_, _, OBSERVED_MAX>")]
    BTreeMap<String, Vec<Observation<T>>>,
);

impl<T: AdditiveCounts> Observations<T> {
    /// One observation of what has the id `observed`.
    #[must_use]
    pub fn one(observed: &str, window: TimeWindow, counts: T) -> Observations<T> {
        let observation = Observation { window, counts };
        Observations(BTreeMap::from([(observed.to_owned(), vec![observation])]))
    }

    /// Ids of what was observed.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The sum; `None` where nothing was observed.
    #[must_use]
    pub fn sum(&self) -> Option<T> {
        let all = self.0.values().flatten().map(|o| o.counts);
        all.reduce(T::plus)
    }

    /// Adds a later round. What only one of both rounds observed is known of none of them together,
    /// and is dropped.
    pub(super) fn then(&mut self, next: &Observations<T>) {
        if next.0.is_empty() {
            self.0.clear();
        }
        if !self.0.is_empty() {
            self.beside(next, SameObserver::Once);
        }
    }

    /// Adds what was observed at the same time.
    pub(super) fn beside(&mut self, other: &Observations<T>, same: SameObserver) {
        for (id, theirs) in &other.0 {
            let mine = self.0.entry(id.clone()).or_default();
            for observation in theirs {
                insert(mine, *observation, same);
            }
        }
    }
}

/// Takes `new` into the observations of one thing. Of what was observed at the same time the longer
/// stays; of equal length the one with the larger counts, or the later one, so that the order of
/// merging is without effect.
fn insert<T: AdditiveCounts>(
    mine: &mut Vec<Observation<T>>,
    new: Observation<T>,
    same: SameObserver,
) {
    let overlaps = |o: &Observation<T>| o.window.shared(&new.window).is_some();
    let weight = |o: &Observation<T>| (o.window.length_ns(), o.counts, o.window.start_ns);
    let known = mine.iter().filter(|o| overlaps(o)).map(weight);
    let known = known.reduce(|a, b| (a.0.saturating_add(b.0), a.1.plus(b.1), a.2.min(b.2)));
    if same == SameObserver::Once {
        if known >= Some(weight(&new)) {
            return;
        }
        mine.retain(|o| !overlaps(o));
    }
    mine.push(new);
    mine.sort_by_key(|o| (o.window, o.counts));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(id: &str, start_ns: u64, writes: u64) -> Observations<DeviceCounts> {
        let counts = DeviceCounts {
            writes,
            ..DeviceCounts::default()
        };
        Observations::one(id, TimeWindow::of(start_ns, 100), counts)
    }

    #[test]
    fn one_thing_at_one_time_counts_once() {
        let mut all = wrote("a", 0, 5);
        all.beside(&wrote("a", 10, 6), SameObserver::Once);
        all.beside(&wrote("b", 10, 30), SameObserver::Once);
        assert_eq!(all.sum().map(|c| c.writes), Some(36));
        all.then(&wrote("a", 200, 100));
        assert_eq!(all.sum().map(|c| c.writes), Some(136));
        assert_eq!((all.ids().count(), all.count()), (2, 3));
    }

    #[test]
    fn what_one_round_did_not_observe_is_unknown_of_all() {
        let nothing = Observations::<DeviceCounts>::default();
        assert_eq!(nothing.sum(), None);
        let (mut known, mut unknown) = (wrote("a", 0, 5), nothing.clone());
        known.then(&nothing);
        unknown.then(&wrote("a", 0, 5));
        assert_eq!((known.sum(), unknown.sum()), (None, None));
    }
}
