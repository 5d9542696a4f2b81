//! What a session of a closed loop did in a row: the time that its counted transactions cover, and
//! a second count of the same by other means, so that a wrong figure shows (Little's law).
//!
//! The second count: the time of 1 transaction in [`ONE_IN`] by another clock; the time between
//! transactions by that clock; all transactions of the session, warm-up included, beside the
//! records that the log counted in for it. The thread that runs the row adds the length of the
//! measured time by the other clock, the log writer its count of redo bytes in that time and in all
//! of the row.
//!
//! Invariant: no figure of the second count is computed from a figure of the first.

use super::planted::{INTERRUPTION, Lie, PlantedLie};
use super::recorder::Recorder;
use super::sample::Sample;
use measure::driver::SessionCounts;
use measure::run::{CrossCheck, SessionCount, SessionFigures, SessionTime};
use measure::{Clock, Nanos, RealClock};
use rustix::time::{ClockId, clock_gettime};

/// One transaction in so many is timed twice.
pub(crate) const ONE_IN: u64 = 16;
/// Between a reading of one clock and of the other the thread was interrupted where more time than
/// this passed: the pair says nothing.
const DISTURBED_NS: u64 = 4_000;

/// The other clock: CLOCK_BOOTTIME.
pub(crate) fn second_clock() -> Nanos {
    let now = clock_gettime(ClockId::Boottime);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The other clock's time of the moment `at`, which has just been read; `None` when the thread was
/// interrupted meanwhile. The sessions' clock is read before and after the other one: reading a
/// clock takes longer the first time, and what has passed since `at` is taken off.
pub(crate) fn second_time(clock: RealClock, at: Nanos) -> Option<Nanos> {
    let before = clock.now();
    let second = second_clock();
    let after = clock.now();
    let middle = before.since(at).0 + after.since(before).0 / 2;
    (after.since(at).0 <= DISTURBED_NS).then(|| Nanos(second.0 - middle))
}

/// Readings of both clocks of which the closest together is taken.
const READINGS: usize = 100;

/// The beginning of a row or an end of its measured time, as the thread that runs the row found it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowEdge {
    /// By the other clock.
    at: Nanos,
    /// Redo that the log writer had made durable until then or a little later.
    log_bytes: u64,
    /// How far apart the two clocks were read.
    apart_ns: u64,
}

impl WindowEdge {
    /// Of the moment `at` of the sessions' clock, which has just been. The thread may have been
    /// interrupted since: what passed by the sessions' clock meanwhile is taken off.
    pub(crate) fn read(clock: RealClock, at: Nanos, recorder: &Recorder) -> WindowEdge {
        let log_bytes = recorder.durable_bytes();
        let mut edge = WindowEdge {
            apart_ns: u64::MAX,
            ..WindowEdge::default()
        };
        for _ in 0..READINGS {
            let before = clock.now();
            let second = second_clock();
            let apart_ns = clock.now().since(before).0;
            if apart_ns < edge.apart_ns {
                edge = WindowEdge {
                    at: Nanos(second.0 - before.since(at).0),
                    log_bytes,
                    apart_ns,
                };
            }
            if apart_ns <= DISTURBED_NS {
                break;
            }
        }
        edge
    }
}

/// What of a session's time its counted transactions cover, and its second count.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Start of the first counted transaction and end of the last, when there was one.
    counted: Option<(Nanos, Nanos)>,
    /// Time between them in which the lab put samples away.
    lab_ns: u64,
    figures: SessionFigures,
    planted: PlantedLie,
    /// Transactions, counted or not.
    done: u64,
    /// Transactions that were not counted, because they began before or after the measured time.
    passed: u64,
    /// Time of the last one that began before it.
    before_ns: Option<u64>,
    /// When the session began and ended, by the other clock.
    entered: Nanos,
    left: Nanos,
    /// When the present transaction began, by the other clock, if it is one in [`ONE_IN`].
    mark: Option<Nanos>,
    sampled: u64,
    sampled_ns: u64,
    sampled_recorded_ns: u64,
    /// Sums of what each of those times differs by, and of its square.
    sampled_differences: f64,
    sampled_squares: f64,
    outside_ns: u64,
    /// What the target counted; `None` where it does not count by session.
    counts: Option<SessionCounts>,
}

