//! What the control information proves about the log files: a block that it proves durable and
//! that does not count is damage, even where no later block exists. And what it cannot prove: the
//! redo behind its last update, when a whole log file is replaced by an older copy.

use crate::common::{SMALL, Scratch, commit, open, options, record};
use redo::control::ControlInfo;
use redo::engine::Paths;
use redo::group::StreamBlock;
use redo::{CommitMode, Error, Log, Rba};
use std::os::unix::fs::FileExt;
use std::path::Path;

fn control(directory: &Path) -> ControlInfo {
    Log::inspect(directory).expect("a log").0
}

/// The numbers of the records that opening recovers.
fn opened(directory: &Path) -> Result<Vec<u32>, Error> {
    let (_log, recovery) = crate::common::open_with(directory, options())?;
    let mut found = Vec::new();
    recovery.recover(|_, bytes| {
        found.push(crate::common::whose(bytes).1);
        Ok::<(), redo::Error>(())
    })?;
    Ok(found)
}

fn refused_at(directory: &Path, block: StreamBlock, what: &str) {
    let geometry = control(directory).geometry;
    match opened(directory) {
        Err(Error::Corrupt { rba, .. }) => assert_eq!(rba, geometry.rba(block, 0), "{what}"),
        other => panic!("{what}: {other:?}"),
    }
}

/// Changes one byte of a block.
fn damage(directory: &Path, block: StreamBlock, byte: u64, change: impl Fn(u8) -> u8) {
    let geometry = control(directory).geometry;
    let logs = Paths::new(directory).logs(geometry.groups);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&logs[geometry.group(block) as usize])
        .expect("there");
    let at = geometry.address(block) % geometry.file_bytes + byte;
    let mut found = [0];
    file.read_exact_at(&mut found, at).expect("readable");
    file.write_all_at(&[change(found[0])], at).expect("written");
}

/// A log, left open, of blocks with two records each; the checkpoint lies between those of the
/// last block. Returns that block.
fn checkpoint_inside(directory: &Path, blocks: u32) -> StreamBlock {
    let log = open(directory);
    let mut session = log.session();
    let mut last = None;
    for which in 0..blocks {
        session.append(&[&record(0, 2 * which)]).expect("open");
        last = Some(session.append(&[&record(0, 2 * which + 1)]).expect("open"));
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    }
    let second = last.expect("some blocks");
    assert!(second.offset > 0, "inside a block");
    log.checkpoint(second).expect("durable");
    u64::from(blocks) - 1
}

#[test]
fn a_flipped_bit_in_the_block_of_the_checkpoint_is_damage() {
    // Magic, number, checksum, redo.
    for byte in [0, 9, 37, 60] {
        let scratch = Scratch::with_log();
        let block = checkpoint_inside(&scratch.0, 3);
        assert_eq!(control(&scratch.0).checkpoint.block, block);
        damage(&scratch.0, block, byte, |b| b ^ 0x10);
        refused_at(&scratch.0, block, &format!("byte {byte}"));
    }
}

/// Without the durable position that is kept beside the checkpoint, as in version 1.
#[test]
fn the_checkpoint_alone_proves_its_block_and_the_one_before() {
    let forget = |directory: &Path| {
        let mut info = control(directory);
        info.durable = 0;
        let copy = info.encode();
        std::fs::write(Paths::new(directory).control(), [&copy[..], &copy].concat())
            .expect("writable");
    };
    let scratch = Scratch::with_log();
    let block = checkpoint_inside(&scratch.0, 3);
    forget(&scratch.0);
    assert_eq!(control(&scratch.0).known_durable(), block + 1);
    damage(&scratch.0, block, 70, |b| !b);
    refused_at(&scratch.0, block, "the checkpoint's block");

    // A checkpoint between two blocks: the block before it was durable. With its number it may be
    // an older file's; without one it was written in this use, and recovery needs nothing of it.
    for byte in [9, 4, 61] {
        let scratch = Scratch::with_log();
        let log = open(&scratch.0);
        let mut session = log.session();
        (0..3).for_each(|which| {
            commit(&mut session, 0, which).expect("durable");
        });
        log.checkpoint(log.durable()).expect("durable");
        drop((session, log));
        forget(&scratch.0);
        let end = control(&scratch.0).checkpoint;
        assert_eq!((end.block, end.offset), (3, 0));
        let whole = Scratch::new();
        for entry in std::fs::read_dir(&scratch.0).expect("there") {
            let path = entry.expect("there").path();
            let name = path.file_name().expect("a name");
            std::fs::copy(&path, whole.0.join(name)).expect("copied");
        }
        assert_eq!(opened(&whole.0).expect("whole"), [0; 0]);
        damage(&scratch.0, end.block - 1, byte, |b| !b);
        let at = control(&scratch.0).geometry.rba(end.block - 1, 0);
        if byte == 9 {
            refused_at(&scratch.0, end.block - 1, "the block before the checkpoint");
            let (_, given_up) = Log::builder(&scratch.0).salvage(at).expect("damage");
            assert_eq!((given_up.at, given_up.lost_blocks), (at, 0));
        } else {
            let (_log, recovery) =
                crate::common::open_with(&scratch.0, options()).expect("not needed");
            assert_eq!(recovery.scan().damaged_before, Some(at));
            assert!(recovery.notes().join("").contains(&at.to_string()));
        }
        // So it is after a crash, too.
        assert_eq!(opened(&scratch.0).expect("judged before"), [0; 0]);
        // The block before that one is not needed, and nothing is said of it.
        damage(&whole.0, 0, byte, |b| !b);
        assert_eq!(opened(&whole.0).expect("not needed"), [0; 0]);
    }
}

