//! What the server of a target counted around a row, and what its sessions waited for there.
//!
//! The counts are of the time between two readings: once all sessions are open, and after the last
//! one has ended and the server's statistics have arrived. That is longer than the row's window, so
//! the transactions of that time are counted, too. Invariants: a total of which a part is unknown
//! is unknown; what two recordings read of one server at one time counts once.

use super::WaitSum;
use super::observed::{AdditiveCounts, Observations, SameObserver};
use crate::bounded;
use crate::run::{ServerFigures, ServerWaits, measured};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Wait events of a server that are kept, at most.
pub const WAITS_MAX: usize = 64;
/// Notes that are kept, at most.
pub const SERVER_NOTES_MAX: usize = 64;

/// What a server and its device counted between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServerTotals {
    /// Time between the readings, in nanoseconds.
    pub observed_ns: u64,
    /// Growth of the position of its log, in bytes.
    pub redo_lsn_bytes: Option<u64>,
    /// Bytes of its log as it counts them.
    pub wal_bytes: Option<u64>,
    /// Records of its log.
    pub records: Option<u64>,
    /// Images of whole pages among them.
    pub full_page_images: Option<u64>,
    /// Writes of its log.
    pub writes: Option<u64>,
    /// Bytes of these writes.
    pub written_bytes: Option<u64>,
    /// They were computed from other counts.
    pub written_is_computed: bool,
    /// Bytes with which it filled new files of its log.
    pub initialized_bytes: Option<u64>,
    /// Time of its writes, in nanoseconds.
    pub write_ns: Option<u64>,
    /// Flushes of its log.
    pub syncs: Option<u64>,
    /// Time of its flushes, in nanoseconds.
    pub sync_ns: Option<u64>,
    /// Writes that were made because its log buffer was full.
    pub buffers_full: Option<u64>,
    /// Checkpoints that began.
    pub checkpoints: Option<u64>,
    /// Writes that carried data, as the kernel counted them on the device of the log.
    pub device_writes: Option<u64>,
    /// Bytes of these writes.
    pub device_written_bytes: Option<u64>,
    /// Flushes that the device executed.
    pub device_flushes: Option<u64>,
}

impl ServerTotals {
    /// What `of` makes of each count of both, which it is given with its name in words.
    pub(crate) fn each(
        &self,
        other: &ServerTotals,
        mut of: impl FnMut(&'static str, Option<u64>, Option<u64>) -> Option<u64>,
    ) -> ServerTotals {
        ServerTotals {
            observed_ns: self.observed_ns,
            redo_lsn_bytes: of("growth", self.redo_lsn_bytes, other.redo_lsn_bytes),
            wal_bytes: of("bytes", self.wal_bytes, other.wal_bytes),
            records: of("records", self.records, other.records),
            full_page_images: of("images", self.full_page_images, other.full_page_images),
            writes: of("writes", self.writes, other.writes),
            written_bytes: of("written bytes", self.written_bytes, other.written_bytes),
            initialized_bytes: of("filled", self.initialized_bytes, other.initialized_bytes),
            write_ns: of("time of writes", self.write_ns, other.write_ns),
            syncs: of("flushes", self.syncs, other.syncs),
            sync_ns: of("time of flushes", self.sync_ns, other.sync_ns),
            buffers_full: of("full buffers", self.buffers_full, other.buffers_full),
            checkpoints: of("checkpoints", self.checkpoints, other.checkpoints),
            device_writes: of("device writes", self.device_writes, other.device_writes),
            device_written_bytes: of(
                "device bytes",
                self.device_written_bytes,
                other.device_written_bytes,
            ),
            device_flushes: of("device flushes", self.device_flushes, other.device_flushes),
            written_is_computed: self.written_is_computed || other.written_is_computed,
        }
    }
}

impl AdditiveCounts for ServerTotals {
    fn plus(self, other: ServerTotals) -> ServerTotals {
        ServerTotals {
            observed_ns: self.observed_ns.saturating_add(other.observed_ns),
            ..self.each(&other, |_, own, others| add(own, others))
        }
    }
}

/// What sessions waited for in a server, sampled in the row's window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSamples {
    /// Readings of all sessions.
    pub readings: u64,
    /// Time in which they were made, in nanoseconds.
    pub observed_ns: u64,
    /// Count and time of the queries that made them.
    pub queries: WaitSum,
    /// How often a session was seen in each event.
    #[serde(deserialize_with = "bounded::fields::<_, _, WAITS_MAX>")]
    pub events: BTreeMap<String, u64>,
}

