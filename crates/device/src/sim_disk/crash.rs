//! What a power cut leaves: for each undecided sector the durable content, one of the volatile
//! ones, or a torn sector.
//!
//! Invariants: a decided sector always keeps its durable content; the same state of the random
//! numbers gives the same crash; whatever is drawn is counted, so that a harness can show that it
//! reached the cases that matter.

use super::LOGICAL_BYTES;
use super::state::State;
use measure::workload::split_mix;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// How crashes are drawn: weights, of which only the ratios matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashMix {
    /// Whole crash: each sector is drawn for itself, by the weights below.
    pub independent: u32,
    /// Whole crash: everything volatile is lost.
    pub all_lost: u32,
    /// Whole crash: everything volatile has landed.
    pub all_landed: u32,
    /// Whole crash: what arrived before some moment has landed, the rest is lost, and the sector
    /// at the edge is drawn.
    pub prefix: u32,
    /// A sector: its durable content.
    pub durable: u32,
    /// A sector: its newest volatile content.
    pub newest: u32,
    /// A sector: any of its volatile contents.
    pub any: u32,
    /// A sector: each 512 bytes from the durable or any volatile content.
    pub torn_mixed: u32,
    /// A sector: random bytes.
    pub torn_garbage: u32,
}

impl Default for CrashMix {
    fn default() -> CrashMix {
        CrashMix {
            independent: 5,
            all_lost: 1,
            all_landed: 1,
            prefix: 3,
            durable: 4,
            newest: 4,
            any: 3,
            torn_mixed: 1,
            torn_garbage: 1,
        }
    }
}

/// A crash's image, and what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The content of the medium when power returns.
    pub image: Vec<u8>,
    /// What was drawn.
    pub coverage: CrashCoverage,
}

/// What crashes did, to be summed over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashCoverage {
    /// Crashes.
    pub crashes: u64,
    /// Crashes with a write in flight.
    pub with_write_in_flight: u64,
    /// Crashes with a flush in flight.
    pub with_flush_in_flight: u64,
    /// Crashes in which a later arrival landed and an earlier one on another sector did not.
    pub reordered: u64,
    /// Sectors that kept the durable content although a write had been submitted.
    pub dropped: u64,
    /// Sectors that took their newest content.
    pub landed: u64,
    /// Sectors that took a content that is older than their newest.
    pub outdated: u64,
    /// Sectors of mixed contents.
    pub torn_mixed: u64,
    /// Sectors of random bytes.
    pub torn_garbage: u64,
}

impl AddAssign for CrashCoverage {
    fn add_assign(&mut self, other: CrashCoverage) {
        self.crashes += other.crashes;
        self.with_write_in_flight += other.with_write_in_flight;
        self.with_flush_in_flight += other.with_flush_in_flight;
        self.reordered += other.reordered;
        self.dropped += other.dropped;
        self.landed += other.landed;
        self.outdated += other.outdated;
        self.torn_mixed += other.torn_mixed;
        self.torn_garbage += other.torn_garbage;
    }
}

/// A sector that a crash leaves undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashChoice {
    /// Its number on the disk.
    pub sector: u64,
    /// Options: durable, each volatile content from the oldest on, torn.
    pub options: usize,
}

#[derive(Clone, Copy)]
enum Pick {
    Durable,
    Version(usize),
    Mixed,
    Garbage,
    /// Its first 512 bytes are the newest, the rest is lost.
    Head,
}

/// Volatile contents by sector, each with its order of arrival.
type Contenders = BTreeMap<u64, Vec<(u64, Vec<u8>)>>;

pub(super) fn choices(state: &State) -> Vec<CrashChoice> {
    let contenders = state.contenders();
    let choice = |(sector, versions): (u64, Vec<_>)| CrashChoice {
        sector,
        options: versions.len() + 2,
    };
    contenders.into_iter().map(choice).collect()
}

pub(super) fn chosen(state: &mut State, choices: &[usize]) -> Crash {
    let contenders = state.contenders();
    assert_eq!(choices.len(), contenders.len(), "one choice a sector");
    let picks = contenders.values().zip(choices).map(|(versions, choice)| {
        assert!(*choice < versions.len() + 2, "no such option");
        match choice.checked_sub(1) {
            None => Pick::Durable,
            Some(version) if version < versions.len() => Pick::Version(version),
            Some(_) => Pick::Head,
        }
    });
    let picks: Vec<Pick> = picks.collect();
    build(state, &contenders, &picks, &mut 0)
}

pub(super) fn draw(state: &mut State, rng: &mut u64, mix: &CrashMix) -> Crash {
    let contenders = state.contenders();
    let whole = [mix.independent, mix.all_lost, mix.all_landed, mix.prefix];
    let picks = match weighted(rng, whole) {
        0 => {
            let sectors = contenders.values();
            sectors.map(|v| draw_sector(rng, mix, v.len())).collect()
        }
        1 => vec![Pick::Durable; contenders.len()],
        2 => contenders
            .values()
            .map(|v| Pick::Version(v.len() - 1))
            .collect(),
        _ => draw_prefix(rng, mix, &contenders),
    };
    build(state, &contenders, &picks, rng)
}

