//! Power tests as plain data: one judged cut ([`PowerCycle`]), and what all cuts of one stack show
//! together ([`PowerTestSeries`]).
//!
//! Made by `redolab powertest`, stored beside runs, taken into a run by `check`, judged by
//! `analysis`. Invariants: a loss counts whatever ended the writer; a pass counts only if power was
//! cut while the writer was committing ([`PowerCycle::counts`]); only cuts that take the power from
//! the device's cache can make durability tested ([`CutKind::loses_caches`]).

mod fingerprint;

pub use fingerprint::{DeviceIdentity, IdentityBasis, StackChange, StackFact, StackFingerprint};

use crate::enum_words::words;
use crate::words as numbers;
use serde::{Deserialize, Serialize};

/// The schema of a judged cut.
pub const SCHEMA: &str = "redolab.powertest/1";

/// What took the power away, as the user states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutKind {
    /// The power of the whole machine, of a virtual machine its host's.
    HostPower,
    /// A reset of a virtual machine; its host went on.
    GuestReset,
    /// The power of the device alone; the machine went on.
    DevicePower,
    /// A shutdown of the file system; the device kept its power and its cache.
    FileSystemShutdown,
}

words!(CutKind {
    HostPower => "host power",
    GuestReset => "guest reset",
    DevicePower => "device power",
    FileSystemShutdown => "file-system shutdown",
});

impl CutKind {
    /// Every kind.
    pub const ALL: [CutKind; 4] = [
        CutKind::HostPower,
        CutKind::GuestReset,
        CutKind::DevicePower,
        CutKind::FileSystemShutdown,
    ];

    /// Its name as the value of an option.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            CutKind::HostPower => "host-power",
            CutKind::GuestReset => "guest-reset",
            CutKind::DevicePower => "device-power",
            CutKind::FileSystemShutdown => "file-system-shutdown",
        }
    }

    /// Every cache below the log lost its power, so that such a cut can make durability tested.
    #[must_use]
    pub const fn loses_caches(self) -> bool {
        matches!(self, CutKind::HostPower | CutKind::DevicePower)
    }

    /// The machine goes on running: its boot id stays the same.
    #[must_use]
    pub const fn keeps_the_machine_up(self) -> bool {
        matches!(self, CutKind::DevicePower | CutKind::FileSystemShutdown)
    }

    /// What such a cut covers.
    #[must_use]
    pub const fn covers(self, is_virtual: bool) -> &'static str {
        match (self, is_virtual) {
            (CutKind::HostPower, false) => {
                "the power of the machine, with every cache below the log"
            }
            (CutKind::HostPower, true) => {
                "the power of the host, with the caches of the guest, the host and its devices"
            }
            (CutKind::GuestReset, _) => {
                "a reset of the guest; the host kept its caches, so nothing is known about its power"
            }
            (CutKind::DevicePower, _) => "the power of the device, with its cache",
            (CutKind::FileSystemShutdown, _) => {
                "a shutdown of the file system; the device kept its cache, so nothing is known about \
                 power loss"
            }
        }
    }
}

/// What a cut left of the acknowledged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossClass {
    /// Every acknowledged write is there.
    NothingLost,
    /// The last acknowledged writes are missing, and nothing after them is there: a flush was
    /// acknowledged and not carried out.
    TailLost,
    /// An acknowledged write is missing, and a later one is there.
    Reordered,
    /// A part of an acknowledged write is there.
    TornSector,
    /// In the place of an acknowledged write is what was written for another place or time.
    ForeignBlock,
}

words!(LossClass {
    NothingLost => "nothing lost",
    TailLost => "acknowledged tail lost",
    Reordered => "reordered",
    TornSector => "torn sector",
    ForeignBlock => "stale or foreign block",
});

