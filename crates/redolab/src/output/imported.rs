//! What was read from evidence, for people and for spreadsheets.
//!
//! Every text here came from a file of somebody else: it passes [`sanitize`] before a terminal
//! sees it and [`super::csv::safe`] before a spreadsheet does.

use super::cells;
use super::csv::safe;
use super::table::{self, Style};
use analysis::findings::agreement;
use measure::imported::{
    Axis, Cell, Column, Diagnostic, Imported, Series, Severity, SourceRegion, Table,
};
use measure::judgement::{Finding, Weight};
use measure::run::Run;
use measure::words::sanitize;
use std::io::{self, Write};

/// Lines of a table that are shown unless more is asked for.
pub(super) const LINES_SHOWN: usize = 40;
/// What a file says of itself that is shown, by its own names.
const SHOWN: &[&str] = &[
    "DB Name",
    "Database name",
    "Instance",
    "Instance name",
    "Release",
    "Oracle release",
    "RAC",
    "Container Name",
    "Host Name",
    "Host",
    "Node name",
    "Platform",
    "CPUs",
    "Storage",
    "Elapsed",
    "DB Time",
    "fio version",
    "iostat",
    "nodename",
];
/// Diagnostics that are shown unless more is asked for.
const DIAGNOSTICS_SHOWN: usize = 12;
/// Seconds since 1970 that a column of moments has at least: September 2001.
const EPOCH_MIN: u64 = 1_000_000_000;

/// How the ids of findings begin that hold figures of the evidence against each other.
const EVIDENCE: &str = "evidence.";
/// Headings of findings, and whether those are the ones that hold figures against each other.
const HEADINGS: [(&str, bool); 2] = [
    ("Figures that contradict each other", true),
    ("What the figures show", false),
];

/// The tables of an imported run, its series in short, and what is wrong with it.
#[must_use]
pub fn text(run: &Run, style: Style, verbose: bool) -> String {
    let mut out = format!("{}\n", table::caption(run));
    let nothing = Imported::default();
    let imported = run.imported.as_ref().unwrap_or(&nothing);
    for source in &imported.sources {
        let packing = match source.packing.as_str() {
            "" => String::new(),
            packing => format!(" ({})", sanitize::line(packing)),
        };
        out.push_str(&format!(
            "  {}: {}{packing}, {} bytes, {} lines\n",
            sanitize::line(&source.file),
            sanitize::line(&source.kind),
            cells::grouped(source.bytes),
            cells::grouped(source.lines),
        ));
        let facts = source
            .facts
            .iter()
            .filter(|(n, _)| SHOWN.contains(&n.as_str()));
        let facts: Vec<String> = facts
            .map(|(n, v)| format!("{} {}", sanitize::line(n), sanitize::line(v)))
            .collect();
        if !facts.is_empty() {
            out.push_str(&format!("    {}\n", facts.join(", ")));
        }
        if verbose {
            source.regions.iter().for_each(|r| out.push_str(&region(r)));
        }
    }
    let limit = if verbose { usize::MAX } else { LINES_SHOWN };
    for table in &imported.tables {
        let shown = match table.id.as_str() {
            agreement::TABLE => paragraphs(table),
            _ => one(table, limit, style),
        };
        out.push_str(&format!("\n{shown}"));
    }
    if !imported.series.is_empty() {
        out.push_str(&format!("\n{}", over_time(run, &imported.series)));
    }
    for (heading, own) in HEADINGS {
        let of_it = |f: &&Finding| f.id.starts_with(EVIDENCE) == own;
        let shown: Vec<&Finding> = run.findings.iter().filter(of_it).collect();
        if !shown.is_empty() {
            out.push_str(&format!("\n{}", findings(heading, &shown)));
        }
    }
    if !run.diagnostics.is_empty() {
        let limit = if verbose {
            usize::MAX
        } else {
            DIAGNOSTICS_SHOWN
        };
        out.push_str(&format!("\n{}", diagnostics(&run.diagnostics, limit)));
    }
    out
}

/// What became of lines of a file.
fn region(region: &SourceRegion) -> String {
    let lines = match (region.first, region.last) {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first} to {last}"),
    };
    let what = match region.read_as.as_str() {
        "" => format!("passed over: {}", sanitize::line(&region.passed_over)),
        read => format!("read as {}", sanitize::line(read)),
    };
    format!("    {lines}: {what}\n")
}

