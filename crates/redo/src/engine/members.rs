//! A log in several places, its members: making them, opening them together.
//!
//! Invariants: every member is locked before it is read and until the log is gone; a member that
//! cannot be opened is missing, never ignored.
//!
//! What it must not know: which members may be believed (`crate::members`).

use super::back_end::BackEnd;
use super::create::hold;
use super::headers::fresh_id;
use super::headers::{open_logs, open_member_control};
use super::member_layout::{MemberLayout, MemberPlace, refuse_other_kind};
use super::open::{check_fit, require_log};
use super::openings::{self, Times};
use super::options::{LogWriter, Options, Paths, Shape};
use super::resilver::{ResilverThread, ResilverWork};
use super::{Log, create};
use crate::control::{Carrier, ControlFile, ControlInfo, MemberTable};
use crate::error::Error;
use crate::group::Geometry;
use crate::members::{
    Assembled, Assembly, CopyTo, GivenMember, MemberCarrier, MemberState, Standing,
};
use crate::recovery::{DamageScan, Recovery};
use crate::sync::Mutex;
use device::file::{Directory, LockGuard, SyncMethod, lock_exclusive_at};
use device::{Caps, DeviceError, FileSet, IoEngine, LogDevice};
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
pub(super) struct Places {
    pub(super) opened: Vec<OpenedMember>,
    /// Why the others could not be opened.
    pub(super) unopened: Vec<String>,
    /// Where a member that is lost is to be made anew.
    lost: Vec<Directory>,
}

