//! A stripe: several devices as one, with consecutive pieces of its space on consecutive devices.
//!
//! ```text
//! space      | 0 | 1 | 2 | 3 | 4 | 5 | …      each as wide as the stripe
//! device 0   | 0 | 2 | 4 | …
//! device 1   | 1 | 3 | 5 | …
//! ```
//!
//! Invariants:
//! - A write is divided where the stripe passes from one device to the next. Its parts run at once,
//!   and it is complete when all of them are.
//! - A flush goes, at once, to every device that a write reached since its last flush that
//!   succeeded, whichever queue the write came through; it is complete when all of these are.
//! - Once a flush of a device failed, every later flush of the stripe fails: the device may have
//!   dropped what it covered.
//! - The order of the devices and the width are part of the data: who stores a stripe records both.
//!
//! What it must not know: what is written, and when.
#![allow(unsafe_code)]

mod parts;
mod queue;

use crate::error::DeviceError;
use crate::fault::EIO;
use crate::queue::{Caps, IoFailure, IoOrDevice, LogDevice, Queue};
use crate::region::Region;
use parts::{StripeMap, split};
use queue::StripeQueue;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Devices of a stripe at most.
pub const MAX_STRIPE_DEVICES: usize = 32;

/// Width of a stripe: bytes that lie on one device before the next one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StripeWidth {
    /// 128 KiB, as Oracle ASM divides redo logs.
    Fine,
    /// 1 MiB, as Oracle ASM divides data files.
    Coarse,
}

impl StripeWidth {
    /// Both widths, in the order in which they are listed to people.
    pub const ALL: [StripeWidth; 2] = [StripeWidth::Fine, StripeWidth::Coarse];

    /// Width in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            StripeWidth::Fine => 128 << 10,
            StripeWidth::Coarse => 1 << 20,
        }
    }

    /// Name in options and results: `fine` or `coarse`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            StripeWidth::Fine => "fine",
            StripeWidth::Coarse => "coarse",
        }
    }

    /// The width of so many bytes, if it is one of the two.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Option<StripeWidth> {
        StripeWidth::ALL.into_iter().find(|w| w.bytes() == bytes)
    }
}

impl std::fmt::Display for StripeWidth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for StripeWidth {
    type Err = String;

    fn from_str(text: &str) -> Result<StripeWidth, String> {
        let named = StripeWidth::ALL.into_iter().find(|w| w.name() == text);
        named.ok_or_else(|| {
            format!("unknown stripe width `{text}`; use fine (128 KiB) or coarse (1 MiB)")
        })
    }
}

/// Several devices as one.
pub struct StripedDevice {
    columns: Arc<[Column]>,
    map: StripeMap,
    caps: Caps,
    path: PathBuf,
}

/// A device of the stripe, and what all queues know of it.
struct Column {
    device: Arc<dyn LogDevice>,
    durable_writes: bool,
    /// Writes that were completed, and that need a flush.
    written: AtomicU64,
    /// Of those, how many are known to be durable.
    flushed: AtomicU64,
    /// A flush failed.
    lost: AtomicBool,
    /// A planted bug: its flushes are left out.
    skipped: bool,
}

impl Column {
    /// Whether a write reached it since its last flush that succeeded.
    fn is_dirty(&self) -> bool {
        !self.skipped && self.flushed.load(Ordering::Acquire) < self.writes()
    }

    fn writes(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// A write ended. It is counted before the stripe returns it; also one that failed.
    fn has_written(&self, result: Result<u64, IoFailure>) -> Result<u64, IoFailure> {
        if !self.durable_writes {
            self.written.fetch_add(1, Ordering::AcqRel);
        }
        result
    }

    /// A flush that covers so many writes ended. It fails also where another one has failed since.
    fn has_flushed(&self, result: Result<u64, IoFailure>, covers: u64) -> Result<u64, IoFailure> {
        match result {
            Ok(_) if self.is_lost() => return Err(IoFailure { errno: EIO }),
            Ok(_) => {
                self.flushed.fetch_max(covers, Ordering::AcqRel);
            }
            Err(_) => self.lost.store(true, Ordering::Release),
        }
        result
    }
}

impl StripedDevice {
    /// A stripe over `devices`, in this order, named `path` in errors. Of each device it uses as
    /// many bytes as the smallest one has, rounded down to the width.
    ///
    /// # Errors
    /// [`DeviceError::Unsuitable`] when there are fewer than 2 or more than
    /// [`MAX_STRIPE_DEVICES`] devices, one is smaller than the width, or the width is not a
    /// multiple of a device's sectors.
    pub fn new(
        devices: Vec<Arc<dyn LogDevice>>,
        width: StripeWidth,
        path: impl Into<PathBuf>,
    ) -> Result<StripedDevice, DeviceError> {
        StripedDevice::with_planted(devices, width, path, None)
    }