/// What evidences show of the same quantity, a paragraph each: as a table it is too wide to read.
fn paragraphs(t: &Table) -> String {
    let mut out = format!("{}\n", sanitize::line(&t.title));
    for row in &t.rows {
        let cell = |key: &str| {
            let at = t.columns.iter().position(|c| c.key == key);
            at.and_then(|at| row.get(at))
                .filter(|c| **c != Cell::Blank)
                .map(short)
        };
        let text = |key: &str| cell(key).unwrap_or_default();
        let why = cell("explanation").map_or_else(String::new, |why| format!(": {why}"));
        let off = cell("difference_pct").map_or_else(String::new, |pct| format!(" by {pct} %"));
        out.push_str(&format!(
            "  {}: {}{off}{why}\n",
            text("quantity"),
            text("agreement")
        ));
        for (value, evidence) in [("value_a", "evidence_a"), ("value_b", "evidence_b")] {
            out.push_str(&format!("    {:>16}  {}\n", text(value), text(evidence)));
        }
    }
    out
}

/// A table as it is shown: without columns that no line fills, and with some lines.
pub(super) struct ShownTable {
    /// With the file and line that it is from.
    pub(super) title: String,
    /// Headings.
    pub(super) headings: Vec<String>,
    /// Cells of the lines.
    pub(super) lines: Vec<Vec<String>>,
    /// How many columns at the left are text.
    pub(super) texts: usize,
    /// Lines that are left out.
    pub(super) more: usize,
}

fn one(t: &Table, limit: usize, style: Style) -> String {
    let shown = shown(t, limit);
    let names: Vec<&str> = shown.headings.iter().map(String::as_str).collect();
    let mut out = format!(
        "{}\n{}",
        shown.title,
        table::draw(&names, shown.lines, shown.texts, style)
    );
    if shown.more > 0 {
        out.push_str(&format!(
            "({} more lines with --verbose, or with --format json)\n",
            shown.more
        ));
    }
    out
}

/// What is shown of a table, with at most `limit` lines.
pub(super) fn shown(t: &Table, limit: usize) -> ShownTable {
    let mut title = sanitize::line(&t.title);
    if !t.file.is_empty() {
        title.push_str(&format!("  [{}", sanitize::line(&t.file)));
        if let Some(line) = t.line {
            title.push_str(&format!(":{line}"));
        }
        title.push(']');
    }
    // A column that no line fills says nothing to people; programs get it all the same.
    let filled = |i: &usize| {
        let mut column = t.rows.iter().filter_map(|r| r.get(*i));
        column.any(|c| !matches!(c, Cell::Blank) && !matches!(c, Cell::Text(t) if t.is_empty()))
    };
    let columns: Vec<usize> = (0..t.columns.len()).filter(filled).collect();
    let headings: Vec<String> = columns
        .iter()
        .map(|i| sanitize::line(&t.columns[*i].heading))
        .collect();
    let below = t.columns.iter().position(|c| c.key == "p_is_below");
    let line = |row: &Vec<Cell>| {
        let is_below = below.and_then(|i| row.get(i)) == Some(&Cell::Text("yes".to_owned()));
        let cell = |i: &usize| {
            let (column, cell) = (&t.columns[*i], row.get(*i).unwrap_or(&Cell::Blank));
            match is_moment(column, cell) {
                true => plain(cell),
                false if column.key == "p_value" => match is_below {
                    true => format!("<{}", p_value(cell)),
                    false => p_value(cell),
                },
                false => short(cell),
            }
        };
        columns.iter().map(cell).collect()
    };
    let lines = t.rows.iter().take(limit).map(line).collect();
    let is_text = |i: usize| {
        let column = || t.rows.iter().filter_map(|r| r.get(i));
        column().any(|c| matches!(c, Cell::Text(_)))
    };
    let texts = columns.iter().take_while(|i| is_text(**i)).count();
    ShownTable {
        title,
        headings,
        lines,
        texts,
        more: t.rows.len().saturating_sub(limit),
    }
}

