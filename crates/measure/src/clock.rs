//! Clocks: one small trait, and the real one.
//!
//! A clock's zero is arbitrary; only differences mean anything. Nothing below this crate reads
//! the system's clock in any other way, so that simulated time is never mixed with measured time.

use crate::units::Nanos;
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

#[cfg(test)]
mod tests {
    use super::*;

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
