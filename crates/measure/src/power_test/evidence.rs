//! The evidence of a cut as plain data, and what it shows.
//!
//! Made by `redolab powertest`: the writer records the machine and its disks before the first
//! write, and how writing failed; the server records when its switch ran; `verify` records the
//! machine and its disks again. Invariants: the judge ([`CutEvidence::assess`]) is pure and takes
//! all facts as data; what is not known is `None` and shows nothing; a statement of the operator
//! alone never shows a loss of power.

use super::CutKind;
use crate::enum_words::words;
use serde::{Deserialize, Serialize};

/// A mount, as long as the kernel reports numbers that are not used again (Linux 6.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountState {
    /// The number of the mount, which no other mount has until the machine is restarted.
    pub id: u64,
    /// The mount namespace: the same file system has another number in another one.
    pub namespace: String,
}

/// A disk or loop device, as the kernel and the drive report it at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// Its name at that moment, such as `nvme0n1`.
    pub name: String,
    /// It is a loop device: another sequence number shows only that its file was attached again.
    pub is_loop: bool,
    /// The kernel's sequence number (`diskseq`): another one after the disk was away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The drive's count of power cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cycles: Option<u64>,
    /// The drive's count of losses of power without a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsafe_shutdowns: Option<u64>,
}

/// A machine with the disks below a path, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineState {
    /// Identity of the machine's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The mount of the path; `None` for a raw device, and where the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountState>,
    /// The disks and loop devices below the path, in the order of the stack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskState>,
}

/// How writing failed: with an error of the device or its file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFailure {
    /// The error.
    pub error: String,
    /// Whether the block device below answered a read and a flush directly after the failure;
    /// `None` where it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_answered: Option<bool>,
}

/// The server's record of its power switch: the program ended with exit code 0 while the writer was
/// connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchRecord {
    /// When the program was started, by the server's wall clock (RFC 3339, UTC).
    pub at: String,
    /// The program.
    pub program: String,
}

/// All that was recorded of a cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutEvidence {
    /// The machine before the first write.
    pub before: MachineState,
    /// The machine at the time of the judgement.
    pub after: MachineState,
    /// How writing failed; `None` where the writer reported no error of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<WriteFailure>,
    /// The switch; `None` where the server switched nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched: Option<SwitchRecord>,
    /// The machine closed the writer's connection in order: its kernel went on when the process
    /// ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

/// What shows that a cut happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceBasis {
    /// Counts of the drives themselves.
    DriveCounters,
    /// The server's record of its switch.
    PowerSwitch,
    /// Writing failed, and the device did not answer any more.
    DeviceLost,
    /// Another start of the machine.
    Restart,
    /// Writing failed, and the file system was mounted again.
    FileSystemError,
    /// Nothing but the operator's statement.
    OperatorsWord,
}

words!(EvidenceBasis {
    DriveCounters => "the drive's own counters",
    PowerSwitch => "the record of the power switch",
    DeviceLost => "a device that stopped answering while it was written to",
    Restart => "another start of the machine",
    FileSystemError => "an error of the file system, and another mount",
    OperatorsWord => "the operator's word",
});

/// What the evidence of a cut allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutAssessment {
    /// It shows a cut of the stated kind.
    Shown(EvidenceBasis),
    /// It fits a cut of the stated kind, and something else as well: what, in words.
    ByWord(String),
    /// It does not show a cut of the stated kind: why. A pass cannot be judged; a loss counts.
    Unshown(String),
    /// Nothing was cut, or a cut of another kind: why. Neither a pass nor a loss can be judged.
    Contradicted(String),
}

/// What counters of the drives say about a loss of power between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CountedLoss {
    /// At least one drive counted it, and no drive is known that did not.
    Counted,
    /// A drive did not count it: its name and what it counted.
    NotCounted(String),
    /// No drive has such counters, or they could not be read.
    Unknown,
}

impl CutEvidence {
    /// What the evidence shows about a cut of kind `kind`.
    #[must_use]
    pub fn assess(&self, kind: CutKind) -> CutAssessment {
        match kind {
            CutKind::HostPower => self.host_power(),
            CutKind::GuestReset => self.guest_reset(),
            CutKind::DevicePower => self.device_power(),
            CutKind::FileSystemShutdown => self.shutdown(),
        }
    }

    /// Whether the machine was restarted.
    fn restarted(&self) -> Option<bool> {
        let ids = (self.before.boot_id.as_ref(), self.after.boot_id.as_ref());
        Some(ids.0? != ids.1?)
    }

