//! TPROC-C, the transactions of an order entry as HammerDB defines them, on database servers.
//!
//! What lives here is independent of the server: the mix ([`mix`]), users with the parameters of
//! their transactions ([`user`]), random data ([`random`]), the rows to load ([`contents`]), the
//! load, the sessions, and the consistency conditions ([`conditions`]). [`server`] is the seam to
//! the servers: [`postgres`] and [`mariadb`] have their statements and their protocols. NOPM and
//! TPM are computed by `measure::record` from the readings that a driver returns.
//!
//! Sources: the public description of TPC-C (revision 5.11) for tables and transactions, HammerDB's
//! documented behaviour for the mix, the parameters, NOPM and TPM. Results are not comparable with
//! published TPC-C results.

pub mod conditions;
pub mod contents;
mod driver;
pub mod load;
mod loading;
mod managed;
pub mod mariadb;
pub mod mix;
pub mod postgres;
pub mod random;
pub mod rows;
pub mod scale;
mod schema;
pub mod server;
mod session;
mod tally;
pub mod user;

pub use loading::load;

use crate::mariadb::MariadbEnvironment;
use crate::postgres::ClientEnvironment;
use driver::TprocCDriver;
use measure::driver::{DriverError, DriverKind, OpenedTarget};
use measure::run::ConsistencyCondition;
use server::{SchemaTask, SchemaUse, TprocCServer};

pub use managed::{ON_MARIADB, ON_POSTGRES, WAREHOUSES};

/// The driver of TPROC-C: opens a schema that was loaded.
pub const KIND: DriverKind = DriverKind {
    name: "tprocc",
    schemes: &[],
    address: "postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST:PORT/DATABASE",
    open: |address| open(connect(address)?),
    managed: None,
};

/// Connects to the server at an address, as this process may.
///
/// # Errors
/// The server cannot be used, and what to do.
pub fn connect(address: &str) -> Result<Box<dyn TprocCServer>, DriverError> {
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    if crate::postgres::KIND.schemes.contains(&scheme) {
        return postgres::server(address, &ClientEnvironment::of_process());
    }
    if crate::mariadb::KIND.schemes.contains(&scheme) {
        return mariadb::server(address, &MariadbEnvironment::of_process());
    }
    // Nothing of the text is quoted: it may contain a password.
    Err(DriverError::unusable(format!(
        "the address is not usable: write {}",
        KIND.address
    )))
}

/// Opens a loaded schema.
///
/// # Errors
/// The server cannot be used, or the schema is not loaded.
pub fn open(server: Box<dyn TprocCServer>) -> Result<OpenedTarget, DriverError> {
    let shown = server.shown();
    Ok(OpenedTarget {
        driver: Box::new(TprocCDriver::open(server)?),
        shown,
    })
}

/// Checks the consistency conditions of a loaded schema that no transaction changes meanwhile.
///
/// # Errors
/// The server cannot be used, or the schema is not loaded.
pub fn check(server: &dyn TprocCServer) -> Result<Vec<ConsistencyCondition>, DriverError> {
    let mut connection = server.connect(SchemaTask::Maintenance)?;
    schema::lock(&mut *connection, SchemaUse::Shared)?;
    let warehouses = schema::loaded(&mut *connection)?;
    schema::conditions(&mut *connection, warehouses)
}

/// Removes the schema. Whether there was one.
///
/// # Errors
/// The server cannot be used, the schema is not redolab's, or somebody uses it.
pub fn drop_schema(server: &dyn TprocCServer) -> Result<bool, DriverError> {
    let mut connection = server.connect(SchemaTask::Maintenance)?;
    schema::lock(&mut *connection, SchemaUse::Alone)?;
    schema::drop(&mut *connection)
}
