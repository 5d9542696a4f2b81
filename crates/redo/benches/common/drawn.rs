//! A model of a device whose writes take drawn times, of a generator of its own. It keeps nothing
//! but its first bytes, where a ring is announced.
#![allow(unsafe_code)]

use device::SimDisk;
use device::queue::IoOrDevice;
use device::{Caps, DeviceError, LogDevice, NullDevice, Op, OpCompletion, OpKind, Queue, Region};
use measure::Histogram;
use measure::workload::split_mix;
use redo::control::CONTROL_BYTES;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A write takes this, and an exponentially distributed time of the same mean on top.
pub const BASE: Duration = Duration::from_micros(250);
/// One write in so many stalls, on a device that stalls.
const STALL_EVERY: u64 = 100;
/// Bytes at the begin that are kept.
const KEPT_BYTES: usize = 32 << 10;

/// A device whose writes take drawn times.
#[derive(Clone)]
pub struct DrawnDevice {
    bytes: u64,
    /// How long a stall takes; zero for a device that does not stall.
    stall: Duration,
    state: Arc<AtomicU64>,
    /// The time of each write, if it is wanted.
    times: Arc<Mutex<Histogram>>,
    kept: Arc<Mutex<Vec<u8>>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DrawnDevice {
    /// With so many bytes; one write in a hundred takes `stall` longer.
    pub fn new(bytes: u64, seed: u64, stall: Duration) -> DrawnDevice {
        DrawnDevice {
            bytes,
            stall,
            state: Arc::new(AtomicU64::new(seed)),
            times: Arc::default(),
            kept: Arc::new(Mutex::new(vec![0; KEPT_BYTES])),
        }
    }

    /// From now on it draws the times of this seed.
    pub fn seed(&self, seed: u64) {
        self.state.store(seed, Ordering::Relaxed);
    }

    /// The times of its writes.
    pub fn times(&self) -> Histogram {
        lock(&self.times).clone()
    }

    fn draw(&self) -> Duration {
        let mut state = self.state.load(Ordering::Relaxed);
        let (unit, stall) = (split_mix(&mut state), split_mix(&mut state));
        self.state.store(state, Ordering::Relaxed);
        let unit = (unit >> 11) as f64 / (1_u64 << 53) as f64;
        let time = BASE + BASE.mul_f64(-(1.0 - unit).ln());
        match stall.is_multiple_of(STALL_EVERY) && !self.stall.is_zero() {
            true => time + self.stall,
            false => time,
        }
    }
}

// SAFETY: it reads a region only while the write that names it is in flight.
unsafe impl LogDevice for DrawnDevice {
    fn caps(&self) -> Caps {
        NullDevice::PLAIN
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let (device, done) = (self.clone(), Vec::new());
        Ok(Box::new(DrawnQueue {
            device,
            region,
            done,
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        out.fill(0);
        if let Some(kept) = lock(&self.kept).get(addr as usize..) {
            let len = kept.len().min(out.len());
            out[..len].copy_from_slice(&kept[..len]);
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Ok(())
    }
}

struct DrawnQueue {
    device: DrawnDevice,
    region: Arc<Region>,
    done: Vec<OpCompletion>,
}

impl DrawnQueue {
    fn write(&self, addr: u64, pieces: [device::Piece; 2]) {
        let mut at = addr as usize;
        for piece in pieces {
            if let Some(kept) = lock(&self.device.kept).get_mut(at..) {
                let len = kept.len().min(piece.len);
                // SAFETY: the write that names these bytes is in flight.
                kept[..len].copy_from_slice(unsafe { self.region.slice(piece.at, len) });
            }
            at += piece.len;
        }
    }
}

impl Queue for DrawnQueue {
    fn submit(&mut self, ops: &[Op]) {
        for op in ops {
            if let OpKind::Write { addr, pieces } = op.kind {
                let begun = Instant::now();
                std::thread::sleep(self.device.draw());
                lock(&self.device.times).record(nanos(begun.elapsed()));
                self.write(addr, pieces);
            }
            self.done.push(OpCompletion {
                id: op.id,
                result: Ok(op.bytes() as u64),
                by: 0,
            });
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }
}

/// A place of control information that takes no time.
pub fn control() -> Arc<dyn LogDevice> {
    let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    Arc::new(control)
}

/// In nanoseconds.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
