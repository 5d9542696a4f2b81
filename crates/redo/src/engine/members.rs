//! A log in several places, its members: making them, opening them together.
//!
//! Invariants: every member is locked before it is read and until the log is gone; a member that
//! cannot be opened is missing, never ignored.
//!
//! What it must not know: which members may be believed (`crate::members`).

use super::back_end::BackEnd;
use super::create::hold;
use super::headers::fresh_id;
use super::member_layout::{MemberLayout, MemberPlace, refuse_other_kind};
use super::open::{open_logs, open_member_control};
use super::options::{LogWriter, Options, Paths, Shape};
use super::resilver::{ResilverThread, ResilverWork};
use super::{HeldLog, Log, create};
use crate::control::{Carrier, ControlFile, ControlInfo, MemberTable};
use crate::error::Error;
use crate::members::{
    Assembled, Assembly, CopyTo, GivenMember, Marked, MemberCarrier, MemberState, Standing,
};
use crate::recovery::Recovery;
use crate::sync::Mutex;
use device::file::{Directory, LockGuard, lock_exclusive_at};
use device::{Caps, DeviceError, FileSet, IoEngine, LogDevice};
use measure::Clock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A member that was opened.
pub(super) struct OpenedMember {
    pub(super) given: GivenMember,
    pub(super) files: Option<FileSet>,
    pub(super) lock: Option<LockGuard>,
}

/// What an opened log keeps of its members, and what is assembled.
struct Taken {
    /// With the number of the member each.
    files: Vec<(usize, FileSet)>,
    locks: Vec<LockGuard>,
    given: Vec<GivenMember>,
    carriers: Vec<(usize, Arc<MemberCarrier>)>,
    /// By the numbers of the members; empty for those that are not there.
    paths: Vec<PathBuf>,
}

impl Taken {
    fn of(opened: Vec<OpenedMember>, count: usize, times: &Times) -> Result<Taken, Error> {
        let mut taken = Taken {
            carriers: Vec::new(),
            files: Vec::new(),
            locks: Vec::new(),
            given: Vec::new(),
            paths: vec![PathBuf::new(); count],
        };
        for mut member in opened {
            let (number, carrier) = carry(&mut member.given, member.lock.as_ref(), times)?;
            taken.carriers.push((number, carrier));
            taken
                .files
                .extend(member.files.map(|files| (number, files)));
            taken.locks.extend(member.lock);
            if let Some(path) = taken.paths.get_mut(number) {
                path.clone_from(&member.given.path);
            }
            taken.given.push(member.given);
        }
        Ok(taken)
    }
}

/// For how long a member is waited for, and by which clock.
type Times = (Duration, Arc<dyn Clock>);

/// Has a thread of its own carry what is written to the control information of a member, whose lock
/// it keeps; returns the member's number, too.
fn carry(
    given: &mut GivenMember,
    lock: Option<&LockGuard>,
    times: &Times,
) -> Result<(usize, Arc<MemberCarrier>), Error> {
    let own = given.file.info().members;
    let number = own.map_or(0, |own| usize::from(own.own));
    let carrier = MemberCarrier::start(number, lock.cloned(), times.clone());
    let carrier = Arc::new(carrier.map_err(Error::Thread)?);
    let carries: Arc<dyn Carrier> = Arc::clone(&carrier) as _;
    given.file.carried_by(number, &carries);
    Ok((number, carrier))
}

/// What was found in the places of a log with members.
#[derive(Default)]
struct Places {
    opened: Vec<OpenedMember>,
    /// Why the others could not be opened.
    unopened: Vec<String>,
    /// Where a member that is lost is to be made anew.
    lost: Vec<Directory>,
}