impl LossClass {
    /// The class in a sentence.
    #[must_use]
    pub const fn explained(self) -> &'static str {
        match self {
            LossClass::NothingLost => "every acknowledged write is there",
            LossClass::TailLost => {
                "the last acknowledged writes are missing: a flush was acknowledged and not carried out"
            }
            LossClass::Reordered => {
                "acknowledged writes are missing although later ones are there: writes reached the \
                 medium in another order"
            }
            LossClass::TornSector => {
                "a part of an acknowledged write is there and the rest is not: a sector was torn"
            }
            LossClass::ForeignBlock => {
                "in the place of an acknowledged write is what was written for another place or time"
            }
        }
    }
}

/// How many acknowledged writes there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerTestCounts {
    /// Writes that were acknowledged and kept by the server.
    pub acknowledged: u64,
    /// Those of them that had to be there after the cut: the others had been released, so that
    /// their place could be overwritten.
    pub demanded: u64,
    /// Those that are not there, or that recovery does not return.
    pub lost: u64,
    /// Lost ones of which nothing is there.
    pub missing: u64,
    /// Lost ones that are whole in their place, behind redo that is missing.
    pub unreachable: u64,
    /// Lost ones of which a part is there.
    pub torn: u64,
    /// Lost ones in whose place is something else.
    pub foreign: u64,
}

/// One cut, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerCycle {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Identity of the test, 32 hexadecimal digits.
    pub test_id: String,
    /// Version of redolab that judged it.
    pub redolab_version: String,
    /// When the writer began, by its wall clock (RFC 3339, UTC).
    pub opened: String,
    /// When it was judged, by the wall clock of the machine after the restart (RFC 3339, UTC).
    pub judged: String,
    /// The directory that was written to.
    pub path: String,
    /// `redo log` or `raw writes`.
    pub mode: String,
    /// The cut, as the user states it.
    pub cut: CutKind,
    /// The hypervisor, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// What was found.
    pub class: LossClass,
    /// Whether a pass of it counts as a cut, and why not.
    pub counted: bool,
    /// The numbers.
    pub counts: PowerTestCounts,
    /// What was written to.
    pub stack: StackFingerprint,
    /// What was unusual, in sentences: a clock that jumped, settings that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The first acknowledged write that is lost, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_lost: Option<String>,
}

impl PowerCycle {
    /// It says something about the stack: a loss always, a pass only where power was cut while the
    /// writer was committing.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.counted || self.class != LossClass::NothingLost
    }
}

/// All cuts of one stack together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerTestSeries {
    /// The stack.
    pub stack: StackFingerprint,
    /// Kinds of its cuts.
    pub kinds: Vec<CutKind>,
    /// Cuts that lost the power of every cache, and that count.
    pub cuts: u64,
    /// Other cuts that count.
    pub other_cuts: u64,
    /// Acknowledged writes that had to be there after all of these cuts.
    pub acknowledgements: u64,
    /// Of those after the cuts that lost the power of every cache.
    pub acknowledgements_of_cuts: u64,
    /// Writes that were lost.
    pub lost: u64,
    /// Cuts in which something was lost.
    pub refuted_cuts: u64,
    /// What was lost, by class, without repetition.
    pub classes: Vec<LossClass>,
    /// When the last one was judged (RFC 3339, UTC).
    pub last: String,
    /// The hypervisor, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
}

impl PowerTestSeries {
    /// The cuts of `cycles`, of which all are of one stack; `None` where none of them counts.
    #[must_use]
    pub fn of(cycles: &[&PowerCycle]) -> Option<PowerTestSeries> {
        let all: Vec<&&PowerCycle> = cycles.iter().filter(|c| c.counts()).collect();
        let last = all.iter().max_by(|a, b| a.judged.cmp(&b.judged))?;
        let of_power = |c: &&&&PowerCycle| c.cut.loses_caches();
        let demanded = |c: &&&PowerCycle| c.counts.demanded;
        let lossy = |c: &&&&PowerCycle| c.class != LossClass::NothingLost;
        let mut kinds: Vec<CutKind> = all.iter().map(|c| c.cut).collect();
        kinds.sort();
        kinds.dedup();
        let mut classes: Vec<LossClass> = all.iter().filter(lossy).map(|c| c.class).collect();
        classes.sort();
        classes.dedup();
        let cuts = all.iter().filter(of_power).count() as u64;
        Some(PowerTestSeries {
            stack: last.stack.clone(),
            kinds,
            cuts,
            other_cuts: all.len() as u64 - cuts,
            acknowledgements: all.iter().map(demanded).sum(),
            acknowledgements_of_cuts: all.iter().filter(of_power).map(demanded).sum(),
            lost: all.iter().map(|c| c.counts.lost).sum(),
            refuted_cuts: all.iter().filter(lossy).count() as u64,
            classes,
            last: last.judged.clone(),
            hypervisor: last.hypervisor.clone(),
        })
    }

