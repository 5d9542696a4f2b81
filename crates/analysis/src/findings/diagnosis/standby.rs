//! What a synchronous standby costs each log write.
//!
//! The log writer writes to its own device and sends the same redo to the standby, and waits for
//! the later of both. A longer time of two is at least each of them and at most their sum: with
//! means L and R of them, the standby makes a log write max(0, R - L) to R longer, whatever the two
//! have to do with each other. Where histograms of both are known, E\[max(L, R)\] - E\[L\] is given
//! beside the bounds as if the two were independent: stalls that both share make it too high.
//!
//! Invariant: an asynchronous standby is no part of a commit; time is counted once, as the log
//! writer's wait where that is known.

use super::super::agreement::observe;
use super::super::evidence::distribution::{Distribution, of_report};
use super::super::evidence::view::{Tables, lines, place};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::figures::{EventWaits, ReportFigures, WAITS_MIN};
use super::{SYNC, WRITE};
use crate::format::latency;
use crate::thresholds::Thresholds;

/// Waits for a standby of one release each; those of the log writer before those of the process
/// that sends for it.
const REMOTE: [&[&str]; 3] = [
    &["SYNC Remote Write"],
    &["LGWR-LNS wait on channel", "LGWR wait on LNS"],
    &[SENDING],
];
/// A wait of the process that sends, of synchronous and of asynchronous transport.
const SENDING: &str = "LNS wait on SENDREQ";
/// Waits that only the process of an asynchronous transport has begin so.
const ASYNCHRONOUS: &str = "LNS ASYNC";

/// What a standby costs, ms for each log write.
pub(super) struct StandbyCost {
    /// The wait.
    pub(super) event: &'static str,
    /// All waits for it.
    pub(super) waits: EventWaits,
    /// Mean time until the standby has the redo of a log write.
    pub(super) remote_ms: f64,
    /// The least that it adds.
    pub(super) low_ms: f64,
    /// What it adds if both are independent; `None` without histograms of both.
    pub(super) independent_ms: Option<f64>,
}

impl StandbyCost {
    /// The wait and what it adds, in words.
    pub(super) fn in_words(&self) -> String {
        let expected = self.independent_ms.map_or_else(String::new, |ms| {
            format!(", {ms:.2} ms by the histograms of both if they are independent")
        });
        format!(
            "a log write waits {:.2} ms for the standby ({}) while it waits for its own device: that makes it \
             from {:.2} to {:.2} ms longer{expected}",
            self.remote_ms, self.event, self.low_ms, self.remote_ms
        )
    }
}

/// The wait for a synchronous standby, and its name.
fn waits(report: &ReportFigures<'_>) -> Option<(&'static str, EventWaits)> {
    REMOTE.into_iter().find_map(|names| {
        let is_asynchronous = names == [SENDING] && report.has_event_like(ASYNCHRONOUS);
        let waits = report.events(names).filter(|_| !is_asynchronous)?;
        let name = names.iter().find(|name| report.event(name).is_some())?;
        Some((*name, waits))
    })
}

/// What commits of SQL Server wait for a synchronous secondary replica, beside their own log.
pub(super) fn of_sql_server(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("sqlserver_waits") {
        let mean = |name: &str| {
            let mut found = lines(table).filter(|line| line.text("wait_type") == name);
            let line = found.find(|line| line.number("waits").is_some_and(|n| n >= WAITS_MIN))?;
            line.number("mean_ms")
        };
        let (replica, own) = (mean("HADR_SYNC_COMMIT"), mean("WRITELOG"));
        let Some((replica, own)) = replica.zip(own).filter(|(replica, own)| replica > own) else {
            continue;
        };
        let claim = format!(
            "a commit waits {} for the synchronous secondary (HADR_SYNC_COMMIT) and {} for its own log \
             (WRITELOG): the secondary or the network to it, not the log's disk ({})",
            latency(replica * 1e6),
            latency(own * 1e6),
            place(table)
        );
        let weight = band(replica, t).0.max(Caution);
        notes.push(
            Note::of(&catalogue::DIAGNOSIS_REMOTE_WRITE, weight, claim)
                .number("replica_ms", replica)
                .number("own_ms", own)
                .advice("Look at the secondary's log disk and at the network to it; asynchronous commit makes commits \
                         shorter and changes what they survive."),
        );
    }
}

/// A standby whose process sends and of which no commit waits, in words.
pub(super) fn apart(report: &ReportFigures<'_>) -> Option<String> {
    let asynchronous = [SENDING, "ASYNC Remote Write"].into_iter();
    let (name, sending) = asynchronous
        .filter_map(|name| Some((name, report.event(name)?)))
        .next()?;
    Some(format!(
        "{name} takes {:.2} ms on average and is no part of a commit: the standby is asynchronous, because its \
         process has the waits of one or because a commit takes less",
        sending.mean_ms()
    ))
}

/// What the standby of a report costs.
pub(super) fn cost(
    report: &ReportFigures<'_>,
    write: EventWaits,
    tables: Tables<'_>,
) -> Option<StandbyCost> {
    /// Rounding of both means.
    const OFF: f64 = 1.1;
    let (event, waits) = waits(report)?;
    let (local_ms, remote_ms) = (write.mean_ms(), waits.total_ms / write.waits);
    // What takes longer than a commit is no part of it.
    let commit_ms = report.event(SYNC).map(|sync| sync.mean_ms());
    if event == SENDING && commit_ms.is_some_and(|ms| remote_ms > OFF * ms) {
        return None;
    }
    let low_ms = (remote_ms - local_ms).max(0.0);
    let shape = |event: &str, mean_ms: f64| {
        let listed = || Distribution::of_buckets(&observe::histogram(tables, event)?.buckets);
        let found = of_report(tables, report.file, event).or_else(listed)?;
        TimeShape::of(&found, mean_ms)
    };
    let both = shape(WRITE, local_ms).zip(shape(event, remote_ms));
    let independent = both.map(|(local, remote)| mean_of_longer(&local, &remote) - local_ms);
    Some(StandbyCost {
        event,
        waits,
        remote_ms,
        low_ms,
        independent_ms: independent.map(|ms| ms.clamp(low_ms, remote_ms)),
    })
}

