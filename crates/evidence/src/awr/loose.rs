//! Passages of a report as pages quote them: no rule, headings one below the other, columns run
//! together, values lost. What can be recognised is read; what cannot stays blank and is reported.

use super::events::{self, Role};
use super::{Grid, io};
use crate::Notes;
use crate::sheets::Sheets;
use measure::imported::Severity;
use measure::printed;

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
    rows: Vec<(u64, String, Vec<String>)>,
}

impl LoosePassage {
    /// The passage that a line begins, if it does.
    #[must_use]
    pub fn open(trimmed: &str, label: &str, line: u64) -> Option<LoosePassage> {
        let mut headings = Vec::new();
        let what = match trimmed {
            "Foreground Wait Events" => What::Events { background: false },
            "Background Wait Events" => What::Events { background: true },
            "Function Name" => What::Functions,
            "Filetype Name" => What::FileTypes,
            _ if trimmed.starts_with("Event Waits ") => {
                headings = event_headings(trimmed);
                What::Events {
                    background: trimmed.contains("bg time"),
                }
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
    pub fn line(&mut self, trimmed: &str, number: u64) -> PassageLine {
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
        let name = words[..name_end].join(" ");
        let values: Vec<String> = words[name_end..last]
            .iter()
            .map(|w| (*w).to_owned())
            .collect();
        let tail = words[last..].join(" ");
        let numbers = values.iter().all(|v| is_number(v));
        if trimmed.len() > 90 || !numbers || name.len() > NAME_MAX || words.len() > 12 {
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
                self.rows.push((number, name, values));
            }
            (false, true) => return PassageLine::Ended,
        }
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
    pub fn give(self, sheets: &mut Sheets, notes: &mut Notes) {
        if self.rows.is_empty() {
            return;
        }
        match self.what {
            What::Events { .. } => self.give_events(sheets, notes),
            _ => self.give_io(sheets, notes),
        }
    }

    fn grid(&self) -> Grid {
        Grid {
            title: self.label.clone(),
            line: self.line,
            headings: self.headings.clone(),
            rows: Vec::new(),
        }
    }

    fn give_events(self, sheets: &mut Sheets, notes: &mut Notes) {
        let What::Events { background } = self.what else {
            return;
        };
        let mut grid = self.grid();
        if background {
            grid.headings.push("% bg time".to_owned());
        }
        let table = events::open(&grid, sheets);
        let roles: Vec<(Role, f64)> = self
            .headings
            .iter()
            .filter_map(|h| events::role(h))
            .collect();
        for (line, name, values) in &self.rows {
            let mut given = vec![(Role::Event, 1.0, name.as_str())];
            let is_text = |v: &String| printed::number(v).is_none();
            let text = values.last().filter(|v| is_text(v));
            if let Some(class) = text {
                given.push((Role::Class, 1.0, class));
            }
            let count = values.len() - usize::from(text.is_some());
            let of: Vec<(Role, f64)> = self.fitting(name, count, &roles);
            let pairs = of.iter().zip(values);
            given.extend(pairs.map(|((role, unit), v)| (*role, *unit, v.as_str())));
            if count < roles.len() && !self.headed {
                notes.add(
                    Severity::Warning,
                    "awr.values_lost",
                    Some(*line),
                    None,
                    || {
                        format!(
                            "`{name}` has {count} values under {} headings: matched from the right",
                            roles.len()
                        )
                    },
                );
            }
            events::line(table, &given, sheets);
        }
    }

    /// The columns of `count` values: all of them, those of CPU time, or the last ones.
    fn fitting(&self, name: &str, count: usize, roles: &[(Role, f64)]) -> Vec<(Role, f64)> {
        let numeric: Vec<(Role, f64)> = roles
            .iter()
            .filter(|(r, _)| !matches!(r, Role::Event | Role::Class))
            .copied()
            .collect();
        let is_cpu = matches!(name, "DB CPU" | "CPU time");
        if is_cpu && count < numeric.len() {
            let own = numeric
                .iter()
                .filter(|(r, _)| matches!(r, Role::Time | Role::Share));
            return own.copied().collect();
        }
        numeric[numeric.len().saturating_sub(count)..].to_vec()
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
                "Writes: Data per sec".clone_into(heading);
            } else if heading == "Reqs/Sec" {
                "Writes: Reqs per sec".clone_into(heading);
            }
        }
        let in_mb = self.headed;
        let columns = grid.headings.len() - 1;
        for (line, name, mut values) in self.rows {
            if values.len() < columns {
                notes.add(Severity::Note, "awr.values_lost", Some(line), None, || {
                    format!("`{name}` has {} of {columns} values", values.len())
                });
            }
            if let Some(rate) = values.first_mut().filter(|_| in_mb) {
                rate.push('M');
            }
            values.insert(0, name);
            grid.push(line, values);
        }
        io::by(&grid, sheets);
    }
}

/// Headings that stand on one line, separated by single spaces: split by their known beginnings.
fn event_headings(line: &str) -> Vec<String> {
    const KNOWN: &[&str] = &[
        "Waits /txn",
        "Waits",
        "%Time -outs",
        "%Time-outs",
        "Total Wait Time (sec)",
        "Total Wait Time (s)",
        "Time(s)",
        "Time (s)",
        "Avg wait (ms)",
        "Avg Wait (ms)",
        "Avg wait",
        "Avg Wait",
        "% DB time",
        "% bg time",
        "% Total Call Time",
        "%Total Call Time",
        "Wait Class",
    ];
    let mut rest = line.strip_prefix("Event").unwrap_or(line).trim_start();
    let mut out = Vec::new();
    while let Some(known) = KNOWN.iter().find(|k| rest.starts_with(**k)) {
        out.push((*known).to_owned());
        rest = rest[known.len()..].trim_start();
    }
    out
}

/// Whether a line is the name of a wait event or of CPU time.
fn is_event(name: &str) -> bool {
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
