//! A window of a device: some of its bytes as a device of their own. A raw device is one space
//! that control information and log share, each through its window.
//!
//! Invariants: no operation reaches a byte outside the window; a flush of a window flushes the
//! whole device. What it must not know: what lies in other windows.
#![allow(unsafe_code)]

use crate::doorbell::Doorbell;
use crate::error::DeviceError;
use crate::queue::{Caps, IoFailure, IoOrDevice, LogDevice, Op, OpCompletion, OpKind, Queue};
use crate::region::Region;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the system would say of an address that is not there.
const EINVAL: i32 = 22;

/// Bytes `base..base + bytes` of another device.
pub struct DeviceWindow {
    device: Arc<dyn LogDevice>,
    base: u64,
    bytes: u64,
    path: PathBuf,
}

impl DeviceWindow {
    /// A window of `device`, named `path` in errors.
    ///
    /// # Errors
    /// [`DeviceError::Unsuitable`] when the device ends before the window does.
    pub fn new(
        device: Arc<dyn LogDevice>,
        base: u64,
        bytes: u64,
        path: impl Into<PathBuf>,
    ) -> Result<DeviceWindow, DeviceError> {
        let (path, size) = (path.into(), device.bytes());
        if base.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(DeviceError::Unsuitable {
                path,
                what: format!("has {size} bytes; {bytes} were expected from {base} on"),
            });
        }
        Ok(DeviceWindow {
            device,
            base,
            bytes,
            path,
        })
    }
}

fn holds(bytes: u64, addr: u64, len: usize) -> bool {
    addr.checked_add(len as u64).is_some_and(|end| end <= bytes)
}

// SAFETY: the device below is given the operations that came, at another address.
unsafe impl LogDevice for DeviceWindow {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(Box::new(WindowQueue {
            queue: self.device.queue(region)?,
            base: self.base,
            bytes: self.bytes,
            moved: Vec::with_capacity(16),
            refused: Vec::new(),
        }))
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        if !holds(self.bytes, addr, out.len()) {
            return Err(DeviceError::Unsuitable {
                path: self.path.clone(),
                what: format!(
                    "{} bytes at {addr} lie outside the {} bytes of this part",
                    out.len(),
                    self.bytes
                ),
            });
        }
        self.device.read(self.base + addr, out)
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.device.settle()
    }
}

struct WindowQueue {
    queue: Box<dyn Queue>,
    base: u64,
    bytes: u64,
    /// Operations of one submission, at their place in the device.
    moved: Vec<Op>,
    /// Completions of what was never submitted.
    refused: Vec<OpCompletion>,
}

impl Queue for WindowQueue {
    fn submit(&mut self, ops: &[Op]) {
        self.moved.clear();
        for (at, op) in ops.iter().enumerate() {
            let kind = match op.kind {
                OpKind::Write { addr, .. } if !holds(self.bytes, addr, op.bytes()) => {
                    // As of a failed write: what follows in the batch is not run.
                    let errno = EINVAL;
                    let refused = ops[at..].iter().map(|op| OpCompletion {
                        id: op.id,
                        result: Err(IoFailure { errno }),
                        by: 0,
                    });
                    self.refused.extend(refused);
                    break;
                }
                OpKind::Write { addr, pieces } => OpKind::Write {
                    addr: self.base + addr,
                    pieces,
                },
                OpKind::Flush => OpKind::Flush,
            };
            self.moved.push(Op { id: op.id, kind });
        }
        if !self.moved.is_empty() {
            self.queue.submit(&self.moved);
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, wait: bool) -> usize {
        let refused = self.refused.len();
        out.append(&mut self.refused);
        refused + self.queue.poll(out, wait && refused == 0)
    }

    fn kind(&self) -> &'static str {
        self.queue.kind()
    }

    fn notes(&self) -> &[String] {
        self.queue.notes()
    }

