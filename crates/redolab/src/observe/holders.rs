//! Processes that hold a database's redo or write-ahead log on a disk.
//!
//! Read from /proc/PID/fd: without root only the user's own processes can be seen, so an empty
//! answer is no proof that there are none; [`Found::unreadable`] says how many were closed to us.

use super::topology::{DevNo, disks_under};
use crate::safety::{Holder, looks_like_a_log};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// One entry for each process, with the first such file that it holds.
    pub holders: Vec<Holder>,
    /// Processes whose files could not be seen.
    pub unreadable: u32,
}

/// Looks for holders of logs on the disks under the file system or device `dev` (`st_dev` of a
/// path), this process left out. Where `dev` is no block device only its own file system counts.
#[must_use]
pub fn find(dev: DevNo) -> Found {
    find_in(Path::new("/proc"), dev)
}

fn find_in(proc: &Path, dev: DevNo) -> Found {
    let disks = disks_under(dev);
    let shares =
        |other: DevNo| other == dev || disks_under(other).iter().any(|disk| disks.contains(disk));
    let mut found = Found::default();
    for entry in std::fs::read_dir(proc).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        if pid == std::process::id() {
            continue;
        }
        let Ok(files) = std::fs::read_dir(entry.path().join("fd")) else {
            // It may also have ended meanwhile; then its directory is gone.
            found.unreadable += u32::from(entry.path().exists());
            continue;
        };
        let held = files.flatten().find_map(|fd| {
            let file = std::fs::read_link(fd.path()).ok()?;
            let logs = file.is_absolute() && looks_like_a_log(&file);
            let meta = logs.then(|| std::fs::metadata(fd.path()).ok()).flatten()?;
            (meta.is_file() && shares(number(meta.dev()))).then_some(file)
        });
        if let Some(file) = held {
            let comm = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let name = comm.trim().to_owned();
            found.holders.push(Holder { pid, name, file });
        }
    }
    found.holders.sort_by_key(|h| h.pid);
    found
}

/// A device number as the kernel's directories name it.
#[must_use]
pub fn number(st_dev: u64) -> DevNo {
    DevNo {
        major: rustix::fs::major(st_dev),
        minor: rustix::fs::minor(st_dev),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn who_holds_a_log_on_this_file_system() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let wal = dir.path().join("pg_wal/000000010000000000000001");
        std::fs::create_dir_all(wal.parent().expect("it has one")).expect("creates");
        std::fs::write(&wal, "wal").expect("writes");
        let table = dir.path().join("16384");
        std::fs::write(&table, "table").expect("writes");
        let proc = dir.path().join("proc");
        let process = |pid: &str, files: &[&Path]| {
            let fd = proc.join(pid).join("fd");
            std::fs::create_dir_all(&fd).expect("creates");
            std::fs::write(proc.join(pid).join("comm"), "postgres\n").expect("writes");
            for (i, file) in files.iter().enumerate() {
                symlink(file, fd.join(i.to_string())).expect("links");
            }
        };
        process("41", &[&table]);
        process("42", &[&table, &wal]);
        process(&std::process::id().to_string(), &[&wal]);
        process("sys", &[&wal]);
        std::fs::create_dir_all(proc.join("43")).expect("creates");
        let here = number(std::fs::metadata(&wal).expect("exists").dev());
        let found = find_in(&proc, here);
        let pids: Vec<u32> = found.holders.iter().map(|h| h.pid).collect();
        assert_eq!((pids, found.unreadable), (vec![42], 1));
        assert_eq!(found.holders[0].file, wal);
        assert_eq!(found.holders[0].name, "postgres");
        let elsewhere = DevNo { major: 0, minor: 0 };
        assert!(find_in(&proc, elsewhere).holders.is_empty());
    }
}
