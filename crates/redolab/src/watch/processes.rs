//! Processes and their open files, from /proc.
//!
//! Invariants: read-only; processes and descriptors come and go while they are looked at, and what
//! has gone is left out.

use crate::observe::tracefs::events::{TracedFile, traced_device};
use device::open_flags;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Descriptors of a process that are looked at, at most.
const FILES_MAX: usize = 65_536;
/// Where processes are.
const PROC: &str = "/proc";

/// A file that a process has open.
#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    /// Its path as the process sees it.
    pub(super) path: PathBuf,
    /// Which file it is.
    pub(super) file: TracedFile,
    /// Flags with which it was opened.
    pub(super) flags: OFlags,
}

/// What a process has open.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFiles {
    /// Regular files.
    pub(super) files: Vec<OpenFile>,
    /// It has an io_uring.
    pub(super) has_ring: bool,
}

/// Which file it is that `metadata` describes.
pub(super) fn traced_file(metadata: &Metadata) -> TracedFile {
    let dev = metadata.dev();
    TracedFile {
        dev: traced_device(rustix::fs::major(dev), rustix::fs::minor(dev)),
        ino: metadata.ino(),
    }
}

fn folder(pid: u32) -> PathBuf {
    Path::new(PROC).join(pid.to_string())
}

/// Whether there is such a process, and it has not ended.
pub(super) fn is_there(pid: u32) -> bool {
    let stat = std::fs::read_to_string(folder(pid).join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// The command of a process, as the kernel keeps it.
pub(super) fn command(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(folder(pid).join("comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// A path of the process as this process sees it: through its root where it has one of its own, so
/// that a container's own paths lead to its files.
pub(super) fn seen_from_here(pid: u32, path: &Path) -> PathBuf {
    let root = folder(pid).join("root");
    let mounts = |of: &Path| std::fs::read_link(of.join("ns/mnt")).ok();
    let is_same = mounts(&folder(pid)) == mounts(&Path::new(PROC).join("self"))
        && std::fs::read_link(&root).is_ok_and(|root| root == Path::new("/"));
    match path.strip_prefix("/") {
        Ok(inside) if !is_same => root.join(inside),
        _ => path.to_owned(),
    }
}

/// The working directory of a process, as it sees it.
pub(super) fn working_directory(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(folder(pid).join("cwd")).ok()
}

/// All processes with their parents.
fn parents() -> BTreeMap<u32, u32> {
    let entries = std::fs::read_dir(PROC).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(folder(pid).join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The processes with their children, and the children's.
pub(super) fn with_children(pids: &[u32]) -> Vec<u32> {
    let parents = parents();
    let belongs = |pid: &u32| {
        let mut at = *pid;
        // A chain of parents has no circle, but it may change while it is read.
        for _ in 0..64 {
            if pids.contains(&at) {
                return true;
            }
            match parents.get(&at) {
                Some(parent) if *parent > 0 => at = *parent,
                _ => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| belongs(pid)).collect()
}

/// Processes with one of these commands whose parent has none of them: servers, not their workers.
pub(super) fn servers(commands: &[&str]) -> Vec<u32> {
    let is_named = |pid: u32| command(pid).is_some_and(|name| commands.contains(&name.as_str()));
    let parents = parents().into_iter();
    parents
        .filter(|(pid, parent)| is_named(*pid) && !is_named(*parent) && is_there(*pid))
        .map(|(pid, _)| pid)
        .collect()
}

/// What a process has open.
///
/// # Errors
/// It may not be looked at.
pub(super) fn open_files(pid: u32) -> io::Result<OpenFiles> {
    let mut found = OpenFiles::default();
    let folder = folder(pid);
    for entry in std::fs::read_dir(folder.join("fd"))?
        .take(FILES_MAX)
        .flatten()
    {
        let descriptor = entry.path();
        let Ok(target) = std::fs::read_link(&descriptor) else {
            continue;
        };
        if target.to_str() == Some("anon_inode:[io_uring]") {
            found.has_ring = true;
        }
        let metadata = std::fs::metadata(&descriptor);
        let Some(metadata) = metadata.ok().filter(Metadata::is_file) else {
            continue;
        };
        // A descriptor that was closed meanwhile has no flags.
        let info = folder.join("fdinfo").join(entry.file_name());
        let Some(flags) = open_flags::read(&info) else {
            continue;
        };
        found.files.push(OpenFile {
            path: target,
            file: traced_file(&metadata),
            flags,
        });
    }
    Ok(found)
}

/// Every process that has one of these files open for writing, with the flags.
pub(super) fn writers(is_it: impl Fn(TracedFile) -> bool) -> Vec<(u32, OFlags)> {
    let mut found = Vec::new();
    for pid in parents().into_keys() {
        let open = open_files(pid).unwrap_or_default();
        let own = open.files.into_iter().filter(|open| {
            let may_write = open.flags & OFlags::RWMODE != OFlags::RDONLY;
            may_write && is_it(open.file)
        });
        found.extend(own.map(|open| (pid, open.flags)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_files() {
        let own = std::process::id();
        assert!(is_there(own) && !is_there(u32::MAX));
        assert!(with_children(&[own]).contains(&own));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("redo01.log");
        let file = std::fs::File::create(&path).expect("made");
        let it = traced_file(&file.metadata().expect("there"));
        let open = open_files(own).expect("its own");
        let found = open
            .files
            .iter()
            .find(|open| open.file == it)
            .expect("open");
        assert_eq!(found.path, path);
        assert_eq!(open_flags::names(found.flags), "O_WRONLY");
        let here = seen_from_here(own, &path);
        let there = std::fs::metadata(here).expect("through its root");
        assert_eq!(traced_file(&there), it);
        assert!(
            writers(|file| file == it)
                .iter()
                .any(|(pid, _)| *pid == own)
        );
    }
}
