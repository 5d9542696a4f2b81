//! Reading from the medium: a second descriptor with `O_DIRECT` and aligned memory in between.
//!
//! Invariants: any offset and length is served; a file system that refuses `O_DIRECT`, at opening
//! or at reading, is read through the page cache, and [`Reader::bypasses_cache`] says so.

use crate::error::DeviceError;
use crate::file::{DirectoryEntry, Node, io_error};
use crate::region::Region;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Memory between the medium and the caller.
const CHUNK_BYTES: usize = 1 << 20;
/// Satisfies every medium in use: offsets, lengths and addresses are multiples of it.
const ALIGN: u64 = 4096;

/// Reads one file.
#[derive(Debug)]
pub(crate) struct Reader {
    direct: Option<OwnedFd>,
    buffered: OwnedFd,
    refused: AtomicBool,
    chunks: Mutex<Vec<Region>>,
}

impl Reader {
    /// # Errors
    /// When the file cannot be opened for reading at all.
    pub(crate) fn open(path: &Path, node: Node) -> Result<Reader, DeviceError> {
        Reader::open_at(&DirectoryEntry::of(path)?, node)
    }

    /// # Errors
    /// When the file cannot be opened for reading at all.
    pub(crate) fn open_at(at: &DirectoryEntry, node: Node) -> Result<Reader, DeviceError> {
        Ok(Reader {
            direct: node.open_at(at, OFlags::RDONLY | OFlags::DIRECT).ok(),
            buffered: node.open_at(at, OFlags::RDONLY)?,
            refused: AtomicBool::new(false),
            chunks: Mutex::new(Vec::new()),
        })
    }

    /// Whether a name still leads to the file.
    pub(crate) fn is_at(&self, at: &DirectoryEntry) -> bool {
        at.leads_to(&self.buffered)
    }

    /// Reads come from the medium, as far as has been seen.
    pub(crate) fn bypasses_cache(&self) -> bool {
        self.direct.is_some() && !self.refused.load(Ordering::Relaxed)
    }

    /// Fills `out` from `offset`; memory, offset and length that are multiples of 4096 save a
    /// copy.
    ///
    /// # Errors
    /// The system's error, or an end of the file before `out` is full.
    pub(crate) fn read(&self, path: &Path, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        if let Some(direct) = self.direct.as_ref().filter(|_| self.bypasses_cache()) {
            let result = if is_aligned(offset, out) {
                read_straight(direct, offset, out)
            } else {
                let mut chunk = self.chunk()?;
                let result = read_direct(direct, &mut chunk, offset, out);
                self.chunks
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(chunk);
                result
            };
            match result {
                Err(Errno::INVAL) => self.refused.store(true, Ordering::Relaxed),
                result => return result.map_err(|e| io_error(path, "read", e)),
            }
        }
        read_straight(&self.buffered, offset, out).map_err(|e| io_error(path, "read", e))
    }

    fn chunk(&self) -> Result<Region, DeviceError> {
        let kept = self
            .chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        kept.map_or_else(|| Region::new(CHUNK_BYTES), Ok)
    }
}

/// A file that is shorter than it was.
const TRUNCATED: Errno = Errno::IO;

fn is_aligned(offset: u64, out: &[u8]) -> bool {
    let parts = [offset, out.len() as u64, out.as_ptr().addr() as u64];
    parts.iter().all(|part| part.is_multiple_of(ALIGN))
}

fn read_direct(
    file: &OwnedFd,
    chunk: &mut Region,
    mut offset: u64,
    mut out: &mut [u8],
) -> Result<(), Errno> {
    let memory = chunk.bytes_mut();
    while !out.is_empty() {
        let start = offset / ALIGN * ALIGN;
        let skip = (offset - start) as usize;
        let span = (skip + out.len())
            .next_multiple_of(ALIGN as usize)
            .min(CHUNK_BYTES);
        let got = match rustix::io::pread(file, &mut memory[..span], start) {
            Err(Errno::INTR) => continue,
            result => result?,
        };
        let useful = got.saturating_sub(skip).min(out.len());
        if useful == 0 {
            return Err(TRUNCATED);
        }
        let (head, tail) = out.split_at_mut(useful);
        head.copy_from_slice(&memory[skip..skip + useful]);
        out = tail;
        offset += useful as u64;
    }
    Ok(())
}

/// Into the caller's memory, through the page cache or past it as `file` was opened.
fn read_straight(file: &OwnedFd, mut offset: u64, mut out: &mut [u8]) -> Result<(), Errno> {
    while !out.is_empty() {
        let got = match rustix::io::pread(file, &mut *out, offset) {
            Err(Errno::INTR) => continue,
            result => result?,
        };
        if got == 0 {
            return Err(TRUNCATED);
        }
        out = &mut out[got..];
        offset += got as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::Scratch;

    #[test]
    fn any_offset_and_length_is_served() {
        let scratch = Scratch::new();
        let path = scratch.0.join("log");
        let bytes: Vec<u8> = (0..(2 << 20) + 777_u32)
            .map(|i| ((i * 31) >> 3) as u8)
            .collect();
        std::fs::write(&path, &bytes).expect("writable");
        let reader = Reader::open(&path, Node::File).expect("opens");
        for (at, len) in [
            (0, 1),
            (511, 2),
            (4095, 4098),
            (1, CHUNK_BYTES),
            (0, bytes.len()),
            (bytes.len() - 3, 3),
            (100, 0),
        ] {
            let mut out = vec![0; len];
            reader.read(&path, at as u64, &mut out).expect("in range");
            assert!(out == bytes[at..at + len], "{at}+{len}");
        }
        // Page-aligned memory somewhere in a larger buffer.
        let mut large = vec![0; CHUNK_BYTES + 4096];
        let at = large.as_ptr().align_offset(4096);
        let aligned = &mut large[at..at + CHUNK_BYTES];
        assert!(is_aligned(8192, aligned));
        reader.read(&path, 8192, aligned).expect("in range");
        assert!(*aligned == bytes[8192..8192 + CHUNK_BYTES]);
        let mut beyond = [0; 8];
        let end = bytes.len() as u64;
        assert!(reader.read(&path, end - 3, &mut beyond).is_err());
        assert!(read_straight(&reader.buffered, end - 3, &mut beyond).is_err());
    }
}
