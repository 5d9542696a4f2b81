//! What the sessions of a row share, on whatever thread and in whatever loop they run.

use super::control::Control;
use super::pace::Pacer;
use super::planted::PlantedLie;
use super::recorder::Recorder;
use measure::Nanos;
use measure::driver::SessionLoad;
use measure::workload::{CommitWait, Payload, Workload};
use std::sync::Arc;

/// Samples that a session keeps before it hands them over.
pub(crate) const BUFFERED: usize = 64;
/// A buffered sample is handed over at the latest after this time.
pub(crate) const BUFFERED_NS: u64 = 200_000_000;

/// What all sessions of a row share.
#[derive(Clone)]
pub struct Shared {
    /// The control.
    pub control: Arc<Control>,
    /// Where samples go.
    pub recorder: Arc<Recorder>,
    /// What a transaction is.
    pub workload: Arc<Workload>,
    /// Pseudo-random bytes.
    pub pool: Arc<[u8]>,
    /// CPU work before each commit.
    pub cpu_per_txn: Nanos,
    /// Seed of the payload.
    pub seed: u64,
    /// What it is made of.
    pub payload: Payload,
    /// When transactions are meant to begin, in an open loop.
    pub pacer: Option<Arc<Pacer>>,
    /// What a test has planted.
    pub planted: PlantedLie,
}

impl Shared {
    /// What the session of that number is to do.
    pub(crate) fn load(&self, number: u32) -> SessionLoad {
        SessionLoad {
            number,
            workload: Arc::clone(&self.workload),
            cpu_per_txn: self.cpu_per_txn,
            payload: self.payload,
            pool: Arc::clone(&self.pool),
            seed: self.seed,
        }
    }

    /// Whether sessions wait until their redo is durable.
    pub(crate) fn waits(&self) -> bool {
        self.workload.commit.wait == CommitWait::Wait
    }
}
