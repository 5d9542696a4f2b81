//! A transaction's CPU work.

use measure::{Clock, Nanos, RealClock};

/// Spins for `time`. When it ended, if there was any.
#[inline]
pub(crate) fn work(clock: RealClock, time: Nanos) -> Option<Nanos> {
    let until = (time > Nanos::ZERO).then(|| clock.now().plus(time))?;
    loop {
        let now = clock.now();
        if now >= until {
            return Some(now);
        }
        std::hint::spin_loop();
    }
}
