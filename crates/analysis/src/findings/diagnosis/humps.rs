//! Two groups of waits in a histogram, with hardly any between: most are quick, and some meet a
//! stall, a cache that is full, another path. A mean describes neither.

use super::super::evidence::distribution::of_report;
use super::super::evidence::view::{Tables, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::figures::{ReportFigures, WAITS_MIN};
use super::{SYNC, WRITE};
use crate::format::latency;

/// The buckets between hold at most this part of the smaller peak.
const BETWEEN: f64 = 0.25;
/// The second group begins at this many times the end of the first.
const APART: f64 = 2.0;
/// Waits of the second group, and its share in percent.
const SECOND_MIN: f64 = 10.0;
const SECOND_PCT: f64 = 0.1;
/// A second group from here on is of stalls.
const STALL_MS: f64 = 16.0;

/// The groups in words, to stand behind others; `buckets` have the end of each in ms and its waits,
/// by ascending ends, which double; buckets without waits may be missing.
pub(super) fn two_groups(buckets: &[(f64, f64)]) -> Option<String> {
    let all = filled(buckets);
    let total: f64 = all.iter().map(|(_, waits)| waits).sum();
    let most = |of: &[(f64, f64)]| of.iter().map(|(_, waits)| *waits).fold(0.0, f64::max);
    let sum = |of: &[(f64, f64)]| of.iter().map(|(_, waits)| waits).sum::<f64>();
    let split = |at: usize| {
        let (left, right) = all.split_at(at);
        let peak = most(left).min(most(right));
        let few = |of: &&(f64, f64)| of.1 <= BETWEEN * peak;
        let left_end = left.len() - left.iter().rev().take_while(few).count();
        let right_from = right.iter().take_while(few).count();
        let (low, _) = *left.get(left_end.checked_sub(1)?)?;
        // Where the bucket before it ends.
        let from = all.get((at + right_from).checked_sub(1)?)?.0;
        let second = sum(right.get(right_from..)?);
        let is_group = second >= SECOND_MIN && 100.0 * second >= SECOND_PCT * total;
        let between = total - sum(left.get(..left_end)?) - second;
        (is_group && from >= APART * low).then_some((low, from, second, between))
    };
    let found = (1..all.len()).filter_map(split);
    // The widest gap.
    let (low, from, second, between) = found.max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
    let pct = |waits: f64| show(100.0 * waits / total);
    let cause = match from >= STALL_MS {
        true => ": stalls, not a slow medium",
        false => "",
    };
    (total >= WAITS_MIN).then(|| {
        format!(
            "; two groups: {} % under {}, and {} % from {} to {} with {} % between{cause}",
            pct(total - second - between),
            latency(low * 1e6),
            pct(second),
            latency(from * 1e6),
            latency(all.last().map_or(0.0, |(to, _)| *to) * 1e6),
            pct(between)
        )
    })
}

/// The buckets with those that are not listed because they are empty.
fn filled(buckets: &[(f64, f64)]) -> Vec<(f64, f64)> {
    /// More than all that a clock of nanoseconds has.
    const BUCKETS_MAX: usize = 80;
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (to, waits) in buckets {
        while let Some((before, _)) = all.last().copied()
            && before > 0.0
            && *to > 2.5 * before
            && all.len() < BUCKETS_MAX
        {
            all.push((2.0 * before, 0.0));
        }
        all.push((*to, *waits));
    }
    all
}

/// A report whose histogram of an event and whose mean of it cannot be of the same waits.
pub(super) fn against_mean(report: &ReportFigures<'_>, tables: Tables<'_>, notes: &mut Vec<Note>) {
    /// Times that the least mean of the histogram is the printed one: shares are rounded.
    const APART: f64 = 1.5;
    for event in [WRITE, SYNC] {
        let waits = report.event(event).filter(|of| of.waits >= WAITS_MIN);
        let shares = of_report(tables, report.file, event);
        let Some((waits, shares)) = waits.zip(shares) else {
            continue;
        };
        let (mean_ns, least_ns) = (waits.mean_ms() * 1e6, shares.mean_at_least());
        if least_ns <= APART * mean_ns {
            continue;
        }
        let claim = format!(
            "{event} takes {} on average by its waits and its time, and at least {} by its histogram: both cannot \
             be of the same waits, so neither is a verdict ({})",
            latency(mean_ns),
            latency(least_ns),
            report.file
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_AVERAGE, Caution, claim)
                .number("mean_ms", mean_ns / 1e6)
                .number("least_ms", least_ns / 1e6)
                .advice("Compare both with another source of the same time, such as V$EVENT_HISTOGRAM_MICRO."),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[f64]) -> Option<String> {
        let ends = (0..).map(|power| 2.0_f64.powi(power));
        two_groups(&ends.zip(waits.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn a_second_group_is_no_tail() {
        let two = of(&[
            812_344.0, 20_417.0, 3_120.0, 988.0, 402.0, 190.0, 77.0, 41.0, 1_310.0, 2_871.0, 644.0,
        ]);
        let two = two.expect("two groups");
        assert!(two.contains("0.573 % from 128 ms to 1.02 s"), "{two}");
        assert!(two.contains("99.34 % under 8.00 ms"), "{two}");
        let near = of(&[40_112.0, 8_120.0, 3_302.0, 30_118.0, 20_441.0, 902.0]).expect("two");
        assert!(
            near.contains("from 4.00 ms to 32.0 ms") && !near.contains("stalls"),
            "{near}"
        );
        assert_eq!(
            of(&[9_000.0, 4_000.0, 1_000.0, 300.0, 100.0, 20.0, 3.0]),
            None,
            "a tail"
        );
        assert_eq!(
            of(&[100.0, 4_000.0, 9_000.0, 300.0, 10.0]),
            None,
            "one hill"
        );
        assert_eq!(
            of(&[100_000.0, 10.0, 0.0, 0.0, 3.0]),
            None,
            "three waits are no group"
        );
        assert_eq!(of(&[]), None);
        let missing = two_groups(&[(1.0, 9_000.0), (64.0, 900.0)]).expect("not listed is empty");
        assert!(missing.contains("from 32.0 ms to 64.0 ms"), "{missing}");
    }
}
