//! Models of turn-taking: no session sleeps for ever, one that returns is durable, one that cannot
//! be served gets an error.

use super::*;
use crate::Error;
use loom::thread;

const BODIES: [&[u8]; 3] = [b"a", b"bc", b"def"];

/// The bodies are committed, each by a thread of its own, the first by the model's own. What each
/// learned, and the log.
fn committers(bodies: &[&'static [u8]], log: &loom::sync::Arc<Log>) -> Vec<Result<(), Error>> {
    let threads: Vec<_> = bodies[1..]
        .iter()
        .map(|body| {
            let (log, body) = (loom::sync::Arc::clone(log), *body);
            thread::spawn(move || commit(&log, body))
        })
        .collect();
    let mut told = vec![commit(log, bodies[0])];
    told.extend(threads.into_iter().map(|t| t.join().expect("no panic")));
    told
}

/// Every commit is durable, and nothing else was written.
fn all_durable(bodies: &[&'static [u8]], log: Log) {
    let log = loom::sync::Arc::new(log);
    let told = committers(bodies, &log);
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    let records = log.baton().expect("whole").records();
    let expected = bodies.iter().map(|b| b.to_vec()).collect();
    assert_eq!(sorted(records), sorted(expected));
}

#[test]
fn two_committers_lead_for_each_other() {
    for (start, first_batch) in [(0, 0), (3, (1 << 32) - 1)] {
        let make = move || log(start, first_batch, Leadership::Inline, Planted::none());
        explore(3, move || all_durable(&BODIES[..2], make()));
    }
}

/// Two may sleep on one batch: the leader wakes one, which wakes the other.
#[test]
fn three_committers_lead_for_each_other() {
    let make = || log(2, (1 << 32) - 2, Leadership::Inline, Planted::none());
    explore(1, move || all_durable(&BODIES, make()));
}

#[test]
fn a_dedicated_log_writer_serves_who_posts_it() {
    explore(2, || {
        let log = loom::sync::Arc::new(log(
            3,
            (1 << 32) - 1,
            Leadership::Dedicated,
            Planted::none(),
        ));
        let server = serving(&log);
        let told = committers(&BODIES[..2], &log);
        assert!(told.iter().all(Result::is_ok), "{told:?}");
        log.close();
        server.join().expect("no panic");
        let records = log.baton().expect("whole").records();
        assert_eq!(sorted(records), [b"a".to_vec(), b"bc".to_vec()]);
    });
}

/// The log fails at its first or second write: a commit that returned is on it, a commit that
/// failed knows why, and nobody waits on, be it for durability or for room (records of three
/// blocks).
#[test]
fn a_failed_write_is_told_to_everybody() {
    let large: [&[u8]; 2] = [b"0123456789abc", b"ABCDEFGHIJKLM"];
    for (fails_after, bodies) in [(0, [BODIES[0], BODIES[1]]), (0, large), (1, large)] {
        explore(2, move || {
            let log = loom::sync::Arc::new(log(0, 0, Leadership::Inline, Planted::none()));
            log.baton().expect("whole").fails_after = Some(fails_after);
            let told = committers(&bodies, &log);
            let records = log.baton().expect("whole").records();
            for (body, told) in bodies.iter().zip(&told) {
                let written = records.iter().any(|r| r == body);
                match told {
                    Ok(()) => assert!(written, "acknowledged: {body:?}"),
                    // Not acknowledged, whatever is found after recovery.
                    Err(Error::Poisoned(Cause::Write(_))) => assert!(fails_after > 0 || !written),
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
}

/// A thread dies between reserving and filling: the leader, who waits for its bytes, and the
/// committers learn of it.
#[test]
fn a_filler_that_dies_is_waited_for_by_nobody() {
    explore(2, || {
        let log = loom::sync::Arc::new(log(0, 0, Leadership::Inline, Planted::none()));
        let filler = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || {
                log.buffer.reserve(9).expect("room");
                log.poison(Cause::Abandoned);
            })
        };
        match commit(&log, b"a") {
            Ok(()) => assert_eq!(log.baton().expect("whole").records(), [b"a"]),
            Err(Error::Poisoned(Cause::Abandoned)) => {}
            Err(other) => panic!("{other}"),
        }
        filler.join().expect("no panic");
    });
}

/// The log is closed while one thread commits and another appends: a commit that returned is on it,
/// and behind `drain` nothing is written any more, not even what was appended late.
#[test]
fn closing_waits_for_who_leads_and_refuses_who_comes() {
    explore(3, || {
        let log = loom::sync::Arc::new(log(0, 0, Leadership::Inline, Planted::none()));
        let committer = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || commit(&log, b"a"))
        };
        let appender = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || append(&log, b"bc"))
        };
        log.close();
        log.drain(|scribe| scribe.lead(&log)).expect("not poisoned");
        let closed = log.baton().expect("whole").records();
        match committer.join().expect("no panic") {
            Ok(()) => assert!(closed.contains(&b"a".to_vec()), "acknowledged"),
            Err(Error::Closed) => {}
            Err(other) => panic!("{other}"),
        }
        // Its redo is either behind the end, and nobody waits for it, or on the log.
        drop(appender.join().expect("no panic"));
        let later = log.baton().expect("whole").records();
        assert_eq!(closed, later, "written behind the end");
    });
}

/// Redo that came during a write, and nobody to write it.
#[test]
fn a_baton_that_is_not_handed_on_is_found_as_a_deadlock() {
    let test = "commits::a_baton_that_is_not_handed_on_is_found_as_a_deadlock";
    let planted = Planted::with(Bug::NoHandOff);
    let reason = failure(test, 3, move || {
        all_durable(&BODIES[..2], log(0, 0, Leadership::Inline, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_sleep_that_does_not_look_is_found_as_a_deadlock() {
    let test = "commits::a_sleep_that_does_not_look_is_found_as_a_deadlock";
    let planted = Planted::with(Bug::SleepUnchecked);
    let reason = failure(test, 3, move || {
        all_durable(&BODIES[..2], log(0, 0, Leadership::Inline, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_missing_bump_is_found_as_a_deadlock() {
    let test = "commits::a_missing_bump_is_found_as_a_deadlock";
    let planted = Planted::with(Bug::MissingBump);
    let reason = failure(test, 3, move || {
        all_durable(&BODIES[..2], log(0, 0, Leadership::Inline, planted));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}
