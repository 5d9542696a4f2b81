//! A run as Markdown, to be pasted into a ticket: the answer, where it was measured, the figures
//! that people ask for, and the findings.
//!
//! Invariants: no text of a run can become markup, neither of Markdown nor of HTML; every line is
//! bounded, and so is their number.

use super::cases::{Concern, concern};
use super::{first, judged};
use crate::account;
use crate::account::columns::{self, Columns, RowColumn};
use crate::account::findings::claim;
use crate::account::key_figures;
use crate::account::markdown::{self as sections, text};
use crate::format::{self, count};
use measure::comparison::Comparison;
use measure::run::{Run, problems};
use std::fmt::Write;

/// Most rows of the table, and findings of a group.
const ROWS_MAX: usize = 60;
const FINDINGS_MAX: usize = 24;

/// The run, its rows in `columns`; `verbose` also has what findings record.
pub(super) fn of(run: &Run, columns: &Columns, verbose: bool) -> String {
    let mut out = String::with_capacity(4096);
    let answer = match (&run.verdict, run.imported.is_some()) {
        (Some(verdict), false) => format!(" {}", verdict.answer.word().to_uppercase()),
        _ => String::new(),
    };
    let _ = writeln!(out, "### {}{answer}\n", text(&first::question(run)));
    let headline = key_figures::headline(run);
    let _ = headline.map(|of| writeln!(out, "{}\n", text(&of.title)));
    summary(run, &mut out);
    for line in facts(run) {
        let _ = writeln!(out, "- {}", text(&line));
    }
    let _ = writeln!(out);
    table(run, columns, &mut out);
    let shown = [
        Concern::Decide,
        Concern::Watch,
        Concern::Fine,
        Concern::Record,
    ];
    for of in shown.into_iter().take(if verbose { 4 } else { 3 }) {
        findings(run, of, &mut out);
    }
    not_judged(run, &mut out);
    let _ = writeln!(
        out,
        "redolab {}, run {}, {}, {}",
        text(&run.redolab_version),
        text(&run.run_id),
        text(&run.created),
        run.origin,
    );
    out
}

/// The need, where a run was measured, how the log was written, its label and tags: a line for
/// each.
fn facts(run: &Run) -> Vec<String> {
    let fact = |(label, words, details): (&str, String, String)| match details.as_str() {
        "" => format!("{label}: {words}"),
        details => format!("{label}: {words} ({details})"),
    };
    let is_judged = run.verdict.is_some() && run.imported.is_none();
    let need = is_judged.then(|| format!("Need: {}", first::need_in_words(&run.need)));
    let mut out: Vec<String> = need.into_iter().collect();
    // Label and tags have a line each.
    let facts = first::facts_of(run).into_iter();
    out.extend(facts.filter(|(name, ..)| *name != first::LABEL).map(fact));
    let label = run.notes.label.as_deref();
    out.extend(label.map(|label| format!("Label: {label}")));
    if !run.notes.tags.is_empty() {
        out.push(format!("Tags: {}", run.notes.tags_in_words()));
    }
    out
}

fn summary_of(run: &Run) -> &str {
    run.verdict.as_ref().map_or("", |v| v.summary.as_str())
}

fn summary(run: &Run, out: &mut String) {
    let all = problems::each_once(&run.validity.problems).into_iter();
    let wrong = all.filter(|problem| problem.invalidates);
    let wrong = wrong.map(|problem| text(&format!("{}: {}", problem.id, problem.detail)));
    let wrong: Vec<String> = wrong.take(FINDINGS_MAX).collect();
    if !wrong.is_empty() {
        let wrong = wrong.join("; ");
        let _ = writeln!(out, "**INVALID: do not use these figures.** {wrong}\n");
    } else if let Some(problem) = run.validity.problems.first()
        && !summary_of(run).contains(&problem.detail)
    {
        let _ = writeln!(out, "**Doubtful.** {}\n", text(&problem.detail));
    }
    match &run.verdict {
        Some(verdict) if run.imported.is_none() => {
            let answer = first::capitalised(verdict.answer.word());
            let summary = first::without_answer(&verdict.summary, &answer);
            let _ = writeln!(
                out,
                "{}\n\n- Durability: {}\n- Performance: {}",
                text(&summary),
                text(&verdict.durability_in_words()),
                verdict.performance,
            );
        }
        _ => {
            for finding in judged::diagnosis(run).iter().take(3) {
                let _ = writeln!(out, "{}\n", text(&finding.claim));
            }
        }
    }
}

