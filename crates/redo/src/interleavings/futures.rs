//! Models of tasks that await their commits: nobody is forgotten when others drop their futures,
//! and every future is decided when the log fails or is closed.

use super::*;
use crate::Error;
use crate::tickets::CommitRequest;
use crate::turn::AwaitedCommit;
use loom::thread;
use std::pin::Pin;
use std::task::{Context, Poll};

type SharedLog = loom::sync::Arc<Log>;

fn shared(way: Leadership, planted: Planted) -> SharedLog {
    let rules = Rules {
        way,
        planted,
        ..Rules::default()
    };
    loom::sync::Arc::new(log_with(3, (1 << 32) - 1, rules))
}

/// The future of a commit, as the engine makes it.
struct Awaiting {
    log: SharedLog,
    batch: u64,
    awaited: AwaitedCommit,
}

impl Future for Awaiting {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let outcome = this.awaited.poll(&*this.log, context.waker());
        if matches!(outcome, Poll::Ready(Ok(()))) {
            let durable = this.log.buffer.published() > this.batch;
            assert!(durable, "what is reported durable is durable");
        }
        outcome
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        self.awaited.cancel(&*self.log);
    }
}

/// Polls a future so many times, then drops it.
struct Cancelled(Awaiting, u32);

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..self.1 {
            if Pin::new(&mut self.0).poll(context).is_ready() {
                break;
            }
        }
        Poll::Ready(())
    }
}

/// Appends and commits; what is awaited.
fn begin(log: &SharedLog, body: &[u8]) -> Result<Awaiting, Error> {
    let batch = append(log, body)?;
    log.check()?;
    log.commit_async(batch, true);
    let request = CommitRequest {
        through: batch + 1,
        immediate: true,
    };
    Ok(Awaiting {
        awaited: AwaitedCommit::begin(&**log, request),
        log: loom::sync::Arc::clone(log),
        batch,
    })
}

/// Commits and awaits.
fn awaits(log: &SharedLog, body: &[u8]) -> Result<(), Error> {
    loom::future::block_on(begin(log, body)?)
}

/// Commits, polls so many times, and drops the future.
fn cancels(log: &SharedLog, body: &[u8], polls: u32) {
    if let Ok(awaiting) = begin(log, body) {
        loom::future::block_on(Cancelled(awaiting, polls));
    }
}

/// The log is closed, its log writer ended; every record is on it.
fn end(log: &SharedLog, server: Option<thread::JoinHandle<()>>, bodies: &[&[u8]]) {
    log.close();
    if let Some(server) = server {
        server.join().expect("no panic");
    }
    let records = log.baton().expect("whole").records();
    let expected: Vec<_> = bodies.iter().map(|b| b.to_vec()).collect();
    assert_eq!(sorted(records), sorted(expected));
}

/// A task that awaits, served by the log writer alone.
fn one_is_served(log: &SharedLog) {
    let server = serving(log);
    awaits(log, b"a").expect("durable");
    end(log, Some(server), &[b"a"]);
}

#[test]
fn a_task_is_served_by_the_fallback_log_writer() {
    explore(3, || {
        one_is_served(&shared(Leadership::Inline, Planted::none()));
    });
}

#[test]
fn a_task_is_served_by_a_dedicated_log_writer() {
    explore(3, || {
        one_is_served(&shared(Leadership::Dedicated, Planted::none()));
    });
}

/// A thread that leads serves the task, or the fallback log writer serves both.
#[test]
fn a_task_is_served_beside_a_committer_that_leads() {
    explore(2, || {
        let log = shared(Leadership::Inline, Planted::none());
        let server = serving(&log);
        let committer = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || commit(&log, b"bc").expect("durable"))
        };
        awaits(&log, b"a").expect("durable");
        committer.join().expect("no panic");
        end(&log, Some(server), &[b"a", b"bc"]);
    });
}

/// A future is dropped before its first poll, after it, or after it was polled again: its commit is
/// written although nobody awaits it.
fn a_dropped_commit_is_written(log: &SharedLog, polls: u32) {
    let server = serving(log);
    cancels(log, b"a", polls);
    log.await_published((1 << 32) - 1, false, |_| LeadOutcome::Nothing)
        .expect("durable");
    end(log, Some(server), &[b"a"]);
}

#[test]
fn commits_whose_futures_are_dropped_are_written() {
    for polls in [0, 1, 2] {
        explore(3, move || {
            a_dropped_commit_is_written(&shared(Leadership::Inline, Planted::none()), polls);
        });
    }
}

/// Another task's future is dropped beside one that awaits.
#[test]
fn dropped_futures_lose_nothing() {
    for polls in [0, 1, 2] {
        explore(2, move || {
            let log = shared(Leadership::Inline, Planted::none());
            let server = serving(&log);
            let canceller = {
                let log = loom::sync::Arc::clone(&log);
                thread::spawn(move || cancels(&log, b"bc", polls))
            };
            awaits(&log, b"a").expect("durable");
            canceller.join().expect("no panic");
            log.close();
            server.join().expect("no panic");
        });
    }
}

