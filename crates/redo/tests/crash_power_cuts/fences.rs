//! Orders of requests that no other test here makes, since they need one request held while others
//! pass:
//!
//! - a process is killed between a write and its flush; the next one exposes what it found, and
//!   the power is cut at once;
//! - a flush is carried out while another write is in flight.
//!
//! Each is made once as the engine is, and once with the fence removed, which must lose.

use crate::held::{Life, PATIENCE, Way, after_power_cut, files_are_served, new_log};
use crate::shelf::{Asked, Fate, Shelf};
use crate::{alone, seed};
use device::{IoEngine, SyncMethod};
use redo::LogWriter;
use redo::planted::Bug;
use std::time::Duration;

/// The control file is the first.
const CONTROL: usize = 0;

pub const RINGS: Way = Way {
    method: SyncMethod::Direct,
    io: IoEngine::IoUring,
    writer: LogWriter::Lgwr,
    planted: None,
};

pub const WORKERS: Way = Way {
    io: IoEngine::Threads,
    writer: LogWriter::Workers(3),
    ..RINGS
};

fn log_syncs(file: usize, asked: Asked) -> bool {
    file != CONTROL && asked == Asked::Sync
}

fn log_requests(file: usize, _asked: Asked) -> bool {
    file != CONTROL
}

fn control_syncs(file: usize, asked: Asked) -> bool {
    file == CONTROL && asked == Asked::Sync
}

/// Kills a process whose flush is held, and has the flush fail: its write is answered, and durable
/// by nothing.
fn killed_before_its_flush(shelf: &Shelf, life: &mut Life) -> Result<(), String> {
    let held = shelf.await_held(1, PATIENCE)?;
    life.kill();
    shelf.hold_no_more();
    held.iter().for_each(|held| shelf.fail(held.unique));
    life.is_gone(PATIENCE)
        .then_some(())
        .ok_or("it does not end".to_owned())
}

/// What a power cut leaves that comes after what was found after a kill has been exposed.
fn left_after_exposure(way: Way) -> Result<Result<Vec<u32>, String>, String> {
    let shelf = new_log("tail", false)?;
    let mut first = Life::start(shelf.at(), way);
    first.says("open", PATIENCE)?;
    first.commits(0)?;
    shelf.hold(log_syncs);
    first.commit(1);
    killed_before_its_flush(&shelf, &mut first)?;
    let mut second = Life::start(shelf.at(), way);
    second.says("open", PATIENCE)?;
    let exposed = second.found();
    if exposed != [0, 1] {
        return Err(format!("not what was written before the kill: {exposed:?}"));
    }
    Ok(after_power_cut(&shelf, Fate::Lost, &mut 0))
}

#[test]
fn what_recovery_exposed_survives_a_power_cut_at_once() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    let buffered = |io, writer| Way {
        method: SyncMethod::Buffered,
        io,
        writer,
        planted: None,
    };
    for way in [
        buffered(IoEngine::Threads, LogWriter::Inline),
        buffered(IoEngine::IoUring, LogWriter::Lgwr),
        buffered(IoEngine::Threads, LogWriter::Workers(3)),
    ] {
        let left = left_after_exposure(way).unwrap_or_else(|what| panic!("{way:?}: {what}"));
        assert_eq!(left, Ok(vec![0, 1]), "{way:?}");
        let planted = Some(Bug::SkipTailFlushFence);
        let left = left_after_exposure(Way { planted, ..way }).expect("as before");
        println!("{way:?}, the fence removed: {left:?}");
        assert_ne!(
            left,
            Ok(vec![0, 1]),
            "{way:?}: the fence was removed, nothing was lost"
        );
    }
}

