//! Devices in virtual time: when an operation that is begun now will end. They hold no bytes.

use crate::chance::Chance;

/// A device below the log.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceModel {
    /// A time for each operation that grows with its size.
    Service(ServiceModel),
}

/// A time that is added to some of the operations: exponentially distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyTail {
    /// The share of the operations that have it, 0 to 1.
    pub share: f64,
    /// Its mean, nanoseconds.
    pub mean_ns: f64,
}

/// A device whose writes take a fixed time and one by their size, and whose flushes take a time of
/// their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServiceModel {
    /// Of each write, nanoseconds.
    pub write_ns: f64,
    /// Of each kB of it.
    pub write_ns_per_kb: f64,
    /// Of a flush; `None` where a completed write is durable.
    pub flush_ns: Option<f64>,
    /// Coefficient of variation of both.
    pub variation: f64,
    /// What some of the operations take besides.
    pub tail: LatencyTail,
}

/// An operation of the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write { bytes: u64 },
    Flush,
}

impl DeviceModel {
    /// A completed write is durable.
    #[must_use]
    pub fn has_durable_writes(&self) -> bool {
        match self {
            DeviceModel::Service(of) => of.flush_ns.is_none(),
        }
    }

    /// It takes no time at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let DeviceModel::Service(of) = self;
        of.write_ns == 0.0 && of.write_ns_per_kb == 0.0 && of.flush_ns.unwrap_or_default() == 0.0
    }

    /// All of its times, so many times as long.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> DeviceModel {
        let DeviceModel::Service(of) = self;
        DeviceModel::Service(ServiceModel {
            write_ns: of.write_ns * factor,
            write_ns_per_kb: of.write_ns_per_kb * factor,
            flush_ns: of.flush_ns.map(|ns| ns * factor),
            ..*of
        })
    }

    /// When `operation`, begun at `now`, ends.
    pub(crate) fn ends(&mut self, now: u64, operation: Operation, chance: &mut Chance) -> u64 {
        let DeviceModel::Service(of) = self;
        let mean = match operation {
            Operation::Write { bytes } => of.write_ns + of.write_ns_per_kb * bytes as f64 / 1024.0,
            Operation::Flush => of.flush_ns.unwrap_or_default(),
        };
        let mut takes = mean * chance.factor(of.variation);
        if of.tail.share > 0.0 && chance.unit() <= of.tail.share {
            takes += chance.exponential(of.tail.mean_ns);
        }
        now.saturating_add(takes.max(0.0) as u64)
    }
}
