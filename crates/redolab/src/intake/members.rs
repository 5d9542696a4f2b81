//! Packed files of several members: gzip members, bzip2 and xz streams, zstd frames, one after the
//! other.
//!
//! Invariant: the number of members is bounded by what they unpack to. Beginning a member costs
//! time and memory whatever is in it, so a small file of empty members would take minutes.

use super::packed::{Raw, WINDOW_MAX, XZ_BESIDE, damaged};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, Read};

/// Members that any file may have.
pub const MEMBERS_FREE: u64 = 1_000;
/// Unpacked bytes for which a file may have one more.
pub const MEMBER_BYTES: u64 = 4 << 10;

/// A way of packing whose files may consist of several members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

/// The members of a file, unpacked one after the other.
pub(super) struct Members {
    packing: Packing,
    state: State,
    begun: u64,
    given: u64,
}

enum State {
    Between(Raw),
    Gzip(Box<flate2::bufread::GzDecoder<Raw>>),
    Bzip2(bzip2::bufread::BzDecoder<Raw>),
    Xz(Box<lzma_rust2::XzReader<Raw>>),
    Zstd(Box<StreamingDecoder<Raw, FrameDecoder>>),
    /// The end, after this many packed bytes.
    Ended(u64),
}

impl Members {
    pub(super) fn new(packing: Packing, raw: Raw) -> Members {
        Members {
            packing,
            state: State::Between(raw),
            begun: 0,
            given: 0,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.packing {
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }

    /// Packed bytes that were read.
    pub(super) fn taken(&self) -> u64 {
        match &self.state {
            State::Between(raw) => raw.get_ref().bytes(),
            State::Gzip(d) => d.get_ref().get_ref().bytes(),
            State::Bzip2(d) => d.get_ref().get_ref().bytes(),
            State::Xz(d) => d.inner().get_ref().bytes(),
            State::Zstd(d) => d.get_ref().get_ref().bytes(),
            State::Ended(bytes) => *bytes,
        }
    }

    /// Members that were begun.
    #[cfg(test)]
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Begins the next member, if there is one.
    fn next(&mut self, mut raw: Raw) -> io::Result<State> {
        if raw.fill_buf()?.is_empty() {
            return Ok(State::Ended(raw.get_ref().bytes()));
        }
        self.begun += 1;
        if self.begun > MEMBERS_FREE + self.given / MEMBER_BYTES {
            return Err(io::Error::other(format!(
                "holds over {} packed members with hardly anything in them, which no evidence \
                 does; unpack it yourself if it is one",
                self.begun - 1
            )));
        }
        let window_kib = u32::try_from((WINDOW_MAX + XZ_BESIDE) >> 10).unwrap_or(u32::MAX);
        Ok(match self.packing {
            Packing::Gzip => State::Gzip(Box::new(flate2::bufread::GzDecoder::new(raw))),
            Packing::Bzip2 => State::Bzip2(bzip2::bufread::BzDecoder::new(raw)),
            Packing::Xz => {
                let reader = lzma_rust2::XzReader::new_mem_limit(raw, false, window_kib);
                State::Xz(Box::new(reader))
            }
            Packing::Zstd if skip_frame(&mut raw)? => State::Between(raw),
            Packing::Zstd => {
                let decoder = StreamingDecoder::new_with_max_window_size(raw, WINDOW_MAX);
                State::Zstd(Box::new(decoder.map_err(damaged)?))
            }
        })
    }
}

impl Read for Members {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let n = match &mut self.state {
                State::Ended(_) => return Ok(0),
                State::Between(_) => 0,
                State::Gzip(d) => d.read(buf)?,
                State::Bzip2(d) => d.read(buf)?,
                State::Xz(d) => d.read(buf)?,
                State::Zstd(d) => d.read(buf)?,
            };
            if n > 0 {
                self.given += n as u64;
                return Ok(n);
            }
            let raw = match std::mem::replace(&mut self.state, State::Ended(0)) {
                State::Between(raw) => raw,
                State::Gzip(d) => d.into_inner(),
                State::Bzip2(d) => d.into_inner(),
                State::Xz(d) => {
                    let mut raw = d.into_inner();
                    skip_padding(&mut raw)?;
                    raw
                }
                State::Zstd(d) => d.into_inner(),
                State::Ended(bytes) => {
                    self.state = State::Ended(bytes);
                    return Ok(0);
                }
            };
            self.state = self.next(raw)?;
        }
    }
}

/// Skips the zeros that may stand behind a stream of xz, four at a time.
fn skip_padding(raw: &mut Raw) -> io::Result<()> {
    let mut skipped = 0_u64;
    loop {
        let buffered = raw.fill_buf()?;
        let zeros = buffered.iter().take_while(|byte| **byte == 0).count();
        let ended = zeros < buffered.len() || buffered.is_empty();
        raw.consume(zeros);
        skipped += zeros as u64;
        if ended && !skipped.is_multiple_of(4) {
            let what = "stream padding size not multiple of 4";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if ended {
            return Ok(());
        }
    }
}

/// Magic and length of a frame that holds no data.
const FRAME_HEAD_BYTES: usize = 8;

/// Skips a frame that holds no data, if one begins here.
fn skip_frame(raw: &mut Raw) -> io::Result<bool> {
    let mut head = raw.fill_buf()?;
    if head.len() < FRAME_HEAD_BYTES {
        // The head of a frame may lie across what is buffered and what is not.
        let mut whole = head.to_vec();
        raw.consume(whole.len());
        let more = (FRAME_HEAD_BYTES - whole.len()) as u64;
        raw.get_mut().take(more).read_to_end(&mut whole)?;
        raw.get_mut().give_back(whole);
        head = raw.fill_buf()?;
    }
    let is_skippable =
        head.len() >= 8 && (0x50..=0x5f).contains(&head[0]) && head[1..4] == [0x2a, 0x4d, 0x18];
    if !is_skippable {
        return Ok(false);
    }
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    raw.consume(8);
    io::copy(&mut raw.by_ref().take(u64::from(length)), &mut io::sink())?;
    Ok(true)
}
