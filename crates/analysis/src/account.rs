//! What a run, a comparison or an import says, as plain data: sections of tables, lines and texts.
//! The terminal, the report and Markdown render the same sections; a figure is written once, here.
//!
//! Invariants: cells are values, and what is not known is [`Shown::Missing`]; [`Shown::words`] is
//! the only way by which a cell becomes text, so that no two renderings differ; text of a run is as
//! it came, and each renderer makes it harmless.

pub mod answer;
mod bytes;
pub mod calibration;
pub mod columns;
pub mod comparison;
pub mod document;
mod explain;
pub mod findings;
mod floor;
pub mod imported;
pub mod key_figures;
pub mod markdown;
mod members;
mod nodes;
pub(crate) mod place;
mod probe;
mod ring;
mod row_cells;
pub mod run;
mod simulated;
mod slow_writes;
pub mod stack;
mod tproc_c;
mod validity;
mod waits;
mod watched;
mod workers;

pub use answer::{Account, AccountAnswer, AccountFact};
pub use bytes::bytes;
pub use columns::rows;
pub use explain::explained_latency;
pub use floor::{floor, placement};
pub use members::members;
pub use nodes::nodes;
pub use probe::probe;
pub use ring::ring;
pub use row_cells::cell;
pub use run::run;
pub use simulated::simulated;
pub use slow_writes::{slow_writes, utc_time, warnings};
pub use tproc_c::{conditions, tproc_c};
pub use validity::validity;
pub use waits::{other_waits, waits};
pub use watched::watched;
pub use workers::workers;

use measure::judgement::Weight;
use measure::run::{Problem, WaitStats};
use measure::words;
use std::borrow::Cow;

/// A part of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Unique in an account, in our own words; the address of the section in a report.
    pub id: Cow<'static, str>,
    /// The heading.
    pub title: String,
    /// How to read it.
    pub about: String,
    /// What it holds, in this order.
    pub body: Vec<Body>,
}

impl Section {
    /// A section of these parts.
    pub fn of(
        id: impl Into<Cow<'static, str>>,
        title: impl Into<String>,
        about: &str,
        body: Vec<Body>,
    ) -> Section {
        Section {
            id: id.into(),
            title: title.into(),
            about: about.to_owned(),
            body,
        }
    }
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Lines of figures.
    Table(AccountTable),
    /// Names and what is known of each.
    Facts(Vec<(String, Shown)>),
    /// What is claimed, and how it weighs.
    Findings(Vec<Statement>),
    /// A sentence or two.
    Text(String),
}

/// A claim with its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// How it weighs.
    pub weight: Weight,
    /// What it is called; empty where the weight says it.
    pub word: String,
    /// What is claimed.
    pub claim: String,
    /// What belongs to it, such as what to do, a sentence each.
    pub details: Vec<String>,
}

impl Default for Statement {
    fn default() -> Statement {
        Statement {
            weight: Weight::Info,
            word: String::new(),
            claim: String::new(),
            details: Vec::new(),
        }
    }
}

impl Statement {
    /// A problem of a run; `of` is before its id.
    #[must_use]
    pub fn problem(problem: &Problem, of: &str) -> Statement {
        let (weight, word) = match problem.invalidates {
            true => (Weight::Bad, "invalid"),
            false => (Weight::Caution, "doubtful"),
        };
        Statement {
            weight,
            word: word.to_owned(),
            claim: format!("{of}{}: {}", problem.id, problem.detail),
            details: Vec::new(),
        }
    }
}

/// How something weighs, in a word.
#[must_use]
pub const fn weight_in_words(weight: Weight) -> &'static str {
    match weight {
        Weight::Bad => "against",
        Weight::Caution => "caution",
        Weight::Good => "in favour",
        Weight::Info => "noted",
    }
}

/// Lines of figures in columns.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountTable {
    /// The columns, those with labels first.
    pub columns: Vec<ColumnHeading>,
    /// As many cells each as there are columns.
    pub lines: Vec<Vec<Shown>>,
}

