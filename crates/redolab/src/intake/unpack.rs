//! Packed evidence: gzip, bzip2, xz and zstd, recognised by their first bytes, streamed, and
//! bounded.
//!
//! A bomb is stopped by size and by ratio; both say what to do. What was unpacked before a damage
//! or a limit is read.

use super::members::{Members, Packing};
use super::packed::{Counted, window_too_big};
use std::io::{self, BufReader, Chain, Cursor, Read};

/// Ratio that no text reaches: longest runs of one line stay far below it.
pub const RATIO_MAX: u64 = 2_000;
/// Unpacked bytes below which the ratio is not looked at.
const RATIO_FROM: u64 = 64 << 20;
const MAGIC_BYTES: usize = 6;

enum Stream {
    Plain(Chain<Cursor<Vec<u8>>, Box<dyn Read>>),
    Packed(Members),
}

/// Evidence as it is read, unpacked where it was packed.
pub struct Unpacked {
    stream: Stream,
    given: u64,
    max_bytes: u64,
}

impl Unpacked {
    /// Looks at the first bytes of `file`, and unpacks what follows if they say so. At most
    /// `max_bytes` are unpacked.
    ///
    /// # Errors
    /// The system's, while reading the first bytes.
    pub fn new(mut file: Box<dyn Read>, max_bytes: u64) -> io::Result<Unpacked> {
        let mut magic = Vec::new();
        file.by_ref()
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut magic)?;
        let kind = packing(&magic);
        let whole = Cursor::new(magic).chain(file);
        let raw = |inner| BufReader::with_capacity(256 << 10, Counted::of(inner));
        let packing = match kind {
            "gzip" => Some(Packing::Gzip),
            "bzip2" => Some(Packing::Bzip2),
            "xz" => Some(Packing::Xz),
            "zstd" => Some(Packing::Zstd),
            _ => None,
        };
        let stream = match packing {
            Some(packing) => Stream::Packed(Members::new(packing, raw(whole))),
            None => Stream::Plain(whole),
        };
        Ok(Unpacked {
            stream,
            given: 0,
            max_bytes,
        })
    }

    /// How it was packed: `gzip`, `bzip2`, `xz`, `zstd`, or empty.
    #[must_use]
    pub fn packing(&self) -> &'static str {
        match &self.stream {
            Stream::Plain(_) => "",
            Stream::Packed(members) => members.name(),
        }
    }

    /// Bytes that were given so far.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Packed bytes that were read.
    fn taken(&self) -> u64 {
        match &self.stream {
            Stream::Plain(_) => u64::MAX,
            Stream::Packed(members) => members.taken(),
        }
    }

    fn check(&self) -> io::Result<()> {
        let taken = self.taken();
        if taken == u64::MAX {
            return Ok(());
        }
        if self.given > self.max_bytes {
            return Err(io::Error::other(format!(
                "unpacks to over {} bytes; --max-unpacked raises the limit",
                self.max_bytes
            )));
        }
        if self.given > RATIO_FROM && self.given / taken.max(1) > RATIO_MAX {
            return Err(io::Error::other(format!(
                "unpacks to over {RATIO_MAX} times its size, which no evidence does; unpack it \
                 yourself if it is one"
            )));
        }
        Ok(())
    }
}

impl Read for Unpacked {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.stream {
            Stream::Plain(r) => r.read(buf),
            Stream::Packed(members) => members.read(buf).map_err(too_far_back),
        }?;
        self.given += n as u64;
        self.check()?;
        Ok(n)
    }
}

fn too_far_back(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::OutOfMemory => window_too_big(),
        _ => e,
    }
}

