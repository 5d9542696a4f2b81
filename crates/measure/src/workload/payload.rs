//! The bytes of redo: as a rule incompressible and unique, otherwise as compressible and as
//! duplicated as was asked for.
//!
//! The generator says which bytes a transaction appends, and knows nothing of logs or threads.
//! By default it copies nothing: a record is its stamp and a slice of a pseudo-random pool.
//!
//! **Compressibility** `r` (uncompressed to compressed, as storage sold by "data reduction"
//! counts it): of each [`PERIOD`] bytes 1/r are pseudo-random, less what a compressor needs to
//! tell the rest, which is the same byte again and again. **Dedupe** `d` (all units to distinct
//! ones): a session's payload, its records one after the other without their stamps, is a
//! sequence of [`UNIT`] bytes each, of which 1/d are unique and the others taken from [`COMMON`]
//! that all sessions share. What a device makes of that is another matter: a redo log's block
//! headers lie between, and no two are equal.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes at the head of each record that make it unique: session, transaction, record, all
/// little-endian.
pub const STAMP_BYTES: usize = 16;
/// Bytes within which the share of pseudo-random ones is kept: less than any unit that storage
/// compresses.
pub const PERIOD: usize = 1024;
/// Bytes that a compressor needs, about, to tell the rest of a period: deflate 7 to 13.
const TOLD_BYTES: usize = 9;
/// Granularity of duplicates, bytes.
pub const UNIT: usize = 4096;
/// Different units that are duplicated.
pub const COMMON: u64 = 16;
/// Ratios are 1 to this.
pub const RATIO_MAX: f64 = 20.0;
/// What fills the rest of a period. Not zero: storage turns zeros into holes.
const FILLER: u8 = 0x5A;

/// What redo is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// Uncompressed to compressed bytes; 1 is incompressible.
    pub compressibility: f64,
    /// All units of 4 KiB to distinct ones; 1 is unique.
    pub dedupe: f64,
}

impl Default for Payload {
    fn default() -> Payload {
        Payload {
            compressibility: 1.0,
            dedupe: 1.0,
        }
    }
}

impl Payload {
    /// Pseudo-random bytes that the sessions of a run share, as compressible as this says.
    #[must_use]
    pub fn pool(&self, seed: u64, bytes: usize) -> Arc<[u8]> {
        let mut out = random(seed, bytes);
        if self.compressibility > 1.0 {
            let kept = (PERIOD as f64 / self.compressibility).round() as usize;
            let kept = kept.saturating_sub(TOLD_BYTES);
            for period in out.chunks_mut(PERIOD) {
                let kept = kept.min(period.len());
                period[kept..].fill(FILLER);
            }
        }
        out.into()
    }
}

/// Parses a ratio such as `2`, `2.5` or `2:1`.
///
/// # Errors
/// What was read and what is accepted.
pub fn parse_ratio(text: &str) -> Result<f64, String> {
    let number = text.trim();
    let number = number.strip_suffix(":1").unwrap_or(number);
    let ratio = number.parse::<f64>().ok();
    ratio
        .filter(|ratio| (1.0..=RATIO_MAX).contains(ratio))
        .ok_or_else(|| {
            format!("`{text}` is not a ratio; write a number from 1 to {RATIO_MAX}, such as 2 or 2.5:1 (1 is none)")
        })
}

/// Pseudo-random bytes shared by the sessions of a run.
#[must_use]
pub fn pool(seed: u64, bytes: usize) -> Arc<[u8]> {
    random(seed, bytes).into()
}

fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    let mut out = vec![0_u8; bytes];
    for chunk in out.chunks_mut(8) {
        let word = split_mix(&mut state).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    out
}

/// SplitMix64 (Steele, Lea, Flood 2014): the next pseudo-random word.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes a session's redo.
#[derive(Debug)]
pub struct Generator {
    pool: Arc<[u8]>,
    session: u32,
    transaction: u64,
    state: u64,
    /// Only where units are duplicated, and so have to be put together.
    units: Option<Units>,
}

impl Generator {
    /// A generator of session `session` over a shared pool: unique redo, without a copy.
    #[must_use]
    pub fn new(pool: Arc<[u8]>, session: u32, seed: u64) -> Generator {
        Generator {
            pool,
            session,
            transaction: 0,
            state: seed ^ (u64::from(session) << 32),
            units: None,
        }
    }

