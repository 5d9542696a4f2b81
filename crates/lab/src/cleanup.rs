//! Directories of redolab's own on somebody else's volume, and their removal: at the normal end,
//! on an error, on a panic, on a signal, and by the next start after a kill.
//!
//! Invariants: a work folder is made new, never adopted; only files whose names were registered
//! are removed, by name, inside that folder, without following links; the folder goes only when
//! nothing is left in it. It is reached through its descriptor, so its path may change hands.
//! A registered tree is a directory that is removed with whatever is in it: a server's files.
//! Names are written to a journal in the folder, durably, *before* the files are made, so that
//! [`sweep`] can finish what a killed process, or a power cut, could not; the folder is locked
//! while its owner lives, so that nobody sweeps a live one. A process that aborts leaves the same
//! to `last_resort`.

use crate::folder::{Folder, is_name};
use crate::{last_resort, standard_error};
use device::file::{Directory, DirectoryEntry};
use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work folders are named so; the rest is the process and a number.
pub const PREFIX: &str = "redolab-work-";
const JOURNAL: &str = ".redolab-journal";
const MAGIC: &str = "redolab.work/1";
/// The name of a tree ends so in the journal.
const TREE: char = '/';
/// Longest journal that is read.
const JOURNAL_MAX_BYTES: u64 = 1 << 20;
/// Another command may take a folder that has no journal yet for one that was left: so often a
/// new one is made.
const TRIES: u32 = 5;
/// While a folder is removed, another thread may still make one of its files.
const REMOVE_TRIES: u32 = 5;

static REGISTRY: Mutex<Vec<Owned>> = Mutex::new(Vec::new());
static BEFORE: Mutex<Vec<Ender>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Ends what uses work folders; it may be called when nothing is left to end.
type Ender = Box<dyn FnOnce() + Send>;

/// What has to be removed.
struct Owned {
    number: u64,
    parent: Folder,
    name: String,
    folder: Folder,
    journal: File,
    files: Vec<String>,
    last_resort: Option<last_resort::Record>,
}

/// A directory of redolab's own. Dropping it removes it with the files registered in it.
#[derive(Debug)]
pub struct WorkFolder {
    number: u64,
    directory: Directory,
}

impl WorkFolder {
    /// Makes a new, private (0700) directory under `parent`.
    ///
    /// # Errors
    /// The system's.
    pub fn create(parent: &Path) -> io::Result<WorkFolder> {
        WorkFolder::create_in(&Directory::open(&parent.canonicalize()?)?)
    }

