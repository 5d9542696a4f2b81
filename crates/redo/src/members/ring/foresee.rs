//! What an opening would find in a disk and its ring, without changing either: for tools.
//!
//! Invariant: nothing is written, flushed or made durable. What refuses an opening is asked of what
//! an opening asks (`super::assemble`).

use super::assemble::{Batches, GivenRing, RingAssembly};
use super::{Patience, RING_DATA_AT};
use crate::control::{ControlInfo, RingTable};
use crate::error::Error;
use crate::format::LifeId;
use crate::planted::Planted;
use crate::recovery::{Reader, Salvage, Scan};
use device::queue::{Caps, IoOrDevice, LogDevice, Queue};
use device::{DeviceError, Region};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What was found.
#[derive(Default)]
pub(crate) struct ForeseenRing {
    /// Size of the ring, bytes; `None` where it cannot be used.
    pub(crate) ring_bytes: Option<u64>,
    /// Batches of the log's current life in it, and the bytes of their blocks.
    pub(crate) batches: (u64, u64),
    /// Blocks that the disk lacks and the ring has.
    pub(crate) lacking: u64,
    /// How the log ends with what the ring has.
    pub(crate) scan: Option<Scan>,
    /// What giving up the redo behind its damage would keep and lose.
    pub(crate) damage: Option<Salvage>,
    /// Why the log would be opened without its ring.
    pub(crate) unused: Option<String>,
    /// What would refuse the opening.
    pub(crate) refused: Option<String>,
}

/// Looks at the `disk` of a log, which errors call `path`, and at its ring or why it is not there.
///
/// # Errors
/// A device that fails while it is read.
pub(crate) fn foresee(
    (disk, path): (Arc<dyn LogDevice>, PathBuf),
    ring: Result<GivenRing, String>,
    info: &ControlInfo,
    table: RingTable,
) -> Result<ForeseenRing, Error> {
    let assembly = RingAssembly {
        disk,
        path,
        ring,
        kind: table.kind,
        // Of no consequence: nothing is announced.
        life: LifeId::from_bytes([1; 16]).expect("a life"),
        patience: Patience::Clock(std::time::Duration::ZERO),
        accept_loss: false,
        planted: Planted::none(),
    };
    let mut found = ForeseenRing::default();
    let looked = assembly.look_at_both(info, table, &mut found);
    match looked {
        Err(error @ Error::Device(_)) => return Err(error),
        Err(error) => found.refused = Some(error.to_string()),
        Ok(()) => {}
    }
    Ok(found)
}

impl RingAssembly {
    fn look_at_both(
        &self,
        info: &ControlInfo,
        table: RingTable,
        found: &mut ForeseenRing,
    ) -> Result<(), Error> {
        let mut units = BTreeMap::new();
        match self.chosen(info, table)? {
            Ok((announced, batches)) => {
                let given = self.ring.as_ref().expect("a ring that is used is there");
                let room = given.device.bytes().saturating_sub(RING_DATA_AT);
                let bytes = announced.ring_bytes.min(room);
                found.ring_bytes = Some(bytes);
                match batches {
                    Some(batches) => {
                        found.batches = batches.count();
                        found.lacking = self.each_lacking(&batches, info, |addr, bytes| {
                            units.insert(addr, bytes.to_vec());
                            Ok(())
                        })?;
                    }
                    // Those of a spare ring do not count, and are shown.
                    None => {
                        found.batches = Batches::read(given, bytes, info, self.planted)?.count();
                    }
                }
            }
            Err(why) => found.unused = Some(why),
        }
        let given = GivenDisk {
            disk: Arc::clone(&self.disk),
            units,
        };
        let reader = Reader::new(&given, info, &self.path, self.planted);
        let scanned = reader.scan(|_, _, _| {});
        if let Err(Error::Corrupt { .. }) = scanned {
            found.damage = crate::recovery::foresee(&reader)?;
        }
        found.scan = Some(scanned?);
        Ok(())
    }
}

/// A disk as it would be after it was given what its ring has; it can only be read.
struct GivenDisk {
    disk: Arc<dyn LogDevice>,
    /// Seal units by their address.
    units: BTreeMap<u64, Vec<u8>>,
}

// SAFETY: it has no queue, and writes nothing.
unsafe impl LogDevice for GivenDisk {
    fn caps(&self) -> Caps {
        self.disk.caps()
    }

    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Err(read_only())
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.disk.read(addr, out)?;
        let end = addr + out.len() as u64;
        for (at, bytes) in self.units.range(..end) {
            let (from, upto) = (addr.max(*at), end.min(at + bytes.len() as u64));
            if from < upto {
                let part = &bytes[(from - at) as usize..(upto - at) as usize];
                out[(from - addr) as usize..(upto - addr) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Err(IoOrDevice::Device(read_only()))
    }
}

fn read_only() -> DeviceError {
    DeviceError::Unsuitable {
        path: PathBuf::from("the disk of a log with a ring"),
        what: String::from("it was opened only to be read"),
    }
}