/// How long waits take: buckets, in each of which the share below a time grows by the same power,
/// so that the mean is the known one.
struct TimeShape {
    /// Ends in ms, and the share of the waits.
    buckets: Vec<(f64, f64, f64)>,
    power: f64,
}

impl TimeShape {
    fn of(known: &Distribution, mean_ms: f64) -> Option<TimeShape> {
        /// What is printed as 100.0 may be this much less.
        const ROUNDING_PCT: f64 = 0.05;
        let mut buckets = Vec::new();
        let (mut from, mut below) = (0.0, 0.0);
        for (bound_ns, pct) in &known.0 {
            let to = bound_ns / 1e6;
            buckets.push((from, to, pct - below));
            (from, below) = (to, pct.max(below));
        }
        if 100.0 - below > ROUNDING_PCT {
            buckets.push((from, 2.0 * from, 100.0 - below));
        }
        buckets.retain(|(from, to, share)| to > from && *share > 0.0);
        let all: f64 = buckets.iter().map(|(.., share)| share).sum();
        for (.., share) in &mut buckets {
            *share /= all;
        }
        let mut shape = TimeShape {
            buckets,
            power: 1.0,
        };
        // The mean grows with the power: halve the range in which it is.
        let (mut low, mut high) = (-7.0_f64, 7.0_f64);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            shape.power = middle.exp();
            match shape.mean_ms() < mean_ms {
                true => low = middle,
                false => high = middle,
            }
        }
        (!shape.buckets.is_empty()).then_some(shape)
    }

    fn mean_ms(&self) -> f64 {
        let part = self.power / (1.0 + self.power);
        let each = self.buckets.iter();
        each.map(|(from, to, share)| share * (from + (to - from) * part))
            .sum()
    }

    /// The share of waits that end by then.
    fn below(&self, ms: f64) -> f64 {
        let of = |(from, to, share): &(f64, f64, f64)| {
            let at = ((ms - from) / (to - from)).clamp(0.0, 1.0);
            share * at.powf(self.power)
        };
        self.buckets.iter().map(of).sum()
    }
}

/// E\[max\] of two independent times: the integral of the share of waits of which either is longer.
fn mean_of_longer(a: &TimeShape, b: &TimeShape) -> f64 {
    const STEPS: u32 = 64;
    let ends = [a, b].map(|of| of.buckets.iter().flat_map(|(from, to, _)| [*from, *to]));
    let mut ends: Vec<f64> = ends.into_iter().flatten().collect();
    ends.push(0.0);
    ends.sort_by(f64::total_cmp);
    let between = |pair: &[f64]| {
        let [from, to] = pair else { return 0.0 };
        let step = (to - from) / f64::from(STEPS);
        let at = |n: u32| from + (f64::from(n) + 0.5) * step;
        let each = (0..STEPS).map(|n| step * (1.0 - a.below(at(n)) * b.below(at(n))));
        each.sum()
    };
    ends.windows(2).map(between).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// Buckets of powers of two from 1/64 ms on, as a release from 12.2 on prints them.
    fn printed(times: &[f64]) -> Distribution {
        let share = |bound: f64| {
            let below = times.iter().filter(|ms| **ms < bound).count();
            (1000.0 * below as f64 / times.len() as f64).round() / 10.0
        };
        let bounds = (-6..16).map(|power| 2.0_f64.powi(power));
        Distribution(bounds.map(|ms| (ms * 1e6, share(ms))).collect())
    }

    fn mean(times: &[f64]) -> f64 {
        times.iter().sum::<f64>() / times.len() as f64
    }

    /// A standby is simulated; nothing of it is from the product but the way back from buckets.
    #[test]
    fn the_longer_of_two_independent_times_is_found_again() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let mut uniform = move || random.uniform().max(1e-12);
            let (base, wire) = (0.1 + 2.0 * uniform(), 0.2 + 4.0 * uniform());
            let slow = 0.2 * uniform();
            // A device with a tail of stalls; a wire with exponential service.
            let (mut local, mut remote) = (Vec::new(), Vec::new());
            for _ in 0..20_000 {
                let stall = if uniform() < slow {
                    10.0 * uniform()
                } else {
                    0.0
                };
                local.push(base * (0.5 - uniform().ln() / 2.0) + stall);
                remote.push(wire * (0.3 - 0.7 * uniform().ln()));
            }
            let longer: Vec<f64> = local.iter().zip(&remote).map(|(l, r)| l.max(*r)).collect();
            let shape = |times: &[f64]| TimeShape::of(&printed(times), mean(times)).expect("waits");
            let [a, b] = [&local, &remote].map(|times| shape(times));
            for (shape, times) in [(&a, &local), (&b, &remote)] {
                let off = shape.mean_ms() / mean(times) - 1.0;
                assert!(off.abs() < 1e-3, "seed {seed}: the mean is off by {off}");
            }
            let off = mean_of_longer(&a, &b) / mean(&longer) - 1.0;
            assert!(off.abs() < 0.1, "seed {seed}: E[max] is off by {off}");
        }
    }
}
