//! One server at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A server, or what a test needs for one, while it is the test's turn: servers take a device and
/// its processors, and several at once leave a row without a commit.
pub struct InTurn<T> {
    it: T,
    _turn: MutexGuard<'static, ()>,
}

impl<T> InTurn<T> {
    /// What `make` makes, once no other test has a server.
    pub fn of(make: impl FnOnce() -> Option<T>) -> Option<InTurn<T>> {
        static TURN: Mutex<()> = Mutex::new(());
        // A test that failed has had its turn.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        make().map(|it| InTurn { it, _turn: turn })
    }
}

impl<T> std::ops::DerefMut for InTurn<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.it
    }
}

impl<T> std::ops::Deref for InTurn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.it
    }
}
