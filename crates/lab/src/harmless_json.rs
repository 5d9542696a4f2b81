//! JSON without control characters: JSON escapes those below U+0020 only, and a terminal obeys
//! those from U+007F to U+009F, too.
//!
//! Invariant: what is written is the same document. Such characters are in strings only, and there
//! an escape means the same.

use serde::Serialize;
use std::io::{self, Write};

/// The first byte of U+0080 to U+00BF in UTF-8.
const LEAD: u8 = 0xc2;
const DELETE: u8 = 0x7f;

/// Passes a JSON document on, with escapes in the place of control characters.
pub struct HarmlessJson<W> {
    out: W,
    /// A lead byte was taken, and the byte behind it has not come yet.
    has_lead: bool,
}

impl<W: Write> HarmlessJson<W> {
    /// Before `out`. Everything is passed on at the end of a document.
    pub fn new(out: W) -> HarmlessJson<W> {
        HarmlessJson {
            out,
            has_lead: false,
        }
    }
}

impl<W: Write> Write for HarmlessJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let lead = std::mem::replace(&mut self.has_lead, *byte == LEAD);
            let escaped = *byte == DELETE || lead && (0x80..=0x9f).contains(byte);
            if lead && !escaped {
                self.out.write_all(&[LEAD])?;
            }
            if escaped {
                self.out.write_all(&bytes[from..at])?;
                write!(self.out, "\\u{byte:04x}")?;
                from = at + 1;
            } else if *byte == LEAD {
                self.out.write_all(&bytes[from..at])?;
                from = at + 1;
            } else if lead {
                from = at;
            }
        }
        self.out.write_all(&bytes[from..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a value as pretty-printed JSON with a newline behind it.
///
/// # Errors
/// An error of `out`.
pub fn write_pretty(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = HarmlessJson::new(out);
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left_and_the_document_is_the_same() {
        let text: String = (0_u32..0x300).filter_map(char::from_u32).collect();
        let document =
            serde_json::json!({ text.clone(): [text, "\u{2028}ä\u{9b}31m\u{c2}\u{80}"] });
        let mut whole = Vec::new();
        write_pretty(&document, &mut whole).expect("writes");
        let plain = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
        // However it is cut.
        for size in [1, 2, 3, 7] {
            let mut cut = Vec::new();
            let mut out = HarmlessJson::new(&mut cut);
            for piece in plain.as_bytes().chunks(size) {
                out.write_all(piece).expect("writes");
            }
            assert!(cut == whole, "{size}");
        }
        let shown = String::from_utf8(whole).expect("UTF-8");
        let is_harmless = |c: char| c == '\n' || !c.is_control();
        assert!(shown.chars().all(is_harmless));
        let read: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(read, document);
    }
}
