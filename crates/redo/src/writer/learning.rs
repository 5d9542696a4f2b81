//! How foregrounds wait and who writes for them: policy, fed with the commits of each log write and
//! its time, deterministic in these.
//!
//! A [`CommitWay`] is one of a few: foregrounds sleep and a log writer's thread wakes them
//! (post/wait), they look again and again and nobody wakes them (polling), or one of them writes
//! for all (inline). Which one commits more depends on the device, the processors and the load, so
//! it is tried: now and then one window of another way runs between two of the present one
//! (docs/decisions/2026-11-23-one-default.md). A trial that is clearly worse is broken off.
//!
//! A session that commits alone needs none of this: it writes for itself. [`Company`] says when
//! there are others. Nor does a device that is done before a sleeper could be woken ([`Device`]).

mod company;
mod device;
mod ways;
mod window;

use company::Company;
use device::Device;
use measure::Nanos;
pub use ways::{CommitWay, LogFileSync};
use window::{IDLE, Seen, Window};

/// A change from one way to another that stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncSwitch {
    /// When, on the log's clock.
    pub at: Nanos,
    /// What was taken.
    pub to: CommitWay,
    /// Commits a second of the way that was left, the better of its two windows.
    pub left_per_s: f64,
    /// Commits a second of the way that was taken.
    pub taken_per_s: f64,
}

/// What adaptive learning did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// The present way.
    pub way: CommitWay,
    /// Changes that stayed, not counting those between one session and several.
    pub switches: u64,
    /// Windows in which another way was tried.
    pub trials: u64,
    /// Trials that were broken off because the other way was clearly worse.
    pub broken_off: u64,
    /// Commits of all log writes.
    pub commits: u64,
    /// Those while foregrounds polled.
    pub polled: u64,
    /// Those of sessions that committed alone and wrote for themselves.
    pub alone: u64,
    /// The last changes, oldest first, at most [`RECENT_SWITCHES`].
    pub recent: Vec<SyncSwitch>,
}

/// Changes that are kept with their time.
pub const RECENT_SWITCHES: usize = 64;

/// A window is over after so many log writes...
const WINDOW_WRITES: u64 = 16;
/// ...and so much time.
const WINDOW: Nanos = Nanos::from_millis(8);
/// Where two windows of the same way differ by more than so many percent, windows take so many
/// times as long, until two agree again.
const UNSTEADY_PCT: f64 = 25.0;
const UNSTEADY_WINDOWS: u64 = 4;
/// What is not counted after a change: what still sleeps or polls.
const SETTLE_WRITES: u64 = 4;
const SETTLE: Nanos = Nanos::from_millis(1);
/// Windows between two trials: before the first ones, at first, at most.
const REST_FIRST: u32 = 1;
const REST_MIN: u32 = 4;
/// Windows before a trial is repeated where windows differ.
const REST_UNSTEADY: u32 = 16;
const REST_MAX: u32 = 512;
/// Polling takes processor time that others may need: it must commit this much more, in percent,
/// to be taken, and to be kept.
const POLLING_MUST_GAIN_PCT: f64 = 5.0;
/// Any other change is not made for less.
const CHANGE_MUST_GAIN_PCT: f64 = 3.0;
/// A way is clearly worse that commits less than this part of another. A trial of such a way is
/// broken off, and polling that is at home is left at once.
const CLEARLY_WORSE: f64 = 0.5;
/// A trial is judged so after so much time: earlier where foregrounds poll, which may cost them a
/// slice of the processor for each look.
const CLEARLY_WORSE_AFTER: Nanos = Nanos::from_millis(16);
const POLLING_CLEARLY_WORSE_AFTER: Nanos = Nanos::from_millis(3);
/// The same of a way at home in which foregrounds poll.
const COLLAPSED_AFTER: Nanos = Nanos::from_millis(12);
/// Windows of the present way that commit less (or more) than these parts of what it used to show
/// another load, and so do those with so many times the commits of each write: the other ways are
/// tried soon. Both are means over about so many windows.
const CHANGED_RATE: (f64, f64) = (0.6, 1.7);
const CHANGED_COMMITS: f64 = 2.0;
const MEAN_WINDOWS: f64 = 4.0;
/// Such a change is looked for so many windows after a trial at the earliest, unless foregrounds
/// poll: what they lose when other work comes is too much to wait.
const CHANGED_AFTER: u64 = 32;
/// Polling that commits this much more, in percent, is taken at once. Any other gain has to be seen
/// twice in a row: windows beside other work differ by that much.
const CLEARLY_BETTER_PCT: f64 = 20.0;
/// A way that was left within so many windows had been taken in error: a trial flatters a way whose
/// threads have not used their share of the processors for a while. Such a way, and one whose trial
/// was broken off, is not tried for so many windows, doubled each time, unless the load changes.
const PROBATION: u64 = 64;
const AVOID_MIN: u64 = 32;
const AVOID_MAX: u64 = 2048;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The present way, for so many windows yet.
    Rest(u32),
    /// After a change.
    SettleTrial,
    Trial,
    SettleBack,
    /// The present way once more, to know that the load is still the same.
    Back,
}

