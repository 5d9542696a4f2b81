//! How a server on this machine has opened the file of its WAL, from /proc.
//!
//! Invariants: a process is looked at only after it was shown to be the server of the connection;
//! what may not be read is unknown, and no error.

use super::connection::Connection;
use super::error::PostgresError;
use crate::client::LocalPeer;
use device::open_flags;
use measure::words::sanitize;
use std::fs::read_to_string;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A transaction that writes WAL, so that the backend opens its file.
const COMMIT: &str = "SELECT pg_catalog.pg_logical_emit_message(true, 'r', ''::pg_catalog.bytea)";
/// Processes that write WAL for others.
const WRITERS: &str = "SELECT pid FROM pg_catalog.pg_stat_get_activity(NULL) \
     WHERE backend_type IN ('walwriter', 'checkpointer')";
/// Another session may have written for this one; the WAL writer comes later.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(250);
/// Characters of the name of a WAL segment.
const SEGMENT_NAME: usize = 24;
/// Files of a process that are looked at, at most.
const FILES_MAX: usize = 4096;

/// The file of a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Flags with which it was opened, as `O_RDWR|O_DSYNC`.
    pub flags: String,
    /// Its directory; `None` where its path leads to another file here, as of a server in a
    /// container.
    pub directory: Option<String>,
}

/// Commits an empty message, and looks at the file that the server has opened for it; `None` where
/// the server is on another machine, or may not be looked at.
///
/// # Errors
/// The server does not answer.
pub fn look(connection: &mut Connection) -> Result<Option<LogFile>, PostgresError> {
    let Some(peer) = connection.wire.local_peer() else {
        return Ok(None);
    };
    let Some(backend) = connection.backend.filter(|pid| *pid > 0) else {
        return Ok(None);
    };
    let proc = Path::new("/proc");
    if !is_server(proc, backend, peer) {
        return Ok(None);
    }
    for attempt in 0..ATTEMPTS {
        connection.query(COMMIT)?;
        let mut candidates = vec![backend];
        let rows = connection.query(WRITERS)?;
        let writers = rows.into_iter().flatten().flatten();
        candidates.extend(writers.filter_map(|pid| pid.parse::<i32>().ok()));
        let server = parent(proc, backend);
        candidates.retain(|pid| *pid == backend || parent(proc, *pid) == server);
        if let Some(found) = candidates.iter().find_map(|pid| log_file_of(proc, *pid)) {
            return Ok(Some(found));
        }
        if attempt + 1 < ATTEMPTS {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(None)
}

/// Whether the process `backend` is the other end of the connection. A tunnel leads to a server on
/// another machine, where that number is another process.
fn is_server(proc: &Path, backend: i32, peer: LocalPeer) -> bool {
    match peer {
        LocalPeer::Listener(listener) => parent(proc, backend) == Some(listener),
        LocalPeer::Ports { own, server } => {
            let sockets = sockets_of(proc, backend);
            let connected = |file: &str| {
                let text = read_to_string(proc.join("net").join(file)).unwrap_or_default();
                connects(&text, (server, own), &sockets)
            };
            connected("tcp") || connected("tcp6")
        }
    }
}

/// Whether a table of the kernel has a socket from port `from` to port `to` with one of these
/// inodes.
fn connects(table: &str, (from, to): (u16, u16), inodes: &[u64]) -> bool {
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    table.lines().skip(1).any(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(local), Some(remote), Some(inode)) = (words.get(1), words.get(2), words.get(9))
        else {
            return false;
        };
        let inode = inode.parse().ok();
        (port(local), port(remote)) == (Some(from), Some(to))
            && inode.is_some_and(|inode: u64| inodes.contains(&inode))
    })
}

/// The parent of a process.
fn parent(proc: &Path, pid: i32) -> Option<i32> {
    let status = read_to_string(proc.join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line?.trim().parse().ok()
}

/// What the descriptors of a process lead to, by their names below /proc.
fn files_of(proc: &Path, pid: i32) -> Vec<(String, PathBuf)> {
    let folder = proc.join(pid.to_string()).join("fd");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let each = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().into_string().ok()?, target))
    };
    entries.take(FILES_MAX).flatten().filter_map(each).collect()
}

