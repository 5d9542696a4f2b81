//! The directory of a new log is renamed while the log is made, and a link to somebody else's log
//! takes its place: what the owner of the directory above can do at any moment. Whatever happens
//! then, nothing in the other directory is removed or changed, and what was begun in the log's own
//! directory is finished or removed there.

use crate::common::{SMALL, Scratch, create, options};
use std::cell::Cell;
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What creating does after the swap.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    GoesOn,
    IsCancelled,
    Panics,
}

/// A directory in which a log is made, and another one with a log of somebody else.
struct Scene {
    scratch: Scratch,
    before: Vec<Fingerprint>,
}

/// Name, inode, size, time of change, content.
type Fingerprint = (String, u64, u64, i64, i64, Vec<u8>);

impl Scene {
    fn new() -> Scene {
        let scratch = Scratch::new();
        let scene = Scene {
            before: Vec::new(),
            scratch,
        };
        for directory in [scene.folder(), scene.other()] {
            std::fs::create_dir(directory).expect("a fresh directory");
        }
        create(&scene.other());
        // A name that is free there, so that a file that is made by path is seen.
        std::fs::remove_file(scene.other().join("redo03.log")).expect("there");
        Scene {
            before: fingerprints(&scene.other()),
            ..scene
        }
    }

    fn folder(&self) -> PathBuf {
        self.scratch.0.join("folder")
    }

    fn moved(&self) -> PathBuf {
        self.scratch.0.join("moved")
    }

    fn other(&self) -> PathBuf {
        self.scratch.0.join("other")
    }

    fn swap(&self) {
        std::fs::rename(self.folder(), self.moved()).expect("renames");
        symlink(self.other(), self.folder()).expect("links");
    }

    fn swap_back(&self) {
        std::fs::remove_file(self.folder()).expect("a link");
        std::fs::rename(self.moved(), self.folder()).expect("renames");
    }

    /// Creates a log, swaps before the callback with that number, and goes on as `then` says.
    /// Whether so many callbacks came.
    fn attack(&self, at: u32, then: Then) -> bool {
        let calls = Cell::new(0);
        let called = || {
            let call = calls.replace(calls.get() + 1);
            if call == at {
                self.swap();
            }
            call >= at
        };
        let progress = |_, _| {
            if called() && then == Then::Panics {
                std::panic::panic_any(());
            }
        };
        let cancel = || called() && then == Then::IsCancelled;
        let made = catch_unwind(AssertUnwindSafe(|| {
            crate::common::create_with(self.folder(), SMALL, &progress, &cancel)
        }));
        let swapped = calls.get() > at;
        let what = format!("swapped at callback {at}, then {then:?}: {made:?}");
        assert_eq!(fingerprints(&self.other()), self.before, "{what}");
        if !swapped {
            return false;
        }
        self.swap_back();
        match made {
            Ok(Ok(())) => drop(crate::common::open_with(self.folder(), options()).expect(&what)),
            _ => assert_eq!(names(&self.folder()), [""; 0], "{what}"),
        }
        true
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("lists");
    let name = |e: std::io::Result<std::fs::DirEntry>| e.expect("an entry").file_name();
    let mut names: Vec<_> = entries
        .map(|e| name(e).into_string().expect("text"))
        .collect();
    names.sort();
    names
}

fn fingerprints(directory: &Path) -> Vec<Fingerprint> {
    let print = |name: String| {
        let path = directory.join(&name);
        let meta = path.metadata().expect("exists");
        let content = std::fs::read(&path).expect("readable");
        let (at, nanos) = (meta.mtime(), meta.mtime_nsec());
        (name, meta.ino(), meta.size(), at, nanos, content)
    };
    names(directory).into_iter().map(print).collect()
}

#[test]
fn a_swap_at_any_step_of_creation_harms_no_other_directory() {
    let mut attacks = 0;
    for then in [Then::GoesOn, Then::IsCancelled, Then::Panics] {
        for at in 0.. {
            if !Scene::new().attack(at, then) {
                assert!(at >= 7, "one callback for each file and each of its chunks");
                break;
            }
            attacks += 1;
        }
    }
    println!("{attacks} swaps");
}

#[test]
fn a_storm_of_swaps_harms_no_other_directory() {
    const STORM: Duration = Duration::from_secs(3);
    let end = Instant::now() + STORM;
    let (mut rounds, mut made, mut swaps) = (0_u32, 0_u32, 0_u32);
    while Instant::now() < end || rounds < 4 {
        rounds += 1;
        let scene = Scene::new();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let mut swaps = 0;
                while !stop.load(Ordering::Relaxed) {
                    scene.swap();
                    std::thread::yield_now();
                    scene.swap_back();
                    swaps += 1;
                }
                swaps
            });
            let calls = Cell::new(0);
            let cancel = || calls.replace(calls.get() + 1) == rounds % 6;
            let created = crate::common::create_with(scene.folder(), SMALL, &|_, _| {}, &cancel);
            made += u32::from(created.is_ok());
            stop.store(true, Ordering::Relaxed);
            swaps += swapper.join().expect("no panic");
        });
        assert_eq!(fingerprints(&scene.other()), scene.before, "round {rounds}");
    }
    println!("{rounds} creations, {made} of them whole, {swaps} swaps");
}
