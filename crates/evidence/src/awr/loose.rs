//! Passages of a report as pages quote them: no rule, headings one below the other, columns run
//! together, values lost. What can be recognised is read; what cannot stays blank and is reported.

use super::cell::GridCell;
use super::events::{self, Role};
use super::give::ReportFigures;
use super::loose_headings::{EventHeadings, PassagePlace};
use super::{Grid, io};
use crate::Notes;
use crate::origin::SourceLine;
use crate::quick::QuickWord;
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;

/// A heading of I/O by file type.
const DATA: QuickWord = QuickWord::exactly("Data/Sec");
/// Characters of a line that can be a heading or a name.
const NAME_MAX: usize = 48;

/// What a line did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassageLine {
    /// It belongs to the passage.
    Yes,
    /// The passage ended before it.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Events { background: bool },
    Functions,
    FileTypes,
    Statistics,
}

/// A passage that is being read.
#[derive(Debug)]
pub struct LoosePassage {
    what: What,
    label: String,
    line: u64,
    /// All headings stood on one line.
    headed: bool,
    headings: Vec<String>,
    rows: Vec<(u64, GridCell, Vec<GridCell>)>,
}

impl LoosePassage {
    /// The passage that a line begins, if it does.
    #[must_use]
    pub fn open(trimmed: &str, place: &PassagePlace<'_>, line: u64) -> Option<LoosePassage> {
        const BEGIN: [&str; 6] = [
            "Foreground",
            "Background",
            "Function",
            "Filetype",
            "Event",
            "Statistic",
        ];
        if !BEGIN.iter().any(|b| trimmed.starts_with(b)) && !DATA.is_in(trimmed.as_bytes()) {
            return None;
        }
        let mut headings = Vec::new();
        let mut label = place.label;
        let squashed = trimmed.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = match squashed.as_str() {
            "Foreground Wait Events" => What::Events { background: false },
            "Background Wait Events" => What::Events { background: true },
            "Function Name" => What::Functions,
            "Filetype Name" => What::FileTypes,
            heading if heading.starts_with("Event Waits ") => {
                let found = EventHeadings::of(heading, place)?;
                headings = found.names;
                if found.is_stacked {
                    label = place.title;
                }
                What::Events {
                    background: found.background,
                }
            }
            heading if heading.starts_with("Statistic Total ") => {
                headings = statistic_headings(heading)?;
                What::Statistics
            }
            _ if trimmed.contains("Data/Sec") && trimmed.contains("Reqs/Sec") => {
                headings = vec!["Data/Sec (MB)".to_owned(), "Reqs/Sec".to_owned()];
                What::FileTypes
            }
            _ => return None,
        };
        Some(LoosePassage {
            what,
            label: label.to_owned(),
            line,
            headed: !headings.is_empty(),
            headings,
            rows: Vec::new(),
        })
    }

    /// Takes the next line that is not empty.
    pub fn line(&mut self, line: SourceLine<'_>, trimmed: &str) -> PassageLine {
        if self.what == What::Statistics {
            return self.statistic(line, trimmed);
        }
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        let is_number = |w: &str| printed::number(w).is_some_and(|n| n.suffix.len() <= 2);
        let name_end = words
            .iter()
            .position(|w| is_number(w))
            .unwrap_or(words.len());
        let last = words
            .iter()
            .rposition(|w| is_number(w))
            .map_or(name_end, |i| i + 1);
        let name = joined(line, &words[..name_end]);
        let values = words[name_end..last].iter();
        let values: Vec<GridCell> = values.map(|w| GridCell::of(line, w)).collect();
        let tail = joined(line, &words[last..]);
        let numbers = values.iter().all(|v| is_number(v));
        if squashed_len(trimmed) > 90 || !numbers || name.len() > NAME_MAX || words.len() > 12 {
            return PassageLine::Ended;
        }
        let heading = !self.headed && self.rows.is_empty() && self.is_heading(trimmed);
        if heading {
            self.headings.push(trimmed.to_owned());
            return PassageLine::Yes;
        }
        let named = name.chars().next().is_some_and(char::is_alphabetic);
        match (named, values.is_empty()) {
            (false, false) => {
                // Values of the name above.
                let Some((_, _, row)) = self.rows.last_mut() else {
                    return PassageLine::Ended;
                };
                row.extend(values);
            }
            (true, empty) => {
                if empty && (self.headed || !is_event(&name)) {
                    return PassageLine::Ended;
                }
                let mut values = values;
                if !tail.is_empty() {
                    values.push(tail);
                }
                self.rows.push((line.number, name, values));
            }
            (false, true) => return PassageLine::Ended,
        }
        PassageLine::Yes
    }