/// What is above a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnHeading {
    /// Its name, in the terms of the field; of a comparison, the name of a run.
    pub name: Cow<'static, str>,
    /// The unit of its figures; empty for texts, counts and shares.
    pub unit: &'static str,
    /// What its figures are; empty where the section says it.
    pub meaning: &'static str,
    /// What the column is for.
    pub role: ColumnRole,
}

impl ColumnHeading {
    /// The name with its unit: `Mean ms`, `Written/redo`.
    #[must_use]
    pub fn words(&self) -> String {
        match self.unit {
            "" => self.name.to_string(),
            unit if unit.starts_with('/') => format!("{}{unit}", self.name),
            unit => format!("{} {unit}", self.name),
        }
    }
}

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// Names the line: never left out.
    Label,
    /// A figure that a reader looks for.
    Figure,
    /// A figure that is left out first where there is no room.
    Detail,
}

/// A column whose cells name their line.
#[must_use]
pub const fn label(name: &'static str) -> ColumnHeading {
    ColumnHeading {
        name: Cow::Borrowed(name),
        unit: "",
        meaning: "",
        role: ColumnRole::Label,
    }
}

/// A column of figures.
#[must_use]
pub const fn figure(name: &'static str, unit: &'static str) -> ColumnHeading {
    ColumnHeading {
        name: Cow::Borrowed(name),
        unit,
        meaning: "",
        role: ColumnRole::Figure,
    }
}

/// A column that is left out first.
#[must_use]
pub const fn detail(name: &'static str, unit: &'static str) -> ColumnHeading {
    ColumnHeading {
        name: Cow::Borrowed(name),
        unit,
        meaning: "",
        role: ColumnRole::Detail,
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Not known.
    Missing,
    /// Words, of a run or our own.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A figure in the unit of its column.
    Number(f64),
    /// A figure of evidence, which had decimals of its own.
    Printed(f64),
    /// A figure in a unit of its own.
    Measure(f64, String),
    /// From one figure to another.
    Range(f64, f64),
    /// A figure with the ends of its interval.
    Estimate([f64; 3]),
    /// A share, percent; the sign is part of its words.
    Share(f64),
    /// Bytes; the unit is part of the words.
    Bytes(u64),
    /// A time in nanoseconds; shown in the unit of its column, or with the unit that suits it.
    Ns(f64),
}

impl Shown {
    /// Words.
    #[must_use]
    pub fn text(words: &str) -> Shown {
        Shown::Text(words.to_owned())
    }

    /// A number of jobs; of a watched log nobody knows it.
    #[must_use]
    pub fn jobs(jobs: u32) -> Shown {
        match jobs {
            0 => Shown::Missing,
            jobs => Shown::Count(jobs.into()),
        }
    }

    /// The longest of some times; of some waits only count and total are known.
    #[must_use]
    pub fn longest(stats: &WaitStats) -> Shown {
        match stats.max_ns {
            0 if stats.total_ns > 0 || stats.count == 0 => Shown::Missing,
            ns => Shown::Ns(ns as f64),
        }
    }

    /// The mean of some times; `Missing` without any.
    #[must_use]
    pub fn mean(stats: &WaitStats) -> Shown {
        (stats.count > 0)
            .then_some(stats.mean_ns)
            .map(Shown::Ns)
            .into()
    }

    /// A time in nanoseconds, where it is known.
    #[must_use]
    pub fn ns(value: Option<u64>) -> Shown {
        value.map(|ns| Shown::Ns(ns as f64)).into()
    }

    /// For a program: all digits; empty for what is not known.
    #[must_use]
    pub fn exact(&self) -> String {
        match self {
            Shown::Text(words) => words.clone(),
            Shown::Count(n) | Shown::Bytes(n) => n.to_string(),
            Shown::Range(..) | Shown::Estimate(_) => self.words(""),
            _ => self.number().map_or(String::new(), |x| x.to_string()),
        }
    }

    /// The figure of a cell that has one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Shown::Count(n) | Shown::Bytes(n) => Some(*n as f64),
            Shown::Number(x) | Shown::Printed(x) | Shown::Measure(x, _) => Some(*x),
            Shown::Share(x) | Shown::Ns(x) => Some(*x),
            Shown::Missing | Shown::Text(_) | Shown::Range(..) | Shown::Estimate(_) => None,
        }
        .filter(|x| x.is_finite())
    }

    /// The cell in words, in the unit of its column.
    #[must_use]
    pub fn words(&self, unit: &str) -> String {
        match self {
            Shown::Missing => "–".to_owned(),
            Shown::Text(words) => words.clone(),
            Shown::Count(n) => words::count(*n),
            Shown::Printed(value) if (10.0..1000.0).contains(&value.abs()) => {
                format!("{value:.2}")
            }
            Shown::Number(value) | Shown::Printed(value) => words::digits(*value),
            Shown::Measure(value, unit) => format!("{} {unit}", words::digits(*value)),
            Shown::Range(low, high) => {
                format!("{} to {}", words::digits(*low), words::digits(*high))
            }
            Shown::Estimate(ends) => {
                let [value, low, high] = ends.map(words::digits);
                format!("{value} ({low} to {high})")
            }
            Shown::Share(percent) => words::percent(*percent),
            Shown::Bytes(n) => words::bytes(*n),
            Shown::Ns(ns) => match unit {
                "µs" => words::digits(ns / 1e3),
                "ms" => words::digits(ns / 1e6),
                "s" => words::digits(ns / 1e9),
                _ => words::latency(*ns),
            },
        }
    }
}

