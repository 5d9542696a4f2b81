//! What a seed decides once: the shape of the log, the policy, how often what happens.

use crate::control::{MemberTable, RingKind};
use crate::group::Geometry;
use crate::recovery::DamageScan;
use crate::writer::{Adaptive, MAX_DEPTH, Policy};
use measure::Nanos;
use measure::workload::split_mix;

/// As many batches in flight as there can be.
const DEEPEST: u32 = MAX_DEPTH as u32;

/// The one source of chance.
#[derive(Clone, Debug)]
pub(super) struct Rng(pub(super) u64);

impl Rng {
    /// A number below `limit`, which is not zero.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        split_mix(&mut self.0) % limit
    }

    /// True `parts` times in `of`.
    pub(super) fn chance(&mut self, parts: u64, of: u64) -> bool {
        self.below(of) < parts
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The history's constants.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) rng: Rng,
    pub(super) geometry: Geometry,
    pub(super) sector_bytes: usize,
    pub(super) durable_writes: bool,
    pub(super) ring_blocks: u64,
    pub(super) policy: Policy,
    pub(super) sessions: u64,
    /// Longest record, its header included.
    pub(super) max_record: u64,
    pub(super) lives: u64,
    /// Steps of a life at most.
    pub(super) steps: u64,
    /// Log operations that fail, in 4096ths.
    pub(super) faults: u64,
    /// Control and recovery operations that fail, in 4096ths.
    pub(super) control_faults: u64,
    /// How far openings look behind the end.
    pub(super) damage_scan: DamageScan,
    /// Chance of a session's step to commit, in 16ths.
    pub(super) commits: u64,
    /// Commits that don't wait, in 16ths.
    pub(super) nowait: u64,
    /// Tickets that a session may have outstanding instead of waiting; 0 in synchronous histories.
    pub(super) tickets: usize,
    /// Commits that wait and post nobody, in 16ths.
    pub(super) batch: u64,
    /// Steps that begin a checkpoint, in 256ths.
    pub(super) checkpoints: u64,
    /// The same while the writer waits for one.
    pub(super) awaited_checkpoints: u64,
    /// Steps of the device against those of sessions, in 16ths.
    pub(super) device_share: u64,
    /// The log's members, where it has any.
    pub(super) members: Option<MemberTable>,
    /// The log's ring, where it has one.
    pub(super) ring: Option<RingPlan>,
    /// The log is in archive mode.
    pub(super) archive: bool,
    /// Sessions await commits and drop futures, and a life goes on until both that and a log switch
    /// have happened in it.
    pub(super) cancels: bool,
}

/// A log's ring, by the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingPlan {
    pub(super) kind: RingKind,
    /// Bytes for batches.
    pub(super) bytes: u64,
    /// Of the ring's disk; those of the log's disk may be larger or smaller.
    pub(super) sector_bytes: usize,
}

impl Plan {
    pub(super) fn draw(seed: u64) -> Plan {
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x7265_646F);
        // Half of the seeds are drawn from more; the others stay what they were when some of them
        // found something.
        let wide = seed % 4 >= 2;
        let mut block_bytes = rng.pick(&[512_u32, 512, 512, 1024]);
        let mut sector_bytes = rng.pick(&[512_usize, 512, 1024, 2048]);
        if wide && rng.chance(1, 6) {
            (block_bytes, sector_bytes) = rng.pick(&[(4096, 512), (4096, 4096), (512, 4096)]);
        }
        // A seal unit may be larger than the sector: a declared atomic unit.
        let unit = (sector_bytes as u32).max(block_bytes) * rng.pick(&[1, 1, 1, 2]);
        let seal_blocks = unit / block_bytes;
        let blocks_per_group = u64::from(seal_blocks) * (2 + rng.below(9));
        let header_bytes = (sector_bytes as u64).max(2048);
        let file_bytes = (header_bytes + blocks_per_group * u64::from(block_bytes))
            .next_multiple_of(sector_bytes as u64);
        let geometry = Geometry {
            block_bytes,
            seal_blocks,
            groups: 2 + rng.below(3) as u32,
            blocks_per_group,
            header_bytes,
            file_bytes,
        };
        let seal = u64::from(seal_blocks);
        let ring_blocks = seal * (2 + rng.below(blocks_per_group / seal - 1));
        let (durable_writes, mut depth) = (rng.chance(1, 6), rng.pick(&[1, 1, 2, 3, 4, DEEPEST]));
        let mut mode = None;
        if wide {
            depth = rng.pick(&[1, 2, 3, 4, 5, 6, 7, DEEPEST, DEEPEST, DEEPEST]);
            mode = rng.chance(1, 2).then(|| adaptive(&mut rng));
        }
        let (defer_bytes, defer_time) = deferral(seed, &geometry);
        let policy = Policy {
            depth,
            durable_writes,
            gather: rng.chance(1, 2),
            gather_part: 128,
            gather_max: Nanos::from_millis(2),
            // Without a draw of its own, so that the histories of seeds stay the same.
            gather_bytes: [256 << 10, 1000][(ring_blocks % 2) as usize],
            defer_bytes,
            defer_time,
            adaptive: mode,
        };
        let room = (ring_blocks - seal) * u64::from(geometry.payload());
        let max_record = rng.pick(&[40, 300, room.min(2000), room]);
        let (faults, control_faults) = if rng.chance(1, 3) { (60, 120) } else { (0, 0) };
        Plan {
            geometry,
            sector_bytes,
            durable_writes,
            ring_blocks,
            policy,
            sessions: 1 + rng.below(6),
            max_record: max_record.max(24),
            lives: 2 + rng.below(3) + u64::from(cancels(seed)),
            steps: 30 + rng.below(900),
            faults,
            control_faults,
            damage_scan: damage_scan(seed, ring_blocks * u64::from(block_bytes)),
            commits: 2 + rng.below(10),
            nowait: rng.below(8),
            tickets: tickets(seed),
            batch: if wide { rng.below(8) } else { 0 },
            checkpoints: rng.below(16),
            awaited_checkpoints: rng.pick(&[2, 8, 32]),
            device_share: 2 + rng.below(12),
            members: None,
            ring: None,
            archive: archive(seed),
            cancels: cancels(seed),
            rng,
        }
    }
}

