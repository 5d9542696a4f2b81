//! A PostgreSQL server of redolab's own: made by `initdb`, started behind a guard, reached through
//! a Unix socket that only its account and root can enter, and ended.
//!
//! Its files: in the directory of data `cluster` (the data directory) and `server.log`; in the
//! directory of redo `wal`, the directory of the WAL. Invariants: it listens on no network address
//! and has no password; it is as durable as a server of defaults, unless settings were asked for.

use super::error::PostgresError;
use super::programs;
use super::session;
use super::url::{Address, Host};
use super::{ClientEnvironment, Server};
use crate::managed::{Account, GuardProgram, GuardedProcess, ManagedError, ServerOrder};
use measure::RealClock;
use measure::driver::{
    Driver, DriverError, DriverSession, ManagedKind, ManagedPlan, OpenedTarget, SessionLoad,
};
use measure::run::TargetFacts;
use measure::workload::Workload;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What redolab does with servers of its own.
pub const MANAGED: ManagedKind = ManagedKind {
    accepts: |workload| Ok(session::accepts(workload)?),
    footprint_bytes,
    make: |plan| make(plan, &GuardProgram::own()),
};

/// The account of Debian's and Red Hat's packages.
const ACCOUNT: &str = "postgres";
/// The only user and its database.
const USER: &str = "redolab";
const DATABASE: &str = "postgres";
const PORT: u16 = 5432;
/// The largest sum of WAL files between checkpoints, PostgreSQL's default.
const MAX_WAL: &str = "1GB";
/// A new cluster takes about 40 MB, and 16 MB of WAL.
const DATA_BYTES: u64 = 64 << 20;
const WAL_BYTES: u64 = (1 << 30) + (128 << 20);
const INIT_MAX: Duration = Duration::from_secs(300);
const START_MAX: Duration = Duration::from_secs(120);
const END_MAX: Duration = Duration::from_secs(60);
const KILL_MAX: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;

/// Settings of the server that are not PostgreSQL's defaults.
const SETTINGS: [(&str, &str); 5] = [
    // Each message takes a transaction id; a vacuum of the whole cluster would disturb a long run.
    ("autovacuum_freeze_max_age", "2000000000"),
    ("max_connections", "1000"),
    ("max_wal_size", MAX_WAL),
    ("track_wal_io_timing", "on"),
    ("unix_socket_permissions", "0700"),
];
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

fn footprint_bytes(_: &ManagedPlan) -> [u64; 2] {
    [DATA_BYTES, WAL_BYTES]
}

/// Makes and starts a server.
///
/// # Errors
/// Programs that are missing, an account that cannot enter the directories, a setting that the
/// server refuses; each with what to do.
pub fn make(plan: &ManagedPlan, guard: &GuardProgram) -> Result<OpenedTarget, DriverError> {
    let reserved = |name: &&String| RESERVED.contains(&name.to_lowercase().as_str());
    if let Some(name) = plan.settings.keys().find(reserved) {
        return Err(DriverError::unusable(format!(
            "the setting {name} is redolab's own on a server that it makes"
        )));
    }
    let programs = programs::directory(plan.programs.as_deref()).map_err(unusable)?;
    let account = Account::for_server(ACCOUNT).map_err(unusable)?;
    let places = Places::make(plan, account).map_err(failed)?;
    places.initialise(&programs, guard).map_err(failed)?;
    if plan.interrupted.load(Ordering::Relaxed) {
        return Err(DriverError::failed("interrupted while a server was made"));
    }
    let process = GuardedProcess::start(guard, places.server(&programs, plan)).map_err(failed)?;
    let server = await_ready(process, &places, plan)?;
    Ok(OpenedTarget {
        driver: Box::new(server),
        shown: "postgres".to_owned(),
    })
}

fn unusable(error: ManagedError) -> DriverError {
    DriverError::unusable(error.to_string())
}

fn failed(error: ManagedError) -> DriverError {
    match error {
        ManagedError::Unusable(_) | ManagedError::Missing(_) => unusable(error),
        error => DriverError::failed(error.to_string()),
    }
}

/// Where the server's files are, and whose.
struct Places {
    cluster: PathBuf,
    output: PathBuf,
    wal: PathBuf,
    account: Option<Account>,
}

impl Places {
    /// Makes the directories. Those of the plan stay redolab's own; those inside are the server's.
    fn make(plan: &ManagedPlan, account: Option<Account>) -> Result<Places, ManagedError> {
        let places = Places {
            cluster: plan.data.join("cluster"),
            output: plan.data.join("server.log"),
            wal: plan.log.join("wal"),
            account,
        };
        for (outer, inner) in [(&plan.data, &places.cluster), (&plan.log, &places.wal)] {
            let made = fs::create_dir(outer).and_then(|()| fs::create_dir(inner));
            made.map_err(ManagedError::system(inner.display().to_string()))?;
            places.hand_over(outer, inner)?;
        }
        Ok(places)
    }

