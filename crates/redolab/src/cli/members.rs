//! `--members`: which directories hold a log, what they do for each other, and the options of a
//! ring.
//!
//! What it must not know: what is measured there, and whether the directories can be used.

use super::CommandError;
use super::values::directories;
use crate::experiment::plan::{MembersPlan, RingPlan};
use clap::Args;
use measure::Nanos;
use measure::units::{parse_bytes, parse_duration};
use measure::words::{latency, size};
use redo::engine::{FAILOVER_DELAY_MAX, RING_MIN_BYTES};
use std::path::PathBuf;

/// Size of a ring when none is named.
const RING_BYTES: u64 = 64 << 20;
/// How long the disk may take with failover when nothing is named.
const FAILOVER_DELAY: Nanos = Nanos::from_millis(20);
/// Rings have whole pages, which every device takes.
const PAGE_BYTES: u64 = 4096;

/// What the directories of [`MembersChoice`] do for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MembersRole {
    /// Each holds the whole log: the members of a cell race, cells mirror each other.
    Cells {
        /// Members of a cell.
        cell: usize,
    },
    /// The first holds the log, the second a ring that is always written.
    Ring,
    /// The same, and the ring is written when the disk is late.
    Failover,
}

/// Members as `mirror:PATH1,PATH2`, `race:PATH1,PATH2`, `mirror:(race:A,B),(race:C,D)`,
/// `ring:DISK,RING` or `failover:DISK,RING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MembersChoice {
    pub(crate) role: MembersRole,
    pub(crate) directories: Vec<PathBuf>,
}

const USE: &str = "name what they do and the directories, such as mirror:/u01,/u02 or \
                   race:/u01,/f01 or mirror:(race:/u01,/f01),(race:/u02,/f02) or ring:/u01,/f01 or \
                   failover:/u01,/f01";

impl std::str::FromStr for MembersChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<MembersChoice, String> {
        let (kind, rest) = text.split_once(':').ok_or(USE)?;
        let role = match kind {
            "ring" => MembersRole::Ring,
            "failover" => MembersRole::Failover,
            _ => return cells(kind, rest),
        };
        let directories = directories(rest)?;
        match directories.len() {
            2 => Ok(MembersChoice { role, directories }),
            count => Err(format!(
                "{count} directories; name the directory of the disk and that of the ring, such as \
                 {kind}:/u01,/f01"
            )),
        }
    }
}

/// Members each of which holds the whole log.
fn cells(kind: &str, rest: &str) -> Result<MembersChoice, String> {
    let cells = match (kind, rest.strip_prefix('(')) {
        ("mirror", Some(cells)) => {
            let cells = cells.strip_suffix(')').ok_or(USE)?;
            let races = cells.split("),(").map(|race| race.strip_prefix("race:"));
            let races: Option<Vec<&str>> = races.collect();
            let races = races.ok_or(USE)?;
            races
                .into_iter()
                .map(directories)
                .collect::<Result<Vec<_>, _>>()?
        }
        ("mirror", None) => {
            let all = directories(rest)?;
            all.into_iter().map(|directory| vec![directory]).collect()
        }
        ("race", None) => vec![directories(rest)?],
        _ => return Err(USE.to_owned()),
    };
    let cell = cells.first().map_or(0, Vec::len);
    if cells.iter().any(|other| other.len() != cell) {
        return Err("the races of a mirror have as many directories each".to_owned());
    }
    let directories = cells.concat();
    match directories.len() {
        2..=16 => Ok(MembersChoice {
            role: MembersRole::Cells { cell },
            directories,
        }),
        count => Err(format!("{count} directories; name from 2 to 16")),
    }
}

impl MembersChoice {
    /// The members that `text` names, where it begins with what members do.
    pub(crate) fn of_target(text: &str) -> Option<Result<MembersChoice, String>> {
        let (kind, _) = text.split_once(':')?;
        let kinds = ["mirror", "race", "ring", "failover"];
        kinds.contains(&kind).then(|| text.parse())
    }
}

/// Options of members.
#[derive(Debug, Args)]
#[command(next_help_heading = "The log")]
pub(crate) struct MemberArgs {
    /// Size of the ring of ring:DISK,RING and failover:DISK,RING, from 64k. The ring lasts for its
    /// size divided by the rate of redo, and twice its size is taken in memory [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    ring_size: Option<u64>,
    /// How long the disk of failover:DISK,RING may take before redo is written to the ring, up to
    /// 1s [default: 20ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    failover_delay: Option<Nanos>,
    /// Accept directories of one log that are on the same device
    #[arg(long, help_heading = "Safety")]
    force_same_device: bool,
}

