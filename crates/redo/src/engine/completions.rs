//! Completion queues: thousands of commits in flight on one thread.
//!
//! A thread appends and commits for many sessions without waiting, and learns from a queue which
//! commits are durable, in order, each with the tag it was queued with. Nobody is called back: the
//! outcome is given to the thread that asks. See docs/decisions/2026-11-20-tickets.md.

use super::core::Core;
use crate::buffer::Stations;
use crate::tickets::{Completion, QueueFull, Ticket, Tickets};
use std::sync::Arc;

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
}

impl<T> Completions<T> {
    pub(super) fn new(core: Arc<Core>, capacity: usize) -> Completions<T> {
        Completions {
            core,
            tickets: Tickets::new(capacity),
            served: (0, None),
        }
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
        assert_eq!(ticket.log(), self.core.id, "a ticket of another log");
        self.tickets.push(ticket, tag)
    }

    /// Looks, without waiting, which tickets are durable or failed. Returns how many
    /// [`Completions::take`] will give. Where foregrounds write for themselves and nobody does, it
    /// posts the fallback log writer, once a batch, so that looking again and again gets there.
    #[inline]
    pub fn poll(&mut self) -> usize {
        self.tickets.poll(&self.core)
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

impl<T> std::fmt::Debug for Completions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completions")
            .field("queued", &self.len())
            .field("capacity", &self.capacity())
            .finish()
    }
}
