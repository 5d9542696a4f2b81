//! What a run read from evidence shows: sources, tables, latency over time or sequence,
//! diagnostics. Every text of it came from a file of somebody else and passes [`esc`].

use super::chart::{Axis, Chart, Look, Series};
use super::escape::esc;
use super::figures::figure;
use super::scale::Kind;
use super::{origin_tag, section, ticks};
use crate::format::{count, digits};
use measure::imported::{self, Cell, Diagnostic, Imported, Severity};
use measure::run::Run;

/// Most lines of a table.
const LINES_MAX: usize = 400;
/// Most charts.
const CHARTS_MAX: usize = 24;
const SIZE: (f64, f64) = (1060.0, 176.0);

/// Everything that stands in the place of the sections of a measured run.
pub(super) fn sections(run: &Run, imported: &Imported) -> Vec<String> {
    let mut out = vec![sources(imported)];
    out.extend(imported.tables.iter().map(|t| table(run, t)));
    out.push(over_time(run, &imported.series));
    out.push(diagnostics(&run.diagnostics));
    out
}

fn grid(head: &[String], rows: &[Vec<String>]) -> String {
    let head: String = head
        .iter()
        .map(|h| format!("<th class=\"t\">{h}</th>"))
        .collect();
    let body: String = rows
        .iter()
        .map(|row| {
            let cells: String = row.iter().map(|c| format!("<td>{c}</td>")).collect();
            format!("<tr>{cells}</tr>")
        })
        .collect();
    format!(
        "<div class=\"scroll wide-table\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

fn sources(imported: &Imported) -> String {
    let head = ["File", "Kind", "Packing", "Bytes", "Lines", "It says"].map(str::to_owned);
    let rows: Vec<Vec<String>> = imported
        .sources
        .iter()
        .take(LINES_MAX)
        .map(|s| {
            let facts = s.facts.iter().map(|(k, v)| format!("{k}: {v}"));
            let facts: Vec<String> = facts.collect();
            vec![
                esc(&s.file),
                esc(&s.kind),
                esc(&s.packing),
                count(s.bytes),
                count(s.lines),
                esc(&facts.join("; ")),
            ]
        })
        .collect();
    section("Evidence", "What was read.", &grid(&head, &rows))
}

fn table(run: &Run, table: &imported::Table) -> String {
    let head: Vec<String> = table.columns.iter().map(|c| esc(&c.heading)).collect();
    let cell = |cell: &Cell| match cell {
        Cell::Blank => "–".to_owned(),
        Cell::Count(n) => count(*n),
        Cell::Real(x) => digits(*x),
        Cell::Text(text) => esc(text),
    };
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .take(LINES_MAX)
        .map(|row| row.iter().map(cell).collect())
        .collect();
    let mut how = esc(&table.file);
    if table.rows.len() > LINES_MAX {
        let more = table.rows.len() - LINES_MAX;
        how.push_str(&format!(
            " The first {LINES_MAX} lines; {} more.",
            count(more as u64)
        ));
    }
    let heading = format!("{} {}", esc(&table.title), origin_tag(run));
    section(&heading, &how, &grid(&head, &rows))
}

fn over_time(run: &Run, series: &[imported::Series]) -> String {
    let mut out = String::new();
    for (i, s) in series.iter().take(CHARTS_MAX).enumerate() {
        let name = run.rows.get(s.row).map_or("", |r| r.workload.as_str());
        let (label, axis) = match s.axis {
            imported::Axis::Time => ("seconds since the first", "over time"),
            imported::Axis::Sequence => (
                "number of the wait: there are no time stamps",
                "over sequence",
            ),
        };
        let line = |name: &str, colour, y: fn(&imported::Point) -> f64| Series {
            name: name.to_owned(),
            points: s.points.iter().map(|p| (p.at, y(p))).collect(),
            look: Look::Plain(colour),
        };
        let drawing = Chart {
            id: &format!("im{i}"),
            title: "Latency of evidence",
            desc: "Longest and mean wait of each stretch.",
            size: SIZE,
            x: Axis {
                kind: Kind::Linear,
                label: label.to_owned(),
                tick: ticks::count,
            },
            y: Axis {
                kind: Kind::Log,
                label: "latency".to_owned(),
                tick: ticks::latency,
            },
            series: vec![
                line("longest", 1, |p| p.max_ns as f64),
                line("mean", 0, |p| p.mean_ns),
            ],
            marks: Vec::new(),
        }
        .svg();
        let caption = format!("{name}: {} {axis}", s.event);
        out.push_str(&figure(
            " class=\"full\"",
            &caption,
            &origin_tag(run),
            &drawing,
        ));
    }
    section(
        "Latency over time or sequence",
        "Over time where the evidence has time stamps, else over the number of the wait.",
        &out,
    )
}

fn diagnostics(all: &[Diagnostic]) -> String {
    let severity = |s: Severity| match s {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let head = ["Severity", "File", "Line", "Column", "What", "Times"].map(str::to_owned);
    let rows: Vec<Vec<String>> = all
        .iter()
        .take(LINES_MAX)
        .map(|d| {
            vec![
                severity(d.severity).to_owned(),
                esc(&d.file),
                number(d.line),
                number(d.column),
                esc(&d.detail),
                count(d.count),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    section(
        "Diagnostics",
        "What is wrong or unusual in the evidence.",
        &grid(&head, &rows),
    )
}
