//! What an open log says of itself while its devices may hang: a copy of what it was at the last
//! update of the control information.
//!
//! Invariant: nothing that is locked here waits for a device.

use crate::control::ControlInfo;
use crate::error::Error;
use crate::members::ring::{RingStanding, RingState};
use crate::members::{MemberState, Standing};
use crate::sync::{Mutex, MutexGuard};
use device::LogDevice;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// What can be seen; nothing of a log that was closed.
pub(super) struct View(Mutex<Option<Seen>>);

#[derive(Clone)]
pub(super) struct Seen {
    /// The control information, durable.
    pub(super) info: Arc<ControlInfo>,
    /// The redo, to be read.
    pub(super) data: Arc<dyn LogDevice>,
    /// The members, where it has some, and their places.
    members: Option<(Arc<Standing>, Arc<[PathBuf]>)>,
    /// Its ring, where it has one that is used, and its place.
    ring: Option<(Arc<RingStanding>, PathBuf)>,
}

impl View {
    pub(super) fn new(info: ControlInfo, data: Arc<dyn LogDevice>) -> Arc<View> {
        Arc::new(View(Mutex::new(Some(Seen {
            info: Arc::new(info),
            data,
            members: None,
            ring: None,
        }))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = self.lock().as_mut() {
            change(seen);
        }
    }

    /// This is durable now.
    pub(super) fn updated(&self, info: &ControlInfo) {
        let info = Arc::new(info.clone());
        self.change(|seen| seen.info = info);
    }

    pub(super) fn keep_members(&self, standing: &Arc<Standing>, paths: Vec<PathBuf>) {
        self.change(|seen| seen.members = Some((Arc::clone(standing), paths.into())));
    }

    pub(super) fn keep_ring(&self, standing: &Arc<RingStanding>, path: PathBuf) {
        self.change(|seen| seen.ring = Some((Arc::clone(standing), path)));
    }

    /// Nothing is written any more but what was appended.
    pub(super) fn stop(&self) {
        if let Some((ring, _)) = self.lock().as_ref().and_then(|seen| seen.ring.as_ref()) {
            ring.close();
        }
    }

    /// The log is closed.
    pub(super) fn close(&self) {
        *self.lock() = None;
    }

    /// What can be seen now.
    ///
    /// # Errors
    /// A log that was closed.
    pub(super) fn seen(&self) -> Result<Seen, Error> {
        self.lock().clone().ok_or(Error::Closed)
    }

    /// How each member is, in their order; none where the log has none or is closed.
    pub(super) fn members(&self) -> Vec<MemberState> {
        let Some((standing, paths)) = self.seen().ok().and_then(|seen| seen.members) else {
            return Vec::new();
        };
        let mut report = standing.report();
        for (member, path) in report.iter_mut().zip(&*paths) {
            member.path.clone_from(path);
        }
        report
    }

    /// How the ring is; `None` where the log has none, goes on without it, or is closed.
    pub(super) fn ring(&self) -> Option<RingState> {
        let (standing, path) = self.seen().ok()?.ring?;
        let mut state = standing.report();
        state.path = path;
        Some(state)
    }
}