    /// `redo synch time overhead count (<2msec) 1,234 0.5 0.1`: names contain digits, so the values
    /// are the last words, one for each heading.
    fn statistic(&mut self, line: SourceLine<'_>, trimmed: &str) -> PassageLine {
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        let count = self.headings.len();
        let at = words.len().saturating_sub(count);
        let (name, values) = words.split_at(at);
        let is_number = |w: &&str| printed::number(w).is_some_and(|n| n.suffix.is_empty());
        let is_named = name
            .first()
            .is_some_and(|w| w.starts_with(char::is_alphabetic));
        if !is_named || !values.iter().all(is_number) || trimmed.len() > 160 {
            return PassageLine::Ended;
        }
        let values = values.iter().map(|v| GridCell::of(line, v)).collect();
        self.rows.push((line.number, joined(line, name), values));
        PassageLine::Yes
    }

    fn is_heading(&self, trimmed: &str) -> bool {
        match self.what {
            What::Events { .. } => {
                let known = events::role(trimmed).is_some();
                known && !is_event(trimmed)
            }
            _ => [
                "Data", "Reqs", "Waits", "Avg", "Small", "Large", "Reads", "Writes",
            ]
            .iter()
            .any(|w| trimmed.starts_with(w)),
        }
    }

    /// Gives what was read.
    pub fn give(self, give: &mut ReportFigures, sheets: &mut Sheets, notes: &mut Notes) {
        if self.rows.is_empty() {
            return;
        }
        match self.what {
            What::Events { .. } => self.give_events(sheets, notes),
            What::Statistics => give.grid(&self.statistics(), sheets, notes),
            _ => self.give_io(sheets, notes),
        }
    }

    fn statistics(self) -> Grid {
        let mut grid = self.grid();
        grid.headings.insert(0, "Statistic".to_owned());
        for (line, name, values) in self.rows {
            grid.push(line, std::iter::once(name).chain(values).collect());
        }
        grid
    }

    fn grid(&self) -> Grid {
        Grid {
            title: self.label.clone(),
            line: self.line,
            headings: self.headings.clone(),
            ..Grid::default()
        }
    }

    fn give_events(self, sheets: &mut Sheets, notes: &mut Notes) {
        let What::Events { background } = self.what else {
            return;
        };
        let mut grid = self.grid();
        let says = |h: &String| h == "% bg time";
        if background && !grid.headings.iter().any(says) {
            grid.headings.push("% bg time".to_owned());
        }
        let table = events::open(&grid, sheets);
        let roles: Vec<(Role, f64)> = self
            .headings
            .iter()
            .filter_map(|h| events::role(h))
            .collect();
        for (line, name, values) in &self.rows {
            let mut given = vec![(Role::Event, 1.0, name)];
            let is_text = |v: &GridCell| printed::number(v).is_none();
            let text = values.last().filter(|v| is_text(v));
            let is_classed = !self.headed || roles.iter().any(|(r, _)| *r == Role::Class);
            if let Some(class) = text.filter(|_| is_classed) {
                given.push((Role::Class, 1.0, class));
            }
            let count = values.len() - usize::from(text.is_some());
            let Some(of) = self.fitting(name, &values[..count], &roles) else {
                let at = Some(*line);
                notes.add(Severity::Warning, "awr.values_lost", at, None, || {
                    let name = &name.text;
                    format!("`{name}` has {count} values, and another number of headings: not read")
                });
                continue;
            };
            let pairs = of.iter().zip(values);
            given.extend(pairs.map(|((role, unit), v)| (*role, *unit, v)));
            if count < roles.len() && !self.headed {
                notes.add(
                    Severity::Warning,
                    "awr.values_lost",
                    Some(*line),
                    None,
                    || {
                        format!(
                            "`{}` has {count} values under {} headings: matched from the right",
                            name.text,
                            roles.len()
                        )
                    },
                );
            }
            events::line(table, *line, &given, sheets);
        }
    }

