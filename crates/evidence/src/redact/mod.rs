//! Evidence without the names and statements of a site, line by line, so that it still imports with
//! the same figures.
//!
//! A name is learnt where the evidence labels it (`Node name:`, a column `Host Name`, a key
//! `"hostname"`, `user@host`) and replaced everywhere by a pseudonym, also where nothing labels it.
//! Paths and IP addresses are recognised by their form. That takes two readings of all files: the
//! first learns names ([`Redactor::learn`]), the second replaces them ([`Redactor::line`]).
//!
//! Invariants: the same name has the same pseudonym in all files of a redactor; a line stays one
//! line; waits of a trace are not touched; text behind a replaced name keeps its column where there
//! is room. A name that no line labels cannot be recognised.

mod columns;
mod connections;
mod hammerdb;
mod headings;
mod labels;
mod names;
mod passwords;
mod shapes;
mod statements;
mod vocabulary;

pub use names::NameKind;

use columns::Columns;
use headings::Headings;
use names::Pseudonyms;
use statements::Statements;
use std::borrow::Cow;
use std::ops::Range;

/// What takes the place of a statement or a value.
pub const STATEMENT: &str = "[redacted]";
/// What takes the place of a password.
pub const PASSWORD: &str = "[password]";

/// Names of which it is reported how many were replaced.
const COUNTED: [(&str, NameKind); 8] = [
    ("hosts", NameKind::Host),
    ("instances", NameKind::Instance),
    ("databases", NameKind::Database),
    ("services", NameKind::Service),
    ("modules", NameKind::Module),
    ("users", NameKind::User),
    ("paths", NameKind::Path),
    ("addresses", NameKind::Address),
];

/// What is replaced; passwords always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Names of hosts, instances, databases, services, modules and users, paths, IP addresses.
    pub names: bool,
    /// SQL statements, bind values and the objects of execution plans.
    pub sql: bool,
}

/// A part of a line that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    at: Range<usize>,
    kind: MarkKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkKind {
    Name(NameKind),
    Statement,
    Password,
    /// A version of a program, which is no address.
    Kept,
}

impl Mark {
    fn name(at: Range<usize>, kind: NameKind) -> Mark {
        Mark {
            at,
            kind: MarkKind::Name(kind),
        }
    }
}

/// Replaces names and statements, in all files of one site.
#[derive(Debug, Default)]
pub struct Redactor {
    redaction: Redaction,
    names: Pseudonyms,
    columns: Columns,
    headings: Headings,
    statements: Statements,
    is_inside: bool,
    passwords_replaced: u64,
    statements_replaced: u64,
}

impl Redactor {
    /// One that has learnt nothing yet.
    #[must_use]
    pub fn new(redaction: Redaction) -> Redactor {
        Redactor {
            redaction,
            ..Redactor::default()
        }
    }

    /// What is replaced.
    #[must_use]
    pub fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// A file begins, in the first reading or in the second.
    pub fn begin(&mut self) {
        self.columns = Columns::default();
        self.headings = Headings::default();
        self.is_inside = false;
        self.statements = Statements::default();
    }

    /// Learns the names of a line, which has no line end.
    pub fn learn(&mut self, line: &[u8]) {
        if is_wait(line) {
            return;
        }
        let (text, _) = decoded(line);
        for mark in self.marks(&text) {
            let Some(name) = text.get(mark.at) else {
                continue;
            };
            match mark.kind {
                MarkKind::Name(kind) => self.names.learn(name, kind),
                MarkKind::Password => self.names.password(name),
                MarkKind::Statement | MarkKind::Kept => {}
            }
        }
    }

