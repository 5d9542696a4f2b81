//! Reports as text: columns by the rule of dashes under their headings; and passages of reports as
//! pages quote them, where rules, columns and blanks are lost.

use super::cell::GridCell;
use super::delimited::{DelimitedStep, DelimitedTable};
use super::give::ReportFigures;
use super::loose::{self, LoosePassage};
use super::pages::ReportPages;
use super::{Grid, squeeze};
use crate::Notes;
use crate::notes::quote;
use crate::origin::SourceLine;
use crate::quick::QuickWord;
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;
use std::collections::VecDeque;

/// The title of a section.
const TITLE: QuickWord = QuickWord::exactly("DB/Inst:");
/// The title of a section of Statspack to 9.2.
const OF_DB: QuickWord = QuickWord::exactly(" for DB:");
/// A part of the title of several columns.
const RULE: QuickWord = QuickWord::exactly("-----");
/// Lines above a rule that can be its headings.
const HEADING_LINES: usize = 4;

/// Lines below the title `Host CPU` among which its figures are: headings, and a rule or two.
const CPU_LINES: u8 = 8;

/// Reads a report line by line.
#[derive(Debug, Default)]
pub struct Text {
    pages: ReportPages,
    recent: VecDeque<String>,
    title: String,
    grid: Option<(Grid, Vec<(usize, usize)>)>,
    profile: Option<Grid>,
    /// Lines that can still hold the figures of Host CPU.
    cpu_lines: u8,
    loose: Option<LoosePassage>,
    delimited: DelimitedTable,
    /// Words of the line before, as a page labels what follows: `SSD`.
    label: String,
}

impl Text {
    /// Takes a line.
    pub fn line(
        &mut self,
        line: &str,
        number: u64,
        give: &mut ReportFigures,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        for (line, number) in self.pages.line(line, number).into_iter().flatten() {
            self.report(line, number, give, sheets, notes);
        }
    }

    fn report(
        &mut self,
        line: &str,
        number: u64,
        give: &mut ReportFigures,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        let title = if self.title.is_empty() {
            &self.label
        } else {
            &self.title
        };
        let DelimitedStep { ended, is_taken } = self.delimited.line(line, number, title);
        if let Some(grid) = ended {
            give.grid(&grid, sheets, notes);
        }
        if is_taken {
            self.close(give, sheets, notes);
            return;
        }
        let trimmed = line.trim();
        let rule = spans(line);
        if let Some((grid, spans)) = &mut self.grid {
            // A rule may also be cut until it is too short to be one.
            let drawn = trimmed.chars().all(|c| matches!(c, '-' | ' '));
            let goes_on = !drawn && rule.is_none() && !begins_page(line, grid, spans);
            if goes_on {
                // Lists of statements are most of a report, and none of them is read.
                let row = match of_statements(grid) {
                    true => Vec::new(),
                    false => slice(SourceLine::new(number, line), spans),
                };
                join_or_push(grid, number, row);
                return;
            }
            self.close(give, sheets, notes);
        }
        // The load profile names its columns itself; until 10.2 a rule stands under them.
        if rule.is_some() && self.profile.as_ref().is_some_and(|p| p.rows.is_empty()) {
            return;
        }
        if let Some(spans) = rule.filter(|s| s.len() > 1) {
            if self.is_collapsed(&spans) {
                self.say_collapsed(number, notes);
                self.recent.clear();
                return;
            }
            if let Some(grid) = self.headed(&spans, number) {
                self.loose = None;
                self.grid = Some((grid, spans));
            }
            self.recent.clear();
            return;
        }
        self.sections(line, trimmed, number, give, sheets, notes);
        self.remember(line, trimmed);
    }

    /// Ends the file.
    pub fn end(&mut self, give: &mut ReportFigures, sheets: &mut Sheets, notes: &mut Notes) {
        if let Some(grid) = self.delimited.end() {
            give.grid(&grid, sheets, notes);
        }
        self.close(give, sheets, notes);
    }

