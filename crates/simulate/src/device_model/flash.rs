//! A flash device: dies behind channels, a page-mapped translation with greedy collection, an
//! optional write-back cache, and others who write to the same device.
//!
//! A device of at most [`MOST_PAGES`] pages is simulated. The log and the data of others have the
//! share of it that they have of the real one, and wear its dies at the real rate, so that the
//! write amplification is that of the real one and memory is bounded. Pages go to the dies in turn;
//! each die erases a block after as many pages as a block has.

use super::Operation;
use super::field::{Contradiction, Field, lone};
use super::front::DeviceFront;
use super::translation::{ROW, Translation};
use crate::chance::Chance;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pages that are simulated, at most.
const MOST_PAGES: f64 = 262_144.0;
/// Others write so many times what they have before the log begins: collection is steady then.
const SETTLES: usize = 3;
/// Others wait where a die has so much to do, nanoseconds.
const OTHERS_WAIT_NS: f64 = 1e8;

/// A flash device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlashModel {
    /// Channels, each with its own link to its dies.
    pub channels: u32,
    /// Dies of each channel.
    pub dies: u32,
    /// A page that is programmed at once, kB.
    pub page_kb: f64,
    /// Pages of a block that is erased at once.
    pub block_pages: u32,
    /// Programming a page, nanoseconds.
    pub program_ns: f64,
    /// Reading a page.
    pub read_ns: f64,
    /// Erasing a block.
    pub erase_ns: f64,
    /// Of a channel.
    pub channel_mb_per_s: f64,
    /// What a device has beyond what it offers, as a share of what it offers.
    pub over_provisioning: f64,
    /// What it offers, GB.
    pub capacity_gb: f64,
    /// Commands and cache.
    pub front: DeviceFront,
    /// Pages that others write per second, anywhere in their data.
    pub others_per_s: f64,
    /// Their data, as a share of what the device offers.
    pub others_share: f64,
}

impl FlashModel {
    pub(super) fn fields(&mut self) -> Vec<Field<'_>> {
        let mut out = vec![
            Field::count("channels", 256, &mut self.channels),
            Field::count("dies_per_channel", 256, &mut self.dies),
            Field::number("page_kb", 1024.0, &mut self.page_kb).from(0.5),
            Field::count("pages_per_block", 65_536, &mut self.block_pages),
            Field::time("program_us", &mut self.program_ns),
            Field::time("read_us", &mut self.read_ns),
            Field::time("erase_us", &mut self.erase_ns),
            Field::rate("channel_mb_per_s", &mut self.channel_mb_per_s).from(1e-3),
            Field::number("over_provisioning", 10.0, &mut self.over_provisioning),
            Field::number("capacity_gb", 1e9, &mut self.capacity_gb).from(1e-3),
            Field::rate("others_pages_per_s", &mut self.others_per_s).optional(),
            Field::number("others_share", 0.99, &mut self.others_share).optional(),
        ];
        out.extend(self.front.fields());
        out
    }

    pub(super) fn contradiction(&self) -> Contradiction {
        let cache = self.front.cache_bytes() / 1024.0;
        let key = match self.front.cache_kb > 0.0 {
            true => "cache_kb",
            false => "protected_cache_kb",
        };
        let small = (cache > 0.0 && cache < self.page_kb).then(|| {
            (
                key,
                format!("{key} is less than page_kb: use at least a page"),
            )
        });
        let others = ("others_pages_per_s", self.others_per_s);
        let alone = lone(others, ("others_share", self.others_share));
        let no_room = lone(others, ("over_provisioning", self.over_provisioning));
        small.or(alone).or(no_room).or(self.front.contradiction())
    }
}

/// A [`FlashModel`] at work.
#[derive(Debug)]
pub(crate) struct FlashDevice {
    of: FlashModel,
    page_bytes: u64,
    transfer_ns: f64,
    translation: Translation,
    /// Pages of the log, from 0, and behind them those of others.
    log_pages: usize,
    other_pages: usize,
    others_next: f64,
    /// When each channel and each die is free, and how many pages of a block a die has programmed.
    links: Vec<f64>,
    dies: Vec<(f64, u32)>,
    /// The die of the next page.
    turn: usize,
    /// Ends of the programs whose bytes are in the cache.
    in_cache: BinaryHeap<Reverse<u64>>,
    /// The byte behind the last write, whose page may be in the cache in part.
    behind: u64,
    /// When all of the log is on flash.
    settled: u64,
    link: f64,
}

impl FlashDevice {
    pub(super) fn new(of: &FlashModel, log_bytes: u64, chance: &mut Chance) -> FlashDevice {
        let page_bytes = ((of.page_kb * 1024.0) as u64).max(1);
        let real = (of.capacity_gb * f64::from(1 << 30) / page_bytes as f64).max(1.0);
        let pages = real.min(MOST_PAGES);
        let log = log_bytes.div_ceil(page_bytes).max(1) as f64;
        let scaled = libm::ceil(log * pages / real).max(log.min(ROW as f64));
        let log_pages = scaled as usize;
        let others = libm::floor(pages * of.others_share) as usize;
        let pages = (pages as usize).max(log_pages);
        let count = (of.channels * of.dies).max(1);
        let mut out = FlashDevice {
            of: *of,
            page_bytes,
            transfer_ns: page_bytes as f64 * 1e9 / (of.channel_mb_per_s * f64::from(1 << 20)),
            translation: Translation::new(pages, of.over_provisioning),
            log_pages,
            other_pages: others.min(pages - log_pages),
            others_next: f64::INFINITY,
            links: vec![0.0; of.channels.max(1) as usize],
            // They do not all erase at once.
            dies: (0..count)
                .map(|die| {
                    (
                        0.0,
                        (u64::from(die) * u64::from(of.block_pages) / u64::from(count)) as u32,
                    )
                })
                .collect(),
            turn: 0,
            in_cache: BinaryHeap::new(),
            behind: 0,
            settled: 0,
            link: 0.0,
        };
        out.settle(chance);
        out
    }