/// Decides between the ways.
#[derive(Clone, Debug)]
pub struct Learner {
    /// Those that may be taken, and which of them is the present one.
    ways: Vec<CommitWay>,
    home: usize,
    /// The one that is tried, or will be next.
    other: usize,
    phase: Phase,
    rest: u32,
    /// Trials in vain since the last change.
    in_vain: u32,
    /// The last trial was won, and is repeated.
    won: bool,
    /// The present way's windows differ much.
    unsteady: bool,
    /// Windows at rest so far, at the last change, and at the last trial.
    windows: u64,
    changed_at: u64,
    tried_at: u64,
    /// Of each way: until which window it is not tried, and for how long it was not the last time.
    avoided: Vec<(u64, u64)>,
    window: Window,
    /// The last log write.
    last: Nanos,
    /// When the trial began, and its commits so far, those not counted included.
    trial: (Nanos, u64),
    /// Commits a second in the last windows: at home, of the trial.
    before: f64,
    tried: f64,
    /// At home, when the ways were compared last, and as a moving mean since.
    compared: Option<Seen>,
    recent: Option<Seen>,
    /// Of a log whose foregrounds may write for themselves.
    company: Option<Company>,
    device: Device,
    /// Of such a log: there are several sessions, and the device is worth waiting for.
    may_compare: bool,
    learned: Learned,
}

impl Learner {
    /// One where there is something to learn: who writes (`inline` is `None`), or how to wait.
    #[must_use]
    pub fn needed(inline: Option<bool>, sync: LogFileSync, may_poll: bool) -> Option<Learner> {
        let learns = inline.is_none() || sync == LogFileSync::Adaptive;
        learns.then(|| Learner::new(inline, sync, may_poll))
    }

    /// Which ways are tried: of a log whose foregrounds write, or not, or may do either (`None`).
    /// Without `may_poll` nobody polls.
    #[must_use]
    pub fn new(inline: Option<bool>, sync: LogFileSync, may_poll: bool) -> Learner {
        let polls: &[bool] = match sync {
            LogFileSync::PostWait => &[false],
            LogFileSync::Polling => &[true],
            LogFileSync::Adaptive if may_poll => &[false, true],
            LogFileSync::Adaptive => &[false],
        };
        let of = |inline| {
            polls
                .iter()
                .map(move |&polling| CommitWay { inline, polling })
        };
        let mut ways: Vec<CommitWay> = of(inline.unwrap_or(false)).collect();
        if inline.is_none() && sync != LogFileSync::Polling {
            ways.push(CommitWay {
                inline: true,
                polling: false,
            });
        }
        let company = inline.is_none().then(Company::default);
        let way = if company.is_some() {
            ALONE_WAY
        } else {
            ways[0]
        };
        Learner {
            home: 0,
            other: 1 % ways.len(),
            avoided: vec![(0, 0); ways.len()],
            ways,
            phase: Phase::Rest(REST_FIRST),
            rest: REST_FIRST,
            in_vain: 0,
            won: false,
            unsteady: false,
            windows: 0,
            changed_at: 0,
            tried_at: 0,
            window: Window::default(),
            last: Nanos::ZERO,
            trial: (Nanos::ZERO, 0),
            before: 0.0,
            tried: 0.0,
            compared: None,
            recent: None,
            company,
            device: Device::default(),
            may_compare: false,
            learned: Learned {
                way,
                ..Learned::default()
            },
        }
    }

    /// A log write with `commits` commits became durable at `now`, `took` after it was submitted,
    /// and `carried` more had come while it was on its way. The way from now on.
    pub fn published(&mut self, now: Nanos, took: Nanos, commits: u64, carried: u64) -> CommitWay {
        let learned = &mut self.learned;
        learned.commits += commits;
        learned.polled += if learned.way.polling { commits } else { 0 };
        if let Some(company) = &mut self.company {
            let (before, was_alone) = (self.may_compare, !company.several);
            let several = company.wrote(commits, carried);
            self.may_compare = several && !self.device.is_done_at_once(took);
            learned.alone += if was_alone && !several { commits } else { 0 };
            if !self.may_compare {
                if before {
                    self.abandon();
                }
                self.learned.way = ALONE_WAY;
                return ALONE_WAY;
            }
            if !before {
                self.window = Window::default();
                self.learned.way = self.ways[self.home];
            }
        }
        if self.ways.len() > 1 {
            self.compare(now, commits);
        }
        self.learned.way
    }