    /// As [`WorkFolder::create`], in a directory that is held open.
    ///
    /// # Errors
    /// The system's.
    pub fn create_in(parent: &Directory) -> io::Result<WorkFolder> {
        let parent = Folder::of(parent.clone());
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}", crate::store::new_run_id());
            // A thread that ends the process waits until the folder is in the list.
            let mut owned = registry();
            let made = parent.create(&name).and_then(|folder| {
                let journal = begin_journal(&parent, &name, &folder)?;
                Ok((folder, journal))
            });
            match made {
                Err(e) if e.kind() == io::ErrorKind::NotFound && tries > 0 => {}
                Err(e) => return Err(e),
                Ok((folder, journal)) => {
                    let new = (number, parent, name);
                    return Ok(WorkFolder::enter(&mut owned, new, folder, journal));
                }
            }
        }
    }

    fn enter(
        registry: &mut Vec<Owned>,
        (number, parent, name): (u64, Folder, String),
        folder: Folder,
        journal: File,
    ) -> WorkFolder {
        let directory = folder.directory().clone();
        let last_resort = last_resort::Record::of(parent.directory(), &name, &directory, JOURNAL);
        registry.push(Owned {
            number,
            parent,
            name,
            folder,
            journal,
            files: Vec::new(),
            last_resort,
        });
        WorkFolder { number, directory }
    }

    /// The folder itself, whatever its path leads to by now.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Registers a file that is about to be made in it. Call it before the file exists: what is
    /// not registered is not removed.
    ///
    /// # Errors
    /// A name outside the rule for names, or the system's errors.
    pub fn register(&self, name: &str) -> io::Result<DirectoryEntry> {
        self.register_all(&[name])?;
        self.directory.entry(name).map_err(io::Error::other)
    }

    /// Registers several files at once, which takes one synchronisation.
    ///
    /// # Errors
    /// As [`WorkFolder::register`].
    pub fn register_all(&self, names: &[impl AsRef<str>]) -> io::Result<()> {
        let mut lines = String::new();
        for name in names.iter().map(AsRef::as_ref) {
            if !is_name(name) {
                return Err(not_a_name(name));
            }
            lines.extend([name, "\n"]);
        }
        self.journal(&lines, names)
    }

    /// Adds lines to the journal, and their names to what has to be removed.
    fn journal(&self, lines: &str, names: &[impl AsRef<str>]) -> io::Result<()> {
        let mut registry = registry();
        let owned = registry
            .iter_mut()
            .find(|o| o.number == self.number)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "already cleaned up"))?;
        owned.journal.write_all(lines.as_bytes())?;
        // Before the first of them is made: after a power cut it could not be told from others.
        owned.journal.sync_all()?;
        for name in names.iter().map(AsRef::as_ref) {
            owned.files.push(name.to_owned());
            if let Some(record) = &owned.last_resort {
                record.add(name);
            }
        }
        Ok(())
    }

    /// Makes a directory in it, registered before, that is removed with whatever it contains by
    /// then. A process that aborts leaves it to the next start.
    ///
    /// # Errors
    /// As [`WorkFolder::register`].
    pub fn make_tree(&self, name: &str) -> io::Result<Directory> {
        if !is_name(name) {
            return Err(not_a_name(name));
        }
        self.journal(&format!("{name}{TREE}\n"), &[format!("{name}{TREE}")])?;
        let registry = registry();
        let owned = registry.iter().find(|o| o.number == self.number);
        // It cannot remove trees, and the journal that names them has to stay.
        if let Some(record) = owned.and_then(|o| o.last_resort.as_ref()) {
            record.done();
        }
        self.directory.make_folder(name)
    }

    /// Removes it now.
    ///
    /// # Errors
    /// What stayed behind and why.
    pub fn remove(self) -> Result<(), String> {
        remove_one(self.number)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Err(left) = remove_one(self.number) {
            standard_error::complain(&left);
        }
    }
}

fn not_a_name(name: &str) -> io::Error {
    let what = format!("`{name}` cannot be the name of a file of redolab's own");
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn registry() -> std::sync::MutexGuard<'static, Vec<Owned>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove_one(number: u64) -> Result<(), String> {
    let mut registry = registry();
    match registry.iter().position(|o| o.number == number) {
        // The lock is kept while removing, so that whoever comes next finds it done.
        Some(at) => remove(&registry.swap_remove(at)),
        None => Ok(()),
    }
}

/// Has `end` called before all work folders are removed at once: it ends a server whose files are
/// in them.
pub fn before_all(end: impl FnOnce() + Send + 'static) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    before.push(Box::new(end));
}

/// Removes every work folder of this process, the youngest first. Returns what stayed behind.
/// May be called more than once and from any thread.
#[must_use]
pub fn run_all() -> Vec<String> {
    let before = std::mem::take(&mut *BEFORE.lock().unwrap_or_else(PoisonError::into_inner));
    before.into_iter().for_each(|end| end());
    let mut registry = registry();
    let mut left = Vec::new();
    while let Some(owned) = registry.pop() {
        left.extend(remove(&owned).err());
    }
    left
}

/// Locks a new folder and makes its journal durable, together with both names.
fn begin_journal(parent: &Folder, name: &str, folder: &Folder) -> io::Result<File> {
    let made = folder.lock().and_then(|()| {
        let mut journal = folder.create_file(JOURNAL)?;
        writeln!(journal, "{MAGIC}")?;
        journal.sync_all()?;
        folder.sync()?;
        parent.sync()?;
        Ok(journal)
    });
    made.inspect_err(|_| {
        // Nothing was registered yet: what is there is the journal alone.
        let _ = folder.remove_file(JOURNAL);
        let _ = parent.remove_folder(name);
    })
}

fn remove(owned: &Owned) -> Result<(), String> {
    let mut removed = Ok(());
    for _ in 0..REMOVE_TRIES {
        removed = empty(&owned.folder, &owned.files).and_then(|()| {
            if owned.parent.holds(&owned.name, &owned.folder) {
                owned.parent.remove_folder(&owned.name)
            } else {
                Err(io::Error::other("it was moved or replaced"))
            }
        });
        let filled = |e: &io::Error| e.kind() == io::ErrorKind::DirectoryNotEmpty;
        if !removed.as_ref().is_err_and(filled) {
            break;
        }
    }
    if let Some(record) = &owned.last_resort {
        record.done();
    }
    removed.map_err(|e| format!("{} stays behind: {e}", owned.folder.path().display()))
}

