//! Alone or with workers: how an adaptive writer chooses, from the events that it is given and
//! nothing else.
//!
//! It begins alone. While more than one session keeps it busy it tries the workers for a window of
//! batches and keeps what published more redo per second: the workers only if they are better by a
//! margin, since alone costs fewer switches of threads. The mode that lost is tried again after a
//! number of windows that doubles with each trial in vain. When the load is gone it works alone.
//!
//! Invariant: the mode changes only while nothing is in flight.

use crate::setters::setters;
use measure::Nanos;

/// How an adaptive writer measures and decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Adaptive {
    /// Batches of a window at least.
    pub window_batches: u32,
    /// Length of a window at least.
    pub window_min: Nanos,
    /// Batches after a change of mode that are not counted.
    pub settling: u32,
    /// The load is busy when this part of a window's batches, in 256ths, were not a single
    /// session's.
    pub busy_part: u32,
    /// By so many 256ths the workers must be better.
    pub margin: u32,
    /// Trials in vain double the windows until the next one, up to this.
    pub skip_max: u32,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        Adaptive {
            window_batches: 64,
            window_min: Nanos::from_millis(20),
            settling: 8,
            busy_part: 192,
            margin: 16,
            skip_max: 256,
        }
    }
}

setters!(const Adaptive {
    /// Sets the least number of batches of a window.
    window_batches: u32,
    /// Sets the least length of a window.
    window_min: Nanos,
    /// Sets how many batches after a change of mode are not counted.
    settling: u32,
    /// Sets which part of a window's batches makes a load busy, in 256ths.
    busy_part: u32,
    /// Sets by how much the workers must be better, in 256ths.
    margin: u32,
    /// Sets the largest number of windows until the next trial.
    skip_max: u32,
});

/// Windows that the workers serve before alone is tried for the first time.
const SKIP_FIRST: u32 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: Option<Nanos>,
    batches: u32,
    busy: u32,
    bytes: u64,
}

/// The mode of an adaptive writer.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    policy: Adaptive,
    scalable: bool,
    /// Working alone was decided and waits until nothing is in flight.
    leaving: bool,
    /// Redo a second of the mode before, while this one is on trial.
    baseline: Option<u64>,
    window: Window,
    settling: u32,
    skip: u32,
    in_vain: u32,
    switches: u64,
}

impl Mode {
    pub(super) fn new(policy: Adaptive) -> Mode {
        Mode {
            policy,
            scalable: false,
            leaving: false,
            baseline: None,
            window: Window::default(),
            settling: policy.settling,
            skip: 0,
            in_vain: 0,
            switches: 0,
        }
    }

    pub(super) fn is_scalable(&self) -> bool {
        self.scalable
    }

    #[cfg(feature = "crash")]
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    pub(super) fn switches(&self) -> u64 {
        self.switches
    }

    /// Batches in flight that it allows, of `depth`.
    #[inline]
    pub(super) fn depth(&self, depth: u32) -> u32 {
        match (self.leaving, self.scalable) {
            (true, _) => 0,
            (false, true) => depth,
            (false, false) => 1,
        }
    }

    /// A batch is begun: by how many commits, `carried` of which came while the last batch was on
    /// its way, and whether others are in flight.
    #[inline]
    pub(super) fn begun(&mut self, commits: u32, carried: u32, overlapping: bool) {
        let busy = commits != 1 || carried > 0 || overlapping;
        self.window.busy += u32::from(busy);
    }

    #[inline]
    pub(super) fn wrote(&mut self, bytes: u32) {
        self.window.bytes += u64::from(bytes);
    }

    /// So many batches were published.
    #[inline]
    pub(super) fn published(&mut self, now: Nanos, batches: u64) {
        if self.leaving {
            return;
        }
        let batches = u32::try_from(batches).unwrap_or(u32::MAX);
        if self.settling > 0 {
            self.settling = self.settling.saturating_sub(batches);
            self.window = Window::default();
            return;
        }
        let Some(since) = self.window.since else {
            self.window = Window {
                since: Some(now),
                ..Window::default()
            };
            return;
        };
        self.window.batches += batches;
        let took = now.since(since);
        if self.window.batches >= self.policy.window_batches && took >= self.policy.window_min {
            self.judge(took);
            self.window.since.get_or_insert(now);
        }
    }

    /// Nothing is in flight: a change that was decided is made.
    #[inline]
    pub(super) fn idle(&mut self) {
        if self.leaving {
            self.leaving = false;
            self.change(false);
        }
    }

    /// A window is over.
    fn judge(&mut self, took: Nanos) {
        let window = std::mem::take(&mut self.window);
        let rate = u128::from(window.bytes) * 1_000_000_000 / u128::from(took.0.max(1));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let busy = u64::from(window.busy) * 256
            >= u64::from(window.batches) * u64::from(self.policy.busy_part);
        match self.baseline.take() {
            Some(before) => self.end_trial(before, rate),
            None if !busy => {
                if self.scalable {
                    (self.in_vain, self.skip) = (0, 0);
                    self.leave();
                }
            }
            None if self.skip > 0 => self.skip -= 1,
            None => {
                self.baseline = Some(rate);
                if self.scalable {
                    self.leave();
                } else {
                    self.change(true);
                }
            }
        }
    }

