//! Evidence on its way to its reader, or to a file, without the names and statements of a site.
//!
//! Invariants: lines stay lines, whatever the chunks; a line is held in memory up to `LINE_MAX`
//! bytes; text that is not in one byte per character of ASCII is refused, because no name would be
//! recognised in it.

use super::failed::Failed;
use crate::signals::Interrupt;
use evidence::redact::Redactor;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Bytes of a line that is redacted; a longer one is left out.
const LINE_MAX: usize = 16 << 20;
/// What takes the place of a longer line.
const TOO_LONG: &[u8] = b"[redacted: a line of over 16 MiB]";
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads lines and gives them redacted.
pub struct RedactedReader<'a, R: Read> {
    lines: Lines<R>,
    redactor: &'a mut Redactor,
    out: Vec<u8>,
    given: usize,
}

impl<'a, R: Read> RedactedReader<'a, R> {
    /// Begins a file, of which the redactor has learnt the names.
    pub fn new(from: R, redactor: &'a mut Redactor) -> RedactedReader<'a, R> {
        redactor.begin();
        RedactedReader {
            lines: Lines::new(from),
            redactor,
            out: Vec::new(),
            given: 0,
        }
    }
}

impl<R: Read> Read for RedactedReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            self.out.clear();
            self.given = 0;
            let Some(line) = self.lines.next()? else {
                return Ok(0);
            };
            let (text, end) = apart(line);
            let redacted = self.redactor.line(text);
            self.out.extend_from_slice(&redacted);
            self.out.extend_from_slice(end);
        }
        let rest = self.out.get(self.given..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

/// A line and its end.
fn apart(line: &[u8]) -> (&[u8], &[u8]) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    line.split_at(text.len())
}

/// The lines of a file, with their ends.
struct Lines<R: Read> {
    from: BufReader<R>,
    line: Vec<u8>,
    text: TextCheck,
}

impl<R: Read> Lines<R> {
    fn new(from: R) -> Lines<R> {
        Lines {
            from: BufReader::with_capacity(CHUNK_BYTES, from),
            line: Vec::new(),
            text: TextCheck::default(),
        }
    }

    /// The next line; `None` at the end.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut is_long = false;
        loop {
            let chunk = match self.from.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.text.chunk(chunk)?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            if self.line.len() + taken <= LINE_MAX && !is_long {
                self.line.extend_from_slice(&chunk[..taken]);
            } else if !is_long {
                is_long = true;
                self.line.clear();
                self.line.extend_from_slice(TOO_LONG);
            }
            self.from.consume(taken);
            if end.is_some() || taken == 0 {
                if is_long && end.is_some() {
                    self.line.push(b'\n');
                }
                self.text.line(&self.line)?;
                return Ok((!self.line.is_empty()).then_some(self.line.as_slice()));
            }
        }
    }
}

/// Refuses what is not text of one byte per character of ASCII, wherever a file shows it: by a zero
/// byte, or by control characters and bytes that are not UTF-8 in the same file.
#[derive(Debug, Default)]
struct TextCheck {
    is_begun: bool,
    has_control: bool,
    has_other_bytes: bool,
}

impl TextCheck {
    fn chunk(&mut self, chunk: &[u8]) -> io::Result<()> {
        let is_wide = chunk.starts_with(&[0xff, 0xfe]) || chunk.starts_with(&[0xfe, 0xff]);
        if chunk.contains(&0) || is_wide && !self.is_begun {
            return Err(not_text());
        }
        self.is_begun = true;
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        // Tabulators, backspaces, bells, page ends and escapes are in text.
        let is_control = |byte: &u8| matches!(byte, 1..=6 | 14..=26 | 28..=31 | 127);
        self.has_control |= line.iter().any(is_control);
        self.has_other_bytes |= std::str::from_utf8(line).is_err();
        match self.has_control && self.has_other_bytes {
            true => Err(not_text()),
            false => Ok(()),
        }
    }
}

fn not_text() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "names and statements cannot be recognised in UTF-16 or binary files: convert it to UTF-8 \
         first",
    )
}

/// Learns the names of a file, before any file is given on. What cannot be read is left to the
/// reading that follows, which reports why.
///
/// # Errors
/// An interruption.
pub fn learn_file(
    from: impl Read,
    path: &str,
    redactor: &mut Redactor,
    interrupt: &Interrupt,
) -> Result<(), Failed> {
    redactor.begin();
    redactor.file(path);
    let mut lines = Lines::new(from);
    while let Ok(Some(line)) = lines.next() {
        redactor.learn(apart(line).0);
        if interrupt.requested() {
            return Err(Failed::Interrupted);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::redact::Redaction;

    fn redacted(text: &[u8]) -> io::Result<Vec<u8>> {
        let mut redactor = Redactor::new(Redaction {
            names: true,
            sql: true,
        });
        for line in text.split(|byte| *byte == b'\n') {
            redactor.learn(line);
        }
        let mut out = Vec::new();
        let mut reader = RedactedReader::new(text, &mut redactor);
        reader.read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn lines_stay_lines() {
        let text = b"web1 here\r\nNode name: web1\r\n\n\nno end web1";
        let shown = b"host-1 here\r\nNode name: host-1\r\n\n\nno end host-1";
        assert_eq!(redacted(text).expect("text"), shown);
        assert_eq!(redacted(b"").expect("nothing"), b"");
        assert_eq!(redacted(b"\n").expect("a line"), b"\n");
    }

    #[test]
    fn what_cannot_be_redacted_is_not_given() {
        let late = [&[b'x'; 2 * CHUNK_BYTES][..], b"\nx\0"].concat();
        for text in [
            &b"\xff\xfeN\0o\0"[..],
            b"\xfe\xff\0N",
            b"PK\x03\x04\0\0",
            b"a line\n\x89PNG\x1a\n\x8f\xc3",
            &late,
        ] {
            assert!(redacted(text).is_err());
        }
        let latin = b"Ger\xe4t of web1\nNode name: web1";
        let shown = b"Ger\xe4t of host-1\nNode name: host-1";
        assert_eq!(redacted(latin).expect("Latin-1"), shown, "bytes stay");
        let mut long = vec![b'x'; LINE_MAX + 2];
        long.extend_from_slice(b"\nnext\n");
        let shown = [TOO_LONG, b"\nnext\n"].concat();
        assert_eq!(redacted(&long).expect("text"), shown);
    }
}
