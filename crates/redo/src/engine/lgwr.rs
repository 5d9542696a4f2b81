//! The log writer's threads: the dedicated one, and the fallback that serves what no foreground
//! waits for when foregrounds write for themselves.
//!
//! Invariant: on whatever thread the log is dropped, its files and locks are given up when nothing
//! of the log writer's is in flight any more.

use super::HeldLog;
use super::core::Core;
use super::host::Host;
use super::pipeline;
use crate::error::Error;
use crate::rules;
use crate::sync::{Builder, JoinHandle, Mutex};
use device::Queue;
use measure::Clock;
use std::sync::Arc;

/// Starts the thread: with `pipe`, a queue that does not block, as the pipelined log writer. It
/// stays on `cpus` unless that is empty. Where a waker on this thread drops the log, the thread
/// gives up what is `held`.
///
/// # Errors
/// When the system gives no thread, or one of the CPUs is not to be had.
pub(crate) fn start(
    core: &Arc<Core>,
    held: &Arc<Mutex<Option<HeldLog>>>,
    pipe: Option<Box<dyn Queue>>,
    cpus: Vec<usize>,
) -> Result<JoinHandle<()>, Error> {
    if !cpus.is_empty() {
        device::cpus::check(&cpus, &device::cpus::allowed().map_err(Error::Cpu)?)
            .map_err(Error::Cpu)?;
    }
    let (core, held) = (Arc::clone(core), Arc::clone(held));
    Builder::new()
        .name("lgwr".to_owned())
        .spawn(move || {
            // It was checked above; a CPU that has gone since costs placement, not redo.
            let _ = device::cpus::pin(&cpus);
            match pipe {
                Some(queue) => pipeline::run(&core, queue),
                None => run(&core),
            }
            // Otherwise the log waits for this thread, and gives it up itself.
            if Arc::strong_count(&held) == 1 {
                // A member that hangs is marked while what is held can be found.
                core.settle(Host::catch_up);
            }
            if let Some(held) = Arc::into_inner(held) {
                core.settle(Host::retire);
                drop(held);
            }
        })
        .map_err(Error::Thread)
}

/// Leads when it was posted since it last looked, or when redo has lain for the period of the
/// flush triggers.
fn run(core: &Core) {
    let period = core.rules.triggers.period;
    core.serve(
        |host| host.lead_all(core),
        |post, seen| {
            let start = core.clock.now();
            post.wait_timeout(seen, period);
            rules::is_overdue(core.clock.now().since(start), period)
        },
    );
}
