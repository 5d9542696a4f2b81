//! What `run`, `check` and `runs show` print of a run: the answer first, then the rows, then why.
//!
//! Invariant: every table that is left out without `verbose` is one that repeats figures of the
//! rows in more detail, or that was measured to choose how to write; a line names where they are.

use super::head::head;
use super::lines::{LINE_MAX, wrap};
use super::table::Style;
use super::{back_end, rows, section, verdict};
use analysis::account;
use analysis::account::columns::Columns;
use analysis::bytes::has_server;
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

/// The run as text.
#[must_use]
pub fn text(run: &Run, view: View<'_>, style: Style) -> String {
    let headline = [account::key_figures::headline(run)];
    let mut parts = vec![head(run, style), section::texts(headline, style, false)];
    if !run.rows.is_empty() {
        let explained = [account::explained_latency(run)];
        parts.push(section::texts(explained, style, view.verbose));
        parts.push(rows::rows(run, view.columns, style));
        let waits = match view.verbose {
            true => account::waits(run),
            false => account::other_waits(run),
        };
        parts.push(section::texts([waits], style, view.verbose));
        parts.push(size_sweep(run, style));
        let shows_bytes = view.verbose || has_server(run);
        let sections = [
            account::watched(run),
            account::workers(run),
            account::nodes(run),
            account::slow_writes(run),
            account::bytes(run).filter(|_| shows_bytes),
            account::tproc_c(run),
        ];
        parts.push(section::texts(sections, style, view.verbose));
    }
    let shows_floor = view.verbose || run.rows.is_empty();
    if shows_floor {
        let sections = [account::floor(run), account::placement(run)];
        parts.push(section::texts(sections, style, view.verbose));
    }
    let sections = [
        account::probe(run).filter(|_| view.verbose),
        account::members(run),
        account::ring(run),
        account::validity(run).filter(|_| view.verbose),
    ];
    parts.push(section::texts(sections, style, view.verbose));
    parts.push(back_end::text(run).trim_start().to_owned());
    parts.push(verdict::findings(run, style, view.verbose));
    parts.push(verdict::need_sources(&run.need));
    parts.push(verdict::not_judged(run, style));
    if !view.verbose {
        parts.push(more(run));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// What the counts of a size sweep show; empty for other runs.
fn size_sweep(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for line in analysis::size_sweep::sentences(run) {
        wrap(&mut out, "", &line, style.width.min(LINE_MAX));
    }
    out
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
