//! The beginning of a file, as the readers see it that recognise their kind in it.

use super::lines::trim_cr;

/// The beginning of a file, from which its kind is recognised.
#[derive(Debug)]
pub struct Head<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl<'a> Head<'a> {
    /// Its lines without their ends; the last one may be cut.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let lines = self.bytes.split(|b| *b == b'\n');
        lines.map(trim_cr)
    }

    /// Whether `needle` stands anywhere in it.
    #[must_use]
    pub fn has(&self, needle: &str) -> bool {
        memchr::memmem::find(self.bytes, needle.as_bytes()).is_some()
    }
}
