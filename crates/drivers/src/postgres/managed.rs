//! A PostgreSQL server of redolab's own: made by `initdb`, started behind a guard, reached through
//! a Unix socket that only its account and root can enter, and ended.
//!
//! Its files: in the directory of data `cluster` (the data directory) and `server.log`; in the
//! directory of redo `wal`, the directory of the WAL. Invariants: it listens on no network address
//! and has no password; it is as durable as a server of defaults, unless settings were asked for.

use super::error::PostgresError;
use super::programs;
use super::session;
use super::standbys;
use super::url::{Address, Host};
use super::{ClientEnvironment, Server};
use crate::managed::{Account, GuardProgram, GuardedProcess, ManagedError, ServerOrder};
use measure::driver::{DriverError, ManagedKind, ManagedPlan, OpenedTarget};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What redolab does with servers of its own.
pub const MANAGED: ManagedKind = ManagedKind {
    accepts: |workload| Ok(session::messages_of(workload, false).map(drop)?),
    footprint_bytes,
    make: |plan| make(plan, &GuardProgram::own()),
};

/// The account of Debian's and Red Hat's packages.
const ACCOUNT: &str = "postgres";
/// The only user and its database.
pub(super) const USER: &str = "redolab";
const DATABASE: &str = "postgres";
pub(super) const PORT: u16 = 5432;
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

fn footprint_bytes(plan: &ManagedPlan) -> [u64; 2] {
    // What is wrong with the number is reported when the server is made.
    let servers = 1 + u64::from(standbys::wanted(plan).unwrap_or(0));
    [servers * DATA_BYTES, servers * WAL_BYTES]
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
    let count = standbys::wanted(plan)?;
    let places = Places::make(plan, account).map_err(failed)?;
    places.initialise(&programs, guard).map_err(failed)?;
    if plan.interrupted.load(Ordering::Relaxed) {
        return Err(DriverError::failed("interrupted while a server was made"));
    }
    let settings = standbys::settings(plan);
    let order = places.server(&programs, &settings, ("redolab", PORT));
    let mut primary = GuardedProcess::start(guard, order).map_err(failed)?;
    let mut server = await_ready(&mut primary, &places, plan)?;
    let copies = (1..=count)
        .map(|number| standbys::start(number, &programs, guard, &places, plan))
        .collect::<Result<Vec<_>, _>>();
    let mut copies = copies.map_err(failed)?;
    if count > 0 {
        standbys::await_streaming(&server.address, &mut copies, plan)?;
        standbys::require(&server.address, count, plan)?;
        server.facts = server.connect()?.1;
    }
    server.own = Some(OwnServer::new(primary, copies));
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

/// Where a server's files are, and whose.
pub(super) struct Places {
    pub(super) cluster: PathBuf,
    output: PathBuf,
    pub(super) wal: PathBuf,
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
        for outer in [&plan.data, &plan.log] {
            fs::create_dir(outer).map_err(ManagedError::system(outer.display().to_string()))?;
        }
        places.make_inner(plan)?;
        Ok(places)
    }

    /// The places of a standby, made beside these.
    pub(super) fn standby(&self, number: u32, plan: &ManagedPlan) -> Result<Places, ManagedError> {
        let places = Places {
            cluster: plan.data.join(format!("standby{number}")),
            output: plan.data.join(format!("standby{number}.log")),
            wal: plan.log.join(format!("standby{number}-wal")),
            account: self.account.clone(),
        };
        places.make_inner(plan)?;
        Ok(places)
    }

    fn make_inner(&self, plan: &ManagedPlan) -> Result<(), ManagedError> {
        for (outer, inner) in [(&plan.data, &self.cluster), (&plan.log, &self.wal)] {
            fs::create_dir(inner).map_err(ManagedError::system(inner.display().to_string()))?;
            self.hand_over(outer, inner)?;
        }
        Ok(())
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
            .find(std::io::Result::is_err)
            .unwrap_or(Ok(()))
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

    pub(super) fn order(&self, program: PathBuf, arguments: Vec<OsString>) -> ServerOrder {
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

    pub(super) fn server(
        &self,
        programs: &Path,
        settings: &BTreeMap<String, String>,
        (name, port): (&str, u16),
    ) -> ServerOrder {
        let mut arguments: Vec<OsString> = vec!["-D".into(), self.cluster.clone().into()];
        let mut set = |name: &str, value: &str| {
            arguments.extend(["-c".into(), format!("{name}={value}").into()]);
        };
        set("listen_addresses", "");
        // The data directory is the server's working directory.
        set("unix_socket_directories", ".");
        set("port", &port.to_string());
        // What its primary calls a standby.
        set("cluster_name", name);
        let asked = |name: &str| settings.keys().any(|asked| asked == name);
        for (name, value) in SETTINGS.iter().filter(|(name, _)| !asked(name)) {
            set(name, value);
        }
        for (name, value) in settings {
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
    process: &mut GuardedProcess,
    places: &Places,
    plan: &ManagedPlan,
) -> Result<Server, DriverError> {
    let until = Instant::now() + START_MAX;
    loop {
        if let Some(how) = process.ended() {
            let how = format!("ended {how} when it was started");
            return Err(failed(process.failure(how)));
        }
        match Server::at(places.address(), &ClientEnvironment::none()) {
            Ok(server) => return Ok(server),
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

/// The processes of a server of redolab's own.
pub struct OwnServer(Mutex<Processes>);

struct Processes {
    primary: GuardedProcess,
    standbys: Vec<GuardedProcess>,
}

impl OwnServer {
    fn new(primary: GuardedProcess, standbys: Vec<GuardedProcess>) -> OwnServer {
        OwnServer(Mutex::new(Processes { primary, standbys }))
    }

    /// Ends the server, then its standbys.
    ///
    /// # Errors
    /// One of them had ended before, and how.
    pub fn end(&self) -> Result<(), DriverError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Processes { primary, standbys } = &mut *all;
        let mut lost = None;
        for process in standbys.iter_mut().chain([&mut *primary]) {
            if let Some(how) = process.ended().map(str::to_owned) {
                let how = format!("ended {how} while it was in use");
                lost = Some(process.failure(how));
            }
        }
        primary.end(END_MAX);
        standbys.iter_mut().for_each(GuardedProcess::kill);
        lost.map_or(Ok(()), |lost| Err(failed(lost)))
    }
}
