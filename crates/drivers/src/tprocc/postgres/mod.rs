//! TPROC-C on PostgreSQL: tables and routines in a schema of redolab's own, the load by COPY, one
//! prepared call per transaction.

mod call;
mod copy;
mod schema;
mod statements;

use super::contents::TprocCTable;
use super::load::LoadPhase;
use super::server::{CallConnection, LONG, SchemaConnection, SchemaTask, TprocCServer};
use crate::managed::GuardProgram;
use crate::postgres::{ClientEnvironment, Server, managed};
use call::PostgresCalls;
use measure::RealClock;
use measure::driver::{
    Driver, DriverError, ManagedFolders, ManagedPlan, ServerCounts, WaitSampling,
};
use measure::run::TargetFacts;
use schema::PostgresSchema;
use std::time::Duration;

/// What connections of a load set: they need not wait for each commit, and build indexes in memory.
/// The last statement of a load is durable, and so is everything before it.
const LOAD_SETTINGS: &str = "SET synchronous_commit = off; SET maintenance_work_mem = '128MB'; \
     SET client_min_messages = error";

/// Connects to a PostgreSQL server, on which redolab may commit.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn server(
    address: &str,
    environment: &ClientEnvironment,
) -> Result<Box<dyn TprocCServer>, DriverError> {
    Ok(Box::new(PostgresTables {
        server: Server::open(address, environment)?,
    }))
}

/// Makes and starts a private server, without tables yet.
///
/// # Errors
/// As of a private server of the driver `postgres`.
pub fn make(
    plan: &ManagedPlan,
    folders: &ManagedFolders,
) -> Result<Box<dyn TprocCServer>, DriverError> {
    Ok(Box::new(PostgresTables {
        server: managed::start(plan, folders, &GuardProgram::own())?,
    }))
}

/// A PostgreSQL server with tables of TPROC-C.
struct PostgresTables {
    server: Server,
}

impl TprocCServer for PostgresTables {
    fn shown(&self) -> String {
        self.server.shown()
    }

    fn clock(&self) -> RealClock {
        Driver::clock(&self.server)
    }

    fn facts(&self) -> TargetFacts {
        Driver::facts(&self.server)
    }

    fn connect(&self, task: SchemaTask) -> Result<Box<dyn SchemaConnection>, DriverError> {
        let mut connection = match task {
            SchemaTask::Control => self.server.unchanged()?,
            SchemaTask::Maintenance | SchemaTask::Load => self.server.patient(LONG)?,
        };
        if task == SchemaTask::Load {
            connection.query(LOAD_SETTINGS)?;
        }
        Ok(Box::new(PostgresSchema(connection)))
    }

    fn user(&self) -> Result<Box<dyn CallConnection>, DriverError> {
        let (connection, backend) = self.server.watched()?;
        Ok(Box::new(PostgresCalls::prepare(connection, backend)?))
    }

    fn finishing(&self, phase: LoadPhase) -> Vec<String> {
        match phase {
            LoadPhase::Rows => Vec::new(),
            LoadPhase::Indexes => statements::INDEXES.map(str::to_owned).into(),
            LoadPhase::Statistics => TprocCTable::ALL.map(statements::vacuum).into(),
        }
    }

    fn server_counts(&self) -> Result<ServerCounts, DriverError> {
        let counts = Driver::server_counts(&self.server)?;
        Ok(counts.unwrap_or_default())
    }

    fn statistics_delay(&self) -> Duration {
        Driver::statistics_delay(&self.server)
    }

    fn sample_waits(&self) -> Result<Option<Box<dyn WaitSampling>>, DriverError> {
        Driver::sample_waits(&self.server)
    }

    fn close(&self) -> Result<(), DriverError> {
        Driver::close(&self.server)
    }
}
