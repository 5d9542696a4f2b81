//! Text inside a trace that is no record: statements, statements that could not be parsed, bind
//! values of several lines. Such text may hold anything, also what looks like a wait.

use crate::number::leading_u64;
use memchr::memmem;

/// Bytes of a line beside records that are read.
pub const MARK_MAX: usize = 512;
/// Bytes that are held back at most, waiting for the end of a text.
const HELD_MAX: usize = 1 << 20;
/// Bytes of a statement that could not be parsed: beyond it the stated length is not believed.
const UNPARSED_MAX: usize = 64 << 10;
/// Bytes of a bind value that a trace shows.
const VALUE_MAX: usize = 4096;

/// What lines are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TraceMode {
    /// Records.
    #[default]
    Records,
    /// A statement, up to `END OF STMT`.
    Statement(HeldText),
    /// A statement that could not be parsed: it has no end mark, only its length.
    Unparsed(HeldText),
    /// A bind value, up to its closing quote.
    Value(HeldText),
}

/// Text that is held back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldText {
    /// The text, its lines ended by LF.
    pub text: Vec<u8>,
    /// Its lines.
    pub lines: u64,
    /// Bytes that the record says it has.
    stated: Option<usize>,
    /// Bytes after which its end is missing.
    limit: usize,
}

impl TraceMode {
    /// What is held back, where anything is.
    #[must_use]
    pub fn into_held(self) -> Option<HeldText> {
        match self {
            TraceMode::Records => None,
            TraceMode::Statement(held) | TraceMode::Unparsed(held) | TraceMode::Value(held) => {
                Some(held)
            }
        }
    }
}

/// What a line of text does.
pub enum TextStep {
    /// It belongs to the text.
    Held,
    /// The text has ended, with this line.
    Ended(HeldText),
    /// The text has ended before, without a mark: what was held is to be read as records, and so is
    /// this line.
    Missing(HeldText),
}

/// Takes a line in a mode that is not [`TraceMode::Records`]. `ended` says that the line is whole:
/// what a part of it seems to be does not count.
pub fn step(mode: &mut TraceMode, line: &[u8], ended: bool) -> TextStep {
    match mode {
        TraceMode::Records => TextStep::Held,
        TraceMode::Statement(held) => {
            if line.trim_ascii() == b"END OF STMT" {
                return TextStep::Ended(std::mem::take(held));
            }
            let separator = ended && line.len() > 10 && line.iter().all(|b| *b == b'=');
            if separator || line.starts_with(b"PARSING IN CURSOR #") || !held.push(line) {
                return missing(held);
            }
            TextStep::Held
        }
        TraceMode::Unparsed(held) => unparsed(held, line),
        TraceMode::Value(held) => {
            let next = line.trim_ascii_start();
            if next.starts_with(b"Bind#") || next.starts_with(b"value=") {
                return missing(held);
            }
            if line.trim_ascii_end().ends_with(b"\"") {
                held.push(line);
                return TextStep::Ended(std::mem::take(held));
            }
            if held.push(line) {
                TextStep::Held
            } else {
                missing(held)
            }
        }
    }
}

/// The length that the record states decides: where lines fit it exactly they are text.
fn unparsed(held: &mut HeldText, line: &[u8]) -> TextStep {
    let stated = held.stated.unwrap_or(0);
    let with = held.text.len() + line.len();
    // The length counts a terminator in some releases.
    let fits = with == stated || with + 1 == stated;
    let first_alone = held.lines == 0 && (held.stated.is_none() || with > stated);
    if fits || first_alone {
        held.push(line);
        return TextStep::Ended(std::mem::take(held));
    }
    if with > stated || !held.push(line) {
        return missing(held);
    }
    TextStep::Held
}

fn missing(held: &mut HeldText) -> TextStep {
    TextStep::Missing(std::mem::take(held))
}

impl HeldText {
    fn new(stated: Option<usize>, limit: usize) -> HeldText {
        HeldText {
            stated,
            limit: limit.min(HELD_MAX),
            ..HeldText::default()
        }
    }

