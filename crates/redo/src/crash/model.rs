//! The exhaustive small model of recovery: every state that power cuts and kills can leave of a
//! few blocks in flight, every interruption of the recovery that follows, a second life on what
//! was recovered, and every state that its end can leave.
//!
//! Invariants: the oracle judges each recovery that returns (I1 to I4, I7); nothing is drawn.
//! A second member is one more disk of [`super::machine::Machine`]: the enumeration runs over all
//! sectors of all disks.

use super::machine::{Images, Machine, Setup, Stop};
use super::oracle::Oracle;
use crate::control::{COPY_BYTES, ControlFile};
use crate::error::Error;
use crate::group::Geometry;
use crate::planted::Planted;
use std::collections::BTreeSet;

/// Blocking operations of a recovery: flushes of the log and of the control file, then write and
/// flush of each control copy.
const RECOVERY_OPS: usize = 6;
/// Seal units of a log.
const UNITS: u64 = 6;
const GROUPS: u32 = 2;

/// What was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Distinct states of all disks from which a recovery was judged.
    pub states: u64,
    /// Recoveries that returned and were judged.
    pub recoveries: u64,
    /// Recoveries that were interrupted.
    pub interrupted: u64,
    /// Damaged logs that were rightly refused.
    pub refused: u64,
    /// Damaged last batches: no later block shows the damage, so they count as a torn tail.
    pub untold: u64,
}

/// What a life does before it ends: writes batches, of which the first are flushed one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    acknowledged: usize,
    unflushed: usize,
    /// The unflushed redo is one batch with a record over several blocks.
    spanning: bool,
}

pub(super) const fn script(acknowledged: usize, unflushed: usize, spanning: bool) -> Script {
    Script {
        acknowledged,
        unflushed,
        spanning,
    }
}

const FIRST: &[Script] = &[
    script(0, 3, false),
    script(1, 2, false),
    script(0, 1, true),
    script(1, 1, true),
];
/// Ways to spend the first life.
pub const SCRIPTS: usize = FIRST.len();
const SECOND: &[Script] = &[
    script(0, 1, false),
    script(0, 2, false),
    script(1, 1, false),
    script(0, 1, true),
];

/// Explores logs of 512-byte blocks on sectors of `sector_bytes`, with the first `scripts` ways
/// to spend the first life ([`SCRIPTS`] in all).
///
/// # Errors
/// The promise that was broken, and where.
pub fn explore(sector_bytes: usize, scripts: usize, planted: Planted) -> Result<Explored, String> {
    let mut model = Model::new(sector_bytes, planted);
    for reused in [false, true] {
        let (base, oracle) = model.base(reused)?;
        for first in FIRST.iter().take(scripts) {
            model
                .first_life(&base, &oracle, *first)
                .map_err(|e| format!("{first:?}, reused log: {reused}: {e}"))?;
        }
    }
    Ok(model.explored)
}

/// Damages each block of a log whose batches were acknowledged one by one, in several ways: what
/// a later block can tell must be refused with its address, the rest must be a prefix.
///
/// # Errors
/// The promise that was broken, and where.
pub fn damage(sector_bytes: usize) -> Result<Explored, String> {
    let mut model = Model::new(sector_bytes, Planted::none());
    for reused in [false, true] {
        let (base, oracle) = model.base(reused)?;
        let (machine, oracle) = model.live(&base, &oracle, script(3, 0, false))?;
        let images = machine.cuts().pop().expect("one, all being durable");
        model.damage_each(&base, &images, &oracle)?;
        model.damage_control(&images, &oracle)?;
    }
    Ok(model.explored)
}

pub(super) struct Model {
    pub(super) setup: Setup,
    pub(super) explored: Explored,
}

impl Model {
    pub(super) fn new(sector_bytes: usize, planted: Planted) -> Model {
        let seal_blocks = (sector_bytes / 512) as u32;
        let blocks_per_group = UNITS * u64::from(seal_blocks);
        let geometry = Geometry {
            block_bytes: 512,
            seal_blocks,
            groups: GROUPS,
            blocks_per_group,
            header_bytes: 1024,
            file_bytes: 1024 + blocks_per_group * 512,
        };
        Model {
            setup: Setup {
                geometry,
                sector_bytes,
                planted,
                copy: 0,
            },
            explored: Explored::default(),
        }
    }

