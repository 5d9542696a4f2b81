//! What the tests need from the system, and installing it where that is allowed.
//!
//! Invariants: it asks nothing and ends in bounded time; it only adds packages, as root, through
//! apt, and Python's and npm's in folders of their own under `target`; what cannot be had is
//! reported with what will be skipped, and is not an error, since a test that lacks something skips
//! itself with a reason.

mod postgres;
mod python;

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that tests call.
struct Tool {
    /// Any of these names will do.
    programs: &'static [&'static str],
    /// Debian's package.
    package: &'static str,
    /// What is skipped without it.
    purpose: &'static str,
}

const fn tool(
    programs: &'static [&'static str],
    package: &'static str,
    purpose: &'static str,
) -> Tool {
    Tool {
        programs,
        package,
        purpose,
    }
}

const TOOLS: &[Tool] = &[
    tool(
        &["fio"],
        "fio",
        "the cross-check of a device's floor against fio",
    ),
    tool(&["mkfs.ext4"], "e2fsprogs", "power cuts on ext4"),
    tool(&["mkfs.xfs"], "xfsprogs", "power cuts on xfs"),
    tool(
        &["xfs_io"],
        "xfsprogs",
        "power cuts by file-system shutdown",
    ),
    tool(&["mkfs.btrfs"], "btrfs-progs", "the log on btrfs"),
    tool(
        &["mkfs.vfat"],
        "dosfstools",
        "what a raw device carries: FAT",
    ),
    tool(
        &["cryptsetup"],
        "cryptsetup-bin",
        "what a raw device carries: LUKS",
    ),
    tool(&["iostat"], "sysstat", "the script that collects iostat"),
    tool(
        &["gdb"],
        "gdb",
        "the names of functions in the stacks of a test that hangs",
    ),
    tool(&["losetup"], "mount", "everything on loop devices"),
    tool(&["mount"], "mount", "everything on loop devices"),
    tool(
        &["strace"],
        "strace",
        "the order in which a log's names become durable",
    ),
    tool(&["initdb"], "postgresql", "runs through PostgreSQL"),
    // Without the package mariadb-server, which would start a server of the system.
    tool(&["mariadbd"], "mariadb-server-core", "runs through MariaDB"),
    tool(&["mariadb"], "mariadb-client-core", "runs through MariaDB"),
    tool(
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
        "the report in a browser",
    ),
];

/// A file of the kernel that tests open.
const KERNEL: &[(&str, &str)] = &[
    ("/dev/loop-control", "everything on loop devices"),
    ("/dev/fuse", "crash states from logged block requests"),
];

const UPDATE_MAX: Duration = Duration::from_secs(120);
const INSTALL_MAX: Duration = Duration::from_secs(600);

/// Installs what is missing as far as it may, and prints what is still missing.
pub fn run() {
    println!("== setup");
    let wanted = packages(&lacking());
    if !wanted.is_empty() {
        if let Some(reason) = may_not_install() {
            println!("not installing {}: {reason}", wanted.join(", "));
        } else {
            install(&wanted);
        }
    }
    let still = lacking();
    for tool in &still {
        println!(
            "missing: {} (package {}): skips {}",
            tool.programs.join(" or "),
            tool.package,
            tool.purpose
        );
    }
    let mut complete = still.is_empty();
    complete &= python::install();
    complete &= postgres::install();
    if !is_root() {
        complete = false;
        println!("missing: root: skips everything on loop devices and crash states");
    }
    for (path, purpose) in KERNEL {
        if !Path::new(path).exists() {
            complete = false;
            println!("missing: {path}: skips {purpose}");
        }
    }
    if complete {
        println!("everything that the tests need is here");
    }
}

fn lacking() -> Vec<&'static Tool> {
    let here = |tool: &&Tool| tool.programs.iter().any(|program| find(program).is_some());
    TOOLS.iter().filter(|tool| !here(tool)).collect()
}

/// Their packages, each once.
fn packages(tools: &[&Tool]) -> Vec<&'static str> {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Where a program is: in PATH, or where administrators' and PostgreSQL's programs are kept.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .chain(versions.map(|version| version.path().join("bin")))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Where a subcommand of cargo's is, which cargo installs beside itself.
pub fn find_cargo(program: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            let home = std::env::var_os("HOME")?;
            Some(PathBuf::from(home).join(".cargo"))
        });
    let installed = home.map(|home| home.join("bin").join(program));
    installed
        .filter(|file| file.is_file())
        .or_else(|| find(program))
}

/// A program, whose package is installed where it is missing and that is possible.
///
/// # Errors
/// When it is missing and cannot be installed, with the command to try.
pub fn require(programs: &[&str], package: &str) -> Outcome<PathBuf> {
    let here = || programs.iter().find_map(|program| find(program));
    if here().is_none() && may_not_install().is_none() {
        install(&[package]);
    }
    here().ok_or_else(|| {
        let programs = programs.join(" or ");
        format!("{programs} is missing: install the package {package} (apt-get install {package})")
    })
}

fn may_not_install() -> Option<&'static str> {
    if !is_root() {
        Some("needs root")
    } else if find("apt-get").is_none() {
        Some("no apt-get here")
    } else {
        None
    }
}

/// Whether the effective user is root, from `/proc/self/status` (real, effective, …).
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    ids.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

fn install(packages: &[&str]) {
    println!("installing {}", packages.join(", "));
    let begun = Instant::now();
    if !apt(&["update"], UPDATE_MAX) {
        println!("apt-get update failed; going on with the lists that are here");
    }
    let left = || INSTALL_MAX.saturating_sub(begun.elapsed());
    let together = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    if apt(&together, left()) {
        return;
    }
    // One name that does not exist here must not keep the others out.
    for package in packages {
        if !apt(
            &["install", "--yes", "--no-install-recommends", package],
            left(),
        ) {
            println!("could not install {package}");
        }
    }
}

/// Runs apt-get without questions, quietly, for at most `limit`. Whether it succeeded.
fn apt(arguments: &[&str], limit: Duration) -> bool {
    let mut command = Command::new("apt-get");
    command
        .args([
            "-qq",
            "-o",
            "Acquire::Retries=1",
            "-o",
            "Acquire::http::Timeout=20",
        ])
        .args(["-o", "DPkg::Lock::Timeout=60"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    within(&mut command, limit)
}

/// Runs a command for at most `limit`, then ends it. Whether it succeeded.
pub fn within(command: &mut Command, limit: Duration) -> bool {
    let begun = Instant::now();
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if begun.elapsed() < limit => std::thread::sleep(Duration::from_millis(50)),
            _ => break,
        }
    }
    // It may end by itself in between; both calls then do nothing.
    drop(child.kill());
    drop(child.wait());
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn a_package_is_asked_for_once() {
        let all: Vec<&Tool> = TOOLS.iter().collect();
        let names = packages(&all);
        assert_eq!(names.iter().filter(|name| **name == "xfsprogs").count(), 1);
        assert!(names.len() < TOOLS.len());
    }

    #[test]
    fn a_command_is_bounded() {
        assert!(within(&mut Command::new("true"), Duration::from_secs(60)));
        assert!(!within(&mut Command::new("false"), Duration::from_secs(60)));
        assert!(!within(
            &mut Command::new("no-such-program"),
            Duration::from_secs(60)
        ));
        let begun = Instant::now();
        assert!(!within(
            Command::new("sleep").arg("600"),
            Duration::from_millis(100)
        ));
        assert!(begun.elapsed() < Duration::from_secs(600));
    }
}