    /// The line without names and statements.
    pub fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let (text, is_latin) = decoded(line);
        if self.redaction.sql && self.statements.is_inside(&text) {
            // The lines of a statement are one.
            self.statements_replaced += u64::from(!self.is_inside);
            self.is_inside = true;
            return STATEMENT.as_bytes().to_vec();
        }
        self.is_inside = false;
        if is_wait(line) {
            return line.to_vec();
        }
        let marks = self.marks(&text);
        let replaced = self.replaced(&text, marks);
        let replaced = self.names.known(&replaced);
        match is_latin {
            true => replaced.chars().flat_map(latin).collect(),
            false => replaced.into_bytes(),
        }
    }

    /// Any text, such as a path, without the names that were learnt, paths and addresses.
    pub fn text(&mut self, text: &str) -> String {
        let marks = self.apart(shapes::marks(text), text);
        let replaced = self.replaced(text, marks);
        self.names.known(&replaced)
    }

    /// The name of a file: its number, with the process of a trace and what follows the last dot.
    pub fn file(&mut self, path: &str) -> String {
        self.names.file(path)
    }

    /// What was replaced so far, such as `hosts 2, passwords 1, statements 12`: of names how many
    /// there are, of passwords and statements at how many places.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut counts: Vec<String> = Vec::new();
        if self.redaction.names {
            let of =
                |(class, kind): &(&str, NameKind)| format!("{class} {}", self.names.count(*kind));
            counts.extend(COUNTED.iter().map(of));
        }
        counts.push(format!("passwords {}", self.passwords_replaced));
        if self.redaction.sql {
            counts.push(format!("statements {}", self.statements_replaced));
        }
        counts.join(", ")
    }

    /// All places of a line, in order and apart.
    fn marks(&mut self, text: &str) -> Vec<Mark> {
        let mut marks = hammerdb::marks(text);
        marks.extend(connections::marks(text));
        marks.extend(passwords::marks(text));
        marks.extend(self.columns.marks(text));
        marks.extend(self.headings.marks(text));
        marks.extend(labels::marks(text));
        marks.extend(shapes::marks(text));
        if self.redaction.sql {
            marks.extend(statements::marks(text));
        }
        self.apart(marks, text)
    }

    /// What is wanted, and does not overlap.
    fn apart(&self, mut marks: Vec<Mark>, text: &str) -> Vec<Mark> {
        let is_version = |mark: &Mark| {
            let value = text.get(mark.at.clone()).unwrap_or_default();
            value.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        };
        let is_wanted = |mark: &Mark| match mark.kind {
            MarkKind::Name(_) => self.redaction.names,
            MarkKind::Statement => self.redaction.sql,
            MarkKind::Password => true,
            MarkKind::Kept => is_version(mark),
        };
        marks.retain(|mark| is_wanted(mark) && !mark.at.is_empty());
        // A statement contains names; else the first kind of place that found it decides.
        marks.sort_by_key(|mark| mark.kind != MarkKind::Statement);
        let mut apart: Vec<Mark> = Vec::new();
        for mark in marks {
            let overlaps =
                |other: &Mark| mark.at.start < other.at.end && other.at.start < mark.at.end;
            if !apart.iter().any(overlaps) {
                apart.push(mark);
            }
        }
        apart.sort_by_key(|mark| mark.at.start);
        apart
    }

    fn replaced(&mut self, text: &str, marks: Vec<Mark>) -> String {
        let mut out = Spaced::default();
        let mut from = 0;
        for mark in marks {
            let (Some(before), Some(old)) =
                (text.get(from..mark.at.start), text.get(mark.at.clone()))
            else {
                continue;
            };
            out.push(before);
            match mark.kind {
                // A count under such a heading is a figure.
                MarkKind::Statement if vocabulary::is_common(old) => out.push(old),
                MarkKind::Statement => {
                    self.statements_replaced += u64::from(old != STATEMENT);
                    out.replace(old, STATEMENT);
                }
                MarkKind::Password => {
                    self.passwords_replaced += u64::from(old != PASSWORD);
                    self.names.password(old);
                    out.replace(old, PASSWORD);
                }
                MarkKind::Kept => out.push(old),
                MarkKind::Name(kind) => out.replace(old, &self.names.of(old, kind)),
            }
            from = mark.at.end;
        }
        out.push(text.get(from..).unwrap_or_default());
        out.text
    }
}

/// The text of a line, and whether each byte is a character, as in Latin-1.
fn decoded(line: &[u8]) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(line) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (line.iter().map(|byte| char::from(*byte)).collect(), true),
    }
}

fn latin(c: char) -> Vec<u8> {
    match u8::try_from(c) {
        Ok(byte) => vec![byte],
        Err(_) => c.to_string().into_bytes(),
    }
}

/// Waits contain no name but those of events, and are most of a trace.
fn is_wait(line: &[u8]) -> bool {
    line.starts_with(b"WAIT #")
}

/// Text in which what follows a replaced name stays in its column, as far as blanks allow.
#[derive(Debug, Default)]
struct Spaced {
    text: String,
    /// Characters by which the text is longer than it was.
    ahead: isize,
}

impl Spaced {
    /// Adds what is kept: blanks at its begin give or take the difference.
    fn push(&mut self, kept: &str) {
        let blanks = kept.len() - kept.trim_start_matches(' ').len();
        if self.ahead > 0 && blanks > 1 {
            let fewer = (self.ahead as usize).min(blanks - 1);
            self.ahead -= fewer as isize;
            self.text.push_str(&kept[fewer..]);
            return;
        }
        if self.ahead < 0 && blanks > 0 {
            self.text.push_str(&" ".repeat(self.ahead.unsigned_abs()));
            self.ahead = 0;
        }
        self.text.push_str(kept);
    }

    fn replace(&mut self, old: &str, new: &str) {
        self.text.push_str(new);
        self.ahead += new.chars().count() as isize - old.chars().count() as isize;
    }
}
