//! Processes that hold redo or write-ahead log files open on the same volume, and those that write
//! them: a test beside these would disturb them, and they it. A log that is only open disturbs
//! nobody, as that of a browser at rest.
//!
//! Invariants: read-only; our own process is left out; what may not be read is counted and said.
//! Limits: processes of other PID namespaces (the host's, seen from a container) do not show in
//! `/proc`, and logs on ASM or raw devices are found only when the device itself is asked for.

use super::place::Place;
use super::root::{Dev, Root};
use super::{DeviceError, Probe};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// One process that holds log files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command, as the kernel keeps it (15 characters).
    pub command: String,
    /// The log files, sorted.
    pub files: Vec<PathBuf>,
}

/// All of them, and what could not be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Who holds log files.
    pub found: Vec<Holder>,
    /// Processes whose open files may not be read.
    pub unreadable: usize,
    /// What could not be read, in words.
    pub unknown: Vec<String>,
}

/// Length and time of the last write (seconds, nanoseconds) of a file.
type FileState = (u64, i64, i64);

/// A moment, and what was known then of the log files that other processes had open for
/// writing.
#[derive(Debug)]
pub struct OpenLogs {
    probe: Probe,
    place: Place,
    at: (i64, i64),
    files: BTreeMap<(u64, u64), FileState>,
}

impl OpenLogs {
    /// Those on the volume of `path`, on the live machine.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn of(path: &Path) -> Result<OpenLogs, DeviceError> {
        let probe = Probe::live();
        let place = probe.place(path)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let at = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut open = OpenLogs {
            at: (at, now.subsec_nanos().into()),
            files: BTreeMap::new(),
            probe,
            place,
        };
        let mut files = BTreeMap::new();
        open.probe.each_log(&open.place, true, &mut |descriptor| {
            files.extend(open.probe.state(descriptor));
            true
        });
        open.files = files;
        Ok(open)
    }

    /// No process had one open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The processes that have a log file open which was written since. One whose state cannot be
    /// read counts as written.
    #[must_use]
    pub fn written_since(&self) -> Holders {
        self.probe.each_log(&self.place, true, &mut |descriptor| {
            let Some((file, now)) = self.probe.state(descriptor) else {
                return true;
            };
            match self.files.get(&file) {
                Some(before) => *before != now,
                // It was opened since.
                None => (now.1, now.2) > self.at,
            }
        })
    }
}

impl Probe {
    /// Other processes with redo or WAL files open on the file system of `path`; of a raw block
    /// device those that have the device itself open.
    ///
    /// # Errors
    /// When the path does not exist on the live machine.
    pub fn holders(&self, path: &Path) -> Result<Holders, DeviceError> {
        Ok(self.holders_of(&self.place(path)?, false))
    }

    /// As [`Probe::holders`]; of a block device with `writing` those that may write to it.
    pub(super) fn holders_of(&self, place: &Place, writing: bool) -> Holders {
        self.each_log(place, writing, &mut |_| true)
    }

    /// The file of a descriptor, its length and the time of its last write.
    fn state(&self, descriptor: &Path) -> Option<((u64, u64), FileState)> {
        let found = std::fs::metadata(self.root.path(descriptor)).ok()?;
        let state = (found.len(), found.mtime(), found.mtime_nsec());
        Some(((found.dev(), found.ino()), state))
    }

    /// Those whose log files `is_meant` takes, by their descriptors.
    fn each_log(
        &self,
        place: &Place,
        writing: bool,
        is_meant: &mut dyn FnMut(&Path) -> bool,
    ) -> Holders {
        let mut holders = Holders::default();
        for name in self.root.list("/proc") {
            let Ok(pid) = name.parse::<u32>() else {
                continue;
            };
            if self.root.is_live() && pid == std::process::id() {
                continue;
            }
            match self.log_files(pid, place, writing, is_meant) {
                Ok(files) if files.is_empty() => {}
                Ok(files) => holders.found.push(Holder {
                    pid,
                    command: self
                        .root
                        .text(format!("/proc/{pid}/comm"))
                        .unwrap_or_default(),
                    files,
                }),
                Err(error) => holders.unreadable += usize::from(self.counts(pid, &error)),
            }
        }
        holders.found.sort_by_key(|holder| holder.pid);
        if holders.unreadable > 0 {
            holders.unknown.push(format!(
                "the open files of {} processes may not be read; run as root to see them",
                holders.unreadable
            ));
        }
        let proc = self.mounts.on_path(Path::new("/proc"));
        let hidden = proc.and_then(|mount| mount.option("hidepid"));
        if hidden.is_some_and(|value| !matches!(value, "0" | "off" | "1" | "noaccess")) {
            let what = "/proc is mounted with hidepid: processes of other users are not shown";
            holders.unknown.push(what.to_owned());
        }
        holders
    }

    /// Kernel threads and processes that have ended hold nothing.
    fn counts(&self, pid: u32, error: &std::io::Error) -> bool {
        error.kind() == ErrorKind::PermissionDenied
            && self.root.text(format!("/proc/{pid}/cmdline")).is_some()
    }

