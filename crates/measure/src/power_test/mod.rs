//! Power tests as plain data: one judged cut ([`PowerCycle`]), and what all cuts of one stack show
//! together ([`PowerTestSeries`]).
//!
//! Made by `redolab powertest`, stored beside runs, taken into a run by `check`, judged by
//! `analysis`. Invariants: a loss counts unless the evidence shows that nothing was cut; a pass
//! counts only if the cut happened while the writer was committing ([`PowerCycle::counts`]); only
//! cuts that take the power from the device's cache, and that evidence shows to have happened, can
//! make durability tested ([`PowerCycle::is_shown_loss_of_power`]).

mod evidence;
mod fingerprint;
mod series;

pub use evidence::{
    CutAssessment, CutEvidence, DiskState, EvidenceBasis, MachineState, MountState, SwitchRecord,
    WriteFailure,
};
pub use fingerprint::{DeviceIdentity, IdentityBasis, StackChange, StackFact, StackFingerprint};
pub use series::{
    OtherStackSeries, PowerTestEvidence, PowerTestSeries, PowerTestStanding, below, cuts_for,
    loss_bound,
};

use crate::enum_words::words;
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
    /// The writer was committing until the cut: a pass of one that had ended before does not
    /// count.
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
    /// What shows that the cut happened; `None` in a cut that an earlier version judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<CutEvidence>,
}

impl PowerCycle {
    /// What its evidence shows. Without any it is the operator's word.
    #[must_use]
    pub fn assessment(&self) -> CutAssessment {
        self.evidence.as_ref().map_or_else(
            || {
                CutAssessment::ByWord(
                    "it was judged by a version of redolab that recorded no evidence".to_owned(),
                )
            },
            |evidence| evidence.assess(self.cut),
        )
    }

    /// What shows that the cut happened; `None` where nothing does, or it does not count.
    #[must_use]
    pub fn basis(&self) -> Option<EvidenceBasis> {
        match self.assessment() {
            _ if !self.counts() => None,
            CutAssessment::Shown(basis) => Some(basis),
            CutAssessment::ByWord(_) => Some(EvidenceBasis::OperatorsWord),
            CutAssessment::Unshown(_) | CutAssessment::Contradicted(_) => None,
        }
    }

    /// It shows something about the stack: a loss unless nothing was cut, a pass only where a cut
    /// ended a writer that was committing.
    #[must_use]
    pub fn counts(&self) -> bool {
        match self.assessment() {
            CutAssessment::Contradicted(_) => false,
            CutAssessment::Unshown(_) => self.has_lost(),
            CutAssessment::Shown(_) | CutAssessment::ByWord(_) => self.counted || self.has_lost(),
        }
    }

    /// Something was lost.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.class != LossClass::NothingLost
    }

    /// Something was lost, and it counts.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.has_lost() && self.counts()
    }

    /// It counts, and evidence shows that every cache below the log lost its power.
    #[must_use]
    pub fn is_shown_loss_of_power(&self) -> bool {
        let is_shown = matches!(self.assessment(), CutAssessment::Shown(_));
        self.cut.loses_caches() && is_shown && self.counts()
    }
}

#[cfg(test)]
mod tests;