/// How a file that begins so is packed; empty where it is not.
#[must_use]
pub fn packing(magic: &[u8]) -> &'static str {
    match magic {
        [0x1f, 0x8b, 0x08, ..] => "gzip",
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => "bzip2",
        [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => "xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => "zstd",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::members::{MEMBER_BYTES, MEMBERS_FREE};
    use super::*;
    use std::io::Write;

    const PACKINGS: [&str; 4] = ["gzip", "bzip2", "xz", "zstd"];

    fn pack(packing: &str, text: &[u8]) -> Vec<u8> {
        match packing {
            "gzip" => {
                let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                to.write_all(text).expect("memory");
                to.finish().expect("memory")
            }
            "bzip2" => {
                let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                to.write_all(text).expect("memory");
                to.finish().expect("memory")
            }
            "xz" => {
                let options = lzma_rust2::XzOptions::with_preset(0);
                let mut to = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
                to.write_all(text).expect("memory");
                to.finish().expect("memory")
            }
            _ => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                ruzstd::encoding::compress_to_vec(text, level)
            }
        }
    }

    /// What comes out, in reads of `step` bytes, and what ended it.
    fn unpack(packed: &[u8], max_bytes: u64, step: usize) -> (Vec<u8>, Option<String>) {
        let file = Box::new(Cursor::new(packed.to_vec()));
        let mut from = Unpacked::new(file, max_bytes).expect("memory");
        let (mut out, mut buf) = (Vec::new(), vec![0; step]);
        loop {
            match from.read(&mut buf) {
                Ok(0) => return (out, None),
                Ok(n) => out.extend_from_slice(&buf[..n]),
                Err(e) => return (out, Some(e.to_string())),
            }
        }
    }

    fn text() -> Vec<u8> {
        let line = |n| {
            format!(
                "WAIT #1: nam='log file sync' ela= {} tim={n}\n",
                n * n % 977
            )
        };
        (0..4_000_u64).flat_map(|n| line(n).into_bytes()).collect()
    }

    #[test]
    fn packed_equals_plain_also_in_several_streams() {
        let text = text();
        let (first, second) = text.split_at(text.len() / 3);
        for packing in PACKINGS {
            let streams = [pack(packing, first), pack(packing, second)].concat();
            assert_eq!(super::packing(&streams), packing);
            for (step, packed) in [(1 << 16, pack(packing, &text)), (977, streams)] {
                let (out, ended) = unpack(&packed, u64::MAX, step);
                assert_eq!(ended, None, "{packing}");
                assert!(out == text, "{packing}: other text came out");
            }
        }
    }

    #[test]
    fn what_stands_before_a_cut_is_given_and_no_more() {
        let text = text();
        for packing in PACKINGS {
            let packed = pack(packing, &text);
            for cut in (1..packed.len()).step_by(packed.len() / 40 + 1) {
                let (out, ended) = unpack(&packed[..cut], u64::MAX, 4096);
                if super::packing(&packed[..cut]) != packing {
                    // Of less than the first bytes nobody can tell that it is packed.
                    assert_eq!(out, packed[..cut], "{packing} cut at {cut}");
                    continue;
                }
                assert!(text.starts_with(&out), "{packing} cut at {cut}");
                assert!(ended.is_some(), "{packing} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_bomb_is_stopped_by_size_and_by_ratio() {
        let zeros = vec![0; 80 << 20];
        for packing in PACKINGS {
            let packed = pack(packing, &zeros);
            let (out, ended) = unpack(&packed, 1 << 20, 1 << 16);
            assert!(out.len() <= 1 << 20, "{packing}");
            assert!(
                ended.is_some_and(|e| e.contains("--max-unpacked")),
                "{packing}"
            );
            let ratio = (zeros.len() / packed.len()) as u64;
            let (out, ended) = unpack(&packed, u64::MAX, 1 << 20);
            if ratio > RATIO_MAX {
                assert!(
                    ended.is_some_and(|e| e.contains("times its size")),
                    "{packing}"
                );
                assert!(out.len() as u64 <= RATIO_FROM + (1 << 20), "{packing}");
            } else {
                assert_eq!(
                    (out.len(), ended),
                    (zeros.len(), None),
                    "{packing}: {ratio}"
                );
            }
        }
    }

    /// Beginning a member costs far more than its bytes: 1.4 MB of empty ones took 12 seconds.
    #[test]
    fn members_with_nothing_in_them_are_few() {
        for packing in PACKINGS {
            let many = 5 * MEMBERS_FREE as usize;
            let empty = pack(packing, b"").repeat(many);
            let file = Box::new(Cursor::new(empty));
            let mut from = Unpacked::new(file, u64::MAX).expect("memory");
            let ended = io::copy(&mut from, &mut io::sink()).expect_err(packing);
            assert!(ended.to_string().contains("packed members"), "{ended}");
            let Stream::Packed(members) = &from.stream else {
                panic!("{packing} is a packing");
            };
            assert!(members.begun() <= MEMBERS_FREE + 1, "{packing}");

            // As many with something in them are read.
            let line = [b'x'; 2 * MEMBER_BYTES as usize];
            let (out, ended) = unpack(&pack(packing, &line).repeat(many / 4), u64::MAX, 1 << 16);
            assert_eq!(
                (out.len(), ended),
                (line.len() * many / 4, None),
                "{packing}"
            );
        }
    }

    /// A window that would take the memory itself is refused before it is made.
    #[test]
    fn a_window_that_is_too_large_is_refused() {
        // A frame with a window of 2^41 bytes.
        let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
        // A block header whose dictionary has 4 GiB - 1, with its checksum.
        let mut xz = pack("xz", b"x");
        let header = 12..12 + (usize::from(xz[12]) + 1) * 4;
        assert_eq!(xz[14], 0x21, "LZMA2 is the only filter");
        xz[16] = 40;
        let end = header.end - 4;
        let checksum =
            crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &xz[header.start..end]);
        xz[end..header.end].copy_from_slice(&(checksum as u32).to_le_bytes());
        for packed in [zstd.to_vec(), xz] {
            let (out, ended) = unpack(&packed, u64::MAX, 4096);
            assert!(out.is_empty());
            assert!(
                ended.as_ref().is_some_and(|e| e.contains("64 MiB")),
                "{ended:?}"
            );
        }
    }
}