    /// What a page calls the table that follows.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    fn close(&mut self, give: &mut ReportFigures, sheets: &mut Sheets, notes: &mut Notes) {
        if let Some((grid, _)) = self.grid.take() {
            give.grid(&grid, sheets, notes);
        }
        if let Some(grid) = self.profile.take() {
            give.grid(&grid, sheets, notes);
        }
        if let Some(loose) = self.loose.take() {
            loose.give(give, sheets, notes);
        }
    }

    /// Whether the headings above a rule lost their blanks and are not above their columns.
    fn is_collapsed(&self, spans: &[(usize, usize)]) -> bool {
        let begins = spans.last().map_or(0, |(start, _)| *start);
        let last = self.recent.back().map(|l| l.trim());
        last.is_some_and(|l| {
            let names = l.split(' ').filter(|w| !w.is_empty()).count();
            names > 1 && !l.contains("  ") && l.chars().count() <= begins
        })
    }

    /// Reports a table whose columns cannot be distinguished, unless it is read word by word.
    fn say_collapsed(&self, number: u64, notes: &mut Notes) {
        let first = self.recent.back().map(|l| l.trim().to_owned());
        let known = [
            "Event ",
            "Statistic ",
            "Function ",
            "Filetype ",
            "Parameter ",
        ];
        let Some(heading) = first.filter(|h| known.iter().any(|k| h.starts_with(k))) else {
            return;
        };
        if self.loose.is_none() {
            let at = Some(number);
            notes.add(Severity::Warning, "awr.blanks_lost", at, None, || {
                let heading = quote(heading.as_bytes());
                format!("below {heading} the blanks between the columns are lost: not read")
            });
        }
    }

    fn remember(&mut self, line: &str, trimmed: &str) {
        // What is underlined is a title and no heading, however far it reaches over the columns.
        let underline = trimmed.len() > 2 && trimmed.bytes().all(|b| b == b'~');
        // A page may break between the lines of a heading.
        if line.starts_with('\u{c}') && trimmed.is_empty() {
            return;
        }
        if trimmed.is_empty() || underline {
            self.recent.clear();
            return;
        }
        // Statspack to 9.2 names the database in its titles: `Wait Events for DB: …  Instance: …`.
        let is_of_db = OF_DB.is_in(trimmed.as_bytes());
        let of_db = is_of_db.then(|| trimmed.find(" for DB:")).flatten();
        if TITLE.is_in(trimmed.as_bytes()) || trimmed.starts_with("Top ") || of_db.is_some() {
            let title = trimmed.split("  ").next().unwrap_or(trimmed);
            let title = title.get(..of_db.unwrap_or(title.len())).unwrap_or(title);
            title.clone_into(&mut self.title);
        }
        if trimmed.len() <= 24 && !trimmed.contains(char::is_numeric) {
            trimmed.clone_into(&mut self.label);
        }
        let is_full = self.recent.len() == HEADING_LINES;
        let mut kept = match is_full {
            true => self.recent.pop_front().unwrap_or_default(),
            false => String::new(),
        };
        line.clone_into(&mut kept);
        self.recent.push_back(kept);
    }

    /// The grid that a rule begins, if the lines above are headings of one that is read.
    fn headed(&self, spans: &[(usize, usize)], number: u64) -> Option<Grid> {
        let above = self.recent.iter().filter(|l| {
            let l = l.trim_start();
            !l.starts_with("->") && !TITLE.is_in(l.as_bytes())
        });
        let above = above.map(|l| slice(SourceLine::new(0, l), spans));
        let above: Vec<Vec<GridCell>> = above.collect();
        let mut headings = Vec::with_capacity(spans.len());
        for i in 0..spans.len() {
            let parts = above.iter().filter_map(|l| l.get(i));
            let mut parts = parts.map(|c| &**c);
            let parts: Vec<&str> = match i {
                // Titles and underlines stand above the first column.
                0 => parts.next_back().into_iter().collect(),
                _ => parts.collect(),
            };
            let words = parts.iter().flat_map(|p| p.split_whitespace());
            let drawn = |w: &&str| w.chars().all(|c| matches!(c, '~' | '-'));
            let words: Vec<&str> = words.filter(|w| !drawn(w)).collect();
            // A bound of a histogram stands below the title of all of them.
            let bound = words.iter().position(|w| w.starts_with(['<', '>']));
            let words = &words[bound.unwrap_or(0)..];
            // `< 1m` is one bound.
            headings.push(words.join(if bound.is_some() { "" } else { " " }));
        }
        headings.iter().any(|h| !h.is_empty()).then(|| Grid {
            title: self.title.clone(),
            line: number.saturating_sub(1).max(1),
            headings,
            rows: Vec::new(),
        })
    }

    fn sections(
        &mut self,
        line: &str,
        trimmed: &str,
        number: u64,
        give: &mut ReportFigures,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) -> bool {
        if trimmed.is_empty() {
            return false;
        }
        if snapshot(SourceLine::new(number, line), give) {
            return true;
        }
        if trimmed.starts_with("Load Profile") {
            self.close(give, sheets, notes);
            self.profile = Some(Grid {
                line: number,
                headings: ["", "Per Second", "Per Transaction"]
                    .map(str::to_owned)
                    .to_vec(),
                ..Grid::default()
            });
            return true;
        }
        if trimmed.starts_with("Host CPU") {
            self.close(give, sheets, notes);
            self.cpu_lines = CPU_LINES;
            return true;
        }
        let above: Vec<&str> = self.recent.iter().map(String::as_str).collect();
        let place = loose::PassagePlace {
            label: &self.label,
            title: &self.title,
            above: &above,
        };
        let opened = LoosePassage::open(trimmed, &place, number);
        if opened.is_some() {
            self.close(give, sheets, notes);
            self.loose = opened;
            return true;
        }
        if let Some(loose) = &mut self.loose {
            match loose.line(SourceLine::new(number, line), trimmed) {
                loose::PassageLine::Yes => return true,
                loose::PassageLine::Ended => self.close(give, sheets, notes),
            }
        }
        self.profile_line(SourceLine::new(number, line), give, sheets, notes)
            || self.cpu_line(line, number, give, sheets)
    }

    fn profile_line(
        &mut self,
        line: SourceLine<'_>,
        give: &mut ReportFigures,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) -> bool {
        let trimmed = line.text.trim();
        let Some(grid) = &mut self.profile else {
            return false;
        };
        let heads = ["persecond", "pertransaction", "perexec", "percall"];
        let squeezed = squeeze(trimmed);
        let heading = squeezed.starts_with("~~") || heads.iter().any(|h| squeezed.starts_with(h));
        match trimmed.rsplit_once(':') {
            Some((name, rest))
                if !name.contains([':', '%'])
                    && rest.split_whitespace().all(|w| printed::plain(w).is_some()) =>
            {
                let parts = std::iter::once(name).chain(rest.split_whitespace());
                let row = parts.map(|part| GridCell::of(line, part));
                grid.push(line.number, row.collect());
                true
            }
            _ if heading => true,
            _ => {
                self.close(give, sheets, notes);
                false
            }
        }
    }

    fn cpu_line(
        &mut self,
        line: &str,
        number: u64,
        give: &mut ReportFigures,
        sheets: &mut Sheets,
    ) -> bool {
        if self.cpu_lines == 0 {
            return false;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = words.len() >= 6 && words.iter().all(|w| printed::plain(w).is_some());
        if numbers {
            self.cpu_lines = 0;
            let source = SourceLine::new(number, line);
            let words: Vec<GridCell> = words.iter().map(|w| GridCell::of(source, w)).collect();
            give.host_cpu_line(number, &words, sheets);
            return true;
        }
        let another =
            line.len() >= 100 || TITLE.is_in(line.as_bytes()) || line.contains("ordered by");
        self.cpu_lines = match another {
            true => 0,
            false => self.cpu_lines.saturating_sub(1),
        };
        false
    }
}

