//! A file of an archive: the records of one log, or of a part of it, in the order of the log
//! (docs/format.md, "An archived log").
//!
//! Invariants: a file has its name only when all of it is durable; a file that exists is never
//! written to. What it must not know: the log, and when a file ends.

use device::file::Directory;
use redo::{Rba, RedoRecord};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

/// Begins each file.
const MAGIC: [u8; 8] = *b"REDOARC\0";
/// Version of the format.
const VERSION: u8 = 1;
/// Where a record's length would be, in what ends a file.
const END: u32 = u32::MAX;
const HEADER_BYTES: usize = 64;
/// What ends a file, in bytes.
const TRAILER_BYTES: usize = 48;
/// A file's name ends so while it is written.
const PARTIAL: &str = ".partial";
/// Bytes that are collected for a write.
const WRITE_BYTES: usize = 1 << 20;
/// The file is synchronised after so many bytes, so that little is left to be written at its end.
pub(super) const SYNC_BYTES: u64 = 16 << 20;

fn sum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn put_rba(out: &mut Vec<u8>, rba: Rba) {
    out.extend_from_slice(&rba.log_seq.to_le_bytes());
    out.extend_from_slice(&rba.block.to_le_bytes());
    out.extend_from_slice(&rba.offset.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
}

/// The name of the file that begins at `begin`. In the order of the names, files are in the order
/// of the log.
fn name(begin: Rba) -> String {
    let Rba {
        log_seq,
        block,
        offset,
    } = begin;
    format!("redo-{log_seq:020}-{block:010}-{offset:05}.arc")
}

/// Where the file of this name begins.
pub(super) fn begin_of(name: &str) -> Option<Rba> {
    let mut fields = name.strip_prefix("redo-")?.strip_suffix(".arc")?.split('-');
    let begin = Rba {
        log_seq: fields.next()?.parse().ok()?,
        block: fields.next()?.parse().ok()?,
        offset: fields.next()?.parse().ok()?,
    };
    (fields.next().is_none() && self::name(begin) == name).then_some(begin)
}

/// This is the name of a file that was not finished.
pub(super) fn is_partial(name: &str) -> bool {
    let finished = name.strip_suffix(PARTIAL);
    finished.and_then(begin_of).is_some()
}

/// The position behind the file's last record; `None` for a file that ends otherwise.
pub(super) fn end_of(mut file: File) -> io::Result<Option<Rba>> {
    if file.metadata()?.len() < (HEADER_BYTES + TRAILER_BYTES) as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-(TRAILER_BYTES as i64)))?;
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact(&mut trailer)?;
    let (body, kept) = trailer.split_at(TRAILER_BYTES - 4);
    let number =
        |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
    if kept != sum(body).to_le_bytes() || number(0) != END {
        return Ok(None);
    }
    Ok(Some(Rba {
        log_seq: u64::from(number(24)) | u64::from(number(28)) << 32,
        block: number(32),
        offset: number(36) as u16,
    }))
}

/// A file that is written.
pub(super) struct ArchiveFile {
    begin: Rba,
    name: String,
    file: File,
    buffer: Vec<u8>,
    records: u64,
    /// Bytes of the records, without headers.
    record_bytes: u64,
    written: u64,
    synchronised: u64,
}

impl ArchiveFile {
    /// Begins the file of the redo from `begin` on, in `folder`, of the log `log_id` with blocks of
    /// `block_bytes`.
    pub(super) fn create(
        folder: &Directory,
        (log_id, block_bytes): ([u8; 16], u32),
        begin: Rba,
    ) -> io::Result<ArchiveFile> {
        let name = name(begin);
        let file = folder.create_file(partial(&name))?;
        let mut buffer = Vec::with_capacity(WRITE_BYTES + (64 << 10));
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&[VERSION, 0, 0, 0]);
        buffer.extend_from_slice(&log_id);
        buffer.extend_from_slice(&block_bytes.to_le_bytes());
        put_rba(&mut buffer, begin);
        buffer.resize(HEADER_BYTES - 4, 0);
        let crc = sum(&buffer);
        buffer.extend_from_slice(&crc.to_le_bytes());
        Ok(ArchiveFile {
            begin,
            name,
            file,
            buffer,
            records: 0,
            record_bytes: 0,
            written: 0,
            synchronised: 0,
        })
    }

    /// Log sequence number of the log whose redo it has.
    pub(super) fn log_seq(&self) -> u64 {
        self.begin.log_seq
    }

    /// Adds a record. True when it is time to look at what is left of the volume.
    pub(super) fn push(&mut self, record: &RedoRecord) -> io::Result<bool> {
        let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let bytes = u32::try_from(record.bytes.len()).map_err(too_long)?;
        let from = self.buffer.len();
        self.buffer.extend_from_slice(&bytes.to_le_bytes());
        put_rba(&mut self.buffer, record.rba);
        self.buffer.extend_from_slice(&record.bytes);
        let crc = sum(&self.buffer[from..]);
        self.buffer.extend_from_slice(&crc.to_le_bytes());
        self.records += 1;
        self.record_bytes += u64::from(bytes);
        if self.buffer.len() >= WRITE_BYTES {
            self.write_out()?;
        }
        let due = self.written - self.synchronised >= SYNC_BYTES;
        if due {
            self.file.sync_data()?;
            self.synchronised = self.written;
        }
        Ok(due)
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends it: the archive has everything from its beginning to `next`. Durable, with its name,
    /// when it returns. Returns the name and the bytes of the file.
    pub(super) fn finish(mut self, folder: &Directory, next: Rba) -> io::Result<(String, u64)> {
        let mut trailer = END.to_le_bytes().to_vec();
        trailer.extend_from_slice(&[0; 4]);
        trailer.extend_from_slice(&self.records.to_le_bytes());
        trailer.extend_from_slice(&self.record_bytes.to_le_bytes());
        put_rba(&mut trailer, next);
        trailer.resize(TRAILER_BYTES - 4, 0);
        let crc = sum(&trailer);
        self.buffer.extend_from_slice(&trailer);
        self.buffer.extend_from_slice(&crc.to_le_bytes());
        self.write_out()?;
        self.file.sync_all()?;
        folder.rename(partial(&self.name), &self.name)?;
        folder.sync().map_err(io::Error::other)?;
        Ok((self.name, self.written))
    }
}

fn partial(name: &str) -> String {
    format!("{name}{PARTIAL}")
}
