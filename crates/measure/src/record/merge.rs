//! The two forms in which recordings merge.

use super::observed::SameObserver;
use super::{Recording, RowLoad, ServerRecord, interval, window};
use crate::run::CapturedEvents;

/// Why two recordings do not merge. Neither has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// They are of different loads.
    Loads,
    /// Rounds in sequence overlap in time.
    NotInSequence,
    /// Recordings beside each other share no time.
    NoOverlap,
    /// They are of different schemas.
    Schemas,
}

impl std::fmt::Display for MergeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MergeError::Loads => "the recordings are of different loads",
            MergeError::NotInSequence => "the rounds overlap in time",
            MergeError::NoOverlap => "the recordings share no time",
            MergeError::Schemas => "the recordings are of different schemas",
        })
    }
}

impl std::error::Error for MergeError {}

impl Recording {
    /// Merges another round of the same load on the same target: counts and time add. The order of
    /// rounds is without effect.
    ///
    /// # Errors
    /// Another load, or rounds that overlap in time.
    pub fn then(&mut self, next: &Recording) -> Result<(), MergeError> {
        self.same_schema(next)?;
        if self.load != next.load {
            return Err(MergeError::Loads);
        }
        let windows = window::united(&self.windows, &next.windows);
        self.windows = windows.ok_or(MergeError::NotInSequence)?;
        self.longest_ns = self.longest_ns.saturating_add(next.longest_ns);
        self.overlap_pct = self.overlap_pct.min(next.overlap_pct);
        self.add_counts(next);
        // A log that only one round had is unknown of both.
        match self.nodes.len() == next.nodes.len() {
            true => self
                .nodes
                .iter_mut()
                .zip(&next.nodes)
                .for_each(|(a, b)| a.then(b)),
            false => self.nodes.clear(),
        }
        self.background = in_sequence(self.background.take(), &next.background, |a, b| a.merge(b));
        self.devices.then(&next.devices);
        self.processors.then(&next.processors);
        self.processes.then(&next.processes);
        self.server = in_sequence(self.server.take(), &next.server, |a, b| a.then(b));
        let is_last = self.windows.last() == next.windows.last();
        self.arrivals = in_sequence(self.arrivals.take(), &next.arrivals, |a, b| {
            let own_end = a.backlog_end;
            a.merge(b, true);
            if !is_last {
                a.backlog_end = own_end;
            }
        });
        self.learning = in_sequence(self.learning.take(), &next.learning, |a, b| a.merge(b));
        self.log_life = in_sequence(self.log_life.take(), &next.log_life, |a, b| a.merge(b));
        self.watched = in_sequence(self.watched.take(), &next.watched, |a, b| a.merge(b));
        let merge_tproc_c = |a: &mut super::TprocCRecord, b: &_| a.merge(b, is_last);
        self.tproc_c = in_sequence(self.tproc_c.take(), &next.tproc_c, merge_tproc_c);
        self.session_time = in_sequence(self.session_time, &next.session_time, |a, b| {
            a.beyond_ns = a.beyond_ns.saturating_add(b.beyond_ns);
            a.lab_ns = a.lab_ns.saturating_add(b.lab_ns);
        });
        self.forget_single();
        Ok(())
    }

    /// Merges what ran at the same time: counts add, time is what the windows share, and one device
    /// or machine that both observed counts once. See [`Recording::doubt`].
    ///
    /// # Errors
    /// Another workload, or windows that share no time.
    pub fn beside(&mut self, other: &Recording) -> Result<(), MergeError> {
        self.merge_beside(other, SameObserver::Once)
    }

