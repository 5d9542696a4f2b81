//! Models of what takes time: the parts of a log write on a disk, the sessions.

use measure::workload::split_mix;

/// The source of chance of a simulation.
#[derive(Clone, Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// Above 0 and at most 1.
    fn unit(&mut self) -> f64 {
        ((split_mix(&mut self.0) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// By the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Microseconds as nanoseconds, at least one.
    fn nanos(micros: f64) -> u64 {
        ((micros * 1000.0) as u64).max(1)
    }
}

/// A time that is added to some of the log writes: exponentially distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tail {
    /// The share of the log writes that have it, 0 to 1.
    pub share: f64,
    /// Its mean, microseconds.
    pub mean_us: f64,
}

impl Tail {
    pub(super) fn draw(&self, chance: &mut Chance) -> u64 {
        match chance.unit() <= self.share {
            true => Chance::nanos(chance.exponential(self.mean_us)),
            false => 0,
        }
    }
}

/// What a write takes on a device whose cache is protected, so that a flush takes no time:
/// lognormally distributed, and in some writes longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskModel {
    /// The median without the tail, microseconds.
    pub median_us: f64,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
    /// The device's own tail.
    pub tail: Tail,
}

impl DiskModel {
    pub(super) fn draw(&self, chance: &mut Chance) -> u64 {
        let body = self.median_us * (self.sigma * chance.normal()).exp();
        Chance::nanos(body) + self.tail.draw(chance)
    }
}

/// Sessions that commit again and again, in a closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionModel {
    /// How many.
    pub sessions: u32,
    /// Bytes of the redo record of a transaction.
    pub redo_bytes: u32,
    /// The mean time between the end of a log file sync and the next, microseconds: exponentially
    /// distributed.
    pub between_us: f64,
    /// From the completion of the log write to the session's going on, microseconds.
    pub wakeup_us: f64,
}

impl SessionModel {
    pub(super) fn between(&self, chance: &mut Chance) -> u64 {
        Chance::nanos(chance.exponential(self.between_us))
    }

    pub(super) fn wakeup(&self) -> u64 {
        Chance::nanos(self.wakeup_us)
    }
}
