//! What lines of a trace hold: waits, and marks, which are all other lines that matter.

use super::header::HeaderFact;
use crate::number::leading_u64;
use memchr::memmem;

/// A wait, in the trace's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Elapsed.
    pub ela: u64,
    /// `tim=`; 0 where it is missing.
    pub tim: u64,
    /// Blocks of a log write.
    pub blocks: u32,
    /// Index into the block's names.
    pub event: u32,
}

/// A line that is no wait and matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line of the header, `***`, or what log writers write beside waits.
    Header(HeaderFact),
    /// A call: which, its elapsed time and its processor time, in the trace's unit.
    Call(Call, u64, u64),
    /// A transaction ended with a change: a commit.
    Commit,
    /// A transaction ended otherwise.
    NoCommit,
    /// A call or a statement failed.
    Failed(TracedError),
}

/// `ERROR #1:err=1555` or `PARSE ERROR #1:… err=942`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedError {
    /// The statement could not be parsed.
    pub in_parse: bool,
    /// Number of the error; none where the line is cut before it.
    pub number: Option<u64>,
}

impl TracedError {
    /// The error of a record, if it is of one.
    #[must_use]
    pub fn of(record: &[u8]) -> Option<TracedError> {
        let in_parse = record.starts_with(b"PARSE ERROR #");
        if !in_parse && !record.starts_with(b"ERROR #") {
            return None;
        }
        let at = memmem::find(record, b"err=").map(|at| at + b"err=".len());
        let number = at.and_then(|at| leading_u64(record.get(at..)?));
        Some(TracedError {
            in_parse,
            number: number.map(|(n, _)| n),
        })
    }

    /// The name of the record.
    #[must_use]
    pub fn record(self) -> &'static str {
        if self.in_parse {
            "PARSE ERROR"
        } else {
            "ERROR"
        }
    }
}

/// The calls that a trace records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `PARSE`
    Parse,
    /// `EXEC`
    Exec,
    /// `FETCH`
    Fetch,
    /// `CLOSE`
    Close,
    /// `UNMAP`
    Unmap,
    /// `SORT UNMAP`
    SortUnmap,
    /// `LOBREAD`, `LOBWRITE` and their like, which have no cursor.
    Lob,
}

impl Call {
    /// Every call with its name in a trace.
    pub const ALL: [(Call, &'static str); 7] = [
        (Call::Parse, "PARSE"),
        (Call::Exec, "EXEC"),
        (Call::Fetch, "FETCH"),
        (Call::Close, "CLOSE"),
        (Call::Unmap, "UNMAP"),
        (Call::SortUnmap, "SORT UNMAP"),
        (Call::Lob, "LOB"),
    ];

    pub(super) fn of(record: &[u8]) -> Option<Call> {
        let fits = |name: &str| {
            record
                .strip_prefix(name.as_bytes())
                .is_some_and(|r| r.starts_with(b" #"))
        };
        if is_lob(record) {
            return Some(Call::Lob);
        }
        let found = Call::ALL.iter().find(|(_, name)| fits(name));
        found.map(|(call, _)| *call)
    }
}

/// `LOBREAD: type=…` and its like: capital letters up to a colon.
fn is_lob(record: &[u8]) -> bool {
    let end = record.iter().position(|b| *b == b':').unwrap_or(0);
    let name = &record[..end];
    record.starts_with(b"LOB") && end <= 24 && name.iter().all(u8::is_ascii_uppercase)
}

/// A [`Mark`] and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMark {
    /// Waits of the block before it.
    pub before: usize,
    /// Its line, counted from 0 at the beginning of the block.
    pub line: i64,
    /// What it is.
    pub mark: Mark,
}
