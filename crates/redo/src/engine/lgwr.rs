//! The log writer's threads: the dedicated one, and the fallback that serves what no foreground
//! waits for when foregrounds write for themselves.

use super::core::Core;
use crate::error::Error;
use crate::sync::{Builder, JoinHandle};
use measure::{Clock, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// Redo that nobody waits for is written at the latest after this time (Oracle: 3 seconds).
const IDLE_WRITE: Duration = Duration::from_secs(3);
const IDLE_WRITE_NS: Nanos = Nanos::from_secs(3);

/// Starts the thread.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn start(core: &Arc<Core>) -> Result<JoinHandle<()>, Error> {
    let core = Arc::clone(core);
    Builder::new()
        .name("lgwr".to_owned())
        .spawn(move || run(&core))
        .map_err(|e| Error::Options(format!("no thread for the log writer: {e}")))
}

/// Leads when it was posted since it last looked, or when redo has lain for [`IDLE_WRITE`].
fn run(core: &Core) {
    core.serve(
        |host| host.lead(core),
        |post, seen| {
            let start = core.clock.now();
            post.wait_timeout(seen, Some(IDLE_WRITE));
            core.clock.now().since(start) >= IDLE_WRITE_NS
        },
    );
}
