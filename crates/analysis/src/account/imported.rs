//! What was read of evidence: files, tables, latency over time or sequence, what is wrong with it.
//!
//! Invariant: a column that no line fills says nothing to people and is left out; programs get it
//! from JSON and CSV.

use super::findings::statement;
use super::{
    AccountColumn, AccountTable, Body, ColumnHeading, ColumnRole, Section, Shown, Statement,
    figure, key_figures, label,
};
use crate::findings::agreement;
use crate::findings::diagnosis::series::REPORT_SERIES;
use crate::findings::evidence::is_about_document;
use measure::imported::{
    Axis, Cell, Column, Diagnostic, Imported, Series, Severity, Source, SourceRegion, Table,
};
use measure::judgement::{Finding, Weight};
use measure::run::Run;
use measure::words;
use std::borrow::Cow;

/// Seconds since 1970 that a column of moments has at least: September 2001.
const EPOCH_MIN: u64 = 1_000_000_000;

/// Facts that a file states of itself which are shown, unless all are asked for.
const FACTS_SHOWN: usize = 16;

/// Files that stand before what was read of them, at most.
const FILES_FIRST: usize = 3;

/// All of the evidence of a run, in the order of a reader; with `all`, what became of each line.
#[must_use]
pub fn evidence(run: &Run, all: bool) -> Vec<Section> {
    let nothing = Imported::default();
    let evidence = run.imported.as_ref().unwrap_or(&nothing);
    let mut out = vec![key_figures::headline(run)];
    let mut tables = tables(evidence);
    let is_day = !all && evidence.tables.iter().any(|t| t.id == REPORT_SERIES);
    if is_day {
        // Of a day, each report is a line: what it is made of would be thirty screens.
        let before = tables.len();
        tables.retain(|of| !of.title.ends_with(']'));
        let left = words::plural((before - tables.len()) as u64, "table");
        let title = format!("({left} of single reports, and what was read, with -v)");
        tables.push(Section::of("left-out", title, "", Vec::new()));
    }
    let files = [sources(evidence, all).filter(|_| !is_day)];
    let tables = tables.into_iter().map(Some);
    // Many files are no first screen.
    match evidence.sources.len() > FILES_FIRST {
        true => out.extend(tables.chain(files)),
        false => out.extend(files.into_iter().chain(tables)),
    }
    out.push(over_time(run, &evidence.series));
    out.extend(findings(run));
    out.push(diagnostics(&run.diagnostics));
    out.into_iter().flatten().collect()
}

/// What was read.
#[must_use]
pub fn sources(evidence: &Imported, all: bool) -> Option<Section> {
    let fact = |source: &Source| {
        let packing = match source.packing.as_str() {
            "" => String::new(),
            packing => format!(" ({packing})"),
        };
        let most = if all { usize::MAX } else { FACTS_SHOWN };
        let facts = source.facts.iter().take(most);
        let facts: Vec<String> = facts.map(|(name, text)| format!("{name} {text}")).collect();
        let size = format!(
            "{}{packing}, {} bytes, {}",
            source.kind,
            words::count(source.bytes),
            words::plural(source.lines, "line")
        );
        let parts = [size, facts.join(", ")].into_iter();
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        (source.file.clone(), Shown::Text(parts.join("; ")))
    };
    let facts: Vec<_> = evidence.sources.iter().map(fact).collect();
    let mut body = vec![Body::Facts(facts)];
    if all {
        let of_source = |of: &'_ Source| {
            let regions = of.regions.iter();
            regions
                .map(|part| region(&of.file, part))
                .collect::<Vec<_>>()
        };
        let regions = evidence.sources.iter().flat_map(of_source);
        body.push(Body::Facts(regions.collect()));
    }
    (!evidence.sources.is_empty())
        .then(|| Section::of("sources", "Evidence", "What was read.", body))
}

/// What became of lines of a file.
fn region(file: &str, of: &SourceRegion) -> (String, Shown) {
    let lines = match (of.first, of.last) {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first} to {last}"),
    };
    let what = match of.read_as.as_str() {
        "" => format!("passed over: {}", of.passed_over),
        read => format!("read as {read}"),
    };
    (format!("{file}, {lines}"), Shown::Text(what))
}

/// The tables of evidence.
#[must_use]
pub fn tables(evidence: &Imported) -> Vec<Section> {
    let all = evidence.tables.iter().enumerate();
    all.filter_map(|(at, of)| table(at, of)).collect()
}

