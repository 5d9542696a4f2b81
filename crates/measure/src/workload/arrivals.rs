//! Arrivals of an open loop: when transactions are meant to begin, whatever became of those before.
//!
//! A schedule is an iterator of intended starts, counted from its own zero, never going back. It
//! reads no clock; who serves it measures each transaction from its intended start, so that a
//! stall is felt by everybody who would have come during it (no coordinated omission: Gil Tene,
//! "How NOT to Measure Latency", 2013).

use super::split_mix;
use crate::units::{Nanos, parse_count, parse_duration};
use serde::{Deserialize, Serialize};

/// Arrivals a second at most, and at least.
pub const RATE_MAX: f64 = 1e7;
/// See [`RATE_MAX`]: fewer than one in about three hours is none.
pub const RATE_MIN: f64 = 1e-4;
/// Arrivals of a burst at most.
pub const BURST_MAX: u32 = 10_000_000;
/// The shortest time from burst to burst.
const PERIOD_MIN: Nanos = Nanos::from_millis(1);

/// How arrivals are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// The same time from each to the next.
    #[default]
    Constant,
    /// Independent of each other: exponential times from each to the next.
    Poisson,
}

impl std::str::FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Process, String> {
        match text {
            "constant" => Ok(Process::Constant),
            "poisson" => Ok(Process::Poisson),
            other => Err(format!("no `{other}`; use constant or poisson")),
        }
    }
}

/// So many arrivals at one moment, again and again, beside the others. The first comes after one
/// period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Arrivals of each.
    pub size: u32,
    /// From one to the next.
    pub period_ns: Nanos,
}

impl std::str::FromStr for Burst {
    type Err = String;

    /// Reads `500@1s`.
    fn from_str(text: &str) -> Result<Burst, String> {
        let accepted = "write SIZE@PERIOD such as 500@1s: 1 to 10000000 commits, 1ms or longer";
        let bad = || format!("`{text}` is not a burst; {accepted}");
        let (size, period) = text.split_once('@').ok_or_else(bad)?;
        let size = parse_count(size).ok().and_then(|n| u32::try_from(n).ok());
        let size = size.ok_or_else(bad)?;
        let period_ns = parse_duration(period).map_err(|e| format!("{e}; {accepted}"))?;
        if !(1..=BURST_MAX).contains(&size) || period_ns < PERIOD_MIN {
            return Err(bad());
        }
        Ok(Burst { size, period_ns })
    }
}

/// An open loop's arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Commits a second, bursts not included.
    pub rate_per_s: f64,
    /// How these are spread.
    pub process: Process,
    /// What comes beside them.
    pub burst: Option<Burst>,
}

impl Arrivals {
    /// Arrivals with that rate.
    ///
    /// # Errors
    /// A rate that makes no sense, and what does.
    pub fn new(
        rate_per_s: f64,
        process: Process,
        burst: Option<Burst>,
    ) -> Result<Arrivals, String> {
        if !rate_per_s.is_finite() || !(RATE_MIN..=RATE_MAX).contains(&rate_per_s) {
            return Err(format!(
                "{rate_per_s} commits per second are out of range; use from {RATE_MIN} to {RATE_MAX}"
            ));
        }
        let arrivals = Arrivals {
            rate_per_s,
            process,
            burst,
        };
        if arrivals.offered_per_s() > RATE_MAX {
            return Err(format!(
                "with its bursts that is {:.0} commits per second; use at most {RATE_MAX} together",
                arrivals.offered_per_s()
            ));
        }
        Ok(arrivals)
    }

    /// Commits a second with the bursts, over a long time.
    #[must_use]
    pub fn offered_per_s(&self) -> f64 {
        let bursts = self.burst.map_or(0.0, |burst| {
            f64::from(burst.size) / burst.period_ns.as_secs()
        });
        self.rate_per_s + bursts
    }

    /// The intended starts. The same seed gives the same ones.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        let mut schedule = Schedule {
            arrivals: *self,
            state: seed ^ 0xA076_1D64_78BD_642F,
            count: 0,
            next_ns: 0.0,
            bursts: 0,
            of_burst: 0,
        };
        // The first of a Poisson process is as far from zero as any from the one before.
        if self.process == Process::Poisson {
            schedule.next_ns = schedule.gap_ns();
        }
        schedule
    }
}

/// Intended starts in order, without end; see [`Arrivals::schedule`].
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    state: u64,
    /// Of the steady arrivals: how many came, and when the next comes.
    count: u64,
    next_ns: f64,
    /// Bursts that came whole, and arrivals of the next that came.
    bursts: u64,
    of_burst: u32,
}

impl Schedule {
    /// When the next transaction is meant to begin, since the schedule's zero.
    #[must_use]
    pub fn peek(&self) -> Nanos {
        let steady = self.next_ns as u64;
        Nanos(self.burst_ns().map_or(steady, |burst| burst.min(steady)))
    }

    fn burst_ns(&self) -> Option<u64> {
        let burst = self.arrivals.burst?;
        Some((self.bursts + 1).saturating_mul(burst.period_ns.0))
    }

