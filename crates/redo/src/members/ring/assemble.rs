//! Opening a disk and its ring: the disk is given what the ring has and it lacks, durably; then
//! the ring is announced for the life that begins.
//!
//! Invariants: the disk's control information decides whether the ring's content counts; only
//! whole batches of the log's current life count, and of those only blocks that recovery would
//! count; what was given to the disk is durable before the new life is, which empties the ring. A
//! ring that may have what the disk lacks is not done without, unless the loss is accepted.

use super::format::{Announcement, BatchHead, LEAST_UNIT, RING_DATA_AT, SLOT_BYTES};
use super::{Patience, RingDevice, RingStanding};
use crate::control::{ControlFile, ControlInfo, RingKind, RingTable};
use crate::error::Error;
use crate::format::{BlockHeader, HeaderProblem, LifeId};
use crate::members::heal::{Copier, MemberData};
use crate::planted::{Bug, Planted};
use crate::recovery::{DamageScan, Reader};
use device::queue::write_durable;
use device::{DeviceError, LogDevice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A ring that was given.
pub(crate) struct GivenRing {
    /// What errors name.
    pub(crate) path: PathBuf,
    /// Its device, of [`RING_DATA_AT`] bytes and the ring.
    pub(crate) device: Arc<dyn LogDevice>,
}

/// What is given to the opening of a log with a ring.
pub(crate) struct RingAssembly {
    pub(crate) disk: Arc<dyn LogDevice>,
    /// What errors of the disk name.
    pub(crate) path: PathBuf,
    /// The ring, or why it is not there.
    pub(crate) ring: Result<GivenRing, String>,
    /// When it is written from now on.
    pub(crate) kind: RingKind,
    /// The life that the opening begins.
    pub(crate) life: LifeId,
    pub(crate) patience: Patience,
    pub(crate) accept_loss: bool,
    pub(crate) planted: Planted,
}

/// A log's disk, ready to be recovered from.
pub(crate) struct OpenedRing {
    pub(crate) device: Arc<dyn LogDevice>,
    /// The same, where the ring is used.
    pub(crate) ring: Option<Arc<RingDevice>>,
    /// Blocks that the disk was given.
    pub(crate) copied: u64,
    /// What the log does without, in words.
    pub(crate) notes: Vec<String>,
}

/// The announcement of a ring that is used, and what it holds, where that counts.
pub(super) type ChosenRing = (Announcement, Option<Batches>);

impl RingAssembly {
    /// Gives the disk what it lacks and announces the ring.
    ///
    /// # Errors
    /// A log without a ring; a ring of another log; one that is missing, older or smaller, unless
    /// the loss is accepted; a disk that fails.
    pub(crate) fn open(self, control: &mut ControlFile) -> Result<OpenedRing, Error> {
        // What was read may be in a cache alone, and the next write would spare it.
        control.settle()?;
        self.disk.settle().map_err(|source| self.failed(source))?;
        let info = control.info().clone();
        let Some(table) = info.ring else {
            let what = "this log has no ring: open it as a log of its own";
            return Err(refuse(&self.path, what));
        };
        let mut opened = OpenedRing {
            device: Arc::clone(&self.disk),
            ring: None,
            copied: 0,
            notes: Vec::new(),
        };
        let (announced, batches) = match self.chosen(&info, table)? {
            Ok(chosen) => chosen,
            Err(why) => {
                // Durable with the new life and not before: an opening that fails after this has
                // lost nothing, and the ring counts when it returns.
                let spare = true;
                control.change_in_memory(|info| {
                    info.ring = Some(RingTable { spare, ..table });
                    Ok(())
                })?;
                opened.notes.push(format!("the ring is not used: {why}"));
                return Ok(opened);
            }
        };
        let given = self.ring.as_ref().expect("a ring that is used is there");
        if let Some(batches) = batches {
            opened.copied = self.give(&batches, &info)?;
        }
        let mut announced = announced.followed(life_of(&info), self.life.bytes());
        if self.planted.has(Bug::RingNamesOneLife) {
            announced.next = vec![self.life.bytes()];
        }
        if let Err(error) = announce(given, &announced, self.planted) {
            // The disk has everything.
            let spare = true;
            set_table(control, RingTable { spare, ..table })?;
            opened.notes.push(format!("the ring is not used: {error}"));
            return Ok(opened);
        }
        let table = RingTable {
            kind: self.kind,
            spare: false,
        };
        set_table(control, table)?;
        let standing = RingStanding::new(self.kind, announced.ring_bytes, self.patience);
        let device = Arc::new(RingDevice {
            disk: self.disk,
            ring: Arc::clone(&given.device),
            log_id: info.log_id,
            life: self.life,
            standing: Arc::new(standing),
            planted: self.planted,
            shared: Arc::new(Mutex::new(None)),
        });
        opened.device = device.clone();
        opened.ring = Some(device);
        Ok(opened)
    }

    /// The announcement of the ring, if it is used, and what it holds, where that counts; or why
    /// the log is opened without it.
    ///
    /// # Errors
    /// What refuses the opening.
    pub(super) fn chosen(
        &self,
        info: &ControlInfo,
        table: RingTable,
    ) -> Result<Result<ChosenRing, String>, Error> {
        let why = match &self.ring {
            Ok(given) => match self.look_into(given, info, table) {
                Ok(chosen) => return Ok(Ok(chosen)),
                Err(error @ Error::Members { .. }) => return Err(error),
                Err(error) => error.to_string(),
            },
            Err(why) => why.clone(),
        };
        self.may_do_without(table, &why)?;
        Ok(Err(why))
    }

    /// The announcement of a ring that may be used, and what it holds, where that counts. Nothing
    /// was written when it fails: a ring of which a part cannot be read is as one that is missing.
    fn look_into(
        &self,
        given: &GivenRing,
        info: &ControlInfo,
        table: RingTable,
    ) -> Result<ChosenRing, Error> {
        let announced = self.admit(given, info, table)?;
        let batches = match table.spare {
            true => None,
            false => {
                let bytes = announced.ring_bytes;
                Some(Batches::read(given, bytes, info, self.planted)?)
            }
        };
        Ok((announced, batches))
    }

    /// The announcement of a ring that may be used.
    fn admit(
        &self,
        given: &GivenRing,
        info: &ControlInfo,
        table: RingTable,
    ) -> Result<Announcement, Error> {
        let found = read_announcement(given)?;
        let counts = !table.spare && !self.accept_loss;
        let (what, announced) = match found {
            Err(HeaderProblem::NotOurs) => (Some("it is not the ring of a log"), None),
            Err(HeaderProblem::Version(version)) => {
                let what = format!("it is a ring of version {version}, which this program is not");
                return Err(refuse(&given.path, what));
            }
            Err(HeaderProblem::Damaged) => (Some("both copies of its head are damaged"), None),
            Ok(found) if found.log_id != info.log_id => {
                return Err(refuse(&given.path, "it is the ring of another log"));
            }
            Ok(found) => (self.look(given, info, &found), Some(found)),
        };
        let Some(what) = what else {
            return Ok(announced.expect("a ring that may be used was announced"));
        };
        if counts {
            let what = format!(
                "{what}; the disk may lack what it acknowledged last: give the ring of {}, or \
                 accept the loss: at most what a ring holds is lost then",
                self.path.display()
            );
            return Err(refuse(&given.path, what));
        }
        let room = given.device.bytes().saturating_sub(RING_DATA_AT);
        match announced {
            // Nothing in it counts: it is announced anew.
            Some(found) => Ok(Announcement {
                ring_bytes: found.ring_bytes.min(room),
                ..found
            }),
            None if table.spare || self.accept_loss => Ok(Announcement::of_new(info.log_id, room)),
            None => Err(refuse(&given.path, what)),
        }
    }

    /// What is wrong with a ring of this log, if its content counts.
    fn look(
        &self,
        given: &GivenRing,
        info: &ControlInfo,
        found: &Announcement,
    ) -> Option<&'static str> {
        if given.device.bytes() < RING_DATA_AT + found.ring_bytes {
            return Some("it is smaller than it was made");
        }
        let spare = info.ring.is_some_and(|ring| ring.spare);
        let older = !found.names(life_of(info));
        (older && !spare).then_some("it is older than its disk: it was not used when the log was")
    }

    /// Refuses to go on without a ring, unless nothing is lost with it or the loss is accepted.
    fn may_do_without(&self, table: RingTable, why: &str) -> Result<(), Error> {
        if !table.spare && !self.accept_loss {
            let what = format!(
                "the ring of this log is not there ({why}), and the disk may lack what it \
                 acknowledged last: give the ring, or accept the loss: at most what a ring holds \
                 is lost then"
            );
            return Err(refuse(&self.path, what));
        }
        Ok(())
    }

    /// Gives the disk what it lacks of the ring's batches, durably; returns how many blocks.
    fn give(&self, batches: &Batches, info: &ControlInfo) -> Result<u64, Error> {
        let disk = MemberData {
            device: &self.disk,
            path: &self.path,
        };
        let mut copy = Copier::new(&disk, unit_bytes(info))?;
        let copied = self.each_lacking(batches, info, |addr, bytes| copy.bytes(addr, bytes))?;
        if copied > 0 {
            copy.flush()?;
        }
        Ok(copied)
    }

    /// Hands each seal unit of the batches of which the disk lacks a block to `take`, with its
    /// place on the disk; returns how many blocks are lacking.
    pub(super) fn each_lacking(
        &self,
        batches: &Batches,
        info: &ControlInfo,
        mut take: impl FnMut(u64, &[u8]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let reader =
            Reader::new(&*self.disk, info, &self.path, self.planted).damage_scan(DamageScan::Whole);
        let geometry = &info.geometry;
        let log = info.kept_from().block / geometry.blocks_per_group * geometry.blocks_per_group;
        let live = log..log + geometry.capacity_blocks();
        let (seal, block_bytes) = (
            u64::from(geometry.seal_blocks),
            geometry.block_bytes as usize,
        );
        let unit_bytes = unit_bytes(info);
        let (mut there, mut all) = (vec![0; unit_bytes], 0);
        for bytes in batches.units(unit_bytes) {
            let first = BlockHeader::parse(bytes).map(|header| header.stream_block);
            let Some(first) = first.filter(|first| live.contains(first) && first % seal == 0)
            else {
                continue;
            };
            let addr = geometry.address(first);
            self.disk.read(addr, &mut there)?;
            let both = there.chunks(block_bytes).zip(bytes.chunks(block_bytes));
            let mut lacking = u64::from(self.planted.has(Bug::RingOfOtherLife)) * seal;
            for (block, (there, bytes)) in (first..).zip(both) {
                if lacking < seal && !reader.counts(block, there)? {
                    lacking += u64::from(reader.counts(block, bytes)?);
                }
            }
            if lacking > 0 {
                // As it was written: an interrupted write can destroy all of a unit.
                take(addr, bytes)?;
                all += lacking;
            }
        }
        Ok(all)
    }

    fn failed(&self, source: device::queue::IoOrDevice) -> Error {
        Error::Member {
            path: self.path.clone(),
            source,
        }
    }
}

/// What a ring holds.
pub(super) struct Batches {
    bytes: Vec<u8>,
    /// Where the blocks of batches that count lie in it, in the order of their numbers.
    found: Vec<(u64, std::ops::Range<usize>)>,
}

impl Batches {
    pub(super) fn read(
        given: &GivenRing,
        ring_bytes: u64,
        info: &ControlInfo,
        planted: Planted,
    ) -> Result<Batches, Error> {
        let bytes = (ring_bytes - ring_bytes % LEAST_UNIT) as usize;
        let mut all = Vec::new();
        let no_memory = |_| DeviceError::Io {
            path: given.path.clone(),
            action: "memory as large as the ring, to read it",
            source: std::io::ErrorKind::OutOfMemory.into(),
        };
        all.try_reserve_exact(bytes).map_err(no_memory)?;
        all.resize(bytes, 0);
        for (chunk, out) in all.chunks_mut(CHUNK_BYTES).enumerate() {
            let addr = RING_DATA_AT + (chunk * CHUNK_BYTES) as u64;
            given.device.read(addr, out)?;
        }
        let life = info.current().life.map(LifeId::bytes);
        let mut found = Vec::new();
        for at in (0..all.len()).step_by(LEAST_UNIT as usize) {
            let Some((head, blocks)) = BatchHead::find(info.log_id, &all[at..]) else {
                continue;
            };
            if Some(head.life) == life || planted.has(Bug::RingOfOtherLife) {
                let from = at + super::format::HEAD_BYTES;
                found.push((head.number, from..from + blocks.len()));
            }
        }
        found.sort_by_key(|(number, _)| *number);
        Ok(Batches { bytes: all, found })
    }

    /// How many there are, and the bytes of their blocks.
    pub(super) fn count(&self) -> (u64, u64) {
        let bytes = self.found.iter().map(|(_, at)| at.len() as u64);
        (self.found.len() as u64, bytes.sum())
    }

    fn units(&self, unit_bytes: usize) -> impl Iterator<Item = &[u8]> {
        let all = self.found.iter().map(|(_, at)| &self.bytes[at.clone()]);
        all.flat_map(move |blocks| blocks.chunks_exact(unit_bytes))
    }
}

/// Bytes that are written together, and that an interrupted write can destroy.
fn unit_bytes(info: &ControlInfo) -> usize {
    let geometry = &info.geometry;
    geometry.seal_blocks as usize * geometry.block_bytes as usize
}

/// The log's life before this opening; all zeros where it had none.
fn life_of(info: &ControlInfo) -> [u8; 16] {
    info.current().life.map_or([0; 16], LifeId::bytes)
}

/// The newest announcement of a ring.
fn read_announcement(given: &GivenRing) -> Result<Result<Announcement, HeaderProblem>, Error> {
    let mut best: Result<Announcement, HeaderProblem> = Err(HeaderProblem::NotOurs);
    for copy in 0..2 {
        let mut bytes = vec![0; SLOT_BYTES as usize];
        given.device.read(copy * SLOT_BYTES, &mut bytes)?;
        best = match (best, Announcement::decode(&bytes)) {
            (Ok(best), Ok(found)) if found.number > best.number => Ok(found),
            (Ok(best), _) => Ok(best),
            (Err(_), Ok(found)) => Ok(found),
            (Err(HeaderProblem::NotOurs), Err(problem)) => Err(problem),
            (Err(problem), Err(_)) => Err(problem),
        };
    }
    Ok(best)
}

/// Makes an announcement durable. First what was read: it may be in a cache alone, and the copy
/// that is written is the other one.
pub(crate) fn announce(
    given: &GivenRing,
    announced: &Announcement,
    planted: Planted,
) -> Result<(), Error> {
    let mut slot = vec![0; SLOT_BYTES as usize];
    let bytes = announced.encode();
    slot[..bytes.len()].copy_from_slice(&bytes);
    let addr = announced.number % 2 * SLOT_BYTES;
    let settled = match planted.has(Bug::RingUnsettled) {
        true => Ok(()),
        false => given.device.settle(),
    };
    let written = settled.and_then(|()| write_durable(&*given.device, addr, &slot));
    written.map_err(|source| Error::Member {
        path: given.path.clone(),
        source,
    })
}

/// Writes to the disk's control information what it says of the ring.
fn set_table(control: &mut ControlFile, table: RingTable) -> Result<(), Error> {
    if control.info().ring == Some(table) {
        return Ok(());
    }
    control.update(|info| {
        info.ring = Some(table);
        Ok(())
    })
}

fn refuse(path: &Path, what: impl Into<String>) -> Error {
    Error::Members {
        path: path.to_owned(),
        what: what.into(),
    }
}
