//! Servers for tests.

#[path = "../postgres/template.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "a program may have servers of both products"
)]
mod template;

use drivers::mariadb::{MariadbEnvironment, open};
use measure::Nanos;
use measure::driver::{DriverError, DriverSession, OpenedTarget, SessionLoad};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::workload::{CommitMode, Payload, Workload};
use rustix::process::{Pid, Signal};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `nobody`, which every system has.
const UNPRIVILEGED: &str = "65534";
/// The user that makes other users.
const ROOT: &str = "root";
/// The user of most tests: it has what redolab needs, and nothing else.
pub const USER: &str = "bench";

/// A server that is stopped when this is dropped.
pub struct TestServer {
    folder: TempDir,
    options: Vec<String>,
    child: Child,
    pub port: u16,
}

fn program(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let found = folders.map(|folder| Path::new(folder).join(name));
    found.into_iter().find(|file| file.exists())
}

/// A command that runs as somebody who is not root, and ends with the thread that starts it.
fn unprivileged(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED]);
    command.args(["--clear-groups", "--pdeathsig", "KILL", "--"]);
    command.arg(program);
    command
}

/// Runs a server on the data in `folder`.
fn run(daemon: &Path, folder: &Path, port: u16, options: &[String]) -> Child {
    let log = std::fs::File::create(folder.join("log")).expect("a file");
    let option = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
    let mut command = unprivileged(daemon);
    command
        .args(["--no-defaults", "--bind-address=127.0.0.1"])
        .args([option("datadir", "data"), option("socket", "s")])
        .args([option("pid-file", "pid"), format!("--port={port}")])
        .args(["--innodb-buffer-pool-size=32M", "--skip-name-resolve"])
        .args(["--innodb-log-file-size=64M", "--innodb-fast-shutdown=3"])
        .args(options)
        .env("TMPDIR", folder)
        .current_dir(folder);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("mariadbd runs")
}