    /// Lengths of records that fill about one seal unit.
    fn unit(&self) -> Vec<usize> {
        let room = (self.setup.geometry.payload() * self.setup.geometry.seal_blocks) as usize;
        vec![room / 2, room / 4]
    }

    /// A log with one acknowledged batch; `reused`: both logs were filled before, the first is
    /// free again, and its old blocks lie where the next life writes.
    pub(super) fn base(&mut self, reused: bool) -> Result<(Images, Oracle), String> {
        let images = Machine::create(self.setup);
        let mut oracle = Oracle::default();
        let machine = Machine::boot(self.setup, &images);
        let control = self.judged(&machine, &mut oracle)?;
        let mut log = machine.open(control);
        let batches = if reused { UNITS * 2 } else { 1 };
        for _ in 0..batches {
            let last = log.write(&self.unit(), &mut oracle);
            log.flush();
            oracle.acknowledge(last);
        }
        if reused {
            let most = oracle.len() - 3;
            log.checkpoint(most, &mut oracle);
        }
        drop(log);
        let images = machine.cuts().pop().expect("one, all being durable");
        Ok((images, oracle))
    }

    /// Recovers and judges; the log may then be opened.
    fn judged(&mut self, machine: &Machine, oracle: &mut Oracle) -> Result<ControlFile, String> {
        self.explored.recoveries += 1;
        let result = machine.recover(None).expect("nothing stops it");
        let (control, found) = result.map_err(|e| format!("I1/I9: refused to open: {e}"))?;
        oracle.recovered(control.info().checkpoint, &found)?;
        Ok(control)
    }

    /// A life from `images` on. The machine is as it was when the process ended.
    pub(super) fn live(
        &mut self,
        images: &Images,
        oracle: &Oracle,
        script: Script,
    ) -> Result<(Machine, Oracle), String> {
        let machine = Machine::boot(self.setup, images);
        let mut oracle = oracle.clone();
        let control = self.judged(&machine, &mut oracle)?;
        let mut log = machine.open(control);
        let unit = self.unit();
        for _ in 0..script.acknowledged {
            let last = log.write(&unit, &mut oracle);
            log.flush();
            oracle.acknowledge(last);
        }
        for _ in 0..script.unflushed {
            if script.spanning {
                let long = unit.iter().sum::<usize>() * 2;
                log.write(&[20, long, 20], &mut oracle);
            } else {
                log.write(&unit, &mut oracle);
            }
        }
        drop(log);
        Ok((machine, oracle))
    }

    fn first_life(&mut self, base: &Images, before: &Oracle, first: Script) -> Result<(), String> {
        let (machine, oracle) = self.live(base, before, first)?;
        let mut left: BTreeSet<Images> = machine.cuts().into_iter().collect();
        // The process is killed instead, and the recovery that reads its cache is interrupted.
        let mut explored = Model::new(self.setup.sector_bytes, self.setup.planted);
        let again = || {
            explored
                .live(base, before, first)
                .map(|(machine, _)| machine)
        };
        left.extend(self.interrupted(again)?);
        // Or the recovery comes through, and the power is cut then.
        let (machine, _) = self.live(base, before, first)?;
        let mut exposed = oracle.clone();
        self.judged(&machine, &mut exposed)?;
        for images in machine.cuts() {
            self.settled(&images, &exposed)?;
        }
        for images in left {
            self.settled(&images, &oracle)?;
            let setup = self.setup;
            let mut begun = self.interrupted(|| Ok(Machine::boot(setup, &images)))?;
            begun.insert(images);
            for images in begun {
                for second in SECOND {
                    self.second_life(&images, &oracle, *second)
                        .map_err(|e| format!("then {second:?}: {e}"))?;
                }
            }
        }
        Ok(())
    }

    /// Everything that a power cut can leave during each operation of a recovery, and of one
    /// that follows a recovery that was killed. `make` makes the machine on which it runs.
    fn interrupted(
        &mut self,
        mut make: impl FnMut() -> Result<Machine, String>,
    ) -> Result<BTreeSet<Images>, String> {
        let mut left = BTreeSet::new();
        let stop = |at, killed| Some(Stop { at, killed });
        for at in 0..RECOVERY_OPS {
            let machine = make()?;
            if machine.recover(stop(at, false)).is_some() {
                // A planted bug leaves operations out.
                return Ok(left);
            }
            self.explored.interrupted += 1;
            left.extend(machine.cuts());
            for next in 0..RECOVERY_OPS {
                let machine = make()?;
                let first = machine.recover(stop(at, true));
                let second = machine.recover(stop(next, false));
                if first.is_some() || second.is_some() {
                    break;
                }
                self.explored.interrupted += 1;
                left.extend(machine.cuts());
            }
        }
        let beyond = make()?.recover(stop(RECOVERY_OPS, false));
        beyond.map(|_| left).ok_or_else(|| {
            format!("a recovery has more than the {RECOVERY_OPS} operations of this model")
        })
    }

