//! What is not opened, with the error that says why; and that nothing was changed by refusing.

use crate::common::{
    SMALL, Scratch, assert_prefixes, commit, create, open, open_with, options, recovered,
};
use device::DeviceError;
use redo::Error;
use redo::control::{COPY_BYTES, ControlInfo};
use redo::engine::Paths;
use redo::format::FILE_HEADER_BYTES;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A log with ten records, closed or as after a crash.
fn written(close: bool) -> Scratch {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    for which in 0..10 {
        commit(&mut session, 0, which).expect("durable");
    }
    if close {
        log.close().expect("nothing failed");
    }
    scratch
}

fn control(directory: &Path) -> PathBuf {
    Paths::new(directory).control()
}

fn group(directory: &Path, group: usize) -> PathBuf {
    Paths::new(directory).logs(SMALL.groups).remove(group)
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    let file = file.expect("the file is there");
    file.write_all_at(bytes, at).expect("writable");
}

fn flip(path: &Path, at: u64) {
    let mut byte = [0];
    let file = std::fs::File::open(path).expect("the file is there");
    file.read_exact_at(&mut byte, at).expect("long enough");
    overwrite(path, at, &[byte[0] ^ 0x40]);
}

/// Every byte of every file.
fn contents(directory: &Path) -> Vec<Vec<u8>> {
    let mut files = Paths::new(directory).logs(SMALL.groups);
    files.push(control(directory));
    files
        .iter()
        .map(|f| std::fs::read(f).unwrap_or_default())
        .collect()
}

type Break = fn(&Path);
type Expect = fn(&Error) -> bool;

/// What is done to a log, and the error that opening it must give.
const CASES: &[(&str, Break, Expect)] = &[
    (
        "no control file",
        |d| std::fs::remove_file(control(d)).expect("there"),
        |e| matches!(e, Error::NoLog { .. }),
    ),
    (
        "no log file",
        |d| std::fs::remove_file(group(d, 1)).expect("there"),
        |e| matches!(e, Error::Device(DeviceError::Io { .. })),
    ),
    (
        "a foreign control file",
        |d| std::fs::write(control(d), b"[settings]\n").expect("writable"),
        |e| matches!(e, Error::NotALog { .. }),
    ),
    (
        "a foreign control file of the right size",
        |d| std::fs::write(control(d), vec![0x5A; 2 * COPY_BYTES]).expect("writable"),
        |e| matches!(e, Error::NotALog { .. }),
    ),
    (
        "a foreign log file",
        |d| overwrite(&group(d, 0), 0, b"%PDF-1.7"),
        |e| matches!(e, Error::NotALog { .. }),
    ),
    (
        "a damaged file header",
        |d| flip(&group(d, 2), FILE_HEADER_BYTES as u64 - 10),
        |e| matches!(e, Error::WrongLog { what, .. } if what.contains("damaged")),
    ),
    (
        "a newer log file",
        |d| overwrite(&group(d, 0), 8, &[3]),
        |e| matches!(e, Error::Version { found: 3, .. }),
    ),
    (
        "a newer control file",
        |d| {
            overwrite(&control(d), 8, &[9]);
            overwrite(&control(d), COPY_BYTES as u64 + 8, &[9]);
        },
        |e| matches!(e, Error::Version { found: 9, .. }),
    ),
    (
        "a newer copy beside an older one",
        |d| overwrite(&control(d), COPY_BYTES as u64 + 8, &[9]),
        |e| matches!(e, Error::Version { found: 9, .. }),
    ),
    (
        "both copies of the control information damaged",
        |d| {
            flip(&control(d), 50);
            flip(&control(d), COPY_BYTES as u64 + 5000);
        },
        |e| matches!(e, Error::ControlDamaged { .. }),
    ),
    (
        "two log files exchanged",
        |d| {
            let aside = d.join("aside");
            std::fs::rename(group(d, 0), &aside).expect("there");
            std::fs::rename(group(d, 1), group(d, 0)).expect("there");
            std::fs::rename(aside, group(d, 1)).expect("there");
        },
        |e| matches!(e, Error::WrongLog { what, .. } if what.contains("holds group 1")),
    ),
    (
        "another log's file",
        |d| {
            let other = Scratch::with_log();
            std::fs::copy(group(&other.0, 1), group(d, 1)).expect("copied");
        },
        |e| matches!(e, Error::WrongLog { what, .. } if what.contains("another log")),
    ),
    (
        "another log's control file",
        |d| {
            let other = Scratch::with_log();
            std::fs::copy(control(&other.0), control(d)).expect("copied");
        },
        |e| matches!(e, Error::WrongLog { what, .. } if what.contains("another log")),
    ),
    (
        "a truncated log file",
        |d| {
            let file = std::fs::OpenOptions::new().write(true).open(group(d, 0));
            file.expect("there").set_len(300_000).expect("truncated");
        },
        |e| matches!(e, Error::Device(DeviceError::Unsuitable { .. })),
    ),
    (
        "a log file that is a symbolic link",
        |d| {
            let aside = d.join("aside");
            std::fs::rename(group(d, 0), &aside).expect("there");
            std::os::unix::fs::symlink(&aside, group(d, 0)).expect("linked");
        },
        |e| matches!(e, Error::Device(DeviceError::Unsuitable { .. })),
    ),
    (
        "a damaged block in the middle",
        |d| flip(&group(d, 0), 4096 + 4 * 4096 + 30),
        |e| matches!(e, Error::Corrupt { rba, .. } if (rba.log_seq, rba.block) == (1, 4)),
    ),
];

