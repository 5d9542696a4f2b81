//! The members of an open log: whether their files are still there, and the mark that one is stale.
//!
//! Invariant: the holder of the control information waits for a member only as long as the log may.
//!
//! What it must not know: which members may be believed, and when one is given up
//! (`crate::members`).

use super::members::FilesOfMembers;
use super::{HeldLog, Log};
use crate::members::{Marked, MemberCarrier, Standing};
use crate::sync::Mutex;
use device::{DeviceError, FileSet};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

impl Log {
    /// Its checkpoints look whether the files are still there, and members that fail are marked
    /// stale in its control information.
    pub(super) fn keep_members(
        &self,
        standing: &Arc<Standing>,
        (files, carriers): FilesOfMembers,
        paths: Vec<PathBuf>,
    ) {
        self.view.keep_members(standing, paths);
        for (_, carrier) in &carriers {
            carrier.join(standing);
        }
        if let Some(held) = self.held.lock().expect("nobody else has it yet").as_mut() {
            let agreed = Arc::clone(standing);
            held.control.agree(Box::new(move || agreed.unmarked()));
            (held.files, held.carriers) = (files, carriers);
            held.members = Some(Arc::clone(standing));
            // A member may have failed in the update with which recovery ended.
            held.updated();
        }
        let held: Weak<Mutex<Option<HeldLog>>> = Arc::downgrade(&self.held);
        standing.set_fence(Box::new(move |members| mark_stale(&held, members)));
    }
}

impl HeldLog {
    /// Looks whether the files of the log are still there: what is written to a file without a name
    /// is lost with this process. A member without its files is given up by the log writer.
    pub(super) fn still_there(&self) -> Result<(), DeviceError> {
        let Some(standing) = &self.members else {
            return self.files.iter().try_for_each(|(_, set)| set.still_there());
        };
        let (mut gone, mut left) = (None, self.files.is_empty());
        for (member, set) in &self.files {
            if standing.is_stale(*member) {
                continue;
            }
            match look(set, self.carrier(*member)) {
                // It does not answer, and is given up.
                None => {}
                Some(Ok(())) => left = true,
                Some(Err(error)) => {
                    standing.condemn(*member);
                    gone = gone.or(Some(error));
                }
            }
        }
        match gone {
            Some(error) if !left => Err(error),
            _ => Ok(()),
        }
    }

    /// What carries out what is done to a member that may hang.
    pub(super) fn carrier(&self, member: usize) -> Option<&Arc<MemberCarrier>> {
        let mut carriers = self.carriers.iter();
        carriers.find_map(|(of, carrier)| (*of == member).then_some(carrier))
    }

    /// What looks whether the files of a member that returns are there, which may take long.
    pub(super) fn look_for_files(&self, member: usize) -> impl FnOnce() -> bool + Send + use<> {
        let files = self.files.iter().filter(|(owner, _)| *owner == member);
        let files: Vec<FileSet> = files.map(|(_, set)| set.clone()).collect();
        move || files.iter().all(|set| set.still_there().is_ok())
    }

    /// The control information was updated, and may have lost a member in it.
    pub(super) fn updated(&self) {
        self.view.updated(self.control.info());
        if let (Some(standing), Some(table)) = (&self.members, self.control.info().members) {
            standing.updated(table.stale);
        }
    }
}

/// Whether the files of a member are still there; `None` where it does not answer.
fn look(set: &FileSet, carrier: Option<&Arc<MemberCarrier>>) -> Option<Result<(), DeviceError>> {
    let Some(carrier) = carrier else {
        return Some(set.still_there());
    };
    let set = set.clone();
    carrier.ask(move || set.still_there())
}

/// Marks members stale, durably on all others. Called by the log writer, which acknowledges nothing
/// meanwhile.
fn mark_stale(held: &Weak<Mutex<Option<HeldLog>>>, members: u16) -> Marked {
    let Some(held) = held.upgrade() else {
        return Marked::Failed;
    };
    let Ok(mut held) = held.lock() else {
        return Marked::Failed;
    };
    let Some(held) = held.as_mut() else {
        return Marked::Failed;
    };
    let known = held.control.info().members;
    if known.is_some_and(|table| table.stale & members == members) {
        // The update that was under way has marked them.
        held.updated();
        return Marked::Durable;
    }
    let marked = held.control.update(|info| {
        if let Some(table) = &mut info.members {
            table.stale |= members;
        }
        Ok(())
    });
    match marked {
        Ok(()) => {
            held.updated();
            Marked::Durable
        }
        Err(_) => Marked::Failed,
    }
}
