//! Where the programs of a MariaDB server are.
//!
//! Distributions and archives put them into several folders below one prefix (`bin`, `sbin`,
//! `libexec`, `scripts`), so each is looked for beside a folder, too.

use crate::managed::ManagedError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What makes the system tables, by its name and that before MariaDB 10.5.
const INSTALL: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];
/// The server, likewise.
const SERVER: [&str; 2] = ["mariadbd", "mysqld"];
/// Where they are, from a folder of the installation.
const BESIDE: [&str; 5] = [".", "../sbin", "../bin", "../libexec", "../scripts"];
/// Folders of distributions, and of an archive that was unpacked as its documentation says.
const FOLDERS: [&str; 5] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
];

/// The programs that make and run a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MariadbPrograms {
    /// The script that makes the system tables.
    pub install: PathBuf,
    /// The server.
    pub server: PathBuf,
}

/// The programs in or beside the directory that was named; or else in a folder of the search path,
/// or of a distribution.
///
/// # Errors
/// They are not there, and what to do.
pub fn find(named: Option<&Path>) -> Result<MariadbPrograms, ManagedError> {
    let Some(named) = named else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = FOLDERS.map(PathBuf::from);
        return first(&path, &folders).ok_or_else(|| {
            ManagedError::Missing(format!(
                "no MariaDB server is installed (no {} and {} in the search path, {} or {}): \
                 install the package mariadb-server, or name the directory of its programs with \
                 --server-bin",
                SERVER[0], INSTALL[0], FOLDERS[0], FOLDERS[1]
            ))
        });
    };
    let missing = match (beside(named, &SERVER), beside(named, &INSTALL)) {
        (Some(server), Some(install)) => return Ok(MariadbPrograms { install, server }),
        (None, _) => SERVER[0],
        (Some(_), None) => INSTALL[0],
    };
    Err(ManagedError::Missing(format!(
        "--server-bin {}: there is no {missing} in it or beside it; name the directory of \
         MariaDB's programs, which are in the package mariadb-server. redolab makes no private \
         servers of MySQL; measure an existing one with --url mysql://USER@HOST:PORT/DATABASE",
        named.display()
    )))
}

fn first(path: &OsStr, folders: &[PathBuf]) -> Option<MariadbPrograms> {
    let folders = std::env::split_paths(path).chain(folders.iter().cloned());
    folders
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| {
            Some(MariadbPrograms {
                install: beside(&folder, &INSTALL)?,
                server: beside(&folder, &SERVER)?,
            })
        })
}

/// The file itself, where a folder has a link: the script looks for others beside itself.
fn beside(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let files = BESIDE
        .iter()
        .flat_map(|way| names.iter().map(move |name| folder.join(way).join(name)));
    files
        .filter(|file| file.is_file())
        .find_map(|file| file.canonicalize().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn install(root: &Path, files: &[&str]) -> PathBuf {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes it");
            fs::write(path, "").expect("writes");
        }
        root.canonicalize().expect("it is there")
    }

    #[test]
    fn programs_are_found_in_the_folders_of_one_prefix() {
        let root = tempfile::tempdir().expect("a folder");
        for (name, server, script) in [
            ("debian", "sbin/mariadbd", "bin/mariadb-install-db"),
            ("archive", "bin/mariadbd", "scripts/mariadb-install-db"),
            ("old", "libexec/mysqld", "bin/mysql_install_db"),
        ] {
            let prefix = install(&root.path().join(name), &[server, script]);
            let expected = MariadbPrograms {
                server: prefix.join(server),
                install: prefix.join(script),
            };
            for folder in [server, script] {
                let folder = prefix.join(folder);
                let folder = folder.parent().expect("a folder");
                assert_eq!(find(Some(folder)).ok().as_ref(), Some(&expected));
                let found = first(folder.as_os_str(), &[]);
                assert_eq!(found.as_ref(), Some(&expected));
                let found = first(OsStr::new("relative"), &[folder.to_owned()]);
                assert_eq!(found.as_ref(), Some(&expected));
            }
        }
        assert_eq!(first(OsStr::new(""), &[]), None);
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let root = tempfile::tempdir().expect("a folder");
        let mysql = install(root.path(), &["mysql/bin/mysqld", "none/bin/mysql"]);
        for (folder, program) in [
            ("mysql/bin", "no mariadb-install-db"),
            ("none/bin", "no mariadbd"),
        ] {
            let error = find(Some(&mysql.join(folder))).expect_err("not all");
            let error = error.to_string();
            for words in [program, "package mariadb-server", "servers of MySQL"] {
                assert!(error.contains(words), "{error}");
            }
        }
    }
}