/// Seconds since 1970, or a finer unit of them: a moment, of which thousands are not set apart.
fn is_moment(column: &Column, cell: &Cell) -> bool {
    let is_named = [&column.key, &column.heading].iter().any(|name| {
        let name = name.to_ascii_lowercase();
        name == "ts" || name == "at_s" || name.contains("timestamp") || name == "epoch"
    });
    is_named
        && match cell {
            Cell::Count(n) => *n > EPOCH_MIN,
            Cell::Real(x) => *x > EPOCH_MIN as f64,
            Cell::Blank | Cell::Text(_) => false,
        }
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Count(n) => n.to_string(),
        Cell::Real(x) => x.to_string(),
        Cell::Blank | Cell::Text(_) => short(cell),
    }
}

/// A p-value, which is of interest however small it is.
fn p_value(cell: &Cell) -> String {
    match cell {
        Cell::Real(x) if x.abs() < 1e-6 && *x != 0.0 => format!("{x:e}"),
        cell => short(cell),
    }
}

fn short(cell: &Cell) -> String {
    match cell {
        Cell::Blank => "-".to_owned(),
        Cell::Count(n) => cells::grouped(*n),
        // What is not zero is not shown as zero.
        Cell::Real(x) if x.abs() < 0.1 && *x != 0.0 => {
            let digits = (1.0 - x.abs().log10().floor()).clamp(3.0, 6.0) as usize;
            format!("{x:.digits$}")
        }
        Cell::Real(x) if x.abs() < 1000.0 => format!("{x:.2}"),
        Cell::Real(x) => cells::real(*x),
        Cell::Text(text) => sanitize::line(text),
    }
}

/// Which axis each series has: time where there are stamps, else sequence; and its worst stretch.
fn over_time(run: &Run, series: &[Series]) -> String {
    let mut out = String::from("Latency over time or sequence (all points with --format json)\n");
    for s in series.iter().take(LINES_SHOWN) {
        let name = run.rows.get(s.row).map_or("", |r| r.workload.as_str());
        let axis = match s.axis {
            Axis::Time if s.width < 1.0 => {
                format!("over time, {:.0} ms a point", s.width * 1000.0)
            }
            Axis::Time => format!("over time, {:.1} s a point", s.width),
            Axis::Sequence if s.width <= 1.0 => {
                "over sequence (no time stamps), every wait a point".to_owned()
            }
            Axis::Sequence => format!("over sequence (no time stamps), {} waits a point", s.width),
        };
        let worst = s.points.iter().max_by_key(|p| p.max_ns);
        let worst = worst.map_or(String::new(), |p| {
            let at = match s.axis {
                Axis::Time => format!("{:.2} s", p.at),
                Axis::Sequence => format!("wait {}", cells::grouped(p.at as u64)),
            };
            format!("; longest {} ms at {at}", cells::ns_as_ms(p.max_ns as f64))
        });
        out.push_str(&format!(
            "  {} {}: {axis}{worst}\n",
            sanitize::line(name),
            sanitize::line(&s.event)
        ));
    }
    out
}

/// Findings under a heading, one paragraph each.
fn findings(heading: &str, findings: &[&Finding]) -> String {
    let mut out = format!("{heading}\n");
    for f in findings {
        out.push_str(&format!(
            "  {}: {} [{}]\n",
            weight(f),
            sanitize::line(&f.claim),
            sanitize::line(&f.id)
        ));
        if !f.advice.is_empty() {
            out.push_str(&format!("    {}\n", sanitize::line(&f.advice)));
        }
    }
    out
}

/// One line a diagnostic: `file:line:column: severity: what [id]`.
#[must_use]
pub fn diagnostics(all: &[Diagnostic], limit: usize) -> String {
    let mut worst: Vec<&Diagnostic> = all.iter().collect();
    worst.sort_by_key(|d| std::cmp::Reverse(d.severity));
    let mut out = String::from("Diagnostics\n");
    for d in worst.iter().take(limit) {
        out.push_str(&format!("  {}\n", diagnostic(d)));
    }
    if worst.len() > limit {
        out.push_str(&format!(
            "  ({} more with --verbose)\n",
            worst.len() - limit
        ));
    }
    out
}

