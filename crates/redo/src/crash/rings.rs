//! Logs with a ring: what is drawn for them, how they are opened, and what they reach.
//!
//! Data disk 0 is the log's disk, data disk 1 its ring. The power of either may fail alone: what
//! the other has in its cache is kept then.

use super::coverage::RingCoverage;
use super::disks::{Disks, OpenRing};
use super::env::Env;
use super::plan::{Plan, RingPlan};
use crate::control::{ControlFile, RingKind, RingTable};
use crate::error::Error;
use crate::format::LifeId;
use crate::members::ring::{
    Announcement, GivenRing, OpenedRing, Patience, RING_DATA_AT, RingAssembly, RingDevice, announce,
};
use crate::planted::{Bug, Planted};
use device::LogDevice;
use device::sim_disk::SimDisk;
use measure::workload::split_mix;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The number of the ring among the data disks.
pub(super) const RING: usize = 1;

impl Plan {
    /// The same of a log with a ring.
    pub(super) fn with_ring(mut self, seed: u64) -> Plan {
        let mut state = seed ^ 0x72_696E_6700;
        let mut draw = |below: u64| split_mix(&mut state) % below;
        let kind = [RingKind::Ring, RingKind::Failover][draw(2) as usize];
        let sectors = [2, 3, 4, 6, 8, 12, 16, 32, 64, 128][draw(10) as usize];
        let unit = self.sector_bytes.max(self.geometry.block_bytes as usize) as u64;
        // One log write at a time, as the engine has it; and deeper, which the device allows.
        if draw(2) == 0 {
            self.policy.depth = 1;
            self.policy.adaptive = None;
        }
        // Drawn last: of most histories the rest is as it was when some of them found something.
        let own = [512, 1024, 2048, 4096][draw(4) as usize];
        let sector_bytes = [self.sector_bytes, own][draw(2) as usize];
        self.ring = Some(RingPlan {
            kind,
            bytes: sectors * unit.max(sector_bytes as u64),
            sector_bytes,
        });
        self.policy.durable_writes = false;
        self.archive = false;
        self
    }
}

/// The ring's disk, with an announcement as a creation leaves it.
pub(super) fn make(ring: RingPlan, log_id: crate::format::LogId) -> SimDisk {
    let disk = SimDisk::new(
        (RING_DATA_AT + ring.bytes) as usize,
        ring.sector_bytes,
        false,
    );
    disk.set_immediate(true);
    let given = GivenRing {
        path: PathBuf::from("ring"),
        device: Arc::new(disk.clone()),
    };
    announce(
        &given,
        &Announcement::of_new(log_id, ring.bytes),
        Planted::none(),
    )
    .expect("an immediate disk does not fail");
    disk.set_immediate(false);
    disk
}

/// Opens the disk and the ring, where it is given.
pub(super) fn assemble(
    disk: Arc<dyn LogDevice>,
    ring: Option<Arc<dyn LogDevice>>,
    control: &mut ControlFile,
    (life, kind): (LifeId, RingKind),
    planted: Planted,
) -> Result<OpenedRing, Error> {
    let path = PathBuf::from("ring");
    let ring = ring.map(|device| GivenRing { path, device });
    let assembly = RingAssembly {
        disk,
        path: PathBuf::from("disk"),
        ring: ring.ok_or_else(|| String::from("it is not given")),
        kind,
        life,
        patience: Patience::Drawn(false.into()),
        accept_loss: false,
        planted,
    };
    assembly.open(control)
}

impl Disks {
    /// What the control information says of the ring.
    pub(super) fn ring_table(&self) -> Option<RingTable> {
        let file = self.control_files().next()??;
        file.info().ring
    }
}

impl Env {
    /// Rings that are not given to an opening, as a mask of disks: only where nothing is lost.
    pub(super) fn draw_absent_ring(&mut self) -> u16 {
        let spare = self.disks.ring_table().is_some_and(|ring| ring.spare);
        let absent = spare && self.rng.chance(1, 4);
        u16::from(absent) << RING
    }

