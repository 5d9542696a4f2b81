//! The terminal as the console of an experiment: lines and progress on standard error, and the
//! report of a check.

use super::CommandError;
use super::common::{OutputArgs, audience};
use super::question;
use crate::budget::{Budget, pages};
use crate::experiment::console::Console;
use crate::experiment::limits::KEEP_BYTES;
use crate::output::progress::{Mode, Phase, Progress};
use crate::output::{file, report};
use crate::signals::{self, Interrupt};
use crate::standard_error;
use crate::store::Store;
use measure::Nanos;
use measure::run::Run;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where the report of a run goes.
pub(super) struct ReportTo<'a> {
    /// The store that holds the run's intervals.
    pub(super) store: &'a Store,
    /// The file; `None` for one that is named after the run.
    pub(super) path: Option<PathBuf>,
}

impl ReportTo<'_> {
    /// The file for a run of that name.
    pub(super) fn file(&self, run_id: &str) -> PathBuf {
        let default = || PathBuf::from(format!("redolab-{run_id}.html"));
        self.path.clone().unwrap_or_else(default)
    }
}

/// The terminal.
pub(super) struct Terminal<'a> {
    output: &'a OutputArgs,
    interrupt: Interrupt,
    report: Option<ReportTo<'a>>,
    mode: Mode,
    progress: Progress,
    phase: RefCell<Option<Phase>>,
    problem: Cell<Option<CommandError>>,
    /// Questions are answered with yes.
    agrees: bool,
}

impl<'a> Terminal<'a> {
    /// The terminal, with a report of each run where `report` says so. From now on Ctrl-C asks the
    /// experiment to end.
    ///
    /// # Errors
    /// When the system refuses the handlers of signals.
    pub(super) fn new(
        output: &'a OutputArgs,
        report: Option<ReportTo<'a>>,
    ) -> Result<Terminal<'a>, CommandError> {
        let failed = |e| CommandError::failed(format!("signal handlers: {e}"));
        let mode = Mode::of_stderr(output.quiet, output.verbose).with_outcomes(output.quiet);
        Ok(Terminal {
            output,
            interrupt: signals::install().map_err(failed)?,
            report,
            mode,
            progress: Progress::new(mode),
            phase: RefCell::new(None),
            problem: Cell::new(None),
            agrees: false,
        })
    }

    /// The terminal where `yes` answers every question.
    pub(super) fn agreeing(self, yes: bool) -> Terminal<'a> {
        Terminal {
            agrees: yes,
            ..self
        }
    }

    /// Why a report was not written. A report that cannot be written costs neither the run nor its
    /// result.
    ///
    /// # Errors
    /// The first problem.
    pub(super) fn reported(&self) -> Result<(), CommandError> {
        self.problem.take().map_or(Ok(()), Err)
    }

    fn write_report(&self, to: &ReportTo<'_>, run: &mut Run) -> Result<(), CommandError> {
        let path = to.file(&run.run_id);
        run.report = Some(path.display().to_string());
        let html = report::html(to.store, run);
        if let Some(budget) = self.output.budget.get() {
            // What the store needs for the run itself stays.
            let kept = KEEP_BYTES / 2 + run.rows.len() as u64 * (64 << 10);
            let bytes = pages(html.len() as u64);
            budget.take(bytes.saturating_add(kept)).map_err(|refusal| {
                CommandError::failed(format!(
                    "{}: the report was not written: {refusal}; the run is stored (redolab report \
                     {})",
                    path.display(),
                    run.run_id
                ))
            })?;
            budget.give_back(kept);
        }
        let inputs = self.output.inputs();
        Ok(file::write(&path, html.as_bytes(), audience(run), &inputs)?)
    }
}

impl Console for Terminal<'_> {
    fn say(&self, line: &str) {
        self.output.say(line);
    }

    fn detail(&self, line: &str) {
        if self.output.verbose {
            self.output.say(line);
        }
    }

    fn begin(&self, phase: &str, total: u64) {
        let phase = self.progress.phase(phase, total);
        self.phase.replace(Some(phase));
    }

    fn at(&self, position: u64) {
        if let Some(phase) = &*self.phase.borrow() {
            phase.at(position);
        }
    }

    fn note(&self, what: &str) {
        if let Some(phase) = &*self.phase.borrow() {
            phase.say(what);
        }
    }

    fn remaining(&self, time: Nanos) {
        self.progress.remaining(Duration::from_nanos(time.0));
    }

    fn end(&self, outcome: Option<&str>) {
        if let (Some(phase), Some(outcome)) = (self.phase.take(), outcome) {
            phase.done(outcome);
        }
    }

    fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    fn confirm(&self, question: &str) -> bool {
        self.agrees || question::ask(question, &self.interrupt)
    }

    fn allow(&self, budget: &Arc<Budget>) {
        let _ = self.output.budget.set(Arc::clone(budget));
    }

    fn report(&self, run: &mut Run) {
        for warning in analysis::account::warnings(run) {
            self.say(&warning);
        }
        if self.mode == Mode::Bars {
            // What follows is the result.
            standard_error::write("\n");
        }
        let Some(to) = &self.report else {
            return;
        };
        if let Err(problem) = self.write_report(to, run) {
            run.report = None;
            let first = self.problem.take().unwrap_or(problem);
            self.problem.set(Some(first));
        }
    }
}
