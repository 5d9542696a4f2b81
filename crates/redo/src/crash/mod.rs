//! The crash simulation: the real log buffer, writer, control file and recovery, on disks that
//! lose, tear and reorder what was not flushed. Single-threaded; a seed is a history.
//!
//! Invariants:
//! - Policy stays in [`crate::writer`]: this host draws when things happen, never what is done.
//! - The oracle judges by the bytes that were appended and the commits that were acknowledged;
//!   it never looks at what is on the disks.
//! - The same seed gives the same history, byte for byte.
//!
//! What it leaves out: threads (loom's part) and real devices (the engine's tests).

mod archive;
mod coverage;
mod disk;
mod disks;
mod env;
mod hangs;
mod host;
mod life;
mod lives;
mod machine;
pub mod mixing;
pub mod model;
mod oracle;
mod plan;
mod resilvers;
mod restores;
mod rings;
mod sessions;
mod tasks;
mod world;

pub use coverage::{Coverage, MemberCoverage, RingCoverage};

use crate::planted::Planted;
use plan::Plan;
use world::World;

/// What a seed came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The first promise that was broken, and how.
    pub violation: Option<String>,
    /// What was reached.
    pub coverage: Coverage,
    /// What was reached with members.
    pub members: MemberCoverage,
    /// What was reached with a ring.
    pub rings: RingCoverage,
    /// The writer's history of all lives.
    pub history: Vec<u8>,
    /// What happened, in words, when it was asked for.
    pub trace: Vec<String>,
}

impl Report {
    /// Of a world that has ended.
    fn of(world: &mut World) -> Report {
        Report {
            violation: world.env.violation.take(),
            coverage: world.env.coverage.clone(),
            members: world.env.members.clone(),
            rings: world.env.rings.clone(),
            history: std::mem::take(&mut world.history),
            trace: world.env.trace.take().unwrap_or_default(),
        }
    }
}

/// Lives through the history of `seed`: a few lives of one log, each ended by a power cut, a
/// killed process or a close, each begun by a recovery that may itself be cut.
#[must_use]
pub fn run(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed), planted, false)
}

/// As [`run`], and returns what happened.
#[must_use]
pub fn trace(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed), planted, true)
}

/// As [`run`], of a log with two to four members: they fail, are late, are taken away and return.
#[must_use]
pub fn run_members(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed).with_members(seed), planted, false)
}

/// As [`run_members`], and returns what happened.
#[must_use]
pub fn trace_members(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed).with_members(seed), planted, true)
}

/// As [`run`], of a log with a ring: disk and ring fail, are late, lose power alone and return.
#[must_use]
pub fn run_ring(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed).with_ring(seed), planted, false)
}

/// As [`run_ring`], and returns what happened.
#[must_use]
pub fn trace_ring(seed: u64, planted: Planted) -> Report {
    lives::live(Plan::draw(seed).with_ring(seed), planted, true)
}