/// Kills a process between writing a copy of the control information and flushing it, cuts the
/// power while the next one is writing the other copy, and says in how many of `states` the log
/// does not open.
fn unopened(planted: Option<Bug>, states: u32, state: &mut u64) -> Result<u32, String> {
    let way = Way {
        method: SyncMethod::Buffered,
        io: IoEngine::Threads,
        writer: LogWriter::Inline,
        planted: None,
    };
    let shelf = new_log("control", false)?;
    let mut first = Life::start(shelf.at(), way);
    first.says("open", PATIENCE)?;
    first.commits(0)?;
    first.kill();
    first.is_gone(PATIENCE);
    // Its first sync of the control file is the fence, its second that of a copy.
    shelf.hold(control_syncs);
    let mut second = Life::start(shelf.at(), way);
    let fence = shelf.await_held(1, PATIENCE)?;
    shelf.release(fence[0].unique);
    killed_before_its_flush(&shelf, &mut second)?;
    shelf.hold(control_syncs);
    let third = Life::start(shelf.at(), Way { planted, ..way });
    let mut held = shelf.await_held(1, PATIENCE)?;
    if planted.is_none() {
        shelf.release(held[0].unique);
        held = shelf.await_held(1, PATIENCE)?;
    }
    let mut failed = 0;
    for _ in 0..states {
        failed += u32::from(after_power_cut(&shelf, Fate::Drawn, state).is_err());
    }
    drop((held, third));
    Ok(failed)
}

#[test]
fn a_copy_of_the_control_information_survives_a_power_cut_after_a_kill() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    let mut state = seed();
    println!("REDO_CUT_SEED={state}");
    let failed = unopened(None, 64, &mut state).unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(failed, 0, "the log does not open after a power cut");
    let planted = Some(Bug::SkipControlFlushFence);
    let failed = unopened(planted, 64, &mut state).expect("as before");
    assert!(failed > 0, "the fence was removed and nothing was lost");
}

/// Commits, from 0 on, that a new log takes in its first file.
fn commits_in_the_first_file(way: Way) -> Result<u32, String> {
    const SECOND_FILE: usize = 2;
    let shelf = new_log("count", true)?;
    let mut life = Life::start(shelf.at(), way);
    life.says("open", PATIENCE)?;
    let mut which = 0;
    while shelf.writes(SECOND_FILE) == 0 {
        life.commits(which)?;
        which += 1;
    }
    Ok(which - 1)
}

/// Makes `before` commits, then puts two batches in flight; the flush of the first is carried out
/// while the second's write is in flight (`early`: which ends while that flush is). Says whether
/// everything acknowledged is there after a power cut.
fn all_is_there(way: Way, before: u32, early: bool) -> Result<bool, String> {
    let shelf = new_log("flush", true)?;
    let mut life = Life::start(shelf.at(), way);
    life.says("open", PATIENCE)?;
    for which in 0..before {
        life.commits(which)?;
    }
    shelf.hold(log_requests);
    life.commit(before);
    let first = shelf.await_held(1, PATIENCE)?[0].unique;
    life.commit(before + 1);
    let second = shelf.await_held(2, PATIENCE)?[1].unique;
    shelf.release(first);
    let flush = shelf.await_held(2, PATIENCE)?;
    let flush = flush.iter().find(|held| held.asked == Asked::Sync);
    let flush = flush.ok_or("a flush follows the first write")?.unique;
    if early {
        shelf.release(second);
        std::thread::sleep(Duration::from_millis(20));
    }
    shelf.hold_no_more();
    shelf.release(flush);
    life.says(&format!("acked {before}"), PATIENCE)?;
    if !early {
        shelf.release(second);
    }
    life.says(&format!("acked {}", before + 1), PATIENCE)?;
    let left = after_power_cut(&shelf, Fate::Lost, &mut 0)?;
    Ok(left.into_iter().eq(0..before + 2))
}

#[test]
fn a_flush_covers_no_write_that_was_in_flight() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    // Two writes in one file. With threads each in its own: a sync of a file waits in the kernel
    // for a call that writes it.
    let full = commits_in_the_first_file(WORKERS).expect("it commits");
    for (way, before) in [(RINGS, 1), (RINGS, full - 1), (WORKERS, full - 1)] {
        for early in [false, true] {
            let there = all_is_there(way, before, early);
            let there = there.unwrap_or_else(|what| panic!("{way:?}, {before}, {early}: {what}"));
            assert!(
                there,
                "{way:?}, {before}, {early}: an acknowledged commit is lost"
            );
        }
    }
    let planted = Some(Bug::FlushCountsInFlight);
    for early in [false, true] {
        let there = all_is_there(Way { planted, ..RINGS }, 1, early).expect("as before");
        assert!(
            !there,
            "{early}: writes in flight were counted and nothing was lost"
        );
    }
}
