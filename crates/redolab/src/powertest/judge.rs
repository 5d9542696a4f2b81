//! What a cut did to acknowledged writes, from what was found in their places.
//!
//! Invariants: pure; only acknowledged writes can be lost; a write that nobody acknowledged never
//! makes a test fail, it can only show that it reached the medium before an earlier one.
//!
//! What it must not know: disks, logs, files, and how anything was read.

use measure::power_test::{LossClass, PowerTestCounts};
use std::collections::BTreeMap;

/// What was found in the place of an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceFound {
    /// All of it, and recovery returns it.
    Kept,
    /// All of it, but recovery does not return it: redo before it is missing.
    Unreachable,
    /// Nothing of it.
    Missing,
    /// A part of it.
    Torn,
    /// Something else that is whole: of another place, or another time.
    Foreign,
}

/// An acknowledged write with what was found in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedWrite {
    /// Its stream.
    pub stream: u32,
    /// Its position in the stream: of a longer write the first position that is not whole.
    pub at: u64,
    /// Number of its acknowledgement, from 0.
    pub number: u64,
    /// Acknowledgements that its writer had when it was begun.
    pub after: u64,
    /// What was found.
    pub found: PlaceFound,
}

/// A verdict on a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerJudgement {
    /// What happened.
    pub class: LossClass,
    /// What became of the demanded writes; how many were acknowledged is not known here.
    pub counts: PowerTestCounts,
    /// Index of the first lost write, in the order in which they were acknowledged.
    pub first_lost: Option<usize>,
}

/// A bug that a test plants in the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedJudgeBug {
    /// None.
    #[default]
    None,
    /// A missing tail is taken for writes in flight.
    IgnoreTail,
    /// A torn write is taken for a kept one.
    IgnoreTears,
}

/// Judges `writes`, all that were acknowledged and not released. `later` are positions of streams
/// at which anything whole was found, acknowledged or not.
#[must_use]
pub fn judge(writes: &[CheckedWrite], later: &[(u32, u64)]) -> PowerJudgement {
    judge_with(writes, later, PlantedJudgeBug::None)
}

/// As [`judge`], with a bug that a test plants.
#[must_use]
pub fn judge_with(
    writes: &[CheckedWrite],
    later: &[(u32, u64)],
    bug: PlantedJudgeBug,
) -> PowerJudgement {
    let mut counts = PowerTestCounts::default();
    let mut first: Option<(u64, usize)> = None;
    for (index, write) in writes.iter().enumerate() {
        counts.demanded += 1;
        let part = match write.found {
            PlaceFound::Kept => continue,
            PlaceFound::Torn if bug == PlantedJudgeBug::IgnoreTears => continue,
            PlaceFound::Unreachable => &mut counts.unreachable,
            PlaceFound::Missing => &mut counts.missing,
            PlaceFound::Torn => &mut counts.torn,
            PlaceFound::Foreign => &mut counts.foreign,
        };
        *part += 1;
        counts.lost += 1;
        if first.is_none_or(|(number, _)| write.number < number) {
            first = Some((write.number, index));
        }
    }
    let class = if counts.lost == 0 {
        LossClass::NothingLost
    } else if counts.foreign > 0 {
        LossClass::ForeignBlock
    } else if counts.torn > 0 {
        LossClass::TornSector
    } else if counts.unreachable > 0 || is_overtaken(writes, later) {
        LossClass::Reordered
    } else if bug == PlantedJudgeBug::IgnoreTail {
        return PowerJudgement {
            class: LossClass::NothingLost,
            counts: PowerTestCounts {
                demanded: counts.demanded,
                ..PowerTestCounts::default()
            },
            first_lost: None,
        };
    } else {
        LossClass::TailLost
    };
    PowerJudgement {
        class,
        counts,
        first_lost: first.map(|(_, index)| index),
    }
}

/// Whether something is there that reached the medium after a missing write should have: a later
/// position of its stream, or a write of any stream that was begun when the missing one had been
/// acknowledged.
fn is_overtaken(writes: &[CheckedWrite], later: &[(u32, u64)]) -> bool {
    let mut gaps: BTreeMap<u32, u64> = BTreeMap::new();
    let mut first_number = u64::MAX;
    for lost in writes.iter().filter(|w| w.found == PlaceFound::Missing) {
        let gap = gaps.entry(lost.stream).or_insert(lost.at);
        *gap = (*gap).min(lost.at);
        first_number = first_number.min(lost.number);
    }
    let kept = || writes.iter().filter(|w| w.found == PlaceFound::Kept);
    let behind = |stream: u32, at: u64| gaps.get(&stream).is_some_and(|gap| *gap < at);
    kept().any(|w| behind(w.stream, w.at) || w.after > first_number)
        || later.iter().any(|(stream, at)| behind(*stream, *at))
}

#[cfg(test)]
mod tests;
