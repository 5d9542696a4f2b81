//! From what was given to the members of one log: which they are, which of them may be believed,
//! and what has to be done before the log is recovered from them.
//!
//! Invariants: the newest control information decides which members are in sync; a member in sync
//! that is not there is marked stale, durably, before the others are used without it; a member that
//! was stale is believed only when it holds a whole copy of the others, durably; so is one that is
//! made in place of a lost one, and the lost one is not believed any more, wherever it was.

mod salvage;
use super::heal::{MemberData, heal, resilver};
use super::{GivenMember, Members, Standing};
use crate::control::{ControlFile, ControlInfo, MemberTable};
use crate::error::Error;
use crate::planted::{Bug, Planted};
use crate::recovery::DamageScan;
use device::LogDevice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The members of one log, of which some may be missing or stale.
pub(crate) struct Assembly {
    /// The newest control information that one of them has.
    pub(crate) info: ControlInfo,
    table: MemberTable,
    /// By their numbers.
    present: Vec<Option<GivenMember>>,
    /// In sync and not given.
    missing: u16,
    /// To be made anew, because they are lost.
    lost: u16,
}

/// Copies what the log holds to the redo of a member in the making, durably.
pub(crate) type CopyTo<'a> = dyn Fn(&Arc<dyn LogDevice>, &Path) -> Result<(), Error> + 'a;
/// Makes a lost member anew: given its number and the control information that it begins with,
/// which calls it stale. It has its name as a member only when the copy is made.
pub(crate) type MakeMember<'a> =
    dyn FnMut(usize, &ControlInfo, &CopyTo<'_>) -> Result<GivenMember, Error> + 'a;

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
    #[cfg_attr(not(feature = "crash"), allow(dead_code))]
    pub(crate) fn of(
        given: Vec<GivenMember>,
        accept_loss: bool,
        planted: Planted,
    ) -> Result<Assembly, Error> {
        Assembly::with_lost(given, accept_loss, &[], planted)
    }

    /// As [`Assembly::of`], with empty places in which members that are lost are made anew: the
    /// members that are not given, in their order.
    ///
    /// # Errors
    /// As [`Assembly::of`]; more or fewer such places than members are not given.
    pub(crate) fn with_lost(
        given: Vec<GivenMember>,
        accept_loss: bool,
        places: &[PathBuf],
        planted: Planted,
    ) -> Result<Assembly, Error> {
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
            lost: 0,
        };
        for member in given {
            assembly.admit(member, &first, accept_loss, planted)?;
        }
        if let Some(place) = places.first() {
            assembly.lose(place, places.len())?;
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
        planted: Planted,
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
        if self.table.in_sync(number) && self.is_apart(info, own, planted) {
            let what = format!(
                "it and {} were used apart from each other, or it was restored from an older copy: \
                 open the log without it and accept the loss; what it alone has is lost then, and \
                 it is copied whole when it is given again",
                newest.display()
            );
            return Err(refuse(&member.path, what));
        }
        // Each says of the other that it is stale: each was used without the other. Or one of them
        // was replaced as lost, which it does not know.
        let replaced = self.table.replacements_behind(own) > 0;
        let apart = own.in_sync(number) && (!own.in_sync(self.newest()) || replaced);
        let apart = apart && !self.table.in_sync(number);
        if apart && !accept_loss {
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

    /// The member whose control information is the newest.
    fn newest(&self) -> usize {
        self.info.members.map_or(0, |newest| newest.own.into())
    }

    /// Whether a member that the newest calls in sync was used without it, or is older than an
    /// interrupted update leaves one.
    fn is_apart(&self, info: &ControlInfo, own: MemberTable, planted: Planted) -> bool {
        // Two that differ and call each other in sync each have an update that ended on neither:
        // nothing depends on it.
        let unended = own.in_sync(self.newest()) && !planted.has(Bug::UnendedUpdateCounts);
        let differs = || !unended && !info.states_as(&self.info);
        let behind = self.info.generation - info.generation;
        let replaced = self.table.replacements_behind(own);
        behind > most_behind(own)
            || behind == 0 && differs()
            || replaced > 0
            || replaced < 0 && !own.in_sync(self.newest())
    }

    /// Of how many places the first is this one: the members that are not given are made there.
    fn lose(&mut self, place: &Path, places: usize) -> Result<(), Error> {
        let absent = self.table.all().filter(|m| self.present[*m].is_none());
        let absent: Vec<usize> = absent.collect();
        if absent.len() != places {
            let what = match absent.len() {
                0 => {
                    String::from("it is empty, and all members of the log are there: leave it out")
                }
                count => format!(
                    "{places} of the directories are empty, and {count} members are not there \
                     ({}): give an empty directory for each of them, and what is left of the others",
                    numbers(&absent)
                ),
            };
            return Err(refuse(place, what));
        }
        self.lost = mask(&absent);
        Ok(())
    }

    fn look_for_missing(&mut self, accept_loss: bool, newest: &Path) -> Result<(), Error> {
        let in_sync = |member: &usize| self.table.in_sync(*member);
        let missing = self.table.all().filter(in_sync);
        let missing: Vec<usize> = missing.filter(|m| self.present[*m].is_none()).collect();
        self.missing = mask(&missing);
        let numbers = numbers(&missing);
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
        if whole && self.missing & !self.lost == 0 {
            return Ok(());
        }
        let loss = match whole {
            true => "",
            false => "what it acknowledged before the others had it, up to a log buffer, and ",
        };
        let what = format!(
            "member {numbers} of the {} is missing and is not known to be stale: give it too, or \
             accept the loss: {loss}everything that was committed on it without the others is lost \
             then, also what was committed after the log had given them up while it was in use. {}. \
             It is copied whole when it is given again",
            self.table.count,
            self.known()
        );
        Err(refuse(newest, what))
    }

    /// What is known of how old the members are that are given: their redo is as old as that where
    /// the log went on without them.
    fn known(&self) -> String {
        let newest = self.newest() + 1;
        let upto = self.info.geometry.rba(self.info.known_durable(), 0);
        let given = self.present.iter().flatten();
        let written = given.filter_map(|given| {
            let file = std::fs::metadata(given.path.join("redo.ctl")).ok()?;
            file.modified().ok()
        });
        let age = written.max().and_then(|last| last.elapsed().ok());
        let age = age.map_or_else(String::new, |age| format!(", {} ago", in_minutes(age)));
        format!(
            "Member {newest} proves redo up to RBA {upto} (update {} of its control information{age}); \
             how much was committed later is not known",
            self.info.generation
        )
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
    #[cfg_attr(not(feature = "crash"), allow(dead_code))]
    pub(crate) fn open(
        self,
        damage_scan: DamageScan,
        planted: Planted,
    ) -> Result<Assembled, Error> {
        let mut none = |_: usize, _: &ControlInfo, _: &CopyTo<'_>| -> Result<GivenMember, Error> {
            unreachable!("none of the members is lost")
        };
        self.open_and_make(damage_scan, planted, &mut none)
    }

    /// As [`Assembly::open`]; members that are lost are made by `make`.
    ///
    /// # Errors
    /// As [`Assembly::open`]. A member that cannot be made stays stale.
    pub(crate) fn open_and_make(
        mut self,
        damage_scan: DamageScan,
        planted: Planted,
        make: &mut MakeMember<'_>,
    ) -> Result<Assembled, Error> {
        let mut devices: Vec<_> = self.table.all().map(|_| None).collect();
        let (mut control, source) = self.join(damage_scan, planted, &mut devices)?;
        if self.missing != 0 {
            mark(&mut control, |stale| stale | self.missing)?;
        }
        if self.lost != 0 {
            forget(&mut control, self.table)?;
        }
        let (mut notes, mut believed) = (Vec::new(), 0);
        let first = control.path().to_owned();
        let from = MemberData {
            device: &source,
            path: &first,
        };
        let stale_or_lost = |m: &usize| !self.table.in_sync(*m) || self.lost >> m & 1 != 0;
        for member in self.table.all().filter(stale_or_lost) {
            let (given, lost) = (self.present[member].take(), self.lost >> member & 1 != 0);
            if given.is_none() && !lost {
                notes.push(format!("member {} is stale and not there", member + 1));
                continue;
            }
            let copied = match given {
                Some(given) => resilver(&from, &MemberData::of(&given), planted).map(|()| given),
                None => make(
                    member,
                    &new_member(control.info(), member),
                    &|device, path| resilver(&from, &MemberData { device, path }, planted),
                ),
            };
            let data = match copied.and_then(|given| admit(&mut control, given)) {
                Ok(data) => data,
                Err(error) => {
                    notes.push(format!("member {} stays stale: {error}", member + 1));
                    continue;
                }
            };
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
            let what = if lost {
                "lost and was made again"
            } else {
                "stale and was copied whole"
            };
            notes.push(format!("member {} was {what}", member + 1));
        }
        let missing = self.missing & !self.lost;
        let missing = self.table.all().filter(|m| missing >> m & 1 != 0);
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

    /// The control files of the members in sync as one, which are made equal before that, and the
    /// redo of one of them.
    fn join(
        &mut self,
        damage_scan: DamageScan,
        planted: Planted,
        devices: &mut [Option<Arc<dyn LogDevice>>],
    ) -> Result<(ControlFile, Arc<dyn LogDevice>), Error> {
        let in_sync: Vec<usize> = self.in_sync().collect();
        let there = |member: &usize| self.present[*member].as_ref().map(MemberData::of);
        let datas: Vec<MemberData<'_>> = in_sync.iter().filter_map(there).collect();
        heal(&datas, &self.info, damage_scan, planted)?;
        let mut files = Vec::new();
        for member in &in_sync {
            let mut given = self.present[*member].take().expect("it is there");
            given.file.plant(planted);
            // What was read may be in a cache alone, and the next write would spare it.
            given.file.settle()?;
            devices[*member] = Some(given.data);
            files.push(given.file);
        }
        let source = devices[in_sync[0]].clone().expect("it is there");
        Ok((ControlFile::join(files, &self.info)?, source))
    }
}

/// Which of these members' control information is the newest. An update that did not reach all
/// members, of which one was missing at the next opening, leaves that one with the number that the
/// others give to the mark that it is stale: of those with the same number it is the one that the
/// fewest of the others call stale. An update that another member of that number lacks, although
/// the update calls that member in sync, never ended, so nothing depends on it: it counts only if
/// no other ended, and of several such updates the one that calls the fewest members stale counts.
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
    let never_ended = |info: &ControlInfo| {
        let mut others = all.clone().filter(|other| other.generation == last);
        others.any(|other| {
            let (table, own) = (info.members, other.members.map(|members| members.own));
            let in_sync = table.zip(own).is_some_and(|(t, own)| t.in_sync(own.into()));
            in_sync && !other.states_as(info)
        })
    };
    let stale = |info: &ControlInfo| info.members.map_or(0, |table| table.stale.count_ones());
    let least = of_last.min_by_key(|(_, info)| {
        let unfinished = never_ended(info);
        let called_stale = if unfinished { stale(info) } else { 0 };
        (unfinished, called_stale, marked_by(info))
    })?;
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

/// Has the member get each update from now on; returns its redo.
fn admit(control: &mut ControlFile, given: GivenMember) -> Result<Arc<dyn LogDevice>, Error> {
    control.admit(given.file)?;
    Ok(given.data)
}

/// Changes control information so that a member that is lost is refused should it return: it knows
/// one replacement less, and it is more updates behind than an interrupted one leaves a member.
fn forget(control: &mut ControlFile, table: MemberTable) -> Result<(), Error> {
    control.update(|info| {
        if let Some(members) = &mut info.members {
            members.replaced = members.replaced.wrapping_add(1);
        }
        Ok(())
    })?;
    (0..most_behind(table)).try_for_each(|_| control.update(|_| Ok(())))
}

/// By how many updates a member in sync may be behind the newest: an update reaches every member in
/// sync before the next one begins, and takes one more number for each member that fails in it.
fn most_behind(table: MemberTable) -> u64 {
    1 + u64::from(table.count)
}

/// What `member`, which is made anew, begins with: as of a log that was just made, and stale.
fn new_member(info: &ControlInfo, member: usize) -> ControlInfo {
    let table = info.members.expect("a log of members");
    ControlInfo::new(info.log_id, info.geometry).with_members(MemberTable {
        own: member as u8,
        stale: table.stale | 1 << member,
        written: 0,
        ..table
    })
}

fn mask(members: &[usize]) -> u16 {
    members.iter().fold(0, |mask, member| mask | 1 << member)
}

/// The numbers of members as users count them.
fn numbers(members: &[usize]) -> String {
    let numbers: Vec<String> = members.iter().map(|m| (m + 1).to_string()).collect();
    numbers.join(" and ")
}

/// A time for people, who compare it with when something happened.
fn in_minutes(time: std::time::Duration) -> String {
    let minutes = time.as_secs() / 60;
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => format!("{} s", time.as_secs()),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} days {hours} h"),
    }
}

fn refuse(path: &Path, what: impl Into<String>) -> Error {
    Error::Members {
        path: path.to_owned(),
        what: what.into(),
    }
}
