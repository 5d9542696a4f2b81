//! Reading a member of an open log that may hang: a thread that may be left behind reads, and who
//! asked waits for it as long as the member's patience lasts.
//!
//! Invariant: of each member only a few threads are left behind, however often it is read.
//!
//! What it must not know: what is read, and what becomes of the member.

use super::Standing;
use super::errands::{Errands, is_late};
use device::{DeviceError, LogDevice};
use measure::Nanos;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// Threads that are left behind in one member at most.
const MOST_LEFT: usize = 4;

impl Standing {
    /// Reads where `member` is, for as long as its patience lasts.
    pub(super) fn read(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
        to: (u64, &mut [u8]),
    ) -> Result<(), DeviceError> {
        // In a race others may lack what was acknowledged until the member is given up.
        let late = |time| is_late(time, self.patience());
        let gives_up = |time| match self.table.cell {
            1 => late(time) || self.is_stale(member) || self.is_condemned(member),
            _ => self.goes_on_without(member, late(time)),
        };
        self.read_until(member, device, to, gives_up)
    }

    /// As [`Standing::read`], to copy what is read to a member that returns: nothing but that
    /// waits for it.
    pub(super) fn read_to_copy(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
        (addr, out): (u64, &mut [u8]),
    ) -> Result<(), DeviceError> {
        if !device.caps().blocking {
            return device.read(addr, out);
        }
        let gives_up =
            |time| is_late(time, self.patience()) || self.is_stale(member) || self.returns_end();
        self.read_until(member, device, (addr, out), gives_up)
    }

    fn read_until(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
        (addr, out): (u64, &mut [u8]),
        gives_up: impl FnMut(Nanos) -> bool,
    ) -> Result<(), DeviceError> {
        // Those that nobody uses, or that were left behind.
        let kept = || {
            self.readers[member]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let refused = |source| DeviceError::Io {
            path: PathBuf::from(format!("member {}", member + 1)),
            action: "read",
            source,
        };
        let free = {
            let mut kept = kept();
            let free = kept.iter().position(|reader| !reader.is_busy());
            if free.is_none() && kept.len() >= MOST_LEFT {
                return Err(refused(std::io::ErrorKind::TimedOut.into()));
            }
            free.map(|at| kept.swap_remove(at))
        };
        let reader = match free {
            Some(reader) => reader,
            // What it reads harms nobody, however late.
            None => Errands::start(format!("lgr{member:02}"), ()).map_err(refused)?,
        };
        let (device, len) = (Arc::clone(device), out.len());
        let read = reader.run(&**self.clock(), gives_up, move || {
            let mut bytes = vec![0; len];
            device.read(addr, &mut bytes).map(|()| bytes)
        });
        kept().push(reader);
        let Some(read) = read else {
            return Err(refused(std::io::ErrorKind::TimedOut.into()));
        };
        out.copy_from_slice(&read?);
        Ok(())
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::control::MemberTable;
    use device::NullDevice;
    use device::fault::FaultDevice;
    use std::time::Duration;

    #[test]
    fn a_member_that_never_answers_costs_a_few_threads_however_often_it_is_read() {
        let standing = Standing::new(MemberTable::new(2, 1).expect("members"));
        standing.set_patience(Duration::from_millis(1));
        let null = NullDevice::new(1 << 20, NullDevice::PLAIN);
        let fault = Arc::new(FaultDevice::new(Arc::new(null)));
        let device: Arc<dyn LogDevice> = fault.clone();
        let hang = fault.hang(0);
        for _ in 0..3 * MOST_LEFT {
            let read = standing.read_to_copy(0, &device, (0, &mut [0]));
            assert!(read.is_err());
        }
        // Some may not have begun when they were given up.
        assert!(!hang.await_hanging(MOST_LEFT + 1, Duration::from_millis(10)));
        assert!(standing.readers[0].lock().expect("no panic").len() <= MOST_LEFT);
        drop(hang);
        standing.set_patience(Duration::from_secs(60));
        let answers = || standing.read_to_copy(0, &device, (0, &mut [0])).is_ok();
        let begun = std::time::Instant::now();
        while !answers() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }
}
