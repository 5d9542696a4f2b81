//! A place of control information: its device, which of its copies is believed, and how what is
//! written gets there.
//!
//! What it must not know: other places, and what becomes of a member that fails.

use super::ControlInfo;
use crate::planted::{Bug, Planted};
use device::LogDevice;
use device::queue::IoOrDevice;
use std::sync::Arc;

/// What is carried to a member.
pub(crate) type Carried = Box<dyn FnOnce() -> Result<(), IoOrDevice> + Send>;

/// Carries out what is written to a member. It may answer with an error while that is still under
/// way, where the log goes on without the member.
pub(crate) trait Carrier: Send + Sync {
    /// Carries `work` out.
    ///
    /// # Errors
    /// Those of the work, and ETIMEDOUT.
    fn carry(&self, work: Carried) -> Result<(), IoOrDevice>;

    /// Something that it was given is still under way.
    fn is_busy(&self) -> bool;
}

/// Where control information lies: with one member, or of a log without members.
#[derive(Clone)]
pub(super) struct Place {
    /// The member, from 0.
    pub(super) member: usize,
    pub(super) device: Arc<dyn LogDevice>,
    /// Of a member that may hang.
    pub(super) carrier: Option<Arc<dyn Carrier>>,
    /// The only copy here that is believed; an update writes the other first. `None` when both
    /// copies say the same.
    pub(super) good: Option<u64>,
    /// How often both copies were written: with a member its own count, else the generation.
    pub(super) written: u64,
}

impl Place {
    pub(super) fn new(device: Arc<dyn LogDevice>, info: &ControlInfo, good: Option<u64>) -> Place {
        Place {
            member: info.members.map_or(0, |members| members.own.into()),
            device,
            carrier: None,
            good,
            written: info.members.map_or(info.generation, |m| m.written.into()),
        }
    }

    pub(super) fn carry(
        &self,
        work: impl FnOnce(&dyn LogDevice) -> Result<(), IoOrDevice> + Send + 'static,
    ) -> Result<(), IoOrDevice> {
        let Some(carrier) = &self.carrier else {
            return work(&*self.device);
        };
        let device = Arc::clone(&self.device);
        carrier.carry(Box::new(move || work(&*device)))
    }

    /// The copy that the next writing begins with, and its number: first the copy that is not
    /// believed. Where both say the same, the number decides: a writing that was interrupted
    /// before had the same one to go on from, so what it left in doubt, though it may read well,
    /// is what this one writes first.
    pub(super) fn next(&self, info: &ControlInfo, planted: Planted) -> (u64, u64) {
        let first = match self.good {
            Some(good) if planted.has(Bug::GoodCopyFirst) => good,
            Some(good) => 1 - good,
            None => self.written.wrapping_add(1) % 2,
        };
        let next = self.written.wrapping_add(1);
        match info.members {
            Some(_) if next % 2 == first => (first, next),
            Some(_) => (first, next.wrapping_add(1)),
            None => (first, info.generation),
        }
    }
}
