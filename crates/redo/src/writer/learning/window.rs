//! Windows of log writes, whose rates are compared.

use measure::Nanos;

/// A log without a write for so long was idle: the window begins again.
pub(super) const IDLE: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) since: Option<Nanos>,
    pub(super) last: Nanos,
    pub(super) writes: u64,
    pub(super) commits: u64,
}

/// What a window that is over showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) per_s: f64,
    pub(super) per_write: f64,
}

impl Window {
    /// What it showed so far.
    pub(super) fn seen(&self, now: Nanos) -> Seen {
        let took = self
            .since
            .map_or(Nanos(1), |since| now.since(since).max(Nanos(1)));
        Seen {
            per_s: self.commits as f64 / took.as_secs(),
            per_write: self.commits as f64 / self.writes.max(1) as f64,
        }
    }

    /// Counts a log write; what the window showed when it is over.
    pub(super) fn add(
        &mut self,
        now: Nanos,
        commits: u64,
        (writes, time): (u64, Nanos),
    ) -> Option<Seen> {
        let Some(since) = self.since.filter(|_| now.since(self.last) < IDLE) else {
            // The commits of the first write came before the window.
            *self = Window {
                since: Some(now),
                last: now,
                ..Window::default()
            };
            return None;
        };
        self.last = now;
        self.writes += 1;
        self.commits += commits;
        let took = now.since(since);
        if self.writes < writes || took < time {
            return None;
        }
        let seen = self.seen(now);
        *self = Window {
            since: Some(now),
            last: now,
            ..Window::default()
        };
        Some(seen)
    }
}
