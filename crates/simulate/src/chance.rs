//! The source of chance. `libm` computes alike on every machine, so one seed gives the same draws.

use measure::workload::split_mix;

#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
    /// The second of two normal draws.
    left: Option<f64>,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance {
            state: seed,
            left: None,
        }
    }

    /// Above 0 and at most 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        ((split_mix(&mut self.state) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit())
    }

    /// By the method of Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(left) = self.left.take() {
            return left;
        }
        let far = libm::sqrt(-2.0 * libm::log(self.unit()));
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * self.unit());
        self.left = Some(far * sin);
        far * cos
    }

    /// A factor with a mean of 1 and this coefficient of variation, lognormally distributed.
    pub(crate) fn factor(&mut self, variation: f64) -> f64 {
        if variation <= 0.0 {
            return 1.0;
        }
        let variance = libm::log1p(variation * variation);
        libm::exp(libm::sqrt(variance) * self.normal() - variance / 2.0)
    }
}
