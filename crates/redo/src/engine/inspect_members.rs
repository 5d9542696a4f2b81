//! Looking into the members of a log together without changing them: for tools.
//!
//! Invariants: files are opened only to be read, no lock is taken, nothing is flushed. What an
//! opening would refuse is asked of what an opening asks.

use super::create::hold;
use super::create::vacancy;
use super::inspect::Inspection;
use super::open::open_control_read_only;
use crate::control::MemberTable;
use crate::error::Error;
use crate::members::heal::{MemberData, lacking};
use crate::members::{Assembly, GivenMember, newest};
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::Salvage;
use device::DeviceError;
use std::path::{Path, PathBuf};

/// What is known of a member that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberCondition {
    /// In sync, as the newest control information of all says.
    InSync,
    /// Stale: it lacks redo that was acknowledged, or may lack it.
    Stale,
    /// Its control information or its redo is damaged.
    Damaged,
    /// There is nothing in its directory, or what an interrupted replacement left.
    Empty,
    /// It cannot be opened.
    Missing,
    /// It is not a member of this log, or the same member as another one.
    Other,
}

impl std::fmt::Display for MemberCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MemberCondition::InSync => "in_sync",
            MemberCondition::Stale => "stale",
            MemberCondition::Damaged => "damaged",
            MemberCondition::Empty => "empty",
            MemberCondition::Missing => "missing",
            MemberCondition::Other => "other",
        })
    }
}

/// A member that was looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectedMember {
    /// Its directory.
    pub path: PathBuf,
    /// What is known of it.
    pub condition: MemberCondition,
    /// Its number, from 0; `None` where it could not be read.
    pub number: Option<usize>,
    /// Its cell, from 0.
    pub cell: Option<usize>,
    /// Number of the last update of its control information.
    pub generation: Option<u64>,
    /// The first block that does not count on it: everything before it is on this member.
    pub end: Option<Rba>,
    /// Bytes of redo that it lacks and others have, from the log file of the checkpoint on.
    pub lacking_bytes: Option<u64>,
    /// The process that has the log open.
    pub open_by: Option<u32>,
    /// What is wrong with it, in words.
    pub why: Option<String>,
}

/// The members of a log, looked at together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MembersInspection {
    /// In the order in which they were given.
    pub members: Vec<InspectedMember>,
    /// Which members the log has; `None` where no member was found.
    pub table: Option<MemberTable>,
    /// All members are there, in sync and equal.
    pub equal: bool,
    /// What refuses to open the log with these members; `None` where it opens.
    pub refused: Option<String>,
}

impl MembersInspection {
    /// Looks at the log whose members lie in these directories. It may be open elsewhere; what is
    /// found is then a moment's.
    ///
    /// # Errors
    /// A device that fails while it is read.
    pub fn of(directories: &[PathBuf]) -> Result<MembersInspection, Error> {
        let looked: Vec<_> = directories.iter().map(|path| look(path)).collect();
        let mut found = MembersInspection {
            members: Vec::new(),
            table: None,
            equal: false,
            refused: None,
        };
        let mut opened = Vec::new();
        for (at, (member, inspection)) in looked.into_iter().enumerate() {
            found.members.push(member);
            opened.extend(inspection.map(|inspection| (at, inspection)));
        }
        let log_id = opened.first().map(|(_, log)| log.control().log_id);
        let of_log = |log: &Inspection| Some(log.control().log_id) == log_id;
        for (at, _) in opened.iter().filter(|(_, log)| !of_log(log)) {
            let member = &mut found.members[*at];
            member.condition = MemberCondition::Other;
            member.why = Some(String::from("it is not a member of the first one's log"));
        }
        opened.retain(|(_, log)| of_log(log));
        let Some(newest) = newest(opened.iter().map(|(_, log)| log.control())) else {
            found.refused = Some(String::from("none of the directories holds a member"));
            return Ok(found);
        };
        let info = opened[newest].1.control().clone();
        let table = info.members.expect("only members were kept");
        found.table = Some(table);
        found.judge(table, &mut opened);
        found.measure(&info, &opened)?;
        let whole = found.members.iter().filter(|member| {
            member.condition == MemberCondition::InSync && member.lacking_bytes == Some(0)
        });
        let alike = opened
            .iter()
            .all(|(_, log)| log.control().generation == info.generation);
        found.equal = alike && whole.count() == usize::from(table.count);
        found.refused = found.refusal(directories);
        Ok(found)
    }

    /// What [`LogBuilder::salvage`](super::LogBuilder::salvage) would keep and give up of the log
    /// whose members lie in these directories; `None` where its members repair each other.
    /// `accept_loss` as [`MemberLayout::accept_loss`](super::MemberLayout::accept_loss).
    ///
    /// # Errors
    /// Members that an opening refuses; [`Error::Salvage`] where nothing would be kept; a device
    /// that fails.
    pub fn damage(directories: &[PathBuf], accept_loss: bool) -> Result<Option<Salvage>, Error> {
        let given = given(directories);
        Assembly::with_lost(given, accept_loss, &[], Planted::none())?.damage()
    }