/// Whether a table lists SQL statements.
fn of_statements(grid: &Grid) -> bool {
    grid.headings.iter().any(|h| h == "SQL Id")
}

/// Whether a line begins another page or section, so that the rows above it were the last: a form
/// feed, the title with the database's name, a remark (`-> …`), the title of several columns
/// (`----- % of Waits -----`), or the headings once more.
fn begins_page(line: &str, grid: &Grid, spans: &[(usize, usize)]) -> bool {
    let trimmed = line.trim_start();
    let title = TITLE.is_in(line.as_bytes()) || RULE.is_in(line.as_bytes());
    let is_page = line.starts_with('\u{c}') && !trimmed.is_empty();
    if is_page || trimmed.starts_with("->") || title {
        return true;
    }
    let has_it = |h: &&String| {
        h.split_whitespace()
            .next()
            .is_some_and(|w| line.contains(w))
    };
    let again = grid.headings.first().filter(has_it);
    again.is_some_and(|h| {
        let cells = slice(SourceLine::new(0, line), spans);
        cells.first().is_some_and(|c| c.text == *h)
    })
}

/// `Elapsed: 60.25 (mins)` and the lines around it.
fn snapshot(line: SourceLine<'_>, give: &mut ReportFigures) -> bool {
    let trimmed = line.text.trim();
    for name in ["Elapsed", "DB Time", "DB time", "Begin Snap", "End Snap"] {
        let Some(rest) = trimmed.strip_prefix(name) else {
            continue;
        };
        if let Some(rest) = rest.trim_start().strip_prefix(':') {
            let rest = rest.trim();
            if name.ends_with("Snap") || rest.contains('(') {
                give.snapshot_line(name, rest, line.span(rest));
                return true;
            }
        }
    }
    false
}

