//! The log writer's threads: the dedicated one, and the fallback that serves what no foreground
//! waits for when foregrounds write for themselves.

use super::core::Core;
use super::pipeline;
use crate::error::Error;
use device::Queue;
use measure::{Clock, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// Redo that nobody waits for is written at the latest after this time (Oracle: 3 seconds).
pub(super) const IDLE_WRITE: Duration = Duration::from_secs(3);
pub(super) const IDLE_WRITE_NS: Nanos = Nanos::from_secs(3);

/// Starts the thread: with `pipe`, a queue that does not block, as the pipelined log writer. It
/// stays on `cpus` unless that is empty.
///
/// # Errors
/// When the system gives no thread, or one of the CPUs is not to be had.
pub(crate) fn start(
    core: &Arc<Core>,
    pipe: Option<Box<dyn Queue>>,
    cpus: Vec<usize>,
) -> Result<std::thread::JoinHandle<()>, Error> {
    let refused = |e: std::io::Error| Error::Options(format!("CPU of the log writer: {e}"));
    if !cpus.is_empty() {
        device::cpus::check(&cpus, &device::cpus::allowed().map_err(refused)?).map_err(refused)?;
    }
    let core = Arc::clone(core);
    std::thread::Builder::new()
        .name("lgwr".to_owned())
        .spawn(move || {
            // It was checked above; a CPU that has gone since costs placement, not redo.
            let _ = device::cpus::pin(&cpus);
            match pipe {
                Some(queue) => pipeline::run(&core, queue),
                None => run(&core),
            }
        })
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
