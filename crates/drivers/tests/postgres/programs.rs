//! Which PostgreSQL programs tests use.
//!
//! A server is that of `REDOLAB_POSTGRES_BIN`, or the newest below `/usr/lib/postgresql`; other
//! versions are below `target/postgres`, where `cargo xtask setup` puts them. These have no
//! clients, so clients are those of the system.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `nobody`, which every system has.
pub const UNPRIVILEGED: &str = "65534";

/// The folder of programs that was asked for.
fn given() -> Option<PathBuf> {
    std::env::var_os("REDOLAB_POSTGRES_BIN").map(PathBuf::from)
}

/// Folders of programs of the system, the newest first.
fn of_the_system() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let mut found: Vec<(u32, PathBuf)> = versions
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, bin)| bin).collect()
}

/// The programs of the server that tests start.
pub fn newest() -> Option<PathBuf> {
    given().or_else(|| of_the_system().into_iter().next())
}

/// The programs of every version that is here, or of the one that was asked for.
pub fn every() -> Vec<PathBuf> {
    if let Some(given) = given() {
        return vec![given];
    }
    let mut all = of_the_system();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/postgres");
    let installed = std::fs::read_dir(installed).into_iter().flatten().flatten();
    let mut others: Vec<PathBuf> = installed
        .map(|version| version.path().join("native/bin"))
        .filter(|bin| bin.join("initdb").exists() && can_run(bin))
        .collect();
    others.sort();
    all.extend(others);
    all
}

/// Whether the unprivileged user of a server may run its programs.
fn can_run(bin: &Path) -> bool {
    let done = unprivileged(&bin.join("postgres"))
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let can = done.is_ok_and(|status| status.success());
    if !can {
        println!("left out: another user cannot run {}", bin.display());
    }
    can
}

/// A client's program: of a server's own folder, or of the system.
pub fn client(name: &str, bin: &Path) -> Option<PathBuf> {
    let folders = std::iter::once(bin.to_owned()).chain(of_the_system());
    folders
        .map(|folder| folder.join(name))
        .find(|program| program.exists())
}

/// A command that runs as somebody who is not root, and ends with the thread that starts it.
pub fn unprivileged(program: &Path) -> Command {
    let mut command;
    if rustix::process::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED]);
        command.args(["--clear-groups", "--pdeathsig", "KILL", "--"]);
        command.arg(program);
    } else {
        command = Command::new(program);
    }
    command
}
