//! Work on a member that may never come back: a thread of its own carries it out, and the thread
//! that asked for it can stop waiting.
//!
//! Invariants: work is carried out in the order in which it was asked for; work that was given up
//! and has begun ends at some time, and until then the thread is busy; the thread keeps what it was
//! given to keep (the member's lock) until it ends.
//!
//! What it must not know: what the work is, and when it takes too long.

use crate::sync::{Builder, JoinHandle, Mutex, MutexGuard};
use device::queue::IoOrDevice;
use device::{Doorbell, IoFailure};
use measure::{Clock, Nanos};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const ETIMEDOUT: i32 = 110;
/// Between two looks at the clock while something is waited for that may hang.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

/// Whether what has taken so long has taken the whole patience.
pub(crate) fn is_late(time: Nanos, patience: Duration) -> bool {
    u128::from(time.0) >= patience.as_nanos()
}

/// What became of work that was given up.
pub(super) fn timed_out() -> IoOrDevice {
    IoOrDevice::Io(IoFailure { errno: ETIMEDOUT })
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread, until this is dropped.
pub(crate) struct Errands {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    desk: Mutex<Desk>,
    /// Rung when there is work.
    work: Doorbell,
    /// Rung when work has ended.
    ended: Doorbell,
}

#[derive(Default)]
struct Desk {
    jobs: VecDeque<(u64, Job)>,
    jobs_so_far: u64,
    running: Option<u64>,
    /// Nobody waits for what is running, which was asked for then.
    given_up: Option<Nanos>,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Errands {
    /// A thread of this name, which keeps `keep` until it ends. It is not waited for when this is
    /// dropped while work that was given up is carried out.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start<K: Send + 'static>(name: String, keep: K) -> std::io::Result<Errands> {
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk::default()),
            work: Doorbell::default(),
            ended: Doorbell::default(),
        });
        let works = Arc::clone(&shared);
        let thread = Builder::new().name(name).spawn(move || {
            carry_out(&works);
            drop(keep);
        })?;
        Ok(Errands {
            shared,
            thread: Some(thread),
        })
    }

    /// Has `work` carried out, and waits for it until `gives_up` says otherwise, which is asked
    /// with the time that it has taken by `clock`: `None` then.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        clock: &dyn Clock,
        mut gives_up: impl FnMut(Nanos) -> bool,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let answer = Arc::new(Mutex::new(None));
        let take = |answer: &Mutex<Option<R>>| {
            let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            answer.take()
        };
        let to = Arc::clone(&answer);
        let begun = clock.now();
        let id = self.begin(Box::new(move || {
            let result = work();
            *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }));
        loop {
            let seen = self.shared.ended.read();
            if let Some(answer) = take(&answer) {
                return Some(answer);
            }
            if gives_up(clock.now().since(begun)) {
                let mut desk = self.shared.lock();
                let answer = take(&answer);
                if answer.is_none() {
                    if desk.running == Some(id) {
                        desk.given_up = Some(begun);
                    }
                    desk.jobs.retain(|(job, _)| *job != id);
                }
                return answer;
            }
            self.shared.ended.wait_timeout(seen, Some(LOOK));
        }
    }

    fn begin(&self, job: Job) -> u64 {
        let mut desk = self.shared.lock();
        let id = desk.jobs_so_far;
        desk.jobs_so_far += 1;
        desk.jobs.push_back((id, job));
        drop(desk);
        self.shared.work.ring();
        id
    }

    /// Work that was given up has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        self.shared.lock().given_up.is_some()
    }

    /// Waits for work that was given up until `leaves` says otherwise, which is asked with the time
    /// that it has taken by `clock`.
    pub(crate) fn end(&self, clock: &dyn Clock, leaves: impl Fn(Nanos) -> bool) {
        loop {
            let seen = self.shared.ended.read();
            let begun = self.shared.lock().given_up;
            if begun.is_none_or(|begun| leaves(clock.now().since(begun))) {
                return;
            }
            self.shared.ended.wait_timeout(seen, Some(LOOK));
        }
    }
}

impl Drop for Errands {
    fn drop(&mut self) {
        let busy = {
            let mut desk = self.shared.lock();
            desk.stop = true;
            desk.given_up.is_some()
        };
        self.shared.work.ring();
        if let Some(thread) = self.thread.take().filter(|_| !busy) {
            // One that died has answered nobody, who gave it up.
            let _ = thread.join();
        }
    }
}

/// The thread's life.
fn carry_out(shared: &Shared) {
    loop {
        let seen = shared.work.read();
        let mut desk = shared.lock();
        let Some((id, job)) = desk.jobs.pop_front() else {
            if desk.stop {
                return;
            }
            drop(desk);
            shared.work.wait(seen);
            continue;
        };
        desk.running = Some(id);
        drop(desk);
        job();
        let mut desk = shared.lock();
        (desk.running, desk.given_up) = (None, None);
        drop(desk);
        shared.ended.bump();
        shared.ended.wake_all();
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;
    use measure::RealClock;
    use std::sync::mpsc::channel;

    #[test]
    fn work_is_waited_for_until_it_is_given_up_and_then_ends_alone() {
        let clock = RealClock::new();
        let errands = Errands::start(String::from("errands"), ()).expect("a thread");
        assert_eq!(errands.run(&clock, |_| false, || 7), Some(7));
        let (go, wait) = channel::<()>();
        let (tell, told) = channel();
        let hangs = move || {
            tell.send(()).expect("somebody listens");
            // Ends when the sender is dropped.
            let _ = wait.recv();
        };
        assert_eq!(
            errands.run(&clock, |_| told.try_recv().is_ok(), hangs),
            None
        );
        assert!(errands.is_busy());
        // What has not begun is never carried out once it was given up.
        let never = || panic!("it was given up");
        assert_eq!(errands.run(&clock, |_| true, never), None);
        drop(go);
        assert_eq!(errands.run(&clock, |_| false, || 8), Some(8));
        assert!(!errands.is_busy());
    }

    #[test]
    fn what_is_kept_is_kept_until_the_work_has_ended() {
        let clock = RealClock::new();
        let (go, wait) = channel::<()>();
        let kept = Arc::new(());
        let keep = Arc::clone(&kept);
        let errands = Errands::start(String::from("errands"), keep).expect("a thread");
        let hangs = move || {
            let _ = wait.recv();
        };
        let begun = |_| errands.shared.lock().running.is_some();
        assert_eq!(errands.run(&clock, begun, hangs), None);
        drop(errands);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(go);
        while Arc::strong_count(&kept) > 1 {
            std::thread::yield_now();
        }
    }
}