    fn second_life(
        &mut self,
        images: &Images,
        oracle: &Oracle,
        second: Script,
    ) -> Result<(), String> {
        let (machine, oracle) = self.live(images, oracle, second)?;
        for images in machine.cuts() {
            self.explored.states += 1;
            let machine = Machine::boot(self.setup, &images);
            self.judged(&machine, &mut oracle.clone())?;
        }
        // Or the process is killed, and the next one reads its cache.
        self.judged(&machine, &mut oracle.clone())?;
        Ok(())
    }

    /// Recovers from `images`, and again: the oracle holds the second to what the first returned.
    fn settled(&mut self, images: &Images, oracle: &Oracle) -> Result<(), String> {
        self.explored.states += 1;
        let machine = Machine::boot(self.setup, images);
        let mut oracle = oracle.clone();
        for _ in 0..2 {
            self.judged(&machine, &mut oracle)?;
        }
        Ok(())
    }

    fn damage_each(
        &mut self,
        earlier: &Images,
        images: &Images,
        oracle: &Oracle,
    ) -> Result<(), String> {
        let g = self.setup.geometry;
        let end = oracle.end_block();
        let last_unit = (end - 1) / u64::from(g.seal_blocks) * u64::from(g.seal_blocks);
        for block in oracle.checkpoint_block()..end {
            let at = g.address(block) as usize;
            let range = at..at + g.block_bytes as usize;
            let mut damages: Vec<Vec<u8>> = vec![vec![0; range.len()], vec![0xA5; range.len()]];
            damages.push(earlier[1][range.clone()].to_vec());
            for bit in [0, 65, 130, 200, 320, 600] {
                let mut flipped = images[1][range.clone()].to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                damages.push(flipped);
            }
            for content in damages {
                if content == images[1][range.clone()] {
                    continue;
                }
                let mut damaged = images.clone();
                damaged[1][range.clone()].copy_from_slice(&content);
                self.explored.states += 1;
                let machine = Machine::boot(self.setup, &damaged);
                match machine.recover(None).expect("nothing stops it") {
                    Err(Error::Corrupt { rba, .. }) if rba == g.rba(block, 0) => {
                        self.explored.refused += 1;
                    }
                    Ok((control, found)) if block >= last_unit => {
                        let mut oracle = oracle.clone();
                        oracle.forget_promises();
                        oracle.recovered(control.info().checkpoint, &found)?;
                        self.explored.untold += 1;
                    }
                    Err(other) => return Err(format!("I9: block {block} damaged: {other}")),
                    Ok((_, found)) => {
                        let found = found.len();
                        return Err(format!("I9: block {block} damaged: {found} records came"));
                    }
                }
            }
        }
        Ok(())
    }

    /// One control copy is enough; without either nothing is opened.
    fn damage_control(&mut self, images: &Images, oracle: &Oracle) -> Result<(), String> {
        for (copies, at) in [(1, 0), (1, 9), (1, 70), (1, COPY_BYTES - 1), (2, 70)] {
            for first in 0..2 {
                let mut damaged = images.clone();
                for copy in 0..copies {
                    let copy = (first + copy) % 2;
                    damaged[0][copy * COPY_BYTES + at] ^= 0x40;
                }
                self.explored.states += 1;
                let machine = Machine::boot(self.setup, &damaged);
                match machine.recover(None).expect("nothing stops it") {
                    Ok((control, found)) if copies == 1 => {
                        oracle
                            .clone()
                            .recovered(control.info().checkpoint, &found)?;
                    }
                    Err(Error::ControlDamaged { .. }) if copies == 2 => self.explored.refused += 1,
                    Ok(_) => return Err(String::from("I9: opened without control information")),
                    Err(other) => return Err(format!("I9: byte {at} of copy {first}: {other}")),
                }
            }
        }
        Ok(())
    }
}