/// Two that await the same batch, and one that is dropped: the thread that sweeps takes the others
/// off the list while the batch is published.
fn one_cancels_beside_one_on_the_list(log: &SharedLog) {
    let kept = begin(log, b"a").expect("open");
    let mut kept = Box::pin(kept);
    let leader = {
        let log = loom::sync::Arc::clone(log);
        thread::spawn(move || {
            if let Ok(baton) = log.baton() {
                log.lead(baton, |scribe| scribe.lead(&log));
            }
        })
    };
    let mut cancelled = begin(log, b"bc").ok();
    loom::future::block_on(std::future::poll_fn(move |context| {
        let first = kept.as_mut().poll(context);
        if let Some(mut other) = cancelled.take() {
            let _ = Pin::new(&mut other).poll(context);
        }
        first
    }))
    .expect("durable");
    leader.join().expect("no panic");
}

#[test]
fn dropping_a_future_on_the_list_keeps_the_others() {
    explore(3, || {
        one_cancels_beside_one_on_the_list(&shared(Leadership::Inline, Planted::none()));
    });
}

/// A task is polled again with another waker: the last one is woken.
#[test]
fn a_task_that_moves_is_woken_where_it_is() {
    explore(2, || {
        let log = shared(Leadership::Inline, Planted::none());
        let server = serving(&log);
        let mut awaiting = begin(&log, b"a").expect("open");
        let noop = std::task::Waker::noop();
        let first = Pin::new(&mut awaiting).poll(&mut Context::from_waker(noop));
        match first {
            Poll::Ready(outcome) => outcome.expect("durable"),
            Poll::Pending => loom::future::block_on(awaiting).expect("durable"),
        }
        end(&log, Some(server), &[b"a"]);
    });
}

/// The first or second write fails under two tasks: each learns of its own.
fn tasks_of_a_log_that_fails(log: &SharedLog, fails_after: u32) {
    log.baton().expect("whole").fails_after = Some(fails_after);
    let server = serving(log);
    let other = {
        let log = loom::sync::Arc::clone(log);
        thread::spawn(move || awaits(&log, b"bc"))
    };
    let told = [awaits(log, b"a"), other.join().expect("no panic")];
    log.close();
    server.join().expect("no panic");
    let records = log.baton().expect("whole").records();
    for (body, told) in [&b"a"[..], b"bc"].iter().zip(&told) {
        match told {
            Ok(()) => assert!(records.iter().any(|r| r == body), "acknowledged: {body:?}"),
            Err(Error::Poisoned(Cause::Write(_))) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn tasks_of_a_failed_log_are_told() {
    for fails_after in [0, 1] {
        explore(2, move || {
            let log = shared(Leadership::Dedicated, Planted::none());
            tasks_of_a_log_that_fails(&log, fails_after);
        });
    }
}

/// The log is closed under a task: it is durable, or gets an error.
#[test]
fn tasks_of_a_closed_log_are_told() {
    explore(3, || {
        let log = shared(Leadership::Dedicated, Planted::none());
        let closer = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || log.close())
        };
        let told = awaits(&log, b"a");
        closer.join().expect("no panic");
        assert!(
            matches!(told, Err(Error::Closed)),
            "nobody writes: {told:?}"
        );
    });
}

#[test]
fn a_future_that_registers_late_is_found() {
    let test = "futures::a_future_that_registers_late_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::FutureRegistersLate);
        one_is_served(&shared(Leadership::Dedicated, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_dropped_future_that_takes_others_with_it_is_found() {
    let test = "futures::a_dropped_future_that_takes_others_with_it_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::CancelLosesOthers);
        one_cancels_beside_one_on_the_list(&shared(Leadership::Inline, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_dropped_future_whose_commit_is_lost_is_found() {
    let test = "futures::a_dropped_future_whose_commit_is_lost_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::CancelledDropsCommit);
        a_dropped_commit_is_written(&shared(Leadership::Inline, planted), 0);
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_sweep_that_does_not_look_again_is_found() {
    let test = "futures::a_sweep_that_does_not_look_again_is_found";
    let reason = failure(test, 3, || {
        let planted = Planted::with(Bug::SweepLooksAway);
        one_cancels_beside_one_on_the_list(&shared(Leadership::Inline, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_failure_that_wakes_no_task_is_found() {
    let test = "futures::a_failure_that_wakes_no_task_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::FailureWakesNoTask);
        tasks_of_a_log_that_fails(&shared(Leadership::Dedicated, planted), 0);
    });
    assert!(reason.contains("deadlock"), "{reason}");
}