impl WaitSamples {
    /// Adds that a session was seen in an event. What is beyond [`WAITS_MAX`] is in none.
    pub fn add(&mut self, event: &str, sessions: u64) {
        if let Some(count) = self.events.get_mut(event) {
            *count = count.saturating_add(sessions);
        } else if self.events.len() < WAITS_MAX {
            self.events.insert(event.to_owned(), sessions);
        }
    }

    fn merge(&mut self, other: &WaitSamples) {
        self.readings = self.readings.saturating_add(other.readings);
        self.observed_ns = self.observed_ns.saturating_add(other.observed_ns);
        self.queries = self.queries.plus(other.queries);
        // The first by name stay, so that the order of merging is without effect.
        for (event, sessions) in &other.events {
            let count = self.events.entry(event.clone()).or_default();
            *count = count.saturating_add(*sessions);
        }
        while self.events.len() > WAITS_MAX {
            self.events.pop_last();
        }
    }

    fn figures(&self) -> ServerWaits {
        let per_s = |count: u64| count as f64 * 1e9 / self.observed_ns.max(1) as f64;
        ServerWaits {
            readings: self.readings,
            readings_per_s: per_s(self.readings),
            query_ms: (self.queries.count > 0)
                .then(|| self.queries.total_ns as f64 / self.queries.count as f64 / 1e6),
            sessions: self.events.clone(),
        }
    }
}

/// What is known of the server of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// What it counted, by an id of the server.
    pub counts: Observations<ServerTotals>,
    /// Transactions of the sessions between the readings; `None` where a part did not count.
    pub commits: Option<u64>,
    /// What sessions waited for; `None` where a part did not sample.
    pub waits: Option<WaitSamples>,
    /// Why something is unknown, in words.
    #[serde(deserialize_with = "bounded::names::<_, SERVER_NOTES_MAX>")]
    pub notes: BTreeSet<String>,
}

impl ServerRecord {
    /// Adds a later round.
    pub(super) fn then(&mut self, next: &ServerRecord) {
        self.counts.then(&next.counts);
        self.add(next);
    }

    /// What ran at the same time. One part may have read the server for all, but transactions and
    /// waits of a part that did not count are unknown.
    pub(super) fn at_once(
        mine: Option<ServerRecord>,
        theirs: &Option<ServerRecord>,
        same: SameObserver,
    ) -> Option<ServerRecord> {
        let nothing = ServerRecord::default();
        if mine.is_none() && theirs.is_none() {
            return None;
        }
        let mut sum = mine.unwrap_or_default();
        let theirs = theirs.as_ref().unwrap_or(&nothing);
        sum.counts.beside(&theirs.counts, same);
        sum.add(theirs);
        Some(sum)
    }

    fn add(&mut self, other: &ServerRecord) {
        self.commits = add(self.commits, other.commits);
        self.waits = self
            .waits
            .take()
            .zip(other.waits.as_ref())
            .map(|(mut a, b)| {
                a.merge(b);
                a
            });
        self.notes.extend(other.notes.iter().cloned());
        while self.notes.len() > SERVER_NOTES_MAX {
            self.notes.pop_last();
        }
    }

