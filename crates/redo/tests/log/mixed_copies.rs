//! Two copies of one log that both went on, as a volume snapshot makes them: whatever is mixed of
//! them, single blocks, tails, blocks behind the end, whole files or the control file, no log opens
//! with records of both. The incarnations of both have the same numbers; only their lives differ.

use crate::common::{SMALL, Scratch, commit, open, options};
use redo::control::ControlInfo;
use redo::engine::Paths;
use redo::group::StreamBlock;
use redo::{Error, Log};
use std::path::{Path, PathBuf};

/// Commits before the copy was taken, of each copy afterwards, and of the one that writes more.
const SHARED: u32 = 6;
const SHORT: u32 = 4;
const LONG: u32 = 9;
/// The sessions that wrote the shared records, and those of each copy.
const BEFORE: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;

fn files(directory: &Path) -> Vec<PathBuf> {
    let paths = Paths::new(directory);
    let mut files = paths.logs(SMALL.groups);
    files.push(paths.control());
    files
}

fn copied(from: &Path) -> Scratch {
    let to = Scratch::new();
    for (old, new) in files(from).iter().zip(files(&to.0)) {
        std::fs::copy(old, new).expect("copied");
    }
    to
}

/// How the copy was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Taken {
    Closed,
    Killed,
    /// A snapshot below a running log, which goes on.
    Open,
}

/// Opens the log and commits `count` records of `who`.
fn go_on(directory: &Path, who: u32, count: u32) {
    let log = open(directory);
    let mut session = log.session();
    for which in 0..count {
        commit(&mut session, who, which).expect("durable");
    }
}

/// Two copies of one log; the first wrote `counts.0` records of its own, the second `counts.1`.
fn copies(taken: Taken, counts: (u32, u32)) -> [Scratch; 2] {
    let first = Scratch::with_log();
    let log = open(&first.0);
    let mut session = log.session();
    for which in 0..SHARED {
        commit(&mut session, BEFORE, which).expect("durable");
    }
    let second = match taken {
        Taken::Closed => {
            log.close().expect("nothing failed");
            copied(&first.0)
        }
        Taken::Killed => {
            drop(log);
            copied(&first.0)
        }
        Taken::Open => {
            let second = copied(&first.0);
            drop(log);
            second
        }
    };
    go_on(&first.0, FIRST, counts.0);
    go_on(&second.0, SECOND, counts.1);
    [first, second]
}

fn control(directory: &Path) -> ControlInfo {
    Log::inspect(directory).expect("a log").0
}

/// What opening comes to: the sessions and numbers of the records.
fn opened(directory: &Path) -> Result<Vec<(u32, u32)>, Error> {
    let (_log, recovery) = crate::common::open_with(directory, options())?;
    let mut found = Vec::new();
    recovery.recover(|_, bytes| {
        found.push(crate::common::whose(bytes));
        Ok::<(), redo::Error>(())
    })?;
    Ok(found)
}

fn of(who: u32, count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).map(move |which| (who, which))
}

struct Block {
    file: PathBuf,
    at: u64,
    bytes: Vec<u8>,
}

fn read(directory: &Path, block: StreamBlock) -> Block {
    let geometry = control(directory).geometry;
    let group = geometry.group(block) as usize;
    let file = Paths::new(directory).logs(geometry.groups)[group].clone();
    let at = geometry.address(block) % geometry.file_bytes;
    let bytes = std::fs::read(&file).expect("readable");
    let bytes = bytes[at as usize..][..geometry.block_bytes as usize].to_vec();
    Block { file, at, bytes }
}

/// Puts the block of `from` in its own place of `to`.
fn mix(from: &Path, to: &Path, block: StreamBlock) {
    let (taken, place) = (read(from, block), read(to, block));
    let file = std::fs::OpenOptions::new().write(true).open(place.file);
    let file = file.expect("writable");
    std::os::unix::fs::FileExt::write_all_at(&file, &taken.bytes, place.at).expect("written");
}

/// The blocks of one record each that a copy wrote after it was taken.
fn own(directory: &Path, count: u32) -> std::ops::Range<StreamBlock> {
    let first = control(directory).current().first;
    first..first + u64::from(count)
}

#[test]
fn each_copy_alone_opens() {
    for taken in [Taken::Closed, Taken::Killed, Taken::Open] {
        let both = copies(taken, (SHORT, LONG));
        let [first, second] = both.each_ref().map(|copy| control(&copy.0));
        assert_eq!(first.current().number, second.current().number, "{taken:?}");
        assert_eq!(first.current().first, second.current().first, "{taken:?}");
        assert_ne!(first.current().life, second.current().life, "{taken:?}");
        for (copy, who, count) in [(&both[0], FIRST, SHORT), (&both[1], SECOND, LONG)] {
            let expected: Vec<_> = of(BEFORE, SHARED).chain(of(who, count)).collect();
            assert_eq!(opened(&copy.0).expect("it opens"), expected, "{taken:?}");
        }
    }
}

