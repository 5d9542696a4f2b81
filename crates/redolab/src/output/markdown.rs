//! A run as Markdown with GitHub's tables, to be pasted into a ticket: the verdict, the rows,
//! findings with advice, and what was not judged; of imported evidence its tables.
//!
//! Invariants: every text from outside is escaped, so that it neither formats nor links nor
//! mentions; no column is left out for its width.

mod imported;

use super::columns::grid;
use super::head::{VerdictWords, doubts, which};
use super::overview::View;
use super::verdict::claim;
use measure::judgement::{Finding, Weight};
use measure::run::{Run, problems};
use measure::words::{markdown as escape, sanitize};
use std::fmt::Write;

/// The run.
#[must_use]
pub fn text(run: &Run, view: View<'_>) -> String {
    let mut out = String::new();
    head(&mut out, run);
    if run.imported.is_some() {
        imported::text(&mut out, run, view.verbose);
    } else if !run.rows.is_empty() {
        let grid = grid(run, view.columns);
        let heading = |c: &super::columns::RowColumn| {
            let words = c.heading.replace('\n', " ");
            c.group
                .first()
                .map_or(words.clone(), |group| in_group(group, &words))
        };
        let headings: Vec<String> = grid.columns.iter().map(heading).collect();
        let texts = grid.columns.iter().take_while(|c| c.is_text).count();
        let line = |at: usize| grid.columns.iter().map(|c| c.cells[at].clone()).collect();
        let lines = (0..run.rows.len()).map(line).collect();
        table(&mut out, &headings, lines, texts);
        paragraph(&mut out, &grid.units);
    }
    let found = match &run.verdict {
        Some(verdict) => &verdict.reasons,
        None => &run.findings,
    };
    findings(&mut out, found, run.imported.is_some(), view.verbose);
    if let Some(verdict) = &run.verdict {
        list(&mut out, "Not judged", &verdict.scope.not_judged);
    }
    let version = sanitize::line(&run.redolab_version);
    paragraph(
        &mut out,
        &format!("redolab {version}, run {}, {}", run.run_id, run.created),
    );
    out
}

/// The heading of a column of a group: `log file sync p99 (ms)`.
fn in_group(group: &str, heading: &str) -> String {
    match group.rsplit_once(" (") {
        Some((name, unit)) => format!("{name} {heading} ({unit}"),
        None => format!("{group} {heading}"),
    }
}

fn head(out: &mut String, run: &Run) {
    if let Some(verdict) = &run.verdict {
        let words = VerdictWords::of(run, verdict);
        // Writing into text does not fail.
        let _ = writeln!(
            out,
            "**Verdict: {}**\n",
            escape::line(&words.answer.replace("   ", ", "))
        );
        paragraph(out, &words.why);
        if let Some(envelope) = &words.envelope {
            paragraph(out, envelope);
        }
    }
    paragraph(out, &which(run));
    let facts = analysis::report::facts(run);
    facts.iter().for_each(|fact| item(out, fact));
    if !facts.is_empty() {
        out.push('\n');
    }
    paragraph(
        out,
        &doubts(run)
            .filter(|_| run.validity.valid)
            .unwrap_or_default(),
    );
    if !run.validity.valid {
        let wrong = problems::each_once(&run.validity.problems).into_iter();
        let wrong = wrong.filter(|p| p.invalidates);
        let wrong: Vec<String> = wrong.map(|p| format!("{}: {}", p.id, p.detail)).collect();
        list(out, "INVALID: these figures are wrong", &wrong);
    }
}

/// A paragraph; nothing for an empty text.
fn paragraph(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "{}\n", escape::line(text));
    }
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{}**\n", escape::line(title));
    items.iter().for_each(|text| item(out, text));
    out.push('\n');
}

fn item(out: &mut String, text: &str) {
    let _ = writeln!(out, "- {}", escape::line(text));
}