impl Span {
    /// Of the session with that number, which begins now.
    pub(crate) fn of(session: u32, planted: PlantedLie) -> Span {
        let entered = second_clock();
        Span {
            counted: None,
            lab_ns: 0,
            figures: SessionFigures {
                session,
                ..SessionFigures::default()
            },
            planted,
            done: 0,
            passed: 0,
            before_ns: None,
            entered,
            left: entered,
            mark: None,
            sampled: 0,
            sampled_ns: 0,
            sampled_recorded_ns: 0,
            sampled_differences: 0.0,
            sampled_squares: 0.0,
            outside_ns: 0,
            counts: None,
        }
    }

    /// The present transaction, the next one or the one after it is timed twice.
    pub(crate) fn is_timed(&self) -> bool {
        self.mark.is_some() || self.is_next_timed() || self.is_soon_timed()
    }

    /// The present transaction is.
    pub(crate) fn is_marked(&self) -> bool {
        self.mark.is_some()
    }

    /// The next transaction is.
    pub(crate) fn is_next_timed(&self) -> bool {
        // Not all sessions at once.
        (self.done + u64::from(self.figures.session)).is_multiple_of(ONE_IN)
    }

    /// The one after the present transaction is.
    pub(crate) fn is_soon_timed(&self) -> bool {
        (self.done + 1 + u64::from(self.figures.session)).is_multiple_of(ONE_IN)
    }

    /// A transaction that is timed twice begins: its moment by the other clock.
    pub(crate) fn mark(&mut self, at: Option<Nanos>) {
        self.mark = at;
    }

    /// The present transaction's time by the other clock, if it is timed twice and ends at that
    /// moment.
    fn timed(&mut self, end: Option<Nanos>) -> Option<u64> {
        let began = self.mark.take()?;
        Some(end?.since(began).0)
    }

    /// A transaction that began at `start` ended: it is put with `samples` and counted where
    /// `counts`. `second` is the moment of its end by the other clock, where that was read.
    pub(crate) fn end(
        &mut self,
        (start, before, counts): (Nanos, bool, bool),
        mut sample: Sample,
        second: Option<Nanos>,
        samples: &mut Vec<Sample>,
    ) {
        self.done += 1;
        let timed = self.timed(second);
        if !counts {
            self.passed += 1;
            if before {
                self.before_ns = Some(sample.latency_ns);
            }
            return;
        }
        let end = start.plus(Nanos(sample.latency_ns));
        if self.planted.has(Lie::Latency) {
            sample.latency_ns += sample.latency_ns * 3 / 100;
        }
        if let Some(ns) = timed {
            self.sampled += 1;
            self.sampled_ns += ns;
            self.sampled_recorded_ns += sample.latency_ns;
            let difference = sample.latency_ns as f64 - ns as f64;
            self.sampled_differences += difference;
            self.sampled_squares += difference * difference;
        }
        samples.push(sample);
        self.count(start, end);
        let lies = self.planted.has(Lie::SessionCount) && self.figures.session == 0;
        if lies && self.figures.commits % 33 == 1 {
            samples.push(sample);
            self.count(start, end);
        }
    }

    fn count(&mut self, start: Nanos, end: Nanos) {
        let first = self.counted.map_or(start, |(first, _)| first);
        self.counted = Some((first, end));
        let took = end.since(start).0;
        let figures = &mut self.figures;
        figures.commits += 1;
        figures.mean_ns += (took as f64 - figures.mean_ns) / figures.commits as f64;
        figures.max_ns = figures.max_ns.max(took);
        figures.elapsed_ns = end.since(first).0;
    }

    /// Between two counted transactions the lab put samples away, from `end` to `start`;
    /// `second_ns` by the other clock.
    pub(crate) fn put_away(&mut self, end: Nanos, start: Nanos, second_ns: u64) {
        self.lab_ns += start.since(end).0;
        self.outside_ns += second_ns;
        self.counted = self.counted.map(|(first, _)| (first, start));
    }

    /// The session has ended.
    pub(crate) fn leave(&mut self, counts: Option<SessionCounts>) {
        if self.planted.has(Lie::Interruption) && self.figures.session == 0 {
            std::thread::sleep(INTERRUPTION);
        }
        self.left = second_clock();
        self.counts = counts;
    }

    /// What of its counted transactions lies after the measured time, less what of that one before
    /// them lies in it. Neither can be longer than the transaction itself.
    fn edges_ns(&self, from: Nanos, until: Nanos) -> i64 {
        let (first, last) = self.counted.unwrap_or((until, from));
        let after = last.since(until).0.min(self.figures.max_ns);
        let before = first.since(from).0.min(self.before_ns.unwrap_or(0));
        after as i64 - before as i64
    }