    /// Whether the file system was mounted again; `None` where that is not known.
    fn remounted(&self) -> Option<bool> {
        if self.restarted() == Some(true) {
            return Some(true);
        }
        let (before, after) = (self.before.mount.as_ref()?, self.after.mount.as_ref()?);
        (before.namespace == after.namespace).then_some(before.id != after.id)
    }

    fn pairs(&self) -> impl Iterator<Item = (&DiskState, &DiskState)> {
        let is_same = self.before.disks.len() == self.after.disks.len();
        let pairs = self.before.disks.iter().zip(&self.after.disks);
        pairs.filter(move |_| is_same)
    }

    /// A disk that is no loop device was away and came again, on a machine that went on.
    fn reappeared(&self) -> bool {
        let is_other = |(before, after): (&DiskState, &DiskState)| {
            let known = before.sequence.zip(after.sequence);
            !before.is_loop && !after.is_loop && known.is_some_and(|(was, is)| was != is)
        };
        self.restarted() == Some(false) && self.pairs().any(is_other)
    }

    /// Every disk is known to have stayed, on a machine that went on.
    fn all_stayed(&self) -> bool {
        let same = |(was, is): (&DiskState, &DiskState)| {
            was.sequence.is_some() && was.sequence == is.sequence
        };
        let mut pairs = self.pairs().peekable();
        self.restarted() == Some(false) && pairs.peek().is_some() && pairs.all(same)
    }

    fn counted_loss(&self) -> CountedLoss {
        let mut found = CountedLoss::Unknown;
        for (before, after) in self.pairs() {
            let cycles = before.power_cycles.zip(after.power_cycles);
            let unsafe_ones = before.unsafe_shutdowns.zip(after.unsafe_shutdowns);
            for (what, counts) in [("power cycles", cycles), ("unsafe shutdowns", unsafe_ones)] {
                if let Some((was, is)) = counts.filter(|(was, is)| is <= was) {
                    let text = format!(
                        "{} counts {is} {what}, and counted {was} before",
                        after.name
                    );
                    return CountedLoss::NotCounted(text);
                }
            }
            // Power cycles alone grow after an orderly shutdown, too.
            if unsafe_ones.is_some() {
                found = CountedLoss::Counted;
            }
        }
        found
    }

    /// Nothing at all happened to the device: the same start, and the same mount or disks, and no
    /// error.
    fn is_untouched(&self) -> bool {
        let stayed = self.remounted() == Some(false)
            || (self.before.mount.is_none() && self.after.mount.is_none() && self.all_stayed());
        self.restarted() == Some(false)
            && stayed
            && self.failure.is_none()
            && !self.reappeared()
            && self.counted_loss() != CountedLoss::Counted
    }

    fn untouched(&self) -> CutAssessment {
        let mut why = "nothing was cut: the machine was not restarted, the file system or device is \
                       as the writer left it, and the writer reported no error. The end of a process \
                       is not a cut, because the kernel keeps what the process wrote"
            .to_owned();
        if let Some(switch) = &self.switched {
            why.push_str(&format!(
                ". The switch {} ended with exit code 0: check what it switches",
                switch.program
            ));
        }
        CutAssessment::Contradicted(why)
    }

    /// The machine was not restarted, as far as is known.
    fn not_restarted(&self, kind: CutKind) -> Option<CutAssessment> {
        let option = kind.option();
        match self.restarted() {
            Some(true) => None,
            Some(false) => Some(CutAssessment::Contradicted(format!(
                "the machine was not restarted since the test began, so --cut-kind {option} cannot \
                 be: cut the power and run verify after the restart, or state the cut that there was"
            ))),
            None => Some(CutAssessment::Unshown(format!(
                "this system does not report whether it was restarted (no \
                 /proc/sys/kernel/random/boot_id), so nothing shows a cut of kind {option}"
            ))),
        }
    }

    fn host_power(&self) -> CutAssessment {
        if let Some(other) = self.not_restarted(CutKind::HostPower) {
            return other;
        }
        match self.counted_loss() {
            CountedLoss::NotCounted(what) => CutAssessment::Unshown(format!(
                "the machine was restarted, but its drive did not lose its power: {what}. Cut the \
                 power itself: a reset, `reboot` and the power button leave the drive its power or \
                 warn it"
            )),
            _ if self.switched.is_some() => CutAssessment::Shown(EvidenceBasis::PowerSwitch),
            CountedLoss::Counted if self.closed => CutAssessment::ByWord(
                "the drive counted a loss of power, but the writer's connection was closed in order: \
                 its process may have ended before the cut"
                    .to_owned(),
            ),
            CountedLoss::Counted => CutAssessment::Shown(EvidenceBasis::DriveCounters),
            CountedLoss::Unknown => CutAssessment::ByWord(
                "the machine was restarted, and nothing distinguishes a loss of its power from a \
                 restart: no drive's counters of power cycles and unsafe shutdowns could be read \
                 before and after, and no switch of the server cut the power"
                    .to_owned(),
            ),
        }
    }

