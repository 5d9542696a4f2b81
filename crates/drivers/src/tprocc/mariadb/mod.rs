//! TPROC-C on MariaDB and MySQL: tables and procedures in a schema of redolab's own, the load by
//! INSERT of many rows, one CALL per transaction.

mod call;
mod schema;
mod statements;

use super::contents::TprocCTable;
use super::load::LoadPhase;
use super::server::{CallConnection, LONG, SchemaConnection, SchemaTask, TprocCServer};
use crate::managed::GuardProgram;
use crate::mariadb::{MariadbEnvironment, ServerHandle, counts, managed};
use call::MariadbCalls;
use measure::RealClock;
use measure::driver::{DriverError, ManagedFolders, ManagedPlan, ServerCounts};
use measure::run::TargetFacts;
use schema::MariadbSchema;
use std::time::Duration;

/// Connects to a MariaDB or MySQL server, on which redolab may commit.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn server(
    address: &str,
    environment: &MariadbEnvironment,
) -> Result<Box<dyn TprocCServer>, DriverError> {
    Ok(Box::new(MariadbTables {
        server: ServerHandle::open(address, environment)?,
        clock: RealClock::new(),
    }))
}

/// Makes and starts a private server, without tables yet.
///
/// # Errors
/// As of a private server of the driver `mariadb`.
pub fn make(
    plan: &ManagedPlan,
    folders: &ManagedFolders,
) -> Result<Box<dyn TprocCServer>, DriverError> {
    Ok(Box::new(MariadbTables {
        server: managed::start(plan, folders, &GuardProgram::own())?,
        clock: RealClock::new(),
    }))
}

/// A MariaDB or MySQL server with tables of TPROC-C.
struct MariadbTables {
    server: ServerHandle,
    clock: RealClock,
}

impl TprocCServer for MariadbTables {
    fn shown(&self) -> String {
        self.server.shown()
    }

    fn clock(&self) -> RealClock {
        self.clock
    }

    fn facts(&self) -> TargetFacts {
        TargetFacts::Database(self.server.facts())
    }

    fn connect(&self, task: SchemaTask) -> Result<Box<dyn SchemaConnection>, DriverError> {
        let connection = match task {
            SchemaTask::Control => self.server.unchanged()?,
            SchemaTask::Maintenance | SchemaTask::Load => self.server.patient(LONG)?,
        };
        Ok(Box::new(MariadbSchema::new(connection)?))
    }

    fn user(&self) -> Result<Box<dyn CallConnection>, DriverError> {
        Ok(Box::new(MariadbCalls::new(self.server.unchanged()?)?))
    }

    /// The primary keys and the indexes are made with the tables.
    fn finishing(&self, phase: LoadPhase) -> Vec<String> {
        match phase {
            LoadPhase::Rows | LoadPhase::Indexes => Vec::new(),
            LoadPhase::Statistics => TprocCTable::ALL.map(statements::analyze).into(),
        }
    }

    fn server_counts(&self) -> Result<ServerCounts, DriverError> {
        Ok(counts::read(&mut self.server.unchanged()?)?)
    }

    fn close(&self) -> Result<(), DriverError> {
        self.server.close()
    }

    /// Counters are read as they are.
    fn statistics_delay(&self) -> Duration {
        Duration::ZERO
    }
}
