//! When to wait for company: the parameters of the writer, and the gatherer.
//!
//! With one flush in flight and sessions that commit again at once, the sessions split into two
//! groups that take turns: latency 2F, throughput N / 2F (ENGINE section 1). Gathering ends it:
//! before sealing, the leader lets the commits of the batch before rejoin, for at most a part of
//! the time that a log write takes. One session never gathers.

use super::Adaptive;
use crate::setters::setters;
use measure::Nanos;

/// The writer's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// Batches in flight at once, sealed and not yet durable, 1 to [`super::MAX_DEPTH`].
    pub depth: u32,
    /// A completed write is durable without a flush.
    pub durable_writes: bool,
    /// Let the commits of the batch before rejoin.
    pub gather: bool,
    /// Gather at most this part of the mean time of a log write, in 256ths.
    pub gather_part: u32,
    /// Never gather longer than this.
    pub gather_max: Nanos,
    /// Never gather for more redo than this: where a log write takes as long as its size says,
    /// and no longer as long as any, waiting for more only keeps the device idle.
    pub gather_bytes: u32,
    /// Leave the flush of written batches that nobody waits for until so many bytes of them are
    /// written, padding included. They are flushed as soon as somebody waits, and without delay
    /// where less than a log file is free. 0 flushes at once.
    pub defer_bytes: u64,
    /// Leave that flush for no longer than this. An open log takes the period of its flush
    /// triggers.
    pub defer_time: Nanos,
    /// Work alone, or with `depth` batches in flight, as it serves better.
    pub adaptive: Option<Adaptive>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            depth: 1,
            durable_writes: false,
            gather: true,
            gather_part: 128,
            gather_max: Nanos::from_millis(2),
            gather_bytes: 256 << 10,
            defer_bytes: 32 << 20,
            defer_time: Nanos::from_millis(3000),
            adaptive: None,
        }
    }
}

setters!(const Policy {
    /// This policy with so many batches in flight, 1 to [`super::MAX_DEPTH`].
    depth: u32,
    /// This policy for a device whose completed writes are durable, or are not.
    durable_writes: bool,
    /// This policy, with or without gathering.
    gather: bool,
    /// This policy with another part of a log write's mean time for gathering, in 256ths.
    gather_part: u32,
    /// This policy with another longest time for gathering.
    gather_max: Nanos,
    /// This policy with gathering for at most so many bytes of redo.
    gather_bytes: u32,
    /// This policy with a flush that is deferred for so many bytes that nobody waits for; 0 flushes
    /// at once.
    defer_bytes: u64,
    /// This policy with a flush that is deferred for so long at most.
    defer_time: Nanos,
    /// This policy with these parameters of an adaptive log writer.
    adaptive: Option<Adaptive>,
});

/// Gatherings in vain double the number that is skipped, up to this.
const SKIP_MAX: u32 = 64;

#[derive(Clone, Debug)]
pub(super) struct Gatherer {
    policy: Policy,
    /// Moving average of the time from issue to durable, weight 1/8.
    mean_ns: u64,
    /// Commits of the last batch.
    last_commits: u32,
    until: Nanos,
    in_vain: u32,
    skip: u32,
}

impl Gatherer {
    pub(super) fn new(policy: Policy) -> Gatherer {
        Gatherer {
            policy,
            mean_ns: 0,
            last_commits: 0,
            until: Nanos::ZERO,
            in_vain: 0,
            skip: 0,
        }
    }

