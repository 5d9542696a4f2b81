//! Opening places whose devices may hang: each is opened by a thread that may be left behind.
//!
//! Invariants: no place is waited for longer than its members' patience, and a little more than a
//! process that is ending keeps its locks; what opened it too late gives it up at once, and its
//! lock.
//!
//! What it must not know: what is opened, and what becomes of a log without it.

use crate::error::Error;
use crate::members::{Errands, OPENING, is_late};
use measure::Clock;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// For how long a member is waited for, and by which clock.
pub(super) type Times = (Duration, Arc<dyn Clock>);

/// What `open` comes to, or in words that the place does not answer.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn in_time<R: Send + 'static>(
    path: &Path,
    (patience, clock): &Times,
    open: impl FnOnce() -> R + Send + 'static,
) -> Result<Result<R, String>, Error> {
    let errands = Errands::start(String::from("open"), ()).map_err(Error::Thread)?;
    let most = OPENING.max(*patience);
    let opened = errands.run(&**clock, |time| is_late(time, most), open);
    let silent = || {
        let seconds = most.as_secs();
        format!("{}: does not answer within {seconds} s", path.display())
    };
    Ok(opened.ok_or_else(silent))
}