/// Inodes of the sockets of a process.
fn sockets_of(proc: &Path, pid: i32) -> Vec<u64> {
    let files = files_of(proc, pid);
    let inode = |target: &Path| {
        let text = target.to_str()?.strip_prefix("socket:[")?;
        text.strip_suffix(']')?.parse().ok()
    };
    files.iter().filter_map(|(_, to)| inode(to)).collect()
}

/// The WAL segment that a process has open.
fn log_file_of(proc: &Path, pid: i32) -> Option<LogFile> {
    let is_segment = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_hex = |name: &str| name.bytes().all(|b| b.is_ascii_hexdigit());
        path.is_absolute() && name.is_some_and(|name| name.len() == SEGMENT_NAME && is_hex(name))
    };
    let files = files_of(proc, pid);
    let (descriptor, path) = files.iter().find(|(_, path)| is_segment(path))?;
    let info = proc.join(pid.to_string()).join("fdinfo").join(descriptor);
    let flags = open_flags::read(&info)?;
    let open = proc.join(pid.to_string()).join("fd").join(descriptor);
    let directory = path.parent().filter(|_| is_same(&open, path));
    Some(LogFile {
        flags: open_flags::names(flags),
        directory: directory.and_then(Path::to_str).map(sanitize::line),
    })
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    file(a).is_some_and(|a| file(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_segment_of_a_process_is_found_among_its_files() {
        let proc = tempfile::tempdir().expect("a folder");
        let process = proc.path().join("77");
        std::fs::create_dir_all(process.join("fd")).expect("made");
        std::fs::create_dir_all(process.join("fdinfo")).expect("made");
        let segment = proc.path().join("000000010000000000000003");
        let name = segment.to_str().expect("UTF-8").to_owned();
        let partial = format!("{name}.partial");
        let files = [
            ("3", "socket:[4711]"),
            ("4", "/db/base/1/1259"),
            ("5", partial.as_str()),
            ("6", name.as_str()),
        ];
        for (descriptor, target) in files {
            symlink(target, process.join("fd").join(descriptor)).expect("linked");
            let info = "pos:\t0\nflags:\t02110002\nmnt_id:\t29\n";
            std::fs::write(process.join("fdinfo").join(descriptor), info).expect("written");
        }
        // The server sees its file under a path that leads nowhere here.
        let found = log_file_of(proc.path(), 77).expect("it is open");
        assert_eq!(
            (found.flags.as_str(), found.directory),
            ("O_RDWR|O_DSYNC", None)
        );
        std::fs::write(&segment, "").expect("written");
        let found = log_file_of(proc.path(), 77).expect("it is open");
        assert_eq!(found.directory.as_deref(), proc.path().to_str());
        assert_eq!(sockets_of(proc.path(), 77), [4711]);
        assert_eq!(log_file_of(proc.path(), 78), None);
        std::fs::write(process.join("status"), "Name:\tpostgres\nPPid:\t12\n").expect("written");
        assert!(is_server(proc.path(), 77, LocalPeer::Listener(12)));
        assert!(!is_server(proc.path(), 77, LocalPeer::Listener(13)));
        assert!(!is_server(proc.path(), 78, LocalPeer::Listener(12)));
    }

    /// Behind a tunnel the process of that number has no such socket.
    #[test]
    fn a_process_without_the_connection_is_not_the_server() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt \
                     uid  timeout inode\n   0: 0100007F:1538 0100007F:A8B6 01 00000000:00000000 \
                     00:00000000 00000000 65534 0 4711 1 0 20 4 30 10 -1\n";
        assert!(connects(table, (0x1538, 0xA8B6), &[4711]));
        assert!(!connects(table, (0x1538, 0xA8B6), &[4712]));
        assert!(!connects(table, (0x1538, 0xA8B7), &[4711]));
        assert!(!connects("", (1, 2), &[4711]));
    }
}
