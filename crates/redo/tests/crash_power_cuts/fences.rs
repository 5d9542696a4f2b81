//! Three orders of requests that no other test here makes, since they need one request held while
//! others pass:
//!
//! - a process is killed between a write and its flush; the next one exposes what it found, and
//!   the power is cut at once;
//! - a flush is carried out while another write is in flight;
//! - a write is in flight when its process is killed, and is carried out after the next process
//!   has committed.
//!
//! Each is made once as the engine is, and once with the fence removed, which must lose.

use crate::held::{Life, PATIENCE, Way, after_power_cut, as_it_is, new_log};
use crate::shelf::{Asked, Fate, Shelf};
use crate::{alone, here, seed};
use device::{IoEngine, SyncMethod};
use redo::LogWriter;
use redo::planted::Bug;
use std::time::Duration;

/// Long enough for a process that does wrong to be seen at it.
const MOMENT: Duration = Duration::from_millis(500);
/// The control file is the first.
const CONTROL: usize = 0;

const RINGS: Way = Way {
    method: SyncMethod::Direct,
    io: IoEngine::IoUring,
    writer: LogWriter::Lgwr,
    planted: None,
};

const WORKERS: Way = Way {
    io: IoEngine::Threads,
    writer: LogWriter::Workers(3),
    ..RINGS
};

fn log_writes(file: usize, asked: Asked) -> bool {
    file != CONTROL && asked == Asked::Write
}

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

/// What is exposed after a kill and missing after the power cut that follows.
fn lost_after_exposure(way: Way) -> Result<Vec<u32>, String> {
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
    let left = after_power_cut(&shelf, Fate::Lost, &mut 0)?;
    Ok(exposed
        .into_iter()
        .filter(|which| !left.contains(which))
        .collect())
}

#[test]
fn what_recovery_exposed_survives_a_power_cut_at_once() {
    let _alone = alone();
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
        let Some(lost) = here("a kill before a flush", lost_after_exposure(way)) else {
            return;
        };
        assert_eq!(lost, [0_u32; 0], "{way:?}");
        let planted = Some(Bug::SkipTailFlushFence);
        let lost = lost_after_exposure(Way { planted, ..way }).expect("as before");
        assert_eq!(
            lost,
            [1],
            "{way:?}: the fence was removed and nothing was lost"
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
    let mut state = seed();
    println!("REDO_CUT_SEED={state}");
    let Some(failed) = here("a kill before a flush", unopened(None, 64, &mut state)) else {
        return;
    };
    assert_eq!(failed, 0, "the log does not open after a power cut");
    let planted = Some(Bug::SkipControlFlushFence);
    let failed = unopened(planted, 64, &mut state).expect("as before");
    assert!(failed > 0, "the fence was removed and nothing was lost");
}

/// Two batches in flight; the flush of the first is carried out while the second's write is in
/// flight (`early`: and ends while that flush is). Says whether the second, acknowledged, is there
/// after a power cut.
fn second_is_there(way: Way, early: bool) -> Result<bool, String> {
    let shelf = new_log("flush", true)?;
    let mut life = Life::start(shelf.at(), way);
    life.says("open", PATIENCE)?;
    shelf.hold(log_requests);
    life.commit(0);
    let first = shelf.await_held(1, PATIENCE)?[0].unique;
    life.commit(1);
    let both = shelf.await_held(2, PATIENCE)?;
    let second = both[1].unique;
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
    life.says("acked 0", PATIENCE)?;
    if !early {
        shelf.release(second);
    }
    life.says("acked 1", PATIENCE)?;
    let left = after_power_cut(&shelf, Fate::Lost, &mut 0)?;
    Ok(left == [0, 1])
}

#[test]
fn a_flush_covers_no_write_that_was_in_flight() {
    let _alone = alone();
    for way in [RINGS, WORKERS] {
        for early in [false, true] {
            let there = here(
                "a write in flight across a flush",
                second_is_there(way, early),
            );
            let Some(there) = there else {
                return;
            };
            assert!(there, "{way:?}, {early}: an acknowledged commit is lost");
        }
    }
    let planted = Some(Bug::FlushCountsInFlight);
    for early in [false, true] {
        let there = second_is_there(Way { planted, ..RINGS }, early).expect("as before");
        assert!(
            !there,
            "{early}: writes in flight were counted and nothing was lost"
        );
    }
}

/// What came of a process that was killed with a write in flight, and of the next.
#[derive(Debug, PartialEq, Eq)]
struct Late {
    /// The killed process left the system while its write was in flight.
    gone: bool,
    /// The next one opened the log while the write was in flight.
    opened_beside: bool,
    /// Its acknowledged commit is there in the end.
    there: bool,
}

fn late_write(way: Way) -> Result<Late, String> {
    let shelf = new_log("late", true)?;
    let mut first = Life::start(shelf.at(), way);
    first.says("open", PATIENCE)?;
    first.commits(0)?;
    shelf.hold(log_writes);
    first.commit(1);
    let late = shelf.await_held(1, PATIENCE)?[0].unique;
    first.kill();
    let gone = first.is_gone(4 * MOMENT);
    shelf.hold_no_more();
    let mut second = Life::start(shelf.at(), way);
    let opened_beside = second.says("open", 4 * MOMENT).is_ok();
    if opened_beside {
        second.commits(2)?;
        shelf.release(late);
        std::thread::sleep(MOMENT);
    } else {
        shelf.release(late);
        second.says("open", PATIENCE)?;
        second.commits(2)?;
    }
    let there = as_it_is(&shelf).is_ok_and(|found| found.contains(&2));
    Ok(Late {
        gone,
        opened_beside,
        there,
    })
}

#[test]
fn a_write_of_a_killed_process_never_lands_in_the_next_ones_redo() {
    let _alone = alone();
    let threads = Way {
        writer: LogWriter::Inline,
        ..WORKERS
    };
    for way in [RINGS, threads, WORKERS] {
        let Some(late) = here("a write in flight at a kill", late_write(way)) else {
            return;
        };
        println!("{}, {}: {late:?}", way.io.name(), way.writer);
        assert!(late.there && !late.opened_beside, "{way:?}: {late:?}");
    }
    let planted = Some(Bug::LockLeavesRing);
    let late = late_write(Way { planted, ..RINGS }).expect("as before");
    println!("without the lock in the ring: {late:?}");
    assert!(
        !late.there,
        "the fence was removed and nothing was lost: {late:?}"
    );
}
