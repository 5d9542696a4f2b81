//! Devices in virtual time: when an operation that is begun now will end. They hold no bytes.
//!
//! A [`DeviceModel`] is plain data, what a file says. A [`Device`] is made from it and has a state:
//! what it has yet to do, what is in its cache, where its head is.

mod empirical;
mod field;
mod flash;
mod front;
mod rotation;
mod service;
mod translation;

use crate::chance::Chance;
pub use empirical::EmpiricalModel;
pub(crate) use field::{Contradiction, Field, MOST_US, Place, Unit};
pub use flash::FlashModel;
pub use front::DeviceFront;
pub use rotation::RotationModel;
pub use service::{LatencyTail, RateCap, ServiceModel};

/// A device below the log.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceModel {
    /// A time for each operation that grows with its size, channels, caps.
    Service(ServiceModel),
    /// A disk that rotates.
    Rotation(RotationModel),
    /// Flash behind a translation.
    Flash(FlashModel),
    /// Times that were measured.
    Empirical(EmpiricalModel),
}

/// An operation of the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write {
        /// Its first byte in the log's space, which is circular.
        place: u64,
        bytes: u64,
    },
    Flush,
}

impl DeviceModel {
    /// A device of each kind with nothing in it, and the name that files give to the kind.
    pub(crate) fn kinds() -> [(&'static str, DeviceModel); 4] {
        [
            ("service", DeviceModel::Service(ServiceModel::NOTHING)),
            ("rotation", DeviceModel::Rotation(RotationModel::default())),
            ("flash", DeviceModel::Flash(FlashModel::default())),
            (
                "empirical",
                DeviceModel::Empirical(EmpiricalModel::default()),
            ),
        ]
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            DeviceModel::Service(_) => "service",
            DeviceModel::Rotation(_) => "rotation",
            DeviceModel::Flash(_) => "flash",
            DeviceModel::Empirical(_) => "empirical",
        }
    }

    /// Its values, in the order of a file.
    pub(crate) fn fields(&mut self) -> Vec<Field<'_>> {
        match self {
            DeviceModel::Service(of) => of.fields(),
            DeviceModel::Rotation(of) => of.fields(),
            DeviceModel::Flash(of) => of.fields(),
            DeviceModel::Empirical(of) => of.fields(),
        }
    }

    pub(crate) fn contradiction(&self) -> Contradiction {
        match self {
            DeviceModel::Service(of) => of.contradiction(),
            DeviceModel::Rotation(of) => of.contradiction(),
            DeviceModel::Flash(of) => of.contradiction(),
            DeviceModel::Empirical(of) => of.contradiction(),
        }
    }

    /// A completed write is durable.
    #[must_use]
    pub fn has_durable_writes(&self) -> bool {
        match self {
            DeviceModel::Service(of) => of.flush_ns.is_none(),
            DeviceModel::Rotation(of) => of.front.has_durable_writes(),
            DeviceModel::Flash(of) => of.front.has_durable_writes(),
            DeviceModel::Empirical(of) => of.flush_ns.is_empty(),
        }
    }

    /// It takes no time at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, DeviceModel::Service(of) if of.is_nothing())
    }

    /// Its size in bytes; `None` where nobody knows.
    #[must_use]
    pub fn capacity_bytes(&self) -> Option<u64> {
        let gb = match self {
            DeviceModel::Service(of) => of.capacity_gb,
            DeviceModel::Rotation(of) => of.capacity_gb,
            DeviceModel::Flash(of) => of.capacity_gb,
            DeviceModel::Empirical(_) => 0.0,
        };
        (gb > 0.0).then_some((gb * f64::from(1 << 30)) as u64)
    }

    /// All of its times, so many times as long.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> DeviceModel {
        let mut out = self.clone();
        for mut field in out.fields() {
            match field.unit {
                Unit::Time => field.vary(factor),
                Unit::Rate => field.vary(1.0 / factor),
                Unit::Other => {}
            }
        }
        out
    }

    /// The device with one value so many times as large, for each of its values, by name; without
    /// those that would leave their range or contradict others.
    pub(crate) fn varied(&self, factor: f64) -> Vec<(&'static str, DeviceModel)> {
        let count = self.clone().fields().len();
        let changed = (0..count).filter_map(|at| {
            let mut out = self.clone();
            let mut field = out.fields().swap_remove(at);
            field.vary(factor);
            let (key, fits) = (field.key, field.is_in_range());
            (fits && out != *self && out.contradiction().is_none()).then_some((key, out))
        });
        changed.collect()
    }
}

/// A device at work.
#[derive(Debug)]
pub(crate) enum Device {
    Service(service::ServiceDevice),
    Rotation(rotation::RotationDevice),
    Flash(Box<flash::FlashDevice>),
    Empirical(empirical::EmpiricalDevice),
}

impl Device {
    /// For a log of `log_bytes`.
    pub(crate) fn new(of: &DeviceModel, log_bytes: u64, chance: &mut Chance) -> Device {
        match of {
            DeviceModel::Service(of) => Device::Service(service::ServiceDevice::new(of)),
            DeviceModel::Rotation(of) => Device::Rotation(rotation::RotationDevice::new(of)),
            DeviceModel::Flash(of) => {
                Device::Flash(Box::new(flash::FlashDevice::new(of, log_bytes, chance)))
            }
            DeviceModel::Empirical(of) => Device::Empirical(empirical::EmpiricalDevice::new(of)),
        }
    }

    /// When `operation`, begun at `now`, ends.
    pub(crate) fn ends(&mut self, now: u64, operation: Operation, chance: &mut Chance) -> u64 {
        match self {
            Device::Service(of) => of.ends(now, operation, chance),
            Device::Rotation(of) => of.ends(now, operation),
            Device::Flash(of) => of.ends(now, operation, chance),
            Device::Empirical(of) => of.ends(now, operation, chance),
        }
    }
}

#[cfg(test)]
mod tests;
