//! From values to places on an axis, and the ticks that people expect there.
//!
//! Invariants: a scale maps every value to a finite place within its range (values outside are
//! clamped), whatever it is given: empty domains, zeros on logarithmic axes, infinities.

use std::f64::consts::LOG10_2;

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// From zero, evenly.
    Linear,
    /// Decades.
    Log,
    /// Doublings: numbers of jobs.
    Doubling,
    /// Percentiles by their nines: 0, 90, 99, 99.9 … and the maximum at the end.
    Nines,
}

/// An axis of a chart: domain and places.
#[derive(Clone, Debug)]
pub struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale that shows all `values` between the places `from` and `to`.
    #[must_use]
    pub fn fit(kind: ScaleKind, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let is_usable = |v: &f64| v.is_finite() && (kind == ScaleKind::Linear || *v > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut nines: f64 = 1.0;
        for v in values.filter(is_usable) {
            low = low.min(v);
            high = high.max(v);
            if v < 100.0 {
                nines = nines.max(-(1.0 - v / 100.0).log10());
            }
        }
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        let (low, high) = match kind {
            ScaleKind::Linear => (0.0, top(high.max(1e-9))),
            ScaleKind::Log => log_domain(low, high),
            ScaleKind::Doubling => (low.log2() - 0.15, high.log2().max(low.log2() + 1.0) + 0.1),
            ScaleKind::Nines => (0.0, nines + 0.6),
        };
        Scale {
            kind,
            low,
            high,
            from,
            to,
        }
    }

    /// A linear scale from `low` to `high`, exactly.
    #[must_use]
    pub fn exact(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale {
            kind: ScaleKind::Linear,
            low,
            high,
            from,
            to,
        }
    }

    /// The domain, in decades on a logarithmic axis.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn inner(&self, value: f64) -> f64 {
        match self.kind {
            ScaleKind::Linear => value,
            ScaleKind::Log => value.max(1e-300).log10(),
            ScaleKind::Doubling => value.max(1e-300).log2(),
            ScaleKind::Nines if value >= 100.0 => self.high,
            ScaleKind::Nines => -(1.0 - value.max(0.0) / 100.0).log10(),
        }
    }

    /// The place of `value`.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let inside = self.inner(value).clamp(self.low, self.high);
        let inside = if inside.is_finite() { inside } else { self.low };
        self.from + (inside - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Values that get a tick.
    #[must_use]
    pub fn ticks(&self) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => linear_ticks(self.low, self.high),
            ScaleKind::Log => log_ticks(self.low, self.high),
            ScaleKind::Doubling => {
                let span = self.high - self.low;
                let step = (span / 7.5).floor() as i32 + 1;
                let first = self.low.ceil() as i32;
                (first..=self.high.floor() as i32)
                    .filter(|e| (e - first) % step == 0)
                    .map(|e| 2f64.powi(e))
                    .collect()
            }
            ScaleKind::Nines => {
                let mut out = vec![0.0];
                for nines in 1..=(self.high - 0.35).floor() as i32 {
                    out.push(100.0 * (1.0 - 10f64.powi(-nines)));
                }
                out.push(100.0);
                out
            }
        }
    }
}

/// The smallest round number that is not below `value`.
fn top(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0]
        .iter()
        .map(|s| s * decade)
        .find(|t| *t >= value * 1.001)
        .unwrap_or(value)
}

/// Decades, or halves of them, around the values.
fn log_domain(low: f64, high: f64) -> (f64, f64) {
    const STEPS: [f64; 4] = [0.0, LOG10_2, 1.0 - LOG10_2, 1.0];
    let place = |v: f64, up: bool| {
        let (whole, part) = (v.log10().floor(), v.log10() - v.log10().floor());
        let step = if up {
            STEPS.iter().find(|s| **s >= part - 1e-9)
        } else {
            STEPS.iter().rev().find(|s| **s <= part + 1e-9)
        };
        whole + step.copied().unwrap_or(0.0)
    };
    let (a, b) = (place(low * 0.95, false), place(high * 1.05, true));
    if b - a < 0.6 {
        (a - 0.2, b + 0.2)
    } else {
        (a, b)
    }
}

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 4.5;
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .iter()
        .map(|s| s * decade)
        .find(|s| *s >= raw)
        .unwrap_or(raw);
    let count = ((high - low) / step + 1e-6).floor() as i32;
    (0..=count.clamp(0, 20))
        .map(|i| low + f64::from(i) * step)
        .collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = match high - low {
        span if span < 1.6 => &[1.0, 2.0, 5.0],
        span if span < 2.8 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let mut out = Vec::new();
    let every = ((high - low) / 8.0).floor() as usize + 1;
    for decade in ((low.floor() as i32)..=(high.ceil() as i32)).step_by(every) {
        for step in steps {
            // 3 / 10 is 0.3, and 3 * 0.1 is not.
            let value = match decade {
                ..0 => step / 10f64.powi(-decade),
                _ => step * 10f64.powi(decade),
            };
            let at = value.log10();
            if at >= low - 1e-6 && at <= high + 1e-6 {
                out.push(value);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_the_numbers_that_people_expect() {
        let linear = Scale::fit(ScaleKind::Linear, [3.0, 92_000.0].into_iter(), 0.0, 100.0);
        assert_eq!(
            linear.ticks(),
            vec![0.0, 25_000.0, 50_000.0, 75_000.0, 100_000.0]
        );
        let jobs = Scale::fit(ScaleKind::Doubling, [1.0, 64.0].into_iter(), 0.0, 100.0);
        assert_eq!(jobs.ticks(), vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        let nines = Scale::fit(
            ScaleKind::Nines,
            [50.0, 99.95, 100.0].into_iter(),
            0.0,
            100.0,
        );
        let ticks: Vec<String> = nines.ticks().iter().map(|t| format!("{t:.1}")).collect();
        assert_eq!(ticks, ["0.0", "90.0", "99.0", "99.9", "100.0"]);
        let log = Scale::fit(ScaleKind::Log, [8e4, 3e9].into_iter(), 0.0, 100.0);
        assert!(log.ticks().contains(&1e6) && log.ticks().len() >= 4);
        let ratios = Scale::fit(ScaleKind::Log, [0.11, 9.0].into_iter(), 0.0, 100.0);
        let ticks: Vec<String> = ratios.ticks().iter().map(f64::to_string).collect();
        assert_eq!(ticks, ["0.1", "0.3", "1", "3", "10"]);
    }

    #[test]
    fn places_are_finite_and_inside_whatever_comes() {
        let hostile = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 5e-324, 100.0];
        for kind in [
            ScaleKind::Linear,
            ScaleKind::Log,
            ScaleKind::Doubling,
            ScaleKind::Nines,
        ] {
            for take in 0..=hostile.len() {
                let values = hostile.iter().take(take).copied();
                let scale = Scale::fit(kind, values, 300.0, 20.0);
                for v in hostile.iter().chain(&scale.ticks()) {
                    let at = scale.place(*v);
                    assert!((20.0..=300.0).contains(&at), "{kind:?} {v} at {at}");
                }
                assert!(scale.ticks().len() < 20);
            }
        }
    }

    #[test]
    fn larger_values_stand_further() {
        for kind in [
            ScaleKind::Linear,
            ScaleKind::Log,
            ScaleKind::Doubling,
            ScaleKind::Nines,
        ] {
            let scale = Scale::fit(kind, [1.0, 99.0].into_iter(), 0.0, 100.0);
            assert!(scale.place(2.0) < scale.place(50.0), "{kind:?}");
        }
    }
}
