//! Making the members of a log equal when it is opened.
//!
//! A crash leaves each member with another part of what was being written. What counts is the union
//! of the members in sync: a block counts if it does on one of them. Each member is given what it
//! lacks of the run from the checkpoint to the first block that counts on none, and is flushed, one
//! member after the other. Damage behind that end is judged on every member. A member that returns
//! is copied whole from one in sync, flushed, and only then believed: what it held may be of
//! another life.
//!
//! What it must not know: where members come from, and who may be missing.

use super::GivenMember;
use crate::control::{Carrier, ControlInfo, Position};
use crate::error::Error;
use crate::group::StreamBlock;
use crate::planted::{Bug, Planted};
use crate::recovery::{DamageScan, Reader};
use crate::sync::Mutex;
use device::queue::{IoOrDevice, Queue};
use device::{DeviceError, LogDevice, Op, OpKind, Piece, Region};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// A member's redo, and what errors name.
pub(crate) struct MemberData<'a> {
    pub(crate) device: &'a Arc<dyn LogDevice>,
    pub(crate) path: &'a Path,
}

impl MemberData<'_> {
    pub(crate) fn of(given: &GivenMember) -> MemberData<'_> {
        MemberData {
            device: &given.data,
            path: &given.path,
        }
    }
}

/// Bytes that are read or copied at once.
pub(super) const CHUNK_BYTES: u64 = 1 << 20;

