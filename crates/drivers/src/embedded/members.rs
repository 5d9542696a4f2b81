//! What is noted of the members of a log, and of its ring, under the names that their places have
//! for the user.

use measure::Nanos;
use measure::run::{MemberFacts, RingFacts, RingFactsKind};
use redo::Log;

/// What was asked of a log with a ring, for the facts of a run.
#[derive(Clone, Debug)]
pub struct AskedOfRing {
    /// The directory of the log.
    pub disk_directory: String,
    /// The directory of the ring.
    pub directory: String,
    /// With failover: how long the disk may take before the ring is written.
    pub delay: Option<Nanos>,
    /// Size of the ring, bytes.
    pub ring_bytes: u64,
}

/// How each member is by now, under the name that it has for the user.
pub(super) fn member_facts(log: &Log, names: &[String]) -> Vec<MemberFacts> {
    let states = log.members().into_iter().zip(names);
    let of = |(state, name): (redo::MemberState, &String)| MemberFacts {
        directory: name.clone(),
        cell: state.cell as u64,
        in_sync: state.in_sync,
        log_writes: state.writes,
        first: state.first,
        margin_ns: state.margin_ns,
        longest_ns: state.longest_ns,
        outliers: state.slow,
        outliers_of_all: state.all_slow,
        window_bytes: state.window_bytes,
        window_ns: state.window_ns,
    };
    states.map(of).collect()
}

/// How the ring is by now, under the names that both places have for the user. A log that goes on
/// without its ring has counted nothing.
pub(super) fn ring_facts(log: &Log, asked: &AskedOfRing) -> RingFacts {
    let state = log.ring().unwrap_or_default();
    RingFacts {
        kind: match asked.delay {
            Some(_) => RingFactsKind::Failover,
            None => RingFactsKind::Ring,
        },
        disk_directory: asked.disk_directory.clone(),
        directory: asked.directory.clone(),
        delay_ns: asked.delay.map(|delay| delay.0),
        ring_bytes: asked.ring_bytes,
        in_use: state.in_use,
        log_writes: state.writes,
        ring_writes: state.ring_writes,
        flushes: state.flushes,
        first: state.first,
        skip_busy: state.skip_busy,
        skip_large: state.skip_large,
        over_budget: state.over_budget,
        lag_bytes: state.lag_bytes,
        most_lag_bytes: state.most_lag_bytes,
    }
}
