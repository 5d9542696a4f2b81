//! Two servers at a time.

use std::sync::{Condvar, Mutex, PoisonError};

/// Tests that have a server at once: more of them than processors would only wait for each other.
const AT_ONCE: usize = 2;
static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

struct Turn;

impl Turn {
    fn take() -> Turn {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken == AT_ONCE {
            taken = GIVEN_BACK
                .wait(taken)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        GIVEN_BACK.notify_one();
    }
}

/// A server, or what a test needs for one, while it is the test's turn.
pub struct InTurn<T> {
    it: T,
    _turn: Turn,
}

impl<T> InTurn<T> {
    /// What `make` makes, once fewer than [`AT_ONCE`] other tests have a server.
    pub fn of(make: impl FnOnce() -> Option<T>) -> Option<InTurn<T>> {
        let turn = Turn::take();
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
