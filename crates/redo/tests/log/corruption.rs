//! A table of corruptions of a small real log, with what reading it must come to. An altered
//! record is never accepted: what is read is a prefix of what was written, byte for byte; and
//! where a later block or the control information proves that redo is missing, the log is
//! refused with the address of the first block that does not count.

use crate::common::{SMALL, Scratch, commit, open, record};
use device::sim_disk::SimDisk;
use device::{LogDevice, queue::write_durable};
use redo::control::ControlInfo;
use redo::engine::Paths;
use redo::format::{BLOCK_HEADER_BYTES, BlockHeader, Summer};
use redo::planted::Planted;
use redo::recovery::Reader;
use redo::{CommitMode, Error, Log};
use std::path::Path;

const BLOCK: usize = 4096;
/// Blocks of the log, one for each commit.
const BLOCKS: u32 = 12;
const LAST: u32 = BLOCKS - 1;

/// A log in memory that can be damaged and mended.
struct Image {
    control: ControlInfo,
    disk: SimDisk,
    whole: Vec<u8>,
}

/// What reading comes to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// So many records, then the log's end.
    Prefix(u32),
    /// Damage at this block.
    Corrupt(u32),
}

impl Image {
    /// Of a log with one record in each of [`BLOCKS`] blocks.
    fn new(close: bool) -> Image {
        let scratch = Scratch::with_log();
        let log = open(&scratch.0);
        let mut session = log.session();
        for which in 0..BLOCKS {
            commit(&mut session, 0, which).expect("durable");
        }
        if close {
            log.close().expect("nothing failed");
        } else {
            drop(log);
        }
        let (control, _) = Log::inspect(&scratch.0).expect("readable");
        assert_eq!(control.closed_at.is_some(), close);
        Image::of(&scratch)
    }

    /// Of the log in a directory.
    fn of(scratch: &Scratch) -> Image {
        let (control, _) = Log::inspect(&scratch.0).expect("readable");
        let mut whole = Vec::new();
        for file in Paths::new(&scratch.0).logs(SMALL.groups) {
            whole.extend(std::fs::read(file).expect("readable"));
        }
        let disk = SimDisk::new(whole.len(), BLOCK, false);
        disk.set_immediate(true);
        let image = Image {
            control,
            disk,
            whole,
        };
        for at in (0..image.whole.len()).step_by(BLOCK) {
            image.put(at, &image.whole[at..at + BLOCK]);
        }
        image
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        write_durable(&self.disk, at as u64, bytes).expect("memory");
    }

    fn at(&self, block: u32) -> usize {
        self.control.geometry.address(block.into()) as usize
    }

    fn block(&self, block: u32) -> &[u8] {
        &self.whole[self.at(block)..self.at(block) + BLOCK]
    }

    /// Reads the log with blocks replaced, and mends it.
    fn with(&self, changes: &[(u32, Vec<u8>)]) -> Outcome {
        for (block, bytes) in changes {
            self.put(self.at(*block), bytes);
        }
        let outcome = self.read();
        for (block, _) in changes {
            self.put(self.at(*block), self.block(*block));
        }
        outcome
    }

