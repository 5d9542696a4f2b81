//! Clocks: the real one and a virtual one, behind one small trait.
//!
//! A clock's zero is arbitrary; only differences mean anything. Nothing below this crate reads
//! the system's clock in any other way, so that simulated time is never mixed with measured time.

use crate::units::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of time. Monotonic: a later call never returns less.
pub trait Clock: Send + Sync {
    /// Nanoseconds since this clock's zero.
    fn now(&self) -> Nanos;
}

/// The system's monotonic clock, counted from its creation.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    zero: Instant,
}

impl RealClock {
    /// A clock whose zero is now.
    #[must_use]
    pub fn new() -> RealClock {
        RealClock {
            zero: Instant::now(),
        }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Clock for RealClock {
    #[inline]
    fn now(&self) -> Nanos {
        let elapsed = self.zero.elapsed();
        Nanos(elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos()))
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now_ns: AtomicU64,
}

impl VirtualClock {
    /// Moves the clock to `to`; moving backwards is ignored.
    pub fn advance_to(&self, to: Nanos) {
        self.now_ns.fetch_max(to.0, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Nanos {
        Nanos(self.now_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_virtual_clock_moves_forward_only() {
        let clock = VirtualClock::default();
        clock.advance_to(Nanos(50));
        clock.advance_to(Nanos(20));
        assert_eq!(clock.now(), Nanos(50));
    }

    #[test]
    fn the_real_clock_never_goes_back() {
        let clock = RealClock::new();
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
