//! A MariaDB server of redolab's own: made by `mariadb-install-db`, started behind a guard, reached
//! through a Unix socket that only its account and root can enter, and ended.
//!
//! Invariants: it listens on no network address, has no password and reads no file of options; its
//! redo log is in the directory of redo and was written once over its whole length; it is as
//! durable as a server of defaults, unless settings were asked for.

use super::address::ServerAddress;
use super::connection::ServerConnection;
use super::error::MariadbError;
use super::programs::{self, MariadbPrograms};
use super::server::ServerState;
use super::session;
use super::{Login, MariadbEnvironment, Server, ServerHandle};
use crate::client::SocketError;
use crate::managed::{
    EndSignals, GuardProgram, ManagedError, OwnServer, ServerAccount, ServerOrder, ServerPlaces,
    await_ready, check_interrupted, fill, merged, refuse_reserved,
};
use measure::driver::{DriverError, ManagedFolders, ManagedKind, ManagedPlan, OpenedTarget};
use measure::words::sanitize;
use std::ffi::OsString;
use std::time::Duration;

/// What redolab does with servers of its own.
pub const MANAGED: ManagedKind = ManagedKind {
    products: &["mariadb"],
    accepts: |workload, settings| {
        let mut state = ServerState::of_defaults();
        let all = merged(&SETTINGS, settings, canonical).into_iter();
        state.facts.settings = all.map(|(name, value)| (canonical(&name), value)).collect();
        Ok(session::accepts(workload, &state)?)
    },
    footprint_bytes,
    making_bytes,
    make: |plan, folders| make(plan, folders, &GuardProgram::own()),
};

/// The account of the packages of distributions.
const ACCOUNT: &str = "mysql";
/// The only user, which the installation makes; it can connect through the socket only.
const USER: &str = "root";
/// The server's name for its socket, from its data directory.
const SOCKET: &str = "server.sock";
/// The only product whose servers are made.
const PRODUCT: &str = "MariaDB";
/// System tables and temporary tablespace take 60 MB; the rest is for the tables of a short run.
const DATA_BYTES: u64 = 1 << 30;
/// The size of the redo log, and the setting that changes it.
const LOG_BYTES: u64 = 1 << 30;
const LOG_SIZE: &str = "innodb_log_file_size";
/// What the names of files of the redo log begin with.
const LOG_FILE: &str = "ib_logfile";
/// The setting of private PostgreSQL servers that makes standbys.
const STANDBYS: &str = "standbys";
/// Without the redo log, a server that was made and started has written 43 MiB (2026-11-26,
/// MariaDB 10.11).
const MAKING_BYTES: u64 = 96 << 20;
const INIT_MAX: Duration = Duration::from_secs(300);
/// SIGTERM asks for an orderly end; the files are removed, so SIGKILL harms nothing.
const SIGNALS: EndSignals = EndSignals {
    in_order: 15,
    at_once: 9,
};
/// The installation is a script, which ends what it started by SIGTERM.
const SCRIPT_SIGNALS: EndSignals = EndSignals {
    in_order: 15,
    at_once: 15,
};

/// Settings of the server that redolab chooses; most are MariaDB's defaults.
const SETTINGS: [(&str, &str); 5] = [
    // Twice the default, so that a short row is not a test of writing pages; used as it fills.
    ("innodb_buffer_pool_size", "256M"),
    // Pages are not written at the end: the files are removed.
    ("innodb_fast_shutdown", "2"),
    ("innodb_flush_log_at_trx_commit", "1"),
    // Half a million commits of 2 kB without a forced checkpoint.
    (LOG_SIZE, "1G"),
    ("max_connections", "1000"),
];
/// Settings that have to be known when the files are made.
const SHAPING: [&str; 7] = [
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    LOG_SIZE,
    "innodb_log_files_in_group",
    "innodb_page_size",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
];
/// Settings by which redolab reaches and finds the server and its files.
const RESERVED: [&str; 20] = [
    "basedir",
    "bind_address",
    "bootstrap",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "defaults_group_suffix",
    "help",
    "init_file",
    "innodb_log_group_home_dir",
    "log_error",
    "networking",
    "no_defaults",
    "pid_file",
    "port",
    "print_defaults",
    "socket",
    "tmpdir",
    "user",
    "version",
];

