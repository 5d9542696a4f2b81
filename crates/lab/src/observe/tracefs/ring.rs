//! Pages of the kernel's ring buffer as records with times.
//!
//! ```text
//! page:   time stamp of the first record | bytes of data and flags | entries
//! entry:  type and length, 5 bits; time since the entry before, 27 bits | array of 4 bytes each
//! types:  0 data, length in array[0]; 1 to 28 data of as many words; 29 padding;
//!         30 longer time since the entry before; 31 absolute time
//! ```
//! Invariants: bytes are not trusted: a page that is cut off or contradicts itself ends with an
//! error, and what came before it stays; nothing panics, and each step consumes bytes.

use super::format::PageHeader;

/// Bits of an entry's first word that hold its type.
const TYPE_BITS: u32 = 5;
/// Bits that hold its time.
const TIME_BITS: u32 = 27;
const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;
/// Bytes of an entry's first word, and of each word of its array.
const WORD: usize = 4;
/// Bits of `commit` that hold a length; the others are flags.
const LENGTH_MASK: u64 = (1 << TIME_BITS) - 1;
/// An absolute time has this many bits; those above are of the time before it.
const STAMP_BITS: u32 = 59;

/// A record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord<'a> {
    /// When, on the trace's clock, in nanoseconds.
    pub at_ns: u64,
    /// Its bytes, which begin with the number of its event.
    pub bytes: &'a [u8],
}

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// It ends within its header.
    #[error("the page ends within its header")]
    Header,
    /// It has more data than bytes.
    #[error("the page has {data} bytes of data in {bytes}")]
    Length {
        /// Bytes of data that it names.
        data: u64,
        /// Bytes that are there.
        bytes: usize,
    },
    /// An entry ends behind the data.
    #[error("the entry at byte {0} of the page ends behind its data")]
    Entry(usize),
}

/// The records of a page.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    data: &'a [u8],
    at: usize,
    now_ns: u64,
    has_failed: bool,
}

impl<'a> Records<'a> {
    /// Those of `page`.
    ///
    /// # Errors
    /// Its header is not that of a page.
    pub fn of(header: &PageHeader, page: &'a [u8]) -> Result<Records<'a>, RingError> {
        let word = |field: super::format::Field| field.unsigned(page).ok_or(RingError::Header);
        let (now_ns, commit) = (word(header.timestamp)?, word(header.commit)?);
        let length = commit & LENGTH_MASK;
        let from = header.data.offset;
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| from.checked_add(length));
        let data = end.and_then(|end| page.get(from..end));
        let data = data.ok_or(RingError::Length {
            data: length,
            bytes: page.len(),
        })?;
        Ok(Records {
            data,
            at: 0,
            now_ns,
            has_failed: false,
        })
    }

    /// The word at `at` of the data.
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at.checked_add(WORD)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// The entry at the present place: whether it is a record, and which; `Ok(None)` where only
    /// time passed.
    fn entry(&mut self) -> Result<Option<TraceRecord<'a>>, RingError> {
        let broken = RingError::Entry(self.at);
        let (kind, delta) = parts(self.word(self.at).ok_or(broken)?);
        let array = self.at + WORD;
        let bytes = match kind {
            TYPE_PADDING if delta == 0 => {
                // The rest of the page is empty.
                self.at = self.data.len();
                return Ok(None);
            }
            TYPE_TIME_EXTEND | TYPE_TIME_STAMP => {
                let high = u64::from(self.word(array).ok_or(broken)?) << TIME_BITS;
                let time = high.saturating_add(delta);
                self.now_ns = match kind {
                    TYPE_TIME_EXTEND => self.now_ns.saturating_add(time),
                    _ => self.now_ns >> STAMP_BITS << STAMP_BITS | time,
                };
                self.at = array + WORD;
                return Ok(None);
            }
            // A length includes its own word; that of a discarded entry does not.
            0 => {
                let length = self.word(array).ok_or(broken)? as usize;
                let bytes = length.checked_sub(WORD).ok_or(broken)?;
                (array + WORD, bytes)
            }
            TYPE_PADDING => (array, self.word(array).ok_or(broken)? as usize),
            words => (array, words as usize * WORD),
        };
        let (from, length) = bytes;
        let end = from.checked_add(length).ok_or(broken)?;
        let record = self.data.get(from..end).ok_or(broken)?;
        self.now_ns = self.now_ns.saturating_add(delta);
        // Entries begin at words.
        self.at = end.next_multiple_of(WORD);
        Ok((kind != TYPE_PADDING).then_some(TraceRecord {
            at_ns: self.now_ns,
            bytes: record,
        }))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<TraceRecord<'a>, RingError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_failed && self.at < self.data.len() {
            match self.entry() {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Type and time of an entry's first word, whose bits lie in the machine's order.
fn parts(word: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (word & ((1 << TYPE_BITS) - 1), u64::from(word >> TYPE_BITS))
    } else {
        (word >> TIME_BITS, u64::from(word & ((1 << TIME_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests;
