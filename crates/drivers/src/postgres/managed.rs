//! A PostgreSQL server of redolab's own: made by `initdb`, started behind a guard, reached through
//! a Unix socket that only its account and root can enter, and ended.
//!
//! Invariants: it listens on no network address and has no password; it is as durable as a server
//! of defaults, unless settings were asked for.

use super::error::PostgresError;
use super::programs::{self, PORT, SIGNALS, USER, canonical, start_order};
use super::session;
use super::standbys;
use super::url::{Address, Host};
use super::{ClientEnvironment, Server};
use crate::client::SocketError;
use crate::managed::{
    GuardProgram, ManagedError, OwnServer, ServerAccount, ServerPlaces, await_ready,
    check_interrupted, refuse_reserved,
};
use measure::driver::{DriverError, ManagedFolders, ManagedKind, ManagedPlan, OpenedTarget};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// What redolab does with servers of its own.
pub const MANAGED: ManagedKind = ManagedKind {
    products: &["postgres", "postgresql"],
    accepts: |workload, _| Ok(session::messages_of(workload, false).map(drop)?),
    footprint_bytes,
    making_bytes,
    make: |plan, folders| make(plan, folders, &GuardProgram::own()),
};

/// The account of Debian's and Red Hat's packages.
const ACCOUNT: &str = "postgres";
const DATABASE: &str = "postgres";
/// A new cluster takes about 40 MB, and 16 MB of WAL.
const DATA_BYTES: u64 = 64 << 20;
const WAL_BYTES: u64 = (1 << 30) + (128 << 20);
/// A cluster that was made and started has written 50 MiB (2026-11-26, PostgreSQL 15).
const MAKING_BYTES: u64 = 96 << 20;
const INIT_MAX: Duration = Duration::from_secs(300);

/// Settings by which redolab reaches and finds the server.
const RESERVED: [&str; 8] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
];

/// Bytes of a new server and its standbys: data, redo.
pub fn footprint_bytes(plan: &ManagedPlan) -> [u64; 2] {
    // What is wrong with the number is reported when the server is made.
    let servers = 1 + u64::from(standbys::wanted(plan).unwrap_or(0));
    [servers * DATA_BYTES, servers * WAL_BYTES]
}

/// Bytes that making a server and its standbys writes.
pub fn making_bytes(plan: &ManagedPlan) -> u64 {
    (1 + u64::from(standbys::wanted(plan).unwrap_or(0))) * MAKING_BYTES
}

/// Makes and starts a server as a target.
///
/// # Errors
/// As of [`start`].
pub fn make(
    plan: &ManagedPlan,
    folders: &ManagedFolders,
    guard: &GuardProgram,
) -> Result<OpenedTarget, DriverError> {
    Ok(OpenedTarget {
        driver: Box::new(start(plan, folders, guard)?),
        shown: "postgres".to_owned(),
    })
}

/// Makes and starts a server.
///
/// # Errors
/// Programs that are missing, an account that cannot enter the directories, a setting that the
/// server refuses; each with what to do.
pub fn start(
    plan: &ManagedPlan,
    folders: &ManagedFolders,
    guard: &GuardProgram,
) -> Result<Server, DriverError> {
    refuse_reserved(&plan.settings, &RESERVED, canonical)?;
    let programs = programs::directory(plan.programs.as_deref())?;
    let account = ServerAccount::for_server(ACCOUNT)?;
    let count = standbys::wanted(plan)?;
    standbys::round_trip(plan)?;
    let places = ServerPlaces::make(folders, account)?;
    initialise(&places, &programs, guard)?;
    check_interrupted(plan, "a server was made")?;
    let order = start_order(
        &places,
        &programs,
        &standbys::settings(plan),
        ("redolab", PORT),
    );
    let mut primary = places.start(guard, order)?;
    let connect = || Server::at(address(&places), &ClientEnvironment::none());
    let mut server = await_ready(&mut primary, plan, connect, is_starting)?;
    let copies = (1..=count)
        .map(|number| standbys::start(number, &programs, guard, &places, plan))
        .collect::<Result<Vec<_>, _>>();
    let mut copies = copies?;
    if count > 0 {
        standbys::await_streaming(&server.address, &mut copies, plan)?;
        standbys::require(&server.address, count, plan)?;
        server.facts = server.connect()?.1;
    }
    let (processes, relays) = copies
        .into_iter()
        .map(|copy| (copy.process, copy.relay))
        .unzip();
    server.own = Some(OwnServer::new(primary, processes));
    server.relays = relays;
    Ok(server)
}

/// Makes the cluster. What it writes is not flushed: the server is thrown away after a crash.
fn initialise(
    places: &ServerPlaces,
    programs: &Path,
    guard: &GuardProgram,
) -> Result<(), ManagedError> {
    let mut arguments: Vec<OsString> = ["--auth=trust", "--no-sync", "--no-locale"]
        .iter()
        .chain(&["--encoding=UTF8", "--username", USER, "--pgdata"])
        .map(OsString::from)
        .collect();
    arguments.push(places.cluster.path().into());
    arguments.push("--waldir".into());
    arguments.push(places.wal.path().into());
    let order = places.order(programs.join("initdb"), arguments, SIGNALS);
    places.start(guard, order)?.run(INIT_MAX)
}

fn address(places: &ServerPlaces) -> Address {
    Address {
        host: Host::Directory(places.cluster.path().to_owned()),
        port: PORT,
        user: USER.to_owned(),
        database: DATABASE.to_owned(),
        password: None,
        ssl_mode: None,
        allows_logical_slots: true,
    }
}

/// Whether a server that has just been started may give this answer.
fn is_starting(error: &PostgresError) -> bool {
    match error {
        PostgresError::Unreachable { .. } | PostgresError::Socket(SocketError::Closed(_)) => true,
        // cannot_connect_now
        PostgresError::Server(message) => message.code == "57P03",
        _ => false,
    }
}
