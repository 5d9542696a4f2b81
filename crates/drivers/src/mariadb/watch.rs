//! What is watched of a server beside its timed sessions: its counts, and what sessions commit.
//!
//! Invariants: one connection of its own, which is opened before sessions take those that the
//! server has left; the timed sessions are not asked, they only count what they commit.

use super::connection::ServerConnection;
use super::counters::LogCounters;
use super::counts;
use super::error::MariadbError;
use super::schema::keep_idle;
use crate::client::SocketError;
use measure::driver::ServerCounts;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the end of a flush is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// A server that is watched.
#[derive(Debug, Default)]
pub struct MariadbWatch {
    /// The connection, while nobody uses it.
    idle: Mutex<Option<ServerConnection>>,
    /// Transactions of the sessions that have ended.
    commits: Arc<AtomicU64>,
}

impl MariadbWatch {
    /// What the server has counted so far. If the connection has ended, as with a server that was
    /// started again, another one is opened.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn counts(
        &self,
        connect: impl Fn() -> Result<ServerConnection, MariadbError>,
    ) -> Result<ServerCounts, MariadbError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match idle.take() {
            Some(mut connection) => match counts::read(&mut connection) {
                Ok(counts) => Some((connection, counts)),
                Err(error @ MariadbError::Socket(SocketError::TimedOut(_))) => return Err(error),
                Err(_) => None,
            },
            None => None,
        };
        let (connection, mut counts) = match kept {
            Some(kept) => kept,
            None => {
                let mut connection = connect()?;
                keep_idle(&mut connection)?;
                let counts = counts::read(&mut connection)?;
                (connection, counts)
            }
        };
        *idle = Some(connection);
        counts.commits = Some(self.commits.load(Ordering::SeqCst));
        Ok(counts)
    }

    /// Returns when the server has flushed its log as far as it has grown now, which it does about
    /// once per `innodb_flush_log_at_timeout` without being asked.
    ///
    /// # Errors
    /// Of the server; it has not flushed its log within `patience`.
    pub fn await_flush(
        mut connection: ServerConnection,
        patience: Duration,
    ) -> Result<(), MariadbError> {
        let until = Instant::now() + patience;
        let mut counters = LogCounters::read(&mut connection)?;
        let Some(grown) = counters.lsn_current else {
            return Ok(());
        };
        while counters.lsn_flushed.is_some_and(|flushed| flushed < grown) {
            if Instant::now() > until {
                return Err(MariadbError::Unusable(format!(
                    "the server has not flushed its log within {} s after commits that wait for \
                     nothing: set innodb_flush_log_at_timeout to 1",
                    patience.as_secs()
                )));
            }
            std::thread::sleep(LOOK);
            counters = LogCounters::read(&mut connection)?;
        }
        Ok(())
    }

    /// Where a session counts what it commits.
    #[must_use]
    pub fn session(&self) -> SessionCommits {
        SessionCommits {
            commits: 0,
            of_all: Arc::clone(&self.commits),
        }
    }
}

/// Transactions of a session, which are added to those of all when it ends.
#[derive(Debug)]
pub struct SessionCommits {
    /// Those that have returned.
    pub commits: u64,
    of_all: Arc<AtomicU64>,
}

impl Drop for SessionCommits {
    fn drop(&mut self) {
        self.of_all.fetch_add(self.commits, Ordering::SeqCst);
    }
}
