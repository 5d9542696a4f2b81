//! A device that is done before a sleeper could be woken, or not.

use measure::Nanos;

/// What log writes take, as a moving mean over about [`MEAN_WRITES`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    mean_ns: f64,
    at_once: bool,
}

const MEAN_WRITES: f64 = 16.0;
/// Waking a sleeper takes 3.4 us here, and 7 to 10 us of processor time where many wait
/// (experiments/default). A log write below the first figure is over before anybody else could
/// begin it; one above the second is worth letting others run meanwhile.
const AT_ONCE: Nanos = Nanos::from_micros(3);
const WORTH_WAITING: Nanos = Nanos::from_micros(8);

impl Default for Device {
    fn default() -> Device {
        Device {
            mean_ns: WORTH_WAITING.0 as f64,
            at_once: false,
        }
    }
}

impl Device {
    /// A log write took so long: whether the device is one that is done at once.
    pub(super) fn is_done_at_once(&mut self, took: Nanos) -> bool {
        // One that took long ends it soon: it counts as no more than twice what is worth waiting
        // for, so that a single stall does not change the way.
        let took = took.0.min(2 * WORTH_WAITING.0) as f64;
        self.mean_ns += (took - self.mean_ns) / MEAN_WRITES;
        let limit = if self.at_once { WORTH_WAITING } else { AT_ONCE };
        self.at_once = self.mean_ns < limit.0 as f64;
        self.at_once
    }
}
