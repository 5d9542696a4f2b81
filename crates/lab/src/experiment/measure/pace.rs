//! The pace of an open loop: when the next transaction is meant to begin, whatever became of those
//! before, and what of its latency is whose.
//!
//! All sessions of a row take arrivals from one schedule, in order: a free session takes the next
//! and begins it at its intended start, or at once if that has passed. The latency of each counts
//! from the intended start, so a log that stands still for a second is felt by everybody who would
//! have come in it. It has three parts: the *queue* (no session was free: the log's), the
//! *lateness* (one was free and due, and had not begun: the lab's own), and the transaction.
//!
//! What it must not know: what a transaction is, threads or tickets, the system's clock.

use super::control::Control;
use measure::workload::arrivals::Schedule;
use measure::{Clock, Histogram, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Shards at most: memory is bounded by them, not by jobs.
const SHARDS: usize = 16;
/// A session that sleeps until an intended start looks so often whether the row has ended.
pub(crate) const SLICE: Nanos = Nanos::from_millis(50);

/// One transaction of an open loop, as points on one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it was meant to begin.
    pub intended: Nanos,
    /// Since when the session that made it had nothing else to do.
    pub free: Nanos,
    /// When it began.
    pub begun: Nanos,
    /// When its commit had returned.
    pub ended: Nanos,
}

impl Served {
    /// What its sender waited: from the intended start.
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.ended.since(self.intended)
    }

    /// Until a session was free for it.
    #[must_use]
    pub fn queue(&self) -> Nanos {
        self.free.min(self.begun).since(self.intended)
    }

    /// From when it was due and its session free until it began.
    #[must_use]
    pub fn lateness(&self) -> Nanos {
        self.begun.since(self.free.max(self.intended))
    }

    /// Its session went from one transaction to the next.
    fn was_waited_for(&self) -> bool {
        self.intended <= self.free
    }
}

/// What of the latencies is whose, over many transactions.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    /// The log's: no session was free.
    pub queue: Histogram,
    /// The lab's own.
    pub lateness: Histogram,
    /// Sessions with a backlog: nanoseconds between two transactions, and with these.
    pub lab_busy_ns: u64,
    /// See `lab_busy_ns`.
    pub busy_ns: u64,
    /// Transactions that returned in the measured time, whenever they were due.
    pub returned: u64,
}

/// What of a row's arrivals came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotServed {
    /// How many.
    pub count: u64,
    /// When the first was meant to begin.
    pub oldest: Option<Nanos>,
}

/// The schedule of a row, shared by its sessions.
#[derive(Debug)]
pub struct Pacer {
    schedule: Mutex<Schedule>,
    /// The schedule's zero on the log's clock.
    zero: Nanos,
    claimed: AtomicU64,
    begun: AtomicU64,
    /// Claimed and not due yet.
    ahead: AtomicU64,
    /// Claimed, and never begun; at most one of each session.
    abandoned: Mutex<Vec<Nanos>>,
    shards: Box<[Mutex<Shares>]>,
}