    /// How many commits to wait for, and until when; `None` to go ahead. `carried` of the
    /// `commits` had come while the last batch was on its way; to these its own are added, as far
    /// as commits as large as those that are there (`bytes` in all) stay within `gather_bytes`.
    #[inline]
    pub(super) fn gather(
        &mut self,
        now: Nanos,
        (commits, bytes): (u32, u32),
        carried: u32,
    ) -> Option<(u32, Nanos)> {
        let want = self.last_commits.saturating_add(carried);
        if !self.policy.gather || self.last_commits == 0 || want < 2 || commits >= want {
            return None;
        }
        let room = u64::from(self.policy.gather_bytes) * u64::from(commits.max(1));
        let want = u64::from(want).min(room / u64::from(bytes.max(1))) as u32;
        if commits >= want {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        let part = self.mean_ns / 256 * u64::from(self.policy.gather_part);
        let patience = Nanos(part.min(self.policy.gather_max.0));
        if patience == Nanos::ZERO {
            return None;
        }
        self.until = now.plus(patience);
        Some((want, self.until))
    }

    /// A gathering ended at `now`.
    #[inline]
    pub(super) fn gathered(&mut self, now: Nanos) {
        if now < self.until {
            self.in_vain = 0;
        } else {
            self.in_vain = (self.in_vain + 1).min(16);
            self.skip = (1 << (self.in_vain - 1)).min(SKIP_MAX);
        }
    }

    #[inline]
    pub(super) fn sealed(&mut self, commits: u32) {
        self.last_commits = commits;
    }

    #[inline]
    pub(super) fn served(&mut self, took: Nanos) {
        self.mean_ns = if self.mean_ns == 0 {
            took.0
        } else {
            self.mean_ns - self.mean_ns / 8 + took.0 / 8
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gatherer() -> Gatherer {
        let mut g = Gatherer::new(Policy::default());
        g.served(Nanos::from_micros(100));
        g
    }

    #[test]
    fn one_session_never_gathers() {
        let mut g = gatherer();
        g.sealed(1);
        assert_eq!(g.gather(Nanos(0), (1, 100), 0), None);
    }

    #[test]
    fn a_log_write_that_is_large_already_waits_for_nobody() {
        let mut g = gatherer();
        g.sealed(1024);
        let most = g.policy.gather_bytes;
        assert_eq!(g.gather(Nanos(0), (100, most), 0), None);
        let (want, _) = g.gather(Nanos(0), (10, most / 10), 0).expect("small yet");
        assert_eq!(want, 100, "as many of a tenth's size as there is room for");
        let (want, _) = g.gather(Nanos(0), (10, 100), 0).expect("small");
        assert_eq!(want, 1024, "small ones have room");
        assert_eq!(g.gather(Nanos(0), (1, most - 1), 0), None, "no second fits");
    }

    #[test]
    fn the_commits_of_the_last_batch_are_awaited_beside_those_carried_over() {
        let mut g = gatherer();
        g.sealed(4);
        let (want, until) = g
            .gather(Nanos(1000), (5, 500), 4)
            .expect("three are missing");
        assert_eq!(want, 8);
        assert!(until > Nanos(1000) && until <= Nanos(51_000), "{until:?}");
        assert_eq!(g.gather(Nanos(1000), (8, 800), 4), None);
    }

    #[test]
    fn gathering_in_vain_becomes_rare_and_success_restores_it() {
        let mut g = gatherer();
        g.sealed(4);
        let mut gathered = 0;
        for i in 0..1000_u64 {
            let now = Nanos(i * 1_000_000);
            if let Some((_, until)) = g.gather(now, (1, 100), 0) {
                gathered += 1;
                g.gathered(until);
            }
        }
        assert!((10..40).contains(&gathered), "{gathered}");
        g.skip = 0;
        let now = Nanos(2_000_000_000);
        assert!(g.gather(now, (1, 100), 0).is_some());
        g.gathered(now);
        assert!(g.gather(now, (1, 100), 0).is_some());
    }

    #[test]
    fn patience_follows_the_usual_time_of_a_log_write() {
        let mut g = gatherer();
        let patience = |g: &mut Gatherer| {
            g.sealed(4);
            let gathered = g.gather(Nanos(0), (1, 100), 0);
            gathered.expect("three are missing").1.0
        };
        let half = |micros: u64| micros * 500 * 9 / 10..=micros * 500;
        assert!(half(100).contains(&patience(&mut g)));
        for (micros, writes) in [(100, 1000), (800, 100), (200, 100)] {
            for _ in 0..writes {
                g.served(Nanos::from_micros(micros));
            }
            let waited = patience(&mut g);
            assert!(half(micros).contains(&waited), "{micros} µs: {waited} ns");
        }
        // One slow write moves it by an eighth of the difference.
        g.served(Nanos::from_micros(1000));
        assert!(half(300).contains(&patience(&mut g)));
    }
}