/// Findings against the target first; plain facts only when `verbose`, but for what `evidence`
/// shows of waits: that is its answer.
fn findings(out: &mut String, findings: &[Finding], evidence: bool, verbose: bool) {
    let is_of_waits = |id: &str| id.starts_with("diagnosis.") || id.starts_with("latency.");
    let is_answer = |f: &Finding| evidence && is_of_waits(&f.id);
    let shown = findings
        .iter()
        .filter(|f| verbose || f.weight > Weight::Info || is_answer(f));
    let lines: Vec<String> = shown
        .map(|finding| {
            let mark = match finding.weight {
                Weight::Bad => "Against: ",
                Weight::Caution => "Caution: ",
                Weight::Good => "For: ",
                Weight::Info => "",
            };
            let advice = match finding.weight >= Weight::Caution {
                true => format!(" {}", finding.advice),
                false => String::new(),
            };
            format!("{mark}{}{advice}", claim(finding, verbose))
        })
        .collect();
    list(out, "Findings", &lines);
}

/// A table. The first `texts` columns are aligned to the left, the rest to the right.
fn table(out: &mut String, headings: &[String], lines: Vec<Vec<String>>, texts: usize) {
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::inline(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    line(headings);
    let rule = (0..headings.len()).map(|at| if at < texts { "---" } else { "---:" });
    line(&rule.map(str::to_owned).collect::<Vec<_>>());
    lines.iter().for_each(|cells| line(cells));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::columns::Columns;

    fn view(columns: &Columns) -> View<'_> {
        View {
            columns,
            verbose: false,
        }
    }

    #[test]
    fn a_table_has_as_many_cells_in_each_line() {
        let run = crate::output::table::tests::run();
        for columns in [Columns::Usual, Columns::Study] {
            let text = text(&run, view(&columns));
            let lines: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
            assert_eq!(lines.len(), 4, "{text}");
            let cells = |line: &str| line.replace("\\|", "").matches('|').count();
            assert!(lines.iter().all(|l| cells(l) == cells(lines[0])), "{text}");
            assert!(lines[1].starts_with("| --- | ---: |"), "{text}");
        }
        let text = text(&run, view(&Columns::Usual));
        assert!(text.contains("| log file sync p50 (ms) |"), "{text}");
    }

    /// The marks of each line that format something: those that no backslash disarms.
    fn structure(markdown: &str) -> Vec<String> {
        let marks = |line: &str| {
            let mut marks = String::new();
            let line = line.replace("&#35;", "x").replace("&#64;", "x");
            let mut chars = line.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' => drop(chars.next()),
                    '`' | '*' | '|' | '[' | ']' | '<' | '>' | '~' | '@' | '#' => marks.push(c),
                    c if c.is_control() || c == '\u{202e}' => marks.push('?'),
                    _ => {}
                }
            }
            let start = line.strip_prefix("- ").unwrap_or(&line);
            let is_block = start.starts_with(['-', '+', '=', ' ', '\t']);
            format!("{marks}{}", if is_block { " block" } else { "" })
        };
        markdown.lines().map(marks).collect()
    }

    #[test]
    fn hostile_text_formats_nothing_in_either_maker() {
        let made = |text: &str| {
            let mut run = crate::output::table::tests::run();
            let s = || text.to_owned();
            run.rows[0].workload = s();
            (run.target.kind, run.target.path) = (s(), s());
            (run.run_id, run.redolab_version, run.created) = (s(), s(), s());
            run.notes.label = Some(s());
            run.notes.tags.insert(s(), s());
            run.validity.add(text, true, text);
            let own = super::text(&run, view(&Columns::Usual));
            [own, analysis::report::markdown(&run)].map(|made| structure(&made))
        };
        let plain = made("plain");
        for hostile in [
            "a|b | c",
            "`code` ```",
            "back\\slash\\",
            "one\n\n# two\r\n- three",
            "[here](https://example.org) ![x](y)",
            "<script>alert(1)</script><!-- <b>",
            "# heading",
            "- item",
            "---",
            "    indented",
            "**bold** _it_ ~~gone~~ @dba #12",
            "\u{1b}[31mred\u{1b}]0;title\u{7}",
            "\u{202e}gnp.exe",
        ] {
            for (with, without) in made(hostile).iter().zip(&plain) {
                assert_eq!(with, without, "{hostile:?}");
            }
        }
    }

    #[test]
    fn an_invalid_run_is_called_that() {
        let mut run = crate::output::table::tests::run();
        run.validity.add("io_error", true, "EIO on a write");
        let text = text(&run, view(&Columns::Usual));
        assert!(
            text.contains("INVALID") && text.contains("io_error: EIO on a write"),
            "{text}"
        );
    }
}
