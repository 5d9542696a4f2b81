//! Pseudo-random data of TPROC-C: numbers, last names and texts, each stream from a seed.
//!
//! Invariant: the same seed and stream give the same data on every machine.
//!
//! What it must not know: tables, transactions, servers.

use measure::workload::split_mix;

/// The constant C of NURand for last names, in the load and in the run (HammerDB's choice).
const LAST_NAME_C: u32 = 123;
/// The constant A of NURand for last names (TPC-C 2.1.6).
const LAST_NAME_A: u32 = 255;
/// Last names have numbers below this.
pub const LAST_NAMES: u32 = 1000;
/// The syllables of last names (TPC-C 4.3.2.3).
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
/// Letters and digits; two come twice, so that six bits select one.
const ALPHABET: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzaA";
/// Letters that a pseudo-random word selects.
const LETTERS_PER_WORD: usize = 10;

/// A stream of pseudo-random data.
#[derive(Clone, Debug)]
pub struct RandomStream {
    state: u64,
}

impl RandomStream {
    /// The stream of that seed with that name, a few numbers such as table, warehouse and district.
    #[must_use]
    pub fn new(seed: u64, name: &[u32]) -> RandomStream {
        let mut state = seed;
        for part in name {
            state = split_mix(&mut state) ^ u64::from(*part);
        }
        RandomStream {
            state: split_mix(&mut state),
        }
    }

    /// A number from `low` to `high`, both included, each equally likely.
    ///
    /// # Panics
    /// `high` is below `low`.
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "a range of numbers has a beginning and an end");
        let count = u64::from(high - low) + 1;
        // The upper 32 bits of a product of 32 bits each: biased by less than 1 in a million.
        let part = ((split_mix(&mut self.state) >> 32) * count) >> 32;
        low + part as u32
    }

    /// Whether something happens that happens in `percent` of all cases.
    pub fn is_one_of(&mut self, percent: u32) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// The number of a last name: NURand(255, 0, 999) with C = 123 (TPC-C 2.1.6).
    pub fn last_name_number(&mut self) -> u32 {
        let (a, b) = (
            self.uniform(0, LAST_NAME_A),
            self.uniform(0, LAST_NAMES - 1),
        );
        ((a | b) + LAST_NAME_C) % LAST_NAMES
    }

    /// Appends a text of `low` to `high` letters and digits.
    pub fn text(&mut self, (low, high): (u32, u32), out: &mut Vec<u8>) {
        let mut left = self.uniform(low, high) as usize;
        while left > 0 {
            let mut word = split_mix(&mut self.state);
            let letters = left.min(LETTERS_PER_WORD);
            for _ in 0..letters {
                out.push(ALPHABET[(word & 63) as usize]);
                word >>= 6;
            }
            left -= letters;
        }
    }

    /// The numbers from 1 to `count` in a random order.
    #[must_use]
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=count).collect();
        for last in (1..numbers.len()).rev() {
            let other = self.uniform(0, last as u32) as usize;
            numbers.swap(last, other);
        }
        numbers
    }
}

/// The last name with that number, from 0 to 999.
#[must_use]
pub fn last_name(number: u32) -> String {
    let digits = [number / 100 % 10, number / 10 % 10, number % 10];
    digits.map(|digit| SYLLABLES[digit as usize]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_differ_by_seed_and_name() {
        let words = |seed, name: &[u32]| {
            let mut stream = RandomStream::new(seed, name);
            [(); 4].map(|()| stream.uniform(0, u32::MAX))
        };
        assert_eq!(words(1, &[2, 3]), words(1, &[2, 3]));
        for other in [words(2, &[2, 3]), words(1, &[3, 2]), words(1, &[2])] {
            assert_ne!(words(1, &[2, 3]), other);
        }
    }

    #[test]
    fn numbers_reach_both_ends_and_no_further() {
        let mut stream = RandomStream::new(1, &[]);
        let drawn: Vec<u32> = (0..10_000).map(|_| stream.uniform(5, 15)).collect();
        assert_eq!(drawn.iter().min(), Some(&5));
        assert_eq!(drawn.iter().max(), Some(&15));
        let mean = drawn.iter().sum::<u32>() as f64 / 10_000.0;
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
        let often = (0..10_000).filter(|_| stream.is_one_of(1)).count();
        assert!((50..200).contains(&often), "{often}");
    }

    /// NURand(255, 0, 999): an OR of two numbers prefers those with many bits.
    #[test]
    fn last_names_are_not_uniform() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
        let mut stream = RandomStream::new(1, &[]);
        let mut counts = vec![0_u32; LAST_NAMES as usize];
        for _ in 0..100_000 {
            counts[stream.last_name_number() as usize] += 1;
        }
        // 6,561 of 256,000 pairs give 767, which is 512 | 255; one gives 512.
        let (often, seldom) = (counts[767 + 123], counts[512 + 123]);
        assert!((2_300..2_800).contains(&often), "{often}");
        assert!(seldom < 10, "{seldom}");
    }

    #[test]
    fn texts_and_permutations_are_what_they_should_be() {
        let mut stream = RandomStream::new(1, &[]);
        for _ in 0..1000 {
            let mut text = Vec::new();
            stream.text((26, 50), &mut text);
            assert!((26..=50).contains(&text.len()));
            assert!(text.iter().all(u8::is_ascii_alphanumeric));
        }
        let mut numbers = stream.permutation(3000);
        assert_ne!(numbers[..5], [1, 2, 3, 4, 5]);
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=3000));
    }
}
