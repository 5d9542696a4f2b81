//! Where the programs of a PostgreSQL server are, and how one is started.

use crate::managed::{EndSignals, ManagedError, ServerOrder, ServerPlaces, merged};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The programs that make and run a server.
const PROGRAMS: [&str; 2] = ["initdb", "postgres"];
/// Where Debian and its kin keep a directory for each version, with `bin` in it.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The only user of a server that redolab makes.
pub(super) const USER: &str = "redolab";
pub(super) const PORT: u16 = 5432;
/// The largest sum of WAL files between checkpoints, PostgreSQL's default.
const MAX_WAL: &str = "1GB";
/// SIGQUIT asks for an immediate shutdown: a fast one would write all pages that are not on the
/// device yet, and the files are removed.
pub(super) const SIGNALS: EndSignals = EndSignals {
    in_order: 3,
    at_once: 3,
};
/// Settings of the server that are not PostgreSQL's defaults.
const SETTINGS: [(&str, &str); 6] = [
    // Each message takes a transaction id; a vacuum of the whole cluster would disturb a long run.
    ("autovacuum_freeze_max_age", "2000000000"),
    // Shared memory in the data directory is removed with it, also after the server was killed.
    ("dynamic_shared_memory_type", "mmap"),
    ("max_connections", "1000"),
    ("max_wal_size", MAX_WAL),
    ("track_wal_io_timing", "on"),
    ("unix_socket_permissions", "0700"),
];

/// The directory of the programs: the one that was named; or else the first of the search path, or
/// that of the newest version which is installed.
///
/// # Errors
/// They are not there, and what to do.
pub fn directory(named: Option<&Path>) -> Result<PathBuf, ManagedError> {
    if let Some(named) = named {
        return match missing(named) {
            None => Ok(named.to_owned()),
            Some(program) => Err(ManagedError::Missing(format!(
                "--server-bin {}: there is no {program} in it; name the directory of PostgreSQL's \
                 server programs",
                named.display()
            ))),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    find(&path, Path::new(VERSIONS)).ok_or_else(|| {
        ManagedError::Missing(format!(
            "no PostgreSQL server is installed (no {} in the search path or below {VERSIONS}): \
             install it, or name the directory of its programs with --server-bin",
            PROGRAMS[0]
        ))
    })
}

fn find(path: &OsStr, versions: &Path) -> Option<PathBuf> {
    let in_path = std::env::split_paths(path).find(|folder| missing(folder).is_none());
    in_path.map(real).or_else(|| newest(versions))
}

/// Where the programs themselves are, if a folder holds links to some of them: beside the server
/// are all others of its version.
fn real(folder: PathBuf) -> PathBuf {
    let server = folder.join(PROGRAMS[1]).canonicalize().ok();
    let beside = server.as_deref().and_then(Path::parent).map(Path::to_owned);
    beside
        .filter(|beside| missing(beside).is_none())
        .unwrap_or(folder)
}

/// The first program that a folder lacks.
fn missing(folder: &Path) -> Option<&'static str> {
    let lacks = |program: &&&'static str| !folder.join(program).is_file();
    PROGRAMS.iter().find(lacks).copied()
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let found = fs::read_dir(versions).ok()?.flatten().filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        missing(&folder).is_none().then_some((version, folder))
    });
    found.max().map(|(_, folder)| folder)
}

/// The server does not distinguish upper and lower case in names of settings.
pub(super) fn canonical(name: &str) -> String {
    name.to_lowercase()
}

/// The order that starts a server of a cluster with the settings that were asked for, under that
/// name and port.
pub(super) fn start_order(
    places: &ServerPlaces,
    programs: &Path,
    asked: &BTreeMap<String, String>,
    (name, port): (&str, u16),
) -> ServerOrder {
    let mut arguments: Vec<OsString> = vec!["-D".into(), places.cluster.path().into()];
    let mut set = |name: &str, value: &str| {
        arguments.extend(["-c".into(), format!("{name}={value}").into()]);
    };
    set("listen_addresses", "");
    // The data directory is the server's working directory.
    set("unix_socket_directories", ".");
    set("port", &port.to_string());
    // What its primary calls a standby.
    set("cluster_name", name);
    for (name, value) in merged(&SETTINGS, asked, canonical) {
        set(&name, &value);
    }
    places.order(programs.join("postgres"), arguments, SIGNALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).expect("makes it");
        for program in programs {
            fs::write(folder.join(program), "").expect("writes");
        }
    }

    #[test]
    fn whole_installations_are_found_and_the_newest_of_them() {
        let root = tempfile::tempdir().expect("a folder");
        let versions = root.path().join("versions");
        for version in ["9", "15", "16"] {
            let programs = if version == "16" {
                &PROGRAMS[..1]
            } else {
                &PROGRAMS
            };
            install(&versions.join(version).join("bin"), programs);
        }
        let none = OsStr::new("");
        assert_eq!(find(none, &versions), Some(versions.join("15/bin")));
        let path = root.path().join("path");
        install(&path, &PROGRAMS);
        assert_eq!(find(path.as_os_str(), &versions), path.canonicalize().ok());
        assert_eq!(find(none, root.path()), None);
        let links = root.path().join("links");
        fs::create_dir(&links).expect("makes it");
        for program in PROGRAMS {
            let link = std::os::unix::fs::symlink(path.join(program), links.join(program));
            link.expect("links");
        }
        let there = path.canonicalize().expect("it is there");
        assert_eq!(find(links.as_os_str(), &versions), Some(there));
        assert_eq!(directory(Some(&path)).ok(), Some(path));
        let half = directory(Some(&versions.join("16/bin"))).expect_err("half of it");
        assert!(half.to_string().contains("no postgres in it"), "{half}");
    }
}
