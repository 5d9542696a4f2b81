//! Chunks into lines, and into blocks of whole lines, with a bound on the longest line.
//!
//! A line ends with LF; a CR before it belongs to the end. What a line has beyond the bound is
//! dropped as it comes, so that a line of a gigabyte costs no memory.

use memchr::{memchr, memrchr};

/// Bytes of a line that are kept.
pub const LINE_MAX: usize = 1 << 20;

/// One line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes, at most [`LINE_MAX`].
    pub bytes: &'a [u8],
    /// It was longer.
    pub cut: bool,
}

/// Cuts chunks into lines.
#[derive(Debug, Default)]
pub struct Lines {
    carry: Vec<u8>,
    cut: bool,
    number: u64,
}

impl Lines {
    /// Hands each line that ends in `chunk` to `each`.
    pub fn feed(&mut self, mut chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = (&chunk[..end], &chunk[end + 1..]);
            chunk = rest;
            self.number += 1;
            if self.carry.is_empty() && line.len() <= LINE_MAX {
                each(self.line(line, false));
            } else {
                self.keep(line);
                let (carry, cut) = (std::mem::take(&mut self.carry), self.cut);
                each(self.line(&carry, cut));
                self.carry = carry;
                self.carry.clear();
                self.cut = false;
            }
        }
        self.keep(chunk);
    }

    /// Hands the last line to `each` if it has no end; gives the number of lines.
    pub fn end(&mut self, mut each: impl FnMut(Line<'_>)) -> u64 {
        if !self.carry.is_empty() {
            self.number += 1;
            let carry = std::mem::take(&mut self.carry);
            each(self.line(&carry, self.cut));
        }
        self.number
    }

    fn line<'a>(&self, bytes: &'a [u8], cut: bool) -> Line<'a> {
        Line {
            number: self.number,
            bytes: trim_cr(bytes),
            cut,
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LINE_MAX.saturating_sub(self.carry.len());
        self.cut |= part.len() > room;
        self.carry.extend_from_slice(&part[..part.len().min(room)]);
    }
}

/// Without the carriage returns at the end.
#[must_use]
pub fn trim_cr(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Cuts chunks into blocks that end where a line ends.
#[derive(Debug, Default)]
pub struct LineBlocks {
    carry: Vec<u8>,
    /// Inside a line of which [`LINE_MAX`] bytes were kept.
    dropping: bool,
    dropped: u64,
}

impl LineBlocks {
    /// Fills `block`, which is emptied first, with the whole lines up to the last end in `chunk`.
    /// It stays empty where no line ends.
    pub fn feed(&mut self, mut chunk: &[u8], block: &mut Vec<u8>) {
        block.clear();
        if self.dropping {
            let Some(end) = memchr(b'\n', chunk) else {
                self.dropped += chunk.len() as u64;
                return;
            };
            self.dropped += end as u64;
            self.dropping = false;
            chunk = &chunk[end..];
        }
        let Some(last) = memrchr(b'\n', chunk) else {
            self.keep(chunk);
            return;
        };
        block.append(&mut self.carry);
        block.extend_from_slice(&chunk[..=last]);
        self.keep(&chunk[last + 1..]);
    }

    /// What is left without an end.
    #[must_use]
    pub fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.carry)
    }

    /// Bytes that were dropped from over-long lines.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LINE_MAX.saturating_sub(self.carry.len());
        if part.len() > room {
            self.dropping = true;
            self.dropped += (part.len() - room) as u64;
        }
        self.carry.extend_from_slice(&part[..part.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], step: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut out = Vec::new();
        let mut lines = Lines::default();
        for chunk in text.chunks(step) {
            lines.feed(chunk, |l| out.push((l.number, l.bytes.to_vec(), l.cut)));
        }
        lines.end(|l| out.push((l.number, l.bytes.to_vec(), l.cut)));
        out
    }

    #[test]
    fn lines_do_not_depend_on_the_chunks() {
        let text = b"a\r\n\n\r\nbc\nlast";
        let whole = lines(text, text.len());
        assert_eq!(whole.len(), 5);
        assert_eq!(whole[0], (1, b"a".to_vec(), false));
        assert_eq!(whole[4], (5, b"last".to_vec(), false));
        for step in 1..text.len() {
            assert_eq!(lines(text, step), whole, "in chunks of {step}");
        }
    }

    #[test]
    fn a_long_line_costs_no_memory() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        let mut blocks = LineBlocks::default();
        let mut block = Vec::new();
        for _ in 0..64 {
            lines.feed(&chunk, |_| panic!("no line ends here"));
            blocks.feed(&chunk, &mut block);
            assert!(lines.carry.capacity() <= 2 * LINE_MAX);
            assert!(block.is_empty() && blocks.carry.capacity() <= 2 * LINE_MAX);
        }
        let mut seen = Vec::new();
        lines.feed(b"\nnext\n", |l| seen.push((l.number, l.bytes.len(), l.cut)));
        assert_eq!(seen, [(1, LINE_MAX, true), (2, 4, false)]);
        blocks.feed(b"\nnext\nx", &mut block);
        assert_eq!(block.len(), LINE_MAX + 6);
        assert_eq!(blocks.dropped(), 63 << 20);
        assert_eq!(blocks.end(), b"x");
    }
}