    /// What it came to.
    #[must_use]
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Ends a trial without a result.
    fn abandon(&mut self) {
        self.window = Window::default();
        self.phase = Phase::Rest(self.rest);
    }

    fn compare(&mut self, now: Nanos, commits: u64) {
        let pause = now.since(std::mem::replace(&mut self.last, now));
        if pause >= IDLE {
            // It says nothing of any way.
            self.abandon();
            self.learned.way = self.ways[self.home];
        }
        if matches!(self.phase, Phase::SettleTrial | Phase::Trial) {
            self.trial.1 += commits;
            let took = now.since(self.trial.0);
            let expected = self.before * took.as_secs() * CLEARLY_WORSE;
            let patience = if self.learned.way.polling {
                POLLING_CLEARLY_WORSE_AFTER
            } else {
                CLEARLY_WORSE_AFTER
            };
            if took >= patience && (self.trial.1 as f64) < expected {
                self.learned.broken_off += 1;
                self.tried = 0.0;
                self.avoid(self.other);
                self.go(Phase::SettleBack, self.home);
                return;
            }
        }
        if self.has_collapsed(now) {
            self.window_over(now, self.window.seen(now));
            return;
        }
        let settles = matches!(self.phase, Phase::SettleTrial | Phase::SettleBack);
        let many = if self.unsteady { UNSTEADY_WINDOWS } else { 1 };
        let length = match (settles, self.phase) {
            (true, _) => (SETTLE_WRITES, SETTLE),
            (_, Phase::Rest(left)) if left > 1 => (WINDOW_WRITES, WINDOW),
            _ => (WINDOW_WRITES, Nanos(WINDOW.0 * many)),
        };
        if let Some(seen) = self.window.add(now, commits, length) {
            self.window_over(now, seen);
        }
    }

    /// Foregrounds poll, and other work has taken their processors: the window ends early.
    fn has_collapsed(&self, now: Nanos) -> bool {
        let took = self
            .window
            .since
            .map_or(Nanos::ZERO, |since| now.since(since));
        let polls = self.ways[self.home].polling && matches!(self.phase, Phase::Rest(_));
        let then = self.compared.filter(|_| polls && took >= COLLAPSED_AFTER);
        then.is_some_and(|then| self.window.seen(now).per_s < then.per_s * CLEARLY_WORSE)
    }

    /// Goes on with this phase in this way.
    fn go(&mut self, phase: Phase, way: usize) {
        self.phase = phase;
        if self.learned.way != self.ways[way] {
            self.learned.way = self.ways[way];
            self.window = Window::default();
        }
    }

    fn window_over(&mut self, now: Nanos, seen: Seen) {
        match self.phase {
            Phase::Rest(left) => self.rested(now, left, seen),
            Phase::SettleTrial => self.go(Phase::Trial, self.other),
            Phase::Trial => {
                self.tried = seen.per_s;
                if self.ways[self.home].polling && self.before < self.tried * CLEARLY_WORSE {
                    let (per_s, per_write) = (self.before, seen.per_write);
                    self.decide(now, Seen { per_s, per_write });
                    self.go(Phase::Rest(self.rest), self.home);
                } else {
                    self.go(Phase::SettleBack, self.home);
                }
            }
            Phase::SettleBack => self.go(Phase::Back, self.home),
            Phase::Back => {
                self.decide(now, seen);
                self.go(Phase::Rest(self.rest), self.home);
            }
        }
    }

    /// A window of the present way at rest: begins a trial when it is time.
    fn rested(&mut self, now: Nanos, left: u32, seen: Seen) {
        self.windows += 1;
        let changed = self.has_changed(seen);
        if left > 1 && !changed {
            self.phase = Phase::Rest(left - 1);
            return;
        }
        if changed {
            (self.rest, self.in_vain, self.won) = (REST_MIN, 0, false);
            self.avoided.fill((0, 0));
        }
        if !self.won && !self.choose() {
            self.phase = Phase::Rest(REST_MIN);
            return;
        }
        self.before = seen.per_s;
        self.compared = self.recent;
        self.tried_at = self.windows;
        self.learned.trials += 1;
        self.trial = (now, 0);
        self.go(Phase::SettleTrial, self.other);
    }

