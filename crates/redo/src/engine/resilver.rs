//! The thread that has members return while the log is in use: it tries each member that was given
//! up, after a pause that grows with each attempt that comes to nothing.
//!
//! Invariants: it is over before the files of the log are given up; the control information is held
//! while it is decided and made durable that a member is in sync.
//!
//! What it must not know: how a member is copied, and when it may be believed (`crate::members`).

use super::HeldLog;
use super::core::Core;
use crate::error::Error;
use crate::members::{Resilver, ResilverStep, Standing};
use crate::sync::{Builder, JoinHandle, Mutex, is_own};
use crate::writer::Cause;
use device::LogDevice;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The longest pause between two attempts, unless the first one is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Between two looks whether a step can be made: a step waits for a write or two.
const LOOK: Duration = Duration::from_micros(100);

/// The thread, until this is dropped.
pub(super) struct ResilverThread {
    stop: Arc<AtomicBool>,
    standing: Arc<Standing>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread works on.
pub(super) struct ResilverWork {
    pub(super) standing: Arc<Standing>,
    pub(super) held: Weak<Mutex<Option<HeldLog>>>,
    pub(super) core: Weak<Core>,
    /// By the numbers of the members, with what errors name.
    pub(super) devices: Vec<(Option<Arc<dyn LogDevice>>, PathBuf)>,
    /// Before the first attempt.
    pub(super) pause: Duration,
}

impl ResilverThread {
    pub(super) fn start(work: ResilverWork) -> Result<ResilverThread, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let (standing, stopped) = (Arc::clone(&work.standing), Arc::clone(&stop));
        let thread = Builder::new().name("resilver".to_owned());
        let thread = thread.spawn(move || run(&work, &stopped));
        Ok(ResilverThread {
            stop,
            standing,
            thread: Some(thread.map_err(Error::Thread)?),
        })
    }
}

impl Drop for ResilverThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.standing.news.ring();
        // A waker that this thread wakes, for a failure, may drop the log: it ends right after.
        if let Some(thread) = self.thread.take_if(|thread| !is_own(thread)) {
            // One that died has left the member stale.
            let _ = thread.join();
        }
    }
}

/// When a member is tried next, and the pause behind that.
#[derive(Clone, Copy)]
struct Retry {
    due: Option<Instant>,
    pause: Duration,
}

fn run(work: &ResilverWork, stop: &AtomicBool) {
    let first = Retry {
        due: None,
        pause: work.pause,
    };
    let mut retries = vec![first; work.devices.len()];
    loop {
        // Before it looks whether it is to stop, which is stored before the bell is rung: read
        // afterwards, the word could have that ring in it already, and nothing would end the sleep.
        let seen = work.standing.news.read();
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        let left: Vec<usize> = work.standing.left_behind().collect();
        for member in left.into_iter().filter(|m| work.devices[*m].0.is_some()) {
            let retry = &mut retries[member];
            let due = *retry.due.get_or_insert(now + retry.pause);
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            let most = LONGEST_PAUSE.max(work.pause);
            retry.pause = match work.attempt(member, stop) {
                true => work.pause,
                false => retry.pause.saturating_mul(2).min(most),
            };
            retry.due = None;
            next = Some(now);
        }
        let pause = next.map(|next| next.saturating_duration_since(Instant::now()));
        work.standing.news.wait_timeout(seen, pause);
    }
}

impl ResilverWork {
    /// Has `member` return; whether it did.
    fn attempt(&self, member: usize, stop: &AtomicBool) -> bool {
        let (Some(device), path) = &self.devices[member] else {
            return false;
        };
        if !self.is_there(member) {
            return false;
        }
        let piece = Resilver::PIECE_BYTES;
        let Some(mut resilver) = Resilver::begin(&self.standing, member, device, path, piece)
        else {
            return false;
        };
        while !stop.load(Ordering::SeqCst) {
            let seen = self.standing.news.read();
            match resilver.step() {
                ResilverStep::Again => {}
                ResilverStep::Wait => self.standing.news.wait_timeout(seen, Some(LOOK)),
                ResilverStep::Mark => return self.mark(resilver),
                ResilverStep::Failed => return false,
            }
        }
        resilver.give_up();
        false
    }

    /// What is written to a file without a name would be lost with this process.
    fn is_there(&self, member: usize) -> bool {
        let Some(held) = self.held.upgrade() else {
            return false;
        };
        let look = {
            let held = held.lock();
            let held = held.as_ref().ok().and_then(|held| held.as_ref());
            held.filter(|held| held.control.is_at_rest(member))
                .map(|held| held.look_for_files(member))
        };
        // Nothing is held while it is waited for.
        look.is_some_and(|look| look())
    }

    /// Makes it durable that the member is in sync, and has it used.
    fn mark(&self, resilver: Resilver) -> bool {
        let marked = self.held.upgrade().and_then(|held| {
            let mut held = held.lock().ok()?;
            let held = held.as_mut()?;
            if !resilver.may_be_marked() {
                return None;
            }
            let marked = held.control.readmit(resilver.member());
            resilver.marked(matches!(marked, Ok(true)));
            held.updated();
            Some(marked)
        });
        match marked {
            Some(Ok(true)) => resilver.believe(),
            Some(Ok(false)) => false,
            Some(Err(error)) => {
                if let Some(core) = self.core.upgrade() {
                    core.poison(Cause::Control(error.io_failure()));
                }
                false
            }
            // The log is closed, or the member failed meanwhile.
            None => {
                resilver.give_up();
                false
            }
        }
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod schedules {
    use super::*;
    use crate::control::MemberTable;

    /// In every order of its steps and of those of the thread that drops it. A thread that is rung
    /// for before it sleeps, and sleeps all the same, is a deadlock, which shuttle reports.
    #[test]
    fn the_thread_ends_whenever_it_is_dropped() {
        shuttle::check_dfs(
            || {
                let table = MemberTable::new(2, 1).expect("members");
                let work = ResilverWork {
                    standing: Standing::new(table),
                    held: Weak::new(),
                    core: Weak::new(),
                    devices: vec![(None, "a".into()), (None, "b".into())],
                    pause: Duration::ZERO,
                };
                drop(ResilverThread::start(work).expect("a thread"));
            },
            None,
        );
    }
}
