//! A run as Markdown, to be pasted into a ticket: the answer, where it was measured, the figures
//! that people ask for, and the findings.
//!
//! Invariants: no text of a run can become markup, neither of Markdown nor of HTML; every line is
//! bounded, and so is their number.

use super::cases::{Concern, concern};
use super::escape::esc;
use super::{differences, first, forest, judged, reasons, winner};
use crate::account::columns::{self, Columns, RowColumn};
use crate::compare::decision::has_few_rounds;
use crate::format::{self, count};
use measure::comparison::Comparison;
use measure::run::{Run, problems};
use measure::words::markdown as escape;
use std::fmt::Write;

/// Most rows of the table, and findings of a group.
const ROWS_MAX: usize = 60;
const FINDINGS_MAX: usize = 24;
/// Most characters of a text of the run.
const TEXT_MAX: usize = 600;

/// The Markdown as the content of a `pre`: its own line ends stay.
pub(super) fn block(markdown: &str) -> String {
    let lines: Vec<String> = markdown.lines().map(esc).collect();
    lines.join("\n")
}

/// The run, its rows in `columns`; `verbose` also has what findings record.
pub(super) fn of(run: &Run, columns: &Columns, verbose: bool) -> String {
    let mut out = String::with_capacity(4096);
    let answer = match (&run.verdict, run.imported.is_some()) {
        (Some(verdict), false) => format!(" {}", verdict.answer.word().to_uppercase()),
        _ => String::new(),
    };
    let _ = writeln!(out, "### {}{answer}\n", text(&first::question(run)));
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

/// A comparison: who wins, and the differences that are shown first.
pub(super) fn comparison(c: &Comparison) -> String {
    let mut out = String::with_capacity(4096);
    let names: Vec<String> = c.runs.iter().map(|r| text(&r.name)).collect();
    let _ = writeln!(out, "### {}\n", names.join(" or "));
    for r in c.runs.iter().take(ROWS_MAX) {
        let state = match (r.valid && r.complete, r.problems.first()) {
            (false, _) => "; INVALID or unfinished".to_owned(),
            (true, Some(problem)) => format!("; doubtful: {}", text(&problem.detail)),
            (true, None) => String::new(),
        };
        let place = [&r.target_path, &r.target_detail]
            .map(|p| text(p))
            .join(" ");
        let tags = match r.tags.is_empty() {
            true => String::new(),
            false => format!("; {}", text(&r.tags_in_words())),
        };
        let _ = writeln!(
            out,
            "- {}: {place} ({}, run {}); {}{tags}{state}",
            text(&r.name),
            r.origin,
            text(&r.run_id),
            r.judged_in_words(),
        );
    }
    for notice in &c.notices {
        let _ = writeln!(out, "\n**Note:** {}", text(notice));
    }
    matrix(c, &mut out);
    for run in 1..c.runs.len() {
        let (base, other) = (
            text(differences::name(c, 0)),
            text(differences::name(c, run)),
        );
        let _ = writeln!(
            out,
            "\n**{}.** {}\n",
            text(winner::answer(c, run)),
            text(&winner::reason(c, run))
        );
        let level = differences::level(c);
        let _ = writeln!(
            out,
            "| | {base} | {other} | Ratio | {level} % interval | |\n| :--- | ---: | ---: | ---: | ---: | :--- |"
        );
        for d in winner::shown_first(c, run) {
            let ratio = d.ratio.map_or_else(|| "–".to_owned(), forest::times);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {ratio} | {} | {} |",
                text(&differences::label(d)),
                text(&differences::shown(d.a, &d.unit)),
                text(&differences::shown(d.b, &d.unit)),
                text(&differences::interval_text(d)),
                forest::word(d, has_few_rounds(c)),
            );
        }
    }
    conditions(c, &mut out);
    let _ = writeln!(
        out,
        "\nredolab {}, {}",
        text(&c.redolab_version),
        text(&c.created)
    );
    out
}

/// What `--fail-if` asked for.
fn conditions(c: &Comparison, out: &mut String) {
    if c.conditions.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n**Conditions**\n");
    for condition in c.conditions.iter().take(ROWS_MAX) {
        let (state, what) = (condition.state, text(&condition.text));
        let _ = writeln!(out, "- {state}: {what}: {}", text(&condition.detail));
    }
}

/// Many runs: a line for each figure that is shown first of one of them, a column for each run.
fn matrix(c: &Comparison, out: &mut String) {
    if c.runs.len() < 3 {
        return;
    }
    let mut lines: Vec<(&str, u32, &str)> = Vec::new();
    let shown = (1..c.runs.len()).flat_map(|run| winner::shown_first(c, run));
    for d in shown {
        let key = (d.workload.as_str(), d.jobs, d.metric.as_str());
        if !lines.contains(&key) {
            lines.push(key);
        }
    }
    lines.sort_by_key(|(workload, jobs, _)| (*workload, *jobs));
    let names: String = c
        .runs
        .iter()
        .map(|r| format!(" {} |", text(&r.name)))
        .collect();
    let rules = " ---: |".repeat(c.runs.len());
    let _ = writeln!(out, "\n| |{names}\n| :--- |{rules}");
    for line in lines.iter().take(ROWS_MAX) {
        let of = |run: usize| {
            c.differences.iter().find(|d| {
                d.run_b == run && (d.workload.as_str(), d.jobs, d.metric.as_str()) == *line
            })
        };
        let Some(first) = (1..c.runs.len()).find_map(of) else {
            continue;
        };
        let base = text(&differences::shown(first.a, &first.unit));
        let others: String = (1..c.runs.len())
            .map(|run| match of(run) {
                Some(d) => {
                    let change = d
                        .ratio
                        .map_or_else(String::new, |r| format!(" ({})", format::change(r)));
                    format!(" {}{change} |", text(&differences::shown(d.b, &d.unit)))
                }
                None => " – |".to_owned(),
            })
            .collect();
        let _ = writeln!(
            out,
            "| {} | {base} |{others}",
            text(&differences::label(first))
        );
    }
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
        let _ = writeln!(out, "- {}{advice}", text(&reasons::claim(finding)));
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

/// A text of the run in Markdown, bounded.
fn text(raw: &str) -> String {
    let mut short: String = raw.chars().take(TEXT_MAX).collect();
    if short.len() < raw.len() {
        short.push('…');
    }
    escape::line(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bounded() {
        assert_eq!(text(&"x".repeat(5_000)).chars().count(), TEXT_MAX + 1);
        assert_eq!(text(&"|".repeat(5_000)).matches("\\|").count(), TEXT_MAX);
    }
}