impl Pacer {
    /// A pace that begins at `zero`.
    #[must_use]
    pub fn new(schedule: Schedule, zero: Nanos) -> Pacer {
        Pacer {
            schedule: Mutex::new(schedule),
            zero,
            claimed: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
            abandoned: Mutex::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The next arrival, for a free session: when it is meant to begin. `None` once that is not
    /// in the row any more.
    pub fn claim(&self, control: &Control) -> Option<Nanos> {
        let mut schedule = lock(&self.schedule);
        let at = self.zero.plus(schedule.peek());
        if at.0 >= control.until_ns.load(Ordering::Relaxed) {
            return None;
        }
        schedule.next();
        self.claimed.fetch_add(1, Ordering::Relaxed);
        Some(at)
    }

    /// A claimed arrival begins.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A claimed arrival is not due yet; `false` again when it is, or the row has ended.
    pub fn wait_ahead(&self, waits: bool) {
        if waits {
            self.ahead.fetch_add(1, Ordering::Relaxed);
        } else {
            self.ahead.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A claimed arrival will not begin: the row has ended.
    pub fn abandon(&self, at: Nanos) {
        self.begin();
        lock(&self.abandoned).push(at);
    }

    /// Arrivals that are due at `now` and have not begun.
    #[must_use]
    pub fn backlog(&self, now: Nanos) -> u64 {
        let unclaimed = lock(&self.schedule).clone();
        let unclaimed = unclaimed.count_before(now.since(self.zero));
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        // Read one after the other while sessions go on: never below zero.
        let (begun, ahead) = (load(&self.begun), load(&self.ahead));
        unclaimed + load(&self.claimed).saturating_sub(begun + ahead)
    }

    /// After the end of a row from `from` to `until`: arrivals due in it that never began.
    #[must_use]
    pub fn not_served(&self, from: Nanos, until: Nanos) -> NotServed {
        let schedule = lock(&self.schedule).clone();
        let due = |at: &Nanos| *at >= from && *at < until;
        let abandoned: Vec<Nanos> = lock(&self.abandoned).iter().copied().filter(due).collect();
        let mut unclaimed = schedule
            .map(|at| self.zero.plus(at))
            .take_while(|at| *at < until)
            .filter(due);
        let first = unclaimed.next();
        let unclaimed = u64::from(first.is_some()) + unclaimed.count() as u64;
        NotServed {
            count: unclaimed + abandoned.len() as u64,
            oldest: abandoned.into_iter().chain(first).min(),
        }
    }

    /// Takes over what a session served: those that count, and how many returned in the row.
    pub fn record(&self, session: usize, served: &[Served], returned: u64) {
        let mut shares = lock(&self.shards[session % SHARDS]);
        shares.returned += returned;
        for one in served {
            shares.queue.record(one.queue().0);
            shares.lateness.record(one.lateness().0);
            if one.was_waited_for() {
                shares.lab_busy_ns += one.lateness().0;
                shares.busy_ns += one.ended.since(one.free).0;
            }
        }
    }

    /// All that was recorded.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let mut all = Shares::default();
        for shard in &self.shards {
            let shard = lock(shard);
            all.queue.merge(&shard.queue);
            all.lateness.merge(&shard.lateness);
            all.lab_busy_ns += shard.lab_busy_ns;
            all.busy_ns += shard.busy_ns;
            all.returned += shard.returned;
        }
        all
    }
}

/// Waits until `at`; false when the row has ended before, and the arrival is not to begin.
fn wait_until<C: Clock>(
    pacer: &Pacer,
    control: &Control,
    clock: &C,
    sleep: &impl Fn(Duration),
    at: Nanos,
) -> bool {
    let mut now = clock.now();
    if now >= at {
        return !control.stop.load(Ordering::Relaxed);
    }
    pacer.wait_ahead(true);
    let goes_on = loop {
        let over = at.0 >= control.until_ns.load(Ordering::Relaxed);
        if over || control.stop.load(Ordering::Relaxed) {
            break false;
        }
        if now >= at {
            break true;
        }
        sleep(Duration::from_nanos(at.since(now).min(SLICE).0));
        now = clock.now();
    };
    pacer.wait_ahead(false);
    goes_on
}

/// One session of an open loop: takes arrivals until the row ends. `transact` makes a transaction
/// and says when its commit had returned; `served` is called for each.
///
/// # Errors
/// What `transact` says.
pub(crate) fn serve<C: Clock, E>(
    (pacer, control): (&Pacer, &Control),
    clock: &C,
    sleep: &impl Fn(Duration),
    mut transact: impl FnMut(Nanos) -> Result<Nanos, E>,
    mut served: impl FnMut(Served),
) -> Result<(), E> {
    let mut free = clock.now();
    while let Some(intended) = pacer.claim(control) {
        if !wait_until(pacer, control, clock, sleep, intended) {
            pacer.abandon(intended);
            break;
        }
        let begun = clock.now();
        pacer.begin();
        let ended = transact(begun)?;
        served(Served {
            intended,
            free,
            begun,
            ended,
        });
        free = ended;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under it is whole: a reader after a panic misreads nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::workload::arrivals::{Arrivals, Process};

    const STALL: (Nanos, Nanos) = (Nanos::from_secs(2), Nanos::from_secs(3));
    const SERVICE: Nanos = Nanos::from_micros(100);

    /// A clock that stands still until it is moved.
    #[derive(Default)]
    struct MovedClock(AtomicU64);

    impl MovedClock {
        fn advance_to(&self, to: Nanos) {
            self.0.fetch_max(to.0, Ordering::Relaxed);
        }
    }

    impl Clock for MovedClock {
        fn now(&self) -> Nanos {
            Nanos(self.0.load(Ordering::Relaxed))
        }
    }

    /// One session in virtual time, for four seconds at that rate. A commit takes 100 µs, but the
    /// log stands still from second 2 to 3; the lab takes `lab` between two transactions.
    fn four_seconds(rate: f64, process: Process, lab: Nanos) -> (Vec<Served>, Pacer, Control) {
        let clock = MovedClock::default();
        let arrivals = Arrivals::new(rate, process, None).expect("a rate");
        let pacer = Pacer::new(arrivals.schedule(11), Nanos::ZERO);
        let control = Control::new(None);
        control.from_ns.store(0, Ordering::Relaxed);
        let end = Nanos::from_secs(4);
        control.until_ns.store(end.0, Ordering::Relaxed);
        let sleep = |time: Duration| {
            clock.advance_to(clock.now().plus(Nanos(time.as_nanos() as u64)));
        };
        let mut all = Vec::new();
        let transact = |begun: Nanos| {
            let stands = begun >= STALL.0 && begun < STALL.1;
            let ended = if stands { STALL.1 } else { begun }.plus(SERVICE);
            clock.advance_to(ended);
            Ok::<Nanos, ()>(ended)
        };
        let served = |one: Served| {
            all.push(one);
            clock.advance_to(one.ended.plus(lab));
            if clock.now() >= end {
                control.stop.store(true, Ordering::Relaxed);
            }
        };
        serve((&pacer, &control), &clock, &sleep, transact, served).expect("no error");
        (all, pacer, control)
    }

    #[test]
    fn a_stall_of_a_second_is_felt_by_all_who_would_have_come_in_it() {
        let (all, pacer, _) = four_seconds(1000.0, Process::Constant, Nanos::ZERO);
        assert_eq!(all.len(), 4000);
        let slow = |latency: &Nanos| *latency > Nanos::from_millis(1);
        let latencies: Vec<Nanos> = all.iter().map(Served::latency).collect();
        let affected = latencies.iter().filter(|l| slow(l)).count();
        // A thousand were due in it; behind them the backlog of 1000 shrinks by nine in ten of
        // each millisecond, so that 111 more meet it.
        assert!((1000..1150).contains(&affected), "{affected}");
        // What measuring from the actual start says: one slow commit in 4000.
        let from_start = all.iter().map(|one| one.ended.since(one.begun));
        assert_eq!(from_start.filter(|l| slow(l)).count(), 1);
        // They would have waited half the stall on average: all of it in the queue, the log's.
        let sum: u64 = latencies.iter().filter(|l| slow(l)).map(|l| l.0).sum();
        let mean_s = sum as f64 / affected as f64 / 1e9;
        assert!((0.4..0.6).contains(&mean_s), "{mean_s}");
        assert!(all.iter().all(|one| one.lateness() == Nanos::ZERO));
        assert_eq!(pacer.backlog(Nanos::from_secs(4)), 0);
    }

    #[test]
    fn the_parts_of_each_latency_add_up() {
        for process in [Process::Constant, Process::Poisson] {
            let (all, pacer, control) = four_seconds(2000.0, process, Nanos::from_micros(30));
            for one in &all {
                let service = one.ended.since(one.begun);
                let parts = one.queue().plus(one.lateness()).plus(service);
                assert_eq!(parts, one.latency(), "{one:?}");
            }
            pacer.record(3, &all, all.len() as u64);
            let shares = pacer.shares();
            assert_eq!(shares.queue.count(), all.len() as u64);
            // In the backlog 30 of each 130 µs are the lab's; of the stall none is.
            let late = shares.lateness.max();
            assert_eq!(late, 30_000, "of the lab's making, not of the stall's");
            assert!(shares.lab_busy_ns < shares.busy_ns);
            assert!(control.take_error().is_none());
        }
    }

    /// More is offered than one session can do: what is left over is counted, with its age.
    #[test]
    fn what_was_due_and_never_began_is_told() {
        let (all, pacer, _) = four_seconds(20_000.0, Process::Constant, Nanos::ZERO);
        let end = Nanos::from_secs(4);
        let not_served = pacer.not_served(Nanos::ZERO, end);
        assert_eq!(all.len() as u64 + not_served.count, 80_000);
        assert!((29_000..31_000).contains(&all.len()), "{}", all.len());
        let oldest = not_served.oldest.expect("there are some");
        let last = all.last().expect("some were served");
        assert!(oldest > last.intended && oldest < end);
        assert!(pacer.backlog(end) >= not_served.count - 1);
        // From the last second on only its own are counted.
        let late = pacer.not_served(Nanos::from_secs(3), end).count;
        assert_eq!(late, 20_000);
    }

    #[test]
    fn who_claims_ahead_of_time_is_no_backlog() {
        let arrivals = Arrivals::new(1.0, Process::Constant, None).expect("a rate");
        let pacer = Pacer::new(arrivals.schedule(1), Nanos::from_secs(10));
        let control = Control::new(None);
        assert_eq!(pacer.claim(&control), Some(Nanos::from_secs(10)));
        pacer.begin();
        assert_eq!(pacer.claim(&control), Some(Nanos::from_secs(11)));
        pacer.wait_ahead(true);
        assert_eq!(pacer.backlog(Nanos(10_500_000_000)), 0);
        pacer.wait_ahead(false);
        assert_eq!(pacer.backlog(Nanos(11_500_000_000)), 1);
        assert_eq!(pacer.backlog(Nanos(13_500_000_000)), 3);
        control.until_ns.store(12_000_000_000, Ordering::Relaxed);
        assert_eq!(pacer.claim(&control), None, "not in the row any more");
    }
}
