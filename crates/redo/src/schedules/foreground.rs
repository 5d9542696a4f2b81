//! Foregrounds of drawn schedules: they append and commit in every way that there is.
//!
//! What it must not know: how the log is written.

use super::{EACH, World, below};
use crate::commit::CommitPost;
use crate::engine::{CommitFuture, Completions, Session};
use crate::{CommitMode, Error, Rba};
use shuttle::thread;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::Poll;

/// A record that no other equals; the longest nearly fills a block, so many lie in two.
fn record(who: u32, which: u32) -> Vec<u8> {
    let len = [20, 200, 440][((who + which) % 3) as usize];
    (0..len)
        .map(|at| (who * 83 + which * 29 + at) as u8)
        .collect()
}

/// Commits whose outcome is reported later, by what is to be recovered of each.
pub(super) type Later = Completions<(Rba, Vec<u8>)>;

/// A foreground: appends and commits, in whatever way it draws. It may leave commits
/// whose outcome it has not seen.
pub(super) fn foreground(world: &World, mut session: Session, mut later: Later, who: u32) -> Later {
    for which in 0..EACH {
        let bytes = record(who, which);
        let appended = session.append(&[&bytes]);
        // Time in which it is written, if somebody wants that, and its flush deferred.
        for _ in 0..if world.pauses { below(12) } else { 0 } {
            thread::yield_now();
        }
        let done = match appended {
            Ok(rba) => commit(world, &mut session, &mut later, (rba, bytes)),
            Err(refused) => Err(refused),
        };
        match done {
            Ok(()) => {}
            Err(Error::Poisoned(_)) => break,
            Err(other) => panic!("{other}"),
        }
    }
    if below(2) == 0 {
        let posts = below(2) == 0;
        while !later.is_empty() {
            let decided = if posts { later.poll() } else { later.wait() };
            if decided == 0 {
                thread::yield_now();
            }
            take(world, &mut later);
        }
    }
    world.busy.fetch_sub(1, Ordering::SeqCst);
    later
}

fn commit(
    world: &World,
    session: &mut Session,
    later: &mut Later,
    redo: (Rba, Vec<u8>),
) -> Result<(), Error> {
    let mode = match below(5) {
        0 => CommitMode::NOWAIT_BATCH,
        1 => {
            let ticket = session.commit_async(CommitPost::Immediate)?;
            assert!(later.push(ticket, redo).is_ok(), "room for each");
            if below(2) == 0 {
                later.poll();
                take(world, later);
            }
            return Ok(());
        }
        2 => {
            let future = session.commit_async(CommitPost::Immediate)?.into_future();
            return awaits(world, future, redo);
        }
        _ => CommitMode::WAIT_IMMEDIATE,
    };
    if session.commit(mode)?.durable {
        world.acknowledged.lock().expect("whole").push(redo);
    } else {
        assert_eq!(mode, CommitMode::NOWAIT_BATCH);
    }
    Ok(())
}

/// Awaits a commit as a task does, or drops its future at some poll: the commit goes on.
fn awaits(world: &World, mut future: CommitFuture, redo: (Rba, Vec<u8>)) -> Result<(), Error> {
    let mut left = below(2).checked_sub(1).map(|_| below(3));
    let done = shuttle::future::block_on(std::future::poll_fn(|context| {
        if left == Some(0) {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut future).poll(context).map(Some);
        if let Some(polls) = &mut left {
            *polls -= 1;
            // So that it is polled again.
            context.waker().wake_by_ref();
        }
        polled
    }));
    drop(future);
    if let Some(outcome) = done {
        outcome?;
        world.acknowledged.lock().expect("whole").push(redo);
    }
    Ok(())
}

/// Takes what is decided; after the first that failed none is durable.
pub(super) fn take(world: &World, later: &mut Later) {
    let mut failed = false;
    while let Some(told) = later.take() {
        match told.outcome {
            Ok(()) => {
                assert!(!failed, "durable behind one that failed");
                world.acknowledged.lock().expect("whole").push(told.tag);
            }
            Err(Error::Poisoned(_) | Error::Closed | Error::CheckpointIncomplete) => failed = true,
            Err(other) => panic!("{other}"),
        }
    }
}
