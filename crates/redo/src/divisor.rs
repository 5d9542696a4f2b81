//! Division by a number that is known when the log is opened, by multiplying with its reciprocal.
//! Appending a record divides several times, by the payload of a block, the blocks of the log
//! buffer and those of a log; it knows nothing of any of them.

/// A divisor with its reciprocal.
///
/// With `m = floor(2^64 / d) + 1` the product `n * m` exceeds `n * 2^64 / d` by less than
/// `n / 2^64 * d`, hence its upper half is `n / d` for every `n` up to `2^64 / d`; beyond, the
/// processor divides (Granlund and Montgomery 1994).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    reciprocal: u64,
    limit: u64,
}

impl Divisor {
    /// Division by `by`, which is not zero.
    pub(crate) fn new(by: u64) -> Divisor {
        assert!(by > 0, "nothing is divided by zero");
        let reciprocal = u64::MAX / by;
        // 2^64 itself has no place in 64 bits; one is divided by as it stands.
        let limit = if by == 1 { 0 } else { reciprocal };
        Divisor {
            by,
            reciprocal: reciprocal.wrapping_add(1),
            limit,
        }
    }

    /// Quotient and remainder of `n`.
    #[inline]
    pub(crate) fn divide(&self, n: u64) -> (u64, u64) {
        let quotient = if n < self.limit {
            ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            n / self.by
        };
        (quotient, n - quotient * self.by)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use measure::workload::split_mix;

    #[test]
    fn it_divides_as_the_processor_does() {
        let seed = 0x00D1_7150;
        println!("seed {seed:#x}");
        let mut state = seed;
        let known = [1, 2, 3, 7, 472, 512, 4056, 4096, 65_521, 131_072, u64::MAX];
        let drawn: Vec<u64> = (0..200)
            .map(|_| (split_mix(&mut state) >> 40) | 1)
            .collect();
        for by in known.into_iter().chain(drawn) {
            let divisor = Divisor::new(by);
            let limit = u64::MAX / by;
            let edges = [
                0,
                1,
                by - 1,
                by,
                by.saturating_add(1),
                limit,
                u64::MAX,
                u64::MAX - 1,
            ];
            let near = [
                limit.saturating_sub(1),
                limit.saturating_add(1),
                limit / by * by,
            ];
            let drawn: Vec<u64> = (0..64)
                .map(|shift| split_mix(&mut state) >> shift)
                .collect();
            let below: Vec<u64> = drawn.iter().map(|n| n / by * by).collect();
            let less = below.iter().map(|n| n.saturating_sub(1));
            let all = edges
                .into_iter()
                .chain(near)
                .chain(less)
                .chain(drawn.clone());
            for n in all.chain(below.clone()) {
                assert_eq!(divisor.divide(n), (n / by, n % by), "{n} by {by}");
            }
        }
    }
}
