//! What is watched of a server beside its timed sessions: its counts, its waits, its log file.
//!
//! Invariants: one connection of its own for all of it, opened when it is first needed; the timed
//! sessions are not asked, they only count what they commit.

use super::connection::Connection;
use super::counts::{self, CountedServer};
use super::error::PostgresError;
use super::log_file::{self, LogFile};
use measure::Nanos;
use measure::driver::{DriverError, DriverSession, ServerCounts, SessionCounts, Transaction};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A server that is watched.
#[derive(Debug)]
pub struct ServerWatch {
    /// Its address, for a server that reports no identifier.
    address: String,
    /// The connection, while nobody uses it.
    idle: Mutex<Option<CountedServer>>,
    log_file: Mutex<Option<LogFile>>,
    /// Backends of the sessions that are open.
    backends: Mutex<BTreeSet<i32>>,
    /// Transactions of the sessions that have ended.
    commits: AtomicU64,
}

impl ServerWatch {
    /// Nothing is connected yet.
    #[must_use]
    pub fn new(address: &str) -> ServerWatch {
        ServerWatch {
            address: address.to_owned(),
            idle: Mutex::default(),
            log_file: Mutex::default(),
            backends: Mutex::default(),
            commits: AtomicU64::new(0),
        }
    }

    /// The session, with its commits counted and its backend known.
    #[must_use]
    pub fn watched(
        self: &Arc<Self>,
        session: Box<dyn DriverSession>,
        backend: Option<i32>,
    ) -> Box<dyn DriverSession> {
        Box::new(WatchedSession {
            session,
            _backend: backend.map(|backend| self.backend(backend)),
            commits: 0,
            watch: Arc::clone(self),
        })
    }

    /// The backend of a session, one of [`ServerWatch::backends`] until it is dropped.
    #[must_use]
    pub fn backend(self: &Arc<Self>, backend: i32) -> WatchedBackend {
        lock(&self.backends).insert(backend);
        WatchedBackend {
            backend,
            watch: Arc::clone(self),
        }
    }

    /// Backends of the sessions that are open.
    #[must_use]
    pub fn backends(&self) -> Vec<i32> {
        lock(&self.backends).iter().copied().collect()
    }

    /// What the server has counted so far.
    ///
    /// # Errors
    /// It does not answer. The next reading connects anew.
    pub fn counts(
        &self,
        connect: impl FnOnce() -> Result<Connection, PostgresError>,
    ) -> Result<ServerCounts, PostgresError> {
        let mut server = self.taken(connect)?;
        let mut counts = server.read()?;
        counts.commits = Some(self.commits.load(Ordering::SeqCst));
        self.give_back(server);
        Ok(counts)
    }

    /// Commits an empty message, and looks at how the server has opened its log for that.
    ///
    /// # Errors
    /// The server does not answer. What cannot be seen is not an error.
    pub fn look_at_log_file(
        &self,
        connect: impl FnOnce() -> Result<Connection, PostgresError>,
    ) -> Result<(), PostgresError> {
        let mut server = self.taken(connect)?;
        let found = log_file::look(&mut server.connection)?;
        *lock(&self.log_file) = found;
        self.give_back(server);
        Ok(())
    }

    /// The file of its log, where it was seen.
    #[must_use]
    pub fn log_file(&self) -> Option<LogFile> {
        lock(&self.log_file).clone()
    }

    /// The connection, to be given back.
    ///
    /// # Errors
    /// There is none, and the server accepts none.
    pub fn taken(
        &self,
        connect: impl FnOnce() -> Result<Connection, PostgresError>,
    ) -> Result<CountedServer, PostgresError> {
        if let Some(server) = lock(&self.idle).take() {
            return Ok(server);
        }
        counts::CountedServer::on(connect()?, &self.address)
    }

    /// Keeps a connection that works for the next reading.
    pub fn give_back(&self, server: CountedServer) {
        *lock(&self.idle) = Some(server);
    }
}

/// A backend that belongs to a session which is open.
#[derive(Debug)]
pub struct WatchedBackend {
    backend: i32,
    watch: Arc<ServerWatch>,
}

impl Drop for WatchedBackend {
    fn drop(&mut self) {
        lock(&self.watch.backends).remove(&self.backend);
    }
}

/// A session that counts its commits for the watch.
struct WatchedSession {
    session: Box<dyn DriverSession>,
    _backend: Option<WatchedBackend>,
    commits: u64,
    watch: Arc<ServerWatch>,
}

impl DriverSession for WatchedSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        let transaction = self.session.transaction()?;
        self.commits += 1;
        Ok(transaction)
    }

    fn pause(&self) -> Nanos {
        self.session.pause()
    }

    fn counts(&self) -> Option<SessionCounts> {
        self.session.counts()
    }
}

impl Drop for WatchedSession {
    fn drop(&mut self) {
        self.watch.commits.fetch_add(self.commits, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
