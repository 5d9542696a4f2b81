//! Whose log is followed: a process with its children, a server by the name of its product, or
//! files.
//!
//! Invariant: paths of a process are read through its root, so that a server in a container is
//! found too.

use super::files::{LogFiles, LogKind};
use super::{WatchError, processes};
use device::identify::is_log_file;
use device::open_flags;
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A product whose servers are found by the names of their processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedServer {
    /// PostgreSQL.
    Postgres,
    /// MariaDB or MySQL.
    Mariadb,
}

impl NamedServer {
    /// The word for it in options.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            NamedServer::Postgres => "postgres",
            NamedServer::Mariadb => "mariadb",
        }
    }

    /// Names of its processes.
    const fn commands(self) -> &'static [&'static str] {
        match self {
            NamedServer::Postgres => &["postgres", "postmaster"],
            NamedServer::Mariadb => &["mariadbd", "mysqld"],
        }
    }
}

/// Whose log to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectPlan {
    /// That of a process and its children.
    Process(u32),
    /// That of the only server of a product.
    Server(NamedServer),
    /// These files.
    Files(Vec<PathBuf>),
}

/// Whose log is followed.
#[derive(Debug)]
pub(super) struct Subject {
    /// What writes it.
    pub(super) product: String,
    /// The process whose end ends the watching; `None` where files were named.
    pub(super) process: Option<u32>,
    /// Its files.
    pub(super) files: LogFiles,
    /// The directory of the log, as this process sees it.
    pub(super) folder: PathBuf,
}

/// How the files of a log are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenedAs {
    /// Past the page cache.
    pub(super) direct: bool,
    /// Through it, or nobody has them open and it is not known.
    pub(super) buffered: bool,
    /// A process that writes them has an io_uring.
    pub(super) ring: bool,
    /// The flags, in words.
    pub(super) flags: BTreeSet<String>,
}

impl Subject {
    /// Finds it.
    ///
    /// # Errors
    /// There is no such process, or it has no log.
    pub(super) fn find(plan: &SubjectPlan) -> Result<Subject, WatchError> {
        match plan {
            SubjectPlan::Process(pid) => of_process(*pid),
            SubjectPlan::Server(server) => {
                let found = processes::servers(server.commands());
                match found.as_slice() {
                    [] => Err(WatchError::NoServer(server.word())),
                    [one] => of_process(*one),
                    _ => Err(WatchError::Several {
                        name: server.word(),
                        found,
                    }),
                }
            }
            SubjectPlan::Files(paths) => of_files(paths),
        }
    }

    /// The processes that may write the log now; empty where files were named.
    pub(super) fn processes(&self) -> Vec<u32> {
        let process = self.process.map(|pid| processes::with_children(&[pid]));
        process.unwrap_or_default()
    }

    /// How its files are opened at present.
    pub(super) fn opened_as(&self) -> OpenedAs {
        let mut opened = OpenedAs::default();
        let writers = match self.process {
            None => processes::writers(|file| self.files.has(file)),
            Some(_) => {
                let mut writers = Vec::new();
                for pid in self.processes() {
                    let open = processes::open_files(pid).unwrap_or_default();
                    let own = open.files.iter().filter(|open| self.files.has(open.file));
                    writers.extend(own.map(|open| (pid, open.flags)));
                }
                writers
            }
        };
        for (pid, flags) in &writers {
            match flags.contains(OFlags::DIRECT) {
                true => opened.direct = true,
                false => opened.buffered = true,
            }
            opened.flags.insert(open_flags::names(*flags));
            opened.ring |= processes::open_files(*pid).is_ok_and(|open| open.has_ring);
        }
        // Nobody has one open now, and may use a ring later; and backends of PostgreSQL open theirs
        // when they commit.
        if writers.is_empty() || self.files.kind() == LogKind::Postgres {
            (opened.direct, opened.buffered) = (true, true);
            opened.ring |= writers.is_empty();
        }
        opened
    }
}

fn of_process(pid: u32) -> Result<Subject, WatchError> {
    if !processes::is_there(pid) {
        return Err(WatchError::NoProcess(pid));
    }
    let command = processes::command(pid).unwrap_or_default();
    let mut open = Vec::new();
    for process in processes::with_children(&[pid]) {
        match processes::open_files(process) {
            Ok(found) => open.extend(found.files),
            Err(source) if process == pid => return Err(WatchError::Unreadable { pid, source }),
            // A child has ended meanwhile.
            Err(_) => {}
        }
    }
    open.retain(|open| is_log_file(&open.path));
    let parent = |path: &Path| path.parent().map(Path::to_owned);
    let of_kind = |kind: LogKind| {
        let mut paths = open.iter().map(|open| open.path.as_path());
        paths
            .find(|path| LogKind::of(path) == kind)
            .and_then(parent)
    };
    let is_postgres = NamedServer::Postgres.commands().contains(&command.as_str());
    let wal = of_kind(LogKind::Postgres).or_else(|| is_postgres.then(|| wal_of(pid)).flatten());
    let found = match wal {
        Some(folder) => Some((LogKind::Postgres, folder)),
        None => of_kind(LogKind::Innodb).map(|folder| (LogKind::Innodb, folder)),
    };
    if let Some((kind, folder)) = found {
        let product = match kind {
            LogKind::Postgres => "PostgreSQL",
            _ => "InnoDB",
        };
        let here = processes::seen_from_here(pid, &folder);
        return Ok(Subject {
            product: product.to_owned(),
            process: Some(pid),
            files: LogFiles::in_folder(kind, here.clone(), folder)?,
            folder: here,
        });
    }
    let paths: BTreeSet<PathBuf> = open.into_iter().map(|open| open.path).collect();
    let Some(first) = paths.first().cloned() else {
        return Err(WatchError::NoLog { pid, command });
    };
    let here = |path: &PathBuf| (processes::seen_from_here(pid, path), path.clone());
    let folder = first.parent().unwrap_or(Path::new("/"));
    Ok(Subject {
        product: command,
        process: Some(pid),
        files: LogFiles::named(paths.iter().map(here).collect())?,
        folder: processes::seen_from_here(pid, folder),
    })
}

/// The WAL of a PostgreSQL server, as it sees it: its working directory is that of its data.
fn wal_of(pid: u32) -> Option<PathBuf> {
    let data = processes::working_directory(pid)?;
    let wal = data.join("pg_wal");
    // A link of a container leads to a place of the container.
    match std::fs::read_link(processes::seen_from_here(pid, &wal)) {
        Ok(target) => Some(data.join(target)),
        Err(_) => {
            let here = processes::seen_from_here(pid, &wal);
            here.is_dir().then_some(wal)
        }
    }
}

fn of_files(paths: &[PathBuf]) -> Result<Subject, WatchError> {
    let mut named = Vec::new();
    for path in paths {
        let whole = std::fs::canonicalize(path).map_err(|e| WatchError::File {
            path: path.clone(),
            why: e.to_string(),
        })?;
        named.push((whole, path.clone()));
    }
    let files = LogFiles::named(named.clone())?;
    let folder = named.first().and_then(|(path, _)| path.parent());
    let writer = processes::writers(|file| files.has(file));
    let command = writer.first().and_then(|(pid, _)| processes::command(*pid));
    Ok(Subject {
        product: command.unwrap_or_else(|| "unknown".to_owned()),
        process: None,
        folder: folder.unwrap_or(Path::new("/")).to_owned(),
        files,
    })
}