/// Each series: time where there are stamps, else sequence; and its worst stretch.
fn over_time(run: &Run, series: &[Series]) -> Option<Section> {
    let point = |s: &Series| match s.axis {
        Axis::Time => format!("{:.3} s", s.width),
        Axis::Sequence => words::plural(s.width as u64, "wait"),
    };
    let worst = |s: &Series| s.points.iter().max_by_key(|p| p.max_ns).cloned();
    let columns: [AccountColumn<'_, &Series>; 6] = [
        (label("Process"), &|s| {
            run.rows
                .get(s.row)
                .map(|row| Shown::text(&row.workload))
                .into()
        }),
        (label("Event"), &|s| Shown::text(&s.event)),
        (label("Over"), &|s| {
            Shown::text(match s.axis {
                Axis::Time => "time",
                Axis::Sequence => "sequence (no time stamps)",
            })
        }),
        (figure("Each point", ""), &|s| Shown::Text(point(s))),
        (figure("Longest", "ms"), &|s| {
            Shown::ns(worst(s).map(|p| p.max_ns))
        }),
        (figure("It began at", "s or wait"), &|s| {
            worst(s).map(|p| p.at).into()
        }),
    ];
    let table = AccountTable::of(series, &columns)?;
    let title = "Latency over time or sequence";
    let about = "All points are in the report and in JSON.";
    Some(Section::of(
        "over-time",
        title,
        about,
        vec![Body::Table(table)],
    ))
}

/// Findings: what the figures show, then what is wrong in the document itself.
fn findings(run: &Run) -> impl Iterator<Item = Option<Section>> {
    let titles = [
        ("shown", "What the figures show", false),
        ("document", "About the document", true),
    ];
    titles.into_iter().map(|(id, title, is_own)| {
        let of_it = |f: &&Finding| is_about_document(&f.id) == is_own;
        let all = run
            .findings
            .iter()
            .filter(of_it)
            .map(|f| statement(f, true));
        let all: Vec<Statement> = all.collect();
        (!all.is_empty()).then(|| Section::of(id, title, "", vec![Body::Findings(all)]))
    })
}

/// What is wrong or unusual in the evidence, the worst first.
#[must_use]
pub fn diagnostics(all: &[Diagnostic]) -> Option<Section> {
    let mut worst: Vec<&Diagnostic> = all.iter().collect();
    worst.sort_by_key(|d| std::cmp::Reverse(d.severity));
    let all: Vec<Statement> = worst.into_iter().map(diagnostic).collect();
    let about = "What is wrong or unusual in the evidence.";
    let is_known = !all.is_empty();
    is_known.then(|| {
        Section::of(
            "diagnostics",
            "Diagnostics",
            about,
            vec![Body::Findings(all)],
        )
    })
}

/// `warning: file:line:column: what [id]`.
fn diagnostic(d: &Diagnostic) -> Statement {
    let number = |n: Option<u64>| n.map_or(String::new(), |n| format!(":{n}"));
    let (weight, word) = match d.severity {
        Severity::Note => (Weight::Info, "note"),
        Severity::Warning => (Weight::Caution, "warning"),
        Severity::Error => (Weight::Bad, "error"),
    };
    let more = match d.count {
        1 => String::new(),
        n => format!(" (and {} like it)", words::count(n - 1)),
    };
    let (line, column) = (number(d.line), number(d.column));
    Statement {
        weight,
        word: word.to_owned(),
        claim: format!("{}{line}{column}: {}{more} [{}]", d.file, d.detail, d.id),
        details: Vec::new(),
    }
}

/// A table of evidence as the section of that number; `None` where no line fills a column.
fn table(at: usize, of: &Table) -> Option<Section> {
    let body = match of.id.as_str() {
        agreement::TABLE => paragraphs(of),
        _ => {
            let cells = |at: usize| of.rows.iter().filter_map(move |row| row.get(at));
            let mut kept: Vec<usize> = (0..of.columns.len()).collect();
            kept.retain(|at| cells(*at).any(is_filled));
            let table = Some(grid(of, &kept, Shown::Printed));
            Body::Table(table.filter(|_| !kept.is_empty())?)
        }
    };
    Some(section(at, of, body))
}

/// A table that was computed of runs.
#[must_use]
pub fn computed_table(at: usize, of: &Table) -> Section {
    let all: Vec<usize> = (0..of.columns.len()).collect();
    section(at, of, Body::Table(grid(of, &all, Shown::Number)))
}

fn section(at: usize, of: &Table, body: Body) -> Section {
    let title = match (of.file.as_str(), of.line) {
        ("", _) => of.title.clone(),
        (file, Some(line)) => format!("{} [{file}:{line}]", of.title),
        (file, None) => format!("{} [{file}]", of.title),
    };
    Section::of(format!("table-{at}"), title, "", vec![body])
}