    /// The figures of the row; `None` where nothing is known.
    #[must_use]
    pub fn figures(&self) -> Option<ServerFigures> {
        let totals = self.counts.sum();
        let t = totals.unwrap_or_default();
        let commits = self.commits.filter(|commits| *commits > 0);
        let per_commit = |count: Option<u64>| Some(count? as f64 / commits? as f64);
        let of = |part: Option<u64>, whole: Option<u64>| {
            let whole = whole.filter(|whole| *whole > 0)?;
            Some(part? as f64 / whole as f64)
        };
        let mean_ms = |ns: Option<u64>, count: Option<u64>| of(ns, count).map(|ns| ns / 1e6);
        measured(ServerFigures {
            observed_s: totals.map(|t| t.observed_ns as f64 / 1e9),
            commits: self.commits,
            redo_lsn_bytes: t.redo_lsn_bytes,
            wal_bytes: t.wal_bytes,
            records: t.records,
            full_page_images: t.full_page_images,
            writes: t.writes,
            written_bytes: t.written_bytes,
            written_is_computed: t.written_bytes.map(|_| t.written_is_computed),
            initialized_bytes: t.initialized_bytes,
            write_ns: t.write_ns,
            write_ms: mean_ms(t.write_ns, t.writes),
            syncs: t.syncs,
            sync_ns: t.sync_ns,
            sync_ms: mean_ms(t.sync_ns, t.syncs),
            buffers_full: t.buffers_full,
            checkpoints: t.checkpoints,
            device_writes: t.device_writes,
            device_written_bytes: t.device_written_bytes,
            device_flushes: t.device_flushes,
            redo_per_commit_bytes: per_commit(t.redo_lsn_bytes),
            written_per_commit_bytes: per_commit(t.written_bytes),
            device_per_commit_bytes: per_commit(t.device_written_bytes),
            writes_per_commit: per_commit(t.writes),
            syncs_per_commit: per_commit(t.syncs),
            device_flushes_per_commit: per_commit(t.device_flushes),
            written_per_redo: of(t.written_bytes, t.redo_lsn_bytes),
            device_per_redo: of(t.device_written_bytes, t.redo_lsn_bytes),
            waits: self.waits.as_ref().map(WaitSamples::figures),
            notes: self.notes.iter().cloned().collect(),
        })
    }
}

/// The sum of both; `None` where one is unknown.
fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

#[cfg(test)]
mod tests {
    use super::super::{Recording, RowLoad, TimeWindow};
    use super::*;

    /// What a part of the recordings did not count is unknown of all, and is not zero.
    #[test]
    fn what_one_agent_did_not_read_of_the_server_is_unknown() {
        let totals = ServerTotals {
            written_bytes: Some(5_000),
            redo_lsn_bytes: Some(1_000),
            ..ServerTotals::default()
        };
        let at = |start_ns: u64, commits: Option<u64>| {
            let mut made = Recording::new(RowLoad::default(), TimeWindow::of(start_ns, 1000));
            made.server = commits.map(|commits| ServerRecord {
                counts: Observations::one("server", TimeWindow::of(start_ns, 1000), totals),
                commits: Some(commits),
                waits: Some(WaitSamples::default()),
                notes: BTreeSet::new(),
            });
            made
        };
        let mut known = at(0, Some(10));
        known.then(&at(2_000, Some(30))).expect("in sequence");
        let figures = known.row().server.expect("read");
        assert_eq!(
            (figures.commits, figures.written_bytes),
            (Some(40), Some(10_000))
        );
        assert_eq!(figures.written_per_redo, Some(5.0));
        assert_eq!(figures.redo_per_commit_bytes, Some(50.0));
        // A round without any reading: of the rounds together nothing is known.
        known.then(&at(4_000, None)).expect("in sequence");
        assert_eq!(known.row().server, None);
        // At the same time: the server's counts are those of all, the commits of one agent are not.
        for (first, second) in [(Some(10), None), (None, Some(10))] {
            let mut both = at(0, first);
            both.beside(&at(0, second)).expect("they overlap");
            let figures = both.row().server.expect("read");
            assert_eq!((figures.commits, figures.waits), (None, None));
            assert_eq!(figures.written_per_redo, Some(5.0));
            assert_eq!(figures.redo_per_commit_bytes, None);
        }
    }

    #[test]
    fn wait_events_of_a_server_are_bounded() {
        let mut waits = WaitSamples::default();
        for event in 0..WAITS_MAX + 10 {
            waits.add(&format!("{event:03}"), 2);
        }
        waits.add("000", 1);
        assert_eq!((waits.events.len(), waits.events["000"]), (WAITS_MAX, 3));
        // Merged in either order they are bounded, and the same.
        let mut others = WaitSamples::default();
        for event in ["000", "001a", "zzz"] {
            others.add(event, 4);
        }
        let (mut first, mut second) = (waits.clone(), others.clone());
        first.merge(&others);
        second.merge(&waits);
        assert_eq!((first.events.len(), first.events["000"]), (WAITS_MAX, 7));
        assert_eq!(first, second);
    }
}