impl MemberArgs {
    /// Directories may be on one device.
    pub(crate) fn same_device(&self) -> bool {
        self.force_same_device
    }

    /// Refuses options that change nothing on these members, which are all that were named.
    /// `over_several`: the log lies in several directories for another reason.
    ///
    /// # Errors
    /// The option, and what it needs.
    pub(crate) fn check<'a>(
        &self,
        members: impl Iterator<Item = &'a MembersChoice>,
        over_several: bool,
    ) -> Result<(), CommandError> {
        let roles: Vec<MembersRole> = members.map(|members| members.role).collect();
        let is_ring = |role: &MembersRole| !matches!(role, MembersRole::Cells { .. });
        if self.ring_size.is_some() && !roles.iter().any(is_ring) {
            return Err(CommandError::usage(
                "--ring-size: there is no ring; name one, such as --members ring:/u01,/f01 (with \
                 compare --on NAME=ring:/u01,/f01), or omit the option",
            ));
        }
        if self.failover_delay.is_some() && !roles.contains(&MembersRole::Failover) {
            return Err(CommandError::usage(
                "--failover-delay: there is no failover; name one, such as --members \
                 failover:/u01,/f01 (with compare --on NAME=failover:/u01,/f01), or omit the option; \
                 with ring: every log write goes to the ring at once",
            ));
        }
        if self.force_same_device && roles.is_empty() && !over_several {
            return Err(CommandError::usage(
                "--force-same-device: only for a log over several directories (--stripe, --members, \
                 or compare --on NAME=KIND:PATHS)",
            ));
        }
        Ok(())
    }

    /// The members of a plan.
    ///
    /// # Errors
    /// A ring that is too small, a delay that is 0 or too long.
    pub(crate) fn plan(&self, members: &MembersChoice) -> Result<MembersPlan, CommandError> {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (cell, ring) = match members.role {
            MembersRole::Cells { cell } => (cell, None),
            MembersRole::Ring => (2, Some(self.ring(None)?)),
            MembersRole::Failover => {
                let delay = self.failover_delay.unwrap_or(FAILOVER_DELAY);
                (2, Some(self.ring(Some(delay))?))
            }
        };
        Ok(MembersPlan {
            members: count(members.directories.len()),
            cell: count(cell),
            same_device: self.force_same_device,
            ring,
        })
    }

    fn ring(&self, failover_delay: Option<Nanos>) -> Result<RingPlan, CommandError> {
        let bytes = self.ring_size.unwrap_or(RING_BYTES);
        if bytes < RING_MIN_BYTES {
            return Err(CommandError::usage(format!(
                "--ring-size: a ring of {} is too small; use at least {}k",
                size(bytes),
                RING_MIN_BYTES >> 10
            )));
        }
        let most = FAILOVER_DELAY_MAX.as_nanos();
        if let Some(delay) = failover_delay
            && (delay == Nanos::ZERO || u128::from(delay.0) > most)
        {
            return Err(CommandError::usage(format!(
                "--failover-delay: {} is not possible; use a time over 0 and up to 1s, or \
                 ring:DISK,RING to write every log write to the ring",
                latency(delay.0 as f64)
            )));
        }
        Ok(RingPlan {
            bytes: bytes - bytes % PAGE_BYTES,
            failover_delay,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_what_is_written() {
        let role = |text: &str| text.parse::<MembersChoice>().map(|found| found.role);
        assert_eq!(role("ring:/u01,/f01"), Ok(MembersRole::Ring));
        assert_eq!(role("failover:/u01,/f01"), Ok(MembersRole::Failover));
        assert_eq!(role("mirror:/a,/b,/c"), Ok(MembersRole::Cells { cell: 1 }));
        assert_eq!(role("race:/a,/b"), Ok(MembersRole::Cells { cell: 2 }));
        for text in ["ring:/u01", "ring:/u01,/f01,/f02", "failover:/u01,", "ring"] {
            assert!(role(text).is_err(), "{text}");
        }
        assert!(MembersChoice::of_target("/u01").is_none());
        assert!(MembersChoice::of_target("postgres:/u01").is_none());
        assert!(MembersChoice::of_target("ring:/u01,/f01").is_some_and(|found| found.is_ok()));
    }
}