    fn park(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        // What was never submitted is there to be polled.
        if self.refused.is_empty() {
            self.queue.park(bell, seen, timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimDisk;
    use crate::queue::{Piece, write_durable};

    fn disk() -> Arc<dyn LogDevice> {
        let disk = SimDisk::new(64 << 10, 4096, false);
        disk.set_immediate(true);
        Arc::new(disk)
    }

    #[test]
    fn a_window_moves_what_goes_through_it_and_nothing_else() {
        let whole = disk();
        let window = DeviceWindow::new(Arc::clone(&whole), 8192, 16_384, "disk").expect("fits");
        assert_eq!((window.bytes(), window.caps()), (16_384, whole.caps()));
        write_durable(&window, 4096, &[7; 4096]).expect("inside");
        let mut all = vec![0; 64 << 10];
        whole.read(0, &mut all).expect("readable");
        let written = |at: usize| (12_288..16_384).contains(&at);
        assert!(
            all.iter()
                .enumerate()
                .all(|(at, b)| (*b == 7) == written(at))
        );
        let mut part = [0; 8];
        window.read(4092, &mut part).expect("inside");
        assert_eq!(part, [0, 0, 0, 0, 7, 7, 7, 7]);
    }

    #[test]
    fn nothing_outside_the_window_is_reached() {
        let whole = disk();
        assert!(DeviceWindow::new(Arc::clone(&whole), 60 << 10, 8192, "disk").is_err());
        assert!(DeviceWindow::new(Arc::clone(&whole), u64::MAX, 8192, "disk").is_err());
        let window = DeviceWindow::new(Arc::clone(&whole), 8192, 8192, "disk").expect("fits");
        assert!(window.read(8000, &mut [0; 200]).is_err());
        assert!(window.read(u64::MAX, &mut [0; 2]).is_err());
        let mut queue = window
            .queue(Arc::new(Region::new(8192).expect("memory")))
            .expect("queue");
        let write = |id, addr, len| Op {
            id,
            kind: OpKind::Write {
                addr,
                pieces: [Piece { at: 0, len }, Piece::default()],
            },
        };
        let flush = Op {
            id: 3,
            kind: OpKind::Flush,
        };
        queue.submit(&[write(1, 0, 4096), write(2, 4096, 8192), flush]);
        let mut done = Vec::new();
        while done.len() < 3 {
            queue.poll(&mut done, true);
        }
        done.sort_by_key(|c| c.id);
        let errno = EINVAL;
        let failed = Err(IoFailure { errno });
        let results: Vec<_> = done.iter().map(|c| c.result).collect();
        assert_eq!(results, [Ok(4096), failed, failed]);
    }

    /// A device whose queues run their operations later, as rings do.
    struct Later {
        disk: SimDisk,
        settled: std::sync::atomic::AtomicU32,
    }

    // SAFETY: all operations go to the disk as they came.
    unsafe impl LogDevice for Later {
        fn caps(&self) -> Caps {
            self.disk.caps()
        }

        fn bytes(&self) -> u64 {
            self.disk.bytes()
        }

        fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
            self.disk.queue(region)
        }

        fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
            self.disk.read(addr, out)
        }

        fn settle(&self) -> Result<(), IoOrDevice> {
            let before = self
                .settled
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let failure = IoFailure { errno: 5 };
            (before == 0).then_some(()).ok_or(IoOrDevice::Io(failure))
        }
    }

    #[test]
    fn settling_a_window_settles_its_device() {
        let later = Arc::new(Later {
            disk: SimDisk::new(64 << 10, 4096, false),
            settled: std::sync::atomic::AtomicU32::new(0),
        });
        let device: Arc<dyn LogDevice> = Arc::clone(&later) as Arc<dyn LogDevice>;
        let window = DeviceWindow::new(device, 8192, 8192, "disk").expect("fits");
        window.settle().expect("the first time");
        assert_eq!(later.settled.load(std::sync::atomic::Ordering::Relaxed), 1);
        window
            .settle()
            .expect_err("the device's failure is its own");
    }

    #[test]
    fn a_parked_window_sleeps_until_its_time_is_over() {
        let window = DeviceWindow::new(disk(), 8192, 8192, "disk").expect("fits");
        let region = Arc::new(Region::new(4096).expect("memory"));
        let mut queue = window.queue(region).expect("queue");
        let bell = Arc::new(Doorbell::default());
        let (begun, moment) = (std::time::Instant::now(), Duration::from_millis(20));
        let mut naps = 0;
        while begun.elapsed() < moment {
            queue.park(&bell, bell.read(), Some(moment));
            naps += 1;
        }
        assert!(naps < 100, "{naps}: it does not sleep");
    }
}
