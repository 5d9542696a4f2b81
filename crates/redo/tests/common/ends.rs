//! The end of a log that waits for a device that hangs.

use crate::common::{PATIENCE, until};
use crate::hangs::{PATIENT, TestClock};
use device::fault::Hang;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

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
