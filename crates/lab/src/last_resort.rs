//! Removal of work folders by a process that aborts: memory that cannot be had, a panic within a
//! panic, a stack that overflows. The standard library ends all of these with SIGABRT, on which no
//! destructor runs.
//!
//! Invariants: the handler of the signal makes system calls only (unlinkat, fstat, fstatat): it
//! takes no memory and no lock. What it needs was stored before: descriptors and names in lists
//! that only grow and are never freed, so that it may read them at any moment. It removes only
//! registered names, inside the folder that the descriptor holds.
#![allow(unsafe_code)]

use device::file::Directory;
use rustix::fs::{AtFlags, fstat, statat, unlinkat};
use signal_hook::consts::SIGABRT;
use std::ffi::CString;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static INSTALLED: AtomicBool = AtomicBool::new(false);
static FOLDERS: List<Abandoned> = List::new();
/// Another thread may make one more file between two calls of the handler.
const TRIES: u32 = 16;

/// A list that only grows; reading it takes no lock.
#[derive(Debug)]
struct List<T: 'static> {
    first: OnceLock<&'static Link<T>>,
}

#[derive(Debug)]
struct Link<T: 'static> {
    value: T,
    next: List<T>,
}

impl<T> List<T> {
    const fn new() -> List<T> {
        List {
            first: OnceLock::new(),
        }
    }

    fn push(&'static self, value: T) -> &'static T {
        let next = List::new();
        let link: &'static Link<T> = Box::leak(Box::new(Link { value, next }));
        let mut end = self;
        while end.first.set(link).is_err() {
            end = &end.first.get().expect("it was set").next;
        }
        &link.value
    }

    fn iter(&'static self) -> impl Iterator<Item = &'static T> {
        let link = |list: &'static List<T>| list.first.get().copied();
        std::iter::successors(link(self), move |at| link(&at.next)).map(|at| &at.value)
    }
}

/// A work folder as the handler sees it. Its two descriptors stay open as long as the process.
#[derive(Debug)]
struct Abandoned {
    parent: Directory,
    name: CString,
    folder: Directory,
    files: List<CString>,
    journal: CString,
    done: AtomicBool,
}

/// What is removed if the process aborts.
#[derive(Debug)]
pub(crate) struct Record(&'static Abandoned);

impl Record {
    /// Of a work folder with a journal of that name; `None` where no handler was installed.
    pub(crate) fn of(
        parent: &Directory,
        name: &str,
        folder: &Directory,
        journal: &str,
    ) -> Option<Record> {
        if !INSTALLED.load(Ordering::Acquire) {
            return None;
        }
        Some(Record(FOLDERS.push(Abandoned {
            parent: parent.clone(),
            name: CString::new(name).ok()?,
            folder: folder.clone(),
            files: List::new(),
            journal: CString::new(journal).ok()?,
            done: AtomicBool::new(false),
        })))
    }

    /// A file is about to be made in it.
    pub(crate) fn add(&self, name: &str) {
        if let Ok(name) = CString::new(name) {
            self.0.files.push(name);
        }
    }

    /// It was removed, or what is left of it stays on purpose.
    pub(crate) fn done(&self) {
        self.0.done.store(true, Ordering::Release);
    }
}

/// Has work folders removed when the process aborts. Call it once, at the start.
///
/// # Errors
/// When the system refuses the handler.
pub(crate) fn install() -> io::Result<()> {
    // SAFETY: the action is async-signal-safe: it reads atomics and immutable memory that is never
    // freed, and makes system calls; it neither takes memory nor locks, and does not panic.
    unsafe { signal_hook::low_level::register(SIGABRT, remove_all) }?;
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

fn remove_all() {
    FOLDERS.iter().for_each(Abandoned::remove);
    // One that was sent by another process ends this one too. Safe in a handler by its
    // documentation; it fails only for signals that do not exist.
    let _ = signal_hook::low_level::emulate_default_handler(SIGABRT);
}

impl Abandoned {
    fn remove(&'static self) {
        for _ in 0..TRIES {
            if self.done.load(Ordering::Acquire) {
                return;
            }
            // Errors have nobody to go to: the next start of redolab removes what stays.
            for file in self.files.iter() {
                let _ = unlinkat(&self.folder, file.as_c_str(), AtFlags::empty());
            }
            let _ = unlinkat(&self.folder, self.journal.as_c_str(), AtFlags::empty());
            let name = self.name.as_c_str();
            let there = statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW);
            let same = match (there, fstat(&self.folder)) {
                (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
                _ => false,
            };
            if !same || unlinkat(&self.parent, name, AtFlags::REMOVEDIR).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_the_order_and_what_was_pushed() {
        static LIST: List<u32> = List::new();
        for value in 0..5 {
            assert_eq!(*LIST.push(value), value);
        }
        assert_eq!(LIST.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
