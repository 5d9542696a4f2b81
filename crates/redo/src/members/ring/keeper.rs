//! The keeper: a thread that has the disk of a ring catch up while nobody commits.
//!
//! Invariant: it sleeps without end only while nothing is on its way to the disk or to the ring.

use device::{DeviceError, Doorbell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the keeper looks while the disk is behind.
pub(super) const KEEPER_TIME: Duration = Duration::from_millis(1);

/// Has the disk catch up while nobody commits: the log writer looks at its queue only while it
/// waits for something.
pub(super) struct Keeper {
    desk: Arc<Desk>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Desk {
    bell: Doorbell,
    asleep: AtomicBool,
    stop: AtomicBool,
}

impl Keeper {
    /// `look` has the disk catch up, and returns whether nothing is under way.
    pub(super) fn start(look: impl Fn() -> bool + Send + 'static) -> Result<Keeper, DeviceError> {
        let desk = Arc::new(Desk::default());
        let thread = {
            let desk = Arc::clone(&desk);
            let keep = move || Keeper::keep(&desk, look);
            std::thread::Builder::new().name("ring".into()).spawn(keep)
        };
        let thread = thread.map_err(|source| DeviceError::Io {
            path: "the ring's keeper".into(),
            action: "start",
            source,
        })?;
        Ok(Keeper { desk, thread })
    }

    fn keep(desk: &Desk, look: impl Fn() -> bool) {
        loop {
            let seen = desk.bell.read();
            if desk.stop.load(SeqCst) {
                return;
            }
            // Before it looks: a thread that submits afterwards sees that it sleeps.
            desk.asleep.store(true, SeqCst);
            let idle = look();
            if !idle {
                desk.asleep.store(false, SeqCst);
            }
            desk.bell.wait_timeout(seen, (!idle).then_some(KEEPER_TIME));
        }
    }

    /// Something is under way; wakes the thread if it sleeps until then.
    pub(super) fn call(&self) {
        if self.desk.asleep.swap(false, SeqCst) {
            self.desk.bell.ring();
        }
    }

    pub(super) fn stop(self) {
        self.desk.stop.store(true, SeqCst);
        self.desk.bell.ring();
        // One that died has left the disk behind, as a crash does.
        let _ = self.thread.join();
    }
}
