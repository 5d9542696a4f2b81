//! A block's waits by process and event, for traces in which processes take turns.
//!
//! Adding such a trace wait by wait touches another distribution each time, and the thread that
//! joins waits for memory. The thread that scanned a block therefore sorts its waits first, and
//! sums what is only summed. It knows nothing of the blocks before: which process a block begins
//! in, and which of its numbers are known, is [`super::join`]'s.
//!
//! Invariant: a reader that takes the groups in order, each with its process's part of the summary,
//! has what taking the waits one by one gives. A block that cannot promise it has no groups.

use super::header::HeaderFact;
use super::mark::{Call, Mark, PlacedMark, Wait};
use super::mixer::Mixed;
use std::collections::HashMap;

/// Processes that are distinguished.
pub const PROCESSES_MAX: usize = 4096;
/// Pairs of process and event in a block; with more it is taken wait by wait.
const GROUPS_MAX: usize = 16_384;
/// Changes of the process below which sorting gains nothing.
const SWITCHES_MIN: usize = 32;

/// A process, as far as a block contains it.
#[derive(Debug, Default)]
pub struct BlockProcess {
    /// Its number; `None` of the process that the block begins in.
    pub pid: Option<u64>,
    /// Name of the process, if the block contains it: the first one.
    pub name: Option<String>,
    /// Transactions that ended with a change.
    pub commits: u64,
    /// Transactions that ended at all.
    pub ends: u64,
    /// By [`Call::ALL`]: calls, elapsed and processor time in the trace's unit.
    pub calls: [(u64, u128, u128); Call::ALL.len()],
    /// `tim` and elapsed time of the first wait that has a `tim`, and the largest `tim`.
    pub tims: Option<(u64, u64, u64)>,
    /// The first stamp, and the last.
    pub stamps: Option<(i64, i64)>,
    /// The stamp that holds for its next wait, as in [`Sorted::stamp`].
    stamp: u32,
    /// Groups of events that it waited for, by the last bits of the event.
    near: [(u32, u32); 4],
}

/// Waits of one process for one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Index into [`Groups::processes`].
    pub process: u32,
    /// Index into the block's names.
    pub event: u32,
    /// How many.
    pub count: u32,
}

/// A wait in its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Elapsed.
    pub ela: u64,
    /// `tim=`; 0 where it is missing.
    pub tim: u64,
    /// Blocks of a log write.
    pub blocks: u32,
    /// Index from 1 into [`Groups::stamps`] of the process's last stamp; 0 where the block had
    /// none before.
    pub stamp: u32,
}

/// The waits of a block by process and event.
#[derive(Debug, Default)]
pub struct Groups {
    /// The processes, in the order of their first line.
    pub processes: Vec<BlockProcess>,
    /// In the order of their first wait.
    pub groups: Vec<Group>,
    /// The waits of each group, one group after the other, in order.
    pub waits: Vec<Sorted>,
    /// Every stamp.
    pub stamps: Vec<i64>,
    /// Index of the process that the block ends in.
    pub last: u32,
    /// What is no sum: index of the process, and of the mark in the block.
    pub rest: Vec<(u32, u32)>,
    /// Whether the block has groups.
    pub is_valid: bool,
    locals: HashMap<u64, u32, Mixed>,
    ids: HashMap<(u32, u32), u32, Mixed>,
    /// Group and stamp of each wait.
    of_wait: Vec<(u32, u32)>,
    starts: Vec<u32>,
}

/// No event or group.
const NONE: u32 = u32::MAX;

impl BlockProcess {
    fn new(pid: Option<u64>) -> BlockProcess {
        BlockProcess {
            pid,
            near: [(NONE, NONE); 4],
            ..BlockProcess::default()
        }
    }
}