    /// A generator of such a payload; the pool is [`Payload::pool`], at least a few units long.
    #[must_use]
    pub fn of(payload: Payload, pool: Arc<[u8]>, session: u32, seed: u64) -> Generator {
        let duplicates = payload.dedupe > 1.0 && pool.len() > UNIT * (COMMON as usize + 1);
        Generator {
            units: duplicates.then(|| Units::new(payload.dedupe)),
            ..Generator::new(pool, session, seed)
        }
    }

    /// Begins the next transaction and returns its number.
    pub fn next_transaction(&mut self) -> u64 {
        self.transaction += 1;
        self.transaction
    }

    /// Record `index` of the current transaction, `bytes` long: stamp and body.
    #[inline]
    pub fn record(&mut self, index: u32, bytes: u32) -> ([u8; STAMP_BYTES], &[u8]) {
        let mut stamp = [0_u8; STAMP_BYTES];
        stamp[..4].copy_from_slice(&self.session.to_le_bytes());
        stamp[4..12].copy_from_slice(&self.transaction.to_le_bytes());
        stamp[12..].copy_from_slice(&index.to_le_bytes());
        let body = (bytes as usize).saturating_sub(STAMP_BYTES);
        if let Some(units) = &mut self.units {
            let body = units.body(&self.pool, self.session, &mut self.state, body);
            return (stamp, body);
        }
        let body = body.min(self.pool.len());
        let room = (self.pool.len() - body) as u64;
        let at = if room == 0 {
            0
        } else {
            split_mix(&mut self.state) % room
        };
        (stamp, &self.pool[at as usize..at as usize + body])
    }
}

/// A session's payload as a sequence of units, some of which others have too.
#[derive(Debug)]
struct Units {
    /// Of 2^64 draws, those below give a unique unit.
    unique_below: u64,
    body: Vec<u8>,
    /// Bytes of payload so far.
    at: u64,
    /// Where in the pool the present unit begins, and whether it is unique.
    source: usize,
    unique: bool,
}

impl Units {
    fn new(dedupe: f64) -> Units {
        Units {
            unique_below: (u64::MAX as f64 / dedupe) as u64,
            body: Vec::new(),
            at: 0,
            source: 0,
            unique: false,
        }
    }

    /// The next `bytes` of the payload.
    fn body(&mut self, pool: &[u8], session: u32, state: &mut u64, bytes: usize) -> &[u8] {
        self.body.clear();
        while self.body.len() < bytes {
            let inside = (self.at % UNIT as u64) as usize;
            if inside == 0 {
                self.unique = split_mix(state) < self.unique_below;
                let draw = split_mix(state);
                self.source = if self.unique {
                    (draw % (pool.len() - UNIT) as u64) as usize
                } else {
                    (draw % COMMON) as usize * UNIT
                };
            }
            let take = (UNIT - inside).min(bytes - self.body.len());
            let from = self.source + inside;
            let put = self.body.len();
            self.body.extend_from_slice(&pool[from..from + take]);
            if self.unique && inside < STAMP_BYTES {
                let stamp = unit_stamp(session, self.at / UNIT as u64);
                let end = STAMP_BYTES.min(inside + take);
                self.body[put..put + end - inside].copy_from_slice(&stamp[inside..end]);
            }
            self.at += take as u64;
        }
        &self.body
    }
}

/// What no other unit begins with.
fn unit_stamp(session: u32, unit: u64) -> [u8; STAMP_BYTES] {
    let mut stamp = [0xA5_u8; STAMP_BYTES];
    stamp[..4].copy_from_slice(&session.to_le_bytes());
    stamp[4..12].copy_from_slice(&unit.to_le_bytes());
    stamp
}

/// All units of 4 KiB of `payload` to the distinct ones among them; a rest at its end is left out.
/// `None` without a whole unit.
#[must_use]
pub fn dedupe_ratio(payload: &[u8]) -> Option<f64> {
    let units = payload.chunks_exact(UNIT);
    let all = units.len();
    let distinct: std::collections::HashSet<&[u8]> = units.collect();
    (all > 0).then(|| all as f64 / distinct.len() as f64)
}