    /// What refuses to open the log with the members in these directories.
    fn refusal(&self, directories: &[PathBuf]) -> Option<String> {
        // Of a log that is being written, what looks like damage may be a write that is under way.
        let open = self.members.iter().any(|member| member.open_by.is_some());
        match MembersInspection::damage(directories, false) {
            Err(Error::Corrupt { .. } | Error::Salvage { .. }) | Ok(Some(_)) if open => None,
            Ok(damage) => damage.map(|damage| {
                format!(
                    "the log is damaged at RBA {} on every member that is in sync: acknowledged \
                     redo is missing",
                    damage.at
                )
            }),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Which of them are in sync, as the newest says.
    fn judge(&mut self, table: MemberTable, opened: &mut Vec<(usize, Inspection)>) {
        let mut seen = 0_u16;
        opened.retain(|(at, log)| {
            let member = &mut self.members[*at];
            let own = log.control().members.map_or(0, |own| own.own);
            let twice = seen >> own & 1 != 0;
            seen |= 1 << own;
            if twice {
                member.condition = MemberCondition::Other;
                member.why = Some(String::from("it is the same member as one before it"));
            } else if !table.in_sync(own.into()) {
                member.condition = MemberCondition::Stale;
            }
            !twice
        });
    }

    /// Where each ends, and what it lacks against those in sync.
    fn measure(
        &mut self,
        info: &crate::control::ControlInfo,
        opened: &[(usize, Inspection)],
    ) -> Result<(), Error> {
        for (at, log) in opened {
            let member = &mut self.members[*at];
            match log.scan(|_, _| {}) {
                Ok(scan) => {
                    member.end = Some(info.geometry.rba(scan.end, 0));
                    member.why = scan.notes().into_iter().next();
                }
                Err(error @ Error::Device(_)) => return Err(error),
                Err(error) => {
                    // What is stale is copied whole, whatever it holds.
                    if member.condition == MemberCondition::InSync {
                        member.condition = MemberCondition::Damaged;
                    }
                    member.why = Some(error.to_string());
                }
            }
        }
        let sound = |at: usize| self.members[at].condition == MemberCondition::InSync;
        let whole: Vec<&(usize, Inspection)> = opened.iter().filter(|(at, _)| sound(*at)).collect();
        let bytes: Vec<(usize, Option<u64>)> = opened
            .iter()
            .map(|own| {
                let others = whole.iter().filter(|other| other.0 != own.0);
                let all: Vec<MemberData<'_>> = std::iter::once(own)
                    .chain(others.map(|other| &**other))
                    .map(|(_, log)| log.member_data())
                    .collect();
                let lacking = lacking(&all, info).ok();
                (own.0, lacking.and_then(|lacking| lacking.first().copied()))
            })
            .collect();
        for (at, lacking) in bytes {
            let block_bytes = u64::from(info.geometry.block_bytes);
            self.members[at].lacking_bytes = lacking.map(|blocks| blocks * block_bytes);
        }
        Ok(())
    }
}

/// What one directory holds.
fn look(path: &Path) -> (InspectedMember, Option<Inspection>) {
    let mut member = InspectedMember {
        path: path.to_owned(),
        condition: MemberCondition::InSync,
        number: None,
        cell: None,
        generation: None,
        end: None,
        lacking_bytes: None,
        open_by: None,
        why: None,
    };
    match Inspection::open(path) {
        Ok(log) => {
            let info = log.control();
            member.generation = Some(info.generation);
            member.open_by = log.owner().unwrap_or_default();
            if let Some(own) = info.members {
                member.number = Some(own.own.into());
                member.cell = Some(usize::from(own.own / own.cell));
                return (member, Some(log));
            }
            member.condition = MemberCondition::Other;
            let what = match info.ring {
                Some(_) => "it is the disk of a log with a ring: open it with its ring",
                None => "it is a log of its own, without members",
            };
            member.why = Some(what.to_owned());
        }
        Err(error) => {
            let vacancy = hold(path).ok().and_then(|held| vacancy(&held));
            member.condition = match (&error, vacancy) {
                (_, Some(_)) => MemberCondition::Empty,
                (Error::NotALog { .. } | Error::Version { .. }, _) => MemberCondition::Other,
                (Error::Device(DeviceError::Io { .. }), _) => MemberCondition::Missing,
                _ => MemberCondition::Damaged,
            };
            member.why = Some(vacancy.map_or_else(|| error.to_string(), str::to_owned));
        }
    }
    (member, None)
}

/// The members in these directories, to be read.
fn given(directories: &[PathBuf]) -> Vec<GivenMember> {
    let given = directories.iter().filter_map(|path| {
        let (file, _) = open_control_read_only(&hold(path).ok()?).ok()?;
        let data = Inspection::open(path).ok()?.into_data();
        let path = path.clone();
        Some(GivenMember { path, file, data })
    });
    given.collect()
}