impl Groups {
    /// Forgets everything, keeping its memory.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.groups.clear();
        self.waits.clear();
        self.stamps.clear();
        self.rest.clear();
        self.is_valid = false;
        self.locals.clear();
        self.ids.clear();
        self.of_wait.clear();
        self.starts.clear();
    }

    /// Sorts the waits of a block, where that is worth it and changes nothing.
    pub fn fill(&mut self, waits: &[Wait], marks: &[PlacedMark]) {
        self.clear();
        let is = |fits: fn(&HeaderFact) -> bool| {
            move |placed: &&PlacedMark| match &placed.mark {
                Mark::Header(said) => fits(said),
                _ => false,
            }
        };
        let switches = marks
            .iter()
            .filter(is(|s| matches!(s, HeaderFact::Process(..))));
        if switches.take(SWITCHES_MIN).count() < SWITCHES_MIN || waits.len() >= NONE as usize {
            return;
        }
        // The unit of what follows is decided where the blocks are joined.
        let unit = is(|s| matches!(s, HeaderFact::Begins | HeaderFact::Release(_)));
        // So is the stamp that a warning or a switch is near to.
        let warning = is(|s| matches!(s, HeaderFact::SlowWrite(..) | HeaderFact::AdaptiveMode(_)));
        if marks.iter().any(|m| unit(&m) || warning(&m)) {
            return;
        }
        self.is_valid = self.sort(waits, marks).is_some();
    }

    fn sort(&mut self, waits: &[Wait], marks: &[PlacedMark]) -> Option<()> {
        self.processes.push(BlockProcess::new(None));
        let mut current = 0_u32;
        let mut from = 0;
        for (index, placed) in marks.iter().enumerate() {
            self.assign(current, waits.get(from..placed.before)?)?;
            from = placed.before;
            current = self.mark(current, u32::try_from(index).ok()?, &placed.mark)?;
        }
        self.assign(current, waits.get(from..)?)?;
        self.last = current;
        self.scatter(waits);
        Some(())
    }

    /// Finds the groups of waits that follow each other in one process.
    #[inline]
    fn assign(&mut self, current: u32, waits: &[Wait]) -> Option<()> {
        let local = self.processes.get_mut(current as usize)?;
        for wait in waits {
            let near = &mut local.near[wait.event as usize & 3];
            if near.0 != wait.event {
                let next = u32::try_from(self.groups.len()).ok()?;
                let id = *self.ids.entry((current, wait.event)).or_insert(next);
                if id == next {
                    if self.groups.len() == GROUPS_MAX {
                        return None;
                    }
                    self.groups.push(Group {
                        process: current,
                        event: wait.event,
                        count: 0,
                    });
                }
                *near = (wait.event, id);
            }
            self.groups[near.1 as usize].count += 1;
            self.of_wait.push((near.1, local.stamp));
            if wait.tim > 0 {
                let tims = local.tims.get_or_insert((wait.tim, wait.ela, wait.tim));
                tims.2 = tims.2.max(wait.tim);
            }
        }
        Some(())
    }

    /// Takes a mark, and gives the process of what follows.
    fn mark(&mut self, current: u32, index: u32, mark: &Mark) -> Option<u32> {
        let local = self.processes.get_mut(current as usize)?;
        match mark {
            Mark::Call(call, elapsed, cpu) => {
                let sums = &mut local.calls[*call as usize];
                sums.0 += 1;
                sums.1 += u128::from(*elapsed);
                sums.2 += u128::from(*cpu);
            }
            Mark::Commit => {
                local.commits += 1;
                local.ends += 1;
            }
            Mark::NoCommit => local.ends += 1,
            Mark::Header(HeaderFact::Process(pid, name)) => {
                return self.switch(*pid, name.as_deref());
            }
            Mark::Header(HeaderFact::Stamp(at)) => {
                self.stamps.push(*at);
                local.stamp = u32::try_from(self.stamps.len()).ok()?;
                local.stamps.get_or_insert((*at, *at)).1 = *at;
            }
            Mark::Failed(_) | Mark::Header(_) => self.rest.push((current, index)),
        }
        Some(current)
    }

    fn switch(&mut self, pid: u64, name: Option<&str>) -> Option<u32> {
        let next = u32::try_from(self.processes.len()).ok()?;
        let local = *self.locals.entry(pid).or_insert(next);
        if local == next {
            if self.processes.len() == PROCESSES_MAX {
                return None;
            }
            self.processes.push(BlockProcess::new(Some(pid)));
        }
        if let Some(name) = name {
            let known = &mut self.processes[local as usize].name;
            known.get_or_insert_with(|| name.to_owned());
        }
        Some(local)
    }

    /// Puts each wait into its place, keeping the order within groups.
    fn scatter(&mut self, waits: &[Wait]) {
        let mut at = 0;
        for group in &self.groups {
            self.starts.push(at);
            at += group.count;
        }
        self.waits.resize(waits.len(), Sorted::default());
        for (wait, (group, stamp)) in waits.iter().zip(&self.of_wait) {
            let place = &mut self.starts[*group as usize];
            self.waits[*place as usize] = Sorted {
                ela: wait.ela,
                tim: wait.tim,
                blocks: wait.blocks,
                stamp: *stamp,
            };
            *place += 1;
        }
    }
}