/// Makes the data of a server in `folder`.
fn initialise(install: &Path, folder: &Path) {
    let data = format!("--datadir={}", folder.join("data").display());
    let made = unprivileged(install)
        .args(["--no-defaults", "--skip-test-db"])
        .args(["--auth-root-authentication-method=normal", &data])
        // A server that starts removes temporary tables of others.
        .env("TMPDIR", folder)
        .current_dir(folder)
        .output()
        .expect("mariadb-install-db runs");
    let text = [made.stdout, made.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(made.status.success(), "{text}");
}

impl TestServer {
    /// Starts a server with these options and a user who may use schemas of redolab; `None`, with
    /// the reason printed, where there is none.
    pub fn start(options: &[&str]) -> Option<TestServer> {
        let server = TestServer::start_without_user(options)?;
        let sql = format!(
            "CREATE USER {USER}@localhost, {USER}@'127.0.0.1';\n\
             GRANT CREATE, DROP, INSERT, SELECT ON `redolab\\_%`.* TO {USER}@localhost;\n\
             GRANT CREATE, DROP, INSERT, SELECT ON `redolab\\_%`.* TO {USER}@'127.0.0.1';\n"
        );
        server.sql(&sql).expect("a user");
        Some(server)
    }

    fn start_without_user(options: &[&str]) -> Option<TestServer> {
        let (Some(install), Some(daemon), Some(_)) = (
            program("mariadb-install-db"),
            program("mariadbd"),
            program("mariadb"),
        ) else {
            println!("skipped: no MariaDB server is installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        if rustix::process::geteuid().is_root() {
            let id = UNPRIVILEGED.parse().ok();
            std::os::unix::fs::chown(folder.path(), id, id).expect("owned by nobody");
        }
        let data = folder.path().join("data");
        template::data(&daemon, &data, || initialise(&install, folder.path()));
        let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = probe.local_addr().expect("an address").port();
        drop(probe);
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let child = run(&daemon, folder.path(), port, &options);
        let mut server = TestServer {
            folder,
            options,
            child,
            port,
        };
        server.wait_until_ready();
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.sql("SELECT 1").is_err() {
            let ended = self.child.try_wait().expect("a child");
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            assert!(
                ended.is_none() && Instant::now() < until,
                "no server: {log:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Rows of statements as another client reads them.
    pub fn sql(&self, sql: &str) -> Result<Vec<String>, String> {
        let mut child = Command::new(program("mariadb").expect("it was there"))
            .args([
                "--no-defaults",
                "--batch",
                "--skip-column-names",
                "-u",
                ROOT,
            ])
            .arg(format!("--socket={}", self.socket().display()))
            .env_remove("MYSQL_PWD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mariadb runs");
        let mut input = child.stdin.take().expect("it is piped");
        // A client that cannot connect reads nothing, and reports why.
        let _ = input.write_all(sql.as_bytes());
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The one value of a query.
    pub fn value(&self, sql: &str) -> String {
        self.sql(sql).expect("a query").concat()
    }

    /// The LSN.
    pub fn lsn(&self) -> u64 {
        let row = self.value("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'");
        let value = row.split('\t').nth(1).expect("a counter");
        value.parse().expect("a number")
    }

    /// Schemas, users and their privileges, settings: what must not change.
    pub fn everything_else(&self) -> Vec<String> {
        self.sql(
            "SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA;\n\
             SELECT TABLE_SCHEMA, TABLE_NAME, CREATE_TIME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys');\n\
             SELECT * FROM mysql.global_priv; SELECT * FROM mysql.db;\n\
             SHOW GLOBAL VARIABLES WHERE Variable_name NOT IN \
             ('gtid_binlog_pos', 'gtid_binlog_state', 'gtid_current_pos', 'timestamp');\n",
        )
        .expect("rows")
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Schemas whose names begin as redolab's do.
    pub fn schemas(&self) -> Vec<String> {
        self.sql("SHOW DATABASES LIKE 'redolab\\_%'").expect("rows")
    }

    fn socket(&self) -> PathBuf {
        self.folder().join("s")
    }

    /// An address through the Unix socket; `user` may contain a password.
    pub fn socket_address(&self, user: &str) -> String {
        let socket = self.socket();
        format!("mariadb://{user}@/test?socket={}", socket.display())
    }

    /// An address through TCP; `user` may contain a password.
    pub fn tcp_address(&self, user: &str) -> String {
        format!("mariadb://{user}@127.0.0.1:{}/test", self.port)
    }

    /// Process id of the server.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Stops the server, until it is continued or killed. Each of its threads has stopped.
    pub fn stop(&self) {
        rustix::process::kill_process(self.pid(), Signal::STOP).expect("stopped");
        let threads = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        let is_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(thread.expect("a thread").path().join("stat"));
            stat.is_ok_and(|stat| stat.contains(") T "))
        };
        let until = Instant::now() + Duration::from_secs(10);
        while !std::fs::read_dir(&threads)
            .expect("threads")
            .all(is_stopped)
        {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills the server and starts it again, which recovers it.
    pub fn crash_and_recover(&mut self) {
        self.kill();
        let daemon = program("mariadbd").expect("it was there");
        self.child = run(&daemon, self.folder.path(), self.port, &self.options);
        self.wait_until_ready();
    }

    /// Kills the server, and waits for its end.
    pub fn kill(&mut self) {
        let _ = rustix::process::kill_process(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // It has one process, and its data are removed.
        self.kill();
    }
}

/// An environment without any password.
pub fn environment() -> MariadbEnvironment {
    MariadbEnvironment {
        password: None,
        patience: Duration::from_secs(20),
    }
}

/// Opens a target in that environment.
pub fn opened(address: &str) -> Result<OpenedTarget, DriverError> {
    open(address, &environment())
}

/// Why a target cannot be opened.
pub fn refused(address: &str) -> DriverError {
    match opened(address) {
        Ok(opened) => panic!("opened {}", opened.shown),
        Err(error) => error,
    }
}

/// A workload of that redo per transaction.
pub fn workload(redo_bytes: u32) -> Workload {
    Workload {
        name: format!("test-{redo_bytes}"),
        redo_bytes,
        records: 1,
        commit: CommitMode::WAIT_IMMEDIATE,
        tproc_c: None,
    }
}

/// What a session does that makes so much redo per transaction.
pub fn load(redo_bytes: u32) -> SessionLoad {
    let payload = Payload::default();
    SessionLoad {
        number: 0,
        workload: Arc::new(workload(redo_bytes)),
        cpu_per_txn: Nanos::ZERO,
        payload,
        pool: payload.pool(1, 1 << 20),
        seed: 1,
    }
}

/// A session of that load.
pub fn session(target: &OpenedTarget, redo_bytes: u32) -> Box<dyn DriverSession> {
    target.driver.session(load(redo_bytes)).expect("a session")
}

/// The facts of a target.
pub fn facts(target: &OpenedTarget) -> DatabaseFacts {
    match target.driver.facts() {
        TargetFacts::Database(facts) => facts,
        other => panic!("not a database: {other:?}"),
    }
}
