//! TPROC-C, the transactions of an order entry as HammerDB defines them, on database servers.
//!
//! What lives here is independent of the server: the mix ([`mix`]), users with the parameters of
//! their transactions ([`user`]), random data ([`random`]), the rows to load ([`contents`]) and the
//! consistency conditions ([`conditions`]). [`postgres`] has the statements of PostgreSQL. NOPM and
//! TPM are computed by `measure::record` from the readings that a driver returns.
//!
//! Sources: the public description of TPC-C (revision 5.11) for tables and transactions, HammerDB's
//! documented behaviour for the mix, the parameters, NOPM and TPM. Results are not comparable with
//! published TPC-C results.

pub mod conditions;
pub mod contents;
pub mod load;
pub mod mix;
pub mod postgres;
pub mod random;
pub mod rows;
pub mod scale;
pub mod user;

use crate::postgres::ClientEnvironment;
use measure::driver::DriverKind;

/// The driver of TPROC-C: opens a schema that was loaded.
pub const KIND: DriverKind = DriverKind {
    name: "tprocc",
    schemes: &[],
    address: "postgres://USER@HOST:PORT/DATABASE",
    open: |address| postgres::open(address, &ClientEnvironment::of_process()),
    managed: None,
};
