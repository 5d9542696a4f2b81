//! Whether it matters on which processor the log writer runs: the device's floor from several
//! processors, compared within interleaved rounds.
//!
//! **Rounds are the unit of replication**, as in comparisons of targets: the medians of two places
//! in one round are a pair; of the pairs' logarithms of the ratio a Student interval is taken. The
//! fastest and the slowest place are known only after measuring, so the intervals are as wide as if
//! all pairs of places had been compared (Bonferroni): a difference between equal places is
//! reported in at most 5 % of measurements.
//!
//! What it must not know: how it was measured, and how results are shown.

use crate::format;
use crate::stats::tails::t_critical;
use crate::stats::{Estimate, Moments};
use measure::run::{PlaceFigures, PlacementFigures, ProcessorInterrupts};
use std::collections::BTreeMap;

/// Confidence of all intervals together.
const LEVEL: f64 = 0.95;
/// Rounds below which no ratio is given.
const LEAST_ROUNDS: usize = 5;

/// A smaller share of time on the run queue is not worth a sentence, percent.
const LEAST_WAIT_PCT: f64 = 1.0;

/// The places of a measurement, compared.
#[derive(Clone, Debug)]
pub struct PlaceComparison<'a> {
    /// The thread that the scheduler placed.
    pub unpinned: &'a PlaceFigures,
    /// The processor with the smallest medians.
    pub fastest: &'a PlaceFigures,
    /// The processor with the largest medians.
    pub slowest: &'a PlaceFigures,
    /// Time on the slowest processor over that on the fastest.
    pub spread: Estimate,
    /// Time of the unpinned thread over that on the fastest processor.
    pub unpinned_ratio: Estimate,
    /// Rounds.
    pub rounds: usize,
    pairs: f64,
}

impl PlaceComparison<'_> {
    /// The time on `place` over that on the fastest processor.
    #[must_use]
    pub fn over_fastest(&self, place: &PlaceFigures) -> Option<Estimate> {
        ratio(place, self.fastest, self.pairs)
    }
}

/// Whether a ratio is a difference and not noise.
#[must_use]
fn is_slower(ratio: &Estimate) -> bool {
    ratio.low > 1.0
}

/// Compares the places; `None` with fewer than two processors or too few rounds.
#[must_use]
pub fn compared(placement: &PlacementFigures) -> Option<PlaceComparison<'_>> {
    let places = &placement.places;
    let pairs = (places.len() * places.len().saturating_sub(1)) as f64 / 2.0;
    let unpinned = places.iter().find(|place| place.cpu.is_none())?;
    let mut pinned: Vec<&PlaceFigures> = places.iter().filter(|p| p.cpu.is_some()).collect();
    pinned.sort_by(|a, b| typical(a).total_cmp(&typical(b)));
    let (fastest, slowest) = (*pinned.first()?, *pinned.last()?);
    if pinned.len() < 2 {
        return None;
    }
    Some(PlaceComparison {
        unpinned,
        fastest,
        slowest,
        spread: ratio(slowest, fastest, pairs)?,
        unpinned_ratio: ratio(unpinned, fastest, pairs)?,
        rounds: fastest.round_p50_ns.len(),
        pairs,
    })
}

/// Mean of the logarithms of a place's rounds: what ratios are made of, so that the fastest place
/// is the one to which every other has a ratio of at least 1.
fn typical(place: &PlaceFigures) -> f64 {
    let logs = place.round_p50_ns.iter().map(|ns| (*ns as f64).ln());
    logs.sum::<f64>() / place.round_p50_ns.len().max(1) as f64
}