    /// The log was opened with this ring, or without one.
    pub(super) fn opened_ring(&mut self, opened: Option<&RingDevice>, copied: u64) {
        self.rings.openings_that_copied += u64::from(copied > 0);
        self.ring = None;
        let Some(device) = opened else {
            self.rings.lives_without_ring += 1;
            self.ring_was_away = true;
            return;
        };
        let disk =
            |number: usize| -> Arc<dyn LogDevice> { Arc::new(self.disks.data[number].clone()) };
        let device = Arc::new(device.on(disk(0), disk(RING)));
        let slow = self.rng.pick(&[None, None, Some(0), Some(0), Some(RING)]);
        self.rings.returned += u64::from(std::mem::take(&mut self.ring_was_away));
        self.rings.lives_with_a_slow_disk += u64::from(slow == Some(0));
        self.rings.lives_with_a_slow_ring += u64::from(slow == Some(RING));
        match device.standing.kind {
            RingKind::Ring => self.rings.lives_ring += 1,
            RingKind::Failover => self.rings.lives_failover += 1,
        }
        self.ring = Some(OpenRing { device, slow });
    }

    /// The disk is late from now on, or answers again; rarely somebody says that the ring is to be
    /// given up.
    pub(super) fn draw_late(&mut self) {
        let Some(ring) = &self.ring else {
            return;
        };
        if !self.rng.chance(1, 40) {
            return;
        }
        if self.rng.chance(1, 20) {
            ring.device.standing.condemn();
            self.rings.condemned += 1;
        }
        if let Patience::Drawn(late) = &ring.device.standing.patience {
            late.store(!late.load(Relaxed), Relaxed);
        }
    }

    /// Whether control information may be written: the disk has what was acknowledged.
    pub(super) fn has_caught_up(&self) -> bool {
        let Some(ring) = &self.ring else {
            return true;
        };
        self.planted.has(Bug::RingSpareEarly) || ring.device.has_caught_up() == Some(true)
    }

    /// The ring was given up, and the disk has everything that it acknowledged.
    pub(super) fn may_spare(&self) -> bool {
        let given_up = |ring: &OpenRing| ring.device.standing.has_failed();
        self.ring.as_ref().is_some_and(given_up) && self.has_caught_up()
    }

    /// A life with a ring ends.
    pub(super) fn count_ring(&mut self) {
        let Some(ring) = &self.ring else {
            return;
        };
        let state = ring.device.standing.report();
        let c = &mut self.rings;
        c.acknowledged_by_ring += state.first;
        c.hedged += match ring.device.standing.kind {
            RingKind::Failover => state.ring_writes,
            RingKind::Ring => 0,
        };
        c.skipped_busy += state.skip_busy;
        c.skipped_large += state.skip_large;
        c.lives_whose_ring_failed += u64::from(!state.in_use);
        let lacks = state.first > 0 && ring.device.has_caught_up() == Some(false);
        c.cut_with_the_disk_behind += u64::from(lacks);
        c.lives_whose_disk_failed += u64::from(ring.device.has_caught_up().is_none());
    }

    /// The disk that keeps its power in a cut, if only one loses it.
    pub(super) fn draw_spared(&mut self) -> Option<usize> {
        if self.plan.ring.is_none() || self.flush_failed {
            return None;
        }
        let spared = self.rng.pick(&[None, None, Some(0), Some(RING)]);
        let counter = match spared {
            None => &mut self.rings.cut_both,
            Some(0) => &mut self.rings.cut_ring_alone,
            Some(_) => &mut self.rings.cut_disk_alone,
        };
        *counter += 1;
        spared
    }
}

impl RingCoverage {
    /// An opening ended before the log was open.
    pub(super) fn cut(&mut self) {
        self.cut_opening += 1;
    }
}