    /// Fills the data of others, and writes to it until collection is steady.
    fn settle(&mut self, chance: &mut Chance) {
        for page in 0..self.other_pages {
            self.translation.write(self.log_pages + page);
        }
        if self.of.others_per_s > 0.0 && self.other_pages > 0 {
            for _ in 0..SETTLES * self.other_pages {
                let page = self.other(chance);
                self.translation.write(page);
            }
            self.others_next = chance.exponential(1e9 / self.of.others_per_s);
        }
        (self.translation.written, self.translation.programmed) = (0, 0);
    }

    fn other(&self, chance: &mut Chance) -> usize {
        let at = (chance.unit() * self.other_pages as f64) as usize;
        self.log_pages + at.min(self.other_pages - 1)
    }

    /// Pages that are programmed for each that is written.
    #[cfg(test)]
    pub(crate) fn write_amplification(&self) -> f64 {
        self.translation.programmed as f64 / self.translation.written as f64
    }

    /// What others have written before `now`.
    fn others(&mut self, now: f64, chance: &mut Chance) {
        while self.others_next <= now {
            let at = self.others_next;
            if self.dies[self.turn].0 < at + OTHERS_WAIT_NS {
                let page = self.other(chance);
                self.write_page(at, page, false);
            }
            self.others_next += chance.exponential(1e9 / self.of.others_per_s);
        }
    }

    /// When a page is programmed, which is `read` before where only a part of it is new.
    fn write_page(&mut self, at: f64, page: usize, read: bool) -> f64 {
        let moved = self.translation.write(page);
        let ends = self.program(at, read);
        for _ in 0..moved {
            self.program(at, true);
        }
        ends
    }

    fn program(&mut self, at: f64, read: bool) -> f64 {
        let link = self.turn % self.links.len();
        let die = &mut self.dies[self.turn];
        let mut ready = at;
        if read {
            ready = ready.max(die.0) + self.of.read_ns;
            die.0 = ready;
        }
        let transfers = if read { 2.0 } else { 1.0 };
        let link = &mut self.links[link];
        *link = link.max(ready) + transfers * self.transfer_ns;
        let ends = link.max(die.0) + self.of.program_ns;
        die.0 = ends;
        die.1 += 1;
        if die.1 >= self.of.block_pages {
            *die = (ends + self.of.erase_ns, 0);
        }
        self.turn = (self.turn + 1) % self.dies.len();
        ends
    }

    fn log_page(&self, page: u64) -> usize {
        (page % self.log_pages as u64) as usize
    }

    pub(super) fn ends(&mut self, now: u64, operation: Operation, chance: &mut Chance) -> u64 {
        self.others(now as f64, chance);
        let cached = self.of.front.cache_bytes() > 0.0;
        let ends = match operation {
            Operation::Flush if self.of.front.has_durable_writes() => now as f64,
            Operation::Flush => {
                self.write_part(now as f64);
                now.max(self.settled) as f64 + self.of.front.command_ns
            }
            Operation::Write { place, bytes } if cached => self.cache_write(now, place, bytes),
            Operation::Write { place, bytes } => self.flash_write(now as f64, place, bytes),
        };
        now.max(libm::ceil(ends) as u64)
    }

    fn flash_write(&mut self, now: f64, place: u64, bytes: u64) -> f64 {
        let begins = self.of.front.crosses(&mut self.link, now, bytes);
        let (size, behind) = (self.page_bytes, place + bytes);
        let mut ends = begins;
        for page in place / size..behind.div_ceil(size) {
            let whole = page * size >= place && (page + 1) * size <= behind;
            let simulated = self.log_page(page);
            let read = !whole && self.translation.is_written(simulated);
            ends = ends.max(self.write_page(begins, simulated, read));
        }
        ends
    }

    /// Programs whole pages, and keeps the rest until its page is whole or a flush comes.
    fn cache_write(&mut self, now: u64, place: u64, bytes: u64) -> f64 {
        if place != self.behind {
            self.write_part(now as f64);
        }
        let size = self.page_bytes;
        let most = self.of.front.cache_bytes();
        let mut begins = now;
        loop {
            let full = (self.in_cache.len() as u64 * size + bytes) as f64 > most;
            match self.in_cache.peek() {
                Some(Reverse(end)) if *end <= now || full => begins = begins.max(*end),
                _ => break,
            }
            self.in_cache.pop();
        }
        let behind = place + bytes;
        for page in place / size..behind / size {
            let simulated = self.log_page(page);
            self.keep(begins as f64, simulated);
        }
        self.behind = behind;
        self.of.front.crosses(&mut self.link, begins as f64, bytes)
    }

    fn keep(&mut self, at: f64, page: usize) {
        let ends = libm::ceil(self.write_page(at, page, false)) as u64;
        self.settled = self.settled.max(ends);
        self.in_cache.push(Reverse(ends));
    }

    /// Programs the page of which the cache has a part.
    fn write_part(&mut self, now: f64) {
        if !self.behind.is_multiple_of(self.page_bytes) {
            let page = self.log_page(self.behind / self.page_bytes);
            self.keep(now, page);
            // What follows in this page is another part of it.
            self.behind = self.behind.next_multiple_of(self.page_bytes);
        }
    }
}
