//! Tables of published studies, as pages hold them: sweeps of jobs with redo and commit figures
//! (study 003, tabs or commas), workers' shares over 1, 10 and 20 ms (study 000), the commit mode
//! of each workload, and claims of factors in words, to be compared with the tables.

use super::sweep::{self, SweepPoint};
use crate::awr::cell::GridCell;
use crate::origin::{SourceLine, SourcedCell};
use crate::quick::QuickWord;
use crate::sheets::Sheets;
use crate::{Gathered, Notes};
use measure::imported::Cell;
use measure::origin::OriginInput;
use measure::printed;
use std::collections::{BTreeMap, BTreeSet};

/// Distinct points of a file that are kept.
const POINTS_MAX: usize = 5000;
/// How far a claim may be from the exact factor.
const HALF_DIGIT: &str = "half of the last digit of a, on the scale of the factor";
/// Lines above a table that are kept.
const ABOVE_MAX: usize = 16;

/// Whether a line begins one.
pub fn opens(line: &str) -> bool {
    let source = SourceLine::new(0, line);
    sweep::Heading::of(source).is_some() || is_workers(line) || mode(source).is_some()
}

fn is_workers(line: &str) -> bool {
    if !QuickWord::exactly("Worker").is_in(line.as_bytes()) {
        return false;
    }
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    words.contains("Worker") && words.contains("Over 1ms") && words.contains("Over 10ms")
}

/// The tables of a file.
#[derive(Debug, Default)]
pub struct Study {
    heading: Option<sweep::Heading>,
    above: Vec<GridCell>,
    in_workers: Option<usize>,
    points: Vec<SweepPoint>,
    seen: BTreeSet<String>,
    /// Platform by the run's number.
    platforms: BTreeMap<String, GridCell>,
    /// Other spellings of a platform: the name of its run, and the lines that have the spelling.
    spellings: BTreeMap<String, (GridCell, GridCell, Vec<u64>)>,
    claims: Option<usize>,
    modes: Option<usize>,
    first: u64,
}

