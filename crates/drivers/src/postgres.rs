//! PostgreSQL as a target: a server, 12 or newer, that exists or that redolab makes, whose WAL
//! takes transactions of exact sizes.
//!
//! A transaction is one or several messages of `pg_logical_emit_message`, committed together: no
//! table, no vacuum, no full-page images. Invariants: nothing is created or changed on a server
//! that exists; no text contains a password.
//!
//! What it must not know: how many sessions run, for how long, and how the server stores its WAL.

mod collect;
pub(crate) mod connection;
mod counts;
mod credentials;
pub(crate) mod error;
mod log_file;
pub(crate) mod managed;
mod programs;
mod relay;
pub(crate) mod server;
mod session;
mod sizes;
mod standbys;
mod url;
mod waits;
pub(crate) mod watch;
mod wire;

pub use crate::client::Password;
pub use collect::read_server;
pub use credentials::ClientEnvironment;
pub use error::{PostgresError, ServerMessage};
pub use server::SETTINGS;
pub use sizes::{TransactionMessages, redo_of};

use crate::client::CONNECT_MAX;
use crate::managed::OwnServer;
use connection::Connection;
use credentials::Credentials;
use measure::RealClock;
use measure::driver::{
    Driver, DriverError, DriverKind, DriverSession, OpenedTarget, ServerCounts, SessionLoad,
    WaitSampling,
};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::workload::{CommitWait, Workload};
use relay::DelayingRelay;
use session::PostgresSession;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Address;
use watch::{ServerWatch, WatchedBackend};

/// The driver of PostgreSQL.
pub const KIND: DriverKind = DriverKind {
    name: "postgres",
    schemes: &["postgres", "postgresql"],
    address: "postgres://USER@HOST:PORT/DATABASE",
    open: |address| open(address, &ClientEnvironment::of_process()),
    managed: Some(managed::MANAGED),
};

/// Values of `sslmode` that accept a connection without TLS.
const WITHOUT_TLS: [&str; 3] = ["disable", "allow", "prefer"];

/// Opens a server: connects, and checks that redolab may commit on it.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn open(address: &str, environment: &ClientEnvironment) -> Result<OpenedTarget, DriverError> {
    let server = Server::open(address, environment)?;
    Ok(OpenedTarget {
        shown: server.shown(),
        driver: Box::new(server),
    })
}

/// A server on which sessions can be opened; its own processes, where redolab made it.
pub(crate) struct Server {
    address: Address,
    credentials: Credentials,
    patience: Duration,
    clock: RealClock,
    facts: DatabaseFacts,
    watch: Arc<ServerWatch>,
    own: Option<OwnServer>,
    /// What delays the connections of its standbys; it ends after them.
    relays: Vec<Option<DelayingRelay>>,
    /// A session was opened whose commits return before they are durable.
    leaves_redo: AtomicBool,
}

impl Server {
    /// Connects to a server, and checks that redolab may commit on it.
    ///
    /// # Errors
    /// The server cannot be used, and what to do.
    pub(crate) fn open(
        address: &str,
        environment: &ClientEnvironment,
    ) -> Result<Server, DriverError> {
        let address = Address::parse(address, environment.user.as_deref())?;
        let ssl_mode = address
            .ssl_mode
            .as_deref()
            .or(environment.ssl_mode.as_deref());
        if ssl_mode.is_some_and(|mode| !WITHOUT_TLS.contains(&mode)) {
            return Err(PostgresError::Tls.into());
        }
        Ok(Server::at(address, environment)?)
    }

    /// The server at an address, on which redolab may commit.
    fn at(address: Address, environment: &ClientEnvironment) -> Result<Server, PostgresError> {
        let mut server = Server {
            watch: Arc::new(ServerWatch::new(&address.shown())),
            own: None,
            relays: Vec::new(),
            leaves_redo: AtomicBool::new(false),
            credentials: Credentials::find(&address, environment),
            address,
            patience: environment.patience,
            clock: RealClock::new(),
            facts: DatabaseFacts::default(),
        };
        server.facts = server.connect()?.1;
        Ok(server)
    }

    /// The address without a password.
    pub(crate) fn shown(&self) -> String {
        self.address.shown()
    }

    /// A connection whose answers may take that long; nothing is checked.
    pub(crate) fn patient(&self, patience: Duration) -> Result<Connection, PostgresError> {
        Connection::open(&self.address, &self.credentials, patience)
    }

    /// A connection for a session: the settings are still those that were read at first.
    pub(crate) fn unchanged(&self) -> Result<Connection, PostgresError> {
        let (connection, facts) = self.connect()?;
        server::unchanged(&self.facts, &facts)?;
        Ok(connection)
    }

    /// As [`Server::unchanged`]; the backend is one of those whose waits are sampled, until what is
    /// returned beside it is dropped.
    pub(crate) fn watched(&self) -> Result<(Connection, Option<WatchedBackend>), PostgresError> {
        let connection = self.unchanged()?;
        let backend = connection.backend.map(|pid| self.watch.backend(pid));
        Ok((connection, backend))
    }

    /// A connection to a server on which redolab may commit, and the facts as it reads them.
    fn connect(&self) -> Result<(Connection, DatabaseFacts), PostgresError> {
        // Reading the settings is part of connecting: a peer that is silent then is left as soon.
        let mut connection = self.patient(self.patience.min(CONNECT_MAX))?;
        let facts = server::facts(&mut connection, self.address.allows_logical_slots)?;
        connection.wire.set_patience(self.patience);
        Ok((connection, facts))
    }

    /// A connection that only looks at the server.
    fn observe(&self) -> Result<Connection, PostgresError> {
        Connection::open(&self.address, &self.credentials, self.patience)
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
        let connection = self.unchanged()?;
        let is_logical = server::is_logical(&self.facts);
        let is_off = self
            .facts
            .settings
            .get("synchronous_commit")
            .is_some_and(|v| v == "off");
        if is_off || load.workload.commit.wait == CommitWait::Nowait {
            self.leaves_redo.store(true, Ordering::Relaxed);
        }
        let backend = connection.backend;
        let session = PostgresSession::new(connection, self.clock, &load, is_logical)?;
        Ok(self.watch.watched(Box::new(session), backend))
    }

    fn prepare(&self, _: &[&Workload]) -> Result<(), DriverError> {
        // What cannot be seen of it is unknown.
        let _ = self.watch.look_at_log_file(|| self.observe());
        Ok(())
    }

    fn server_counts(&self) -> Result<Option<ServerCounts>, DriverError> {
        Ok(Some(self.watch.counts(|| self.observe())?))
    }

    fn statistics_delay(&self) -> Duration {
        counts::DELAY
    }

    fn sample_waits(&self) -> Result<Option<Box<dyn WaitSampling>>, DriverError> {
        Ok(waits::sample(&self.watch, || self.observe())?)
    }

    /// A commit that waits is durable together with all commits before it.
    fn drain(&self) -> Result<(), DriverError> {
        if self.leaves_redo.swap(false, Ordering::Relaxed) {
            session::commit_durably(&mut self.connect()?.0)?;
        }
        Ok(())
    }

    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        if let Some(file) = self.watch.log_file() {
            facts.log_open_flags = Some(file.flags);
            facts.log_directory = file.directory;
        }
        TargetFacts::Database(facts)
    }

    fn close(&self) -> Result<(), DriverError> {
        self.own.as_ref().map_or(Ok(()), OwnServer::end)
    }
}