    fn guest_reset(&self) -> CutAssessment {
        let other = self.not_restarted(CutKind::GuestReset);
        other.unwrap_or(CutAssessment::Shown(EvidenceBasis::Restart))
    }

    /// The machine was restarted although the stated kind says that it went on.
    fn restarted_instead(&self, kind: CutKind) -> Option<CutAssessment> {
        (self.restarted() == Some(true)).then(|| {
            CutAssessment::Contradicted(format!(
                "the machine was restarted since the test began, and the writer reported no error \
                 before that, so --cut-kind {} does not fit: state host-power or guest-reset",
                kind.option()
            ))
        })
    }

    fn still_mounted() -> CutAssessment {
        CutAssessment::Contradicted(
            "writing failed, and the file system is still mounted as the writer left it: unmount and \
             mount it, so that verify reads the device and not the caches of the kernel"
                .to_owned(),
        )
    }

    fn device_power(&self) -> CutAssessment {
        if self.is_untouched() {
            return self.untouched();
        }
        let counted = self.counted_loss();
        if let CountedLoss::NotCounted(what) = &counted {
            return CutAssessment::Unshown(format!("the drive did not lose its power: {what}"));
        }
        let is_counted = counted == CountedLoss::Counted;
        let Some(failure) = &self.failure else {
            if let Some(other) = self.restarted_instead(CutKind::DevicePower) {
                return other;
            }
            if self.switched.is_some() && (is_counted || self.reappeared()) {
                return CutAssessment::Shown(EvidenceBasis::PowerSwitch);
            }
            return CutAssessment::Unshown(
                "nothing shows that the device lost its power while it was written to: the writer \
                 reported no error, and a file system that was mounted again or a device that was \
                 attached again is not a cut. Cut the power of the device while `write` runs, and let \
                 `write` end by itself with the error"
                    .to_owned(),
            );
        };
        if self.remounted() == Some(false) {
            return CutEvidence::still_mounted();
        }
        match failure.device_answered {
            _ if is_counted => CutAssessment::Shown(EvidenceBasis::DriveCounters),
            Some(false) => CutAssessment::Shown(EvidenceBasis::DeviceLost),
            _ if self.reappeared() => CutAssessment::Shown(EvidenceBasis::DeviceLost),
            Some(true) => CutAssessment::Unshown(
                "writing failed, but the device below still answered a read and a flush: the file \
                 system failed, not the power of the device. State --cut-kind file-system-shutdown if \
                 it was shut down"
                    .to_owned(),
            ),
            None if self.switched.is_some() => CutAssessment::Shown(EvidenceBasis::PowerSwitch),
            None => CutAssessment::ByWord(
                "writing failed, and the device below could not be asked whether it still answered \
                 (this needs root and a block device)"
                    .to_owned(),
            ),
        }
    }

    fn shutdown(&self) -> CutAssessment {
        if self.is_untouched() {
            return self.untouched();
        }
        let Some(failure) = &self.failure else {
            if let Some(other) = self.restarted_instead(CutKind::FileSystemShutdown) {
                return other;
            }
            return match self.remounted() {
                Some(true) => CutAssessment::ByWord(
                    "the file system was mounted again, and the writer reported no error of it \
                     before: that is also what an orderly unmount looks like"
                        .to_owned(),
                ),
                _ => CutAssessment::Unshown(
                    "nothing shows that the file system was shut down: the writer reported no error, \
                     and the kernel does not report whether it was mounted again"
                        .to_owned(),
                ),
            };
        };
        if failure.device_answered == Some(false) {
            return CutAssessment::Unshown(
                "the device itself did not answer when writing failed, which is more than a shutdown \
                 of the file system: state --cut-kind device-power"
                    .to_owned(),
            );
        }
        match self.remounted() {
            Some(false) => CutEvidence::still_mounted(),
            _ => CutAssessment::Shown(EvidenceBasis::FileSystemError),
        }
    }
}

#[cfg(test)]
mod tests;
