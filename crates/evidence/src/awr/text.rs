//! Reports as text: columns by the rule of dashes under their headings; and passages of reports as
//! pages quote them, where rules, columns and blanks are lost.

use super::cell::GridCell;
use super::delimited::{DelimitedStep, DelimitedTable};
use super::folded::{FoldedLine, FoldedTable};
use super::give::ReportFigures;
use super::headless::HeadlessRows;
use super::loose::{self, LoosePassage};
use super::loose_headings::PassagePlace;
use super::pages::ReportPages;
use super::ruled::{RuledGrid, TITLE, slice, spans};
use super::{Grid, rows, squeeze};
use crate::Notes;
use crate::notes::quote;
use crate::origin::SourceLine;
use crate::quick::QuickWord;
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;
use std::collections::VecDeque;

/// The title of a section of Statspack to 9.2.
const OF_DB: QuickWord = QuickWord::exactly(" for DB:");
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
    grid: Option<RuledGrid>,
    profile: Option<Grid>,
    /// Lines that can still hold the figures of Host CPU.
    cpu_lines: u8,
    loose: Option<LoosePassage>,
    delimited: DelimitedTable,
    /// A table of events was read: rows without headings may follow it.
    has_events: bool,
    headless: HeadlessRows,
    /// Words of the line before, as a page labels what follows: `SSD`.
    label: String,
    fold: FoldedTable,
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
            self.fold.close_if(self.grid.is_none());
            match self.fold.line(line, number) {
                FoldedLine::Held => {}
                FoldedLine::Alone(held) => {
                    if let Some((held, at)) = held {
                        self.report(&held, at, give, sheets, notes);
                    }
                    self.report(line, number, give, sheets, notes);
                }
                FoldedLine::Joined(row, number) => {
                    self.report(&row, number, give, sheets, notes);
                    if let Some(open) = &mut self.grid {
                        self.fold.place(&mut open.grid);
                    }
                }
            }
        }
    }

    /// Takes a rule below the rule that began a table: its lines are folded.
    fn unfold(&mut self, rule: &str, number: u64) {
        let Some((headings, spans)) = self.fold.open(rule) else {
            return;
        };
        self.recent = headings;
        if let Some(grid) = self.headed(&spans, number) {
            self.grid = Some(RuledGrid::new(grid, spans));
        }
        self.recent.clear();
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
        if rule.is_some() && self.fold.is_below_rule(number) {
            return self.unfold(line, number);
        }
        if let Some(open) = &mut self.grid {
            // A rule may also be cut until it is too short to be one.
            let drawn = trimmed.chars().all(|c| matches!(c, '-' | ' '));
            let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
            let ends = drawn || is_fence || rule.is_some();
            if !ends && !open.ends_before(line) {
                if open.take(SourceLine::new(number, line)) {
                    return;
                }
                // Without an empty line between them the next section may begin here.
                if !self.sections(line, trimmed, number, give, sheets, notes) {
                    self.remember(line, trimmed);
                    rows::note(number, trimmed, notes);
                }
                return;
            }
            let is_ruled = rule.as_ref().is_some_and(|r| r.len() > 1);
            match open.headings().filter(|_| is_ruled) {
                Some(names) => {
                    self.grid = None;
                    self.recent.push_back(names);
                }
                None => self.close(give, sheets, notes),
            }
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
                let has = |name: &str| grid.column(|h| h == name).is_some();
                self.has_events |= has("event") && has("waits");
                self.grid = Some(RuledGrid::new(grid, spans));
                self.fold.ruled(line, number, &self.recent);
            }
            self.recent.clear();
            return;
        }
        self.sections(line, trimmed, number, give, sheets, notes);
        self.remember(line, trimmed);
    }

    /// Ends the file.
    pub fn end(&mut self, give: &mut ReportFigures, sheets: &mut Sheets, notes: &mut Notes) {
        if let Some((line, number)) = self.fold.take_held() {
            self.report(&line, number, give, sheets, notes);
        }
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
        if let Some(mut open) = self.grid.take() {
            rows::mark_cut(&mut open.grid, &open.spans, notes);
            give.grid(&open.grid, sheets, notes);
        }
        if let Some(grid) = self.profile.take() {
            give.grid(&grid, sheets, notes);
        }
        if let Some(loose) = self.loose.take() {
            loose.give(give, sheets, notes);
        }
        if let Some(grid) = self.headless.end() {
            give.grid(&grid, sheets, notes);
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
        // A heading of Markdown.
        let marked = trimmed.trim_start_matches('#');
        if marked.len() < trimmed.len() && marked.starts_with(' ') {
            marked.trim().clone_into(&mut self.title);
        }
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
            ..Grid::default()
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
        let is_profile = self.profile.is_none() && heads_profile(trimmed);
        if trimmed.starts_with("Load Profile") || is_profile {
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
        let place = PassagePlace {
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
            || self.has_events && self.headless.line(SourceLine::new(number, line), notes)
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

/// Whether a line is the heading of a load profile, which pages quote without its title.
pub fn heads_profile(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Per Second") && line.contains("Per Transaction")
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
