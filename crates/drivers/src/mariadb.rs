//! MariaDB and MySQL as a target: an existing server, MariaDB 10.2 or MySQL 8.0 or newer, or one of
//! MariaDB that redolab makes. Redo is made by INSERT of rows of a fixed size.
//!
//! There is no message of a chosen size as in PostgreSQL, so the rows are calibrated: the redo of a
//! transaction is a mean, with a spread. Invariants: on the server nothing changes but a schema
//! of redolab's own, which is made when rows begin and dropped when the target is closed; no text
//! contains a password.
//!
//! What it must not know: how many sessions run, for how long, and how the server stores its redo.

mod address;
mod authentication;
mod calibration;
mod collect;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod counts;
pub(crate) mod error;
mod fields;
mod insert;
pub(crate) mod managed;
mod packet;
mod programs;
pub(crate) mod schema;
mod server;
mod session;
mod watch;

pub use collect::read_server;
pub use counters::LogCounters;
pub use error::{MariadbError, MariadbMessage};
pub use server::SETTINGS;

use crate::client::{CONNECT_MAX, Password};
use crate::managed::OwnServer;
use address::ServerAddress;
use calibration::{Calibrated, Search, calibrate};
use connection::ServerConnection;
use counters::LsnSource;
use insert::{Insert, RowLayout, row_max};
use measure::RealClock;
use measure::driver::{
    Driver, DriverError, DriverKind, DriverSession, OpenedTarget, ServerCounts, SessionLoad,
};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::workload::{CommitWait, Workload};
use schema::Schema;
use server::ServerState;
use session::{MariadbSession, SessionTable};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use watch::MariadbWatch;

/// The driver of MariaDB and MySQL.
pub const KIND: DriverKind = DriverKind {
    name: "mariadb",
    schemes: &["mariadb", "mysql"],
    address: "mariadb://USER@HOST:PORT/DATABASE",
    open: |address| open(address, &MariadbEnvironment::of_process()),
    managed: Some(managed::MANAGED),
};

/// What the driver takes from its surroundings.
#[derive(Clone, Debug)]
pub struct MariadbEnvironment {
    /// `MYSQL_PWD`.
    pub password: Option<Password>,
    /// The longest wait for an answer of the server.
    pub patience: Duration,
}

impl MariadbEnvironment {
    /// The longest wait for an answer, unless another one is wanted.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// That of this process, and a patience of 60 s.
    #[must_use]
    pub fn of_process() -> MariadbEnvironment {
        let password = std::env::var("MYSQL_PWD").ok();
        MariadbEnvironment {
            password: password.filter(|text| !text.is_empty()).map(Password::new),
            patience: MariadbEnvironment::PATIENCE,
        }
    }
}

/// Opens a server: connects, and checks that redolab may commit on it. Nothing is changed yet.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn open(address: &str, environment: &MariadbEnvironment) -> Result<OpenedTarget, DriverError> {
    let server = Server::at(Login::new(address, environment)?)?;
    Ok(OpenedTarget {
        shown: server.login.address.shown(),
        driver: Box::new(server),
    })
}

/// Reads what InnoDB counts of its redo log, on a connection of its own.
///
/// # Errors
/// The server cannot be reached, or refuses.
pub fn log_counters(
    address: &str,
    environment: &MariadbEnvironment,
) -> Result<LogCounters, DriverError> {
    let mut connection = Login::new(address, environment)?.connect()?;
    Ok(LogCounters::read(&mut connection)?)
}

/// Who connects, and where.
#[derive(Debug)]
struct Login {
    address: ServerAddress,
    password: Option<Password>,
    patience: Duration,
}

impl Login {
    fn new(address: &str, environment: &MariadbEnvironment) -> Result<Login, MariadbError> {
        let address = ServerAddress::parse(address)?;
        let given = address.password.clone();
        Ok(Login {
            password: given.or_else(|| environment.password.clone()),
            patience: environment.patience,
            address,
        })
    }