    /// The columns of a row's values: all of them, those of CPU time, or the last ones. `None`
    /// where that is not known.
    fn fitting(
        &self,
        name: &str,
        values: &[GridCell],
        roles: &[(Role, f64)],
    ) -> Option<Vec<(Role, f64)>> {
        let count = values.len();
        let numeric: Vec<(Role, f64)> = roles
            .iter()
            .filter(|(r, _)| !matches!(r, Role::Event | Role::Class))
            .copied()
            .collect();
        let without = |left: &[Role]| -> Vec<(Role, f64)> {
            let kept = numeric.iter().filter(|(r, _)| !left.contains(r));
            kept.copied().collect()
        };
        let is_cpu = matches!(name, "DB CPU" | "CPU time");
        if is_cpu && count < numeric.len() {
            let own = numeric
                .iter()
                .filter(|(r, _)| matches!(r, Role::Time | Role::Share));
            return Some(own.copied().collect());
        }
        if self.headed && count != numeric.len() {
            // A blank share of time-outs is usual; that it is this one, the average has to show.
            let left = without(&[Role::TimeOuts]);
            let fits = left.len() == count && is_average(&left, values);
            return fits.then_some(left);
        }
        Some(numeric[numeric.len().saturating_sub(count)..].to_vec())
    }

    fn give_io(self, sheets: &mut Sheets, notes: &mut Notes) {
        let mut grid = self.grid();
        let first = match self.what {
            What::Functions => "Function Name",
            _ => "Filetype Name",
        };
        grid.headings.insert(0, first.to_owned());
        for heading in &mut grid.headings {
            if heading == "Data/Sec (MB)" {
                "Writes: Data per sec (MB)".clone_into(heading);
            } else if heading == "Reqs/Sec" {
                "Writes: Reqs per sec".clone_into(heading);
            }
        }
        let columns = grid.headings.len() - 1;
        for (line, name, mut values) in self.rows {
            if values.len() < columns {
                notes.add(Severity::Note, "awr.values_lost", Some(line), None, || {
                    format!("`{}` has {} of {columns} values", name.text, values.len())
                });
            }
            values.insert(0, name);
            grid.push(line, values);
        }
        io::by(&grid, sheets);
    }
}

/// Words that follow each other, as one cell.
fn joined(line: SourceLine<'_>, words: &[&str]) -> GridCell {
    let mut cell = GridCell::default();
    for word in words {
        cell.join(word, line.span(word));
    }
    cell
}

/// Whether the average of a row is its time over its waits, within what rounding allows.
pub(super) fn is_average(roles: &[(Role, f64)], values: &[GridCell]) -> bool {
    let of = |role: Role| {
        let at = roles.iter().position(|(r, _)| *r == role)?;
        Some((roles[at].1, printed::number(values.get(at)?)?))
    };
    let (Some((_, waits)), Some((unit, time)), Some((average_unit, average))) =
        (of(Role::Waits), of(Role::Time), of(Role::Average))
    else {
        return false;
    };
    let (Some(waits), Some(seconds), Some(ns)) =
        (waits.count(), time.count(), average.nanos(average_unit))
    else {
        return false;
    };
    let scale = |number: printed::Number<'_>, whole: f64| match number.value {
        v if v > 0.0 => whole / v * number.half_digit(),
        _ => 0.0,
    };
    let (half, half_ns) = (scale(time, seconds * unit), scale(average, ns));
    let (low, high) = (seconds * unit - half, seconds * unit + half);
    waits > 0.0 && (ns + half_ns) * waits >= low * 1e9 && (ns - half_ns) * waits <= high * 1e9
}

/// Characters of a line whose blanks are collapsed: columns are padded.
fn squashed_len(line: &str) -> usize {
    let words = line.split_whitespace().map(|w| w.chars().count() + 1);
    words.sum::<usize>().saturating_sub(1)
}

/// The headings behind `Statistic`.
fn statistic_headings(line: &str) -> Option<Vec<String>> {
    let names = ["Total", "per Second", "per Trans", "per Hour"];
    let mut rest = line.strip_prefix("Statistic")?.trim_start();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let known = names.iter().find(|n| rest.starts_with(**n))?;
        out.push((*known).to_owned());
        rest = rest[known.len()..].trim_start();
    }
    (out.len() >= 2).then_some(out)
}

/// Whether a line is the name of a wait event or of CPU time.
pub(super) fn is_event(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "log file ",
        "log buffer space",
        "target log write size",
        "LGWR ",
        "DB CPU",
        "CPU time",
        "db file ",
        "control file ",
        "direct path ",
        "enq: ",
        "latch",
        "buffer busy",
        "library cache",
        "cursor: ",
        "gc ",
        "SQL*Net",
        "read by other session",
        "free buffer waits",
        "rdbms ipc",
        "cell ",
    ];
    WORDS.iter().any(|w| name.starts_with(w))
}