fn refused_as_mixed(directory: &Path, what: &str) {
    match opened(directory) {
        Err(Error::MixedCopies { .. }) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn single_blocks_and_tails_of_another_copy_are_refused() {
    for taken in [Taken::Closed, Taken::Killed, Taken::Open] {
        let [first, second] = copies(taken, (LONG, LONG));
        let blocks = own(&first.0, LONG);
        assert_eq!(blocks, own(&second.0, LONG));
        for block in blocks.clone() {
            let mixed = copied(&first.0);
            mix(&second.0, &mixed.0, block);
            refused_as_mixed(&mixed.0, &format!("{taken:?}: block {block}"));
        }
        for from in blocks.clone() {
            let mixed = copied(&first.0);
            (from..blocks.end).for_each(|block| mix(&second.0, &mixed.0, block));
            refused_as_mixed(&mixed.0, &format!("{taken:?}: from block {from}"));
        }
    }
}

#[test]
fn blocks_of_another_copy_behind_the_end_are_refused() {
    for taken in [Taken::Closed, Taken::Killed, Taken::Open] {
        let [first, second] = copies(taken, (SHORT, LONG));
        let behind = own(&first.0, SHORT).end..own(&second.0, LONG).end;
        for block in behind.clone() {
            let mixed = copied(&first.0);
            mix(&second.0, &mixed.0, block);
            refused_as_mixed(&mixed.0, &format!("{taken:?}: block {block}"));
        }
        let mixed = copied(&first.0);
        behind.for_each(|block| mix(&second.0, &mixed.0, block));
        refused_as_mixed(&mixed.0, "all behind the end");
    }
}

#[test]
fn whole_files_of_another_copy_are_refused() {
    for taken in [Taken::Closed, Taken::Killed, Taken::Open] {
        let [first, second] = copies(taken, (SHORT, LONG));
        for (control_of, logs_of) in [(&first, &second), (&second, &first)] {
            let mixed = copied(&logs_of.0);
            let file = Paths::new(&mixed.0).control();
            std::fs::copy(Paths::new(&control_of.0).control(), file).expect("copied");
            refused_as_mixed(&mixed.0, &format!("{taken:?}: another control file"));
        }
    }
}

/// A copy that was opened more often wrote incarnations that the other does not know.
#[test]
fn a_later_incarnation_of_another_copy_is_refused() {
    let [first, second] = copies(Taken::Killed, (SHORT, SHORT));
    go_on(&second.0, SECOND + 1, LONG);
    for block in own(&second.0, LONG) {
        let mixed = copied(&first.0);
        mix(&second.0, &mixed.0, block);
        let refused = opened(&mixed.0);
        let Err(Error::Corrupt {
            expected, found, ..
        }) = &refused
        else {
            panic!("block {block}: {refused:?}");
        };
        assert_eq!(expected, "control information as new as the log");
        assert_eq!(
            found,
            &format!("incarnation {}", control(&second.0).current().number)
        );
    }
    // The other way round the number is known and the life is not.
    for block in own(&first.0, SHORT) {
        let mixed = copied(&second.0);
        mix(&first.0, &mixed.0, block);
        refused_as_mixed(&mixed.0, &format!("block {block}"));
    }
}

/// A snapshot below a running log has the same life as the log until either is opened again: what
/// the log wrote after the snapshot is a later state of one log, and nothing of two.
#[test]
fn a_snapshot_that_was_not_opened_is_an_earlier_state_of_the_log() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    for which in 0..SHARED {
        commit(&mut session, BEFORE, which).expect("durable");
    }
    let snapshot = copied(&scratch.0);
    for which in SHARED..SHARED + SHORT {
        commit(&mut session, BEFORE, which).expect("durable");
    }
    drop((session, log));
    let before = control(&scratch.0);
    let end = before.current().first + u64::from(SHARED + SHORT);
    let later = copied(&scratch.0);
    for block in end - u64::from(SHORT)..end {
        mix(&scratch.0, &snapshot.0, block);
    }
    let expected: Vec<_> = of(BEFORE, SHARED + SHORT).collect();
    assert_eq!(opened(&snapshot.0).expect("one log"), expected);
    // Once the snapshot was opened, what the log wrote on does not count there.
    let snapshot = copied(&later.0);
    go_on(&snapshot.0, SECOND, SHORT);
    go_on(&scratch.0, FIRST, SHORT);
    for block in own(&snapshot.0, SHORT) {
        let mixed = copied(&snapshot.0);
        mix(&scratch.0, &mixed.0, block);
        refused_as_mixed(&mixed.0, &format!("block {block}"));
    }
}