/// Removes the named files and, after them, the journal that names them.
fn empty(folder: &Folder, files: &[String]) -> io::Result<()> {
    let remove = |name: &str| {
        let removed = match name.strip_suffix(TREE) {
            Some(tree) => folder.remove_tree(tree),
            None => folder.remove_file(name),
        };
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    };
    // One file that stays does not keep the others, and the journal stays with it.
    let removed: Vec<_> = files.iter().map(|name| remove(name)).collect();
    removed.into_iter().collect::<io::Result<()>>()?;
    remove(JOURNAL)
}

/// Removes work folders under `parent` whose owner was killed. Returns those that were removed;
/// what is not redolab's, is in use or holds other files is left alone.
///
/// # Errors
/// When `parent` cannot be listed.
pub fn sweep(parent: &Path) -> io::Result<Vec<PathBuf>> {
    sweep_in(&Directory::open(parent)?)
}

/// As [`sweep`], in a directory that is held open.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_in(parent: &Directory) -> io::Result<Vec<PathBuf>> {
    let parent = Folder::of(parent.clone());
    let mut swept = Vec::new();
    for name in parent.names()?.iter().filter(|n| n.starts_with(PREFIX)) {
        let Ok(folder) = parent.open(name) else {
            continue;
        };
        if matches!(folder.try_lock(), Ok(true)) && sweep_one(&parent, name, &folder).is_some() {
            swept.push(folder.path().to_owned());
        }
    }
    Ok(swept)
}

fn sweep_one(parent: &Folder, name: &str, folder: &Folder) -> Option<()> {
    let files = journaled(folder)?;
    let known = |n: &String| {
        n == JOURNAL
            || files
                .iter()
                .any(|file| file.trim_end_matches(TREE) == n.as_str())
    };
    if !folder.names().ok()?.iter().all(known) {
        return None;
    }
    empty(folder, &files).ok()?;
    if !parent.holds(name, folder) {
        return None;
    }
    parent.remove_folder(name).ok()
}

/// The names in a folder's journal; none where the journal had not become whole when its process
/// or the power was cut, since no file had been made then. `None` where it is not redolab's.
fn journaled(folder: &Folder) -> Option<Vec<String>> {
    let journal = match folder.read(JOURNAL, JOURNAL_MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).ok()?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(_) => return None,
    };
    let head = format!("{MAGIC}\n");
    if head.starts_with(&journal) {
        return Some(Vec::new());
    }
    let names = journal.strip_prefix(&head)?;
    let names = names
        .split_inclusive('\n')
        // A name without its newline was cut while it was written: its file was not made yet.
        .filter_map(|line| line.strip_suffix('\n'))
        .filter(|name| is_name(name.strip_suffix(TREE).unwrap_or(name)))
        .map(str::to_owned);
    Some(names.collect())
}

