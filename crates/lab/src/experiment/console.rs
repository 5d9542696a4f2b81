//! The console: where an experiment says how it goes, and where it is asked to end.
//!
//! The terminal is one implementation, silence another; an agent will have one that sends lines
//! elsewhere. A console decides what is shown, never what is measured.

use crate::budget::Budget;
use crate::signals::Interrupt;
use measure::Nanos;
use measure::run::Run;
use std::sync::Arc;

/// Where an experiment says how it goes. One phase is under way at a time.
pub trait Console {
    /// A line for everybody who looks on.
    fn say(&self, line: &str);

    /// A line for those who asked for more.
    fn detail(&self, line: &str);

    /// A phase begins. `total` is in whatever [`Console::at`] counts; zero where it is not known.
    fn begin(&self, phase: &str, total: u64);

    /// How far the phase is.
    fn at(&self, position: u64);

    /// A word about the phase, such as the present rate.
    fn note(&self, what: &str);

    /// The whole experiment needs so much time from now on, as far as the plan shows it.
    fn remaining(&self, time: Nanos);

    /// The phase is over: with its outcome, or with `None` where it failed.
    fn end(&self, outcome: Option<&str>);

    /// Whether somebody asked the experiment to end.
    fn interrupt(&self) -> &Interrupt;

    /// Asks whether to go on; yes where nobody looks on.
    fn confirm(&self, question: &str) -> bool;

    /// What the process may write, once that is known: whatever the console writes comes out of
    /// this too.
    fn allow(&self, budget: &Arc<Budget>);

    /// Takes a run that was measured and judged, before it is stored, and may note in it where a
    /// report on it is.
    fn report(&self, run: &mut Run);
}

/// Says nothing, shows nothing, and ends when its interrupt is requested.
#[derive(Debug, Default)]
pub struct Silent {
    interrupt: Interrupt,
}

impl Console for Silent {
    fn say(&self, _: &str) {}

    fn detail(&self, _: &str) {}

    fn begin(&self, _: &str, _: u64) {}

    fn at(&self, _: u64) {}

    fn note(&self, _: &str) {}

    fn remaining(&self, _: Nanos) {}

    fn end(&self, _: Option<&str>) {}

    fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    fn confirm(&self, _: &str) -> bool {
        true
    }

    fn allow(&self, _: &Arc<Budget>) {}

    fn report(&self, _: &mut Run) {}
}

/// A phase that is under way; dropping it without [`ConsolePhase::done`] says that it failed.
pub(super) struct ConsolePhase<'a> {
    console: &'a dyn Console,
    is_over: bool,
}

impl<'a> ConsolePhase<'a> {
    /// Begins a phase.
    pub(super) fn begin(console: &'a dyn Console, name: &str, total: u64) -> ConsolePhase<'a> {
        console.begin(name, total);
        ConsolePhase {
            console,
            is_over: false,
        }
    }

    /// How far it is.
    pub(super) fn at(&self, position: u64) {
        self.console.at(position);
    }

    /// A word about it.
    pub(super) fn note(&self, what: &str) {
        self.console.note(what);
    }

    /// Ends it.
    pub(super) fn done(mut self, outcome: &str) {
        self.is_over = true;
        self.console.end(Some(outcome));
    }
}

impl Drop for ConsolePhase<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.console.end(None);
        }
    }
}
