//! What this process and all processes below it have written, by the kernel's count.
//!
//! Invariants: a process counts once. The kernel adds the count of a process that has ended to that
//! of its parent when the parent waits for it, so that the sum loses nothing that was written
//! (`the_count_of_a_child_moves_to_its_parent`). A parent is read before its children: a child
//! that is waited for in between is missing in this sum, and is in the next one.
//!
//! What it must not know: who these processes are.

use super::background::parse_own_written;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Processes are listed so often. One that is not listed yet is counted whole once it is.
const LIST_EVERY: Duration = Duration::from_millis(20);

/// This process and those below it.
#[derive(Debug, Default)]
pub struct ProcessTree {
    /// Those below it, parents before their children.
    below: Vec<u32>,
    listed: Option<Instant>,
}

impl ProcessTree {
    /// Bytes that all of them caused to be written: `write_bytes` less `cancelled_write_bytes`.
    ///
    /// # Errors
    /// The kernel counts no writes, or the count of one of them may not be read.
    pub fn written_bytes(&mut self) -> io::Result<u64> {
        let own = written_by("self")?;
        let own = own.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        if self.listed.is_none_or(|at| at.elapsed() >= LIST_EVERY) {
            self.below = below(std::process::id(), &parents()?);
            self.listed = Some(Instant::now());
        }
        let mut each = self.below.iter().map(|pid| written_by(&pid.to_string()));
        each.try_fold(
            own,
            |sum, count| Ok(sum.saturating_add(count?.unwrap_or(0))),
        )
    }
}

/// The count of a process; `None` where it has ended.
fn written_by(process: &str) -> io::Result<Option<u64>> {
    match std::fs::read_to_string(format!("/proc/{process}/io")) {
        Ok(text) => Ok(parse_own_written(&text)),
        Err(error) if has_ended(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// The children of each process of the machine.
fn parents() -> io::Result<BTreeMap<u32, Vec<u32>>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // What has ended meanwhile has no children.
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        if let Some(parent) = parent_in(&String::from_utf8_lossy(&stat)) {
            children.entry(parent).or_default().push(pid);
        }
    }
    Ok(children)
}

/// The parent in a line of /proc/PID/stat: `PID (NAME) STATE PARENT …`, where the name may contain
/// blanks and brackets.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// All processes below `root`, parents before their children.
fn below(root: u32, children: &BTreeMap<u32, Vec<u32>>) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let new = children.get(&parent).into_iter().flatten().copied();
        // The listing is no snapshot: a number that was used again must not make a circle.
        let new: Vec<u32> = new.filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        at += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    #[test]
    fn parents_come_before_their_children_and_circles_end() {
        let mut children = BTreeMap::new();
        children.insert(1, vec![2, 9]);
        children.insert(2, vec![3, 4]);
        children.insert(4, vec![5, 1]);
        assert_eq!(below(1, &children), [2, 9, 3, 4, 5]);
        assert!(below(7, &children).is_empty());
        for (stat, parent) in [
            ("12 (postgres) S 7 12 12", Some(7)),
            ("12 (a) S (b) R 9 1", Some(9)),
            ("12 (a", None),
            ("", None),
        ] {
            assert_eq!(parent_in(stat), parent, "{stat}");
        }
    }

    /// A shell that has `dd` write a mebibyte to `path`, says so, and waits for a line.
    fn writer(path: &std::path::Path) -> Child {
        let script =
            "dd if=/dev/zero of=\"$0\" bs=64k count=16 conv=fsync 2>/dev/null; echo; read x";
        let spawned = Command::new("sh")
            .args(["-c", script])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        spawned.expect("a shell")
    }

    /// What a child of a child wrote counts while its parent lives, and after this process has
    /// waited for the parent; it never counts twice.
    #[test]
    fn the_count_of_a_child_moves_to_its_parent() {
        const MIB: u64 = 1 << 20;
        // Beside this program: what is written to a file system in memory is not counted.
        let program = std::env::current_exe().expect("a program");
        let folder = tempfile::tempdir_in(program.parent().expect("a folder")).expect("a folder");
        let mut tree = ProcessTree::default();
        let before = match tree.written_bytes() {
            Ok(before) => before,
            Err(error) => {
                println!("skipped: the kernel counts no writes of processes here: {error}");
                return;
            }
        };
        let mut child = writer(&folder.path().join("file"));
        let mut line = [0];
        let out = child.stdout.as_mut().expect("piped");
        io::Read::read_exact(out, &mut line).expect("it has written");
        std::thread::sleep(LIST_EVERY);
        // Other tests of this process write, too, but no such sum.
        let lives = tree.written_bytes().expect("counted") - before;
        drop(child.stdin.take());
        child.wait().expect("it ends");
        let after = tree.written_bytes().expect("counted") - before;
        assert!(lives >= MIB && after >= lives, "{lives} {after}");
    }
}
