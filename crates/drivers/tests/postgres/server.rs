//! Servers for tests.

#[path = "programs.rs"]
pub mod programs;
#[path = "template.rs"]
mod template;

use drivers::postgres::{ClientEnvironment, open};
use measure::Nanos;
use measure::driver::{DriverError, DriverSession, OpenedTarget, SessionLoad};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::workload::{CommitMode, Payload, Workload};
use programs::{UNPRIVILEGED, unprivileged};
use rustix::process::{Pid, Signal};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server that is stopped when this is dropped.
pub struct TestServer {
    folder: TempDir,
    bin: PathBuf,
    settings: Vec<String>,
    psql: PathBuf,
    child: Child,
    pub port: u16,
}

/// Runs a server on the data in `folder`.
fn run(bin: &Path, folder: &Path, settings: &[String]) -> Child {
    let mut command = unprivileged(&bin.join("postgres"));
    command
        .arg("-D")
        .arg(folder.join("data"))
        .current_dir(folder);
    command.arg("-k").arg(folder);
    for setting in settings {
        command.arg("-c").arg(setting);
    }
    let log = std::fs::File::create(folder.join("log")).expect("a file");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("postgres runs")
}

/// Makes a cluster.
fn initialise(bin: &Path, data: &Path, folder: &Path) {
    let made = unprivileged(&bin.join("initdb"))
        .args([
            "-N",
            "-A",
            "trust",
            "-U",
            "redo",
            "--locale=C",
            "-E",
            "UTF8",
            "-D",
        ])
        .arg(data)
        .current_dir(folder)
        .output()
        .expect("initdb runs");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

impl TestServer {
    /// Starts a server with settings, and lines of its pg_hba.conf before `local all all trust`;
    /// `None`, with the reason printed, where there is none.
    pub fn start(settings: &[&str], hba: &str) -> Option<TestServer> {
        TestServer::start_with(settings, hba, &[])
    }

    /// As [`TestServer::start`], with empty files of these names in the folder of its data.
    pub fn start_with(settings: &[&str], hba: &str, files: &[&str]) -> Option<TestServer> {
        let Some(bin) = programs::newest() else {
            println!("skipped: no PostgreSQL server is installed");
            return None;
        };
        TestServer::start_of(bin, settings, hba, files)
    }

    /// As [`TestServer::start_with`], of programs in that folder.
    pub fn start_of(
        bin: PathBuf,
        settings: &[&str],
        hba: &str,
        files: &[&str],
    ) -> Option<TestServer> {
        let Some(psql) = programs::client("psql", &bin) else {
            println!("skipped: psql is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        if rustix::process::geteuid().is_root() {
            let id = UNPRIVILEGED.parse().ok();
            std::os::unix::fs::chown(folder.path(), id, id).expect("owned by nobody");
        }
        let data = folder.path().join("data");
        let make = || initialise(&bin, &data, folder.path());
        template::data(&bin.join("initdb"), &data, make);
        let hba = format!("{hba}\nlocal all all trust\nhost all redo 127.0.0.1/32 trust\n");
        std::fs::write(data.join("pg_hba.conf"), hba).expect("written");
        for file in files {
            std::fs::write(data.join(file), "").expect("written");
        }
        let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = probe.local_addr().expect("an address").port();
        drop(probe);
        let port_setting = format!("port={port}");
        let fixed = [
            port_setting.as_str(),
            "listen_addresses=127.0.0.1",
            "autovacuum=off",
            "checkpoint_timeout=1h",
            "shared_buffers=16MB",
        ];
        let settings = fixed.iter().chain(settings);
        let settings: Vec<String> = settings.map(|setting| (*setting).to_owned()).collect();
        let child = run(&bin, folder.path(), &settings);
        let mut server = TestServer {
            folder,
            bin,
            settings,
            psql,
            child,
            port,
        };
        server.wait_until_ready();
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.psql("SELECT 1").is_err() {
            let ended = self.child.try_wait().expect("a child");
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            assert!(
                ended.is_none() && Instant::now() < until,
                "no server: {log:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Rows of statements as another client reads them, each committed by itself.
    pub fn psql(&self, sql: &str) -> Result<Vec<String>, String> {
        let output = Command::new(&self.psql)
            .args([
                "-X",
                "-A",
                "-t",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "redo",
                "-h",
            ])
            .arg(self.folder.path())
            .args(["-p", &self.port.to_string(), "-d", "postgres", "-f", "-"])
            .env_remove("PGOPTIONS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                use std::io::Write;
                let mut input = child.stdin.take().expect("it is piped");
                // A client that cannot connect reads nothing, and reports why.
                let _ = input.write_all(sql.as_bytes());
                drop(input);
                child.wait_with_output()
            })
            .expect("psql runs");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .lines()
            .filter(|l| !l.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// The one value of a query.
    pub fn value(&self, sql: &str) -> String {
        self.psql(sql).expect("a query").concat()
    }

    /// Where the next record goes, as a number.
    pub fn insert_lsn(&self) -> u64 {
        let text = self.value("SELECT pg_current_wal_insert_lsn() - '0/0'");
        text.parse().expect("a number")
    }

    /// The folder of its programs.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An address through the Unix socket.
    pub fn socket_address(&self, user: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres://{user}@:{}/postgres?host={folder}", self.port)
    }

    /// An address through TCP; `user` may contain a password.
    pub fn tcp_address(&self, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/postgres", self.port)
    }

    /// Process id of the server.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends the server at once, without a checkpoint, and starts it again, which recovers it.
    pub fn crash_and_recover(&mut self) {
        let _ = rustix::process::kill_process(self.pid(), Signal::QUIT);
        let _ = self.child.wait();
        self.child = run(&self.bin, self.folder.path(), &self.settings);
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
        // An immediate shutdown, which ends all of its processes.
        let _ = rustix::process::kill_process(self.pid(), Signal::QUIT);
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }
}

/// An environment without any password.
pub fn environment() -> ClientEnvironment {
    ClientEnvironment {
        user: None,
        password: None,
        password_file: None,
        ssl_mode: None,
        patience: Duration::from_secs(20),
    }
}

/// Opens a target in that environment.
pub fn opened(address: &str) -> Result<OpenedTarget, DriverError> {
    open(address, &environment())
}

/// Why a target cannot be opened.
pub fn refused(address: &str, environment: &ClientEnvironment) -> DriverError {
    match open(address, environment) {
        Ok(opened) => panic!("opened {}", opened.shown),
        Err(error) => error,
    }
}

/// What a session does that makes so much redo per transaction.
pub fn load(redo_bytes: u32) -> SessionLoad {
    load_of(Workload {
        name: "test".to_owned(),
        redo_bytes,
        records: 1,
        commit: CommitMode::WAIT_IMMEDIATE,
        tproc_c: None,
    })
}

/// What a session does that runs a workload.
pub fn load_of(workload: Workload) -> SessionLoad {
    let payload = Payload::default();
    SessionLoad {
        number: 0,
        workload: Arc::new(workload),
        cpu_per_txn: Nanos::ZERO,
        payload,
        pool: payload.pool(1, 4 << 20),
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
