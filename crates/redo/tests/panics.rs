//! Threads that die where it hurts: whoever waits for them is told, and nobody else is harmed.

mod common;

use common::{Scratch, WRITERS, commit, open, options, record};
use redo::commit::{CommitPost, CommitWait};
use redo::{CommitMode, Error, Log, LogWriter, Options};
use std::sync::mpsc::channel;
use std::time::Duration;

const WAIT_BATCH: CommitMode = CommitMode {
    wait: CommitWait::Wait,
    post: CommitPost::Batch,
};

/// The observer is the embedder's code, run by whoever holds the baton. When it panics, all whom
/// the leader would have served must learn of it, not only who comes to the baton later.
#[test]
fn a_leader_that_dies_leaves_nobody_waiting() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = Options {
            log_writer,
            observer: Some(Box::new(|_| panic!("the observer dies"))),
            ..options()
        };
        let (log, _) = Log::open(&scratch.0, ways).expect("a new log");
        let (tell, told) = channel();
        for (who, mode) in [(0, WAIT_BATCH), (1, CommitMode::WAIT_IMMEDIATE)] {
            let (mut session, tell) = (log.session(), tell.clone());
            session.append(&[&record(who, 0)]).expect("open");
            std::thread::spawn(move || {
                tell.send(session.commit(mode).map(drop)).expect("heard");
            });
            // The first sleeps when the second makes somebody lead for both.
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(tell);
        let mut refused = 0;
        while let Ok(result) = told.recv_timeout(Duration::from_secs(10)) {
            assert!(matches!(result, Err(Error::Poisoned(_))), "{result:?}");
            refused += 1;
        }
        // The inline leader has nothing to tell: it is the one that died.
        let expected = if log_writer == LogWriter::Inline {
            1
        } else {
            2
        };
        assert_eq!(refused, expected, "{log_writer:?}");
        assert!(matches!(log.close(), Err(Error::Poisoned(_))));
    }
}

/// A session that is used while its thread unwinds fills what it reserved.
#[test]
fn redo_of_an_unwinding_thread_harms_nobody() {
    struct Farewell(redo::Session);
    impl Drop for Farewell {
        fn drop(&mut self) {
            commit(&mut self.0, 0, 0).expect("durable");
        }
    }
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let farewell = Farewell(log.session());
    let thread = std::thread::spawn(move || {
        let _farewell = farewell;
        panic!("for another reason");
    });
    thread.join().expect_err("it panicked");
    let mut session = log.session();
    commit(&mut session, 1, 0).expect("the log is whole");
    log.close().expect("nothing failed");
}
