//! Seeded random numbers: xoshiro256++ (Blackman and Vigna 2021), seeded by SplitMix64.
//!
//! The same seed gives the same numbers on every machine, so that an interval in a stored
//! comparison can be recomputed to the digit.

/// A generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut x = seed;
        let state = [(); 4].map(|()| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Random { state }
    }

    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..n`; 0 for `n` of 0. Multiply and shift (Lemire 2019); its bias is below
    /// n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal, by inversion.
    pub fn normal(&mut self) -> f64 {
        super::tails::normal_quantile(self.uniform().max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // Reference outputs of xoshiro256++ for the state 1, 2, 3, 4.
        let mut r = Random {
            state: [1, 2, 3, 4],
        };
        assert_eq!(r.bits(), 41_943_041);
        assert_eq!(r.bits(), 58_720_359);
        assert_eq!(r.bits(), 3_588_806_011_781_223);
        assert_eq!(r.bits(), 3_591_011_842_654_386);
    }

    #[test]
    fn draws_stay_in_range_and_fill_it() {
        let mut r = Random::new(7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[r.below(10)] += 1;
            assert!((0.0..1.0).contains(&r.uniform()));
            assert!(r.normal().is_finite());
        }
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!(r.below(0), 0);
    }
}