impl Study {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let trimmed = line.trim();
        let source = SourceLine::new(number, line);
        if let Some(heading) = sweep::Heading::of(source) {
            self.end_heading(sheets, notes);
            let platform = joined(std::mem::take(&mut self.above));
            self.heading = Some(heading.at(number, platform));
            return;
        }
        if let Some(heading) = &mut self.heading {
            if heading.row(source) {
                return;
            }
            if !trimmed.is_empty() {
                self.end_heading(sheets, notes);
            }
        }
        if let Some(table) = self.in_workers {
            if worker(source, table, sheets) {
                return;
            }
            if !trimmed.is_empty() {
                self.in_workers = None;
            }
        }
        if is_workers(line) {
            let columns = [
                ("process", "Log Writer Worker"),
                ("over_1ms_pct", "Over 1ms %"),
                ("over_10ms_pct", "Over 10ms %"),
                ("over_20ms_pct", "Over 20ms %"),
                ("max_ms", "Max Elapsed (ms)"),
            ];
            let title = "Published: log file parallel write by worker";
            self.in_workers =
                Some(sheets.open("worker_latency_published", title, number, &columns));
            return;
        }
        self.mode(source, sheets);
        self.claim(source, sheets);
        if trimmed.is_empty() {
            // A platform stands in the lines right above its table, a blank line between.
            if self.above.len() > 3 {
                self.above.clear();
            }
        } else if trimmed.len() <= 60 && !trimmed.contains('\t') && !trimmed.starts_with(['#', '-'])
        {
            // With more of them it is no name of a platform.
            if self.above.len() < ABOVE_MAX {
                self.above.push(GridCell::of(source, trimmed));
            }
        } else {
            self.above.clear();
        }
    }

    fn end_heading(&mut self, sheets: &mut Sheets, notes: &mut Notes) {
        let Some(heading) = self.heading.take() else {
            return;
        };
        let named = heading.platform.clone();
        let mut is_spelt = false;
        let mut run = GridCell::default();
        for mut point in heading.points(sheets, notes) {
            // A run's number stands in its first line only.
            if point.run.is_empty() {
                point.run = run.borrowed();
            }
            run.clone_from(&point.run);
            if point.platform.is_empty() {
                point.platform = self.platform_of(&point.run, &named);
                if !is_spelt && named.as_str() != point.platform.as_str() && !named.is_empty() {
                    is_spelt = true;
                    self.spelt(&named, &point.platform, heading.line());
                }
            }
            self.first = self.first.min(point.line);
            let names = [&point.run, &point.test, &point.workload].map(GridCell::as_str);
            let key = format!("{}/{:?}", names.join("/"), point.values);
            let line = point.line;
            if self.points.len() < POINTS_MAX && self.seen.insert(key) {
                self.points.push(point);
            } else {
                let why = || "a run that is printed more than once".to_owned();
                notes.lines.passed(line, line, why);
            }
        }
    }

    /// The same run is the same platform, also where a page left its name out or spelt it
    /// otherwise.
    fn platform_of(&mut self, run: &str, named: &GridCell) -> GridCell {
        if run.is_empty() {
            return named.borrowed();
        }
        if !named.is_empty() && self.platforms.len() < POINTS_MAX {
            let own = self.platforms.entry(run.to_owned());
            own.or_insert_with(|| named.borrowed());
        }
        self.platforms.get(run).cloned().unwrap_or_default()
    }

    fn spelt(&mut self, printed: &GridCell, known: &GridCell, line: u64) {
        let is_known = self.spellings.contains_key(printed.as_str());
        if is_known || self.spellings.len() < POINTS_MAX {
            let new = || (printed.clone(), known.borrowed(), Vec::new());
            let of = self.spellings.entry(printed.text.clone());
            of.or_insert_with(new).2.push(line);
        }
    }

    fn give_spellings(&mut self, sheets: &mut Sheets) {
        for (printed, known, lines) in std::mem::take(&mut self.spellings).into_values() {
            let Some(line) = lines.first().copied() else {
                continue;
            };
            let columns = [
                ("printed", "As printed"),
                ("platform", "Platform of this run elsewhere"),
                ("times", "Times"),
            ];
            let title = "Another name of a platform";
            let table = sheets.open("platform_spelling", title, line, &columns);
            let times = Cell::Count(lines.len() as u64);
            let times = SourcedCell::derived(times, "tables with this name", Vec::new());
            sheets.sourced_row(table, line, vec![printed.sourced(), known.sourced(), times]);
            sheets.found -= 1;
        }
    }

    fn mode(&mut self, line: SourceLine<'_>, sheets: &mut Sheets) {
        let number = line.number;
        let Some((what, mode)) = mode(line) else {
            return;
        };
        let columns = [
            ("workload", "Workload or parameter"),
            ("mode", "Commit mode"),
        ];
        let title = "Commit modes that are stated";
        let open = || sheets.open("commit_modes", title, number, &columns);
        let table = *self.modes.get_or_insert_with(open);
        sheets.sourced_row(table, number, vec![what, mode]);
    }

    fn claim(&mut self, line: SourceLine<'_>, sheets: &mut Sheets) {
        let (trimmed, number) = (line.text.trim(), line.number);
        if let Some(size) = sweep::size_claim(trimmed) {
            let columns = [("claim", "Claim"), ("size", "Most effective for")];
            let table = sheets.open("size_claims", "A claim about sizes", number, &columns);
            sheets.sourced_row(
                table,
                number,
                vec![line.text(trimmed), SourcedCell::label(size)],
            );
            sheets.found -= 1;
        }
        let Some(claim) = sweep::claim(trimmed) else {
            return;
        };
        let columns = [
            ("claim", "Claim"),
            ("metric", "Of"),
            ("direction", "Direction"),
            ("factor", "Factor"),
            ("half_digit", "Half of its last digit"),
            ("line", "Line"),
        ];
        let open = || sheets.open("claims", "Claims in words", number, &columns);
        let table = *self.claims.get_or_insert_with(open);
        let shown = || line.span(claim.token).map(OriginInput::Span).into_iter();
        let half = Some(claim.half_digit);
        let row = vec![
            line.text(trimmed.trim_start_matches(['-', ' '])),
            SourcedCell::label(claim.metric),
            SourcedCell::label(claim.direction),
            SourcedCell::computed(Some(claim.factor), claim.formula, shown().collect()),
            SourcedCell::computed(half, HALF_DIGIT, shown().collect()),
            SourcedCell::derived(Cell::Count(number), "number of the line", Vec::new()),
        ];
        sheets.sourced_row(table, number, row);
        sheets.found -= 1;
    }

    /// Gives the points of all tables, each once.
    pub fn end(&mut self, sheets: &mut Sheets, notes: &mut Notes, out: &mut Gathered) {
        self.end_heading(sheets, notes);
        self.give_spellings(sheets);
        sweep::give(&self.points, sheets, out);
    }
}

