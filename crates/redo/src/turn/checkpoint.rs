//! What holds a log switch: the checkpoint, `log file switch (checkpoint incomplete)`, and in
//! archive mode the archiver, `log file switch (archiving needed)`.

use super::SharedBaton;
use crate::group::{Geometry, StreamBlock};
use crate::rules;
use crate::sync::{AtomicU64, Ordering};

/// Who still needs a log that is to be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchHold {
    /// Recovery, since the checkpoint has not passed it.
    Checkpoint,
    /// The archiver.
    Archive,
}

/// The blocks up to which logs may be reused.
pub(super) struct Reusable {
    /// The durable checkpoint's.
    checkpoint: AtomicU64,
    /// The one up to which everything is durably archived; [`rules::NOT_ARCHIVING`] outside of
    /// archive mode.
    archived: AtomicU64,
}

impl Reusable {
    pub(super) fn new(checkpoint: StreamBlock) -> Reusable {
        Reusable {
            checkpoint: AtomicU64::new(checkpoint),
            archived: AtomicU64::new(rules::NOT_ARCHIVING),
        }
    }

    fn of(&self, hold: SwitchHold) -> &AtomicU64 {
        match hold {
            SwitchHold::Checkpoint => &self.checkpoint,
            SwitchHold::Archive => &self.archived,
        }
    }

    fn block(&self, hold: SwitchHold) -> StreamBlock {
        self.of(hold).load(Ordering::Acquire)
    }
}

impl<H> SharedBaton<H> {
    /// Waits until `hold` lets the log that begins at `start` be written. False when the log was
    /// closed or poisoned, since then nobody lets go of it.
    pub(crate) fn await_switch(
        &self,
        hold: SwitchHold,
        geometry: &Geometry,
        start: StreamBlock,
    ) -> bool {
        loop {
            let seen = self.switch.read();
            if rules::lets_write(geometry, self.reusable.block(hold), start) {
                return true;
            }
            if !self.is_open() {
                return false;
            }
            self.switch.wait(seen);
        }
    }

    /// Who holds the log that begins at `start`; the checkpoint, where both do.
    pub(crate) fn switch_hold(
        &self,
        geometry: &Geometry,
        start: StreamBlock,
    ) -> Option<SwitchHold> {
        let mut all = [SwitchHold::Checkpoint, SwitchHold::Archive].into_iter();
        all.find(|hold| !rules::lets_write(geometry, self.reusable.block(*hold), start))
    }

    /// The block up to which logs may be reused: the durable checkpoint's or, in archive mode, the
    /// archived one, if that is less.
    pub(crate) fn reusable(&self) -> StreamBlock {
        let [checkpoint, archived] =
            [SwitchHold::Checkpoint, SwitchHold::Archive].map(|hold| self.reusable.block(hold));
        rules::reusable(checkpoint, archived, self.rules.planted)
    }

    /// The log enters archive mode: everything before `block` is archived.
    pub(crate) fn begin_archive(&self, block: StreamBlock) {
        self.reusable.archived.store(block, Ordering::Release);
    }

    /// `hold` durably lets go of everything before `block`.
    pub(crate) fn lets_go(&self, hold: SwitchHold, block: StreamBlock) {
        self.reusable.of(hold).fetch_max(block, Ordering::AcqRel);
        self.switch.bump();
        self.switch.wake_all();
        if self.pipelined {
            self.post.bump();
            self.post.wake(1);
        }
    }
}