    /// Keeps the mode on trial or goes back to the one before.
    fn end_trial(&mut self, before: u64, rate: u64) {
        let (alone, workers) = if self.scalable {
            (before, rate)
        } else {
            (rate, before)
        };
        let needed = u128::from(alone) * u128::from(256 + self.policy.margin);
        let workers_win = u128::from(workers) * 256 >= needed;
        if workers_win == self.scalable {
            (self.in_vain, self.skip) = (0, SKIP_FIRST.min(self.policy.skip_max));
            return;
        }
        self.in_vain = (self.in_vain + 1).min(16);
        self.skip = (1 << self.in_vain).min(self.policy.skip_max);
        if workers_win {
            self.change(true);
        } else {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.leaving = true;
    }

    fn change(&mut self, scalable: bool) {
        self.scalable = scalable;
        self.switches += 1;
        self.settling = self.policy.settling;
        self.window = Window::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves `batches` batches at these redo rates (bytes a microsecond), alone and with workers.
    fn serve(mode: &mut Mode, now: &mut u64, batches: u32, rates: [u64; 2], commits: u32) -> u32 {
        let mut with_workers = 0;
        for _ in 0..batches {
            mode.begun(commits, 0, false);
            mode.wrote(4000);
            *now += 4_000_000 / rates[usize::from(mode.is_scalable())];
            with_workers += u32::from(mode.is_scalable());
            mode.published(Nanos(*now), 1);
            mode.idle();
        }
        with_workers
    }

    #[test]
    fn one_session_is_never_served_by_workers() {
        let (mut mode, mut now) = (Mode::new(Adaptive::default()), 0);
        assert_eq!(serve(&mut mode, &mut now, 100_000, [1, 100], 1), 0);
        assert_eq!(mode.switches(), 0);
    }

    #[test]
    fn what_serves_better_is_kept_and_the_other_tried_ever_more_rarely() {
        for (rates, scalable) in [([10, 20], true), ([20, 10], false), ([20, 21], false)] {
            let (mut mode, mut now) = (Mode::new(Adaptive::default()), 0);
            let settled = 100_000;
            serve(&mut mode, &mut now, settled, rates, 8);
            let (before, batches) = (mode.switches(), 200_000);
            let workers = serve(&mut mode, &mut now, batches, rates, 8);
            let kept = if scalable { workers } else { batches - workers };
            assert!(kept > batches / 100 * 97, "{rates:?}: {kept} of {batches}");
            let switches = mode.switches() - before;
            assert!((1..40).contains(&switches), "{rates:?}: {switches}");
        }
    }

    #[test]
    fn it_follows_the_load() {
        let (mut mode, mut now) = (Mode::new(Adaptive::default()), 0);
        serve(&mut mode, &mut now, 50_000, [10, 20], 8);
        assert!(mode.is_scalable());
        // One session is left.
        serve(&mut mode, &mut now, 1_000, [10, 20], 1);
        assert!(!mode.is_scalable());
        serve(&mut mode, &mut now, 50_000, [10, 20], 8);
        assert!(mode.is_scalable());
        // The device changes its mind.
        serve(&mut mode, &mut now, 500_000, [20, 10], 8);
        assert!(!mode.is_scalable());
    }

    #[test]
    fn leaving_waits_until_nothing_is_in_flight() {
        let policy = Adaptive {
            window_batches: 2,
            window_min: Nanos(1),
            settling: 0,
            ..Adaptive::default()
        };
        let mut mode = Mode::new(policy);
        let mut now = 0;
        while !mode.is_scalable() {
            serve(&mut mode, &mut now, 1, [10, 10], 8);
        }
        while mode.depth(4) == 4 {
            now += 1000;
            mode.begun(1, 0, false);
            mode.published(Nanos(now), 1);
        }
        assert!(mode.is_scalable() && mode.depth(4) == 0, "nothing is begun");
        mode.idle();
        assert!(!mode.is_scalable());
        assert_eq!(mode.depth(4), 1);
    }

    #[test]
    fn a_window_has_its_batches_and_its_time() {
        let policy = Adaptive {
            window_batches: 20,
            window_min: Nanos(1000),
            settling: 0,
            ..Adaptive::default()
        };
        let publish = |mode: &mut Mode, now: u64| {
            mode.begun(8, 0, false);
            mode.published(Nanos(now), 1);
            mode.is_scalable()
        };
        // Enough batches in too short a time; the first one begins the window.
        let mut mode = Mode::new(policy);
        assert!((1..=1000).all(|now| !publish(&mut mode, now)));
        assert!(publish(&mut mode, 1001));
        // Enough time with too few batches.
        let mut mode = Mode::new(policy);
        assert!((0..20).all(|batch| !publish(&mut mode, 1 + batch * 500)));
        assert!(publish(&mut mode, 1 + 20 * 500));
    }
}
