//! How foregrounds learn that their redo is durable, and when to change it: policy, fed with the
//! commits of each log write and its time, deterministic in these.
//!
//! Post/wait: a foreground sleeps and is woken. Polling: it looks again and again, and nobody wakes
//! it. Which one commits more depends on the device, the processors and the load, so it is tried:
//! now and then one window of the other mode runs between two of the present one
//! (docs/decisions/2026-11-20-how-foregrounds-learn.md).

use measure::Nanos;

/// How foregrounds learn that their redo is durable (Oracle: `_use_adaptive_log_file_sync`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFileSync {
    /// They sleep, and are woken.
    #[default]
    PostWait,
    /// They look, and let others run between two looks.
    Polling,
    /// One or the other, as the commits of each show.
    Adaptive,
}

impl LogFileSync {
    /// Its name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LogFileSync::PostWait => "post-wait",
            LogFileSync::Polling => "polling",
            LogFileSync::Adaptive => "adaptive",
        }
    }
}

impl std::str::FromStr for LogFileSync {
    type Err = String;

    fn from_str(text: &str) -> Result<LogFileSync, String> {
        let all = [
            LogFileSync::PostWait,
            LogFileSync::Polling,
            LogFileSync::Adaptive,
        ];
        all.into_iter().find(|m| m.name() == text).ok_or_else(|| {
            format!("no way to learn of durable redo `{text}`; use post-wait, polling or adaptive")
        })
    }
}

/// A change from one mode to the other that stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncSwitch {
    /// When, on the log's clock.
    pub at: Nanos,
    /// To polling, or back to post/wait.
    pub to_polling: bool,
    /// Commits a second of the mode that was left, the better of its two windows.
    pub left_per_s: f64,
    /// Commits a second of the mode that was taken.
    pub taken_per_s: f64,
}

/// What adaptive learning did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// Foregrounds poll now.
    pub polling: bool,
    /// Changes that stayed.
    pub switches: u64,
    /// Windows in which the other mode was tried.
    pub trials: u64,
    /// Commits of all log writes.
    pub commits: u64,
    /// Those while foregrounds polled.
    pub polled: u64,
    /// The last changes, oldest first, at most [`RECENT_SWITCHES`].
    pub recent: Vec<SyncSwitch>,
}

/// Changes that are kept with their time.
pub const RECENT_SWITCHES: usize = 64;

/// A window is over after so many log writes...
const WINDOW_WRITES: u64 = 64;
/// ...and so much time.
const WINDOW: Nanos = Nanos::from_millis(20);
/// A log without a write for so long was idle: the window begins again.
const IDLE: Nanos = Nanos::from_millis(500);
/// Windows between two trials, at first and at most.
const REST_MIN: u32 = 8;
const REST_MAX: u32 = 512;
/// Polling takes processor time that others may need: it must commit this much more, in percent,
/// to be taken, and to be kept.
const POLLING_MUST_GAIN_PCT: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The present mode, for so many windows yet.
    Rest(u32),
    /// The first window after a change: what still sleeps or polls is not counted.
    SettleTrial,
    Trial,
    SettleBack,
    /// The present mode once more, to know that the load is still the same.
    Back,
}

/// Decides between the modes.
#[derive(Clone, Debug)]
pub(crate) struct Learner {
    /// The present mode; the other one only while it is tried.
    home_polls: bool,
    phase: Phase,
    rest: u32,
    window: Window,
    /// Commits a second in the last windows: at home, of the trial.
    before: f64,
    tried: f64,
    learned: Learned,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: Option<Nanos>,
    last: Nanos,
    writes: u64,
    commits: u64,
}

impl Default for Learner {
    fn default() -> Learner {
        Learner {
            home_polls: false,
            phase: Phase::Rest(REST_MIN),
            rest: REST_MIN,
            window: Window::default(),
            before: 0.0,
            tried: 0.0,
            learned: Learned::default(),
        }
    }
}

impl Learner {
    /// A log write with `commits` commits became durable at `now`. Whether foregrounds poll from
    /// now on.
    pub(crate) fn published(&mut self, now: Nanos, commits: u64) -> bool {
        self.learned.commits += commits;
        self.learned.polled += if self.learned.polling { commits } else { 0 };
        if let Some(rate) = self.window.add(now, commits) {
            self.window_over(now, rate);
        }
        self.learned.polling
    }

    pub(crate) fn learned(&self) -> &Learned {
        &self.learned
    }

    fn window_over(&mut self, now: Nanos, rate: f64) {
        let away = !self.home_polls;
        let (phase, polling) = match self.phase {
            Phase::Rest(left) if left > 1 => (Phase::Rest(left - 1), self.home_polls),
            Phase::Rest(_) => {
                self.before = rate;
                self.learned.trials += 1;
                (Phase::SettleTrial, away)
            }
            Phase::SettleTrial => (Phase::Trial, away),
            Phase::Trial => {
                self.tried = rate;
                (Phase::SettleBack, self.home_polls)
            }
            Phase::SettleBack => (Phase::Back, self.home_polls),
            Phase::Back => {
                self.decide(now, self.before.max(rate));
                (Phase::Rest(self.rest), self.home_polls)
            }
        };
        (self.phase, self.learned.polling) = (phase, polling);
    }