#[test]
fn what_is_wrong_is_refused_by_name_and_left_as_it_is() {
    for close in [true, false] {
        for (name, break_it, expected) in CASES {
            let scratch = written(close);
            break_it(&scratch.0);
            let before = contents(&scratch.0);
            let refused = match crate::common::open_with(&scratch.0, options()) {
                Ok(_) => panic!("{name}: opened"),
                Err(refused) => refused,
            };
            assert!(expected(&refused), "{name}: {refused:?}");
            let text = refused.to_string();
            let path = scratch.0.to_str().expect("a plain name");
            assert!(text.contains(path), "{name} names the file: {text}");
            assert!(
                contents(&scratch.0) == before,
                "{name}: changed by refusing"
            );
        }
    }
}

/// Every block from its checkpoint to the end of the last log file counts: only the place that it
/// does not let be reused shows that the log has gone on.
#[test]
fn control_information_of_one_round_before_is_refused() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let mut which = 0;
    let mut commit_next = || {
        commit(&mut session, 0, which).expect("durable");
        which += 1;
    };
    (0..40).for_each(|_| commit_next());
    log.checkpoint(log.durable()).expect("sound");
    let older = std::fs::read(control(&scratch.0)).expect("there");
    while log.durable().log_seq <= SMALL.groups.into() {
        log.checkpoint(log.durable()).expect("sound");
        commit_next();
    }
    commit_next();
    drop(log);
    std::fs::write(control(&scratch.0), older).expect("writable");
    let before = contents(&scratch.0);
    let refused = open_with(&scratch.0, options()).map(drop);
    let refused = refused.expect_err("older than the log");
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused:?}");
    assert!(refused.to_string().contains("of a later use"), "{refused}");
    assert!(contents(&scratch.0) == before, "changed by refusing");
}

#[test]
fn one_damaged_copy_of_the_control_information_heals() {
    for copy in [0, COPY_BYTES as u64] {
        for at in [0, 9, 70, 5000] {
            let scratch = written(false);
            // A version byte that is damaged alone reads as a newer version: see the refusals.
            flip(&control(&scratch.0), copy + at);
            assert_prefixes(&recovered(&scratch.0).0, &[10]);
            let healed = std::fs::read(control(&scratch.0)).expect("there");
            let (first, second) = healed.split_at(COPY_BYTES);
            assert!(
                ControlInfo::decode(first).is_ok() && first == second,
                "{copy} {at}"
            );
        }
    }
}

#[test]
fn a_directory_that_is_missing_or_empty_is_named_with_what_to_do() {
    let scratch = Scratch::new();
    let nowhere = scratch.0.join("nowhere");
    let said = |outcome: Result<(), Error>| outcome.expect_err("there is nothing").to_string();
    let open = |path: &std::path::Path| said(crate::common::open_with(path, options()).map(drop));
    let create = said(redo::Log::builder(&nowhere).create().map(drop));
    for (text, action) in [
        (create, "make it first"),
        (open(&nowhere), "make it first"),
        (open(&scratch.0), "create a log there first"),
    ] {
        let named = text.starts_with(&scratch.0.display().to_string());
        assert!(named && text.contains(action), "{text}");
    }
}

#[test]
fn a_log_has_one_owner_at_a_time() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let second = crate::common::open_with(&scratch.0, options()).map(drop);
    let in_use = matches!(second, Err(Error::Device(DeviceError::InUse { .. })));
    assert!(in_use, "{second:?}");
    let said = second.map_err(|e| e.to_string()).expect_err("refused");
    assert!(said.contains("in use by this process already"), "{said}");
    assert!(said.contains("redo.ctl"), "{said}");
    let mut session = log.session();
    commit(&mut session, 0, 0).expect("the first owner goes on");
    drop(log);
    assert_prefixes(&recovered(&scratch.0).0, &[1]);
}