/// A comparison: who wins, by which figures, and which runs they are.
pub(super) fn comparison(c: &Comparison) -> String {
    let sections = account::comparison::comparison(c, false).into_iter();
    // The tables and the method are in the report.
    let is_shown = |of: &account::Section| {
        !of.id.starts_with("table-") && !["method", "not-compared"].contains(&&*of.id)
    };
    let sections = sections.filter(is_shown).enumerate();
    let text_of = |(at, mut of): (usize, account::Section)| match at {
        0 => {
            let title = std::mem::take(&mut of.title);
            format!("### {}\n{}", text(&title), sections::section(&of, ROWS_MAX))
        }
        _ => sections::section(&of, ROWS_MAX),
    };
    let text_of: String = sections.map(text_of).collect();
    format!(
        "{text_of}redolab {}, {}\n",
        text(&c.redolab_version),
        text(&c.created)
    )
}

/// The rows in the columns of a view, a heading in one line each.
fn table(run: &Run, columns: &Columns, out: &mut String) {
    let grid = columns::grid(run, columns);
    if run.rows.is_empty() || grid.columns.len() < 2 {
        return;
    }
    let heading = |column: &RowColumn| {
        let own = column
            .heading
            .replace(" \n", " ")
            .replace("\n/", "/")
            .replace('\n', " ");
        match column
            .group
            .first()
            .and_then(|group| group.rsplit_once(" ("))
        {
            Some((group, unit)) => format!(" {group} {own} ({unit} |"),
            None => format!(" {own} |"),
        }
    };
    let heads: String = grid.columns.iter().map(heading).collect();
    let rules = " ---: |".repeat(grid.columns.len() - 1);
    let _ = writeln!(out, "|{heads}\n| :--- |{rules}");
    for at in 0..run.rows.len().min(ROWS_MAX) {
        let cell = |column: &RowColumn| format!(" {} |", text(&column.cells[at].words("")));
        let cells: String = grid.columns.iter().map(cell).collect();
        let _ = writeln!(out, "|{cells}");
    }
    if run.rows.len() > ROWS_MAX {
        let more = count((run.rows.len() - ROWS_MAX) as u64);
        let _ = writeln!(out, "\n{more} more rows are in the run.");
    }
    let _ = writeln!(out, "\n{}\n", text(&grid.units));
}

fn findings(run: &Run, of: Concern, out: &mut String) {
    let all = judged::findings(run);
    let all: Vec<_> = all.into_iter().filter(|f| concern(f) == of).collect();
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{}**\n", of.heading());
    for finding in all.iter().take(FINDINGS_MAX) {
        let advice = match (of, finding.advice.as_str()) {
            (Concern::Fine, _) | (_, "") => String::new(),
            (_, advice) => format!(" *What to do:* {}", text(advice)),
        };
        let _ = writeln!(out, "- {}{advice}", text(&claim(finding)));
    }
    let more = all.len().saturating_sub(FINDINGS_MAX);
    if more > 0 {
        let _ = writeln!(out, "- and {}", format::plural(more as u64, "more finding"));
    }
    let _ = writeln!(out);
}

fn not_judged(run: &Run, out: &mut String) {
    let Some(verdict) = &run.verdict else {
        return;
    };
    let not: Vec<String> = verdict.scope.not_judged.iter().map(|n| text(n)).collect();
    if !not.is_empty() {
        let shown: Vec<String> = not.into_iter().take(FINDINGS_MAX).collect();
        let _ = writeln!(out, "**Not judged:** {}\n", shown.join("; "));
    }
}
