//! A block of whole lines into what it holds, without knowing anything of the blocks around it but
//! the [`TraceMode`] that it begins in. Blocks can so be scanned at the same time; [`super::merge`]
//! joins them in order, and has a block scanned again where it began in another mode than assumed.
//!
//! Text that is no record (statements, bind values) is held back until its end is seen, so that a
//! `WAIT #1: nam=` in it is not taken for a wait; where the end is missing, what was held is read.

use super::group::Groups;
use super::header::{self, HeaderFact};
use super::mark::{Call, Mark, PlacedMark, TracedError, Wait};
use super::text::{self, TextStep, TraceMode};
use super::wait::{self, WAIT, WaitError};
use crate::lines::trim_cr;
use crate::notes::quote;
use measure::imported::Severity;
use memchr::{memchr, memmem};
use std::collections::HashMap;

/// Oddities of one id that a block keeps; all are counted.
const ODD_EACH: usize = 8;

/// Something unusual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddLine {
    /// Which.
    pub id: OddId,
    /// Line from 0 at the beginning of the block; negative where it stands before.
    pub line: i64,
    /// Byte of the line, from 1.
    pub column: u64,
    /// What stands there; empty where that must not be shown.
    pub text: String,
}

/// What is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OddId {
    /// A record ends before its elapsed time does.
    Cut,
    /// A negative elapsed time.
    Negative,
    /// An elapsed time that is no number.
    NoNumber,
    /// A record glued to the one before.
    Glued,
    /// A wait that stands in a statement or bind value.
    InText,
    /// A statement or bind value without an end.
    Unended,
    /// A row source operation that is incomplete.
    BadStat,
    /// The last line has no end, and is cut before anything stands behind its elapsed time.
    LastLine,
}

impl OddId {
    /// How grave it is, its id, and what it is.
    pub fn described(self) -> (Severity, &'static str, &'static str) {
        use Severity::{Note, Warning};
        match self {
            OddId::Cut => (
                Warning,
                "trace.cut_line",
                "a wait is cut before its elapsed time; left out",
            ),
            OddId::Negative => (
                Warning,
                "trace.negative",
                "a negative elapsed time (the clock was set back); left out",
            ),
            OddId::NoNumber => (
                Warning,
                "trace.no_number",
                "the elapsed time is not a 64-bit number; left out",
            ),
            OddId::Glued => (
                Note,
                "trace.glued",
                "a wait follows another record on the same line; counted",
            ),
            OddId::InText => (
                Note,
                "trace.wait_in_text",
                "a statement or bind value holds text like a wait; not counted",
            ),
            OddId::Unended => (
                Warning,
                "trace.no_end",
                "a statement or bind value has no end; read as records from the first that looks like one",
            ),
            OddId::BadStat => (
                Note,
                "trace.bad_stat",
                "a row source operation (STAT) is incomplete; nothing here is read from it",
            ),
            OddId::LastLine => (
                Warning,
                "trace.last_line",
                "the last line has no end, so its elapsed time may be cut; left out",
            ),
        }
    }
}

/// Number of [`OddId`]s.
const ODD_IDS: usize = 8;

/// What a block holds.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Its waits, in order.
    pub waits: Vec<Wait>,
    /// Names of their events.
    pub events: Vec<Vec<u8>>,
    /// Other lines that matter, in order.
    pub marks: Vec<PlacedMark>,
    /// The first of the unusual.
    pub odd: Vec<OddLine>,
    /// How many of each id there are.
    pub odd_counts: [u64; ODD_IDS],
    /// Lines.
    pub lines: u64,
    /// Something that only 10.2 and later write.
    pub is_modern: bool,
    /// The mode behind it.
    pub exit: TraceMode,
    /// Its waits by process and event, where somebody sorted them.
    pub groups: Groups,
}

impl Scanned {
    /// Forgets everything, keeping its memory.
    fn clear(&mut self) {
        self.waits.clear();
        self.events.clear();
        self.marks.clear();
        self.odd.clear();
        self.odd_counts = [0; ODD_IDS];
        self.lines = 0;
        self.is_modern = false;
        self.exit = TraceMode::Records;
        self.groups.clear();
    }
}

/// Scans a block that begins in `enter`, into `out` and its memory.
pub fn scan(block: &[u8], enter: TraceMode, out: &mut Scanned) {
    out.clear();
    let mut scanner = Scanner::new(block, enter, out);
    scanner.run();
}

struct Scanner<'a> {
    block: &'a [u8],
    mode: TraceMode,
    out: &'a mut Scanned,
    ids: HashMap<Vec<u8>, u32>,
    /// Ids by a hash of the name: most lines are of few events.
    near: [u32; 64],
    log_write: Vec<bool>,
    /// The line that is read, from 0.
    number: i64,
    glue: memmem::Finder<'static>,
}