impl Places {
    pub(super) fn open(
        layout: &MemberLayout,
        method: SyncMethod,
        times: &Times,
    ) -> Result<Places, Error> {
        let mut found = Places::default();
        for place in &layout.places {
            let opens = place.clone();
            let open = move || open_member(&opens, method);
            let opened = match openings::in_time(place.path(), times, open)? {
                Ok(opened) => opened,
                Err(silent) => {
                    found.unopened.push(silent);
                    continue;
                }
            };
            match opened {
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

/// The files of each member, and the thread that carries out its control writes.
pub(super) type FilesOfMembers = (Vec<(usize, FileSet)>, Vec<(usize, Arc<MemberCarrier>)>);

/// Where members were given and none can be opened.
fn refuse_none(
    layout: &MemberLayout,
    opened: &[OpenedMember],
    unopened: &[String],
) -> Result<(), Error> {
    if !opened.is_empty() || unopened.is_empty() {
        return Ok(());
    }
    let (path, what) = (layout.first_path().to_owned(), unopened.join("; "));
    let what = format!("no member can be opened ({what})");
    Err(Error::Members { path, what })
}

/// Damage is looked for over a whole log buffer at least.
fn scan_of(options: &Options, geometry: &Geometry) -> Result<DamageScan, Error> {
    let buffer = options.ring_blocks(geometry)? * u64::from(geometry.block_bytes);
    Ok(options.damage_scan.at_least(buffer))
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
        } = Places::open(&layout, options.sync_method, &times)?;
        refuse_none(&layout, &opened, &unopened)?;
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
        refuse_other_kind(&layout, table, assembly.info.members.unwrap_or(table))?;
        let scan = scan_of(&options, &assembly.info.geometry)?;
        let (method, is_test) = (options.sync_method, options.member_clock.is_some());
        let mut lost = lost.into_iter();
        let mut make = |member: usize, info: &ControlInfo, copy: &CopyTo<'_>| {
            let directory = lost.next().expect("as many places as lost members");
            let path = directory.path().to_owned();
            let made = create::make_member(&directory, info, method, |files| {
                check_fit(&info.geometry, &files.caps(), 1, &path)?;
                copy(&(Arc::new(files.clone()) as Arc<dyn LogDevice>), &path)
            })?;
            paths[member].clone_from(&path);
            files.push((member, made.files.clone()));
            let mut given = GivenMember {
                path,
                file: made.control,
                data: Arc::new(made.files.under_lock(&made.lock)),
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
        notes.extend(assembled.into_iter().chain(unopened));
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
            log.begin_resilvering(standing, devices, (pause, is_test))?;
        }
        log.say_first(BackEnd {
            sync_method: Some(method),
            fallbacks: notes,
            ..BackEnd::default()
        });
        Ok((log, recovery))
    }

    /// Has members that are given up copied again, each after this pause, by the clock of a test
    /// where `is_test`.
    fn begin_resilvering(
        &mut self,
        standing: Arc<Standing>,
        devices: Vec<(Option<Arc<dyn LogDevice>>, PathBuf)>,
        (pause, is_test): (Duration, bool),
    ) -> Result<(), Error> {
        let work = ResilverWork {
            standing,
            held: Arc::downgrade(&self.held),
            core: Arc::downgrade(&self.core),
            devices,
            pause,
            look: is_test.then_some(Duration::from_millis(1)),
        };
        self.resilver = Mutex::new(Some(ResilverThread::start(work)?));
        Ok(())
    }

    /// How each member is, in their order; none where the log has none or is closed.
    #[must_use]
    pub fn members(&self) -> Vec<MemberState> {
        self.view.members()
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

pub(super) fn open_member(place: &MemberPlace, method: SyncMethod) -> Result<OpenedMember, Error> {
    match place {
        MemberPlace::Directory(path) => open_member_in(&hold(path)?, method),
        MemberPlace::OpenDirectory(held) => open_member_in(held, method),
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

fn open_member_in(directory: &Directory, method: SyncMethod) -> Result<OpenedMember, Error> {
    let at = directory.entry(Paths::CONTROL)?;
    require_log(directory)?;
    let lock = lock_exclusive_at(&at)?;
    // Its creator may have been killed before the name was durable.
    directory.sync()?;
    let file = open_member_control(&at)?;
    let set = open_logs(directory, file.info(), method)?.under_lock(&lock);
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
    let (directory, why) = found.ok_or_else(|| in_words(&error))?;
    let what = format!(
        "{}: {why}: if its member is lost, have it made again there (--replace-member, or \
         MemberLayout::replace_lost)",
        directory.path().display()
    );
    Ok((directory, what))
}

/// Why a member cannot be opened. A process that is ending holds the locks of all members while one
/// of them hangs: the threads that wait for it bear its number.
fn in_words(error: &Error) -> String {
    let Error::Device(DeviceError::Finishing { waits, .. }) = error else {
        return error.to_string();
    };
    let number = |name: &String| {
        let number = name.strip_prefix("lgm").or(name.strip_prefix("lgc"))?;
        number.get(..2)?.parse::<u32>().ok()
    };
    let mut hung: Vec<String> = waits
        .iter()
        .filter_map(number)
        .map(|n| (n + 1).to_string())
        .collect();
    hung.dedup();
    match hung.is_empty() {
        true => error.to_string(),
        false => format!(
            "{error}; member {} of the log of that process hangs, and the other members are locked \
             only because of it",
            hung.join(" and ")
        ),
    }
}

/// The members that could not be opened belong to what is wrong.
pub(super) fn with_reasons(error: Error, unopened: &[String]) -> Error {
    match error {
        Error::Members { path, what } if !unopened.is_empty() => Error::Members {
            path,
            what: format!("{what} ({})", unopened.join("; ")),
        },
        other => other,
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_a_process_that_ends_says_which_member_hangs() {
        let waits = ["lgc01", "lgm01.0", "other"].map(String::from).to_vec();
        let error = |waits| {
            Error::Device(DeviceError::Finishing {
                path: PathBuf::from("/a/redo.ctl"),
                seconds: 30,
                process: Some(4242),
                waits,
            })
        };
        let words = in_words(&error(waits));
        for part in [
            "by process 4242",
            "lgc01, lgm01.0, other",
            "member 2 of the log",
            "end the hang",
        ] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!in_words(&error(Vec::new())).contains("member"));
    }
}
