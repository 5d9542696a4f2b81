//! Progress on standard error: a bar on a terminal, a line a phase when asked for, else nothing.
//!
//! Invariants: never standard output; never colour; phases that the process does not live to end
//! leave no line that says otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Silent,
    /// A line at the start and the end of each phase.
    Lines,
    /// A bar while a phase runs, a line when it has ended.
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
}

/// Shows phases one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    mode: Mode,
}

/// A phase that is under way.
#[derive(Debug)]
pub struct Phase {
    mode: Mode,
    name: String,
    start: Instant,
    bar: ProgressBar,
}

impl Progress {
    /// Progress of that kind.
    #[must_use]
    pub fn new(mode: Mode) -> Progress {
        Progress { mode }
    }

    /// Begins a phase. `total` is in whatever [`Phase::at`] counts, such as milliseconds or
    /// bytes; zero where it is not known.
    #[must_use]
    pub fn phase(&self, name: &str, total: u64) -> Phase {
        let name = super::sanitize::line(name);
        let bar = if total == 0 {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::new(total)
        };
        bar.set_draw_target(match self.mode {
            Mode::Bars => ProgressDrawTarget::stderr_with_hz(4),
            Mode::Silent | Mode::Lines => ProgressDrawTarget::hidden(),
        });
        let template = if total == 0 {
            "{spinner} {msg} {elapsed}"
        } else {
            "[{bar:24}] {percent:>3}% {msg} {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(name.clone());
        if self.mode == Mode::Lines {
            eprintln!("{name} ...");
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

impl Phase {
    /// How far it is. Cheap; drawn at most four times per second.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// A word beside the bar, such as the present rate.
    pub fn say(&self, what: &str) {
        let what = super::sanitize::line(what);
        self.bar.set_message(format!("{}  {what}", self.name));
    }

    /// Ends the phase and leaves a line with its outcome.
    pub fn done(self, outcome: &str) {
        self.bar.finish_and_clear();
        if self.mode != Mode::Silent {
            eprintln!("{}", closing(&self.name, outcome, self.start.elapsed()));
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
    let outcome = super::sanitize::line(outcome);
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
}