/// The name of a setting as the server knows it: `--Skip-Networking` is `networking`.
fn canonical(name: &str) -> String {
    let name = name.to_lowercase().replace('-', "_");
    let bare = ["loose_", "skip_", "disable_", "enable_"]
        .iter()
        .fold(name.as_str(), |name, prefix| {
            name.strip_prefix(prefix).unwrap_or(name)
        });
    bare.to_owned()
}

/// Bytes as options write them: `64M`.
fn bytes_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes of a new server: data, redo.
pub fn footprint_bytes(plan: &ManagedPlan) -> [u64; 2] {
    let is_size = |(name, _): &(&String, &String)| canonical(name) == LOG_SIZE;
    let asked = plan.settings.iter().find(is_size);
    // What is wrong with the number is reported when the server is made.
    let log = asked.and_then(|(_, value)| bytes_of(value));
    [DATA_BYTES, log.unwrap_or(LOG_BYTES)]
}

/// Bytes that making a server writes: its redo log is written once over its whole length.
pub fn making_bytes(plan: &ManagedPlan) -> u64 {
    footprint_bytes(plan)[1].saturating_add(MAKING_BYTES)
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
    let handle = start(plan, folders, guard)?;
    let mut server = Server::at(handle.login)?;
    server.process = handle.process;
    Ok(OpenedTarget {
        driver: Box::new(server),
        shown: "mariadb".to_owned(),
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
) -> Result<ServerHandle, DriverError> {
    refuse_reserved(&plan.settings, &RESERVED, canonical)?;
    if plan.settings.contains_key(STANDBYS) {
        return Err(DriverError::unusable(format!(
            "{STANDBYS}: only private PostgreSQL servers have standbys (--driver postgres); leave \
             it out for MariaDB"
        )));
    }
    let programs = programs::find(plan.programs.as_deref())?;
    let account = ServerAccount::for_server(ACCOUNT)?;
    let places = ServerPlaces::make(folders, account)?;
    initialise(&places, &programs, plan, guard)?;
    check_interrupted(plan, "a server was made")?;
    fill_log(&places, plan)?;
    check_interrupted(plan, "a server was made")?;
    let order = start_order(&places, &programs, plan);
    let mut process = places.start(guard, order)?;
    let connect = || {
        let login = Login {
            address: ServerAddress::of_socket(places.cluster.path().join(SOCKET), USER),
            password: None,
            patience: MariadbEnvironment::PATIENCE,
        };
        ServerHandle::at(login)
    };
    let mut server = await_ready(&mut process, plan, connect, is_starting)?;
    check_product(&server.state)?;
    check_taken(&mut server.login.connect()?, plan)?;
    server.process = Some(OwnServer::new(process, Vec::new()));
    Ok(server)
}

/// Makes the system tables. What is written is not flushed: the server is thrown away after a
/// crash.
fn initialise(
    places: &ServerPlaces,
    programs: &MariadbPrograms,
    plan: &ManagedPlan,
    guard: &GuardProgram,
) -> Result<(), ManagedError> {
    // The script takes options of the server apart at blanks, so a path must have none.
    let linked = places.data.make_link("redo", places.wal.path().as_os_str());
    linked.map_err(ManagedError::system("a link to the directory of redo"))?;
    let fixed = [
        "--no-defaults",
        // Without looking up the name of the machine.
        "--force",
        "--skip-test-db",
        "--auth-root-authentication-method=normal",
        "--innodb-log-group-home-dir=../redo",
        "--tmpdir=.",
        "--innodb-flush-method=nosync",
    ];
    let mut arguments: Vec<OsString> = fixed.map(OsString::from).to_vec();
    arguments.push(option("--datadir=", places.cluster.path()));
    for (name, value) in merged(&SETTINGS, &plan.settings, canonical) {
        if SHAPING.contains(&canonical(&name).as_str()) {
            arguments.push(format!("--{name}={value}").into());
        }
    }
    let order = places.order(programs.install.clone(), arguments, SCRIPT_SIGNALS);
    let order = ServerOrder {
        starts_others: true,
        ..order
    };
    places.start(guard, order)?.run(INIT_MAX)
}

/// Writes the redo log once over its whole length, as a server in use has done.
fn fill_log(places: &ServerPlaces, plan: &ManagedPlan) -> Result<(), ManagedError> {
    let failed = || ManagedError::system(places.wal.path().display().to_string());
    for name in places.wal.names().map_err(failed())? {
        if name.to_string_lossy().starts_with(LOG_FILE) {
            fill(&places.wal, &name, &plan.interrupted).map_err(failed())?;
        }
    }
    Ok(())
}

fn start_order(
    places: &ServerPlaces,
    programs: &MariadbPrograms,
    plan: &ManagedPlan,
) -> ServerOrder {
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into()];
    if !plan
        .settings
        .keys()
        .any(|name| canonical(name) == "log_bin")
    {
        arguments.push("--skip-log-bin".into());
    }
    for (name, value) in merged(&SETTINGS, &plan.settings, canonical) {
        arguments.push(format!("--{name}={value}").into());
    }
    // The last option of a name counts. The server resolves relative paths in its data directory.
    let fixed = ["--skip-networking", "--tmpdir=.", "--pid-file=server.pid"];
    arguments.extend(fixed.map(OsString::from));
    arguments.push(format!("--socket={SOCKET}").into());
    arguments.push(option("--datadir=", places.cluster.path()));
    arguments.push(option("--innodb-log-group-home-dir=", places.wal.path()));
    places.order(programs.server.clone(), arguments, SIGNALS)
}

fn option(name: &str, path: &std::path::Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Whether a server that has just been started may give this answer.
fn is_starting(error: &MariadbError) -> bool {
    matches!(
        error,
        MariadbError::Unreachable { .. } | MariadbError::Socket(SocketError::Closed(_))
    )
}

fn check_product(state: &ServerState) -> Result<(), MariadbError> {
    match state.facts.product.as_str() {
        PRODUCT => Ok(()),
        other => Err(MariadbError::Unusable(format!(
            "the programs are those of {other}, and redolab makes private servers of {PRODUCT} \
             only: name its programs with --server-bin"
        ))),
    }
}

/// Whether the server has taken the numbers that were asked for: it replaces one that is out of
/// range by another, with no more than a warning in its log.
fn check_taken(connection: &mut ServerConnection, plan: &ManagedPlan) -> Result<(), MariadbError> {
    for (name, asked) in &plan.settings {
        let Some(number) = bytes_of(asked) else {
            continue;
        };
        let known = canonical(name);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !known.chars().all(is_name) {
            continue;
        }
        let rows = connection.query(&format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name = '{known}'"
        ))?;
        let value = rows.into_iter().flatten().flatten().nth(1);
        if let Some(value) = value.filter(|value| value.parse().is_ok_and(|set: u64| set != number))
        {
            return Err(MariadbError::Unusable(format!(
                "the setting {name}={}: the server uses {value} instead; ask for a value that it \
                 accepts",
                sanitize::line(asked)
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::fixture::{folders, plan};

    #[test]
    fn every_way_to_write_a_setting_is_one_name() {
        for name in [
            "skip_networking",
            "Skip-Networking",
            "loose-skip-networking",
        ] {
            assert_eq!(canonical(name), "networking", "{name}");
            let guard = GuardProgram::own();
            let Err(error) = make(&plan(&[(name, "0")]), &folders(), &guard) else {
                panic!("{name} was accepted");
            };
            assert!(error.to_string().contains("redolab's own"), "{error}");
        }
        for name in RESERVED.iter().chain(&SHAPING) {
            assert_eq!(canonical(name), *name);
        }
    }

    #[test]
    fn the_room_for_redo_is_that_of_the_setting() {
        for (text, bytes) in [
            ("64M", Some(64 << 20)),
            ("2g", Some(2 << 30)),
            ("4096", Some(4096)),
            ("1X", None),
            ("G", None),
            ("", None),
            ("99999999T", None),
        ] {
            assert_eq!(bytes_of(text), bytes, "{text}");
        }
        assert_eq!(footprint_bytes(&plan(&[])), [DATA_BYTES, LOG_BYTES]);
        let larger = plan(&[("innodb-log-file-size", "4G")]);
        assert_eq!(footprint_bytes(&larger), [DATA_BYTES, 4 << 30]);
        let own = SETTINGS.iter().find(|(name, _)| *name == LOG_SIZE);
        assert_eq!(own.and_then(|(_, value)| bytes_of(value)), Some(LOG_BYTES));
    }

    #[test]
    fn a_private_server_has_no_standbys() {
        let asked = plan(&[("standbys", "1")]);
        let Err(error) = make(&asked, &folders(), &GuardProgram::own()) else {
            panic!("it was made");
        };
        assert!(
            error.is_unusable() && error.to_string().contains("PostgreSQL"),
            "{error}"
        );
    }
}