/// The ratio of the rounds of `a` to those of `b`, one of so many `pairs` of places.
fn ratio(a: &PlaceFigures, b: &PlaceFigures, pairs: f64) -> Option<Estimate> {
    let rounds = a.round_p50_ns.iter().zip(&b.round_p50_ns);
    let logs: Vec<f64> = rounds
        .filter(|(a, b)| **a > 0 && **b > 0)
        .map(|(a, b)| (*a as f64 / *b as f64).ln())
        .collect();
    if logs.len() < LEAST_ROUNDS || logs.len() < a.round_p50_ns.len().max(b.round_p50_ns.len()) {
        return None;
    }
    let moments = Moments::of(&logs).ok()?;
    let level = 1.0 - (1.0 - LEVEL) / pairs.max(1.0);
    let within = t_critical(level, moments.n - 1.0) * moments.variance_of_mean().sqrt();
    Some(Estimate {
        value: moments.mean.exp(),
        low: (moments.mean - within).exp(),
        high: (moments.mean + within).exp(),
        level: LEVEL,
    })
}

/// What was measured, in sentences.
#[must_use]
pub fn sentences(placement: &PlacementFigures) -> Vec<String> {
    if placement.allowed_cpus < 2 {
        return vec![
            "There is nothing to compare: this process may use one processor only.".to_owned(),
        ];
    }
    let Some(found) = compared(placement) else {
        return vec![format!(
            "Processors are not compared: fewer than {LEAST_ROUNDS} rounds were measured."
        )];
    };
    let slower = match is_slower(&found.spread) {
        true => format!(
            "A durable write of {} from processor {} takes {} times as long as from processor {} ({}).",
            format::bytes(placement.write_bytes),
            number(found.slowest),
            format::digits(found.spread.value),
            number(found.fastest),
            interval(&found.spread, found.rounds)
        ),
        false => format!(
            "No processor is measurably faster than another: the slowest takes {} times as long as \
             the fastest ({}).",
            format::digits(found.spread.value),
            interval(&found.spread, found.rounds)
        ),
    };
    let unpinned = match is_slower(&found.unpinned_ratio) {
        true => format!(
            "A thread that is not pinned takes {} times as long as on processor {} ({}).",
            format::digits(found.unpinned_ratio.value),
            number(found.fastest),
            interval(&found.unpinned_ratio, found.rounds)
        ),
        false => format!(
            "A thread that is not pinned is not measurably slower than on processor {}: {} times \
             ({}).",
            number(found.fastest),
            format::digits(found.unpinned_ratio.value),
            interval(&found.unpinned_ratio, found.rounds)
        ),
    };
    let mut all = vec![arrival(placement), slower, unpinned];
    let waited = busiest_pct(placement).filter(|pct| *pct >= LEAST_WAIT_PCT);
    all.extend(waited.map(|pct| {
        format!(
            "The threads waited up to {} of the time for a processor that others used: a \
             difference may be their work.",
            format::percent(pct)
        )
    }));
    all
}

fn number(place: &PlaceFigures) -> String {
    place
        .cpu
        .map_or_else(|| "any".to_owned(), |cpu| cpu.to_string())
}

fn interval(ratio: &Estimate, rounds: usize) -> String {
    format!(
        "{:.0} % interval from {} to {}, {rounds} rounds",
        100.0 * ratio.level,
        format::digits(ratio.low),
        format::digits(ratio.high)
    )
}

/// Where the interrupts arrive.
fn arrival(placement: &PlacementFigures) -> String {
    let places = &placement.places;
    let Some(all) = interrupts(places.iter()) else {
        return "Where the disk's interrupts arrive is not known: the kernel does not count them per \
                disk here."
            .to_owned();
    };
    let pinned = || places.iter().filter(|place| place.cpu.is_some());
    let own = |place: &PlaceFigures| most(&interrupts([place].into_iter())?).map(|m| m.0);
    let stay = pinned().all(|place| place.cpu == own(place));
    if stay && pinned().count() > 1 {
        return "Each processor takes the disk's interrupts for its own writes.".to_owned();
    }
    match shares(&all).as_slice() {
        [] => "The disk's interrupts were not seen while it was measured.".to_owned(),
        [(cpu, _)] => format!("The disk's interrupts arrive at processor {cpu}."),
        several => {
            let one = |(cpu, share): &(u32, f64)| format!("{cpu} ({})", format::percent(*share));
            let several: Vec<String> = several.iter().take(4).map(one).collect();
            format!(
                "The disk's interrupts arrive at processors {}.",
                several.join(", ")
            )
        }
    }
}

