//! Reading a member of an open log that may hang: a thread that may be left behind reads, and who
//! asked waits for it as long as the member's patience lasts.
//!
//! What it must not know: what is read, and what becomes of the member.

use super::Standing;
use super::errands::Errands;
use device::{DeviceError, LogDevice};
use measure::Nanos;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

impl Standing {
    /// Whether a member that took so long is late.
    fn is_late(&self, time: Nanos) -> bool {
        u128::from(time.0) >= self.patience().as_nanos()
    }

    /// Reads where `member` is, for as long as its patience lasts.
    pub(super) fn read(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
        to: (u64, &mut [u8]),
    ) -> Result<(), DeviceError> {
        // In a race others may lack what was acknowledged until the member is given up.
        let gives_up = |time| match self.table.cell {
            1 => self.is_late(time) || self.is_stale(member) || self.is_condemned(member),
            _ => self.goes_on_without(member, self.is_late(time)),
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
        let gives_up = |time| self.is_late(time) || self.is_stale(member) || self.returns_end();
        self.read_until(member, device, (addr, out), gives_up)
    }

    fn read_until(
        &self,
        member: usize,
        device: &Arc<dyn LogDevice>,
        (addr, out): (u64, &mut [u8]),
        gives_up: impl FnMut(Nanos) -> bool,
    ) -> Result<(), DeviceError> {
        let idle = || {
            self.readers[member]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let refused = |source| DeviceError::Io {
            path: PathBuf::from(format!("member {}", member + 1)),
            action: "read",
            source,
        };
        let kept = idle().pop();
        let reader = match kept {
            Some(reader) => reader,
            // What it reads harms nobody, however late.
            None => Errands::start(format!("lgr{member:02}"), ()).map_err(refused)?,
        };
        let (device, len) = (Arc::clone(device), out.len());
        let read = reader.run(&**self.clock(), gives_up, move || {
            let mut bytes = vec![0; len];
            device.read(addr, &mut bytes).map(|()| bytes)
        });
        let Some(read) = read else {
            return Err(refused(std::io::ErrorKind::TimedOut.into()));
        };
        idle().push(reader);
        out.copy_from_slice(&read?);
        Ok(())
    }
}
