//! Arming an event for tickets that nobody waits for: it is raised when the first undecided one is
//! decided.
//!
//! Nothing is lost: the event is lowered before the outcome is looked at, the waker is registered
//! before that, too, and what was decided meanwhile raises the event here.
//!
//! What it must not know: what raising an event is, and who waits for it.

use super::SharedBaton;
use crate::planted::Bug;
use crate::sync::Shared;
use crate::tickets::Tickets;
use crate::wakers::Registration;
use std::task::Waker;

/// What somebody waits for instead of a ticket.
pub(crate) trait Signal {
    /// Lets those go on who wait for it, until it is lowered.
    fn raise(&self);
    /// Has those wait who come from now on.
    fn lower(&self);
}

/// The ticket for which an event is armed, if any.
#[derive(Debug, Default)]
pub(crate) struct ArmedTicket(Option<Shared<Registration>>);

impl ArmedTicket {
    /// Sees to it that `event`, which `waker` raises, is raised when the first undecided ticket is
    /// decided, and not before.
    pub(crate) fn arm<H, T>(
        &mut self,
        turn: &SharedBaton<H>,
        tickets: &Tickets<T>,
        event: &impl Signal,
        waker: &Waker,
    ) {
        event.lower();
        let Some((through, wanted)) = tickets.next() else {
            return self.disarm(turn);
        };
        let Some(batch) = through.checked_sub(1) else {
            // A ticket of nothing is decided by the next look.
            return event.raise();
        };
        if wanted {
            turn.request(batch);
        }
        turn.request_flush(batch);
        if self.0.as_ref().is_none_or(|armed| armed.batch != batch) {
            self.disarm(turn);
        }
        let armed = self.0.take();
        let armed = armed.unwrap_or_else(|| Registration::new(batch));
        let decided = turn.poll_published(&armed, waker).is_ready();
        if decided && !turn.rules.planted.has(Bug::ArmLooksAway) {
            event.raise();
        }
        self.0 = Some(armed);
    }

    /// The event is nobody's any more.
    pub(crate) fn disarm<H>(&mut self, turn: &SharedBaton<H>) {
        if let Some(armed) = self.0.take() {
            turn.forget(&armed);
        }
    }
}