impl Plan {
    /// The same of a log with members, which complete in different orders, so that only a flush
    /// makes redo durable on all of a cell.
    pub(super) fn with_members(mut self, seed: u64) -> Plan {
        let mut state = seed ^ 0x6D65_6D62_6572;
        let shapes = [(2, 1), (2, 1), (2, 2), (2, 2), (3, 1), (3, 3), (4, 2)];
        let (count, cell) = shapes[(split_mix(&mut state) % 7) as usize];
        self.members = MemberTable::new(count, cell);
        self.policy.durable_writes = false;
        self.archive = false;
        self
    }

    /// Disks with redo.
    pub(super) fn disks(&self) -> usize {
        let members = self.members.map_or(1, |members| members.count.into());
        members + usize::from(self.ring.is_some())
    }
}

/// Apart from the other draws, so that the histories of synchronous seeds stay what they
/// were; those that once failed are among them.
fn tickets(seed: u64) -> usize {
    let mut state = seed ^ 0x7469_636B_6594;
    [0, 0, 2, 16][(split_mix(&mut state) % 4) as usize]
}

/// Whether futures are dropped, in 3 of 16 histories: those of the seeds that once failed, or that
/// found a bug, are not among them and stay what they were.
fn cancels(seed: u64) -> bool {
    matches!(seed % 16, 1 | 2 | 6)
}

/// Whether the log is in archive mode: only in histories that are drawn from more, and apart from
/// the other draws, for the same reason.
fn archive(seed: u64) -> bool {
    let mut state = seed ^ 0x6172_6368_6976;
    seed % 4 == 2 && !split_mix(&mut state).is_multiple_of(4)
}

/// Apart from the other draws, for the same reason. Without a window only samples are taken, and a
/// log of this size has one where each log file begins.
fn damage_scan(seed: u64, ring_bytes: u64) -> DamageScan {
    let mut state = seed ^ 0x6461_6D61_6765;
    match split_mix(&mut state) % 4 {
        0 => DamageScan::Whole,
        1 => DamageScan::Bounded { window_bytes: 0 },
        2 => DamageScan::Bounded { window_bytes: 1 },
        _ => DamageScan::Bounded {
            window_bytes: ring_bytes,
        },
    }
}

/// For how much and for how long flushes are deferred; in half of the histories not at all. Apart
/// from the other draws, too.
fn deferral(seed: u64, geometry: &Geometry) -> (u64, Nanos) {
    let mut state = seed ^ 0x6465_6665_7272;
    let block = u64::from(geometry.block_bytes);
    let log = geometry.blocks_per_group * block;
    let bytes = [0, 0, 0, 0, 2 * block, log / 2, log, u64::MAX];
    let bytes = bytes[(split_mix(&mut state) % 8) as usize];
    let time = [Nanos::from_micros(300), Nanos::from_millis(5)];
    (bytes, time[(split_mix(&mut state) % 2) as usize])
}

/// An adaptive writer that changes its mode within a life.
fn adaptive(rng: &mut Rng) -> Adaptive {
    Adaptive {
        window_batches: 1 + rng.below(3) as u32,
        window_min: Nanos(rng.below(200_000)),
        settling: rng.below(2) as u32,
        busy_part: rng.pick(&[0, 64, 192]),
        margin: rng.pick(&[0, 16, 256]),
        skip_max: rng.pick(&[0, 1, 2]),
    }
}