    /// Chooses the next way to try; false where all are avoided.
    fn choose(&mut self) -> bool {
        let many = self.ways.len();
        let mut next = (0..many).map(|n| (self.other + n) % many);
        let windows = self.windows;
        let found = next.find(|&way| way != self.home && self.avoided[way].0 <= windows);
        self.other = found.unwrap_or(self.other);
        found.is_some()
    }

    /// The load is no longer that under which the ways were compared.
    fn has_changed(&mut self, seen: Seen) -> bool {
        let mean = |old: f64, new: f64| old + (new - old) / MEAN_WINDOWS;
        let recent = self.recent.map_or(seen, |old| Seen {
            per_s: mean(old.per_s, seen.per_s),
            per_write: mean(old.per_write, seen.per_write),
        });
        self.recent = Some(recent);
        let polls = self.ways[self.home].polling;
        if !polls && self.windows < self.tried_at + CHANGED_AFTER {
            return false;
        }
        self.compared.is_some_and(|then| {
            if polls && seen.per_s < then.per_s * CLEARLY_WORSE {
                return true;
            }
            let more = recent.per_write.max(1.0) / then.per_write.max(1.0);
            let rate = then.per_s * CHANGED_RATE.0..=then.per_s * CHANGED_RATE.1;
            !rate.contains(&recent.per_s)
                || !(1.0 / CHANGED_COMMITS..=CHANGED_COMMITS).contains(&more)
        })
    }

    /// Has a way not tried for a while, the next time for twice as long.
    fn avoid(&mut self, way: usize) {
        let (until, last) = &mut self.avoided[way];
        *last = (*last * 2).clamp(AVOID_MIN, AVOID_MAX);
        *until = self.windows + *last;
    }

    fn decide(&mut self, now: Nanos, back: Seen) {
        let (here, there) = (self.ways[self.home], self.ways[self.other]);
        let gain = |pct: f64| 1.0 + pct / 100.0;
        let (least, most) = (self.before.min(back.per_s), self.before.max(back.per_s));
        self.unsteady = most > least * gain(UNSTEADY_PCT);
        // Polling must be better than the better of both. A way that is on probation, or whose
        // windows differ, may be flattered behind a trial, too: only its window before counts.
        let on_probation = self.changed_at > 0 && self.windows < self.changed_at + PROBATION;
        let home = match there.polling {
            true => most,
            false if on_probation || self.unsteady => self.before,
            false => (least + most) / 2.0,
        };
        let better = match (here.polling, there.polling) {
            (false, true) => self.tried > home * gain(POLLING_MUST_GAIN_PCT),
            (true, false) => self.tried * gain(POLLING_MUST_GAIN_PCT) > home,
            _ => self.tried > home * gain(CHANGE_MUST_GAIN_PCT),
        };
        let clearly = here.polling || there.polling && self.tried > home * gain(CLEARLY_BETTER_PCT);
        if better && !self.won && !clearly {
            self.won = true;
            self.rest = if self.unsteady {
                REST_UNSTEADY
            } else {
                REST_FIRST
            };
            return;
        }
        self.won = false;
        if better {
            self.switched(now, home);
            if on_probation {
                self.avoid(self.home);
            }
            self.changed_at = self.windows;
            self.home = self.other;
            let taken = Seen {
                per_s: self.tried,
                per_write: back.per_write,
            };
            (self.compared, self.recent) = (Some(taken), None);
            self.in_vain = 0;
            self.rest = REST_MIN;
            return;
        }
        self.in_vain += 1;
        // Each of the others first, then ever more rarely.
        let others = self.ways.len() as u32 - 1;
        self.rest = match self.in_vain {
            n if n < others => REST_FIRST,
            n if n == others => REST_MIN,
            _ => (self.rest * 2).clamp(REST_MIN, REST_MAX),
        };
        self.other = (self.other + 1) % self.ways.len();
    }

    fn switched(&mut self, now: Nanos, home: f64) {
        let learned = &mut self.learned;
        learned.switches += 1;
        if learned.recent.len() == RECENT_SWITCHES {
            learned.recent.remove(0);
        }
        learned.recent.push(SyncSwitch {
            at: now,
            to: self.ways[self.other],
            left_per_s: home,
            taken_per_s: self.tried,
        });
    }
}

/// A session that commits alone writes for itself, and so does one whose device is done at once.
const ALONE_WAY: CommitWay = CommitWay {
    inline: true,
    polling: false,
};

#[cfg(test)]
mod tests;