/// `LG00 0.56% 0.02% 0.00% 13.66ms`.
fn worker(line: SourceLine<'_>, table: usize, sheets: &mut Sheets) -> bool {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [name, a, b, c, max] = words.as_slice() else {
        return false;
    };
    let pct = |w: &str| {
        printed::number(w)
            .filter(|n| n.suffix == "%")
            .map(|n| line.scaled(w, n.value, 1.0))
    };
    // Minutes are none: `13.66m` is a line that was cut.
    let ms = printed::number(max)
        .filter(|n| n.suffix != "m")
        .and_then(|n| Some(line.scaled(max, n.value, n.millis(1.0)?)));
    let (Some(a), Some(b), Some(c), Some(max)) = (pct(a), pct(b), pct(c), ms) else {
        return false;
    };
    sheets.sourced_row(table, line.number, vec![line.text(name), a, b, c, max]);
    true
}

/// What a line says of a commit mode: `LGWR-THR … COMMIT WRITE NOWAIT BATCH`, `commit_wait NOWAIT`.
fn mode(line: SourceLine<'_>) -> Option<(SourcedCell, SourcedCell)> {
    const MODES: [&str; 4] = ["WAIT", "NOWAIT", "IMMEDIATE", "BATCH"];
    let trimmed = line.text.trim();
    let is_said = QuickWord::exactly("COMMIT WRITE ").is_in(trimmed.as_bytes());
    let said = is_said.then(|| trimmed.find("COMMIT WRITE ")).flatten();
    let said = said.map(|at| {
        let words = trimmed[at + 13..].split_whitespace();
        let words = words.map(|w| w.trim_matches(|c: char| !c.is_ascii_alphabetic()));
        let mut modes = GridCell::default();
        for word in words.take_while(|w| MODES.contains(w)) {
            modes.join(word, line.span(word));
        }
        (trimmed.split('\t').next().unwrap_or(""), modes)
    });
    let parameters = ["commit_logging", "commit_wait", "commit_write"];
    let parameter = parameters.iter().find_map(|p| {
        let rest = trimmed
            .strip_prefix(p)?
            .trim_start_matches([' ', '\t', '=']);
        let mut mode = GridCell::of(line, rest.trim().trim_matches('\''));
        mode.text.make_ascii_uppercase();
        let fits = mode.split([' ', ',']).all(|w| MODES.contains(&w));
        fits.then(|| (&trimmed[..p.len()], mode))
    });
    let found = said.or(parameter);
    let found = found.filter(|(what, mode)| what.len() < 60 && !mode.is_empty());
    found.map(|(what, mode)| (line.text(what), mode.sourced()))
}

/// Lines above a table as one name.
fn joined(lines: Vec<GridCell>) -> GridCell {
    let mut name = GridCell::default();
    for line in lines {
        name.join_line(&line);
    }
    name
}