    /// Time until its first transaction, where that began in the measured time.
    fn idle_ns(&self, from: Nanos, until: Nanos) -> u64 {
        let first = self.counted.map_or(until, |(first, _)| first);
        let idle = self.before_ns.is_none() && first > from;
        if idle { first.since(from).0 } else { 0 }
    }

    /// Time after its last transaction, where that ended in the measured time.
    fn rest_ns(&self, until: Nanos) -> u64 {
        self.counted.map_or(0, |(_, last)| until.since(last).0)
    }

    fn session_count(&self, counts: &SessionCounts, records: u64) -> SessionCount {
        SessionCount {
            session: self.figures.session,
            own: self.figures.commits + self.passed,
            by_log: counts.records / records,
        }
    }
}

/// The closed loop's sessions that ended, by number.
pub(crate) fn sessions(spans: &[Span]) -> Vec<SessionFigures> {
    let mut all: Vec<SessionFigures> = spans.iter().map(|span| span.figures.clone()).collect();
    all.sort_by_key(|figures| figures.session);
    all
}

/// The time of all sessions, in a row from `from` to `until`, that no latency shows.
pub(crate) fn session_time(spans: &[Span], from: Nanos, until: Nanos) -> SessionTime {
    let signed = |later: Nanos, earlier: Nanos| later.0 as i64 - earlier.0 as i64;
    let mut time = SessionTime::default();
    for span in spans {
        time.lab_ns += span.lab_ns;
        time.beyond_ns += match span.counted {
            Some((first, last)) => signed(last, until) - signed(first, from),
            None => -signed(until, from),
        };
    }
    time
}

/// What the second count depends on, of a row whose measured time is `from` to `until`.
pub(crate) struct Counted<'a> {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    /// The row's beginning, before any session, and both ends of its measured time.
    pub(crate) begun: WindowEdge,
    pub(crate) ends: [WindowEdge; 2],
    pub(crate) recorder: &'a Recorder,
    /// Bytes of redo in log writes that the log writer began in the measured time.
    pub(crate) window_bytes: u64,
    /// Records of a transaction.
    pub(crate) records: u64,
    /// Bytes of redo that may lie in the log buffer while nobody waits for them.
    pub(crate) buffered_bytes: u64,
}

/// The second count of a row whose sessions have ended and whose redo is durable; `None` where the
/// target does not count by session.
pub(crate) fn cross_check(spans: &[Span], row: &Counted<'_>) -> Option<CrossCheck> {
    let [opened, closed] = row.ends;
    let mut check = CrossCheck {
        window_ns: closed.at.since(opened.at).0,
        uncertain_ns: opened.apart_ns + closed.apart_ns,
        log_bytes: row.recorder.durable_bytes() - row.begun.log_bytes,
        ..CrossCheck::default()
    };
    let mut transactions = 0;
    let (mut differences, mut squares) = (0.0, 0.0);
    for span in spans {
        differences += span.sampled_differences;
        squares += span.sampled_squares;
        check.sampled += span.sampled;
        check.sampled_ns += span.sampled_ns;
        check.sampled_recorded_ns += span.sampled_recorded_ns;
        check.edges_ns += span.edges_ns(row.from, row.until);
        let late = span.entered.min(closed.at).since(opened.at).0;
        let late = late.max(span.idle_ns(row.from, row.until));
        let early = closed.at.since(span.left.max(opened.at)).0;
        // A session may be interrupted between its last transaction and its end, or share its
        // thread with others that go on.
        let early = early.max(span.rest_ns(row.until));
        check.outside_ns += span.outside_ns + late + early;
        let counts = span.counts.as_ref()?;
        check.session_bytes += counts.bytes;
        let count = span.session_count(counts, row.records);
        transactions += count.by_log;
        let off = |count: &SessionCount| count.own.abs_diff(count.by_log);
        check.miscounted += u32::from(off(&count) > 0);
        if off(&count) > check.worst.as_ref().map_or(0, off) {
            check.worst = Some(count);
        }
    }
    let times = check.sampled as f64;
    check.sampled_error_ns = (check.sampled >= 2).then(|| {
        let spread = squares - differences * differences / times;
        (spread.max(0.0) * times / (times - 1.0)).sqrt() as u64
    });
    let each = check.session_bytes as f64 / transactions.max(1) as f64;
    check.log_commits = (row.window_bytes as f64 / each.max(1.0)).round() as u64;
    check.uncertain_commits =
        spans.len() as u64 + (row.buffered_bytes as f64 / each.max(1.0)).ceil() as u64;
    Some(check)
}
