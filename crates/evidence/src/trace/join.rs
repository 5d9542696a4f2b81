//! Joins a block whose waits were sorted by process and event ([`super::group`]), where that gives
//! what taking them one by one gives; where it does not, says so and has changed nothing.
//!
//! The bounds of [`super::merge`] are met in the order of the waits. A block in which one of them
//! could be met is therefore taken wait by wait, and so is one whose values are asked for one by
//! one, or that begins in a process that the trace has yet to name.

use super::cell::WaitMoment;
use super::group::{BlockProcess, Groups, PROCESSES_MAX, Sorted};
use super::merge::{CELLS_MAX, EVENTS_MAX, Merge};
use super::scan::Scanned;
use crate::Sink;
use crate::tally::FEW;

#[cfg(test)]
mod tests;

/// A process's clocks where a block begins.
#[derive(Debug)]
struct Clock {
    process: usize,
    /// Its first begin by `tim`, microseconds.
    first_tim_us: u64,
    /// Its first stamp; 0 where it has none, and then nothing is counted from it.
    first_stamp: i64,
    /// From the first to the last stamp before the block.
    stamp_us: Option<u64>,
}

impl Merge {
    /// Takes the next block by its groups; `false` where it has to be taken wait by wait. `ids`
    /// are its events.
    pub(super) fn absorb_groups(
        &mut self,
        block: &Scanned,
        ids: &[usize],
        sink: &mut Sink,
    ) -> bool {
        let groups = &block.groups;
        let is_unnamed = self.current == 0 && self.is_first_unused();
        let one_by_one = sink.samples.event().is_some() || self.events.len() >= EVENTS_MAX;
        if !groups.is_valid || is_unnamed || one_by_one {
            return false;
        }
        let slots = self.known_slots(groups, ids);
        if !self.has_room(groups, &slots) {
            return false;
        }
        let locals = groups.processes.iter();
        let clocks: Vec<Clock> = locals.map(|local| self.enter(local, sink)).collect();
        let mut rest = groups.waits.as_slice();
        for (group, slot) in groups.groups.iter().zip(slots) {
            let (waits, more) = rest.split_at(group.count as usize);
            rest = more;
            let clock = &clocks[group.process as usize];
            self.current = clock.process;
            let slot = slot.unwrap_or_else(|| self.slot(ids[group.event as usize], sink));
            self.add_all(slot, waits, clock, &groups.stamps);
        }
        for (process, mark) in &groups.rest {
            self.current = clocks[*process as usize].process;
            self.mark(&block.marks[*mark as usize], sink);
        }
        self.current = clocks[groups.last as usize].process;
        true
    }

    /// Where the waits of each group are added, of those that are known.
    fn known_slots(&self, groups: &Groups, ids: &[usize]) -> Vec<Option<usize>> {
        let known = |local: &BlockProcess| match local.pid {
            None => Some(self.current),
            Some(pid) => self.pids.get(&pid).copied(),
        };
        let processes: Vec<Option<usize>> = groups.processes.iter().map(known).collect();
        let slot = |process: u32, event: u32| {
            let key = (processes[process as usize]?, ids[event as usize]);
            self.cells.get(&key).copied()
        };
        let each = groups.groups.iter();
        each.map(|g| slot(g.process, g.event)).collect()
    }

    /// Whether no bound is met in the block, so that the order of its waits does not matter.
    fn has_room(&self, groups: &Groups, slots: &[Option<usize>]) -> bool {
        let is_new = |local: &&BlockProcess| local.pid.is_some_and(|p| !self.pids.contains_key(&p));
        let processes = groups.processes.iter().filter(is_new).count();
        let cells = slots.iter().filter(|slot| slot.is_none()).count();
        // The process that the block begins in may be one of those that it names, so that two
        // groups are of one distribution; such a one is counted whatever it holds.
        let widens = |count: u32, process: u32, slot: Option<usize>| {
            let more = if process == 0 { u32::MAX } else { count };
            slot.map_or(more > FEW as u32, |s| self.slots[s].tally.widens(more))
        };
        let pairs = groups.groups.iter().zip(slots);
        let wide = pairs.filter(|(g, slot)| widens(g.count, g.process, **slot));
        self.processes.len() + processes <= PROCESSES_MAX
            && self.slots.len() + cells <= CELLS_MAX
            && self.budget.grants_each(wide.count())
    }

    /// Adds what a block sums of a process, and gives its clocks as they were before.
    fn enter(&mut self, local: &BlockProcess, sink: &mut Sink) -> Clock {
        if let Some(pid) = local.pid {
            self.switch(pid, local.name.as_deref(), sink);
        }
        let unit = self.unit_ns;
        let unit_us = unit / 1_000;
        let process = &mut self.processes[self.current];
        let before = process.stamps;
        process.commits += local.commits;
        process.ends += local.ends;
        for (sums, more) in process.calls.iter_mut().zip(local.calls) {
            sums.0 += more.0;
            sums.1 += more.1 * u128::from(unit);
            sums.2 += more.2 * u128::from(unit);
        }
        if let Some((tim, ela, last_tim)) = local.tims {
            let end = |tim: u64| tim.saturating_mul(unit_us);
            let begin = end(tim).saturating_sub(ela.saturating_mul(unit_us));
            let (_, last) = process.tims.get_or_insert((begin, end(last_tim)));
            *last = (*last).max(end(last_tim));
        }
        if let Some((first, last)) = local.stamps {
            let (first, known) = process.stamps.get_or_insert((first, first));
            *known = last.max(*first);
        }
        if let Some((first, last)) = local.stamps {
            self.stamped(first, last);
        }
        let process = &self.processes[self.current];
        Clock {
            process: self.current,
            first_tim_us: process.tims.map_or(0, |(first, _)| first),
            first_stamp: process.stamps.map_or(0, |(first, _)| first),
            stamp_us: before.and_then(|(first, last)| u64::try_from(last - first).ok()),
        }
    }

    /// Adds the waits of a group.
    fn add_all(&mut self, slot: usize, waits: &[Sorted], clock: &Clock, stamps: &[i64]) {
        let (unit, cell) = (self.unit_ns, &mut self.slots[slot]);
        let unit_us = unit / 1_000;
        if cell.track.is_none() {
            for wait in waits {
                cell.tally
                    .add(wait.ela.saturating_mul(unit), &mut self.budget);
            }
            return;
        }
        for wait in waits {
            let mut when = WaitMoment {
                tim_us: None,
                stamp_us: clock.stamp_us,
            };
            if wait.tim > 0 {
                let end = wait.tim.saturating_mul(unit_us);
                when.tim_us = Some(end.saturating_sub(clock.first_tim_us));
            }
            // A clock that was set back does not make time negative.
            if let Some(at) = (wait.stamp as usize).checked_sub(1) {
                let last = stamps[at].max(clock.first_stamp);
                when.stamp_us = u64::try_from(last - clock.first_stamp).ok();
            }
            let ns = wait.ela.saturating_mul(unit);
            cell.add(wait.blocks, ns, when, &mut self.budget);
        }
    }
}
