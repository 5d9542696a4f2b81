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
use crate::members::{MemberCarrier, Resilver, ResilverStep, Standing};
use crate::sync::{Builder, JoinHandle, Mutex, is_own};
use crate::writer::Cause;
use device::LogDevice;
use measure::Nanos;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The longest pause between two attempts, unless the first one is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Between two looks whether a step can be made: a step waits for a write or two.
const LOOK: Duration = Duration::from_micros(100);

/// The thread, until this is dropped.
pub(super) struct ResilverThread {
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
    /// It looks at the clock so often at least: a test's clock wakes nobody.
    pub(super) look: Option<Duration>,
}

impl ResilverThread {
    pub(super) fn start(work: ResilverWork) -> Result<ResilverThread, Error> {
        let standing = Arc::clone(&work.standing);
        let thread = Builder::new().name("resilver".to_owned());
        let thread = thread.spawn(move || run(&work));
        Ok(ResilverThread {
            standing,
            thread: Some(thread.map_err(Error::Thread)?),
        })
    }
}

impl Drop for ResilverThread {
    fn drop(&mut self) {
        self.standing.end_returns();
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
    due: Option<Nanos>,
    pause: Duration,
}

fn run(work: &ResilverWork) {
    let first = Retry {
        due: None,
        pause: work.pause,
    };
    let mut retries = vec![first; work.devices.len()];
    loop {
        // Before it looks whether it is to stop, which is stored before the bell is rung: read
        // afterwards, the word could have that ring in it already, and nothing would end the sleep.
        let seen = work.standing.news.read();
        if work.standing.returns_end() {
            return;
        }
        let now = work.standing.now();
        let mut next: Option<Nanos> = None;
        let left: Vec<usize> = work.standing.left_behind().collect();
        for member in left.into_iter().filter(|m| work.devices[*m].0.is_some()) {
            let retry = &mut retries[member];
            let due = *retry.due.get_or_insert(behind(now, retry.pause));
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            let most = LONGEST_PAUSE.max(work.pause);
            retry.pause = match work.attempt(member) {
                true => work.pause,
                false => retry.pause.saturating_mul(2).min(most),
            };
            retry.due = None;
            next = Some(now);
        }
        let left = |next: Nanos| Duration::from_nanos(next.since(work.standing.now()).0);
        let pause = next.map(|next| work.look.unwrap_or(Duration::MAX).min(left(next)));
        work.standing.news.wait_timeout(seen, pause);
    }
}

fn behind(time: Nanos, pause: Duration) -> Nanos {
    time.plus(Nanos(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)))
}

impl ResilverWork {
    /// Has `member` return; whether it did.
    fn attempt(&self, member: usize) -> bool {
        let (Some(device), path) = &self.devices[member] else {
            return false;
        };
        let Some(carrier) = self.carrier(member) else {
            return false;
        };
        // What it had in flight may have ended.
        self.standing.look();
        let (to, piece) = ((device, &**path), Resilver::PIECE_BYTES);
        let resilver = Resilver::begin(&self.standing, member, to, Some(carrier), piece);
        let Some(mut resilver) = resilver else {
            return false;
        };
        while !self.standing.returns_end() {
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

    /// What carries out what is done to a member while it returns, where nothing of its own is
    /// under way and its files are there: what is written to a file without a name would be lost
    /// with this process.
    fn carrier(&self, member: usize) -> Option<Arc<MemberCarrier>> {
        let held = self.held.upgrade()?;
        let (look, carrier) = {
            let held = held.lock().ok()?;
            let held = held.as_ref()?;
            let at_rest = held.control.is_at_rest(member);
            let carrier = held.carrier(member).filter(|_| at_rest)?;
            (held.look_for_files(member), Arc::clone(carrier))
        };
        // Nothing is held while it is waited for.
        carrier.ask_returning(look)?.then_some(carrier)
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
                    look: None,
                };
                drop(ResilverThread::start(work).expect("a thread"));
            },
            None,
        );
    }
}
