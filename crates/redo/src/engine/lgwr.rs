//! The log writer's threads: the dedicated one, and the fallback that serves what no foreground
//! waits for when foregrounds write for themselves.

use super::core::Core;
use crate::error::Error;
use measure::Clock;
use std::sync::Arc;

/// Starts the thread.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn start(core: &Arc<Core>) -> Result<std::thread::JoinHandle<()>, Error> {
    let core = Arc::clone(core);
    std::thread::Builder::new()
        .name("lgwr".to_owned())
        .spawn(move || run(&core))
        .map_err(|e| Error::Options(format!("no thread for the log writer: {e}")))
}

/// Leads when it was posted since it last looked, or when redo has lain for the period of the
/// flush triggers.
fn run(core: &Core) {
    let period = core.rules.triggers.period;
    core.serve(
        |host| host.lead(core),
        |post, seen| {
            let start = core.clock.now();
            post.wait_timeout(seen, period);
            period.is_some_and(|p| u128::from(core.clock.now().since(start).0) >= p.as_nanos())
        },
    );
}