/// The processors that took interrupts while `place` was measured, such as `1` or `1, 0 (12%)`;
/// `None` where they are not counted.
#[must_use]
pub fn takers(place: &PlaceFigures) -> Option<String> {
    let counts = interrupts([place].into_iter())?;
    let one = |(cpu, share): (u32, f64)| match share {
        100.0 => cpu.to_string(),
        share => format!("{cpu} ({})", format::percent(share)),
    };
    let all: Vec<String> = shares(&counts).into_iter().take(4).map(one).collect();
    Some(match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    })
}

/// Shares of at least 1 %, the largest first.
fn shares(counts: &BTreeMap<u32, u64>) -> Vec<(u32, f64)> {
    let total: u64 = counts
        .values()
        .fold(0, |sum, count| sum.saturating_add(*count));
    let share = |count: u64| 100.0 * count as f64 / total.max(1) as f64;
    let all = counts.iter().map(|(cpu, count)| (*cpu, share(*count)));
    let mut shares: Vec<(u32, f64)> = all.filter(|(_, share)| *share >= 1.0).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    shares
}

fn most(counts: &BTreeMap<u32, u64>) -> Option<(u32, u64)> {
    let counts = counts.iter().map(|(cpu, count)| (*cpu, *count));
    counts.max_by_key(|(cpu, count)| (*count, std::cmp::Reverse(*cpu)))
}

/// The interrupts of several places together; `None` where they are not counted.
fn interrupts<'a>(places: impl Iterator<Item = &'a PlaceFigures>) -> Option<BTreeMap<u32, u64>> {
    let mut all: Option<BTreeMap<u32, u64>> = None;
    for counts in places.filter_map(|place| place.interrupts.as_ref()) {
        let sum = all.get_or_insert_default();
        for ProcessorInterrupts { cpu, count } in counts {
            let own = sum.entry(*cpu).or_default();
            *own = own.saturating_add(*count);
        }
    }
    all
}

