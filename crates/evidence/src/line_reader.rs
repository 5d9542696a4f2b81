//! Readers of evidence that take one line after another.

use super::gathered::Ended;
use super::lines::{Line, Lines};
use super::{Gathered, Sink};
use std::fmt::Debug;

/// Reads the lines of one file.
pub trait LineReader: Debug + Send {
    /// Takes a line.
    fn line(&mut self, line: Line<'_>, sink: &mut Sink);

    /// Takes the last line, which has no end: it may be cut.
    fn last_line(&mut self, line: Line<'_>, sink: &mut Sink) {
        self.line(line, sink);
    }

    /// Ends the file, which had so many lines, and gives what it held. Returns facts about it.
    fn end(self: Box<Self>, lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts;
}

/// Facts about a file: names and values.
pub type Facts = Vec<(String, String)>;

/// A file that is read line by line.
#[derive(Debug)]
pub struct LineFile {
    lines: Lines,
    reader: Box<dyn LineReader>,
}

impl LineFile {
    /// A file that `reader` reads.
    #[must_use]
    pub fn of(reader: impl LineReader + 'static) -> LineFile {
        LineFile {
            lines: Lines::default(),
            reader: Box::new(reader),
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        let reader = &mut self.reader;
        self.lines.feed(text, |line| reader.line(line, sink));
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let reader = &mut self.reader;
        let lines = self.lines.end(|line| reader.last_line(line, sink));
        let facts = self.reader.end(lines, sink, out);
        Ended { lines, facts }
    }
}
