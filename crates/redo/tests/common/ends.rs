//! The end of a log that waits for a device that hangs.

use crate::common::{self, PATIENCE, until};
use crate::hangs::{PATIENT, TestClock};
use device::fault::Hang;
use redo::{Error, Session};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// `ending` ends when the patience does, and not before, while the hang goes on.
pub fn assert_ends_with_the_patience<T>(
    what: &str,
    clock: &TestClock,
    hang: &Hang,
    ending: &ScopedJoinHandle<'_, T>,
) {
    assert!(hang.await_hanging(1, PATIENCE), "{what}: it is reached");
    clock.go_on(PATIENT - Duration::from_nanos(1));
    std::thread::sleep(Duration::from_millis(5));
    assert!(!ending.is_finished(), "{what}: the patience is not over");
    clock.go_on(Duration::from_nanos(1));
    until(&format!("{what}: it ends"), || ending.is_finished());
}

/// Commits until the log is closed: how many were acknowledged, and the longest wait.
pub fn commit_until_closed(session: &mut Session) -> (u32, Duration) {
    let (mut number, mut worst) = (0, Duration::ZERO);
    loop {
        let begun = Instant::now();
        let committed = common::commit(session, 0, number);
        worst = worst.max(begun.elapsed());
        match committed {
            Ok(_) => number += 1,
            // The log may be full by then.
            Err(Error::Closed | Error::CheckpointIncomplete) => return (number, worst),
            Err(error) => panic!("{error}"),
        }
    }
}