    /// Lets the server's account enter `outer`, and own `inner`.
    fn hand_over(&self, outer: &Path, inner: &Path) -> Result<(), ManagedError> {
        let shown = inner.display().to_string();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        mode(inner, 0o700).map_err(ManagedError::system(shown.clone()))?;
        let Some(account) = &self.account else {
            return Ok(());
        };
        let ours = [Some(outer), outer.parent()].into_iter().flatten();
        let handed = ours
            .map(|folder| mode(folder, 0o711))
            .collect::<std::io::Result<()>>()
            .and_then(|()| chown(inner, Some(account.uid), Some(account.gid)));
        handed.map_err(ManagedError::system(shown))?;
        let closed = inner
            .ancestors()
            .skip(3)
            .find(|folder| !is_open_to(folder, account));
        closed.map_or(Ok(()), |folder| {
            Err(ManagedError::Unusable(format!(
                "{}: the account {} cannot enter it, and a database server does not run as root: \
                 allow it (chmod o+x), name another directory, or run redolab as another user",
                folder.display(),
                account.name
            )))
        })
    }

    fn order(&self, program: PathBuf, arguments: Vec<OsString>) -> ServerOrder {
        ServerOrder {
            program,
            arguments,
            directory: self.cluster.clone(),
            output: self.output.clone(),
            account: self
                .account
                .as_ref()
                .map(|account| (account.uid, account.gid)),
            end_signal: SIGINT,
            kill_signal: SIGQUIT,
            patience: KILL_MAX,
        }
    }

    /// Makes the cluster. What it writes is not flushed: the server is thrown away after a crash.
    fn initialise(&self, programs: &Path, guard: &GuardProgram) -> Result<(), ManagedError> {
        let mut arguments: Vec<OsString> = ["--auth=trust", "--no-sync", "--no-locale"]
            .iter()
            .chain(&["--encoding=UTF8", "--username", USER, "--pgdata"])
            .map(OsString::from)
            .collect();
        arguments.push(self.cluster.clone().into());
        arguments.push("--waldir".into());
        arguments.push(self.wal.clone().into());
        let order = self.order(programs.join("initdb"), arguments);
        GuardedProcess::start(guard, order)?.run(INIT_MAX)
    }

    fn server(&self, programs: &Path, plan: &ManagedPlan) -> ServerOrder {
        let mut arguments: Vec<OsString> = vec!["-D".into(), self.cluster.clone().into()];
        let mut set = |name: &str, value: &str| {
            arguments.extend(["-c".into(), format!("{name}={value}").into()]);
        };
        set("listen_addresses", "");
        // The data directory is the server's working directory.
        set("unix_socket_directories", ".");
        set("port", &PORT.to_string());
        let asked = |name: &str| plan.settings.keys().any(|asked| asked == name);
        for (name, value) in SETTINGS.iter().filter(|(name, _)| !asked(name)) {
            set(name, value);
        }
        for (name, value) in &plan.settings {
            set(name, value);
        }
        self.order(programs.join("postgres"), arguments)
    }

    fn address(&self) -> Address {
        Address {
            host: Host::Directory(self.cluster.clone()),
            port: PORT,
            user: USER.to_owned(),
            database: DATABASE.to_owned(),
            password: None,
            ssl_mode: None,
            allows_logical_slots: true,
        }
    }
}

/// Whether an account that is neither the owner nor of the group may enter a folder, or is one of
/// these.
fn is_open_to(folder: &Path, account: &Account) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = fs::metadata(folder) else {
        return false;
    };
    let bit = if found.uid() == account.uid {
        0o100
    } else if found.gid() == account.gid {
        0o010
    } else {
        0o001
    };
    found.mode() & bit != 0
}

/// Waits until the server accepts connections.
fn await_ready(
    mut process: GuardedProcess,
    places: &Places,
    plan: &ManagedPlan,
) -> Result<ManagedServer, DriverError> {
    let until = Instant::now() + START_MAX;
    loop {
        if let Some(how) = process.ended() {
            let how = format!("ended {how} when it was started");
            return Err(failed(process.failure(how)));
        }
        match Server::at(places.address(), &ClientEnvironment::none()) {
            Ok(server) => {
                return Ok(ManagedServer {
                    server,
                    process: Mutex::new(process),
                });
            }
            Err(error) if Instant::now() > until || !is_starting(&error) => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        if plan.interrupted.load(Ordering::Relaxed) {
            return Err(DriverError::failed(
                "interrupted while a server was started",
            ));
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a server that has just been started may give this answer.
fn is_starting(error: &PostgresError) -> bool {
    match error {
        PostgresError::Unreachable { .. } | PostgresError::Closed(_) => true,
        // cannot_connect_now
        PostgresError::Server(message) => message.code == "57P03",
        _ => false,
    }
}

/// A server of redolab's own, with its process.
struct ManagedServer {
    server: Server,
    process: Mutex<GuardedProcess>,
}

impl Driver for ManagedServer {
    fn clock(&self) -> RealClock {
        self.server.clock()
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        self.server.accepts(workload)
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        self.server.session(load)
    }

    fn facts(&self) -> TargetFacts {
        self.server.facts()
    }

    fn close(&self) -> Result<(), DriverError> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let before = process.ended().map(str::to_owned);
        process.end(END_MAX);
        match before {
            None => Ok(()),
            Some(how) => {
                let how = format!("ended {how} while it was in use");
                Err(failed(process.failure(how)))
            }
        }
    }
}
