//! Completion queues: thousands of commits in flight on one thread.
//!
//! A thread appends and commits for many sessions without waiting, and learns from a queue which
//! commits are durable, in order, each with the tag it was queued with. Nobody is called back: the
//! outcome is given to the thread that asks. See docs/decisions/2026-11-20-tickets.md.

use super::core::Core;
use super::event::{ArmedEvent, CompletionEvent};
use super::ticket::Ticket;
use crate::buffer::Stations;
use crate::tickets::{Completion, Tickets};
use std::sync::Arc;

/// The queue is full: take completions first. Gives back what could not be queued; the commit
/// itself goes on.
#[derive(Debug)]
pub struct QueueFull<T> {
    /// The ticket.
    pub ticket: Ticket,
    /// Its tag.
    pub tag: T,
}

impl<T> std::fmt::Display for QueueFull<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("as many commits are outstanding as the queue holds; take completions first")
    }
}

impl<T: std::fmt::Debug> std::error::Error for QueueFull<T> {}

/// The tickets of one thread's asynchronous commits, first in, first out; `T` is what a ticket is
/// distinguished by. Made by [`super::Log::completions`].
///
/// Dropping it forgets its tickets: their commits go on, and nobody gets their outcome.
///
/// ```
/// use redo::{CommitPost, Log, Shape};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("redo-async-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # struct Guard(std::path::PathBuf);
/// # impl Drop for Guard { fn drop(&mut self) { let _ = std::fs::remove_dir_all(&self.0); } }
/// # let tidy = Guard(directory.clone());
/// let shape = Shape::new().file_bytes(1 << 20);
/// Log::builder(&directory).shape(shape).create()?;
/// let (log, _) = Log::builder(&directory).open()?;
///
/// let mut session = log.session();
/// let mut completions = log.completions(1024);
/// for order in 0..100_u32 {
///     session.append(&[b"order", &order.to_le_bytes()])?;
///     let ticket = session.commit_async(CommitPost::Immediate)?;
///     completions.push(ticket, order)?;
/// }
/// let mut confirmed = Vec::new();
/// while completions.wait() > 0 {
///     while let Some(done) = completions.take() {
///         done.outcome?; // durable, or an error
///         confirmed.push(done.tag);
///     }
/// }
/// assert_eq!(confirmed, (0..100).collect::<Vec<_>>());
/// log.close()?;
/// # Ok(())
/// # }
/// ```
pub struct Completions<T> {
    core: Arc<Core>,
    tickets: Tickets<T>,
    /// What was read last of a log write: most completions in a row share theirs.
    served: (u64, Option<Stations>),
    event: Option<ArmedEvent>,
}

impl<T> Completions<T> {
    pub(super) fn new(core: Arc<Core>, capacity: usize) -> Completions<T> {
        Completions {
            core,
            tickets: Tickets::new(capacity),
            served: (0, None),
            event: None,
        }
    }

    /// A descriptor that becomes readable when tickets of this queue may be decided; made by the
    /// first call. It lets one thread wait for commits and sockets alike, with epoll or what is
    /// built on it.
    ///
    /// It is **armed** by a [`Completions::poll`] that returns 0 while tickets are queued, or by
    /// the push of a ticket into a queue whose last poll found none undecided. Armed, it becomes
    /// readable when the first undecided ticket is durable or failed, and stays readable until the
    /// next `poll` that returns 0. So: poll and take until `poll` returns 0, then wait for the
    /// descriptor. With `tokio::io::unix::AsyncFd`, clear its readiness only after `poll` returned
    /// 0.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn event(&mut self) -> std::io::Result<CompletionEvent> {
        if let Some(armed) = &self.event {
            return Ok(armed.event());
        }
        let mut armed = ArmedEvent::new()?;
        let event = armed.event();
        armed.arm(&self.core, &self.tickets);
        self.event = Some(armed);
        Ok(event)
    }

    /// Queues a ticket behind those that are there.
    ///
    /// # Errors
    /// A full queue, which gives ticket and tag back. The commit itself goes on: take completions,
    /// then queue the ticket.
    ///
    /// # Panics
    /// When the ticket is another log's: its number means nothing here.
    #[inline]
    pub fn push(&mut self, ticket: Ticket, tag: T) -> Result<(), QueueFull<T>> {
        assert!(ticket.is_of(&self.core), "a ticket of another log");
        let before = self.tickets.next();
        let pushed = self.tickets.push(ticket.request, tag);
        // The first ticket, or the first that has what it stands behind written, too.
        let wanted = self.tickets.next().is_some_and(|(_, wanted)| wanted);
        let unarmed = before.is_none_or(|(_, was)| !was && wanted);
        if unarmed && let Some(event) = &mut self.event {
            event.arm(&self.core, &self.tickets);
        }
        pushed.map_err(|tag| QueueFull { ticket, tag })
    }

    /// Looks, without waiting, which tickets are durable or failed. Returns how many
    /// [`Completions::take`] will give. Where foregrounds write for themselves and nobody does, it
    /// posts the fallback log writer, once a batch, so that looking again and again gets there.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let decided = self.tickets.poll(&self.core);
        if decided == 0
            && let Some(event) = &mut self.event
        {
            event.arm(&self.core, &self.tickets);
        }
        decided
    }

    /// As [`Completions::poll`], but waits until there is at least one; returns 0 only when the
    /// queue is empty. Where foregrounds write for themselves this one may write, for all.
    #[inline]
    pub fn wait(&mut self) -> usize {
        let core = &*self.core;
        self.tickets.wait(core, |host| host.lead(core))
    }

    /// The next ticket whose outcome the last [`Completions::poll`] or [`Completions::wait`] saw,
    /// in the order in which they were queued. Each is given once; after the first that failed none
    /// is durable.
    #[inline]
    pub fn take(&mut self) -> Option<Completion<T>> {
        let (tag, durable) = self.tickets.take()?;
        let Some(through) = durable else {
            return Some(Completion {
                tag,
                stations: None,
                outcome: Err(self.core.refusal()),
            });
        };
        if self.served.0 != through {
            let batch = through.checked_sub(1);
            self.served = (through, batch.and_then(|b| self.core.buffer.stations(b)));
        }
        Some(Completion {
            tag,
            stations: self.served.1,
            outcome: Ok(()),
        })
    }

    /// Tickets that are queued, reported or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tickets.len()
    }

    /// No ticket is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tickets.len() == 0
    }

    /// Tickets that it holds at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.tickets.capacity()
    }
}

impl<T> Drop for Completions<T> {
    fn drop(&mut self) {
        if let Some(event) = &mut self.event {
            event.disarm(&self.core);
        }
    }
}

impl<T> std::fmt::Debug for Completions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completions")
            .field("queued", &self.len())
            .field("capacity", &self.capacity())
            .finish()
    }
}
