//! What a creation that fails at its end removes, and in which order: as long as a log file is
//! there the control file is too, so that the next creation knows what it found. And the control
//! file of a log that has lived under the name of an unfinished one, which nobody may remove.

use crate::common::{SMALL, Scratch};
use redo::engine::Paths;
use redo::{Error, Log};
use rustix::fs::inotify;
use std::mem::MaybeUninit;
use std::path::Path;

/// Creates a log, and has `last` happen when its last log file is written.
fn create_until(directory: &Path, last: impl Fn()) -> Result<(), Error> {
    let progress = |done, total| {
        if done == total {
            last();
        }
    };
    crate::common::create_with(directory, SMALL, &progress, &|| false)
}

fn names(directory: &Path) -> Vec<String> {
    let all = std::fs::read_dir(directory).expect("lists");
    let names = all.map(|entry| entry.expect("lists").file_name().into_string());
    let mut names: Vec<_> = names.map(|name| name.expect("plain")).collect();
    names.sort();
    names
}

/// The names that are removed from a directory while `work` goes on, in order.
fn removals(directory: &Path, work: impl FnOnce()) -> Vec<String> {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)
        .expect("a watch");
    inotify::add_watch(&watch, directory, inotify::WatchFlags::DELETE).expect("a directory");
    work();
    let mut memory = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut memory);
    let mut removed = Vec::new();
    while let Ok(event) = events.next() {
        let name = event.file_name().expect("of a file").to_str();
        removed.push(name.expect("plain").to_owned());
    }
    removed
}

const LOGS: [&str; 3] = ["redo01.log", "redo02.log", "redo03.log"];

#[test]
fn a_rename_that_fails_leaves_nothing_and_the_control_file_goes_last() {
    let scratch = Scratch::new();
    let named = scratch.0.join(Paths::CONTROL);
    let removed = removals(&scratch.0, || {
        let taken = || std::fs::write(&named, "somebody's").expect("writable");
        let refused = create_until(&scratch.0, taken).expect_err("the name is taken");
        assert!(
            refused.to_string().contains("redo.ctl: create"),
            "{refused}"
        );
    });
    let expected = [&LOGS[..], &[Paths::UNFINISHED]].concat();
    assert_eq!(removed, expected);
    assert_eq!(names(&scratch.0), [Paths::CONTROL]);
    assert_eq!(std::fs::read(&named).expect("readable"), b"somebody's");
    std::fs::remove_file(&named).expect("ours");
    crate::common::create(&scratch.0);
    drop(crate::common::open(&scratch.0));
}

#[test]
fn what_is_left_of_a_killed_creation_goes_in_the_same_order() {
    let scratch = Scratch::with_log();
    let at = |name: &str| scratch.0.join(name);
    std::fs::rename(at(Paths::CONTROL), at(Paths::UNFINISHED)).expect("renames");
    let removed = removals(&scratch.0, || crate::common::create(&scratch.0));
    let expected = [&LOGS[..], &[Paths::UNFINISHED]].concat();
    assert_eq!(removed, expected);
    drop(crate::common::open(&scratch.0));
}

/// A log file that cannot be removed keeps the control file: without it neither opening nor
/// creating would know the other log files.
#[test]
fn a_file_that_cannot_be_removed_keeps_the_control_file() {
    let scratch = Scratch::new();
    let (first, aside) = (scratch.0.join(LOGS[0]), scratch.0.join("aside"));
    let replace = || {
        std::fs::rename(&first, &aside).expect("renames");
        std::fs::write(&first, "somebody's").expect("writable");
        // The final name is taken too.
        std::fs::write(scratch.0.join(Paths::CONTROL), "").expect("writable");
    };
    create_until(&scratch.0, replace).expect_err("the name is taken");
    let left = names(&scratch.0);
    let expected = ["aside", Paths::CONTROL, Paths::UNFINISHED, LOGS[0]];
    assert_eq!(left, expected);
    std::fs::remove_file(scratch.0.join(Paths::CONTROL)).expect("ours");
    let opened = crate::common::open_with(&scratch.0, crate::common::options()).map(drop);
    assert!(
        matches!(opened, Err(Error::Unfinished { .. })),
        "{opened:?}"
    );
    let refused = create_until(&scratch.0, || {}).expect_err("somebody's file");
    assert!(matches!(refused, Error::InTheWay { .. }), "{refused}");
    assert!(refused.to_string().contains(LOGS[0]), "{refused}");
    std::fs::remove_file(&first).expect("ours");
    crate::common::create(&scratch.0);
    drop(crate::common::open(&scratch.0));
}

#[test]
fn a_log_that_has_lived_is_not_called_unfinished() {
    let scratch = Scratch::with_log();
    let at = |name: &str| scratch.0.join(name);
    let log = crate::common::open(&scratch.0);
    crate::common::commit(&mut log.session(), 0, 0).expect("commits");
    drop(log);
    std::fs::rename(at(Paths::CONTROL), at(Paths::UNFINISHED)).expect("renames");
    let before = names(&scratch.0);
    let refusals = [
        crate::common::open_with(&scratch.0, crate::common::options()).map(drop),
        Log::inspect(&scratch.0).map(drop),
        create_until(&scratch.0, || {}),
    ];
    for refused in refusals {
        let refused = refused.expect_err("it has another name");
        assert!(matches!(refused, Error::Misnamed { .. }), "{refused}");
        let text = refused.to_string();
        let advice = [
            "acknowledged redo",
            "remove nothing",
            "rename it to redo.ctl",
        ];
        assert!(advice.iter().all(|words| text.contains(words)), "{text}");
        assert!(!text.contains("create the log again"), "{text}");
    }
    assert_eq!(names(&scratch.0), before);
    // What is advised helps.
    std::fs::rename(at(Paths::UNFINISHED), at(Paths::CONTROL)).expect("renames");
    let (records, _) = crate::common::recovered(&scratch.0);
    crate::common::assert_prefixes(&records, &[1]);
}
