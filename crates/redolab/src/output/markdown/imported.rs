//! Imported evidence as Markdown: the files, each table, and what is wrong with them.

use super::super::imported::{LINES_SHOWN, ShownTable, diagnostic, shown};
use super::{list, paragraph, table};
use measure::imported::Imported;
use measure::run::Run;

/// Diagnostics that are listed unless more is asked for.
const DIAGNOSTICS: usize = 12;

/// The tables of `run`; with `verbose` every line of them.
pub(super) fn text(out: &mut String, run: &Run, verbose: bool) {
    let nothing = Imported::default();
    let imported = run.imported.as_ref().unwrap_or(&nothing);
    let source =
        |s: &measure::imported::Source| format!("{}: {}, {} bytes", s.file, s.kind, s.bytes);
    let sources: Vec<String> = imported.sources.iter().map(source).collect();
    list(out, "Files", &sources);
    let limit = if verbose { usize::MAX } else { LINES_SHOWN };
    for each in &imported.tables {
        let ShownTable {
            title,
            headings,
            lines,
            texts,
            more,
        } = shown(each, limit);
        if headings.is_empty() {
            continue;
        }
        paragraph(out, &title);
        table(out, &headings, lines, texts);
        if more > 0 {
            paragraph(out, &format!("({more} more lines with -v)"));
        }
    }
    let limit = if verbose { usize::MAX } else { DIAGNOSTICS };
    let lines = run.diagnostics.iter().take(limit).map(diagnostic);
    let mut lines: Vec<String> = lines.collect();
    if run.diagnostics.len() > limit {
        lines.push(format!("{} more with -v", run.diagnostics.len() - limit));
    }
    list(out, "Diagnostics", &lines);
}
