//! What `run`, `check` and `runs show` print of a run: the answer first, then the rows, then why.
//!
//! Invariant: every table that is left out without `verbose` is one that repeats figures of the
//! rows in more detail, or that was measured to choose how to write; a line names where they are.

use super::head::head;
use super::table::Style;
use super::{rows, section};
use analysis::account::{self, columns::Columns};
use measure::run::Run;
use measure::words::sanitize;

/// What is shown of a run.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The columns of the rows.
    pub columns: &'a Columns,
    /// Every table, and facts beside findings.
    pub verbose: bool,
}

/// The run as text: measured, watched or read from evidence.
#[must_use]
pub fn text(run: &Run, view: View<'_>, style: Style) -> String {
    let account = account::run(run, view.columns, view.verbose);
    let mut parts = vec![head(&account, run, style)];
    let part = |of: &account::Section| match (&*of.id, run.imported.is_some()) {
        // As wide as the terminal, with titles above columns that belong together.
        ("rows", false) if !run.rows.is_empty() => rows::rows(run, view.columns, style),
        _ => section::text(of, style, view.verbose),
    };
    parts.extend(account.sections.iter().map(part));
    if !view.verbose {
        parts.push(more(run));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Which tables there are with `-v`.
fn more(run: &Run) -> String {
    let mut more = Vec::new();
    if !run.rows.is_empty() {
        more.push("every wait");
    }
    if !run.rows.is_empty() && !run.floor.is_empty() {
        more.push("the floor");
    }
    if run
        .target
        .redo_log()
        .is_some_and(|log| !log.probe.is_empty())
    {
        more.push("the probe");
    }
    match more.is_empty() {
        true => String::new(),
        false => format!(
            "More:   redolab runs show {} -v ({})\n",
            sanitize::line(&run.run_id),
            more.join(", "),
        ),
    }
}