impl<T: Into<Shown>> From<Option<T>> for Shown {
    fn from(value: Option<T>) -> Shown {
        value.map_or(Shown::Missing, Into::into)
    }
}

impl From<usize> for Shown {
    fn from(n: usize) -> Shown {
        Shown::Count(n as u64)
    }
}

impl From<u64> for Shown {
    fn from(n: u64) -> Shown {
        Shown::Count(n)
    }
}

impl From<u32> for Shown {
    fn from(n: u32) -> Shown {
        Shown::Count(n.into())
    }
}

impl From<f64> for Shown {
    fn from(value: f64) -> Shown {
        Shown::Number(value)
    }
}

/// A column of lines about `T`: what is above it, and its cell of a line.
pub type AccountColumn<'a, T> = (ColumnHeading, &'a dyn Fn(&T) -> Shown);

impl AccountTable {
    /// A table with a line for each of `of`; `None` without any.
    pub fn of<T>(
        of: impl IntoIterator<Item = T>,
        columns: &[AccountColumn<'_, T>],
    ) -> Option<AccountTable> {
        let line = |of: T| columns.iter().map(|(_, cell)| cell(&of)).collect();
        let lines: Vec<Vec<Shown>> = of.into_iter().map(line).collect();
        (!lines.is_empty()).then(|| AccountTable {
            columns: columns.iter().map(|(heading, _)| heading.clone()).collect(),
            lines,
        })
    }

    /// The table without the columns that are left out first.
    #[must_use]
    pub fn without_details(mut self) -> AccountTable {
        let is_kept = |heading: &ColumnHeading| heading.role != ColumnRole::Detail;
        let kept: Vec<bool> = self.columns.iter().map(is_kept).collect();
        for line in &mut self.lines {
            let mut kept = kept.iter();
            line.retain(|_| kept.next() != Some(&false));
        }
        self.columns.retain(is_kept);
        self
    }

    /// How many columns name a line.
    #[must_use]
    pub fn labels(&self) -> usize {
        let is_label = |heading: &&ColumnHeading| heading.role == ColumnRole::Label;
        self.columns.iter().take_while(is_label).count()
    }
}

/// The first table of a section in words.
#[cfg(test)]
pub(crate) fn words_of(section: &Section) -> Vec<Vec<String>> {
    let Some(Body::Table(table)) = section.body.first() else {
        panic!("no table: {section:?}")
    };
    let cells = |line: &Vec<Shown>| {
        let cells = line.iter().zip(&table.columns);
        cells
            .map(|(cell, heading)| cell.words(heading.unit))
            .collect()
    };
    table.lines.iter().map(cells).collect()
}
