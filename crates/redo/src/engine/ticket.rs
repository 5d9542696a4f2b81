//! Tickets of asynchronous commits, and the future that a ticket becomes.
//!
//! A ticket holds its log through its session's handle: threads that commit count in different
//! cache lines. Neither a ticket nor a future holds a file, a device or a thread.

use super::core::Core;
use crate::buffer::Stations;
use crate::error::Error;
use crate::tickets::CommitRequest;
use crate::turn::AwaitedCommit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A session's handle of its log, which its tickets share: a cache line of its own.
#[repr(align(128))]
#[derive(Clone)]
pub(super) struct LogHandle(Arc<Core>);

impl LogHandle {
    pub(super) fn new(core: &Arc<Core>) -> Arc<LogHandle> {
        Arc::new(LogHandle(Arc::clone(core)))
    }
}

/// A commit that was requested, which is reported durable later: to a task that awaits it, or
/// through a [`super::Completions`] queue.
///
/// Awaited, it is a [`CommitFuture`].
#[must_use = "only the ticket shows whether the commit is durable"]
pub struct Ticket {
    pub(super) request: CommitRequest,
    log: Arc<LogHandle>,
}

impl Ticket {
    #[inline]
    pub(super) fn new(request: CommitRequest, log: &Arc<LogHandle>) -> Ticket {
        Ticket {
            request,
            log: Arc::clone(log),
        }
    }

    /// Whether it is one of this log.
    #[inline]
    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.log.0, core)
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.request.fmt(f)
    }
}

impl IntoFuture for Ticket {
    type Output = Result<Option<Stations>, Error>;
    type IntoFuture = CommitFuture;

    /// Has the commit written, if it was made with
    /// [`CommitPost::Immediate`](crate::CommitPost::Immediate) and nobody has asked for its batch
    /// before: this may wake the log writer, which is a system call.
    #[inline]
    fn into_future(self) -> CommitFuture {
        let Ticket { request, log } = self;
        let awaited = AwaitedCommit::begin(&*log.0, request);
        CommitFuture {
            request,
            awaited,
            log,
        }
    }
}

/// Resolves when a commit is durable, or when the log failed or was closed before it was. Made from
/// a [`Ticket`] by `.await`.
///
/// The log writer writes, and wakes the task; no thread waits for it, and it works with every
/// executor. [`Future::poll`] never writes, blocks, allocates or makes a system call. Where
/// foregrounds write for themselves ([`LogWriter::Inline`](super::LogWriter::Inline)), a future is
/// served by the fallback log writer, or by the foreground that leads at that moment.
///
/// Dropping it cancels the waiting, not the commit, which is then one with NOWAIT.
///
/// The output contains the stations of the log write that served the commit; `None` if nothing was
/// to be written or it was long ago. An error means that the commit was not acknowledged: whether
/// the redo is there is known only after recovery.
#[must_use = "only the future shows whether the commit is durable"]
pub struct CommitFuture {
    request: CommitRequest,
    awaited: AwaitedCommit,
    log: Arc<LogHandle>,
}

impl Future for CommitFuture {
    type Output = Result<Option<Stations>, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let core = &*this.log.0;
        this.awaited.poll(core, context.waker()).map_ok(|()| {
            let batch = this.request.through.checked_sub(1);
            batch.and_then(|batch| core.buffer.stations(batch))
        })
    }
}

impl Drop for CommitFuture {
    #[inline]
    fn drop(&mut self) {
        self.awaited.cancel(&*self.log.0);
    }
}

impl std::fmt::Debug for CommitFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitFuture")
            .field("through", &self.request.through)
            .finish_non_exhaustive()
    }
}