    /// Holds a line; `false` where the text has become too long to go on.
    fn push(&mut self, line: &[u8]) -> bool {
        if self.text.len() + line.len() > self.limit {
            return false;
        }
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.lines += 1;
        true
    }
}

/// The mode behind a record that a statement follows.
#[must_use]
pub fn statement(record: &[u8]) -> Option<TraceMode> {
    if record.starts_with(b"PARSING IN CURSOR #") {
        let stated = length(record, b" len=");
        let limit = stated.map_or(VALUE_MAX, |n| n.saturating_mul(2).saturating_add(1024));
        return Some(TraceMode::Statement(HeldText::new(stated, limit)));
    }
    if record.starts_with(b"PARSE ERROR #") {
        let stated = length(record, b":len=").or_else(|| length(record, b" len="));
        return Some(TraceMode::Unparsed(HeldText::new(stated, UNPARSED_MAX)));
    }
    None
}

fn length(record: &[u8], key: &[u8]) -> Option<usize> {
    let at = memmem::find(record, key)?;
    let (n, _) = leading_u64(&record[at + key.len()..])?;
    usize::try_from(n).ok()
}

/// The mode behind the line of a bind value, if the value goes on in the next line.
#[must_use]
pub fn value(record: &[u8]) -> Option<TraceMode> {
    let value = record.strip_prefix(b"value=\"")?.trim_ascii_end();
    let closed = value.ends_with(b"\"");
    (!closed).then(|| TraceMode::Value(HeldText::new(None, VALUE_MAX)))
}

/// Records of calls, behind which another record may be glued.
const CALLS: &[&[u8]] = &[
    b"PARSE #",
    b"EXEC #",
    b"FETCH #",
    b"CLOSE #",
    b"STAT #",
    b"XCTEND ",
    b"ERROR #",
    b"UNMAP #",
    b"SORT UNMAP #",
    b"LOB",
    b"END OF STMT",
];

/// Whether a line is a record of a call.
#[must_use]
pub fn is_call(record: &[u8]) -> bool {
    CALLS.iter().any(|c| record.starts_with(c))
}

/// Whether a line of held text may be a record after all.
#[must_use]
pub fn begins_like_a_record(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"WAIT #") || line.starts_with(b"*** ") || is_call(line) || matters(line)
}

/// Beginnings of lines that the thread that joins the blocks has to see.
const MATTERS: &[&[u8]] = &[
    b"*** ",
    b"Trace file ",
    b"Dump file ",
    b"Oracle Database ",
    b"Oracle8",
    b"Oracle9i",
    b"Oracle AI Database ",
    b"Personal Oracle",
    b"Version ",
    b"Build label:",
    b"System name:",
    b"Node name:",
    b"Release:",
    b"Machine:",
    b"Instance name:",
    b"Instance number:",
    b"Database name:",
    b"Database role:",
    b"Storage:",
    b"Redo thread mounted by this instance",
    b"Oracle process number:",
    b"Unix process pid:",
    b"Windows thread id:",
    b"Warning: log write ",
    b"kcrfw_alfs_update_mode",
    b"kcrfw_update_adaptive_sync_mode",
    b"kcrfw_slave_adaptive_updatemode",
    b"Adaptive scalable LGWR ",
    b"Log file sync switching to ",
    b"Current approximate redo synch write rate is ",
];

/// Whether a line is one of them.
#[must_use]
pub fn matters(record: &[u8]) -> bool {
    MATTERS.iter().any(|m| record.starts_with(m)) || is_listed_process(record)
}

/// Whether a line of `ps` ends with a background process of an instance, as `ora_lg00_ORCL`.
fn is_listed_process(record: &[u8]) -> bool {
    // It begins with a user, a number or blanks: most lines of a trace with a capital or a mark.
    let may = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b' ';
    record.len() < MARK_MAX
        && record.first().is_some_and(may)
        && memmem::find(record, b" ora_").is_some()
}
