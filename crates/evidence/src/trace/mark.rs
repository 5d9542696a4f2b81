//! What lines of a trace hold: waits, and marks, which are all other lines that matter.

use super::header::HeaderFact;

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
}

impl Call {
    /// Every call with its name in a trace.
    pub const ALL: [(Call, &'static str); 4] = [
        (Call::Parse, "PARSE"),
        (Call::Exec, "EXEC"),
        (Call::Fetch, "FETCH"),
        (Call::Close, "CLOSE"),
    ];

    pub(super) fn of(record: &[u8]) -> Option<Call> {
        let fits = |name: &str| {
            record
                .strip_prefix(name.as_bytes())
                .is_some_and(|r| r.starts_with(b" #"))
        };
        let found = Call::ALL.iter().find(|(_, name)| fits(name));
        found.map(|(call, _)| *call)
    }
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
