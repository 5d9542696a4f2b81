//! A device with a time for each operation that grows with its size, channels, and caps of its
//! rates: virtual disks, persistent memory, volumes of clouds.

use super::Operation;
use super::field::{Contradiction, Field, lone};
use crate::chance::Chance;

/// A time that is added to some of the operations: exponentially distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyTail {
    /// The share of the operations that have it, 0 to 1.
    pub share: f64,
    /// Its mean, nanoseconds.
    pub mean_ns: f64,
}

/// A rate that a device does not exceed: a token bucket, which is full in the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateCap {
    /// Per second, for ever: the bucket is refilled at this rate. 0: there is no cap.
    pub per_s: f64,
    /// Per second at most while the bucket has something; 0: the same rate.
    pub burst_per_s: f64,
    /// What the bucket holds. What is taken goes out of it; when it is empty, `per_s` is left.
    pub credits: f64,
}

/// A device whose writes take a fixed time and one by their size, and whose flushes take a time of
/// their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceModel {
    /// Of each write, nanoseconds.
    pub write_ns: f64,
    /// Of each kB of it. Channels do not share it: each has this bandwidth.
    pub write_ns_per_kb: f64,
    /// Of a flush; `None` where a completed write is durable.
    pub flush_ns: Option<f64>,
    /// Coefficient of variation of both.
    pub variation: f64,
    /// What some of the operations take besides.
    pub tail: LatencyTail,
    /// Operations at once; others queue, first come first served. 0: as many as come.
    pub channels: u32,
    /// Writes per second.
    pub iops: RateCap,
    /// A larger write counts as several, kB; 0: it counts as one.
    pub iops_kb: f64,
    /// MB per second of all channels together.
    pub mb: RateCap,
    /// Its size, GB; 0 where nobody knows.
    pub capacity_gb: f64,
}

/// The keys of a cap: its rate, its burst, its credits.
type CapKeys = [&'static str; 3];
const IOPS: CapKeys = ["iops", "iops_burst", "iops_credits"];
const MB: CapKeys = ["mb_per_s", "mb_per_s_burst", "mb_credits"];

impl RateCap {
    /// No cap.
    pub const NONE: RateCap = RateCap {
        per_s: 0.0,
        burst_per_s: 0.0,
        credits: 0.0,
    };

    fn fields(&mut self, [rate, burst, credits]: CapKeys) -> [Field<'_>; 3] {
        [
            Field::rate(rate, &mut self.per_s).optional(),
            Field::rate(burst, &mut self.burst_per_s).optional(),
            Field::number(credits, 1e15, &mut self.credits).optional(),
        ]
    }

    fn contradiction(&self, [rate, burst, credits]: CapKeys) -> Contradiction {
        let (bursts, saved) = ((burst, self.burst_per_s), (credits, self.credits));
        let less = bursts.1 > 0.0 && bursts.1 < self.per_s;
        let what = format!("{burst} = {}: use at least {rate}", bursts.1);
        let less = less.then_some((burst, what));
        let needs = lone(bursts, (rate, self.per_s)).or(less);
        needs.or(lone(bursts, saved)).or(lone(saved, bursts))
    }
}

impl ServiceModel {
    /// A device that takes no time, and whose completed writes are durable.
    pub const NOTHING: ServiceModel = ServiceModel {
        write_ns: 0.0,
        write_ns_per_kb: 0.0,
        flush_ns: None,
        variation: 0.0,
        tail: LatencyTail {
            share: 0.0,
            mean_ns: 0.0,
        },
        channels: 0,
        iops: RateCap::NONE,
        iops_kb: 0.0,
        mb: RateCap::NONE,
        capacity_gb: 0.0,
    };

    pub(super) fn fields(&mut self) -> Vec<Field<'_>> {
        let mut out = vec![
            Field::time("write_us", &mut self.write_ns),
            Field::time("write_us_per_kb", &mut self.write_ns_per_kb),
            Field::perhaps_time("flush_us", &mut self.flush_ns),
            Field::number("variation", 10.0, &mut self.variation).optional(),
            Field::number("tail_share", 1.0, &mut self.tail.share).optional(),
            Field::time("tail_mean_us", &mut self.tail.mean_ns).optional(),
            Field::count("channels", 4096, &mut self.channels).optional(),
            Field::number("iops_kb", 1e6, &mut self.iops_kb).optional(),
            Field::number("capacity_gb", 1e9, &mut self.capacity_gb).optional(),
        ];
        out.extend(self.iops.fields(IOPS));
        out.extend(self.mb.fields(MB));
        out
    }

    pub(super) fn contradiction(&self) -> Contradiction {
        let share = ("tail_share", self.tail.share);
        let mean = ("tail_mean_us", self.tail.mean_ns);
        let kb = lone(("iops_kb", self.iops_kb), ("iops", self.iops.per_s));
        let tail = lone(share, mean).or(lone(mean, share)).or(kb);
        let caps = self.iops.contradiction(IOPS).or(self.mb.contradiction(MB));
        tail.or(caps)
    }

    pub(super) fn is_nothing(&self) -> bool {
        let capped = self.iops.per_s > 0.0 || self.mb.per_s > 0.0 || self.tail.share > 0.0;
        let flush = self.flush_ns.unwrap_or_default();
        self.write_ns == 0.0 && self.write_ns_per_kb == 0.0 && flush == 0.0 && !capped
    }
}

