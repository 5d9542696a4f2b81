//! Where readers put what they find while they read: diagnostics, and the values that the user
//! asked to have one by one.

use super::Notes;
use std::io::Write;

/// Where a reader writes to while it reads.
#[derive(Debug)]
pub struct Sink {
    /// What is wrong or unusual.
    pub notes: Notes,
    /// Values one by one.
    pub samples: Samples,
}

/// `count,elapsed` of one event, as the script of study 000 wrote it: microseconds, from 1, no
/// heading. The owner of the import takes them away after each chunk.
#[derive(Debug, Default)]
pub struct Samples {
    event: Option<String>,
    count: u64,
    text: Vec<u8>,
}

impl Samples {
    /// Of the event by the evidence's own name; of none if nobody asked.
    #[must_use]
    pub fn of(event: Option<&str>) -> Samples {
        Samples {
            event: event.map(str::to_owned),
            ..Samples::default()
        }
    }

    /// The event that is asked for.
    #[must_use]
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// Whether this event's values are asked for.
    #[must_use]
    pub fn wants(&self, event: &str) -> bool {
        self.event.as_deref() == Some(event)
    }

    /// Adds a value of the event. What is finer than a microsecond keeps its decimals.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        let (us, rest) = (ns / 1000, ns % 1000);
        let written = if rest == 0 {
            writeln!(self.text, "{},{us}", self.count)
        } else {
            writeln!(self.text, "{},{us}.{rest:03}", self.count)
        };
        written.expect("memory takes every write");
    }

    /// Values so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lines since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}
