//! The disks of a log: one for redo and one for control information, or such a pair for each of its
//! members. All share their power.
//!
//! Invariant: what a log without members draws does not depend on members being possible.

use super::coverage::MemberCoverage;
use super::life::Env;
use super::plan::Rng;
use super::rings;
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo, MemberTable};
use crate::members::{Fence, Marked, Members, Standing, newest};
use device::sim_disk::{CrashCoverage, CrashMix, OpOutcome, Pending, SimDisk};
use device::{LogDevice, Queue, Region};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
                    rings::end_all(disk, rng);
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
    stuck: Vec<(usize, u64)>,
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

impl Env {
    /// The queue that a life writes its redo through.
    pub(super) fn open_queue(&self, region: Arc<Region>) -> Box<dyn Queue> {
        if let Some(ring) = &self.ring {
            return ring.device.queue(region).expect("never refused");
        }
        let Some(together) = &self.together else {
            return self.disks.data[0].queue(region).expect("never refused");
        };
        let standing = Arc::clone(&together.standing);
        let device = |(member, disk): (usize, &SimDisk)| -> Option<Arc<dyn LogDevice>> {
            (!standing.is_stale(member)).then(|| Arc::new(disk.clone()) as Arc<dyn LogDevice>)
        };
        let members = Members {
            devices: self.disks.data.iter().enumerate().map(device).collect(),
            standing: Arc::clone(&standing),
            planted: self.planted,
        };
        members.queue(region).expect("never refused")
    }

    /// The operation that ends next: the oldest of the first disk or any other, rarely one of the
    /// member that is slow.
    pub(super) fn choose(&mut self, pending: &[(usize, Pending)]) -> usize {
        let slow = self.together.as_ref().and_then(|together| together.slow);
        let slow = slow.or_else(|| self.ring.as_ref().and_then(|ring| ring.slow));
        if let Some(slow) = slow
            && !self.rng.chance(1, 8)
        {
            let others = |i: &usize| pending[*i].0 != slow;
            let others: Vec<usize> = (0..pending.len()).filter(others).collect();
            if !others.is_empty() {
                return self.rng.pick(&others);
            }
        }
        if let Some(stuck) = self.together.as_ref().map(|together| &together.stuck)
            && !stuck.is_empty()
            && !self.rng.chance(1, 512)
        {
            let moves = |i: &usize| !stuck.contains(&(pending[*i].0, pending[*i].1.ticket));
            let moves: Vec<usize> = (0..pending.len()).filter(moves).collect();
            if !moves.is_empty() {
                return self.rng.pick(&moves);
            }
        }
        if self.rng.chance(1, 2) {
            return 0;
        }
        self.rng.below(pending.len() as u64) as usize
    }

    /// The log was opened with these members.
    pub(super) fn assembled(&mut self, standing: Arc<Standing>, before: MemberTable, absent: u16) {
        let table = standing.table;
        let was_stale = |m: &usize| !before.in_sync(*m) && table.in_sync(*m);
        self.members.returned += table.all().filter(was_stale).count() as u64;
        let taken = |m: &usize| before.in_sync(*m) && absent >> m & 1 != 0;
        self.members.opened_without += table.all().filter(taken).count() as u64;
        let slow = self.rng.below(2 * u64::from(table.count)) as usize;
        let slow = (slow < usize::from(table.count)).then_some(slow);
        self.members.lives_with_a_slow_member += u64::from(slow.is_some());
        self.members.count_life(table);
        standing.set_clock(Arc::clone(&self.clock) as _);
        self.together = Some(Together::new(standing, slow));
    }

    /// Somebody says that a member is to be given up; rarely.
    pub(super) fn condemn(&mut self) {
        let Some(together) = &mut self.together else {
            return;
        };
        if !self.rng.chance(1, 600) {
            return;
        }
        let table = together.standing.table;
        let member = self.rng.below(u64::from(table.count)) as usize;
        if !together.standing.is_stale(member) {
            together.standing.condemn(member);
            self.members.condemned += 1;
            // What it was doing may take until long after it was given up.
            let pending = self.disks.data[member].pending();
            if !pending.is_empty() && self.rng.chance(1, 2) {
                let stuck = pending.iter().map(|pending| (member, pending.ticket));
                together.stuck.extend(stuck);
                self.members.stuck += 1;
            }
            self.note(|| format!("member {member} is condemned"));
        }
    }

    /// Members that are not given to an opening: never so many that what was acknowledged is lost.
    pub(super) fn draw_absent(&mut self) -> u16 {
        let Some(table) = self.disks.newest_table() else {
            return 0;
        };
        let mut absent = 0_u16;
        for member in table.all() {
            let often = if table.in_sync(member) { 6 } else { 2 };
            if !self.rng.chance(1, often) {
                continue;
            }
            let without = absent | 1 << member;
            if !table.in_sync(member) || table.suffice(|m| without >> m & 1 == 0) {
                absent = without;
            }
        }
        absent
    }
}

impl MemberCoverage {
    /// Counts the shape of a life that begins.
    pub(super) fn count_life(&mut self, table: MemberTable) {
        let counter = match (table.count / table.cell, table.cell) {
            (_, 1) => &mut self.lives_mirror,
            (1, _) => &mut self.lives_race,
            _ => &mut self.lives_mirror_of_races,
        };
        *counter += 1;
        self.lives_with_a_stale_member += u64::from(table.stale != 0);
    }
}