/// A pace: so much per second, and what is saved. A cap has two: for ever, and in a burst.
#[derive(Debug)]
struct Pace {
    /// It counts MB, not writes.
    is_of_mb: bool,
    ns_each: f64,
    /// How far it may be ahead.
    saved_ns: f64,
    /// When all that was taken would have been refilled.
    due: f64,
}

impl Pace {
    fn all(of: &ServiceModel) -> Vec<Pace> {
        let caps = [(false, of.iops), (true, of.mb)];
        let rates = caps.into_iter().flat_map(|(is_of_mb, cap)| {
            [
                (is_of_mb, cap.per_s, cap.credits),
                (is_of_mb, cap.burst_per_s, 0.0),
            ]
        });
        let rates = rates.filter(|(_, per_s, _)| *per_s > 0.0);
        let pace = |(is_of_mb, per_s, credits)| Pace {
            is_of_mb,
            ns_each: 1e9 / per_s,
            saved_ns: credits * 1e9 / per_s,
            due: 0.0,
        };
        rates.map(pace).collect()
    }
}

/// A [`ServiceModel`] at work.
#[derive(Debug)]
pub(crate) struct ServiceDevice {
    of: ServiceModel,
    /// When each channel is free.
    channels: Vec<u64>,
    paces: Vec<Pace>,
}

impl ServiceDevice {
    pub(super) fn new(of: &ServiceModel) -> ServiceDevice {
        ServiceDevice {
            of: *of,
            channels: vec![0; of.channels as usize],
            paces: Pace::all(of),
        }
    }

    /// When a write may begin.
    fn may_begin(&mut self, now: u64, kb: f64) -> u64 {
        if self.paces.is_empty() {
            return now;
        }
        let counts = match self.of.iops_kb > 0.0 {
            true => libm::ceil(kb / self.of.iops_kb).max(1.0),
            false => 1.0,
        };
        let earliest = self.paces.iter().map(|pace| pace.due - pace.saved_ns);
        let begins = earliest.fold(now as f64, f64::max);
        for pace in &mut self.paces {
            let takes = if pace.is_of_mb { kb / 1024.0 } else { counts };
            pace.due = pace.due.max(begins) + takes * pace.ns_each;
        }
        now.max(libm::ceil(begins) as u64)
    }

    pub(super) fn ends(&mut self, now: u64, operation: Operation, chance: &mut Chance) -> u64 {
        let (mean, begins) = match operation {
            Operation::Write { bytes, .. } => {
                let kb = bytes as f64 / 1024.0;
                let begins = self.may_begin(now, kb);
                (self.of.write_ns + self.of.write_ns_per_kb * kb, begins)
            }
            Operation::Flush => (self.of.flush_ns.unwrap_or_default(), now),
        };
        let mut takes = mean * chance.factor(self.of.variation);
        let tail = self.of.tail;
        if tail.share > 0.0 && chance.unit() <= tail.share {
            takes += chance.exponential(tail.mean_ns);
        }
        let takes = takes.max(0.0) as u64;
        match self.channels.iter_mut().min() {
            Some(free) => {
                *free = begins.max(*free).saturating_add(takes);
                *free
            }
            None => begins.saturating_add(takes),
        }
    }
}