/// The payload of a session's first transactions, stamps left out, `bytes` long: what is measured
/// to say what a run's redo was made of.
#[must_use]
pub fn sample(generator: &mut Generator, record_bytes: u32, bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes);
    let record_bytes = record_bytes.max(STAMP_BYTES as u32 + 1);
    while out.len() < bytes {
        generator.next_transaction();
        let (_, body) = generator.record(0, record_bytes);
        let take = body.len().min(bytes - out.len());
        out.extend_from_slice(&body[..take]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redo_is_unique_repeatable_and_incompressible() {
        let shared = pool(7, 1 << 16);
        let mut a = Generator::new(Arc::clone(&shared), 1, 7);
        let mut b = Generator::new(Arc::clone(&shared), 2, 7);
        a.next_transaction();
        b.next_transaction();
        let first = {
            let (s, body) = a.record(0, 2000);
            (s, body.to_vec())
        };
        let other = {
            let (s, body) = b.record(0, 2000);
            (s, body.to_vec())
        };
        assert_ne!(first, other);
        let mut again = Generator::new(pool(7, 1 << 16), 1, 7);
        again.next_transaction();
        let (s, body) = again.record(0, 2000);
        assert_eq!((s, body.to_vec()), first);
        assert_eq!(first.0.len() + first.1.len(), 2000);
        let mut counts = [0_u32; 256];
        shared.iter().for_each(|b| counts[*b as usize] += 1);
        assert!(
            counts.iter().all(|c| (150..370).contains(c)),
            "a byte is over- or under-used"
        );
    }

    fn payload(compressibility: f64, dedupe: f64, record_bytes: u32, bytes: usize) -> Vec<u8> {
        let payload = Payload {
            compressibility,
            dedupe,
        };
        let mut generator = Generator::of(payload, payload.pool(5, 1 << 20), 3, 5);
        sample(&mut generator, record_bytes, bytes)
    }

    #[test]
    fn of_each_4_kib_the_asked_share_repeats() {
        for (dedupe, record_bytes) in [(1.0, 2000), (2.0, 2000), (4.0, 27_000), (10.0, 700)] {
            let got = dedupe_ratio(&payload(1.0, dedupe, record_bytes, 32 << 20)).expect("units");
            // 8192 units: the share of unique ones has a standard error of half a percent at most.
            assert!(
                (got / dedupe - 1.0).abs() < 0.1,
                "{dedupe} at {record_bytes}: {got}"
            );
        }
        assert_eq!(dedupe_ratio(&[0; 100]), None);
    }

    #[test]
    fn sessions_share_what_is_duplicated_and_nothing_else() {
        let payload = Payload {
            dedupe: 2.0,
            ..Payload::default()
        };
        let pool = payload.pool(5, 1 << 20);
        let mut all = Vec::new();
        for session in 0..4 {
            let mut generator = Generator::of(payload, Arc::clone(&pool), session, 5);
            all.extend(sample(&mut generator, 9000, 8 << 20));
        }
        let together = dedupe_ratio(&all).expect("units");
        assert!((together / 2.0 - 1.0).abs() < 0.1, "{together}");
    }

    #[test]
    fn the_asked_share_of_each_4_kib_is_random() {
        for ratio in [1.5, 2.0, 4.0, 20.0] {
            let bytes = payload(ratio, 1.0, 8192, 1 << 20);
            let units: Vec<&[u8]> = bytes.chunks_exact(UNIT).collect();
            let mut sum = 0.0;
            for (number, unit) in units.iter().enumerate() {
                let filler = unit.iter().filter(|b| **b == FILLER).count() as f64;
                let share = 1.0 - filler / UNIT as f64;
                // Where two records meet in a unit, their periods are cut.
                let want = 1.0 / ratio - TOLD_BYTES as f64 / PERIOD as f64;
                let off = (share - want).abs();
                assert!(off < 0.1, "{ratio}: {share} of unit {number}");
                sum += share;
            }
            let told = TOLD_BYTES as f64 / PERIOD as f64;
            let off = (sum / units.len() as f64 - (1.0 / ratio - told)).abs();
            assert!(off < 0.01, "{ratio}: {off} off together");
        }
    }

    #[test]
    fn ratios_read_as_people_write_them() {
        for (text, ratio) in [("1", 1.0), ("2.5", 2.5), ("3:1", 3.0), (" 20 ", 20.0)] {
            assert_eq!(parse_ratio(text), Ok(ratio), "{text}");
        }
        for bad in ["", "0", "0.5", "-2", "21", "NaN", "inf", "1:2", "half"] {
            let told = parse_ratio(bad).expect_err(bad);
            assert!(told.contains("not a ratio"), "{told}");
        }
    }
}