    fn log_files(
        &self,
        pid: u32,
        place: &Place,
        writing: bool,
        is_meant: &mut dyn FnMut(&Path) -> bool,
    ) -> std::io::Result<Vec<PathBuf>> {
        let directory = PathBuf::from(format!("/proc/{pid}/fd"));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.root.path(&directory))? {
            // Descriptors come and go while we look.
            let Ok(entry) = entry else { continue };
            let descriptor = directory.join(entry.file_name());
            let Some(target) = self.root.link(&descriptor) else {
                continue;
            };
            let is_it = self.is_log_of(place, &descriptor, &target);
            if is_it && (!writing || self.may_write(&descriptor)) && is_meant(&descriptor) {
                files.push(target);
            }
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn is_log_of(&self, place: &Place, descriptor: &Path, target: &Path) -> bool {
        if let Some(node) = place.node {
            return device_opened(&self.root, descriptor, target) == Some(node);
        }
        is_log_file(target) && self.same_volume(place, descriptor, target)
    }

    /// By device number, or by the mount's: subvolumes of a btrfs differ in the first only.
    fn same_volume(&self, place: &Place, descriptor: &Path, target: &Path) -> bool {
        if self.root.is_live() {
            let stat = std::fs::metadata(self.root.path(descriptor)).ok();
            let dev = stat.map(|stat| Dev::unpack(stat.dev()));
            if dev.is_some() && dev == place.dev {
                return true;
            }
        }
        let of_file = match self.mount_id(descriptor) {
            Some(id) => self.mounts.by_id(id), // `None`: a mount of another namespace
            None => self.mounts.on_path(target),
        };
        let of_place = self.mounts.find(&place.path, place.dev, place.mount_id);
        matches!((of_file, of_place), (Some(file), Some(place)) if file.dev == place.dev)
    }

    fn mount_id(&self, descriptor: &Path) -> Option<u64> {
        self.descriptor_info(descriptor, "mnt_id:")?.parse().ok()
    }

    /// A descriptor is open for more than reading, or does not tell.
    fn may_write(&self, descriptor: &Path) -> bool {
        const ACCESS_MODE: u32 = 0o3;
        let flags = self.descriptor_info(descriptor, "flags:");
        let flags = flags.and_then(|text| u32::from_str_radix(&text, 8).ok());
        flags.is_none_or(|flags| flags & ACCESS_MODE != 0)
    }

    /// From `/proc/<pid>/fdinfo/<fd>`.
    fn descriptor_info(&self, descriptor: &Path, name: &str) -> Option<String> {
        let directory = descriptor.parent()?.with_file_name("fdinfo");
        let info = self.root.text(directory.join(descriptor.file_name()?))?;
        let line = info.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    }
}

/// The block device that a descriptor is open on.
fn device_opened(root: &Root, descriptor: &Path, target: &Path) -> Option<Dev> {
    use std::os::unix::fs::FileTypeExt;
    if root.is_live() {
        let stat = std::fs::metadata(root.path(descriptor)).ok()?;
        let block = stat.file_type().is_block_device();
        return block.then(|| Dev::unpack(stat.rdev()));
    }
    super::filesystem::device_named(root, target.to_str()?)
}

/// Whether a file is a redo or write-ahead log, by the names that databases give them:
/// PostgreSQL `pg_wal/`, `pg_xlog/`; InnoDB `ib_logfile*`, `#innodb_redo/#ib_redo*`; Oracle
/// `*redo*.log`, `onlinelog/o1_mf_*.log`; SQLite `*-wal`; WiredTiger `WiredTigerLog.*`; redolab
/// `redo*.log`, `redo.ctl`.
#[must_use]
pub fn is_log_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let text = text.strip_suffix(" (deleted)").unwrap_or(&text);
    if !text.starts_with('/') {
        return false; // sockets, pipes and anonymous inodes
    }
    let (directories, name) = text.rsplit_once('/').unwrap_or(("", text));
    let inside = |wanted: &[&str]| directories.split('/').any(|part| wanted.contains(&part));
    let lower = name.to_ascii_lowercase();
    let oracle =
        lower.contains("redo") && [".log", ".rdo", ".dbf"].iter().any(|e| lower.ends_with(e));
    let managed = lower.starts_with("o1_mf_") && lower.ends_with(".log");
    (!name.is_empty() && inside(&["pg_wal", "pg_xlog", "#innodb_redo"]))
        || name.starts_with("ib_logfile")
        || name.starts_with("#ib_redo")
        || oracle
        || managed
        || name.ends_with("-wal")
        || name.starts_with("WiredTigerLog.")
        || name == "redo.ctl"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_files_are_known_by_name() {
        for (path, log) in [
            ("/pg/16/main/pg_wal/000000010000000000000001", true),
            ("/pg/9.6/pg_xlog/000000010000000000000001 (deleted)", true),
            ("/pg/16/main/base/1/1259", false),
            ("/var/lib/mysql/ib_logfile0", true),
            ("/var/lib/mysql/#innodb_redo/#ib_redo12", true),
            ("/var/lib/mysql/ibdata1", false),
            ("/u01/oradata/ORCL/redo01.log", true),
            ("/u01/oradata/ORCL/REDO03B.LOG", true),
            ("/u02/ORCL/onlinelog/o1_mf_1_k5q2_.log", true),
            ("/u02/ORCL/datafile/o1_mf_system_k5q2_.dbf", false),
            ("/srv/x/app.db-wal", true),
            ("/srv/x/app.db", false),
            ("/data/db/journal/WiredTigerLog.0000000001", true),
            ("/data/db/WiredTiger.wt", false),
            ("/data/redolab/redo.ctl", true),
            ("/var/log/syslog.log", false),
            ("socket:[1234]-wal", false),
            ("/", false),
            ("", false),
        ] {
            assert_eq!(is_log_file(Path::new(path)), log, "{path}");
        }
    }
}
