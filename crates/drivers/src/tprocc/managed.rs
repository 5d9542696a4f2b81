//! TPROC-C on private servers: a server is made, its tables are loaded, and it is a target.
//!
//! Invariant: what the load made is on the server only, so that it goes with it.

use super::driver::TprocCDriver;
use super::load::{LoadOptions, LoadProgress};
use super::server::TprocCServer;
use super::{loading, mariadb, postgres};
use measure::driver::{DriverError, DriverKind, OpenedTarget};
use measure::driver::{ManagedFolders, ManagedKind, ManagedPlan};
use measure::workload::Workload;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// The driver of TPROC-C on private PostgreSQL servers.
pub const ON_POSTGRES: DriverKind = DriverKind {
    name: "tprocc-postgres",
    managed: Some(ManagedKind {
        products: &["tprocc-postgres"],
        accepts,
        footprint_bytes: |plan| with_tables(plan, crate::postgres::managed::footprint_bytes),
        making_bytes: |plan| loaded(plan, crate::postgres::managed::making_bytes, POSTGRES_LOAD),
        make: |plan, folders| make(plan, folders, "tprocc-postgres", postgres::make),
    }),
    ..super::KIND
};

/// The driver of TPROC-C on private MariaDB servers.
pub const ON_MARIADB: DriverKind = DriverKind {
    name: "tprocc-mariadb",
    managed: Some(ManagedKind {
        products: &["tprocc-mariadb"],
        accepts,
        footprint_bytes: |plan| with_tables(plan, crate::mariadb::managed::footprint_bytes),
        making_bytes: |plan| loaded(plan, crate::mariadb::managed::making_bytes, MARIADB_LOAD),
        make: |plan, folders| make(plan, folders, "tprocc-mariadb", mariadb::make),
    }),
    ..super::KIND
};

/// The setting of a private server that is not the server's: the number of warehouses.
pub const WAREHOUSES: &str = "warehouses";
/// A warehouse with its indexes.
const WAREHOUSE_BYTES: u64 = 130 << 20;
/// What loading a warehouse on PostgreSQL writes: rows, indexes, their redo, and new files of redo,
/// which are written once before. One warehouse on PostgreSQL 15 took 490 MiB (2026-11-26).
const POSTGRES_LOAD: u64 = 576 << 20;
/// The same on MariaDB, which keeps pages in memory: 75 MiB of redo and pages on 10.11
/// (2026-11-26), and each page may be written twice.
const MARIADB_LOAD: u64 = 160 << 20;
/// Room for what the transactions of a run add.
const GROWTH_BYTES: u64 = 1 << 30;
/// Seed of the rows.
const SEED: u64 = 1;

fn accepts(workload: &Workload, _: &BTreeMap<String, String>) -> Result<(), DriverError> {
    super::driver::accepts(workload)
}

/// What is to be loaded.
fn options(plan: &ManagedPlan) -> Result<LoadOptions, DriverError> {
    let asked = plan.settings.get(WAREHOUSES).map_or("1", String::as_str);
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    let options = asked.parse().ok().map(|warehouses| LoadOptions {
        warehouses,
        seed: SEED,
        connections: processors.clamp(2, 16),
    });
    let options = options.ok_or_else(|| format!("{WAREHOUSES}: {asked} is not a number"));
    options
        .and_then(|options| options.check().map(|()| options))
        .map_err(DriverError::unusable)
}

/// The plan of the server itself.
fn of_server(plan: &ManagedPlan) -> ManagedPlan {
    let mut plan = plan.clone();
    plan.settings.remove(WAREHOUSES);
    plan
}

fn with_tables(plan: &ManagedPlan, of: fn(&ManagedPlan) -> [u64; 2]) -> [u64; 2] {
    // What is wrong with the number is reported when the server is made.
    let warehouses = options(plan).map_or(1, |options| options.warehouses);
    let [data, redo] = of(&of_server(plan));
    let tables = u64::from(warehouses) * WAREHOUSE_BYTES + GROWTH_BYTES;
    [data + tables, redo]
}

/// Starts a server of a plan in its folders.
type StartServer = fn(&ManagedPlan, &ManagedFolders) -> Result<Box<dyn TprocCServer>, DriverError>;

/// Bytes that making a server and loading its tables writes, `each` for a warehouse.
fn loaded(plan: &ManagedPlan, of: fn(&ManagedPlan) -> u64, each: u64) -> u64 {
    let warehouses = options(plan).map_or(1, |options| options.warehouses);
    let tables = each.saturating_mul(warehouses.into());
    of(&of_server(plan)).saturating_add(tables)
}

/// Makes a server, loads its tables, and opens them.
fn make(
    plan: &ManagedPlan,
    folders: &ManagedFolders,
    shown: &str,
    start: StartServer,
) -> Result<OpenedTarget, DriverError> {
    let options = options(plan)?;
    let server = start(&of_server(plan), folders)?;
    let goes_on = |_: &LoadProgress| !plan.interrupted.load(Ordering::Relaxed);
    loading::load(&*server, &options, &goes_on)?;
    Ok(OpenedTarget {
        driver: Box::new(TprocCDriver::open(server)?),
        shown: shown.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::fixture::plan;

    #[test]
    fn warehouses_are_not_a_setting_of_the_server() {
        let asked = plan(&[("warehouses", "3"), ("fsync", "off")]);
        assert_eq!(options(&asked).expect("a number").warehouses, 3);
        assert_eq!(options(&plan(&[])).expect("the default").warehouses, 1);
        let left: Vec<String> = of_server(&asked).settings.into_keys().collect();
        assert_eq!(left, ["fsync"]);
        for wrong in ["0", "-1", "x", ""] {
            let error = options(&plan(&[("warehouses", wrong)])).expect_err(wrong);
            assert!(
                error.is_unusable() && error.to_string().contains("warehouses"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_room_for_data_grows_with_the_warehouses() {
        let bytes = |number: &str| {
            let plan = plan(&[("warehouses", number)]);
            let kinds = [ON_POSTGRES, ON_MARIADB].map(|kind| kind.managed.expect("it makes them"));
            kinds.map(|kind| (kind.footprint_bytes)(&plan))
        };
        for (one, ten) in bytes("1").into_iter().zip(bytes("10")) {
            assert_eq!(ten[0] - one[0], 9 * WAREHOUSE_BYTES);
            assert_eq!(ten[1], one[1]);
        }
    }
}