/// The columns of a rule of dashes; `None` of any other line. Positions count characters.
/// Statspack draws its first column with tildes.
pub fn spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    let mut start = None;
    // Most lines are none: their first character says so.
    if !line.trim_start().starts_with(['-', '~']) {
        return None;
    }
    for (i, c) in line.trim_end().chars().enumerate() {
        let c = if c == '~' && spans.is_empty() { '-' } else { c };
        match (c, start) {
            ('-', None) => start = Some(i),
            (' ', Some(s)) => {
                spans.push((s, i));
                start = None;
            }
            ('-', Some(_)) | (' ' | '\t', None) => {}
            _ => return None,
        }
    }
    if let Some(s) = start {
        spans.push((s, line.trim_end().chars().count()));
    }
    let wide = spans.iter().any(|(s, e)| e - s >= 3);
    let wide = wide && line.contains('-');
    (wide && spans.len() <= 64).then_some(spans)
}

/// Cuts a line into columns: each run of words goes to the column that it overlaps or ends next
/// to, so that numbers wider than their column stay whole.
pub fn slice(source: SourceLine<'_>, spans: &[(usize, usize)]) -> Vec<GridCell> {
    let line = source.text;
    let mut cells = vec![GridCell::default(); spans.len()];
    // A name that is longer than its column stands alone, and has no gap.
    let trimmed = line.trim();
    let is_name = !trimmed.contains("  ") && !trimmed.contains(|c: char| c.is_ascii_digit());
    let first = spans.first().map_or(0, |(_, end)| *end);
    let begins = line.len() - line.trim_start().len() < first;
    if is_name && begins && trimmed.chars().count() > first {
        cells[0] = GridCell::of(source, trimmed);
        return cells;
    }
    for (start, end, word) in words(line) {
        let overlap = |(s, e): &(usize, usize)| end.min(*e).saturating_sub(start.max(*s));
        let best = (0..spans.len()).max_by_key(|i| {
            let (s, e) = spans[*i];
            let gap = start.saturating_sub(e) + s.saturating_sub(end);
            (overlap(&spans[*i]), usize::MAX - gap, usize::MAX - *i)
        });
        if let Some(cell) = best.and_then(|i| cells.get_mut(i)) {
            cell.join(word, source.span(word));
        }
    }
    cells
}

fn words(line: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    line.split(' ').filter_map(move |word| {
        let start = at;
        let width = word.chars().count();
        at += width + 1;
        let word = word.trim();
        (!word.is_empty()).then_some((start, start + width, word))
    })
}

/// A row; a name that took a line of its own joins the values below it.
fn join_or_push(grid: &mut Grid, number: u64, mut row: Vec<GridCell>) {
    let alone = |row: &[GridCell]| row.iter().skip(1).all(|c| c.is_empty());
    if let Some((_, last)) = grid.rows.last() {
        let nameless = row.first().is_some_and(|c| c.is_empty()) && !alone(&row);
        if nameless && alone(last) {
            let name = last.first().cloned().unwrap_or_default();
            grid.rows.pop();
            row[0] = name;
        }
    }
    grid.push(number, row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_by_the_rule() {
        let rule = "----------------- ------- ------";
        let spans = spans(rule).expect("a rule");
        assert_eq!(spans, [(0, 17), (18, 25), (26, 32)]);
        let slice = |line: &str| {
            let cells = slice(SourceLine::new(1, line), &spans).into_iter();
            cells.map(|c| c.text).collect::<Vec<String>>()
        };
        let cells = slice("log file sync      72    1.1");
        assert_eq!(cells, ["log file sync", "72", "1.1"]);
        let wide = slice("log file sync 1,234,567,890    1.1");
        assert_eq!(wide[0], "log file sync");
        assert_eq!(slice("DB CPU                      0.3")[1], "");
        assert_eq!(super::spans("- a list"), None);
        assert_eq!(super::spans("a--b"), None);
    }
}