/// Makes `members`, all in sync, equal from the checkpoint to the end, durably, and checks that
/// none of them shows damage behind it. What was read is durable before it is believed.
///
/// # Errors
/// Damage, blocks of another copy of the log, a member that fails: each names the member.
pub(crate) fn heal(
    members: &[MemberData<'_>],
    info: &ControlInfo,
    damage_scan: DamageScan,
    planted: Planted,
) -> Result<(), Error> {
    if planted.has(Bug::SkipHeal) {
        return Ok(());
    }
    equalize(members, info, planted)?;
    let judged = if planted.has(Bug::DamageOfOneMember) {
        1
    } else {
        members.len()
    };
    for member in &members[..judged] {
        let reader = Reader::new(&**member.device, info, member.path, planted);
        reader.damage_scan(damage_scan).scan(|_, _, _| {})?;
    }
    Ok(())
}

/// Makes `members`, all in sync, equal from the checkpoint to the first block that none of them
/// has, durably. What was read is durable before it is believed.
///
/// # Errors
/// Blocks of another copy of the log, a member that fails.
pub(super) fn equalize(
    members: &[MemberData<'_>],
    info: &ControlInfo,
    planted: Planted,
) -> Result<(), Error> {
    for member in members {
        member.device.settle().map_err(|e| failed(member.path, e))?;
    }
    let lacking = find_lacking(members, info, planted)?;
    for (member, blocks) in members.iter().zip(lacking) {
        give(members, info, member, &blocks)?;
    }
    Ok(())
}

/// How many blocks each of `members` lacks that another one has, from the log file of the
/// checkpoint on; nothing is written.
///
/// # Errors
/// Damage, a member that cannot be read.
pub(crate) fn lacking(members: &[MemberData<'_>], info: &ControlInfo) -> Result<Vec<u64>, Error> {
    let lacking = find_lacking(members, info, Planted::none())?;
    Ok(lacking.iter().map(|blocks| blocks.len() as u64).collect())
}

/// A block that a member lacks, and a member that has it.
type Lacking = Vec<(StreamBlock, usize)>;

/// For each member the blocks that it lacks, from the log file of the checkpoint on, or of what
/// is not archived: what lies in it before that is read, too. Of what is older than the
/// incarnations that are kept nobody knows whether it counts, and an earlier opening has seen
/// to it.
pub(super) fn find_lacking(
    members: &[MemberData<'_>],
    info: &ControlInfo,
    planted: Planted,
) -> Result<Vec<Lacking>, Error> {
    let readers = members.iter();
    let readers = readers.map(|m| Reader::new(&**m.device, info, m.path, planted));
    let readers: Vec<Reader<'_>> = readers.collect();
    let geometry = &info.geometry;
    let block_bytes = u64::from(geometry.block_bytes);
    let Position {
        block: checkpoint, ..
    } = info.checkpoint;
    // In archive mode an archiver reads what lies before the checkpoint.
    let kept = info.kept_from().block;
    let log = kept / geometry.blocks_per_group * geometry.blocks_per_group;
    let known = info.incarnations.first().map_or(0, |i| i.first);
    let from = log.max(known).min(kept);
    let limit = log + u64::from(geometry.groups) * geometry.blocks_per_group;
    let most = (CHUNK_BYTES / block_bytes).max(1);
    let mut lacking = vec![Lacking::new(); members.len()];
    let mut chunks = vec![Vec::new(); members.len()];
    let mut at = from;
    while at < limit {
        let blocks = (limit - at).min(geometry.left_in_log(at)).min(most);
        for (member, chunk) in members.iter().zip(&mut chunks) {
            chunk.resize((blocks * block_bytes) as usize, 0);
            member.device.read(geometry.address(at), chunk)?;
        }
        for block in at..at + blocks {
            let offset = ((block - at) * block_bytes) as usize;
            let mut owner = None;
            let mut without = Vec::new();
            for (member, chunk) in chunks.iter().enumerate() {
                let bytes = &chunk[offset..offset + block_bytes as usize];
                match readers[member].counts(block, bytes)? {
                    true => owner = owner.or(Some(member)),
                    false => without.push(member),
                }
            }
            match owner {
                Some(owner) => without
                    .into_iter()
                    .for_each(|member| lacking[member].push((block, owner))),
                None if block < checkpoint || readers[0].is_gap(block) => {}
                None => return Ok(lacking),
            }
        }
        at += blocks;
    }
    Ok(lacking)
}

/// Gives `member` these blocks, durably.
fn give(
    members: &[MemberData<'_>],
    info: &ControlInfo,
    member: &MemberData<'_>,
    blocks: &Lacking,
) -> Result<(), Error> {
    if blocks.is_empty() {
        return Ok(());
    }
    let geometry = &info.geometry;
    let block_bytes = geometry.block_bytes as usize;
    let mut copy = Copier::new(member, block_bytes)?;
    for (block, owner) in blocks {
        let addr = geometry.address(*block);
        let from = members[*owner].device;
        let read = |at, out: &mut [u8]| from.read(at, out);
        copy.range(&read, addr, block_bytes as u64, || true)?;
    }
    copy.flush()
}

/// Copies all of `from` to `to`, durably: a member that returns.
///
/// # Errors
/// When one of the two fails.
pub(crate) fn resilver(
    from: &MemberData<'_>,
    to: &MemberData<'_>,
    planted: Planted,
) -> Result<(), Error> {
    let all = from.device.bytes();
    let mut copy = Copier::new(to, CHUNK_BYTES.min(all) as usize)?;
    let read = |at, out: &mut [u8]| from.device.read(at, out);
    copy.range(&read, 0, all, || true)?;
    if planted.has(Bug::CopiedBeforeFlushed) {
        return Ok(());
    }
    copy.flush()
}

/// Reads where a member is, as [`LogDevice::read`] does.
pub(super) type ReadFrom<'a> = &'a (dyn Fn(u64, &mut [u8]) -> Result<(), DeviceError> + Sync);

/// Writes to a member what was read from another, in pieces: the next one is read while one is
/// written. What was written when it failed may still be under way, with its carrier.
pub(super) struct Copier {
    to: PathBuf,
    region: Arc<Region>,
    queue: Arc<Mutex<Box<dyn Queue>>>,
    /// Of a member that may hang.
    carrier: Option<Arc<dyn Carrier>>,
    failed: bool,
    /// The piece that is written, and the one that is read meanwhile.
    bytes: [Vec<u8>; 2],
}

impl Copier {
    /// In pieces of at most `most` bytes.
    pub(super) fn new(to: &MemberData<'_>, most: usize) -> Result<Copier, Error> {
        let region = Arc::new(Region::new(most)?);
        Ok(Copier {
            to: to.path.to_owned(),
            queue: Arc::new(Mutex::new(to.device.queue(Arc::clone(&region))?)),
            region,
            carrier: None,
            failed: false,
            bytes: [vec![0; most], Vec::new()],
        })
    }

    /// From now on this carries out what is written and flushed.
    pub(super) fn carried_by(&mut self, carrier: Arc<dyn Carrier>) {
        self.carrier = Some(carrier);
    }

    /// `len` bytes of `from`, from `addr` on, or as many as are copied when `goes_on` does not hold
    /// before a further piece. Returns how many.
    pub(super) fn range(
        &mut self,
        from: ReadFrom<'_>,
        addr: u64,
        len: u64,
        goes_on: impl Fn() -> bool,
    ) -> Result<u64, Error> {
        let most = self.bytes[0].len() as u64;
        let (mut copied, mut piece) = (0, len.min(most));
        from(addr, &mut self.bytes[0][..piece as usize])?;
        loop {
            let at = addr + copied;
            copied += piece;
            let next = most.min(len - copied);
            if next == 0 || !goes_on() {
                return self.write(at, piece as usize).map(|()| copied);
            }
            self.write_and_read((at, piece), from, (addr + copied, next))?;
            piece = next;
        }
    }

    /// Writes one piece and reads the next one at the same time.
    fn write_and_read(
        &mut self,
        (addr, len): (u64, u64),
        from: ReadFrom<'_>,
        (next, next_len): (u64, u64),
    ) -> Result<(), Error> {
        let mut ahead = std::mem::take(&mut self.bytes[1]);
        ahead.resize(self.bytes[0].len(), 0);
        let into = &mut ahead[..next_len as usize];
        let read = std::thread::scope(|scope| {
            let reader = std::thread::Builder::new().name("copy.read".to_owned());
            let reader = reader.spawn_scoped(scope, || from(next, into));
            let reader = reader.map_err(Error::Thread)?;
            let written = self.write(addr, len as usize);
            let read = reader.join().unwrap_or_else(|_| {
                let source = std::io::Error::other("a thread that reads a member panicked");
                Err(DeviceError::Io {
                    path: self.to.clone(),
                    action: "copy",
                    source,
                })
            });
            written.and_then(|()| Ok(read?))
        });
        self.bytes[1] = ahead;
        self.bytes.swap(0, 1);
        read
    }

    /// These bytes, which are at most as many as it was made for.
    pub(super) fn bytes(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Error> {
        self.bytes[0][..bytes.len()].copy_from_slice(bytes);
        self.write(addr, bytes.len())
    }

    fn write(&mut self, addr: u64, len: usize) -> Result<(), Error> {
        assert!(!self.failed, "an attempt ends with its first failure");
        // SAFETY: nothing is in flight on this queue: each operation was waited for, and the first
        // that failed was the last. Nobody else has its region.
        unsafe { self.region.write(0, &self.bytes[0][..len]) };
        let pieces = [Piece { at: 0, len }, Piece::default()];
        self.carry_out(OpKind::Write { addr, pieces }, len as u64)
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.carry_out(OpKind::Flush, 0)
    }

    fn carry_out(&mut self, kind: OpKind, expected: u64) -> Result<(), Error> {
        let op = Op { id: 1, kind };
        let queue = Arc::clone(&self.queue);
        let work = move || {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            device::queue::run_one(&mut **queue, op, expected)
        };
        let done = match &self.carrier {
            Some(carrier) => carrier.carry(Box::new(work)),
            None => work(),
        };
        self.failed |= done.is_err();
        done.map_err(|source| failed(&self.to, source))
    }
}

fn failed(path: &Path, source: IoOrDevice) -> Error {
    Error::Member {
        path: PathBuf::from(path),
        source,
    }
}

#[cfg(test)]
mod tests;
