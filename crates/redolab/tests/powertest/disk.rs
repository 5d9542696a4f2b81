//! Disks that lie, each in its own way, behind a file that `fuse` serves.
//!
//! What lives here: what such a disk keeps durably of the writes and flushes that a loop device
//! sends it, and what it has when its power comes back.
//!
//! Invariants: an honest disk keeps everything that a flush covered, and of what came after any
//! sectors; every disk is dead from its power cut on: it takes nothing and confirms no flush. Disks
//! that lie do so with redo blocks and self-describing sectors alone, so that the file system above
//! can be mounted again, but for the one that drops flushes: what it has is what it had some writes
//! before.

use crate::fuse::Journal;
use measure::workload::split_mix;

const SECTOR: usize = 512;
const EIO: i32 = 5;
/// Writes of the test that a disk which drops or reorders has in its cache: more than can be in
/// flight at once.
const CACHED: usize = 80;
/// Beginnings of what the tests write: redo blocks, and sectors of raw writes.
const MARKS: [&[u8]; 2] = [b"RdBk", b"RLps"];

/// How a disk behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// It keeps what it confirmed.
    #[default]
    Honest,
    /// It confirms flushes and does nothing.
    DropsFlushes,
    /// Of what it confirmed it keeps later writes and loses earlier ones.
    Reorders,
    /// It keeps half a sector of a write that it confirmed.
    Tears,
    /// Of 50 flushes it does not carry out one.
    LosesOneFlushIn50,
}

impl Fault {
    pub const ALL: [Fault; 5] = [
        Fault::Honest,
        Fault::DropsFlushes,
        Fault::Reorders,
        Fault::Tears,
        Fault::LosesOneFlushIn50,
    ];
}

struct Write {
    at: usize,
    data: Vec<u8>,
    flushed: bool,
}

impl Write {
    fn is_of_the_test(&self) -> bool {
        MARKS.iter().any(|mark| self.data.starts_with(mark))
    }
}

/// What a disk has, and what it confirmed.
#[derive(Default)]
pub struct Cache {
    fault: Fault,
    durable: Vec<u8>,
    /// In the order in which they came.
    pending: Vec<Write>,
    /// Writes of the test that became durable last, with what was there before.
    recent: Vec<(usize, Vec<u8>)>,
    flushes: u64,
    /// It dies by itself when it has not carried out a flush that it confirms.
    pub dies_lying: bool,
    dead: bool,
}

impl Cache {
    /// A disk with this content.
    pub fn hold(&mut self, fault: Fault, durable: Vec<u8>) {
        (self.fault, self.durable) = (fault, durable);
    }

    fn apply(durable: &mut [u8], write: &Write) {
        if let Some(place) = durable.get_mut(write.at..write.at + write.data.len()) {
            place.copy_from_slice(&write.data);
        }
    }

    /// Makes every pending write durable.
    fn settle(&mut self) {
        for write in std::mem::take(&mut self.pending) {
            self.settle_one(&write);
        }
    }

    fn settle_one(&mut self, write: &Write) {
        if write.is_of_the_test() {
            let before = self.durable[write.at..write.at + SECTOR].to_vec();
            self.recent.push((write.at, before));
            let old = self.recent.len().saturating_sub(CACHED);
            self.recent.drain(..old);
        }
        Cache::apply(&mut self.durable, write);
    }

    /// Pending writes of the test.
    fn cached(&self) -> usize {
        self.pending.iter().filter(|w| w.is_of_the_test()).count()
    }

    /// The power goes, and comes back: what is there then. From now on the disk is dead.
    pub fn cut(&mut self, state: &mut u64) -> Vec<u8> {
        self.dead = true;
        let mut left = std::mem::take(&mut self.durable);
        let pending = std::mem::take(&mut self.pending);
        match self.fault {
            Fault::Honest => {
                for write in &pending {
                    keep_any_sectors(&mut left, write, state);
                }
            }
            Fault::DropsFlushes | Fault::LosesOneFlushIn50 => {}
            Fault::Reorders => {
                let confirmed = pending.iter().filter(|w| w.flushed).count();
                for write in pending.iter().skip(confirmed / 2) {
                    Cache::apply(&mut left, write);
                }
            }
            Fault::Tears => {
                // One that was certainly acknowledged, and sent.
                let (at, before) = &self.recent[self.recent.len() / 4];
                let half = *at + SECTOR / 2..*at + SECTOR;
                left[half].copy_from_slice(&before[SECTOR / 2..]);
            }
        }
        left
    }
}

