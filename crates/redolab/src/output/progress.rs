//! Progress on standard error: one line on a terminal, with the phase, its present figures and the
//! time that the whole still takes; elsewhere a line for each phase that ended, where asked for.
//!
//! Invariants: never standard output; never colour; phases that the process does not live to end
//! leave no line that says otherwise.

use super::lines::tell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use measure::words::sanitize;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Silent,
    /// A line at the end of each phase.
    Outcomes,
    /// A line at the start and the end of each phase.
    Lines,
    /// One line that changes while a phase runs, and one that stays when it has ended.
    Bars,
}

impl Mode {
    /// Bars on a terminal; elsewhere nothing, or lines with `verbose`; `quiet` is always silent.
    #[must_use]
    pub fn choose(is_terminal: bool, quiet: bool, verbose: bool) -> Mode {
        match (quiet, is_terminal, verbose) {
            (true, _, _) | (false, false, false) => Mode::Silent,
            (false, true, _) => Mode::Bars,
            (false, false, true) => Mode::Lines,
        }
    }

    /// For this process's standard error.
    #[must_use]
    pub fn of_stderr(quiet: bool, verbose: bool) -> Mode {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        Mode::choose(terminal, quiet, verbose)
    }

    /// The same for work of minutes, whose outcomes are of interest wherever they go.
    #[must_use]
    pub fn with_outcomes(self, quiet: bool) -> Mode {
        match self {
            Mode::Silent if !quiet => Mode::Outcomes,
            mode => mode,
        }
    }
}

/// How long the whole takes: when it began and when it will end, as far as that is known.
#[derive(Debug, Default)]
struct Whole(Mutex<Option<(Instant, Instant)>>);

impl Whole {
    fn set(&self, remaining: Duration) {
        let now = Instant::now();
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let began = ends.map_or(now, |(began, _)| began);
        *ends = now.checked_add(remaining).map(|end| (began, end));
    }

    /// Percent that is done, and seconds that are left.
    fn now(&self) -> Option<(u64, u64)> {
        let (began, end) = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        let done = began.elapsed().as_secs_f64();
        let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
        // What is not over is never shown as done.
        let percent = (100.0 * done / (done + left).max(1e-9)).min(99.0);
        Some((percent as u64, left.ceil() as u64))
    }
}

/// `45 s`, `1 min 12 s`, `2 h 5 min`.
fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Shows phases one after the other.
#[derive(Clone, Debug)]
pub struct Progress {
    mode: Mode,
    whole: Arc<Whole>,
}

/// A phase that is under way.
#[derive(Debug)]
pub struct Phase {
    mode: Mode,
    name: String,
    start: Instant,
    bar: ProgressBar,
}

/// How often the line is drawn again, so that the time that is left runs down.
const TICK: Duration = Duration::from_millis(250);

impl Progress {
    /// Progress of that kind.
    #[must_use]
    pub fn new(mode: Mode) -> Progress {
        let whole = Arc::default();
        Progress { mode, whole }
    }

    /// The whole takes so much time from now on, of which the phases are parts.
    pub fn remaining(&self, time: Duration) {
        self.whole.set(time);
    }

    /// Begins a phase. `total` is in whatever [`Phase::at`] counts, such as milliseconds or
    /// bytes; zero where it is not known.
    #[must_use]
    pub fn phase(&self, name: &str, total: u64) -> Phase {
        let name = sanitize::line(name);
        let bar = ProgressBar::with_draw_target(
            Some(total).filter(|total| *total > 0),
            match self.mode {
                Mode::Bars => ProgressDrawTarget::stderr_with_hz(4),
                Mode::Silent | Mode::Lines | Mode::Outcomes => ProgressDrawTarget::hidden(),
            },
        );
        // The message is cut where the line ends, the time that is left is not.
        if let Ok(style) = ProgressStyle::with_template("{whole} {wide_msg}") {
            let whole = Arc::clone(&self.whole);
            let shown = move |state: &ProgressState, out: &mut dyn Write| {
                // Writing into text does not fail.
                let _ = out.write_str(&shown(&whole, state));
            };
            bar.set_style(style.with_key("whole", shown));
        }
        bar.set_message(name.clone());
        match self.mode {
            Mode::Lines => tell(&format!("{name} ...")),
            Mode::Bars => bar.enable_steady_tick(TICK),
            Mode::Silent | Mode::Outcomes => {}
        }
        let (mode, start) = (self.mode, Instant::now());
        Phase {
            mode,
            name,
            start,
            bar,
        }
    }
}

/// How far the whole is, or the phase where the whole is not known.
fn shown(whole: &Whole, state: &ProgressState) -> String {
    match whole.now() {
        Some((percent, left)) => format!("{percent:>2} %, {} left:", duration(left)),
        None if state.len().is_some() => format!("{:>2.0} %:", 100.0 * state.fraction()),
        None => format!("{}:", duration(state.elapsed().as_secs())),
    }
}

impl Phase {
    /// How far it is. Cheap; drawn at most four times per second.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// A word beside the bar, such as the present rate.
    pub fn say(&self, what: &str) {
        let what = sanitize::line(what);
        let message = match what.is_empty() {
            true => self.name.clone(),
            false => format!("{}: {what}", self.name),
        };
        self.bar.set_message(message);
    }

    /// Ends the phase and leaves a line with its outcome.
    pub fn done(self, outcome: &str) {
        self.bar.finish_and_clear();
        if self.mode != Mode::Silent {
            tell(&closing(&self.name, outcome, self.start.elapsed()));
        }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.bar.finish_and_clear();
        }
    }
}

fn closing(name: &str, outcome: &str, took: Duration) -> String {
    let outcome = sanitize::line(outcome);
    format!("{name}: {outcome} ({:.1} s)", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_where() {
        for (terminal, quiet, verbose, want) in [
            (true, false, false, Mode::Bars),
            (true, true, true, Mode::Silent),
            (false, false, false, Mode::Silent),
            (false, false, true, Mode::Lines),
            (false, true, true, Mode::Silent),
        ] {
            assert_eq!(Mode::choose(terminal, quiet, verbose), want);
        }
        assert_eq!(Mode::Silent.with_outcomes(false), Mode::Outcomes);
        assert_eq!(Mode::Silent.with_outcomes(true), Mode::Silent);
        assert_eq!(Mode::Bars.with_outcomes(false), Mode::Bars);
        let line = closing("LGWR-LAT1 x 8", "ok\u{1b}[2J", Duration::from_millis(1_540));
        assert_eq!(line, "LGWR-LAT1 x 8: ok (1.5 s)");
    }

    #[test]
    fn a_hidden_phase_draws_nothing() {
        let phase = Progress::new(Mode::Silent).phase("x", 10);
        phase.at(5);
        assert!(phase.bar.is_hidden());
        phase.done("y");
    }

    #[test]
    fn the_time_that_is_left_is_that_of_the_whole() {
        let progress = Progress::new(Mode::Silent);
        assert_eq!(progress.whole.now(), None);
        progress.remaining(Duration::from_secs(100));
        let (percent, left) = progress.whole.now().expect("known");
        assert!(
            percent < 99 && (1..=100).contains(&left),
            "{percent} {left}"
        );
        progress.remaining(Duration::ZERO);
        assert_eq!(
            progress.whole.now(),
            Some((99, 0)),
            "not over before it ends"
        );
        for (seconds, want) in [(45, "45 s"), (72, "1 min 12 s"), (7_500, "2 h 5 min")] {
            assert_eq!(duration(seconds), want);
        }
    }
}
