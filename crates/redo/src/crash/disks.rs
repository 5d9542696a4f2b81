//! The disks of a log: one for redo and one for control information, or such a pair for each of its
//! members. All share their power.
//!
//! Invariant: what a log without members draws does not depend on members being possible.

use super::plan::Rng;
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo, MemberTable};
use crate::members::ring::RingDevice;
use crate::members::{Fence, Marked, Standing, newest};
use device::sim_disk::{CrashCoverage, CrashMix, OpOutcome, Pending, SimDisk};
use device::{LogDevice, OpKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const EIO: i32 = 5;

/// What lies on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Data,
    Control,
}

/// Which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) member: usize,
    pub(super) part: Part,
}

/// By the numbers of the members; one of each for a log without members.
#[derive(Clone)]
pub(super) struct Disks {
    pub(super) data: Vec<SimDisk>,
    pub(super) control: Vec<SimDisk>,
}

/// What disks hold when the power returns; `None` for those that had not lost it.
pub(super) struct Images {
    data: Vec<Option<Vec<u8>>>,
    control: Vec<Option<Vec<u8>>>,
}

impl Disks {
    pub(super) fn of(&self, domain: Domain) -> &SimDisk {
        match domain.part {
            Part::Data => &self.data[domain.member],
            Part::Control => &self.control[domain.member],
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &SimDisk)> {
        let data = self.data.iter().map(|disk| ("data", disk));
        data.chain(self.control.iter().map(|disk| ("control", disk)))
    }

    /// What the data disks have not ended, the first member's first, with its disk.
    pub(super) fn pending(&self) -> Vec<(usize, Pending)> {
        let each = self.data.iter().enumerate();
        each.flat_map(|(member, disk)| disk.pending().into_iter().map(move |p| (member, p)))
            .collect()
    }

    pub(super) fn finish(&self, member: usize, ticket: u64, outcome: OpOutcome) {
        self.data[member].finish(ticket, outcome);
    }

    /// Power fails now on all of them, except on the one that is spared, whose operations end.
    pub(super) fn crash(
        &self,
        rng: &mut Rng,
        spared: Option<usize>,
    ) -> (Images, Vec<CrashCoverage>, Vec<CrashCoverage>) {
        let mix = CrashMix::default();
        let mut cut = |disks: &[SimDisk]| {
            let each = disks.iter().enumerate().map(|(number, disk)| {
                if Some(number) == spared {
                    end_all(disk, rng);
                    return (None, CrashCoverage::default());
                }
                let crash = disk.crash(&mut rng.0, &mix);
                (Some(crash.image), crash.coverage)
            });
            each.unzip()
        };
        let (data, of_data) = cut(&self.data);
        let (control, of_control) = cut(&self.control);
        (Images { data, control }, of_data, of_control)
    }

    pub(super) fn after_crash(&self, images: Images) -> Disks {
        let restart = |disks: &[SimDisk], images: Vec<Option<Vec<u8>>>| {
            let both = disks.iter().zip(images);
            let each = both.map(|(disk, image)| match image {
                Some(image) => disk.after_crash(image),
                None => disk.clone(),
            });
            each.collect()
        };
        Disks {
            data: restart(&self.data, images.data),
            control: restart(&self.control, images.control),
        }
    }

    pub(super) fn set_immediate(&self, immediate: bool) {
        self.all()
            .for_each(|(_, disk)| disk.set_immediate(immediate));
    }

    /// Writes the first control information of a log.
    pub(super) fn format(&self, info: &ControlInfo) {
        for (member, disk) in self.control.iter().enumerate() {
            disk.set_immediate(true);
            let mut info = info.clone();
            if let Some(members) = &mut info.members {
                members.own = member as u8;
            }
            ControlFile::create(Arc::new(disk.clone()), Path::new("redo.ctl"), info)
                .expect("an immediate disk does not fail");
            disk.set_immediate(false);
        }
    }

    pub(super) fn control_files(&self) -> impl Iterator<Item = Option<ControlFile>> {
        self.control.iter().map(|disk| {
            let device: Arc<dyn LogDevice> = Arc::new(disk.clone());
            ControlFile::load_member(device, Path::new("redo.ctl")).ok()
        })
    }

    /// Generation and stale members that each disk states.
    pub(super) fn generations(&self) -> Vec<Option<(u64, Option<u16>)>> {
        let stated = |file: ControlFile| {
            let info = file.info();
            (info.generation, info.members.map(|m| m.stale))
        };
        self.control_files().map(|file| file.map(stated)).collect()
    }

    /// The newest table of members that a disk holds.
    pub(super) fn newest_table(&self) -> Option<MemberTable> {
        let all: Vec<ControlFile> = self.control_files().flatten().collect();
        let newest = newest(all.iter().map(ControlFile::info))?;
        all[newest].info().members
    }
}

/// How a log's disks are made: by the plan, and how many there are.
pub(super) fn make(data_bytes: usize, sector: usize, durable: (bool, bool), count: usize) -> Disks {
    let disks = |bytes: usize, durable: bool| {
        let disk = |_| SimDisk::new(bytes, sector, durable);
        (0..count).map(disk).collect()
    };
    Disks {
        data: disks(data_bytes, durable.0),
        control: disks(CONTROL_BYTES as usize, durable.1),
    }
}

/// Ends what a disk was given, in any order, as the system does for a killed process.
pub(super) fn end_all(disk: &SimDisk, rng: &mut Rng) {
    let mut pending = disk.pending();
    while !pending.is_empty() {
        let index = rng.below(pending.len() as u64) as usize;
        let flight = pending.swap_remove(index);
        let outcome = match (flight.op.kind, rng.below(8)) {
            (OpKind::Write { .. }, 0) => OpOutcome::Fail(EIO),
            (OpKind::Write { .. }, 1) => OpOutcome::Short(rng.below(flight.op.bytes() as u64)),
            _ => OpOutcome::Done,
        };
        disk.finish(flight.ticket, outcome);
    }
}

/// The ring of an open log, on the disks themselves.
pub(super) struct OpenRing {
    pub(super) device: Arc<RingDevice>,
    /// The disk whose operations take long in this life.
    pub(super) slow: Option<usize>,
}

/// The members of an open log, and what is asked of the control information meanwhile.
#[derive(Clone)]
pub(super) struct Together {
    pub(super) standing: Arc<Standing>,
    desk: Arc<Mutex<Desk>>,
    /// The member whose operations take long in this life.
    pub(super) slow: Option<usize>,
    /// A member is being copied.
    pub(super) resilvering: bool,
    /// Members that returned in this life, a bit for each.
    pub(super) returned: u16,
    /// Operations that take very long: members with their tickets.
    pub(super) stuck: Vec<(usize, u64)>,
}

/// What the log writer waits for: members that are to be marked stale.
#[derive(Default)]
struct Desk {
    wanted: u16,
    failed: bool,
}

impl Together {
    /// The fence is answered later, by code that may block: see [`Together::wanted`].
    pub(super) fn new(standing: Arc<Standing>, slow: Option<usize>) -> Together {
        let desk = Arc::new(Mutex::new(Desk::default()));
        let asked = Arc::clone(&desk);
        let fence: Fence = Box::new(move |members| {
            let mut desk = asked.lock().unwrap_or_else(PoisonError::into_inner);
            desk.wanted |= members;
            match desk.failed {
                true => Marked::Failed,
                false => Marked::Waiting,
            }
        });
        standing.set_fence(fence);
        Together {
            standing,
            desk,
            slow,
            resilvering: false,
            returned: 0,
            stuck: Vec::new(),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Members that the log writer wants marked, if any.
    pub(super) fn wanted(&self) -> Option<u16> {
        let desk = self.desk();
        (desk.wanted != 0 && !desk.failed).then_some(desk.wanted)
    }

    /// `table` is durable, or nothing is.
    pub(super) fn answer(&self, table: Option<MemberTable>) {
        let mut desk = self.desk();
        match table {
            Some(table) => {
                desk.wanted &= !table.stale;
                self.standing.updated(table.stale);
            }
            None => desk.failed = true,
        }
    }
}
