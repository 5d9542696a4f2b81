//! The control file: reading both copies of the control information, and changing them.
//!
//! Invariants: an update never writes first the only copy that is believed; it returns when both
//! copies are durable, on every member in sync. A member that fails is marked stale before the
//! update returns, where others have everything that was acknowledged. What it must not know: how a
//! copy is encoded.

use super::place::{Carrier, Place};
use super::{COPY_BYTES, ControlInfo, CopyProblem, MemberTable};
use crate::error::Error;
use crate::format::LogId;
use crate::group::Geometry;
use crate::planted::{Bug, Planted};
use device::queue::IoOrDevice;
use device::{IoFailure, LogDevice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// EIO, of what is not tried any more.
const FAILED: IoOrDevice = IoOrDevice::Io(IoFailure { errno: 5 });

/// Which members may be marked stale, each alone, a bit for each; see [`ControlFile::agree`].
pub(crate) type Agreed = Box<dyn Fn() -> u16 + Send + Sync>;

/// The control file, open: one, or that of each member.
pub struct ControlFile {
    places: Vec<Place>,
    /// Those of members that were marked stale since it was read.
    left: Vec<Place>,
    agreed: Option<Agreed>,
    path: PathBuf,
    info: ControlInfo,
    /// Writing it has failed: what the disk holds is unknown.
    failed: bool,
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
        if let Some(members) = file.info.members {
            let what = format!(
                "this is member {} of a log with {} members: open them together",
                members.own + 1,
                members.count
            );
            let path = path.to_owned();
            return Err(Error::Members { path, what });
        }
        if file.info.ring.is_some_and(|ring| !ring.spare) {
            let what = String::from(
                "this is the disk of a log with a ring, which may have redo that it lacks: open \
                 them together",
            );
            let path = path.to_owned();
            return Err(Error::Members { path, what });
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
                Ok(info) if best.as_ref().is_none_or(|b| is_older(b, &info)) => {
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
                places: vec![Place::new(device, &info, good)],
                left: Vec::new(),
                agreed: None,
                path,
                info,
                failed: false,
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
        let mut place = Place::new(device, &info, None);
        if info.members.is_none() {
            place.written = place.written.wrapping_sub(1);
        }
        let mut file = ControlFile {
            places: vec![place],
            left: Vec::new(),
            agreed: None,
            path: path.to_owned(),
            info,
            failed: false,
            planted: Planted::none(),
        };
        // A member that is made anew is stale in its own.
        let written = file.write_copies();
        written.map_err(|(_, error)| Error::control(&file.path, error))?;
        Ok(file)
    }

    /// What errors name.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Has everything that is written to `member` from now on carried by `carrier`.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn carried_by(&mut self, member: usize, carrier: &Arc<dyn Carrier>) {
        let all = self.places.iter_mut().chain(&mut self.left);
        for place in all.filter(|place| place.member == member) {
            place.carrier = Some(Arc::clone(carrier));
        }
    }

    /// From now on a member that fails in an update is marked alone where `agreed` contains it: in
    /// its cell others have everything that was acknowledged, and nothing is acknowledged before
    /// the mark is durable.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn agree(&mut self, agreed: Agreed) {
        self.agreed = Some(agreed);
    }

    /// Nothing that was written to `member` is still under way.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn is_at_rest(&self, member: usize) -> bool {
        let mut all = self.places.iter().chain(&self.left);
        let busy = |place: &Place| place.carrier.as_ref().is_some_and(|c| c.is_busy());
        !all.any(|place| place.member == member && busy(place))
    }

    /// What it holds.
    #[must_use]
    pub fn info(&self) -> &ControlInfo {
        &self.info
    }

    /// The control files of a log's members as one, which says what `newest` says, the information
    /// of one of them. Each of `files` was loaded from a member in sync, and together they
    /// [suffice](MemberTable::suffice). Those that say otherwise are brought up to date, each from
    /// its own good copy, one after the other; nothing may rest on the control information before.
    ///
    /// # Errors
    /// When one of the devices fails.
    ///
    /// # Panics
    /// Without a file.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn join(
        files: Vec<ControlFile>,
        newest: &ControlInfo,
    ) -> Result<ControlFile, Error> {
        let mut joined: Option<ControlFile> = None;
        for mut file in files {
            if !file.info.states_as(newest) || file.is_in_doubt() {
                let own = file.info.members.map(|members| members.own);
                file.info = newest.clone();
                if let (Some(members), Some(own)) = (&mut file.info.members, own) {
                    members.own = own;
                }
                let written = file.write_copies();
                written.map_err(|(_, error)| Error::control(&file.path, error))?;
            }
            match &mut joined {
                Some(joined) => joined.places.append(&mut file.places),
                None => joined = Some(file),
            }
        }
        Ok(joined.expect("at least one file"))
    }

    /// A member that returns, by the control file that it has: it gets what this one holds, from
    /// its own good copy on, and each update from now on. It is as stale as it was before.
    ///
    /// # Errors
    /// When its device fails.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn admit(&mut self, mut file: ControlFile) -> Result<(), Error> {
        file.settle()?;
        file.info = self.info.clone();
        let written = file.write_copies();
        written.map_err(|(_, error)| Error::control(&file.path, error))?;
        // They are written first: that it is in sync is on it before it is on the others.
        self.places.splice(0..0, file.places);
        Ok(())
    }

    /// Updates begin with the lowest member again, after one that was admitted. An update that a
    /// kill interrupted may surface after a later power cut, with a number that the next opening
    /// gives to something else: it does not where that opening writes the same copy first.
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn in_order(&mut self) {
        self.places.sort_by_key(|place| place.member);
    }

    /// A member that was marked stale since this was read is in sync again: it gets what this
    /// holds, then it is durable that it is in sync, on itself first. False when it failed: it is
    /// durable that it is stale, on the others.
    ///
    /// # Errors
    /// When one of the others fails; the caller must not go on, as after [`ControlFile::update`].
    #[cfg_attr(feature = "loom", allow(dead_code))]
    pub(crate) fn readmit(&mut self, member: usize) -> Result<bool, Error> {
        self.go_on()?;
        let before = self.info.clone();
        if !self.is_at_rest(member) {
            return Ok(false);
        }
        let found = self.left.iter().position(|place| place.member == member);
        let (Some(at), Some(mut table)) = (found, before.members) else {
            return Ok(false);
        };
        // What is known of its copies, and not what they read: a copy whose flush failed may read
        // well, and no later flush makes it durable.
        let mut returns = ControlFile {
            places: vec![self.left.remove(at)],
            left: Vec::new(),
            agreed: None,
            path: self.path.clone(),
            info: before.clone(),
            failed: false,
            planted: self.planted,
        };
        let written = returns.write_copies();
        if written.is_err() {
            self.left.append(&mut returns.places);
            return Ok(false);
        }
        // They are written first: that it is in sync is on it before it is on the others.
        self.places.splice(0..0, returns.places);
        table.stale &= !(1 << member);
        self.info.members = Some(table);
        self.info.generation += 1;
        let stored = match self.store_once() {
            Ok(()) => Ok(()),
            Err((failed, error)) => {
                let marked = match failed == member {
                    true => before.members,
                    false => self.without(table, failed),
                };
                self.info.members = marked;
                self.info.generation += 1;
                match marked {
                    Some(_) => self.store(),
                    None => Err(Error::control(&self.path, error)),
                }
            }
        };
        self.in_order();
        if let Err(error) = stored {
            (self.info, self.failed) = (before, true);
            return Err(error);
        }
        Ok(self.info.members.is_some_and(|table| table.in_sync(member)))
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
        let settle = |place: &Place| place.carry(|device| device.settle());
        let mut all = self.places.iter().map(settle);
        let settled = all.try_for_each(|settled| settled);
        settled.map_err(|e| Error::control(&self.path, e))
    }

    /// Changes the information and makes the change durable before it returns. When that fails
    /// the change is not kept: what the disk holds is unknown, and nothing is written any more.
    ///
    /// # Errors
    /// Of the change itself, or of the device, also in an earlier update.
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

    /// Changes the information without making the change durable: the next update does.
    pub(crate) fn change_in_memory(
        &mut self,
        change: impl FnOnce(&mut ControlInfo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        change(&mut self.info)
    }

    /// The copies of a member differ.
    fn is_in_doubt(&self) -> bool {
        self.places.iter().any(|place| place.good.is_some())
    }

    fn go_on(&self) -> Result<(), Error> {
        match self.failed {
            true => Err(Error::control(&self.path, FAILED)),
            false => Ok(()),
        }
    }

    /// Writes both copies, one after the other. First the one that is not believed, so that a torn
    /// write never hits the only good one.
    ///
    /// A member that fails ends the pass: no other one gets what rests on it. It is marked stale,
    /// and all is written again.
    fn store(&mut self) -> Result<(), Error> {
        self.go_on()?;
        while let Err((member, error)) = self.store_once() {
            let marked = self.info.members;
            let marked = marked.and_then(|table| self.without(table, member));
            let Some(marked) = marked else {
                self.failed = true;
                return Err(Error::control(&self.path, error));
            };
            self.info.members = Some(marked);
            self.info.generation += 1;
        }
        Ok(())
    }

    /// `table` after `member` failed in an update. Where nothing else is known of it, its cell is
    /// stale as a whole, and another one has everything that was acknowledged. `None` where there
    /// is none.
    fn without(&self, table: MemberTable, member: usize) -> Option<MemberTable> {
        let mut marked = table;
        let agreed = self.agreed.as_ref().map_or(0, |agreed| agreed());
        if agreed >> member & 1 != 0 {
            marked.stale |= agreed;
            return marked.all().any(|m| marked.in_sync(m)).then_some(marked);
        }
        if !table.suffice(|other| other != member) {
            return None;
        }
        let cell = table.cells().find(|cell| cell.contains(&member))?;
        cell.for_each(|member| marked.stale |= 1 << member);
        Some(marked)
    }

    /// Both copies on every member in sync, or the member that failed.
    fn store_once(&mut self) -> Result<(), (usize, IoOrDevice)> {
        let members = self.info.members;
        let in_sync = |place: &Place| members.is_none_or(|m| m.in_sync(place.member));
        let gone = self.places.extract_if(.., |place| !in_sync(place));
        self.left.extend(gone);
        if self.places.is_empty() {
            // Marking members stale has left none that could keep it.
            return Err((0, FAILED));
        }
        self.write_copies()
    }

    fn write_copies(&mut self) -> Result<(), (usize, IoOrDevice)> {
        if self.planted.has(Bug::ControlCopiesTogether) {
            return self.store_together();
        }
        let alone = self.planted.has(Bug::CheckpointOnOneMember);
        let count = if alone { 1 } else { self.places.len() };
        let next = |place: &Place| place.next(&self.info, self.planted);
        let plan: Vec<(u64, u64)> = self.places[..count].iter().map(next).collect();
        for second in [false, true] {
            for (at, (first, written)) in plan.iter().enumerate() {
                let copy = if second { 1 - first } else { *first };
                let place = &self.places[at];
                let bytes = self.encoded_for(place, *written);
                let addr = copy * COPY_BYTES as u64;
                let write =
                    move |to: &dyn LogDevice| device::queue::write_durable(to, addr, &bytes);
                place.carry(write).map_err(|error| (place.member, error))?;
                let place = &mut self.places[at];
                place.good = (!second).then_some(copy);
                place.written = *written;
            }
        }
        Ok(())
    }

    /// A copy's bytes for this place, in its writing of this number.
    fn encoded_for(&self, place: &Place, written: u64) -> Vec<u8> {
        let mut info = self.info.clone();
        if let Some(members) = &mut info.members {
            members.own = place.member as u8;
            members.written = written as u16;
        }
        info.encode()
    }

    /// Both copies behind one flush: a fence that a test removes.
    #[cold]
    fn store_together(&self) -> Result<(), (usize, IoOrDevice)> {
        self.places.iter().try_for_each(|place| {
            let (_, written) = place.next(&self.info, self.planted);
            let bytes = self.encoded_for(place, written);
            let both = [&bytes[..], &bytes[..]].concat();
            let written = device::queue::write_durable(&*place.device, 0, &both);
            written.map_err(|error| (place.member, error))
        })
    }
}

/// Whether a copy is older than the other one of the same place. Their numbers of writing are close
/// to each other.
fn is_older(a: &ControlInfo, b: &ControlInfo) -> bool {
    let written = |info: &ControlInfo| info.members.map_or(0, |m| m.written);
    let behind = written(b).wrapping_sub(written(a)) as i16 > 0;
    a.generation < b.generation || a.generation == b.generation && behind
}