/// One diagnostic on one line.
#[must_use]
pub fn diagnostic(d: &Diagnostic) -> String {
    let number = |n: Option<u64>| n.map_or(String::new(), |n| format!(":{n}"));
    let severity = match d.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let more = match d.count {
        1 => String::new(),
        n => format!(" (and {} like it)", n - 1),
    };
    format!(
        "{}{}{}: {severity}: {}{more} [{}]",
        sanitize::line(&d.file),
        number(d.line),
        number(d.column),
        sanitize::line(&d.detail),
        sanitize::line(&d.id),
    )
}

/// The tables as CSV, one below the other: a line with the table's name, its headings, its lines.
/// The last is of the findings, a line for each number that they are made of.
///
/// # Errors
/// An error of `out`.
pub fn tables_csv(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(out);
    let tables = run.imported.iter().flat_map(|i| &i.tables);
    for table in tables {
        let keys = table.columns.iter().map(|c| safe(&c.key));
        let head = ["table".to_owned(), "file".to_owned()];
        writer.write_record(head.into_iter().chain(keys))?;
        for row in &table.rows {
            let lead = [safe(&table.id), safe(&table.file)];
            writer.write_record(lead.into_iter().chain(row.iter().map(exact)))?;
        }
    }
    findings_csv(run, &mut writer)?;
    writer.flush()
}

fn findings_csv(run: &Run, writer: &mut csv::Writer<&mut dyn Write>) -> io::Result<()> {
    if run.findings.is_empty() {
        return Ok(());
    }
    writer.write_record(["table", "finding", "weight", "claim", "number", "value"])?;
    for f in &run.findings {
        let lead = ["findings", &f.id, weight(f), &f.claim].map(safe);
        let mut line = |name: &str, value: String| {
            let more = [safe(name), value];
            writer.write_record(lead.iter().chain(&more))
        };
        if f.numbers.is_empty() {
            line("", String::new())?;
        }
        for (name, value) in &f.numbers {
            line(name, value.to_string())?;
        }
    }
    Ok(())
}

/// What a finding is called: one about the evidence says how wrong that is, another how it weighs.
fn weight(finding: &Finding) -> &'static str {
    match (finding.weight, finding.id.starts_with(EVIDENCE)) {
        (Weight::Bad, true) => "wrong",
        (Weight::Caution, true) => "doubtful",
        (Weight::Bad, false) => "bad",
        (Weight::Caution, false) => "caution",
        (Weight::Good | Weight::Info, _) => "note",
    }
}

fn exact(cell: &Cell) -> String {
    match cell {
        Cell::Blank => String::new(),
        Cell::Count(n) => n.to_string(),
        Cell::Real(x) => x.to_string(),
        Cell::Text(text) => safe(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(id: &str, columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Table {
        let column = |(key, heading): &(&str, &str)| Column {
            key: (*key).to_owned(),
            heading: (*heading).to_owned(),
        };
        Table {
            id: id.to_owned(),
            columns: columns.iter().map(column).collect(),
            rows,
            ..Table::default()
        }
    }

    #[test]
    fn a_tiny_p_value_is_printed_as_its_source_has_it() {
        let columns = [("p_value", "p-value"), ("p_is_below", "p is below")];
        let row = |p, below: &str| vec![Cell::Real(p), Cell::Text(below.to_owned())];
        let rows = vec![row(2.2e-16, "yes"), row(3.5e-9, "no"), row(0.04, "no")];
        let text = one(&table("t", &columns, rows), 9, Style::detect(false, None));
        let cells: Vec<&str> = text.split_whitespace().collect();
        for cell in ["<2.2e-16", "3.5e-9", "0.040"] {
            assert!(cells.contains(&cell), "{cell}: {text}");
        }
        assert!(!text.contains("0.000000"), "{text}");
    }

    #[test]
    fn moments_have_no_thousands_apart() {
        let columns = [
            ("timestamp", "TIMESTAMP"),
            ("at_s", "TS"),
            ("wait_count", "WAIT_COUNT"),
        ];
        let rows = vec![vec![
            Cell::Count(1_394_586_600),
            Cell::Real(1_394_586_600.5),
            Cell::Count(1_394_586_600),
        ]];
        let text = one(&table("t", &columns, rows), 9, Style::detect(false, None));
        for cell in ["1394586600 ", "1394586600.5", "1,394,586,600"] {
            assert!(text.contains(cell), "{cell}: {text}");
        }
    }
}