    fn decide(&mut self, now: Nanos, home: f64) {
        let gain = 1.0 + POLLING_MUST_GAIN_PCT / 100.0;
        let (polled, waited) = if self.home_polls {
            (home, self.tried)
        } else {
            (self.tried, home)
        };
        let polls = polled > waited * gain;
        if polls == self.home_polls {
            self.rest = (self.rest * 2).min(REST_MAX);
            return;
        }
        self.rest = REST_MIN;
        self.home_polls = polls;
        self.learned.switches += 1;
        if self.learned.recent.len() == RECENT_SWITCHES {
            self.learned.recent.remove(0);
        }
        self.learned.recent.push(SyncSwitch {
            at: now,
            to_polling: polls,
            left_per_s: home,
            taken_per_s: self.tried,
        });
    }
}

impl Window {
    /// Counts a log write; commits per second when the window is over.
    fn add(&mut self, now: Nanos, commits: u64) -> Option<f64> {
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
        if self.writes < WINDOW_WRITES || took < WINDOW {
            return None;
        }
        let rate = self.commits as f64 / took.as_secs();
        *self = Window {
            since: Some(now),
            last: now,
            ..Window::default()
        };
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log on which a log write takes `ns[polling]`, with `commits` commits each.
    struct Model {
        learner: Learner,
        now: u64,
        polls: bool,
    }

    impl Model {
        fn new() -> Model {
            Model {
                learner: Learner::default(),
                now: 1,
                polls: false,
            }
        }

        fn writes(&mut self, n: u64, ns: [u64; 2], commits: u64) {
            for _ in 0..n {
                self.now += ns[usize::from(self.polls)];
                self.polls = self.learner.published(Nanos(self.now), commits);
            }
        }

        fn learned(&self) -> &Learned {
            self.learner.learned()
        }
    }

    #[test]
    fn the_better_mode_is_taken_and_left_when_it_is_worse() {
        let mut model = Model::new();
        model.writes(10_000, [100_000, 80_000], 8);
        assert_eq!(model.learned().switches, 1, "{:?}", model.learned());
        assert!(model.learner.home_polls);
        let first = model.learned().recent[0];
        assert!(first.to_polling && first.taken_per_s > first.left_per_s * 1.2);
        let polled = model.learned().polled;
        assert!(polled > model.learned().commits / 2, "{polled} polled");
        model.writes(300_000, [100_000, 200_000], 8);
        assert_eq!(model.learned().switches, 2, "{:?}", model.learned());
        assert!(!model.learner.home_polls);
        assert!(!model.learned().recent[1].to_polling);
    }

    #[test]
    fn polling_that_gains_little_is_not_worth_its_processor_time() {
        let mut model = Model::new();
        model.writes(100_000, [100_000, 97_000], 8);
        assert_eq!(model.learned().switches, 0);
        // Nor is it kept when its gain has gone.
        model.writes(100_000, [100_000, 50_000], 8);
        assert_eq!(model.learned().switches, 1);
        model.writes(400_000, [100_000, 100_000], 8);
        assert_eq!(model.learned().switches, 2);
    }

    #[test]
    fn trials_in_vain_become_rare() {
        let mut model = Model::new();
        model.writes(1_000_000, [50_000, 500_000], 4);
        let learned = model.learned();
        assert_eq!(learned.switches, 0);
        assert!((5..20).contains(&learned.trials), "{learned:?}");
        let share = learned.polled as f64 / learned.commits as f64;
        assert!(share < 0.02, "{share} of the commits were experiments");
    }

    /// The load doubles while the other mode is tried: the second window at home shows it.
    #[test]
    fn a_load_that_changes_is_no_evidence() {
        let mut model = Model::new();
        let mut guard = 0;
        while model.learner.phase != Phase::Trial {
            model.writes(1, [400_000, 400_000], 8);
            guard += 1;
            assert!(guard < 100_000, "a trial comes");
        }
        model.writes(2_000, [400_000, 400_000], 16);
        assert_eq!(model.learned().switches, 0, "{:?}", model.learned());
    }

    #[test]
    fn a_pause_belongs_to_no_window() {
        let mut window = Window::default();
        let mut now = 0;
        for _ in 0..WINDOW_WRITES {
            now += 1_000_000;
            assert_eq!(window.add(Nanos(now), 1), None);
        }
        now += IDLE.0;
        assert_eq!(window.add(Nanos(now), 1), None, "idle");
        let mut rate = None;
        while rate.is_none() {
            now += 1_000_000;
            rate = window.add(Nanos(now), 2);
        }
        assert_eq!(rate, Some(2000.0));
    }

    #[test]
    fn equal_inputs_give_equal_decisions() {
        let (mut a, mut b) = (Model::new(), Model::new());
        for model in [&mut a, &mut b] {
            model.writes(7_000, [90_000, 70_000], 3);
        }
        assert_eq!(a.learned(), b.learned());
    }
}
