//! The control file: reading both copies of the control information, and changing them.
//!
//! Invariants: an update never writes first the only copy that is believed; it returns when both
//! copies are durable, on every member in sync. A member that fails is marked stale before the
//! update returns, where others have everything that was acknowledged. What it must not know: how a
//! copy is encoded.

use super::{COPY_BYTES, ControlInfo, CopyProblem, MemberTable};
use crate::error::Error;
use crate::format::LogId;
use crate::group::Geometry;
use crate::planted::{Bug, Planted};
use device::LogDevice;
use device::queue::IoOrDevice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where control information lies: with one member, or of a log without members.
#[derive(Clone)]
pub struct ControlPlace {
    /// The member, from 0.
    pub member: usize,
    /// A device of [`CONTROL_BYTES`](super::CONTROL_BYTES).
    pub device: Arc<dyn LogDevice>,
}

/// The control file, open: one, or that of each member.
pub struct ControlFile {
    places: Vec<ControlPlace>,
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

    /// Reads the control file of a log without members.
    ///
    /// # Errors
    /// When neither copy can be believed, with what is wrong with it; that of a member, since going
    /// on with one of them alone would lose what the others get.
    pub fn load(device: Arc<dyn LogDevice>, path: &Path) -> Result<ControlFile, Error> {
        let file = ControlFile::load_member(device, path)?;
        if file.info.members.is_some() {
            let path = path.to_owned();
            let found = file.info.version;
            return Err(Error::Version { path, found });
        }
        Ok(file)
    }

    /// Reads the control file of a member, or of a log without members.
    ///
    /// # Errors
    /// When neither copy can be believed, with what is wrong with it.
    pub(crate) fn load_member(
        device: Arc<dyn LogDevice>,
        path: &Path,
    ) -> Result<ControlFile, Error> {
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
                places: vec![ControlPlace {
                    member: info.members.map_or(0, |members| members.own.into()),
                    device,
                }],
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
        let member = info.members.map_or(0, |members| members.own.into());
        let mut file = ControlFile {
            places: vec![ControlPlace { member, device }],
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

    /// The control files of a log's members as one, which says the newest that one of them says.
    /// Each of `files` was loaded from a member in sync, and together they
    /// [suffice](MemberTable::suffice). Those that say less are brought up to date, each from its
    /// own good copy, one after the other; nothing may rest on the control information before.
    ///
    /// # Errors
    /// When one of the devices fails.
    ///
    /// # Panics
    /// Without a file.
    #[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
    pub(crate) fn join(files: Vec<ControlFile>) -> Result<ControlFile, Error> {
        let best = files.iter().max_by_key(|file| file.info.generation);
        let best = best.expect("at least one file").info.clone();
        let mut joined: Option<ControlFile> = None;
        for mut file in files {
            if file.info.generation < best.generation || file.good.is_some() {
                let own = file.info.members.map(|members| members.own);
                file.info = best.clone();
                if let (Some(members), Some(own)) = (&mut file.info.members, own) {
                    members.own = own;
                }
                file.store()?;
            }
            match &mut joined {
                Some(joined) => joined.places.append(&mut file.places),
                None => joined = Some(file),
            }
        }
        Ok(joined.expect("at least one file"))
    }

    #[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
    /// A member that returns: from the next update on it has this control information, too.
    pub(crate) fn admit(&mut self, place: ControlPlace) {
        // It is written first: that it is in sync is on it before it is on the others.
        self.places.insert(0, place);
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
        let mut all = self.places.iter().map(|place| place.device.settle());
        let settled = all.try_for_each(|settled| settled);
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
        let first = match self.good {
            Some(good) if self.planted.has(Bug::GoodCopyFirst) => good,
            Some(good) => 1 - good,
            None => self.info.generation % 2,
        };
        self.places.retain(|place| {
            let members = self.info.members;
            members.is_none_or(|members| members.in_sync(place.member))
        });
        let mut failed = Failed::default();
        if self.planted.has(Bug::ControlCopiesTogether) {
            self.store_together(&mut failed);
        } else {
            let alone = self.planted.has(Bug::CheckpointOnOneMember);
            let places = if alone { 1 } else { self.places.len() };
            for copy in [first, 1 - first] {
                for place in &self.places[..places.min(self.places.len())] {
                    failed.look(place.member, || {
                        let bytes = self.encoded_for(place);
                        let at = copy * COPY_BYTES as u64;
                        device::queue::write_durable(&*place.device, at, &bytes)
                    });
                }
            }
        }
        self.good = None;
        let Some(error) = failed.error.take() else {
            return Ok(());
        };
        let marked = self.info.members.and_then(|table| failed.marked(table));
        let Some(marked) = marked else {
            return Err(Error::control(&self.path, error));
        };
        self.info.members = Some(marked);
        self.info.generation += 1;
        self.store()
    }

    /// A copy's bytes for this place.
    fn encoded_for(&self, place: &ControlPlace) -> Vec<u8> {
        let mut info = self.info.clone();
        if let Some(members) = &mut info.members {
            members.own = place.member as u8;
        }
        info.encode()
    }

    /// Both copies behind one flush: a fence that a test removes.
    #[cold]
    fn store_together(&self, failed: &mut Failed) {
        for place in &self.places {
            let bytes = self.encoded_for(place);
            failed.look(place.member, || {
                device::queue::write_durable(&*place.device, 0, &[&bytes[..], &bytes[..]].concat())
            });
        }
    }
}

/// The members that failed in an update, and the first failure.
#[derive(Default)]
struct Failed {
    members: u16,
    error: Option<IoOrDevice>,
}

impl Failed {
    /// Does `work` for `member`, unless it failed before.
    fn look(&mut self, member: usize, work: impl FnOnce() -> Result<(), IoOrDevice>) {
        if self.members >> member & 1 != 0 {
            return;
        }
        if let Err(error) = work() {
            self.members |= 1 << member;
            self.error.get_or_insert(error);
        }
    }

    /// `table` with these members marked stale. What they alone hold is not known here: a cell of
    /// which one fails is stale as a whole, and another one, of which none failed, has everything
    /// that was acknowledged. `None` where there is none.
    fn marked(&self, table: MemberTable) -> Option<MemberTable> {
        let fails = |member: usize| self.members >> member & 1 != 0;
        if !table.suffice(|member| !fails(member)) {
            return None;
        }
        let mut marked = table;
        for cell in table.cells() {
            if cell.clone().any(fails) {
                cell.for_each(|member| marked.stale |= 1 << member);
            }
        }
        Some(marked)
    }
}
