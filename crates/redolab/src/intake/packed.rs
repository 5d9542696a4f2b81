//! Packed evidence before it is unpacked: its bytes, counted, and how far back unpackers may look.

use ruzstd::decoding::errors::FrameDecoderError;
use std::io::{self, BufReader, Chain, Cursor, Read};

/// How far back an unpacker may have to look: what it keeps in memory. `xz -9` needs all of it,
/// `zstd --long` twice as much; with that, a trace that meets every bound of its own (170 MiB)
/// would take more than the 256 MiB that are promised.
pub(super) const WINDOW_MAX: u64 = 64 << 20;
/// What the unpacker of xz counts beside it.
pub(super) const XZ_BESIDE: u64 = 1 << 20;

/// What unpackers read from.
pub(super) type Raw = BufReader<Counted<Chain<Cursor<Vec<u8>>, Box<dyn Read>>>>;

/// Counts what is read.
#[derive(Debug)]
pub struct Counted<R> {
    inner: R,
    bytes: u64,
    /// What was read to be looked at, and comes again.
    back: Vec<u8>,
}

impl<R> Counted<R> {
    /// Counts what is read of `inner` from now on.
    pub(super) fn of(inner: R) -> Counted<R> {
        Counted {
            inner,
            bytes: 0,
            back: Vec::new(),
        }
    }

    /// Bytes that were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Has `bytes` read again.
    pub(super) fn give_back(&mut self, bytes: Vec<u8>) {
        self.back = bytes;
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.back.is_empty() {
            let n = self.back.len().min(buf.len());
            buf[..n].copy_from_slice(&self.back[..n]);
            self.back.drain(..n);
            return Ok(n);
        }
        let n = self.inner.read(buf)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The error of a frame that cannot be unpacked.
pub(super) fn damaged(e: FrameDecoderError) -> io::Error {
    match e {
        FrameDecoderError::WindowSizeTooBig { .. } => window_too_big(),
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

/// The error of a file whose unpacker would look back too far.
pub(super) fn window_too_big() -> io::Error {
    io::Error::other(format!(
        "was packed with a window or dictionary over {} MiB, more than is kept in memory; unpack \
         it into `redolab import -`",
        WINDOW_MAX >> 20
    ))
}
