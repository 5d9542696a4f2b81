//! PostgreSQL as a target: an existing server, 12 or newer, whose WAL takes transactions of exact
//! sizes.
//!
//! A transaction is one or several messages of `pg_logical_emit_message`, committed together: no
//! table, no vacuum, no full-page images. Invariants: nothing on the server is created or changed; no text
//! contains a password.
//!
//! What it must not know: how many sessions run, for how long, and how the server stores its WAL.

mod connection;
mod error;
mod password;
mod server;
mod session;
mod sizes;
mod url;
mod wire;

pub use error::{PostgresError, ServerMessage};
pub use password::{ClientEnvironment, Password};
pub use sizes::{TransactionMessages, redo_of};

use connection::Connection;
use measure::RealClock;
use measure::driver::{Driver, DriverError, DriverKind, DriverSession, OpenedTarget, SessionLoad};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::workload::{CommitWait, Workload};
use password::Credentials;
use session::PostgresSession;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Address;

/// The driver of PostgreSQL.
pub const KIND: DriverKind = DriverKind {
    name: "postgres",
    schemes: &["postgres", "postgresql"],
    address: "postgres://USER@HOST:PORT/DATABASE",
    open: |address| open(address, &ClientEnvironment::of_process()),
};

/// Values of `sslmode` that accept a connection without TLS.
const WITHOUT_TLS: [&str; 3] = ["disable", "allow", "prefer"];

/// Opens a server: connects, and checks that redolab may commit on it.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn open(address: &str, environment: &ClientEnvironment) -> Result<OpenedTarget, DriverError> {
    let address = Address::parse(address, environment.user.as_deref())?;
    let ssl_mode = address
        .ssl_mode
        .as_deref()
        .or(environment.ssl_mode.as_deref());
    if ssl_mode.is_some_and(|mode| !WITHOUT_TLS.contains(&mode)) {
        return Err(PostgresError::Tls.into());
    }
    let credentials = Credentials::find(&address, environment);
    let shown = address.shown();
    let mut server = Server {
        address,
        credentials,
        patience: environment.patience,
        clock: RealClock::new(),
        facts: DatabaseFacts::default(),
        leaves_redo: AtomicBool::new(false),
    };
    server.facts = server.connect()?.1;
    Ok(OpenedTarget {
        driver: Box::new(server),
        shown,
    })
}

/// A server on which sessions can be opened.
struct Server {
    address: Address,
    credentials: Credentials,
    patience: Duration,
    clock: RealClock,
    facts: DatabaseFacts,
    /// A session was opened whose commits return before they are durable.
    leaves_redo: AtomicBool,
}

impl Server {
    /// A connection to a server on which redolab may commit, and the facts as it reads them.
    fn connect(&self) -> Result<(Connection, DatabaseFacts), PostgresError> {
        let mut connection = Connection::open(&self.address, &self.credentials, self.patience)?;
        let facts = server::facts(&mut connection, self.address.allows_logical_slots)?;
        Ok((connection, facts))
    }
}

impl Driver for Server {
    fn clock(&self) -> RealClock {
        self.clock
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        session::messages_of(workload, server::is_logical(&self.facts))?;
        Ok(())
    }

    fn predicted_redo(&self, workload: &Workload) -> Option<u64> {
        let messages = session::messages_of(workload, server::is_logical(&self.facts));
        messages.ok().map(|messages| messages.redo())
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        let (connection, facts) = self.connect()?;
        server::unchanged(&self.facts, &facts)?;
        let is_logical = server::is_logical(&facts);
        let is_off = facts
            .settings
            .get("synchronous_commit")
            .is_some_and(|v| v == "off");
        if is_off || load.workload.commit.wait == CommitWait::Nowait {
            self.leaves_redo.store(true, Ordering::Relaxed);
        }
        let session = PostgresSession::new(connection, self.clock, &load, is_logical)?;
        Ok(Box::new(session))
    }

    /// A commit that waits is durable together with all commits before it.
    fn drain(&self) -> Result<(), DriverError> {
        if self.leaves_redo.swap(false, Ordering::Relaxed) {
            session::commit_durably(&mut self.connect()?.0)?;
        }
        Ok(())
    }

    fn facts(&self) -> TargetFacts {
        TargetFacts::Database(self.facts.clone())
    }
}
