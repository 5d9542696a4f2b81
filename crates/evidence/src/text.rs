//! Bytes into text that readers take: byte order marks go, UTF-16 becomes UTF-8. Everything else
//! stays as it is: readers look at bytes, and what is no UTF-8 is replaced only where it is shown.

use std::borrow::Cow;

#[derive(Debug, Default, PartialEq, Eq)]
enum Encoding {
    #[default]
    Unknown,
    Bytes,
    Utf16 {
        big: bool,
    },
}

/// Decodes a stream, however it is cut.
#[derive(Debug, Default)]
pub struct Decoder {
    encoding: Encoding,
    /// The first bytes while the encoding is unknown, later half of a unit.
    held: Vec<u8>,
    /// First half of a pair of units.
    high: Option<u16>,
}

/// Bytes from which the encoding is recognised.
const MARK_BYTES: usize = 4;

impl Decoder {
    /// The text of the next bytes.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.encoding {
            Encoding::Bytes => Cow::Borrowed(bytes),
            Encoding::Unknown => {
                self.held.extend_from_slice(bytes);
                if self.held.len() < MARK_BYTES {
                    return Cow::Borrowed(&[]);
                }
                Cow::Owned(self.begin())
            }
            Encoding::Utf16 { big } => Cow::Owned(self.utf16(bytes, big)),
        }
    }

    /// What is left at the end.
    pub fn end(&mut self) -> Vec<u8> {
        let mut rest = match self.encoding {
            Encoding::Unknown => self.begin(),
            _ => Vec::new(),
        };
        if self.is_utf16() && (self.high.take().is_some() || !self.held.is_empty()) {
            rest.extend_from_slice("\u{fffd}".as_bytes());
        }
        rest
    }

    /// The text was UTF-16.
    #[must_use]
    pub fn is_utf16(&self) -> bool {
        matches!(self.encoding, Encoding::Utf16 { .. })
    }

    fn begin(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let (encoding, mark) = match held.as_slice() {
            [0xff, 0xfe, ..] => (Encoding::Utf16 { big: false }, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { big: true }, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Bytes, 3),
            // Two ASCII characters without a mark.
            [1..=0x7f, 0, 1..=0x7f, 0, ..] => (Encoding::Utf16 { big: false }, 0),
            [0, 1..=0x7f, 0, 1..=0x7f, ..] => (Encoding::Utf16 { big: true }, 0),
            _ => (Encoding::Bytes, 0),
        };
        self.encoding = encoding;
        match self.encoding {
            Encoding::Utf16 { big } => self.utf16(&held[mark..], big),
            _ => held[mark..].to_vec(),
        }
    }

    fn utf16(&mut self, bytes: &[u8], big: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() / 2 + 4);
        let mut put = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        for byte in bytes {
            self.held.push(*byte);
            let &[a, b] = self.held.as_slice() else {
                continue;
            };
            self.held.clear();
            let unit = if big {
                u16::from_be_bytes([a, b])
            } else {
                u16::from_le_bytes([a, b])
            };
            let units = self.high.take().into_iter().chain([unit]);
            for decoded in char::decode_utf16(units) {
                match decoded {
                    Ok(c) => put(c),
                    Err(e) if (0xd800..0xdc00).contains(&e.unpaired_surrogate()) => {
                        match self.high {
                            None if e.unpaired_surrogate() == unit => self.high = Some(unit),
                            _ => put(char::REPLACEMENT_CHARACTER),
                        }
                    }
                    Err(_) => put(char::REPLACEMENT_CHARACTER),
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], step: usize) -> String {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        for chunk in bytes.chunks(step) {
            out.extend_from_slice(&decoder.decode(chunk));
        }
        out.extend(decoder.end());
        String::from_utf8(out).expect("valid input gives valid text")
    }

    #[test]
    fn utf16_and_marks() {
        let text = "WAIT #1: µ 😀\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let with = |mark: &[u8], body: &[u8]| [mark, body].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            with(&[0xef, 0xbb, 0xbf], text.as_bytes()),
            with(&[0xff, 0xfe], &little),
            with(&[0xfe, 0xff], &big),
            little,
            big,
        ] {
            for step in [1, 2, 3, 5, 1000] {
                assert_eq!(decode(&bytes, step), text, "in chunks of {step}");
            }
        }
        for short in ["", "a", "ab", "abc"] {
            assert_eq!(decode(short.as_bytes(), 1), short);
        }
    }

    #[test]
    fn broken_utf16_is_replaced() {
        let lone = [0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00, 0x00, 0xd8, 0x7f];
        assert_eq!(decode(&lone, 1), "\u{fffd}A\u{fffd}");
        let twice = [0xff, 0xfe, 0x00, 0xd8, 0x00, 0xd8, 0x00, 0xdc];
        assert_eq!(decode(&twice, 3), "\u{fffd}\u{10000}");
    }
}
