//! The event of a completion queue: a descriptor that becomes readable when tickets of the queue
//! may be decided, for threads that wait for sockets and commits alike.

use super::core::Core;
use crate::tickets::Tickets;
use crate::turn::{ArmedTicket, Signal};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Becomes readable when tickets of a completion queue may be decided. An `eventfd`, for epoll and
/// what is built on it: `mio`, `tokio::io::unix::AsyncFd`, `smol::Async`. Made by
/// [`Completions::event`](super::Completions::event), where it is documented when it is armed. Do
/// not read it: the queue does. It may outlive its queue, and stays as it is then.
#[derive(Clone, Debug)]
pub struct CompletionEvent(Arc<OwnedFd>);

impl AsFd for CompletionEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for CompletionEvent {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// What the log wakes instead of a task.
struct EventSignal(CompletionEvent);

impl Wake for EventSignal {
    fn wake(self: Arc<Self>) {
        self.0.raise();
    }
}

impl Signal for CompletionEvent {
    /// Makes it readable.
    fn raise(&self) {
        // It fails only where the counter is full: it is readable then.
        let _ = rustix::io::write(self, &1_u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    fn lower(&self) {
        // It fails only where the counter is zero: it is unreadable then.
        let _ = rustix::io::read(self, &mut [0_u8; 8]);
    }
}

/// The event of a queue, and what arms it.
pub(super) struct ArmedEvent {
    event: CompletionEvent,
    waker: Waker,
    armed: ArmedTicket,
}

impl ArmedEvent {
    pub(super) fn new() -> std::io::Result<ArmedEvent> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let event = CompletionEvent(Arc::new(event));
        Ok(ArmedEvent {
            waker: Arc::new(EventSignal(event.clone())).into(),
            event,
            armed: ArmedTicket::default(),
        })
    }

    pub(super) fn event(&self) -> CompletionEvent {
        self.event.clone()
    }

    /// Sees to it that the event becomes readable when the first undecided ticket is decided, and
    /// not before.
    pub(super) fn arm<T>(&mut self, core: &Core, tickets: &Tickets<T>) {
        self.armed.arm(core, tickets, &self.event, &self.waker);
    }

    /// The event is nobody's any more.
    pub(super) fn disarm(&mut self, core: &Core) {
        self.armed.disarm(core);
    }
}
