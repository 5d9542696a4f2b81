//! Threads that die where it hurts: threads that wait for them get an error, and no others are
//! harmed.

use crate::common::{PATIENCE, Scratch, WRITERS, commit, open, options, record};
use redo::{CommitMode, Error, LogWriter};
use redo::{CommitPost, CommitWait};
use std::sync::mpsc::channel;
use std::time::Duration;

const WAIT_BATCH: CommitMode = CommitMode {
    wait: CommitWait::Wait,
    post: CommitPost::Batch,
};

/// The observer is the embedder's code, run by the holder of the baton. When it panics, all whom
/// the leader would have served must learn of it, not only a thread that takes the baton later.
#[test]
fn a_leader_that_dies_leaves_nobody_waiting() {
    for log_writer in WRITERS {
        let scratch = Scratch::with_log();
        let ways = options()
            .log_writer(log_writer)
            .observer(|_| panic!("the observer dies"));
        let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
        let (tell, told) = channel();
        let sessions = [(0, WAIT_BATCH), (1, CommitMode::WAIT_IMMEDIATE)].map(|(who, mode)| {
            let mut session = log.session();
            session.append(&[&record(who, 0)]).expect("open");
            (session, mode)
        });
        let threads = sessions.map(|(mut session, mode)| {
            let tell = tell.clone();
            let thread = std::thread::spawn(move || {
                tell.send(session.commit(mode).map(drop)).expect("heard");
            });
            // The first sleeps when the second makes somebody lead for both.
            std::thread::sleep(Duration::from_millis(100));
            thread
        });
        drop(tell);
        let mut refused = 0;
        while let Ok(result) = told.recv_timeout(PATIENCE) {
            assert!(matches!(result, Err(Error::Poisoned(_))), "{result:?}");
            refused += 1;
        }
        // A leader has nothing to tell: it is the one that died. Usually the second session led,
        // or the log writer's thread, which leads everything where it is dedicated.
        let died = threads.map(|thread| usize::from(thread.join().is_err()));
        let died: usize = died.iter().sum();
        assert_eq!(refused + died, 2, "{log_writer:?}");
        let sessions_write = matches!(log_writer, LogWriter::Auto | LogWriter::Inline);
        assert!(died <= usize::from(sessions_write));
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