/// The largest share of time, in percent, in which the thread of a place waited for a processor
/// that others used; `None` where it is not known of any place.
#[must_use]
pub fn busiest_pct(placement: &PlacementFigures) -> Option<f64> {
    let shares = placement
        .places
        .iter()
        .filter_map(|place| place.run_queue_pct);
    shares.max_by(f64::total_cmp)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use measure::run::WaitStats;

    /// Places with their medians by round; the first is not pinned.
    pub(crate) fn placement(places: &[(Option<u32>, [u64; 8])]) -> PlacementFigures {
        let place = |(cpu, rounds): &(Option<u32>, [u64; 8])| PlaceFigures {
            cpu: *cpu,
            numa_node: Some(0),
            latency: WaitStats {
                count: 800,
                mean_ns: rounds[0] as f64,
                p50_ns: Some(rounds[0]),
                ..WaitStats::default()
            },
            round_p50_ns: rounds.to_vec(),
            interrupts: Some(vec![ProcessorInterrupts { cpu: 1, count: 500 }]),
            run_queue_pct: Some(0.1),
        };
        PlacementFigures {
            sync_method: "direct".to_owned(),
            write_bytes: 4096,
            allowed_cpus: 2,
            places: places.iter().map(place).collect(),
        }
    }

    const SLOW: [u64; 8] = [205, 199, 210, 204, 206, 201, 203, 207];
    const FAST: [u64; 8] = [110, 108, 113, 109, 112, 107, 111, 110];

    #[test]
    fn a_difference_has_an_interval_that_excludes_one() {
        let measured = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        let found = compared(&measured).expect("eight rounds");
        assert_eq!((found.fastest.cpu, found.slowest.cpu), (Some(1), Some(0)));
        assert!(
            (found.spread.value - 1.86).abs() < 0.02,
            "{:?}",
            found.spread
        );
        assert!(
            is_slower(&found.spread) && found.spread.low > 1.8,
            "{:?}",
            found.spread
        );
        assert!(
            !is_slower(&found.unpinned_ratio),
            "{:?}",
            found.unpinned_ratio
        );
        let said = sentences(&measured).join(" ");
        for part in [
            "interrupts arrive at processor 1.",
            "from processor 0 takes 1.86 times as long as from processor 1",
            "not pinned is not measurably slower",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn noise_is_no_difference() {
        // Each is faster in half of the rounds; the medians differ by a fifth.
        let (a, b) = (
            [100, 150, 90, 160, 95, 155, 105, 120],
            [150, 100, 160, 90, 155, 95, 120, 145],
        );
        let measured = placement(&[(None, a), (Some(0), a), (Some(1), b)]);
        let found = compared(&measured).expect("eight rounds");
        assert!(!is_slower(&found.spread), "{:?}", found.spread);
        assert!(found.spread.value >= 1.0, "{:?}", found.spread);
        let said = sentences(&measured).join(" ");
        assert!(said.contains("No processor is measurably faster"), "{said}");
    }

    #[test]
    fn time_on_the_run_queue_is_reported() {
        let mut measured = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        assert!(!sentences(&measured).join(" ").contains("waited"));
        measured.places[2].run_queue_pct = Some(52.0);
        let said = sentences(&measured).join(" ");
        assert!(said.contains("waited up to 52"), "{said}");
    }

    #[test]
    fn with_more_places_intervals_are_wider() {
        let two = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        let mut places = vec![(None, FAST), (Some(0), SLOW)];
        places.extend((1..8).map(|cpu| (Some(cpu), FAST)));
        let width = |p: &PlacementFigures| compared(p).map(|c| c.spread.high - c.spread.low);
        assert!(width(&placement(&places)) > width(&two));
    }

    #[test]
    fn what_cannot_be_compared_is_not() {
        let mut one = placement(&[]);
        one.allowed_cpus = 1;
        assert!(compared(&one).is_none());
        assert!(sentences(&one).join(" ").contains("one processor only"));
        let mut short = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        short
            .places
            .iter_mut()
            .for_each(|p| p.round_p50_ns.truncate(4));
        assert!(compared(&short).is_none());
        assert!(sentences(&short).join(" ").contains("fewer than 5 rounds"));
        let mut damaged = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        damaged.places[1].round_p50_ns[3] = 0;
        assert!(compared(&damaged).is_none());
        assert!(compared(&placement(&[(None, FAST), (Some(1), FAST)])).is_none());
        assert!(compared(&placement(&[(Some(0), FAST), (Some(1), FAST)])).is_none());
    }

    #[test]
    fn arrivals_are_reported_as_far_as_they_are_known() {
        let mut measured = placement(&[(None, FAST), (Some(0), SLOW), (Some(1), FAST)]);
        assert_eq!(takers(&measured.places[0]).as_deref(), Some("1"));
        let took = |counts: &[(u32, u64)]| {
            let one = |(cpu, count): &(u32, u64)| ProcessorInterrupts {
                cpu: *cpu,
                count: *count,
            };
            Some(counts.iter().map(one).collect::<Vec<_>>())
        };
        measured.places[1].interrupts = took(&[(0, 125), (1, 375)]);
        assert!(takers(&measured.places[1]).is_some_and(|t| t.starts_with("1 (75")));
        assert!(
            sentences(&measured)[0].contains("at processors 1 ("),
            "{:?}",
            sentences(&measured)
        );
        // Each processor its own, as with a drive that has a queue for each.
        measured.places[1].interrupts = took(&[(0, 500), (1, 2)]);
        assert!(
            sentences(&measured)[0].contains("its own writes"),
            "{:?}",
            sentences(&measured)
        );
        measured
            .places
            .iter_mut()
            .for_each(|p| p.interrupts = took(&[]));
        assert_eq!(takers(&measured.places[1]).as_deref(), Some("none"));
        measured.places.iter_mut().for_each(|p| p.interrupts = None);
        assert_eq!(takers(&measured.places[1]), None);
        assert!(
            sentences(&measured)[0].contains("is not known"),
            "{:?}",
            sentences(&measured)
        );
    }
}