/// Runs the program and cleans up behind it, however it ends.
pub fn guarded<T>(program: impl FnOnce() -> T) -> T {
    let outcome = catch_unwind(AssertUnwindSafe(program));
    for left in run_all() {
        standard_error::complain(&left);
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn entries(path: &Path) -> Vec<String> {
        Folder::open_root(path)
            .and_then(|f| f.names())
            .expect("lists")
    }

    #[test]
    fn what_was_registered_goes_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "p").expect("writes");
        let work = WorkFolder::create(dir.path()).expect("creates");
        std::fs::write(work.register("redo01.log").expect("registers").path(), "r")
            .expect("writes");
        symlink(&precious, work.register("link").expect("registers").path()).expect("links");
        work.register("removed").expect("registers");
        for bad in ["", "..", "../precious", "a/b", ".hidden"] {
            assert!(work.register(bad).is_err(), "{bad}");
        }
        work.remove().expect("removes all");
        assert_eq!(entries(dir.path()), ["precious"]);

        let work = WorkFolder::create(dir.path()).expect("creates");
        std::fs::write(work.directory().path().join("foreign"), "f").expect("writes");
        let path = work.directory().path().to_owned();
        let left = work.remove().expect_err("a foreign file stays");
        assert!(left.contains("stays behind"), "{left}");
        assert_eq!(entries(&path), ["foreign"]);
    }

    #[test]
    fn a_tree_goes_with_what_is_in_it_and_no_link_is_followed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let precious = dir.path().join("precious");
        std::fs::create_dir(&precious).expect("creates");
        std::fs::write(precious.join("p"), "p").expect("writes");
        let fill = |tree: &Path| {
            std::fs::create_dir_all(tree.join("a/b")).expect("creates");
            std::fs::write(tree.join("a/b/c"), "c").expect("writes");
            symlink(&precious, tree.join("a/link")).expect("links");
        };
        let work = WorkFolder::create(dir.path()).expect("creates");
        let journal =
            std::fs::read_to_string(work.directory().path().join(JOURNAL)).expect("reads");
        fill(work.make_tree("server").expect("made").path());
        // Somebody exchanges one for a link, and removes another.
        let link = work.make_tree("link").expect("made").path().to_owned();
        std::fs::remove_dir(&link).expect("empty");
        symlink(&precious, link).expect("links");
        let removed = work.make_tree("removed").expect("made").path().to_owned();
        std::fs::remove_dir(removed).expect("empty");
        for bad in ["", "..", "a/b", "a/"] {
            assert!(work.make_tree(bad).is_err(), "{bad}");
        }
        work.remove().expect("removes all");
        assert_eq!(entries(dir.path()), ["precious"]);
        // The same of a process that was killed, and of a tree that nobody registered.
        for (name, line) in [
            ("redolab-work-dead", "server/\n"),
            ("redolab-work-other", "x/\n"),
        ] {
            fill(&dir.path().join(name).join("server"));
            let text = format!("{journal}{line}");
            std::fs::write(dir.path().join(name).join(JOURNAL), text).expect("writes");
        }
        sweep(dir.path()).expect("lists");
        assert_eq!(entries(dir.path()), ["precious", "redolab-work-other"]);
        assert_eq!(entries(&precious), ["p"]);
    }

    #[test]
    fn a_replaced_folder_is_not_touched() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = WorkFolder::create(dir.path()).expect("creates");
        let path = work.directory().path().to_owned();
        std::fs::rename(&path, dir.path().join("moved")).expect("renames");
        std::fs::create_dir(&path).expect("creates");
        assert!(work.remove().is_err());
        assert!(path.exists());
    }

    #[test]
    fn a_panic_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let caught = catch_unwind(|| {
            let work = WorkFolder::create(dir.path()).expect("creates");
            std::fs::write(work.register("a").expect("registers").path(), "a").expect("writes");
            panic!("on purpose");
        });
        assert!(caught.is_err());
        assert!(entries(dir.path()).is_empty());
    }

    #[test]
    fn sweeping_finishes_what_a_killed_process_began() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let live = WorkFolder::create(dir.path()).expect("creates");
        let make = |name: &str, journal: Option<&str>, files: &[&str]| {
            let folder = dir.path().join(name);
            std::fs::create_dir(&folder).expect("creates");
            for file in files {
                std::fs::write(folder.join(file), "x").expect("writes");
            }
            if let Some(text) = journal {
                std::fs::write(folder.join(JOURNAL), text).expect("writes");
            }
        };
        make(
            "redolab-work-dead",
            Some("redolab.work/1\na\nb\ncut"),
            &["a"],
        );
        make(
            "redolab-work-foreign",
            Some("redolab.work/1\na\n"),
            &["a", "b"],
        );
        make("redolab-work-unmarked", None, &["a"]);
        // The power was cut before the journal was whole.
        make("redolab-work-bare", None, &[]);
        make("redolab-work-blank", Some(""), &[]);
        make("redolab-work-cut", Some("redolab.wo"), &[]);
        make("redolab-work-cut-foreign", Some("redolab.wo"), &["a"]);
        make("redolab-work-other", Some("something else\na\n"), &["a"]);
        make("mine", Some("redolab.work/1\na\n"), &["a"]);
        let swept = sweep(dir.path()).expect("sweeps");
        let names: Vec<_> = swept.iter().filter_map(|p| p.file_name()).collect();
        let swept = ["bare", "blank", "cut", "dead"].map(|n| format!("{PREFIX}{n}"));
        assert_eq!(names, swept.each_ref().map(String::as_str));
        assert!(
            live.directory().path().exists() && dir.path().join("redolab-work-foreign/a").exists()
        );
    }
}