    /// Every cut lost nothing.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.refuted_cuts == 0
    }

    /// Its kinds of cuts, in words.
    #[must_use]
    pub fn kinds_in_words(&self) -> String {
        let words: Vec<&str> = self.kinds.iter().map(|kind| kind.word()).collect();
        words.join(", ")
    }

    /// What all of its cuts show, as one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let cuts = self.cuts + self.other_cuts;
        let acknowledgements = numbers::count(self.acknowledgements);
        let cut_word = if cuts == 1 { "cut" } else { "cuts" };
        if self.passed() {
            return format!(
                "0 lost in {} {cut_word} and {acknowledgements} acknowledgements: {}",
                numbers::count(cuts),
                below(cuts)
            );
        }
        let classes: Vec<&str> = self.classes.iter().map(|class| class.word()).collect();
        format!(
            "{} of {acknowledgements} acknowledgements lost, in {} of {} {cut_word}: {}",
            numbers::count(self.lost),
            numbers::count(self.refuted_cuts),
            numbers::count(cuts),
            classes.join(", ")
        )
    }
}

/// Upper bound of the share of cuts that lose something where `cuts` lost nothing, at 95 %.
#[must_use]
pub fn loss_bound(cuts: u64) -> f64 {
    (3.0 / cuts.max(1) as f64).min(1.0)
}

/// The bound in words, by the rule of three.
#[must_use]
pub fn below(cuts: u64) -> String {
    if cuts <= 3 {
        return format!(
            "with {} no bound below 100 % follows",
            numbers::plural(cuts, "cut")
        );
    }
    format!(
        "below 3/{cuts} = {} per cut at 95 %",
        numbers::percent(loss_bound(cuts) * 100.0)
    )
}

/// What power tests show about the device of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerTestEvidence {
    /// Cuts of the same stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<PowerTestSeries>,
    /// Cuts of the same device in another stack, the newest first, with what is different.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherStackSeries>,
}

/// Cuts of the same device in another stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherStackSeries {
    /// The cuts.
    pub series: PowerTestSeries,
    /// What is different, from the tested stack to the one of the run.
    pub changes: Vec<StackChange>,
}

/// Other stacks that are kept in a run.
const OTHERS_MAX: usize = 4;

impl PowerTestEvidence {
    /// What `cycles` show about `stack`; `None` where none of them is of its device.
    #[must_use]
    pub fn of(stack: &StackFingerprint, cycles: &[PowerCycle]) -> Option<PowerTestEvidence> {
        let mut groups: Vec<Vec<&PowerCycle>> = Vec::new();
        for cycle in cycles.iter().filter(|c| c.stack.identity == stack.identity) {
            let same = |group: &&mut Vec<&PowerCycle>| {
                group
                    .first()
                    .is_some_and(|first| first.stack == cycle.stack)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(cycle),
                None => groups.push(vec![cycle]),
            }
        }
        let mut evidence = PowerTestEvidence::default();
        for series in groups.iter().filter_map(|group| PowerTestSeries::of(group)) {
            if series.stack == *stack {
                evidence.same = Some(series);
            } else {
                let changes = stack.changes_from(&series.stack);
                evidence.others.push(OtherStackSeries { series, changes });
            }
        }
        let others = &mut evidence.others;
        others.sort_by(|a, b| b.series.last.cmp(&a.series.last));
        others.truncate(OTHERS_MAX);
        (evidence.same.is_some() || !evidence.others.is_empty()).then_some(evidence)
    }
}

#[cfg(test)]
mod tests;