/// What evidences show of the same quantity, a claim each: as a table it is too wide to read.
fn paragraphs(of: &Table) -> Body {
    let statement = |row: &Vec<Cell>| {
        let cell = |key: &str| {
            let at = of.columns.iter().position(|c| c.key == key)?;
            let cell = row.get(at).filter(|cell| is_filled(cell))?;
            Some(shown(&of.columns[at], cell, Shown::Printed).words(""))
        };
        let text = |key: &str| cell(key).unwrap_or_default();
        let off = cell("difference_pct").map_or_else(String::new, |pct| format!(" by {pct} %"));
        let why = cell("explanation").map_or_else(String::new, |why| format!(": {why}"));
        let sides = [("value_a", "evidence_a"), ("value_b", "evidence_b")];
        let side = |(value, evidence)| format!("{} {}", text(value), text(evidence));
        Statement {
            claim: format!("{}: {}{off}{why}", text("quantity"), text("agreement")),
            details: sides.map(side).to_vec(),
            ..Statement::default()
        }
    };
    Body::Findings(of.rows.iter().map(statement).collect())
}

fn is_filled(cell: &Cell) -> bool {
    !matches!(cell, Cell::Blank) && !matches!(cell, Cell::Text(text) if text.is_empty())
}

/// Those columns of a table, the leading ones with words as labels; `real` shows its figures.
fn grid(of: &Table, kept: &[usize], real: fn(f64) -> Shown) -> AccountTable {
    let cells = |at: usize| of.rows.iter().filter_map(move |row| row.get(at));
    let is_text = |at: usize| cells(at).any(|cell| matches!(cell, Cell::Text(_)));
    let labels = kept.iter().take_while(|at| is_text(**at)).count();
    let heading = |(place, at): (usize, &usize)| ColumnHeading {
        name: Cow::Owned(of.columns[*at].heading.clone()),
        role: match place < labels {
            true => ColumnRole::Label,
            false => ColumnRole::Figure,
        },
        ..figure("", "")
    };
    let below = of.columns.iter().position(|c| c.key == "p_is_below");
    let line = |row: &Vec<Cell>| {
        let is_below = below.and_then(|at| row.get(at)) == Some(&Cell::Text("yes".to_owned()));
        let cell = |at: &usize| {
            let column = &of.columns[*at];
            let shown = shown(column, row.get(*at)?, real);
            Some(match is_below && column.key == "p_value" {
                true => Shown::Text(format!("<{}", shown.words(""))),
                false => shown,
            })
        };
        kept.iter().map(|at| cell(at).into()).collect()
    };
    AccountTable {
        columns: kept.iter().enumerate().map(heading).collect(),
        lines: of.rows.iter().map(line).collect(),
    }
}

fn shown(column: &Column, cell: &Cell, real: fn(f64) -> Shown) -> Shown {
    match cell {
        Cell::Blank => Shown::Missing,
        Cell::Text(text) => Shown::text(text),
        Cell::Count(n) if is_moment(column, *n as f64) => Shown::Text(n.to_string()),
        Cell::Real(x) if is_moment(column, *x) => Shown::Text(x.to_string()),
        Cell::Count(n) => Shown::Count(*n),
        Cell::Real(x) => real(*x),
    }
}

/// Seconds since 1970, or a finer unit of them: a moment, of which thousands are not set apart.
fn is_moment(column: &Column, value: f64) -> bool {
    let is_named = [&column.key, &column.heading].iter().any(|name| {
        let name = name.to_ascii_lowercase();
        name == "ts" || name == "at_s" || name.contains("timestamp") || name == "epoch"
    });
    is_named && value > EPOCH_MIN as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;

    fn lines(columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Vec<Vec<String>> {
        let column = |(key, heading): &(&str, &str)| Column {
            key: (*key).to_owned(),
            heading: (*heading).to_owned(),
        };
        let of = Table {
            id: "t".to_owned(),
            columns: columns.iter().map(column).collect(),
            rows,
            ..Table::default()
        };
        words_of(&table(0, &of).expect("a table"))
    }

    #[test]
    fn a_tiny_p_value_is_not_zero() {
        let columns = [("p_value", "p-value"), ("p_is_below", "p is below")];
        let row = |p, below: &str| vec![Cell::Real(p), Cell::Text(below.to_owned())];
        let rows = vec![row(2.2e-16, "yes"), row(3.5e-9, "no"), row(0.04, "no")];
        let lines = lines(&columns, rows);
        let cells: Vec<&str> = lines.iter().map(|line| line[0].as_str()).collect();
        assert_eq!(cells, ["<2.20e-16", "3.50e-9", "0.040"]);
    }

    #[test]
    fn moments_have_no_thousands_apart_and_empty_columns_are_left_out() {
        let columns = [
            ("timestamp", "TIMESTAMP"),
            ("at_s", "TS"),
            ("nothing", "NOTHING"),
            ("wait_count", "WAIT_COUNT"),
            ("wait_ms", "WAIT_MS"),
        ];
        let rows = vec![vec![
            Cell::Count(1_394_586_600),
            Cell::Real(1_394_586_600.5),
            Cell::Blank,
            Cell::Count(1_394_586_600),
            Cell::Real(27.65),
        ]];
        let cells = ["1394586600", "1394586600.5", "1,394,586,600", "27.65"];
        assert_eq!(lines(&columns, rows), [cells]);
    }
}
