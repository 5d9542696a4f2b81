//! From what was given to the members of one log: which they are, which of them may be believed,
//! and what has to be done before the log is recovered from them.
//!
//! Invariants: the newest control information decides which members are in sync; a member in sync
//! that is not there is marked stale, durably, before the others are used without it; a member that
//! was stale is believed only when it holds a whole copy of the others, durably.

use super::heal::{MemberData, heal, resilver};
use super::{Members, Standing};
use crate::control::{ControlFile, ControlInfo, MemberTable};
use crate::error::Error;
use crate::planted::{Bug, Planted};
use crate::recovery::DamageScan;
use device::LogDevice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A member that was given.
pub(crate) struct GivenMember {
    /// What errors name.
    pub(crate) path: PathBuf,
    /// Its control information.
    pub(crate) file: ControlFile,
    /// Its redo.
    pub(crate) data: Arc<dyn LogDevice>,
}

/// The members of one log, of which some may be missing or stale.
pub(crate) struct Assembly {
    /// The newest control information that one of them has.
    pub(crate) info: ControlInfo,
    table: MemberTable,
    /// By their numbers.
    present: Vec<Option<GivenMember>>,
    /// In sync and not given.
    missing: u16,
}

/// A log's members, ready to be recovered from.
pub(crate) struct Assembled {
    pub(crate) control: ControlFile,
    pub(crate) members: Members,
    /// What the log does without, in words.
    pub(crate) notes: Vec<String>,
}

impl Assembly {
    /// Finds out which members these are. Those that are in sync must all be there, unless
    /// `accept_loss`.
    ///
    /// # Errors
    /// Members of several logs; a member that is given twice or missing; members that were used
    /// apart from each other.
    pub(crate) fn of(given: Vec<GivenMember>, accept_loss: bool) -> Result<Assembly, Error> {
        let newest = newest(given.iter().map(|member| member.file.info()));
        let newest = newest.ok_or_else(|| refuse(Path::new(""), "no member was given"))?;
        let newest = &given[newest];
        let (info, first) = (newest.file.info().clone(), newest.path.clone());
        let Some(table) = info.members else {
            let what = "this log has no members: open it as a log of its own";
            return Err(refuse(&first, what));
        };
        let mut assembly = Assembly {
            present: table.all().map(|_| None).collect(),
            info,
            table,
            missing: 0,
        };
        for member in given {
            assembly.admit(member, &first, accept_loss)?;
        }
        assembly.look_for_missing(accept_loss, &first)?;
        Ok(assembly)
    }

    /// Takes in one member, if it is one of this log.
    fn admit(
        &mut self,
        member: GivenMember,
        newest: &Path,
        accept_loss: bool,
    ) -> Result<(), Error> {
        let info = member.file.info();
        let same_log = info.log_id == self.info.log_id && info.geometry == self.info.geometry;
        let own = info
            .members
            .filter(|own| same_log && own.count == self.table.count && own.cell == self.table.cell);
        let Some(own) = own else {
            let what = format!(
                "it is not a member of the log whose member {} is: give the members of one log",
                newest.display()
            );
            return Err(refuse(&member.path, what));
        };
        let number = usize::from(own.own);
        if let Some(other) = &self.present[number] {
            let what = format!(
                "it is member {} as {} is, or a copy of it: give each member once",
                number + 1,
                other.path.display()
            );
            return Err(refuse(&member.path, what));
        }
        let stated = |info: &ControlInfo| {
            let mut info = info.clone();
            info.members = info.members.map(MemberTable::of_all);
            info
        };
        // An update reaches every member in sync before the next one begins, and takes one more
        // number for each member that fails in it.
        let behind = self.info.generation - info.generation;
        let apart =
            behind > 1 + u64::from(own.count) || behind == 0 && stated(info) != stated(&self.info);
        if apart && self.table.in_sync(number) {
            let what = format!(
                "it and {} were used apart from each other, or it was restored from an older copy: \
                 open the log without it and accept the loss; what it alone has is lost then, and \
                 it is copied anew when it is given again",
                newest.display()
            );
            return Err(refuse(&member.path, what));
        }
        // Each says of the other that it is stale: each was used without the other.
        let other = self.info.members.map_or(0, |newest| newest.own.into());
        let mutual = !self.table.in_sync(number) && own.in_sync(number) && !own.in_sync(other);
        if mutual && !accept_loss {
            let what = format!(
                "it and {} were each used without the other: accept the loss of what it alone has, \
                 or open the log with it alone to keep that",
                newest.display()
            );
            return Err(refuse(&member.path, what));
        }
        self.present[number] = Some(member);
        Ok(())
    }

