//! Archive mode: a log is not reused before somebody says that its redo is durable elsewhere.
//!
//! Invariants: the archived position is durable in the control information before a log that it
//! frees may be written; whether a log is in archive mode is kept with the log, so that an opening
//! that does not mention it changes nothing.

use super::Log;
use crate::control::{ControlFile, ControlInfo, Position};
use crate::error::Error;
use crate::rba::Rba;
use crate::turn::SwitchHold;
use crate::writer::Cause;

/// Whether a log is in archive mode once it is open. In archive mode a log file is reused only
/// when [`Log::archived`] has passed it, beside [`Log::checkpoint`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveMode {
    /// As it was when it was closed; a new log is not.
    #[default]
    Keep,
    /// It is. A log that was not, enters archive mode at its checkpoint: everything behind it is
    /// kept until it is archived.
    On,
    /// It is not: what was not archived yet may be overwritten.
    Off,
}

impl ArchiveMode {
    /// Makes it durable in `control`.
    pub(super) fn apply(self, control: &mut ControlFile) -> Result<(), Error> {
        let info = control.info();
        let wanted = match self {
            ArchiveMode::Keep => info.archived,
            ArchiveMode::On => info.archived.or(Some(info.checkpoint)),
            ArchiveMode::Off => None,
        };
        if wanted == info.archived {
            return Ok(());
        }
        control.update(|info| {
            info.set_archived(wanted);
            Ok(())
        })
    }
}

impl Log {
    /// Up to where the log is archived, as [`Log::archived`] said last: an archiver that begins
    /// goes on there, with [`Log::read_from`]. `None` where the log is not in archive mode.
    ///
    /// # Errors
    /// A log that was closed.
    pub fn archive_position(&self) -> Result<Option<Rba>, Error> {
        let info = self.view.seen()?.info;
        let rba = |at: Position| info.geometry.rba(at.block, at.offset.into());
        Ok(info.archived.map(rba))
    }

    /// The log's identity, drawn when it was made: an archive is called by it.
    ///
    /// # Errors
    /// A log that was closed.
    pub fn id(&self) -> Result<[u8; 16], Error> {
        Ok(self.view.seen()?.info.log_id.0)
    }

    /// Says that every record before `upto` is durable in an archive. Durable when it returns; log
    /// files that lie before it may then be reused, as far as the checkpoint has passed them too.
    /// A position that was passed already changes nothing. A commit that needs a log file which is
    /// not archived waits: `log file switch (archiving needed)`.
    ///
    /// # Errors
    /// [`Error::Archive`] for a position that is not durable in the log yet, and where the log is
    /// not in archive mode; a device that fails, or a log file that was removed or replaced: the
    /// log is poisoned then, as by [`Log::checkpoint`].
    pub fn archived(&self, upto: Rba) -> Result<(), Error> {
        let refuse = |why| Error::Archive { asked: upto, why };
        let position = Position::of(&self.core.geometry, upto)
            .ok_or_else(|| refuse("no such address in this log"))?;
        self.advance(SwitchHold::Archive, position, refuse)
    }

    /// Moves what holds log files to `position`, durably, or refuses it.
    pub(super) fn advance(
        &self,
        hold: SwitchHold,
        position: Position,
        refuse: impl Fn(&'static str) -> Error,
    ) -> Result<(), Error> {
        self.core.check()?;
        let durable = self.core.buffer.durable_block();
        if position.block > durable || position.block == durable && position.offset > 0 {
            return Err(refuse("the log is not durable up to it"));
        }
        let mut held = self.held.lock().map_err(|_| Error::Closed)?;
        let held = held.as_mut().ok_or(Error::Closed)?;
        // Another update may have failed meanwhile, and what it left must not be built on.
        self.core.check()?;
        let before = match hold {
            SwitchHold::Checkpoint => held.control.info().checkpoint,
            SwitchHold::Archive => {
                let archived = held.control.info().archived;
                archived.ok_or_else(|| refuse("the log is not in archive mode"))?
            }
        };
        if position <= before {
            return Ok(());
        }
        let there = held.still_there().map_err(Error::from);
        let updated = there.and_then(|()| held.ring_catches_up());
        let updated = updated.and_then(|spare| {
            held.control.update(|info: &mut ControlInfo| {
                if let Some(ring) = &mut info.ring {
                    ring.spare |= spare;
                }
                match hold {
                    SwitchHold::Checkpoint => info.checkpoint = position,
                    SwitchHold::Archive => info.set_archived(Some(position)),
                }
                info.durable = info.durable.max(durable);
                Ok(())
            })
        });
        if let Err(error) = updated {
            self.core.poison(Cause::Control(error.io_failure()));
            return Err(error);
        }
        held.updated();
        self.core.lets_go(hold, position.block);
        Ok(())
    }
}