    fn connect(&self) -> Result<ServerConnection, MariadbError> {
        self.connect_within(self.patience)
    }

    /// A connection and what the server is. Reading that is part of connecting: a peer that falls
    /// silent then is left as soon.
    fn connect_and_read(&self) -> Result<(ServerConnection, ServerState), MariadbError> {
        let mut connection = self.connect_within(self.patience.min(CONNECT_MAX))?;
        let state = server::state(&mut connection)?;
        connection.packets.set_patience(self.patience);
        Ok((connection, state))
    }

    fn connect_within(&self, patience: Duration) -> Result<ServerConnection, MariadbError> {
        ServerConnection::open(&self.address, self.password.as_ref(), patience)
    }
}

/// A server on which redolab may commit, for what has a schema of its own there.
pub(crate) struct ServerHandle {
    login: Login,
    state: ServerState,
    /// The server's processes, where redolab made it.
    process: Option<OwnServer>,
}

impl ServerHandle {
    /// Connects to a server, and checks that redolab may commit on it.
    ///
    /// # Errors
    /// The server cannot be used, and what to do.
    pub(crate) fn open(
        address: &str,
        environment: &MariadbEnvironment,
    ) -> Result<ServerHandle, MariadbError> {
        ServerHandle::at(Login::new(address, environment)?)
    }

    fn at(login: Login) -> Result<ServerHandle, MariadbError> {
        let (_, state) = login.connect_and_read()?;
        Ok(ServerHandle {
            login,
            state,
            process: None,
        })
    }

    /// The address without a password.
    pub(crate) fn shown(&self) -> String {
        self.login.address.shown()
    }

    /// Product, version and settings, as they were read at first.
    pub(crate) fn facts(&self) -> DatabaseFacts {
        let mut facts = self.state.facts.clone();
        if self.process.is_some() {
            forget_made_up_names(&mut facts);
        }
        facts
    }

    /// Ends the server, where redolab made it.
    ///
    /// # Errors
    /// It had ended before, and how.
    pub(crate) fn close(&self) -> Result<(), DriverError> {
        self.process.as_ref().map_or(Ok(()), OwnServer::end)
    }

    /// A connection whose answers may take that long; nothing is checked.
    pub(crate) fn patient(&self, patience: Duration) -> Result<ServerConnection, MariadbError> {
        self.login.connect_within(patience)
    }

    /// A connection for a session: the settings are still those that were read at first.
    pub(crate) fn unchanged(&self) -> Result<ServerConnection, MariadbError> {
        let (connection, state) = self.login.connect_and_read()?;
        server::unchanged(&self.state.facts, &state.facts)?;
        Ok(connection)
    }
}

/// Removes from the facts of a private server what redolab has made up, and what differs between
/// any two servers.
fn forget_made_up_names(facts: &mut DatabaseFacts) {
    facts.settings.remove(server::LOG_DIRECTORY);
}

/// A server on which sessions can be opened.
struct Server {
    login: Login,
    state: ServerState,
    lsn: LsnSource,
    clock: RealClock,
    own: Mutex<Own>,
    watch: MariadbWatch,
    /// A session was opened whose commits return before they are durable, as its workload asks for.
    leaves_redo: AtomicBool,
    retiring: Sender<String>,
    /// The server's processes, where redolab made it.
    process: Option<OwnServer>,
}

/// What redolab makes on the server, and knows of it.
struct Own {
    schema: Schema,
    /// Tables of sessions that have ended.
    retired: Receiver<String>,
    /// By the redo of a transaction.
    calibrated: BTreeMap<u32, Calibrated>,
}

impl Own {
    /// Makes a table, and removes those of sessions that have ended.
    fn make_table(&mut self, row_bytes: u32) -> Result<String, MariadbError> {
        while let Ok(table) = self.retired.try_recv() {
            self.schema.retire(table);
        }
        self.schema.make_table(row_bytes)
    }
}