    fn look_for_missing(&mut self, accept_loss: bool, newest: &Path) -> Result<(), Error> {
        let in_sync = |member: &usize| self.table.in_sync(*member);
        let missing = self.table.all().filter(in_sync);
        let missing: Vec<usize> = missing.filter(|m| self.present[*m].is_none()).collect();
        self.missing = missing.iter().fold(0, |mask, member| mask | 1 << member);
        let numbers: Vec<String> = missing.iter().map(|m| (m + 1).to_string()).collect();
        let numbers = numbers.join(" and ");
        if self.in_sync().next().is_none() {
            let what = format!(
                "it is stale, as are all that were given: give member {numbers} of the {}, which \
                 has what they lack",
                self.table.count
            );
            return Err(refuse(newest, what));
        }
        if missing.is_empty() || accept_loss {
            return Ok(());
        }
        let whole = self.table.suffice(|member| self.present[member].is_some());
        let loss = match whole {
            true => "what was committed on it alone, if it was opened without the others,",
            false => "what it acknowledged before the others had it, up to a log buffer,",
        };
        let what = format!(
            "member {numbers} of the {} is missing and is not known to be stale: give it too, or \
             accept the loss: {loss} is lost then, and it is copied anew when it is given again",
            self.table.count
        );
        Err(refuse(newest, what))
    }

    /// Members that are there and in sync.
    fn in_sync(&self) -> impl Iterator<Item = usize> {
        self.table
            .all()
            .filter(|m| self.table.in_sync(*m) && self.present[*m].is_some())
    }

    /// Makes the members in sync equal, durably, marks those that are missing, and copies those
    /// that return.
    ///
    /// # Errors
    /// Damage; a member in sync that fails. A member that returns and fails stays stale.
    pub(crate) fn open(
        mut self,
        damage_scan: DamageScan,
        planted: Planted,
    ) -> Result<Assembled, Error> {
        let in_sync: Vec<usize> = self.in_sync().collect();
        let there = |member: &usize| self.present[*member].as_ref().map(MemberData::of);
        let datas: Vec<MemberData<'_>> = in_sync.iter().filter_map(there).collect();
        heal(&datas, &self.info, damage_scan, planted)?;
        let mut devices: Vec<_> = self.table.all().map(|_| None).collect();
        let mut files = Vec::new();
        for member in &in_sync {
            let mut given = self.present[*member].take().expect("it is there");
            given.file.plant(planted);
            // What was read may be in a cache alone, and the next write would spare it.
            given.file.settle()?;
            devices[*member] = Some(given.data);
            files.push(given.file);
        }
        let first = files[0].path().to_owned();
        let mut control = ControlFile::join(files)?;
        if self.missing != 0 {
            mark(&mut control, |stale| stale | self.missing)?;
        }
        let (mut notes, mut believed) = (Vec::new(), 0);
        let source = devices[in_sync[0]].clone().expect("it is there");
        let from = MemberData {
            device: &source,
            path: &first,
        };
        for member in self.table.all().filter(|m| !self.table.in_sync(*m)) {
            let Some(given) = self.present[member].take() else {
                notes.push(format!("member {} is stale and not there", member + 1));
                continue;
            };
            let copied = resilver(&from, &MemberData::of(&given), planted);
            let data = given.data;
            if let Err(error) = copied.and_then(|()| control.admit(given.file)) {
                notes.push(format!("member {} stays stale: {error}", member + 1));
                continue;
            }
            if planted.has(Bug::BelievedBeforeMarked) {
                believed |= 1 << member;
            } else {
                mark(&mut control, |stale| stale & !(1 << member))?;
                control.in_order();
                // It may have failed in that update, which marks it stale again.
                let table = control.info().members;
                if !table.is_some_and(|table| table.in_sync(member)) {
                    notes.push(format!("member {} stays stale: it failed", member + 1));
                    continue;
                }
            }
            devices[member] = Some(data);
            notes.push(format!(
                "member {} was stale and was copied anew",
                member + 1
            ));
        }
        let missing = self.table.all().filter(|m| self.missing >> m & 1 != 0);
        notes.extend(missing.map(|m| format!("member {} is missing and stale now", m + 1)));
        let mut table = control.info().members.expect("a log of members");
        table.stale &= !believed;
        let members = Members {
            devices,
            standing: Standing::new(table),
            planted,
        };
        Ok(Assembled {
            control,
            members,
            notes,
        })
    }
}

/// Which of these members' control information is the newest. An update that did not reach all
/// members, of which one was missing at the next opening, leaves that one with the number that the
/// others give to the mark that it is stale: of those with the same number it is the one that the
/// fewest of the others call stale.
pub(crate) fn newest<'a>(all: impl Iterator<Item = &'a ControlInfo> + Clone) -> Option<usize> {
    let last = all.clone().map(|info| info.generation).max()?;
    let marked_by = |info: &ControlInfo| {
        let own = info.members.map_or(0, |members| usize::from(members.own));
        let others = all.clone().filter(|other| other.generation == last);
        let tables = others.filter_map(|other| other.members);
        tables.filter(|table| !table.in_sync(own)).count()
    };
    let of_last = all
        .clone()
        .enumerate()
        .filter(|(_, i)| i.generation == last);
    let least = of_last.min_by_key(|(_, info)| marked_by(info))?;
    Some(least.0)
}

/// Changes which members are stale, durably.
fn mark(control: &mut ControlFile, change: impl FnOnce(u16) -> u16) -> Result<(), Error> {
    control.update(|info| {
        if let Some(members) = &mut info.members {
            members.stale = change(members.stale);
        }
        Ok(())
    })
}

fn refuse(path: &Path, what: impl Into<String>) -> Error {
    Error::Members {
        path: path.to_owned(),
        what: what.into(),
    }
}