#[test]
fn a_log_whose_file_was_removed_or_replaced_ends_at_the_next_checkpoint() {
    for replace in [false, true] {
        for index in 0..SMALL.groups as usize {
            let scratch = Scratch::with_log();
            let log = open(&scratch.0);
            let mut session = log.session();
            commit(&mut session, 0, 0).expect("commits");
            log.checkpoint(log.durable()).expect("all files are there");
            let path = group(&scratch.0, index);
            if replace {
                let copy = scratch.0.join("copy");
                std::fs::copy(&path, &copy).expect("copies");
                std::fs::rename(&copy, &path).expect("replaces");
            } else {
                std::fs::remove_file(&path).expect("there");
            }
            commit(&mut session, 0, 1).expect("commits");
            let refused = log.checkpoint(log.durable()).expect_err("a file is gone");
            let said = refused.to_string();
            assert!(said.contains("was removed or replaced"), "{said}");
            assert!(said.contains(&path.display().to_string()), "{said}");
            let poisoned = commit(&mut session, 0, 2);
            assert!(matches!(poisoned, Err(Error::Poisoned(_))), "{poisoned:?}");
        }
    }
}

#[test]
fn creating_overwrites_nothing_and_leaves_nothing_when_it_fails() {
    let scratch = written(true);
    let before = contents(&scratch.0);
    assert!(crate::common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false).is_err());
    assert!(contents(&scratch.0) == before);
    std::fs::remove_file(control(&scratch.0)).expect("there");
    assert!(crate::common::create_with(&scratch.0, SMALL, &|_, _| {}, &|| false).is_err());
    assert!(!control(&scratch.0).exists(), "what was begun is removed");
    assert!(group(&scratch.0, 0).exists(), "what was there stays");
    let fresh = Scratch::new();
    for shape in [
        SMALL.groups(1),
        SMALL.block_bytes(Some(1024)),
        SMALL.file_bytes(100_000),
    ] {
        let refused = crate::common::create_with(&fresh.0, shape, &|_, _| {}, &|| false);
        assert!(matches!(refused, Err(Error::Shape(_))), "{refused:?}");
    }
    let cancelled = crate::common::create_with(&fresh.0, SMALL, &|_, _| {}, &|| true);
    assert!(cancelled.is_err());
    let left = std::fs::read_dir(&fresh.0).expect("there").count();
    assert_eq!(left, 0, "nothing is left behind");
    create(&fresh.0);
}

/// A way to miss a log, and what the message must contain beside the path.
type Miss = (&'static str, fn(&Path) -> Error, &'static [&'static str]);

/// What an embedding program meets first: each message names the path and what to do.
#[test]
fn first_mistakes_are_named_with_what_to_do() {
    fn fails<T>(result: Result<T, Error>) -> Error {
        result.err().expect("refused")
    }
    let misses: &[Miss] = &[
        (
            "create in a missing directory",
            |d| fails(redo::Log::builder(d.join("none/log")).create()),
            &["none/log: there is no such directory", "mkdir -p"],
        ),
        (
            "open in a missing directory",
            |d| fails(open_with(d.join("none"), options())),
            &["none: there is no such directory", "mkdir -p"],
        ),
        (
            "a file instead of a directory",
            |d| {
                std::fs::write(d.join("file"), "x").expect("writable");
                fails(open_with(d.join("file"), options()))
            },
            &["file: this is not a directory: name the directory"],
        ),
        (
            "open where no log is",
            |d| fails(open_with(d, options())),
            &[
                "there is no redo log in this directory",
                "create a log there",
            ],
        ),
        (
            "create over a log",
            |d| {
                create(d);
                fails(redo::Log::builder(d).create())
            },
            &[
                "redo.ctl: there is a redo log",
                "nothing was changed",
                "open it",
            ],
        ),
        (
            "create over the log files of a lost control file",
            |d| {
                create(d);
                std::fs::remove_file(control(d)).expect("there");
                fails(redo::Log::builder(d).create())
            },
            &["redo01.log: this file is in the way", "move it away"],
        ),
        (
            "open twice in one process",
            |d| {
                create(d);
                let _log = open(d);
                fails(open_with(d, options()))
            },
            &["redo.ctl: in use by this process already", "share"],
        ),
    ];
    for (what, miss, expected) in misses {
        let scratch = Scratch::new();
        let said = miss(&scratch.0).to_string();
        let path = scratch.0.display().to_string();
        for part in [path.as_str()].iter().chain(*expected) {
            assert!(said.contains(part), "{what}: no {part:?} in: {said}");
        }
    }
}
