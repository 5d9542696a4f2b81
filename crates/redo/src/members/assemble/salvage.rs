//! Giving up redo behind damage that no member in sync can repair.
//!
//! What counts is what the members in sync hold together: a block that one of them has is kept, and
//! the log goes on from the member that reaches furthest intact. What lies behind the first block
//! that none of them has is given up on all of them, in one update of their control information.
//!
//! Invariants: a member in sync that is not there is refused, or accepted as lost, before anything
//! is judged without it; nothing is written for a position that is not the damaged one; the members
//! are equal up to the damage, durably, before anything is given up.

use super::{Assembly, mark};
use crate::control::ControlFile;
use crate::error::Error;
use crate::format::LifeId;
use crate::members::heal::{MemberData, equalize, find_lacking};
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::{Reader, Salvage, foresee, salvage};
use device::queue::{Caps, IoOrDevice, LogDevice, Queue};
use device::{DeviceError, Region};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

impl Assembly {
    /// What giving up would keep and lose; `None` where an opening accepts the log. Nothing is
    /// changed.
    ///
    /// # Errors
    /// As of a log without members; a member that fails.
    pub(crate) fn damage(&self) -> Result<Option<Salvage>, Error> {
        let (_, together) = self.together()?;
        let path = together.path.clone();
        foresee(&Reader::new(&together, &self.info, &path, Planted::none()))
    }

    /// The number of the member in sync that lacks least, and what it would be with what the others
    /// have.
    fn together(&self) -> Result<(usize, Together), Error> {
        let numbers: Vec<usize> = self.in_sync().collect();
        let given = || numbers.iter().filter_map(|m| self.present[*m].as_ref());
        let datas: Vec<MemberData<'_>> = given().map(MemberData::of).collect();
        let lacking = find_lacking(&datas, &self.info, Planted::none())?;
        let least = (0..numbers.len()).min_by_key(|at| lacking[*at].len());
        let base = least.expect("an assembly has a member in sync");
        let (geometry, first) = (&self.info.geometry, &datas[base]);
        let owned = |(block, owner): &(u64, usize)| {
            let owner = Arc::clone(datas[*owner].device);
            (geometry.address(*block), owner)
        };
        let together = Together {
            base: Arc::clone(first.device),
            path: first.path.to_owned(),
            block_bytes: geometry.block_bytes.into(),
            others: lacking[base].iter().map(owned).collect(),
        };
        Ok((numbers[base], together))
    }

    /// Gives up the redo from the damaged block at `at` on, on every member: as of a log without
    /// members. Those that are missing are marked stale.
    ///
    /// # Errors
    /// As of a log without members; a member that fails.
    pub(crate) fn salvage(mut self, at: Rba, life: LifeId) -> Result<Salvage, Error> {
        let (base, together) = self.together()?;
        let path = together.path.clone();
        let reader = Reader::new(&together, &self.info, &path, Planted::none());
        let found = foresee(&reader)?;
        if found.is_none_or(|found| found.at != at) {
            let why = match found {
                Some(found) => format!("it is damaged at RBA {}", found.at),
                None => String::from(
                    "its members repair each other: opening it loses nothing that was acknowledged",
                ),
            };
            return Err(Error::Salvage {
                path,
                asked: at,
                why,
            });
        }
        let members: Vec<usize> = self.in_sync().collect();
        let given = members.iter().filter_map(|m| self.present[*m].as_ref());
        let datas: Vec<MemberData<'_>> = given.map(MemberData::of).collect();
        equalize(&datas, &self.info, Planted::none())?;
        let (mut files, mut data) = (Vec::new(), None);
        for member in members {
            let given = self.present[member].take().expect("it is there");
            // What was read may be in a cache alone, and the next write would spare it.
            let file = given.file;
            file.settle()?;
            if member == base {
                data = Some(given.data);
            }
            files.push(file);
        }
        let data = data.expect("it is in sync");
        let mut control = ControlFile::join(files, &self.info)?;
        if self.missing != 0 {
            mark(&mut control, |stale| stale | self.missing)?;
        }
        salvage(&data, &mut control, &path, at, life)
    }
}

/// A member as it would be with the blocks that others have; it can only be read.
struct Together {
    base: Arc<dyn LogDevice>,
    path: PathBuf,
    block_bytes: u64,
    /// Blocks that it lacks, by their address, and who has them.
    others: BTreeMap<u64, Arc<dyn LogDevice>>,
}

// SAFETY: it has no queue, and writes nothing.
unsafe impl LogDevice for Together {
    fn caps(&self) -> Caps {
        self.base.caps()
    }

    fn bytes(&self) -> u64 {
        self.base.bytes()
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        Err(self.read_only())
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.base.read(addr, out)?;
        let end = addr + out.len() as u64;
        let first = addr.saturating_sub(self.block_bytes - 1);
        for (at, owner) in self.others.range(first..end) {
            let (from, upto) = (addr.max(*at), end.min(at + self.block_bytes));
            let part = (from - addr) as usize..(upto - addr) as usize;
            owner.read(from, &mut out[part])?;
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Err(IoOrDevice::Device(self.read_only()))
    }
}

impl Together {
    fn read_only(&self) -> DeviceError {
        DeviceError::Unsuitable {
            path: self.path.clone(),
            what: String::from("it was opened only to be read"),
        }
    }
}
