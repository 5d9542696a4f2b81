//! Several embedded logs as one target: each has its own log writer, checkpoints and sessions.
//!
//! Sessions are dealt out by their numbers: session `n` is on log `n mod N`. Invariants: all logs
//! have one clock; what is counted is the sum of all of them.

use super::EmbeddedLog;
use measure::RealClock;
use measure::driver::{
    Driver, DriverCounters, DriverError, DriverSession, LearntSoFar, SessionGroup, SessionLoad,
    WorkerCounts,
};
use measure::run::TargetFacts;
use measure::workload::{CommitPost, Workload};

/// Several logs that are ready for load.
pub struct EmbeddedNodes {
    logs: Vec<EmbeddedLog>,
    directories: Vec<String>,
}

impl EmbeddedNodes {
    /// Of at least one log, opened with one clock. `directories` is where each lies.
    ///
    /// # Panics
    /// Without a log.
    #[must_use]
    pub fn new(logs: Vec<EmbeddedLog>, directories: Vec<String>) -> EmbeddedNodes {
        assert!(!logs.is_empty(), "at least one log");
        EmbeddedNodes { logs, directories }
    }

    fn first(&self) -> &EmbeddedLog {
        &self.logs[0]
    }

    fn of(&self, number: u32) -> usize {
        number as usize % self.logs.len()
    }
}

impl Driver for EmbeddedNodes {
    fn clock(&self) -> RealClock {
        self.first().clock()
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        self.first().accepts(workload)
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        self.logs[self.of(load.number)].session(load)
    }

    fn has_groups(&self) -> bool {
        true
    }

    /// The sessions of a thread share a queue of one log.
    fn group(&self, loads: Vec<SessionLoad>) -> Result<Box<dyn SessionGroup>, DriverError> {
        let log = loads.first().map_or(0, |load| self.of(load.number));
        match loads.iter().all(|load| self.of(load.number) == log) {
            true => self.logs[log].group(loads),
            false => Err(DriverError::unusable(
                "the sessions of one thread are on several logs: use a number of threads that is a \
                 multiple of the number of logs",
            )),
        }
    }

    fn nudge(&self, post: CommitPost) {
        self.logs.iter().for_each(|log| log.nudge(post));
    }

    fn drain(&self) -> Result<(), DriverError> {
        self.logs.iter().try_for_each(Driver::drain)
    }

    fn buffered_bytes(&self) -> u64 {
        self.logs.iter().map(Driver::buffered_bytes).sum()
    }

    fn block_bytes(&self) -> Option<u32> {
        self.first().block_bytes()
    }

    fn counters(&self) -> DriverCounters {
        let each = self.logs.iter().map(Driver::counters);
        each.reduce(sum).unwrap_or_default()
    }

    fn facts(&self) -> TargetFacts {
        let TargetFacts::RedoLog(mut facts) = self.first().facts() else {
            return self.first().facts();
        };
        facts.node_directories.clone_from(&self.directories);
        for log in &self.logs[1..] {
            if let TargetFacts::RedoLog(other) = log.facts() {
                let new = other
                    .fallbacks
                    .iter()
                    .filter(|f| !facts.fallbacks.contains(f));
                let new: Vec<String> = new.cloned().collect();
                facts.fallbacks.extend(new);
                if other.sync_method != facts.sync_method || other.io != facts.io {
                    facts.fallbacks.push(format!(
                        "one way of writing for all logs: the probe chose {} with {} for another one",
                        other.sync_method,
                        other.io.as_deref().unwrap_or("-")
                    ));
                }
            }
        }
        TargetFacts::RedoLog(facts)
    }

    /// Closes all, also where one fails.
    fn close(&self) -> Result<(), DriverError> {
        let closed: Vec<_> = self.logs.iter().map(Driver::close).collect();
        closed.into_iter().collect()
    }
}

fn sum(mut a: DriverCounters, b: DriverCounters) -> DriverCounters {
    a.other_flushes += b.other_flushes;
    a.learnt = a.learnt.zip(b.learnt).map(|(a, b)| {
        let mut recent = [a.recent, b.recent].concat();
        recent.sort_by_key(|switch| switch.at_ns);
        LearntSoFar {
            switches: a.switches + b.switches,
            commits: a.commits + b.commits,
            polled: a.polled + b.polled,
            recent,
        }
    });
    a.workers
        .resize_with(a.workers.len().max(b.workers.len()), WorkerCounts::default);
    for (a, b) in a.workers.iter_mut().zip(&b.workers) {
        a.operations += b.operations;
        a.idle = a.idle.plus(b.idle);
        a.is_idle |= b.is_idle;
    }
    a
}