    /// As [`StripedDevice::new`]; flushes of the device of this number are left out, which loses
    /// redo. For tests.
    ///
    /// # Errors
    /// As of [`StripedDevice::new`].
    #[doc(hidden)]
    pub fn with_planted(
        devices: Vec<Arc<dyn LogDevice>>,
        width: StripeWidth,
        path: impl Into<PathBuf>,
        skips_flushes_of: Option<usize>,
    ) -> Result<StripedDevice, DeviceError> {
        let path = path.into();
        let unsuitable = |what| DeviceError::Unsuitable {
            path: path.clone(),
            what,
        };
        if !(2..=MAX_STRIPE_DEVICES).contains(&devices.len()) {
            return Err(unsuitable(format!(
                "a stripe over {} devices; name from 2 to {MAX_STRIPE_DEVICES}",
                devices.len()
            )));
        }
        let mut caps = Caps::common(devices.iter().map(|device| device.caps()))
            .expect("there are at least 2 devices");
        let wide = width.bytes();
        // A device is given no part that is wider than the stripe.
        if u64::from(caps.max_io_bytes) >= wide {
            caps.max_io_bytes = caps.max_io_bytes.saturating_mul(devices.len() as u32);
        }
        if !wide.is_multiple_of(caps.logical_bytes.into())
            || !wide.is_multiple_of(caps.physical_bytes.into())
        {
            return Err(unsuitable(format!(
                "the stripe width of {wide} bytes is not a multiple of the devices' sectors \
                 ({} bytes); use devices with smaller sectors",
                caps.physical_bytes.max(caps.logical_bytes)
            )));
        }
        let smallest = devices.iter().map(|d| d.bytes()).min().unwrap_or(0);
        if smallest < wide {
            let at = devices.iter().position(|d| d.bytes() == smallest);
            return Err(unsuitable(format!(
                "device {} of the stripe has {smallest} bytes, less than the stripe width of \
                 {wide}; use a larger one",
                at.map_or(0, |at| at + 1)
            )));
        }
        let map = StripeMap::new(width, devices.len(), smallest);
        let columns = devices.into_iter().enumerate().map(|(at, device)| Column {
            durable_writes: device.caps().durable_writes,
            device,
            written: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            lost: AtomicBool::new(false),
            skipped: skips_flushes_of == Some(at),
        });
        Ok(StripedDevice {
            columns: columns.collect(),
            map,
            caps,
            path,
        })
    }

    /// Number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.columns.len()
    }
}

// SAFETY: each device is given parts of the operations that came; a write's completion is returned
// only when the devices have returned those of all of its parts.
unsafe impl LogDevice for StripedDevice {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn bytes(&self) -> u64 {
        self.map.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let queue = StripeQueue::new(&self.columns, self.map, self.caps.blocking, &region)?;
        Ok(Box::new(queue))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        if !self.map.holds(addr, out.len()) {
            return Err(DeviceError::Unsuitable {
                path: self.path.clone(),
                what: format!(
                    "{} bytes at {addr} lie outside the {} bytes of the stripe",
                    out.len(),
                    self.bytes()
                ),
            });
        }
        let mut out = out;
        for (_, len, place) in split(self.map, addr, out.len()) {
            let (part, rest) = out.split_at_mut(len);
            self.columns[place.column].device.read(place.addr, part)?;
            out = rest;
        }
        Ok(())
    }

    /// On every device, also if one fails.
    fn settle(&self) -> Result<(), IoOrDevice> {
        let settled: Vec<_> = self.columns.iter().map(|c| c.device.settle()).collect();
        settled.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