    pub(super) fn merge_beside(
        &mut self,
        other: &Recording,
        same: SameObserver,
    ) -> Result<(), MergeError> {
        self.same_schema(other)?;
        let load = both(&self.load, &other.load).ok_or(MergeError::Loads)?;
        let windows = window::shared(&self.windows, &other.windows);
        if windows.is_empty() {
            return Err(MergeError::NoOverlap);
        }
        (self.load, self.windows) = (load, windows);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        let share_pct = 100.0 * self.elapsed_ns() as f64 / self.longest_ns.max(1) as f64;
        self.overlap_pct = self.overlap_pct.min(other.overlap_pct).min(share_pct);
        self.add_counts(other);
        self.nodes.extend(other.nodes.iter().cloned());
        self.background = at_once(self.background.take(), &other.background, |a, b| a.merge(b));
        self.devices.beside(&other.devices, same);
        self.processors.beside(&other.processors, same);
        self.processes.beside(&other.processes, same);
        self.server = ServerRecord::at_once(self.server.take(), &other.server, same);
        let merge_arrivals = |a: &mut super::ArrivalRecord, b: &_| a.merge(b, false);
        self.arrivals = in_sequence(self.arrivals.take(), &other.arrivals, merge_arrivals);
        self.learning = at_once(self.learning.take(), &other.learning, |a, b| a.merge(b));
        self.log_life = at_once(self.log_life.take(), &other.log_life, |a, b| a.merge(b));
        self.watched = at_once(self.watched.take(), &other.watched, |a, b| a.merge(b));
        // Both counted all of the server's orders, at different moments.
        self.tproc_c = None;
        self.session_time = None;
        self.forget_single();
        Ok(())
    }

    fn same_schema(&self, other: &Recording) -> Result<(), MergeError> {
        let same = self.schema == other.schema;
        same.then_some(()).ok_or(MergeError::Schemas)
    }

    /// What adds in either form.
    fn add_counts(&mut self, other: &Recording) {
        for (kind, theirs) in &other.foregrounds {
            self.foregrounds
                .entry(kind.clone())
                .or_default()
                .merge(theirs);
        }
        let run_queue = self.run_queue.zip(other.run_queue);
        self.run_queue = run_queue.map(|(a, b)| a.plus(b));
        let space_waits = self.space_waits.zip(other.space_waits);
        self.space_waits = space_waits.map(|(a, b)| a.plus(b));
        self.intervals.extend(other.intervals.iter().cloned());
        interval::sort(&mut self.intervals);
        self.events = in_sequence(self.events.take(), &other.events, add_events);
    }

    /// Drops what holds of a single round only: its second count, its flush audit, its sessions.
    fn forget_single(&mut self) {
        self.cross_check = None;
        self.flush_audit = None;
        self.sessions.clear();
    }
}

fn add_events(mine: &mut CapturedEvents, theirs: &CapturedEvents) {
    mine.log_file_syncs = mine.log_file_syncs.saturating_add(theirs.log_file_syncs);
    mine.log_file_parallel_writes = mine
        .log_file_parallel_writes
        .saturating_add(theirs.log_file_parallel_writes);
    mine.lost = mine.lost.saturating_add(theirs.lost);
}

/// A group that every part has to have: what only one measured is unknown of both.
fn in_sequence<T>(mine: Option<T>, theirs: &Option<T>, add: impl FnOnce(&mut T, &T)) -> Option<T> {
    let (mut mine, theirs) = (mine?, theirs.as_ref()?);
    add(&mut mine, theirs);
    Some(mine)
}

/// A group that one part may have for all: the log writer's, which no client observes.
fn at_once<T: Clone>(
    mine: Option<T>,
    theirs: &Option<T>,
    add: impl FnOnce(&mut T, &T),
) -> Option<T> {
    match (mine, theirs) {
        (None, theirs) => theirs.clone(),
        (mine, None) => mine,
        (Some(mut mine), Some(theirs)) => {
            add(&mut mine, theirs);
            Some(mine)
        }
    }
}

/// The load of sessions that ran at the same time; `None` where they ran different ones.
fn both(a: &RowLoad, b: &RowLoad) -> Option<RowLoad> {
    let sum = RowLoad {
        nodes: a.nodes.union(&b.nodes).cloned().collect(),
        jobs: a.jobs.saturating_add(b.jobs),
        threads: a.threads.saturating_add(b.threads),
        offered_tps: a.offered_tps.zip(b.offered_tps).map(|(a, b)| a + b),
        ..a.clone()
    };
    let same = RowLoad {
        nodes: a.nodes.clone(),
        jobs: a.jobs,
        threads: a.threads,
        offered_tps: a.offered_tps,
        ..b.clone()
    };
    (same == *a && a.offered_tps.is_some() == b.offered_tps.is_some()).then_some(sum)
}