    /// An exponential time with mean 1/rate, by inversion.
    fn gap_ns(&mut self) -> f64 {
        // 53 bits, never zero: the logarithm is finite.
        let unit = ((split_mix(&mut self.state) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -unit.ln() * 1e9 / self.arrivals.rate_per_s
    }

    /// Goes past the next arrival.
    fn step(&mut self) {
        let is_burst = self.burst_ns().is_some_and(|at| at <= self.next_ns as u64);
        match self.arrivals.burst.filter(|_| is_burst) {
            Some(burst) => {
                self.of_burst += 1;
                if self.of_burst == burst.size {
                    (self.of_burst, self.bursts) = (0, self.bursts + 1);
                }
            }
            None => {
                self.count += 1;
                self.next_ns = match self.arrivals.process {
                    // Not added up: no error grows with the time.
                    Process::Constant => self.count as f64 * 1e9 / self.arrivals.rate_per_s,
                    Process::Poisson => self.next_ns + self.gap_ns(),
                };
            }
        }
    }

    /// Arrivals that come before `until`, from here on; a copy is counted, this stays.
    #[must_use]
    pub fn count_before(&self, until: Nanos) -> u64 {
        self.clone().take_while(|at| *at < until).count() as u64
    }
}

impl Iterator for Schedule {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let at = self.peek();
        self.step();
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(rate: f64, process: Process) -> Arrivals {
        Arrivals::new(rate, process, None).expect("a rate")
    }

    #[test]
    fn constant_arrivals_keep_their_distance_for_days() {
        let mut schedule = arrivals(3.0, Process::Constant).schedule(1);
        let first: Vec<u64> = schedule.by_ref().take(4).map(|at| at.0).collect();
        assert_eq!(first, [0, 333_333_333, 666_666_666, 1_000_000_000]);
        let day = schedule.nth(3 * 86_400 - 5).expect("without end");
        assert_eq!(day, Nanos(86_399_666_666_666));
    }

    /// Mean and variance of the gaps, and of the arrivals of a second: those of a Poisson process,
    /// within five standard errors. Printed seeds repeat.
    #[test]
    fn poisson_arrivals_have_the_mean_and_the_variance_of_one() {
        let seed = std::env::var("ARRIVALS_SEED")
            .ok()
            .and_then(|s| s.parse().ok());
        for seed in seed.map_or_else(|| (1..=8).collect::<Vec<u64>>(), |seed| vec![seed]) {
            let (rate, n) = (1000.0, 200_000_usize);
            let schedule = arrivals(rate, Process::Poisson).schedule(seed);
            let starts: Vec<f64> = schedule.take(n).map(|at| at.0 as f64 / 1e9).collect();
            let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
            assert!(gaps.iter().all(|gap| *gap >= 0.0), "seed {seed}");
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Standard errors: of the mean 1/(λ√n), of the variance √8/(λ²√n).
            let root = (n as f64).sqrt();
            assert!(
                (mean * rate - 1.0).abs() < 5.0 / root,
                "seed {seed}: mean {mean}"
            );
            let off = (var * rate * rate - 1.0).abs();
            assert!(
                off < 5.0 * 8.0_f64.sqrt() / root,
                "seed {seed}: variance {var}"
            );
            let seconds = starts[n - 1].floor() as usize;
            let mut counts = vec![0_f64; seconds];
            let whole = starts.iter().filter(|at| **at < seconds as f64);
            whole.for_each(|at| counts[*at as usize] += 1.0);
            let mean = counts.iter().sum::<f64>() / seconds as f64;
            let var = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / seconds as f64;
            // Index of dispersion 1; constant arrivals have 0. Standard error about √(2/seconds).
            let dispersion = var / mean;
            let bound = 5.0 * (2.0 / seconds as f64).sqrt();
            assert!(
                (dispersion - 1.0).abs() < bound,
                "seed {seed}: {dispersion}"
            );
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let one = arrivals(50.0, Process::Poisson);
        let take = |seed| one.schedule(seed).take(100).collect::<Vec<_>>();
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
    }

    #[test]
    fn bursts_come_beside_the_others_in_order() {
        let burst = "3@1s".parse().expect("a burst");
        let both = Arrivals::new(2.0, Process::Constant, Some(burst)).expect("fits");
        assert!((both.offered_per_s() - 5.0).abs() < 1e-9);
        let ms: Vec<u64> = both
            .schedule(1)
            .take(10)
            .map(|at| at.0 / 1_000_000)
            .collect();
        assert_eq!(ms, [0, 500, 1000, 1000, 1000, 1000, 1500, 2000, 2000, 2000]);
        let ten_seconds = both.schedule(1).count_before(Nanos::from_secs(10));
        assert_eq!(ten_seconds, 20 + 9 * 3);
        let poisson = Arrivals::new(200.0, Process::Poisson, Some(burst)).expect("fits");
        let starts: Vec<Nanos> = poisson.schedule(3).take(10_000).collect();
        assert!(starts.is_sorted(), "time goes back");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for rate in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e-9, 2e7] {
            let told = Arrivals::new(rate, Process::Constant, None).expect_err("no rate");
            assert!(told.contains("out of range"), "{told}");
        }
        let burst = "10000000@1ms".parse().expect("each for itself makes sense");
        let told = Arrivals::new(1.0, Process::Constant, Some(burst)).expect_err("together not");
        assert!(told.contains("with its bursts"), "{told}");
        for bad in [
            "",
            "5",
            "0@1s",
            "5@0",
            "5@",
            "@1s",
            "x@1s",
            "5@1us",
            "99999999999@1s",
        ] {
            assert!(bad.parse::<Burst>().is_err(), "{bad} was accepted");
        }
        assert!("uniform".parse::<Process>().is_err());
    }
}
