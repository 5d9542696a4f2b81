//! When something was measured: windows of time on one clock.
//!
//! Invariant: the windows of a recording are sorted and do not overlap. Rounds in
//! sequence unite their windows; recordings beside each other keep what their windows share.

use serde::{Deserialize, Serialize};

/// A stretch of time, from `start_ns` to just before `end_ns`, in nanoseconds since 1970 UTC. The
/// start is read from the system's clock; the length is that of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimeWindow {
    /// Its beginning.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

impl TimeWindow {
    /// The window of `length_ns` that begins at `start_ns`.
    #[must_use]
    pub const fn of(start_ns: u64, length_ns: u64) -> TimeWindow {
        TimeWindow {
            start_ns,
            end_ns: start_ns.saturating_add(length_ns),
        }
    }

    /// Its length.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// What both share; `None` where they do not overlap.
    #[must_use]
    pub fn shared(&self, other: &TimeWindow) -> Option<TimeWindow> {
        let start_ns = self.start_ns.max(other.start_ns);
        let end_ns = self.end_ns.min(other.end_ns);
        (start_ns < end_ns).then_some(TimeWindow { start_ns, end_ns })
    }

    /// Its middle.
    #[must_use]
    pub const fn middle_ns(&self) -> u64 {
        self.start_ns + self.length_ns() / 2
    }
}

/// Length of all windows.
pub(super) fn length_ns(windows: &[TimeWindow]) -> u64 {
    let add = |sum: u64, window: &TimeWindow| sum.saturating_add(window.length_ns());
    windows.iter().fold(0, add)
}

/// The windows of both; `None` where any of them overlap.
pub(super) fn united(a: &[TimeWindow], b: &[TimeWindow]) -> Option<Vec<TimeWindow>> {
    let mut all: Vec<TimeWindow> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    are_windows(&all).then_some(all)
}

/// What the windows of both share.
pub(super) fn shared(a: &[TimeWindow], b: &[TimeWindow]) -> Vec<TimeWindow> {
    let mut found = Vec::new();
    let (mut at_a, mut at_b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (at_a.peek(), at_b.peek()) {
        found.extend(x.shared(y));
        if x.end_ns <= y.end_ns {
            at_a.next();
        } else {
            at_b.next();
        }
    }
    found
}

/// They are sorted and do not overlap, and none ends before it begins.
pub(super) fn are_windows(windows: &[TimeWindow]) -> bool {
    windows.iter().all(|w| w.start_ns <= w.end_ns)
        && windows.is_sorted_by(|a, b| a.end_ns <= b.start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(ends: &[(u64, u64)]) -> Vec<TimeWindow> {
        let of = |(start_ns, end_ns): &(u64, u64)| TimeWindow {
            start_ns: *start_ns,
            end_ns: *end_ns,
        };
        ends.iter().map(of).collect()
    }

    #[test]
    fn windows_unite_when_they_do_not_overlap() {
        let (a, b) = (windows(&[(0, 10), (30, 40)]), windows(&[(10, 20)]));
        let all = united(&b, &a).expect("apart");
        assert_eq!(all, windows(&[(0, 10), (10, 20), (30, 40)]));
        assert_eq!(length_ns(&all), 30);
        assert_eq!(united(&a, &windows(&[(39, 41)])), None);
        assert_eq!(united(&a, &a), None);
    }

    #[test]
    fn what_windows_share_is_cut_out() {
        let a = windows(&[(0, 10), (20, 40)]);
        for (b, want) in [
            (vec![(0, 40)], vec![(0, 10), (20, 40)]),
            (vec![(5, 22), (39, 50)], vec![(5, 10), (20, 22), (39, 40)]),
            (vec![(10, 20)], vec![]),
            (vec![], vec![]),
        ] {
            let b = windows(&b);
            assert_eq!(shared(&a, &b), windows(&want));
            assert_eq!(shared(&b, &a), windows(&want));
        }
    }
}
