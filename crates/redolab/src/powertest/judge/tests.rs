//! The judge on cases made by hand, and against an oracle that knows which fault was played on a
//! small medium.

use super::PlaceFound::{Foreign, Kept, Missing, Torn, Unreachable};
use super::*;
use LossClass::{ForeignBlock, NothingLost, Reordered, TailLost, TornSector};
use measure::workload::split_mix;
use proptest::prelude::*;

fn write(stream: u32, at: u64, number: u64, found: PlaceFound) -> CheckedWrite {
    CheckedWrite {
        stream,
        at,
        number,
        after: 0,
        found,
    }
}

/// One stream, whose writes were acknowledged in order.
fn stream(found: &[PlaceFound]) -> Vec<CheckedWrite> {
    let numbered = (0..).zip(found);
    numbered.map(|(n, found)| write(0, n, n, *found)).collect()
}

#[test]
fn each_class_is_recognised() {
    for (found, later, class) in [
        (&[][..], &[][..], NothingLost),
        (&[Kept, Kept], &[(0, 9)], NothingLost),
        (&[Kept, Kept, Missing], &[], TailLost),
        (&[Missing, Missing], &[], TailLost),
        (&[Kept, Missing, Kept], &[], Reordered),
        (&[Kept, Missing, Unreachable], &[], Reordered),
        // Nobody acknowledged the write behind it, but it is there.
        (&[Kept, Missing], &[(0, 2)], Reordered),
        // In another stream it shows nothing.
        (&[Kept, Missing], &[(1, 2)], TailLost),
        (&[Kept, Torn], &[], TornSector),
        (&[Torn, Missing, Missing], &[], TornSector),
        (&[Missing, Torn, Unreachable], &[(0, 7)], TornSector),
        (&[Torn, Foreign], &[], ForeignBlock),
        // All is there, but what recovery needs is not.
        (&[Unreachable, Unreachable], &[], Reordered),
    ] {
        let judged = judge(&stream(found), later);
        assert_eq!(judged.class, class, "{found:?} {later:?}");
        let lost = found.iter().filter(|f| **f != Kept).count() as u64;
        assert_eq!(judged.counts.lost, lost);
        assert_eq!(judged.counts.demanded, found.len() as u64);
        let first = found.iter().position(|f| *f != Kept);
        assert_eq!(judged.first_lost, first);
    }
}

#[test]
fn streams_are_compared_only_by_what_was_acknowledged_before_a_write_began() {
    let missing = write(0, 5, 7, Missing);
    let mut other = write(1, 9, 8, Kept);
    assert_eq!(
        judge(&[missing, other], &[]).class,
        TailLost,
        "side by side"
    );
    other.after = 7;
    assert_eq!(
        judge(&[missing, other], &[]).class,
        TailLost,
        "0 to 6 were acknowledged"
    );
    other.after = 8;
    assert_eq!(
        judge(&[missing, other], &[]).class,
        Reordered,
        "7 had been acknowledged"
    );
}

#[test]
fn planted_bugs_accept_what_the_judge_refuses() {
    let tail = stream(&[Kept, Missing]);
    let torn = stream(&[Kept, Torn, Kept]);
    let ignores_tail = judge_with(&tail, &[], PlantedJudgeBug::IgnoreTail);
    let ignores_tears = judge_with(&torn, &[], PlantedJudgeBug::IgnoreTears);
    for (right, wrong) in [
        (judge(&tail, &[]), ignores_tail),
        (judge(&torn, &[]), ignores_tears),
    ] {
        assert_ne!(right.class, NothingLost);
        assert_eq!((wrong.class, wrong.counts.lost), (NothingLost, 0));
    }
}

/// A medium of slots, each with the number of the write in it and whether that is whole.
#[derive(Clone)]
struct Medium {
    slots: Vec<Option<(u64, bool)>>,
}

/// What is played on the medium at the cut.
#[derive(Clone, Copy, Debug)]
enum PlayedFault {
    Honest,
    DropsTail(u64),
    LosesOneOfMany(u64),
    Tears(u64),
    Misdirects(u64),
}

/// Plays writes of one stream: `acked` of them acknowledged, then some in flight, each kept or not.
fn play(acked: u64, in_flight: u64, fault: PlayedFault, state: &mut u64) -> Medium {
    let all = acked + in_flight;
    let mut medium = Medium {
        slots: vec![None; all as usize + 1],
    };
    for number in 0..all {
        let is_acked = number < acked;
        let by_chance = split_mix(state).is_multiple_of(2);
        let keep = match fault {
            PlayedFault::DropsTail(from) => number < from,
            PlayedFault::LosesOneOfMany(which) => number != which && (is_acked || by_chance),
            _ => is_acked || by_chance,
        };
        let whole = !matches!(fault, PlayedFault::Tears(which) if which == number);
        // The write behind it lands in its place.
        let place = match fault {
            PlayedFault::Misdirects(which) if which + 1 == number => which,
            _ => number,
        };
        if keep {
            medium.slots[place as usize] = Some((number, whole));
        }
    }
    medium
}

/// Looks at the medium as a reader does.
fn look(medium: &Medium, acked: u64) -> (Vec<CheckedWrite>, Vec<(u32, u64)>) {
    let found = |number: u64| match medium.slots[number as usize] {
        None => Missing,
        Some((other, _)) if other != number => Foreign,
        Some((_, true)) => Kept,
        Some((_, false)) => Torn,
    };
    let checked = (0..acked).map(|n| write(0, n, n, found(n))).collect();
    let whole = (0..).zip(&medium.slots);
    let later = whole
        .filter(|(n, slot)| **slot == Some((*n, true)))
        .map(|(n, _)| (0, n));
    (checked, later.collect())
}

proptest! {
    /// The oracle knows the fault, and nothing of how the judge decides.
    #[test]
    fn the_class_is_that_of_the_fault(
        acked in 2_u64..60,
        in_flight in 0_u64..8,
        which in 0_u64..60,
        kind in 0..5,
        seed: u64,
    ) {
        let which = which % acked;
        let (fault, expected) = match kind {
            0 => (PlayedFault::Honest, NothingLost),
            1 => (PlayedFault::DropsTail(which), TailLost),
            // Something behind it is certainly kept.
            2 => (PlayedFault::LosesOneOfMany(which % (acked - 1)), Reordered),
            3 => (PlayedFault::Tears(which), TornSector),
            _ => (PlayedFault::Misdirects(which % (acked - 1)), ForeignBlock),
        };
        let medium = play(acked, in_flight, fault, &mut seed.clone());
        let (checked, later) = look(&medium, acked);
        let judged = judge(&checked, &later);
        prop_assert_eq!(judged.class, expected, "{:?} of {} + {}", fault, acked, in_flight);
        prop_assert_eq!(judged.counts.lost == 0, expected == NothingLost);
    }
}
