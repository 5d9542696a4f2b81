//! The control file: reading both copies of the control information, and changing them.
//!
//! Invariants: an update never writes first the only copy that is believed; it returns when both
//! copies are durable. What it must not know: how a copy is encoded.

use super::{COPY_BYTES, ControlInfo, CopyProblem};
use crate::error::Error;
use crate::format::LogId;
use crate::group::Geometry;
use crate::planted::{Bug, Planted};
use device::LogDevice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The control file, open.
pub struct ControlFile {
    device: Arc<dyn LogDevice>,
    path: PathBuf,
    info: ControlInfo,
    /// The only copy that is believed; an update writes the other first. `None` when both copies
    /// say the same.
    good: Option<u64>,
    planted: Planted,
}

impl ControlFile {
    /// Makes the control information of a log of `geometry` on a device of
    /// [`CONTROL_BYTES`](super::CONTROL_BYTES) that holds nothing: for models and tests.
    ///
    /// # Errors
    /// When the device fails.
    pub fn format(
        device: Arc<dyn LogDevice>,
        geometry: Geometry,
        log_id: LogId,
    ) -> Result<(), Error> {
        let info = ControlInfo::new(log_id, geometry);
        ControlFile::create(device, Path::new("redo.ctl"), info).map(|_| ())
    }

    /// Reads the control file.
    ///
    /// # Errors
    /// When neither copy can be believed, with what is wrong with it.
    pub fn load(device: Arc<dyn LogDevice>, path: &Path) -> Result<ControlFile, Error> {
        let mut best: Option<ControlInfo> = None;
        let mut good = None;
        let mut problem = CopyProblem::Damaged;
        let mut unreadable = None;
        for copy in 0..2 {
            let mut bytes = vec![0_u8; COPY_BYTES];
            if let Err(error) = device.read(copy * COPY_BYTES as u64, &mut bytes) {
                unreadable = Some(error);
                continue;
            }
            match ControlInfo::decode(&bytes) {
                Ok(info) if best.as_ref().is_none_or(|b| b.generation < info.generation) => {
                    best = Some(info);
                    good = Some(copy);
                }
                Ok(info) if best.as_ref() == Some(&info) => good = None,
                Ok(_) => {}
                Err(CopyProblem::Damaged) => {}
                Err(other) => problem = other,
            }
        }
        let path = path.to_owned();
        if let (None, Some(error)) = (&best, unreadable) {
            return Err(error.into());
        }
        match (best, problem) {
            (Some(_), CopyProblem::Version(found)) => Err(Error::Version { path, found }),
            (Some(info), _) => Ok(ControlFile {
                device,
                path,
                info,
                good,
                planted: Planted::none(),
            }),
            (None, CopyProblem::NotOurs) => Err(Error::NotALog { path }),
            (None, CopyProblem::Version(found)) => Err(Error::Version { path, found }),
            (None, CopyProblem::Damaged) => Err(Error::ControlDamaged { path }),
        }
    }

    /// Writes the first control information of a new log.
    ///
    /// # Errors
    /// When the device fails.
    pub fn create(
        device: Arc<dyn LogDevice>,
        path: &Path,
        info: ControlInfo,
    ) -> Result<ControlFile, Error> {
        let mut file = ControlFile {
            device,
            path: path.to_owned(),
            info,
            good: None,
            planted: Planted::none(),
        };
        file.store()?;
        Ok(file)
    }

    /// What it holds.
    #[must_use]
    pub fn info(&self) -> &ControlInfo {
        &self.info
    }

    /// From now on it has this bug.
    pub(crate) fn plant(&mut self, planted: Planted) {
        self.planted = planted;
    }

    /// Makes durable what was read. A process that was killed between writing a copy and flushing
    /// it leaves that copy in a cache, where it is believed; without this an update would write
    /// the other copy, which is then the only durable one.
    ///
    /// # Errors
    /// When the device fails; nothing was changed then.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let settled = self.device.settle();
        settled.map_err(|e| Error::control(&self.path, e))
    }

    /// Changes the information and makes the change durable before it returns. When that fails
    /// the change is not kept: what the disk holds is unknown, and the caller must not go on.
    ///
    /// # Errors
    /// Of the change itself, or of the device.
    pub fn update<R>(
        &mut self,
        change: impl FnOnce(&mut ControlInfo) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let before = self.info.clone();
        let result = change(&mut self.info).and_then(|value| {
            self.info.generation += 1;
            self.store().map(|()| value)
        });
        if result.is_err() {
            self.info = before;
        }
        result
    }

    /// Changes the information without making the change durable: a fence that a test removes.
    pub(crate) fn change_in_memory(
        &mut self,
        change: impl FnOnce(&mut ControlInfo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        change(&mut self.info)
    }

    /// Writes both copies, one after the other. First the one that is not believed, so that a torn
    /// write never hits the only good one. Where both say the same, the generation decides: an
    /// update that was interrupted before had the same number, so what it left in doubt, though it
    /// may read well, is what this one writes first.
    fn store(&mut self) -> Result<(), Error> {
        let bytes = self.info.encode();
        let first = match self.good {
            Some(good) if self.planted.has(Bug::GoodCopyFirst) => good,
            Some(good) => 1 - good,
            None => self.info.generation % 2,
        };
        if self.planted.has(Bug::ControlCopiesTogether) {
            return self.store_together(&bytes);
        }
        for copy in [first, 1 - first] {
            device::queue::write_durable(&*self.device, copy * COPY_BYTES as u64, &bytes)
                .map_err(|e| Error::control(&self.path, e))?;
        }
        self.good = None;
        Ok(())
    }

    /// Both copies behind one flush: a fence that a test removes.
    #[cold]
    fn store_together(&self, bytes: &[u8]) -> Result<(), Error> {
        device::queue::write_durable(&*self.device, 0, &[bytes, bytes].concat())
            .map_err(|e| Error::control(&self.path, e))
    }
}