impl Places {
    fn open(layout: &MemberLayout, options: &Options) -> Result<Places, Error> {
        let mut found = Places::default();
        for place in &layout.places {
            match open_member(place, options) {
                Ok(member) => found.opened.push(member),
                Err(error) if is_absence(&error) => match vacant(place, error) {
                    Ok((directory, _)) if layout.replace_lost => found.lost.push(directory),
                    Ok((_, why)) | Err(why) => found.unopened.push(why),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

impl Log {
    pub(super) fn create_members(
        layout: &MemberLayout,
        shape: Shape,
        progress: create::Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        if layout.ring.is_some() {
            return Log::create_ring(layout, shape, progress, cancel);
        }
        let table = layout.table()?;
        layout.refuse_shared_disks()?;
        let mut held = Vec::new();
        for place in &layout.places {
            match place {
                MemberPlace::Directory(path) => held.push(hold(path)?),
                MemberPlace::OpenDirectory(directory) => held.push(directory.clone()),
                MemberPlace::Devices { .. } => {}
            }
        }
        if held.len() == layout.places.len() {
            return Log::create_members_at(&held, table, shape, progress, cancel);
        }
        let path = Path::new(Paths::CONTROL);
        let devices = layout.places.iter().filter_map(|place| match place {
            MemberPlace::Devices { data, control } => Some((data, control)),
            MemberPlace::Directory(_) | MemberPlace::OpenDirectory(_) => None,
        });
        let caps = Caps::common(devices.clone().map(|(data, _)| data.caps()));
        let geometry = shape.geometry(&caps.expect("a log has members"), path)?;
        let info = ControlInfo::new(fresh_id(path), geometry);
        for (own, (_, control)) in (0_u8..).zip(devices) {
            let info = info.clone().with_members(MemberTable { own, ..table });
            ControlFile::create(Arc::clone(control), path, info)?;
        }
        Ok(())
    }

    pub(super) fn open_members(
        layout: MemberLayout,
        mut options: Options,
    ) -> Result<(Log, Recovery), Error> {
        if layout.ring.is_some() {
            return Log::open_ring(&layout, options);
        }
        let table = layout.table()?;
        layout.refuse_shared_disks()?;
        let mut notes = one_batch_at_a_time(&mut options);
        let times = (options.member_patience, options.clock_of_members());
        let Places {
            opened,
            unopened,
            lost,
        } = Places::open(&layout, &options)?;
        let Taken {
            mut files,
            mut locks,
            given,
            mut carriers,
            mut paths,
        } = Taken::of(opened, table.count.into(), &times)?;
        let places: Vec<PathBuf> = lost.iter().map(|d| d.path().to_owned()).collect();
        let assembly = Assembly::with_lost(given, layout.accept_loss, &places, options.planted);
        let assembly = assembly.map_err(|error| with_reasons(error, &unopened))?;
        let found = assembly.info.members.unwrap_or(table);
        refuse_other_kind(&layout, table, found)?;
        let geometry = assembly.info.geometry;
        let buffer = options.ring_blocks(&geometry)? * u64::from(geometry.block_bytes);
        let scan = options.damage_scan.at_least(buffer);
        let method = options.sync_method;
        let mut lost = lost.into_iter();
        let mut make = |member: usize, info: &ControlInfo, copy: &CopyTo<'_>| {
            let directory = lost.next().expect("as many places as lost members");
            let made = create::make_member(&directory, info, method, |files| {
                let data: Arc<dyn LogDevice> = Arc::new(files.clone());
                copy(&data, directory.path())
            })?;
            let path = directory.path().to_owned();
            paths[member].clone_from(&path);
            files.push((member, made.files.clone()));
            let mut given = GivenMember {
                path,
                file: made.control,
                data: Arc::new(made.files),
            };
            carriers.push(carry(&mut given, Some(&made.lock), &times)?);
            locks.push(made.lock);
            Ok(given)
        };
        let Assembled {
            control,
            members,
            notes: assembled,
        } = assembly.open_and_make(scan, options.planted, &mut make)?;
        notes.extend(assembled);
        notes.extend(unopened);
        let standing = Arc::clone(&members.standing);
        standing.set_outlier(options.outlier);
        standing.set_patience(times.0);
        standing.set_clock(Arc::clone(&times.1));
        let (retry, devices) = (options.member_retry, members.devices.clone());
        let path = control.path().to_owned();
        let path = path.parent().unwrap_or(&path);
        let (mut log, recovery) = Log::start(Arc::new(members), control, path, options, locks)?;
        log.keep_members(&standing, (files, carriers), paths.clone());
        if let Some(pause) = retry {
            let devices = devices.into_iter().zip(paths).collect();
            log.begin_resilvering(standing, devices, pause)?;
        }
        log.say_first(BackEnd {
            sync_method: Some(method),
            fallbacks: notes,
            ..BackEnd::default()
        });
        Ok((log, recovery))
    }

    /// Has members that are given up copied again, each after this pause.
    fn begin_resilvering(
        &mut self,
        standing: Arc<Standing>,
        devices: Vec<(Option<Arc<dyn LogDevice>>, PathBuf)>,
        pause: Duration,
    ) -> Result<(), Error> {
        let work = ResilverWork {
            standing,
            held: Arc::downgrade(&self.held),
            core: Arc::downgrade(&self.core),
            devices,
            pause,
        };
        self.resilver = Mutex::new(Some(ResilverThread::start(work)?));
        Ok(())
    }

    /// Its checkpoints look whether the files are still there, and members that fail are marked
    /// stale in its control information.
    fn keep_members(
        &self,
        standing: &Arc<Standing>,
        (files, carriers): (Vec<(usize, FileSet)>, Vec<(usize, Arc<MemberCarrier>)>),
        paths: Vec<PathBuf>,
    ) {
        self.view.keep_members(standing, paths);
        for (_, carrier) in &carriers {
            carrier.join(standing);
        }
        if let Some(held) = self.held.lock().expect("nobody else has it yet").as_mut() {
            let agreed = Arc::clone(standing);
            held.control.agree(Box::new(move || agreed.unmarked()));
            (held.files, held.carriers) = (files, carriers);
            held.members = Some(Arc::clone(standing));
            // A member may have failed in the update with which recovery ended.
            held.updated();
        }
        let held: Weak<Mutex<Option<HeldLog>>> = Arc::downgrade(&self.held);
        standing.set_fence(Box::new(move |members| mark_stale(&held, members)));
    }

    /// How each member is, in their order; none where the log has none or is closed.
    #[must_use]
    pub fn members(&self) -> Vec<MemberState> {
        self.view.members()
    }
}

impl HeldLog {
    /// Looks whether the files of the log are still there: what is written to a file without a name
    /// is lost with this process. A member without its files is given up by the log writer.
    pub(super) fn still_there(&self) -> Result<(), DeviceError> {
        let Some(standing) = &self.members else {
            return self.files.iter().try_for_each(|(_, set)| set.still_there());
        };
        let (mut gone, mut left) = (None, self.files.is_empty());
        for (member, set) in &self.files {
            if standing.is_stale(*member) {
                continue;
            }
            match look(set, self.carrier(*member)) {
                // It does not answer, and is given up.
                None => {}
                Some(Ok(())) => left = true,
                Some(Err(error)) => {
                    standing.condemn(*member);
                    gone = gone.or(Some(error));
                }
            }
        }
        match gone {
            Some(error) if !left => Err(error),
            _ => Ok(()),
        }
    }

    fn carrier(&self, member: usize) -> Option<&Arc<MemberCarrier>> {
        let mut carriers = self.carriers.iter();
        carriers.find_map(|(of, carrier)| (*of == member).then_some(carrier))
    }

    /// What looks whether the files of a member are still there, which may take long.
    pub(super) fn look_for_files(&self, member: usize) -> impl FnOnce() -> bool + use<> {
        let files = self.files.iter().filter(|(owner, _)| *owner == member);
        let files: Vec<FileSet> = files.map(|(_, set)| set.clone()).collect();
        let carrier = self.carrier(member).cloned();
        move || {
            let there = |set| matches!(look(set, carrier.as_ref()), Some(Ok(())));
            files.iter().all(there)
        }
    }

    /// The control information was updated, and may have lost a member in it.
    pub(super) fn updated(&self) {
        self.view.updated(self.control.info());
        if let (Some(standing), Some(table)) = (&self.members, self.control.info().members) {
            standing.updated(table.stale);
        }
    }
}

/// Whether the files of a member are still there; `None` where it does not answer.
fn look(set: &FileSet, carrier: Option<&Arc<MemberCarrier>>) -> Option<Result<(), DeviceError>> {
    let Some(carrier) = carrier else {
        return Some(set.still_there());
    };
    let set = set.clone();
    carrier.ask(move || set.still_there())
}

/// Marks members stale, durably on all others. Called by the log writer, which acknowledges nothing
/// meanwhile.
fn mark_stale(held: &Weak<Mutex<Option<HeldLog>>>, members: u16) -> Marked {
    let Some(held) = held.upgrade() else {
        return Marked::Failed;
    };
    let Ok(mut held) = held.lock() else {
        return Marked::Failed;
    };
    let Some(held) = held.as_mut() else {
        return Marked::Failed;
    };
    let known = held.control.info().members;
    if known.is_some_and(|table| table.stale & members == members) {
        // The update that was under way has marked them.
        held.updated();
        return Marked::Durable;
    }
    let marked = held.control.update(|info| {
        if let Some(table) = &mut info.members {
            table.stale |= members;
        }
        Ok(())
    });
    match marked {
        Ok(()) => {
            held.updated();
            Marked::Durable
        }
        Err(_) => Marked::Failed,
    }
}

/// What members do not have yet, in words.
pub(super) fn one_batch_at_a_time(options: &mut Options) -> Vec<String> {
    let mut notes = Vec::new();
    if options.log_writer.workers().is_some() || options.policy.depth > 1 {
        notes.push(String::from(
            "a log with members has one log write in flight: one thread writes, without workers",
        ));
        if options.log_writer.workers().is_some() {
            options.log_writer = LogWriter::Lgwr;
        }
        options.policy.depth = 1;
    }
    if options.io == IoEngine::IoUring {
        notes.push(String::from(
            "each member has a thread that writes it: io_uring is not used",
        ));
        options.io = IoEngine::Threads;
    }
    if options.probe {
        notes.push(format!(
            "the ways of writing are not probed for members: {} is used",
            options.sync_method
        ));
        options.probe = false;
    }
    notes
}

pub(super) fn open_member(place: &MemberPlace, options: &Options) -> Result<OpenedMember, Error> {
    match place {
        MemberPlace::Directory(path) => open_member_in(&hold(path)?, options),
        MemberPlace::OpenDirectory(held) => open_member_in(held, options),
        MemberPlace::Devices { data, control } => {
            let path = Path::new(Paths::CONTROL);
            Ok(OpenedMember {
                given: GivenMember {
                    path: path.to_owned(),
                    file: ControlFile::load_member(Arc::clone(control), path)?,
                    data: Arc::clone(data),
                },
                files: None,
                lock: None,
            })
        }
    }
}

fn open_member_in(directory: &Directory, options: &Options) -> Result<OpenedMember, Error> {
    let at = directory.entry(Paths::CONTROL)?;
    create::require_log(directory)?;
    let lock = lock_exclusive_at(&at)?;
    // Its creator may have been killed before the name was durable.
    directory.sync()?;
    let file = open_member_control(&at)?;
    let set = open_logs(directory, file.info(), options.sync_method)?;
    Ok(OpenedMember {
        given: GivenMember {
            path: directory.path().to_owned(),
            file,
            data: Arc::new(set.clone()),
        },
        files: Some(set),
        lock: Some(lock),
    })
}

/// The member cannot be used now: as if it had not been given. What shows that something else was
/// meant (another log, a log in use, a later version) is no absence.
pub(super) fn is_absence(error: &Error) -> bool {
    match error {
        Error::Device(DeviceError::InUse { .. }) => false,
        Error::Device(_)
        | Error::NoDirectory { .. }
        | Error::NoLog { .. }
        | Error::ControlDamaged { .. }
        | Error::Unfinished { .. } => true,
        _ => false,
    }
}

/// The directory in which a member could be made, since it holds nothing, and what to do there in
/// words; else what was wrong with it.
fn vacant(place: &MemberPlace, error: Error) -> Result<(Directory, String), String> {
    let directory = match place {
        MemberPlace::Directory(path) => hold(path).ok(),
        MemberPlace::OpenDirectory(held) => Some(held.clone()),
        MemberPlace::Devices { .. } => None,
    };
    let found = directory.and_then(|held| create::vacancy(&held).map(|why| (held, why)));
    let (directory, why) = found.ok_or_else(|| error.to_string())?;
    let what = format!(
        "{}: {why}: if its member is lost, have it made again there (--replace-member, or \
         MemberLayout::replace_lost)",
        directory.path().display()
    );
    Ok((directory, what))
}

/// The members that could not be opened belong to what is wrong.
fn with_reasons(error: Error, unopened: &[String]) -> Error {
    match error {
        Error::Members { path, what } if !unopened.is_empty() => Error::Members {
            path,
            what: format!("{what} ({})", unopened.join("; ")),
        },
        other => other,
    }
}