fn draw_sector(rng: &mut u64, mix: &CrashMix, versions: usize) -> Pick {
    let weights = [
        mix.durable,
        mix.newest,
        mix.any,
        mix.torn_mixed,
        mix.torn_garbage,
    ];
    match weighted(rng, weights) {
        0 => Pick::Durable,
        1 => Pick::Version(versions - 1),
        2 => Pick::Version(below(rng, versions)),
        3 => Pick::Mixed,
        _ => Pick::Garbage,
    }
}

fn draw_prefix(rng: &mut u64, mix: &CrashMix, contenders: &Contenders) -> Vec<Pick> {
    let seqs = |(sector, versions): (&u64, &Vec<(u64, _)>)| {
        let sector = *sector;
        let arrivals = versions.iter().map(move |(seq, _)| (*seq, sector));
        arrivals.collect::<Vec<_>>()
    };
    let mut arrivals: Vec<(u64, u64)> = contenders.iter().flat_map(seqs).collect();
    arrivals.sort_unstable();
    let landed = below(rng, arrivals.len() + 1);
    let edge = arrivals.get(landed).copied();
    let mut pick = |(sector, versions): (&u64, &Vec<(u64, Vec<u8>)>)| {
        if edge.is_some_and(|(_, at)| at == *sector) {
            return draw_sector(rng, mix, versions.len());
        }
        let before = |(seq, _): &&(u64, _)| edge.is_none_or(|edge| (*seq, *sector) < edge);
        match versions.iter().take_while(before).count() {
            0 => Pick::Durable,
            count => Pick::Version(count - 1),
        }
    };
    contenders.iter().map(&mut pick).collect()
}

fn build(state: &mut State, contenders: &Contenders, picks: &[Pick], rng: &mut u64) -> Crash {
    state.check_sources();
    let mut image = state.durable.clone();
    let mut coverage = CrashCoverage::default();
    let (mut newest_landed, mut oldest_dropped) = (None, u64::MAX);
    for ((sector, versions), pick) in contenders.iter().zip(picks) {
        let target = &mut image[state.span(*sector)];
        let kept = match *pick {
            Pick::Version(kept) => {
                target.copy_from_slice(&versions[kept].1);
                newest_landed = newest_landed.max(Some(versions[kept].0));
                kept + 1
            }
            Pick::Durable => 0,
            Pick::Mixed => {
                tear(target, versions, rng);
                coverage.torn_mixed += 1;
                continue;
            }
            Pick::Garbage => {
                garbage(target, rng);
                coverage.torn_garbage += 1;
                continue;
            }
            Pick::Head => {
                tear_tail(target, &versions[versions.len() - 1].1, *sector);
                coverage.torn_mixed += 1;
                continue;
            }
        };
        match kept {
            0 => coverage.dropped += 1,
            all if all == versions.len() => coverage.landed += 1,
            _ => coverage.outdated += 1,
        }
        oldest_dropped = oldest_dropped.min(versions.get(kept).map_or(u64::MAX, |v| v.0));
    }
    let (writes, flushes) = state.in_flight();
    coverage.crashes = 1;
    coverage.with_write_in_flight = u64::from(writes > 0);
    coverage.with_flush_in_flight = u64::from(flushes > 0);
    coverage.reordered = u64::from(newest_landed.is_some_and(|seq| seq > oldest_dropped));
    Crash { image, coverage }
}

/// Each logical sector of `target`, which holds the durable content, from any contender.
fn tear(target: &mut [u8], versions: &[(u64, Vec<u8>)], rng: &mut u64) {
    for (unit, part) in target.chunks_mut(LOGICAL_BYTES).enumerate() {
        let from = below(rng, versions.len() + 1);
        if let Some((_, version)) = versions.get(from) {
            part.copy_from_slice(&version[unit * LOGICAL_BYTES..][..part.len()]);
        }
    }
}

/// The newest content's first logical sector, and garbage of a fixed seed behind it; garbage
/// alone where that is the whole sector.
fn tear_tail(target: &mut [u8], newest: &[u8], seed: u64) {
    let head = if target.len() > LOGICAL_BYTES {
        LOGICAL_BYTES
    } else {
        0
    };
    target[..head].copy_from_slice(&newest[..head]);
    garbage(&mut target[head..], &mut seed.wrapping_add(1));
}

fn garbage(target: &mut [u8], rng: &mut u64) {
    for word in target.chunks_exact_mut(8) {
        word.copy_from_slice(&split_mix(rng).to_le_bytes());
    }
}

fn below(rng: &mut u64, limit: usize) -> usize {
    (split_mix(rng) % limit as u64) as usize
}

/// The index of a weight, drawn by weight.
fn weighted<const N: usize>(rng: &mut u64, weights: [u32; N]) -> usize {
    let total: usize = weights.iter().map(|w| *w as usize).sum();
    assert!(total > 0, "some weight is positive");
    let mut left = below(rng, total);
    let mut index = 0;
    while left >= weights[index] as usize {
        left -= weights[index] as usize;
        index += 1;
    }
    index
}