impl<'a> Scanner<'a> {
    fn new(block: &'a [u8], mode: TraceMode, out: &'a mut Scanned) -> Scanner<'a> {
        Scanner {
            block,
            mode,
            out,
            ids: HashMap::new(),
            near: [u32::MAX; 64],
            log_write: Vec::new(),
            number: 0,
            glue: memmem::Finder::new(WAIT),
        }
    }

    fn run(&mut self) {
        let block = self.block;
        let mut at = 0;
        while at < block.len() {
            let rest = &block[at..];
            at += match self.usual(rest) {
                Some(taken) => taken,
                None => {
                    let len = memchr(b'\n', rest).unwrap_or(rest.len());
                    self.any_line(&rest[..len], len < rest.len());
                    len + 1
                }
            };
            self.number += 1;
        }
        self.out.lines = self.number.unsigned_abs();
        self.out.exit = std::mem::take(&mut self.mode);
    }

    /// Reads a line of which traces have most, as servers and `trcsess` write it: gives its bytes.
    #[inline]
    fn usual(&mut self, rest: &[u8]) -> Option<usize> {
        if !matches!(self.mode, TraceMode::Records) {
            return None;
        }
        if rest.starts_with(WAIT) {
            let (record, taken) = wait::fast(rest)?;
            self.keep(&record);
            return Some(taken);
        }
        let (pid, taken) = header::separator(rest)?;
        self.mark(self.here(1), Mark::Header(HeaderFact::Process(pid, None)));
        Some(taken)
    }

    /// A place in the line that is read.
    fn here(&self, column: u64) -> Place {
        Place {
            line: self.number,
            column,
        }
    }

    /// A line in whatever mode.
    fn any_line(&mut self, raw: &[u8], ended: bool) {
        let line = trim_cr(raw);
        if matches!(self.mode, TraceMode::Records) {
            return self.line(line, self.number, ended);
        }
        match text::step(&mut self.mode, line, ended) {
            TextStep::Held => {}
            TextStep::Ended(held) => {
                self.mode = TraceMode::Records;
                if self.glue.find(&held.text).is_some() {
                    let from = self.number - held.lines as i64;
                    self.odd_at(OddId::InText, from, 1, b"");
                }
            }
            TextStep::Missing(held) => {
                self.mode = TraceMode::Records;
                let from = self.number - held.lines as i64;
                self.odd_at(OddId::Unended, from - 1, 1, b"");
                self.replay(&held.text, from);
                self.line(line, self.number, ended);
            }
        }
    }

    /// Reads held text as records. `from` is the line it begins at.
    fn replay(&mut self, held: &[u8], from: i64) {
        let mut number = from;
        let mut rest = held;
        while !rest.is_empty() {
            let len = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = trim_cr(&rest[..len]);
            // What begins another text here is not held again: its end was looked for already.
            if text::begins_like_a_record(line) {
                self.line(line, number, true);
                self.mode = TraceMode::Records;
            }
            number += 1;
            rest = rest.get(len + 1..).unwrap_or_default();
        }
    }

    /// A line outside of texts. `number` is its own; of what was held back, not the one being read.
    fn line(&mut self, line: &[u8], number: i64, ended: bool) {
        let blanks = line
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        let record = &line[blanks..];
        let place = Place {
            line: number,
            column: blanks as u64 + 1,
        };
        match record.first() {
            Some(b'W') if record.starts_with(WAIT) => self.waits(record, place, ended),
            Some(b'P' | b'E' | b'F' | b'C' | b'S' | b'X' | b'U' | b'L') => {
                self.call(record, place, ended)
            }
            Some(b'v') => {
                if let Some(mode) = text::value(record) {
                    self.mode = mode;
                }
            }
            None => {}
            _ => self.other(record, place),
        }
    }

    /// `PARSE`, `EXEC` and their like, and headers with these first letters.
    fn call(&mut self, record: &[u8], place: Place, ended: bool) {
        if let Some(error) = TracedError::of(record) {
            self.mark(place, Mark::Failed(error));
        }
        if let Some(mode) = text::statement(record) {
            self.out.is_modern |= memmem::find(record, b"sqlid=").is_some();
            self.mode = mode;
            return;
        }
        if text::is_call(record) {
            if record.starts_with(b"XCTEND") {
                let commit = memmem::find(record, b"rlbk=0").is_some()
                    && memmem::find(record, b"rd_only=0").is_some();
                let mark = if commit { Mark::Commit } else { Mark::NoCommit };
                self.mark(place, mark);
            } else if let Some(call) = Call::of(record) {
                // A call whose line is cut before these is counted without them.
                let elapsed = wait::param(record, b",e=").unwrap_or(0);
                // Those of LOBs may have more before it.
                let cpu = [b":c=", b",c=", b" c="];
                let cpu = cpu.iter().find_map(|key| wait::param(record, *key));
                let cpu = cpu.unwrap_or(0);
                self.mark(place, Mark::Call(call, elapsed, cpu));
                if !self.out.is_modern {
                    self.out.is_modern =
                        call == Call::Close || memmem::find(record, b",plh=").is_some();
                }
            } else if record.starts_with(b"STAT #") && memmem::find(record, b" op='").is_none() {
                self.odd(OddId::BadStat, place, record);
            }
            if let Some(glued) = self.glue.find(record) {
                self.waits(&record[glued..], place.plus(glued), ended);
                self.odd(OddId::Glued, place.plus(glued), &record[glued..]);
            }
            return;
        }
        self.other(record, place);
    }

    /// Headers, stamps, and what log writers write beside waits.
    fn other(&mut self, record: &[u8], place: Place) {
        if text::matters(record) {
            let kept = &record[..record.len().min(text::MARK_MAX)];
            match header::read(kept) {
                HeaderFact::Nothing => {}
                said => self.mark(place, Mark::Header(said)),
            }
        }
    }

    /// A record and those that are glued to it.
    fn waits(&mut self, line: &[u8], place: Place, ended: bool) {
        let mut at = 0;
        loop {
            let record = &line[at..];
            let next = self.glue.find(&record[WAIT.len()..]);
            let next = next.map(|n| n + WAIT.len());
            let this = &record[..next.unwrap_or(record.len())];
            let here = place.plus(at);
            match wait::tolerant(this) {
                // The last number of a line without an end may be cut.
                Ok(found) if !ended && next.is_none() && found.params.is_empty() => {
                    self.odd(OddId::LastLine, here, this);
                }
                Ok(found) => {
                    let tim = if ended || next.is_some() {
                        found.tim
                    } else {
                        0
                    };
                    self.keep(&wait::WaitRecord { tim, ..found });
                }
                Err(WaitError::Cut(n)) => self.odd(OddId::Cut, here.plus(n), this),
                Err(WaitError::Negative(n)) => self.odd(OddId::Negative, here.plus(n), this),
                Err(WaitError::NoNumber(n)) => self.odd(OddId::NoNumber, here.plus(n), this),
                Err(WaitError::NoWait) => {}
            }
            let Some(next) = next else {
                return;
            };
            at += next;
            self.odd(OddId::Glued, place.plus(at), &line[at..]);
        }
    }

    #[inline]
    fn keep(&mut self, record: &wait::WaitRecord<'_>) {
        let event = self.event(record.event);
        let blocks = if self.log_write[event as usize] {
            u32::try_from(wait::blocks(record.params)).unwrap_or(u32::MAX)
        } else {
            0
        };
        if !self.out.is_modern {
            self.out.is_modern = record.params.starts_with(b" files=")
                || memmem::find(record.params, b"obj#=").is_some()
                || memmem::find(record.params, b"#=").is_some();
        }
        self.out.waits.push(Wait {
            ela: record.ela,
            tim: record.tim,
            blocks,
            event,
        });
    }

    #[inline]
    fn event(&mut self, name: &[u8]) -> u32 {
        let edge = |i: usize| usize::from(name.get(i).copied().unwrap_or(0));
        let slot = (name.len() * 7 + edge(4) * 3 + edge(name.len() / 2)) & 63;
        let near = self.near[slot];
        if self
            .out
            .events
            .get(near as usize)
            .is_some_and(|e| e == name)
        {
            return near;
        }
        let id = self.event_slowly(name);
        self.near[slot] = id;
        id
    }

    fn event_slowly(&mut self, name: &[u8]) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = u32::try_from(self.out.events.len()).expect("a block has fewer lines than u32");
        self.ids.insert(name.to_vec(), id);
        self.out.events.push(name.to_vec());
        self.log_write.push(name == b"log file parallel write");
        id
    }

    fn mark(&mut self, place: Place, mark: Mark) {
        let before = self.out.waits.len();
        let line = place.line;
        self.out.marks.push(PlacedMark { before, line, mark });
    }

    fn odd(&mut self, id: OddId, place: Place, text: &[u8]) {
        if self.out.odd_counts[id as usize] < ODD_EACH as u64 {
            self.odd_at(id, place.line, place.column, text);
        } else {
            self.out.odd_counts[id as usize] += 1;
        }
    }

    fn odd_at(&mut self, id: OddId, line: i64, column: u64, text: &[u8]) {
        let count = &mut self.out.odd_counts[id as usize];
        *count += 1;
        if *count <= ODD_EACH as u64 {
            let text = if text.is_empty() {
                String::new()
            } else {
                quote(text)
            };
            self.out.odd.push(OddLine {
                id,
                line,
                column,
                text,
            });
        }
    }
}

/// Where something stands.
#[derive(Clone, Copy)]
struct Place {
    /// From 0 at the beginning of the block; negative where it stands before.
    line: i64,
    /// From 1.
    column: u64,
}

impl Place {
    fn plus(self, bytes: usize) -> Place {
        Place {
            column: self.column + bytes as u64,
            ..self
        }
    }
}
