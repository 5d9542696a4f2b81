//! TPROC-C on PostgreSQL: tables and routines in a schema of redolab's own, the load by COPY, a
//! session with one call per transaction.
//!
//! Invariants: nothing outside the schema is changed; a schema of that name which redolab did not
//! make is refused.

mod copy;
mod driver;
mod loading;
mod schema;
mod session;
mod statements;
mod tally;

use super::load::{LoadOptions, LoadProgress, LoadResult};
use crate::postgres::{ClientEnvironment, Server};
use driver::{LONG, TprocCDriver};
use measure::driver::{DriverError, OpenedTarget};
use measure::run::ConsistencyCondition;
use schema::SchemaUse;

/// Opens a loaded schema.
///
/// # Errors
/// The server cannot be used, or the schema is not loaded.
pub fn open(address: &str, environment: &ClientEnvironment) -> Result<OpenedTarget, DriverError> {
    let server = Server::open(address, environment)?;
    let shown = server.shown();
    Ok(OpenedTarget {
        driver: Box::new(TprocCDriver::open(server)?),
        shown,
    })
}

/// Loads the schema; `progress` returns whether to go on.
///
/// # Errors
/// The server cannot be used, there is a schema already, or the load was cancelled.
pub fn load(
    address: &str,
    environment: &ClientEnvironment,
    options: &LoadOptions,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<LoadResult, DriverError> {
    let server = Server::open(address, environment)?;
    Ok(loading::load(&server, options, progress)?)
}

/// Checks the consistency conditions of a loaded schema that no transaction changes meanwhile.
///
/// # Errors
/// The server cannot be used, or the schema is not loaded.
pub fn check(
    address: &str,
    environment: &ClientEnvironment,
) -> Result<Vec<ConsistencyCondition>, DriverError> {
    let mut connection = Server::open(address, environment)?.patient(LONG)?;
    schema::lock(&mut connection, SchemaUse::Shared)?;
    let warehouses = schema::loaded(&mut connection)?;
    Ok(schema::conditions(&mut connection, warehouses)?)
}

/// Removes the schema. Whether there was one.
///
/// # Errors
/// The server cannot be used, the schema is not redolab's, or somebody uses it.
pub fn drop_schema(address: &str, environment: &ClientEnvironment) -> Result<bool, DriverError> {
    let mut connection = Server::open(address, environment)?.patient(LONG)?;
    schema::lock(&mut connection, SchemaUse::Alone)?;
    Ok(schema::drop(&mut connection)?)
}
