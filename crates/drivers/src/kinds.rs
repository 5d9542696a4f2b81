//! Which drivers there are.

use crate::{mariadb, postgres, tprocc};
use measure::driver::DriverKind;

/// The drivers that open targets by their address.
pub const KINDS: &[DriverKind] = &[
    postgres::KIND,
    mariadb::KIND,
    tprocc::KIND,
    tprocc::ON_POSTGRES,
    tprocc::ON_MARIADB,
];