impl Server {
    /// Connects to a server, and checks that redolab may commit on it. Nothing is changed yet.
    fn at(login: Login) -> Result<Server, MariadbError> {
        let (mut connection, state) = login.connect_and_read()?;
        let lsn = LsnSource::find(&mut connection)?;
        let schema = Schema::reserve(connection, login.address.schema())?;
        let (retiring, retired) = channel();
        Ok(Server {
            login,
            state,
            lsn,
            clock: RealClock::new(),
            own: Mutex::new(Own {
                schema,
                retired,
                calibrated: BTreeMap::new(),
            }),
            watch: MariadbWatch::default(),
            leaves_redo: AtomicBool::new(false),
            retiring,
            process: None,
        })
    }

    /// A panic elsewhere leaves the schema to be removed.
    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn row_max(&self) -> u32 {
        row_max(self.state.page_bytes)
    }

    /// The rows of a workload's transaction, which are measured when it is run for the first time.
    fn calibrated(&self, own: &mut Own, workload: &Workload) -> Result<RowLayout, MariadbError> {
        if let Some(found) = own.calibrated.get(&workload.redo_bytes) {
            return Ok(found.layout);
        }
        let table = own.make_table(self.row_max())?;
        let search = Search::new(u64::from(workload.redo_bytes), self.row_max());
        let insert = |layout| Insert::prepare(self.login.connect()?, &table, layout);
        let found = calibrate(insert, self.lsn, self.clock, search);
        own.schema.retire(table.clone());
        let mut found = found?;
        found.measured.workload.clone_from(&workload.name);
        let layout = found.layout;
        own.calibrated.insert(workload.redo_bytes, found);
        Ok(layout)
    }
}

impl Driver for Server {
    fn clock(&self) -> RealClock {
        self.clock
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        Ok(session::accepts(workload, &self.state)?)
    }

    fn prepare(&self, workloads: &[&Workload]) -> Result<(), DriverError> {
        let mut own = self.own();
        for workload in workloads {
            session::accepts(workload, &self.state)?;
            self.calibrated(&mut own, workload)?;
        }
        // Before sessions take the connections that are left. What cannot be read is unknown.
        let _ = self.server_counts();
        Ok(())
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        session::accepts(&load.workload, &self.state)?;
        let mut own = self.own();
        let layout = self.calibrated(&mut own, &load.workload)?;
        session::check_pool(load.pool.len(), layout.row_bytes)?;
        let mut connection = self.login.connect()?;
        let state = server::state(&mut connection)?;
        server::unchanged(&self.state.facts, &state.facts)?;
        let table = SessionTable {
            name: own.make_table(self.row_max())?,
            retired: self.retiring.clone(),
        };
        let insert = Insert::prepare(connection, &table.name, layout)?;
        if load.workload.commit.wait == CommitWait::Nowait {
            self.leaves_redo.store(true, Ordering::Relaxed);
        }
        let commits = self.watch.session();
        let session = MariadbSession::new(insert, table, self.clock, &load, commits);
        Ok(Box::new(session))
    }

    fn server_counts(&self) -> Result<Option<ServerCounts>, DriverError> {
        Ok(Some(self.watch.counts(|| self.login.connect())?))
    }

    fn drain(&self) -> Result<(), DriverError> {
        if self.leaves_redo.swap(false, Ordering::Relaxed) {
            MariadbWatch::await_flush(self.login.connect()?, self.login.patience)?;
        }
        Ok(())
    }

    fn facts(&self) -> TargetFacts {
        let measured = |found: &Calibrated| found.measured.clone();
        let mut facts = self.state.facts.clone();
        facts.calibrations = self.own().calibrated.values().map(measured).collect();
        if self.process.is_some() {
            forget_made_up_names(&mut facts);
        }
        TargetFacts::Database(facts)
    }

    fn close(&self) -> Result<(), DriverError> {
        match &self.process {
            // All of its files are removed next.
            Some(process) => process.end(),
            None => Ok(self.own().schema.remove()?),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_none() {
            // What cannot be removed now is removed by the next run on this server.
            let _ = self.own().schema.remove();
        }
    }
}