/// Of a write that no flush covered, any sectors may be there.
fn keep_any_sectors(left: &mut [u8], write: &Write, state: &mut u64) {
    let fate = split_mix(state) % 3;
    for (number, sector) in write.data.chunks(SECTOR).enumerate() {
        let kept = match fate {
            0 => false,
            1 => true,
            _ => split_mix(state).is_multiple_of(2),
        };
        if kept {
            let at = write.at + number * SECTOR;
            left[at..at + sector.len()].copy_from_slice(sector);
        }
    }
}

impl Journal for Cache {
    fn written(&mut self, at: u64, data: &[u8]) {
        if !self.dead {
            self.pending.push(Write {
                at: at as usize,
                data: data.to_vec(),
                flushed: false,
            });
        }
    }

    fn flushed(&mut self) -> Result<(), i32> {
        if self.dead {
            return Err(EIO);
        }
        self.flushes += 1;
        match self.fault {
            Fault::Honest | Fault::Tears => self.settle(),
            Fault::DropsFlushes => {
                while self.cached() > CACHED {
                    let write = self.pending.remove(0);
                    self.settle_one(&write);
                }
            }
            Fault::Reorders => {
                let (ours, others) = std::mem::take(&mut self.pending)
                    .into_iter()
                    .partition(Write::is_of_the_test);
                self.pending = ours;
                for write in others {
                    self.settle_one(&write);
                }
                self.pending.iter_mut().for_each(|w| w.flushed = true);
                while self.pending.len() > CACHED {
                    let write = self.pending.remove(0);
                    self.settle_one(&write);
                }
            }
            Fault::LosesOneFlushIn50 => {
                if !self.flushes.is_multiple_of(50) {
                    self.settle();
                } else if self.dies_lying && self.cached() > 0 {
                    self.dead = true;
                }
            }
        }
        Ok(())
    }
}

#[test]
fn disks_keep_what_their_fault_says() {
    let mut state = 1;
    for fault in Fault::ALL {
        let mut cache = Cache::default();
        cache.hold(fault, vec![0; 300 * SECTOR]);
        // Write n lies in sector n; the last one is not flushed.
        for number in 1..=200_u8 {
            let mut sector = [number; SECTOR];
            sector[..4].copy_from_slice(MARKS[0]);
            cache.written(u64::from(number) * SECTOR as u64, &sector);
            if number < 200 {
                cache.flushed().expect("it is confirmed");
            }
        }
        let left = cache.cut(&mut state);
        let at = |number: usize| left[number * SECTOR + SECTOR - 1] == number as u8;
        let lost: Vec<usize> = (1..200).filter(|n| !at(*n)).collect();
        match fault {
            Fault::Honest | Fault::LosesOneFlushIn50 => {
                assert!(lost.is_empty(), "{fault:?}: {lost:?}")
            }
            Fault::DropsFlushes => assert_eq!(lost, (120..200).collect::<Vec<_>>()),
            Fault::Reorders => assert_eq!(lost, (120..160).collect::<Vec<_>>()),
            Fault::Tears => {
                assert_eq!(lost, [140]);
                assert_eq!(left[140 * SECTOR + 9], 140, "the other half is there");
            }
        }
        cache.written(0, &[1; SECTOR]);
        assert_eq!(cache.flushed(), Err(EIO), "it is dead");
    }
    let mut cache = Cache::default();
    cache.hold(Fault::LosesOneFlushIn50, vec![0; 100 * SECTOR]);
    cache.dies_lying = true;
    let mut confirmed = 0;
    for number in 1..=60_u8 {
        let mut sector = [number; SECTOR];
        sector[..4].copy_from_slice(MARKS[0]);
        cache.written(u64::from(number) * SECTOR as u64, &sector);
        confirmed += u64::from(cache.flushed().is_ok());
    }
    assert_eq!(confirmed, 50);
    let left = cache.cut(&mut state);
    assert_eq!((left[49 * SECTOR + 9], left[50 * SECTOR + 9]), (49, 0));
}
