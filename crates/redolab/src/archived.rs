//! Reads the archive of a log (docs/format.md, "An archived log"), and finds whatever is not as it
//! has to be: a gap, a record twice, a damaged byte, a file that is not whole.
//!
//! Invariants: it shares no code with what writes an archive, nor with the log; only checksums and
//! the text of an address come from elsewhere. Memory holds one record.

use redo::Rba;
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

const HEADER_BYTES: usize = 64;
/// A record's header: its length, and its address in 16 bytes.
const RECORD_BYTES: usize = 20;
/// What ends a file: the mark instead of a length, and 44 bytes behind it.
const TRAILER_BYTES: usize = 48;
const END: u32 = u32::MAX;

/// What an archive holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArchiveSurvey {
    /// The archive's folder.
    pub path: String,
    /// Identity of the log, in hexadecimal; `None` of an archive without files.
    pub log_id: Option<String>,
    /// Files that are whole.
    pub files: u64,
    /// Records in them.
    pub records: u64,
    /// Their bytes, without headers.
    pub record_bytes: u64,
    /// Where the archive begins.
    pub begin_rba: Option<String>,
    /// The position behind its last record.
    pub end_rba: Option<String>,
    /// Names of files that an archiver had begun when it ended. The log still has their redo.
    pub unfinished: Vec<String>,
}

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// The system refuses.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The archive is not whole.
    #[error("{path}: {what}", path = path.display())]
    Broken {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads the archive in `folder`, oldest redo first, and gives each record to `each` with its
/// address.
///
/// # Errors
/// The first problem: a file that cannot be read or is not whole, a gap between two files, files of
/// two logs, no archive at all.
pub fn read_archive(
    folder: &Path,
    mut each: impl FnMut(Rba, &[u8]),
) -> Result<ArchiveSurvey, ArchiveProblem> {
    let failed = |source| ArchiveProblem::Io {
        path: folder.to_owned(),
        source,
    };
    let mut survey = ArchiveSurvey {
        path: folder.display().to_string(),
        ..ArchiveSurvey::default()
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy().into_owned();
        if name.ends_with(".arc") {
            names.push(name);
        } else if name.ends_with(".arc.partial") {
            survey.unfinished.push(name);
        }
    }
    names.sort();
    survey.unfinished.sort();
    if names.is_empty() && survey.unfinished.is_empty() {
        let what = "no file of an archive is here; name the folder redo-archive-… of a log";
        return Err(broken(folder, what));
    }
    let mut before: Option<(Rba, [u8; 16])> = None;
    for name in names {
        let path = folder.join(&name);
        let mut file = ArchivedFile::open(&path)?;
        if file.expected_name() != name {
            let what = format!("its header says that it is {}", file.expected_name());
            return Err(broken(&path, what));
        }
        if let Some((end, log_id)) = before {
            if log_id != file.log_id {
                return Err(broken(&path, "it belongs to another log"));
            }
            if end != file.begin {
                let what = format!(
                    "it begins at {}, and the file before ends at {end}",
                    file.begin
                );
                return Err(broken(&path, what));
            }
        }
        survey.begin_rba.get_or_insert(file.begin.to_string());
        let end = file.read(&mut each)?;
        survey.files += 1;
        survey.records += file.records;
        survey.record_bytes += file.record_bytes;
        before = Some((end, file.log_id));
    }
    if let Some((end, log_id)) = before {
        survey.end_rba = Some(end.to_string());
        survey.log_id = Some(log_id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    Ok(survey)
}

fn broken(path: &Path, what: impl Into<String>) -> ArchiveProblem {
    ArchiveProblem::Broken {
        path: path.to_owned(),
        what: what.into(),
    }
}

/// A file of an archive while it is read.
struct ArchivedFile<'a> {
    path: &'a Path,
    input: BufReader<File>,
    /// Bytes that were not read.
    left: u64,
    log_id: [u8; 16],
    begin: Rba,
    block_bytes: u32,
    records: u64,
    record_bytes: u64,
}

impl ArchivedFile<'_> {
    fn open(path: &Path) -> Result<ArchivedFile<'_>, ArchiveProblem> {
        let failed = |source| ArchiveProblem::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let left = file.metadata().map_err(failed)?.len();
        let mut opened = ArchivedFile {
            path,
            input: BufReader::with_capacity(1 << 20, file),
            left,
            log_id: [0; 16],
            begin: Rba::default(),
            block_bytes: 0,
            records: 0,
            record_bytes: 0,
        };
        let mut head = [0_u8; HEADER_BYTES];
        opened.take(&mut head)?;
        if head[..8] != *b"REDOARC\0" {
            return Err(broken(path, "it is not a file of an archive"));
        }
        if head[8] != 1 {
            let what = format!("it has version {}; this program reads version 1", head[8]);
            return Err(broken(path, what));
        }
        opened.check_sum(&head[..60], u32_at(&head, 60), "its header")?;
        opened.log_id.copy_from_slice(&head[12..28]);
        opened.block_bytes = u32_at(&head, 28);
        opened.begin = rba_at(&head, 32);
        Ok(opened)
    }

    fn expected_name(&self) -> String {
        let Rba {
            log_seq,
            block,
            offset,
        } = self.begin;
        format!("redo-{log_seq:020}-{block:010}-{offset:05}.arc")
    }

    /// Reads all records; returns the position behind the last.
    fn read(&mut self, each: &mut impl FnMut(Rba, &[u8])) -> Result<Rba, ArchiveProblem> {
        let mut last: Option<Rba> = None;
        let mut record = vec![0; RECORD_BYTES];
        loop {
            record.clear();
            record.resize(RECORD_BYTES, 0);
            self.take(&mut record)?;
            let len = u32_at(&record, 0);
            if len == END {
                return self.end(&record, last);
            }
            let at = rba_at(&record, 4);
            if u64::from(len) + 4 > self.left {
                return Err(self.bad(format!("the record at {at} is cut off")));
            }
            record.resize(RECORD_BYTES + len as usize, 0);
            let mut payload = record.split_off(RECORD_BYTES);
            self.take(&mut payload)?;
            record.append(&mut payload);
            let mut sum = [0; 4];
            self.take(&mut sum)?;
            self.check_sum(&record, u32_at(&sum, 0), &format!("the record at {at}"))?;
            let in_block = u32::from(at.offset) < self.block_bytes;
            if last.is_some_and(|last| at <= last) || at < self.begin || !in_block {
                let before = last.unwrap_or(self.begin);
                return Err(self.bad(format!("the record at {at} follows {before}")));
            }
            self.records += 1;
            self.record_bytes += u64::from(len);
            each(at, &record[RECORD_BYTES..]);
            last = Some(at);
        }
    }

    /// Checks what ends the file, of which `begun` was read.
    fn end(&mut self, begun: &[u8], last: Option<Rba>) -> Result<Rba, ArchiveProblem> {
        let mut trailer = begun.to_vec();
        let mut rest = [0_u8; TRAILER_BYTES - RECORD_BYTES];
        self.take(&mut rest)?;
        trailer.extend_from_slice(&rest);
        self.check_sum(&trailer[..44], u32_at(&trailer, 44), "its end")?;
        let counted = (u64_at(&trailer, 8), u64_at(&trailer, 16));
        if counted != (self.records, self.record_bytes) {
            let what = format!(
                "it has {} records with {} bytes; its end says {} with {}",
                self.records, self.record_bytes, counted.0, counted.1
            );
            return Err(self.bad(what));
        }
        if self.left > 0 {
            return Err(self.bad(format!("{} bytes follow its end", self.left)));
        }
        let end = rba_at(&trailer, 24);
        if end < self.begin || last.is_some_and(|last| end <= last) {
            return Err(self.bad(format!("it ends at {end}, before its last record")));
        }
        Ok(end)
    }

    fn take(&mut self, out: &mut [u8]) -> Result<(), ArchiveProblem> {
        if self.left < out.len() as u64 {
            return Err(self.bad("it is cut off".to_owned()));
        }
        self.left -= out.len() as u64;
        self.input
            .read_exact(out)
            .map_err(|source| ArchiveProblem::Io {
                path: self.path.to_owned(),
                source,
            })
    }

    fn check_sum(&self, bytes: &[u8], kept: u32, what: &str) -> Result<(), ArchiveProblem> {
        let found = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes);
        if found == u64::from(kept) {
            return Ok(());
        }
        Err(self.bad(format!("{what} is damaged")))
    }

    fn bad(&self, what: String) -> ArchiveProblem {
        broken(self.path, what)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn rba_at(bytes: &[u8], at: usize) -> Rba {
    Rba {
        log_seq: u64_at(bytes, at),
        block: u32_at(bytes, at + 8),
        offset: u32_at(bytes, at + 12) as u16,
    }
}