/// A checkpoint on the first block of a log: the one before it may have been reused.
#[test]
fn the_block_before_a_log_is_not_looked_at() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    log.checkpoint(log.durable()).expect("nothing was written");
    let mut session = log.session();
    let per_group = log.geometry().blocks_per_group;
    let mut which = 0;
    while log.geometry().stream_block(log.durable()) < Some(per_group) {
        commit(&mut session, 0, which).expect("durable");
        which += 1;
    }
    log.checkpoint(log.durable()).expect("durable");
    drop((session, log));
    let checkpoint = control(&scratch.0).checkpoint;
    assert_eq!((checkpoint.block, checkpoint.offset), (per_group, 0));
    damage(&scratch.0, per_group - 1, 60, |b| !b);
    assert_eq!(opened(&scratch.0).expect("a log's first block"), [0; 0]);
}

/// A log, left open: `before` commits, a copy of its log files, then commits up to `after`. With
/// `checkpoint`, control information is updated at the end.
fn outdated(before: u32, after: u32, checkpoint: Option<u32>) -> (Scratch, Scratch) {
    let (scratch, older) = (Scratch::with_log(), Scratch::new());
    let log = open(&scratch.0);
    let mut session = log.session();
    let mut rbas: Vec<Rba> = Vec::new();
    for which in 0..after {
        if which == before {
            for file in Paths::new(&scratch.0).logs(SMALL.groups) {
                let name = file.file_name().expect("a name");
                std::fs::copy(&file, older.0.join(name)).expect("copied");
            }
        }
        rbas.push(commit(&mut session, 0, which).expect("durable"));
    }
    if let Some(which) = checkpoint {
        log.checkpoint(rbas[which as usize]).expect("durable");
    }
    (scratch, older)
}

fn restore(scratch: &Scratch, older: &Scratch, groups: std::ops::Range<usize>) {
    let paths = Paths::new(&scratch.0).logs(SMALL.groups);
    for file in &paths[groups] {
        let name = file.file_name().expect("a name");
        std::fs::copy(older.0.join(name), file).expect("copied");
    }
}

/// Blocks of a log: one commit in each.
const LOG: u32 = 127;

#[test]
fn older_log_files_under_newer_control_information_are_refused() {
    // The checkpoint alone proves it, then only the durable position beside the checkpoint does.
    for (checkpoint, refused) in [(70, 70), (5, 40)] {
        let (scratch, older) = outdated(40, 80, Some(checkpoint));
        restore(&scratch, &older, 0..3);
        let what = format!("checkpoint before record {checkpoint}");
        refused_at(&scratch.0, refused, &what);
    }
}

#[test]
fn an_older_newest_log_file_is_refused_where_control_information_proves_it() {
    let (scratch, older) = outdated(LOG + 10, LOG + 50, Some(3));
    assert_eq!(control(&scratch.0).known_durable(), u64::from(LOG) + 50);
    restore(&scratch, &older, 1..2);
    refused_at(&scratch.0, u64::from(LOG) + 10, "the newest log file");
}

/// Assumption 23: what was committed since the control information was last updated is lost, and
/// nothing else; `inspect` prints up to where it is proved.
#[test]
fn an_older_newest_log_file_loses_what_was_committed_since_the_last_update() {
    let (scratch, older) = outdated(LOG + 10, LOG + 50, None);
    let info = control(&scratch.0);
    assert_eq!(info.known_durable(), 0);
    restore(&scratch, &older, 1..2);
    let kept: Vec<u32> = (0..LOG + 10).collect();
    assert_eq!(opened(&scratch.0).expect("nothing proves it"), kept);
    // A checkpoint or a reopening proves what lies before it.
    let (scratch, older) = outdated(LOG + 10, LOG + 50, None);
    drop(open(&scratch.0));
    assert_eq!(control(&scratch.0).known_durable(), u64::from(LOG) + 50);
    restore(&scratch, &older, 1..2);
    refused_at(&scratch.0, u64::from(LOG) + 10, "after a reopening");
}

/// Control information from before a checkpoint, under a log that was full up to it and went on a
/// little: no block that the older checkpoint lets be read shows it, only the first behind them.
#[test]
fn older_control_information_under_a_full_log_that_went_on_is_refused() {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    let block = vec![7; log.geometry().payload() as usize - 8];
    let mut fill = |blocks: u64| {
        let mut rbas = Vec::new();
        for _ in 0..blocks {
            rbas.push(session.append(&[&block]).expect("room"));
            session.commit(CommitMode::NOWAIT_BATCH).expect("open");
        }
        log.flush().expect("durable");
        rbas
    };
    let rbas = fill(30);
    log.checkpoint(rbas[20]).expect("durable");
    let control = Paths::new(&scratch.0).control();
    let older = std::fs::read(&control).expect("readable");
    let full = u64::from(SMALL.groups) * log.geometry().blocks_per_group;
    let rbas = fill(full - 30);
    log.checkpoint(rbas[u64::from(LOG) as usize])
        .expect("durable");
    fill(3);
    drop((session, log));
    std::fs::write(control, older).expect("writable");
    refused_at(&scratch.0, full, "the first block behind the limit");
}