    fn read(&self) -> Outcome {
        let path = Path::new("redo.ctl");
        let data: &dyn LogDevice = &self.disk;
        let reader = Reader::new(data, &self.control, path, Planted::none());
        let mut records = 0;
        let scan = reader.scan(|rba, _, bytes| {
            assert!(bytes == record(0, records), "an altered record at {rba}");
            records += 1;
        });
        match scan {
            Ok(scan) => {
                assert_eq!(scan.records, u64::from(records));
                Outcome::Prefix(records)
            }
            Err(Error::Corrupt { rba, .. }) => {
                assert_eq!(rba.log_seq, 1);
                Outcome::Corrupt(rba.block)
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// What damage of `block` must come to: what follows proves that it was durable, or the
    /// control information does; of the last block nobody knows.
    fn expected(&self, block: u32) -> Outcome {
        if block < LAST || self.control.closed_at.is_some() {
            Outcome::Corrupt(block)
        } else {
            Outcome::Prefix(block)
        }
    }

    /// The number of the block at which reading finds damage, with blocks replaced and mended.
    fn damaged_at(&self, changes: &[(u32, Vec<u8>)]) -> Option<u32> {
        for (block, bytes) in changes {
            self.put(self.at(*block), bytes);
        }
        let data: &dyn LogDevice = &self.disk;
        let path = Path::new("redo.ctl");
        let scan = Reader::new(data, &self.control, path, Planted::none()).scan(|_, _, _| {});
        for (block, _) in changes {
            self.put(self.at(*block), self.block(*block));
        }
        match scan {
            Ok(_) => None,
            Err(Error::Corrupt { rba, .. }) => {
                let per_group = self.control.geometry.blocks_per_group;
                let block = (rba.log_seq - 1) * per_group + u64::from(rba.block);
                Some(u32::try_from(block).expect("a small log"))
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn used(&self, block: u32) -> usize {
        let header = BlockHeader::decode(&Summer::new(self.control.log_id), self.block(block));
        usize::from(header.expect("a block of the log").used)
    }
}

fn images() -> [Image; 2] {
    [false, true].map(Image::new)
}

#[test]
fn undamaged_it_is_read_whole() {
    for image in images() {
        assert_eq!(image.read(), Outcome::Prefix(BLOCKS));
    }
}

/// In a block in the middle and in the last.
#[test]
fn no_flipped_bit_is_accepted() {
    for image in images() {
        for block in [5, LAST] {
            let covered = (BLOCK_HEADER_BYTES + image.used(block)) * 8;
            // All bits of the header, one of each byte of the redo.
            let redo = (BLOCK_HEADER_BYTES * 8..covered).step_by(9);
            for bit in (0..BLOCK_HEADER_BYTES * 8).chain(redo) {
                let mut bad = image.block(block).to_vec();
                bad[bit / 8] ^= 1 << (bit % 8);
                let outcome = image.with(&[(block, bad)]);
                assert_eq!(outcome, image.expected(block), "bit {bit} of block {block}");
            }
        }
    }
}

/// Padding is not redo: what happens to it changes nothing.
#[test]
fn flipped_bits_behind_the_redo_change_nothing() {
    let image = Image::new(false);
    for at in (BLOCK_HEADER_BYTES + image.used(5)..BLOCK).step_by(61) {
        let mut bad = image.block(5).to_vec();
        bad[at] ^= 0x80;
        assert_eq!(
            image.with(&[(5, bad)]),
            Outcome::Prefix(BLOCKS),
            "byte {at}"
        );
    }
}

#[test]
fn torn_and_zeroed_blocks_do_not_count() {
    for image in images() {
        for block in 0..BLOCKS {
            assert_eq!(
                image.with(&[(block, vec![0; BLOCK])]),
                image.expected(block)
            );
            let used = BLOCK_HEADER_BYTES + image.used(block);
            for sectors in (1..BLOCK / 512).filter(|s| s * 512 < used) {
                let mut torn = image.block(block).to_vec();
                torn[sectors * 512..].fill(0xEE);
                let outcome = image.with(&[(block, torn)]);
                assert_eq!(outcome, image.expected(block), "{sectors} of block {block}");
            }
        }
    }
}

#[test]
fn exchanged_blocks_are_damage() {
    for image in images() {
        for first in 0..LAST {
            for second in first + 1..BLOCKS {
                let (a, b) = (image.block(first).to_vec(), image.block(second).to_vec());
                let outcome = image.with(&[(first, b), (second, a)]);
                assert_eq!(outcome, Outcome::Corrupt(first), "{first} and {second}");
            }
        }
    }
}

/// A block that is there twice is damage where it hides another, and nothing behind the end.
#[test]
fn a_doubled_block_counts_once() {
    for image in images() {
        for from in 0..BLOCKS {
            for to in (0..BLOCKS).filter(|to| *to != from) {
                let outcome = image.with(&[(to, image.block(from).to_vec())]);
                assert_eq!(outcome, image.expected(to), "{from} over {to}");
            }
            let behind = image.with(&[(BLOCKS + 3, image.block(from).to_vec())]);
            assert_eq!(behind, Outcome::Prefix(BLOCKS), "{from} behind the end");
        }
    }
}

/// What no later block contradicts is a shorter log, unless it was closed: then the control
/// information knows better.
#[test]
fn a_lost_end_is_told_only_when_the_log_was_closed() {
    for image in images() {
        for from in 0..BLOCKS {
            let lost: Vec<_> = (from..BLOCKS).map(|b| (b, vec![0xA5; BLOCK])).collect();
            let expected = match image.control.closed_at {
                Some(_) => Outcome::Corrupt(from),
                None => Outcome::Prefix(from),
            };
            assert_eq!(image.with(&lost), expected, "from {from}");
        }
    }
}

#[test]
fn a_block_of_another_log_is_never_taken() {
    let other = Image::new(false);
    for image in images() {
        assert_ne!(image.control.log_id, other.control.log_id);
        for block in 0..BLOCKS {
            let outcome = image.with(&[(block, other.block(block).to_vec())]);
            assert_eq!(outcome, image.expected(block), "block {block}");
        }
        let behind = image.with(&[(BLOCKS, other.block(LAST).to_vec())]);
        assert_eq!(behind, Outcome::Prefix(BLOCKS));
    }
}

/// A closed log of a mebibyte of redo, and how many blocks hold it.
fn mebibyte() -> (Image, u32) {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let mut which = 0;
    while u64::from(which) * 3000 < 1 << 20 {
        let body: Vec<u8> = (0..3000_u32)
            .map(|at| (at * 7 + which * 13) as u8)
            .collect();
        session.append(&[&body]).expect("open");
        session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        which += 1;
    }
    log.close().expect("nothing failed");
    let image = Image::of(&scratch);
    let end = image.control.closed_at.expect("it was closed");
    (image, u32::try_from(end).expect("a small log"))
}

/// One bit of each byte of a mebibyte of redo, or all of them with `REDO_FLIPS=8`: no altered block
/// is believed, and no byte that a record is made of can be altered unseen.
#[test]
fn no_flip_in_a_mebibyte_is_believed() {
    let bits: u32 = match std::env::var("REDO_FLIPS") {
        Ok(bits) => bits.parse().expect("REDO_FLIPS is a number"),
        Err(_) => 1,
    };
    let (image, blocks) = mebibyte();
    let summer = Summer::new(image.control.log_id);
    let mut flips = 0_u64;
    for block in 0..blocks {
        let whole = image.block(block);
        let header = BlockHeader::decode(&summer, whole).expect("a block of the log");
        let covered = BLOCK_HEADER_BYTES + usize::from(header.used);
        let mut bad = whole.to_vec();
        for at in 0..BLOCK {
            for bit in 0..bits {
                let flip = 1 << ((at as u32 + bit) % 8);
                bad[at] ^= flip;
                let believed = BlockHeader::decode(&summer, &bad);
                let expected = (at >= covered).then_some(header);
                assert_eq!(believed, expected, "byte {at} of block {block}");
                bad[at] ^= flip;
                flips += 1;
            }
        }
    }
    println!("{flips} flips in {blocks} blocks: 0 altered records accepted");
    assert!(flips >= u64::from(bits) << 20, "{flips}");
    for block in (0..blocks).step_by(17) {
        let mut bad = image.block(block).to_vec();
        let header = BlockHeader::decode(&summer, &bad).expect("a block of the log");
        // A slow machine leaves blocks partly filled: only what the checksum covers is damaged.
        let covered = BLOCK_HEADER_BYTES + usize::from(header.used);
        bad[(block as usize * 97) % covered] ^= 4;
        assert_eq!(image.damaged_at(&[(block, bad)]), Some(block));
    }
}

/// A mebibyte of redo, with blocks that landed elsewhere, were exchanged, are there twice, or end
/// the log early.
#[test]
fn misdirected_blocks_of_a_mebibyte_are_damage() {
    let (image, blocks) = mebibyte();
    let bytes = |block: u32| image.block(block).to_vec();
    for (first, step) in (0..blocks - 1).step_by(11).zip((1..).cycle()) {
        let second = (first + step).min(blocks - 1);
        let exchanged = [(first, bytes(second)), (second, bytes(first))];
        assert_eq!(image.damaged_at(&exchanged), Some(first));
        assert_eq!(image.damaged_at(&[(second, bytes(first))]), Some(second));
        let lost: Vec<_> = (first..blocks).map(|b| (b, vec![0; BLOCK])).collect();
        assert_eq!(image.damaged_at(&lost), Some(first), "cut before {first}");
    }
}
