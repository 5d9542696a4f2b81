//! The block device below a directory, and what it has done: its writes and its flushes.
//!
//! Invariant: the counters are the kernel's, of completed requests; a flush is counted once for
//! the device however the file system asked for it.

use crate::AnyError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a device has completed since the system started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
}

impl Counters {
    /// Reads them from the device's `stat` file.
    pub fn read(stat: &Path) -> Result<Counters, AnyError> {
        let told = |e: std::io::Error| format!("{}: {e}", stat.display());
        let text = std::fs::read_to_string(stat).map_err(told)?;
        Counters::parse(&text)
            .ok_or_else(|| format!("{}: no count of flushes (Linux 5.5)", stat.display()).into())
    }

    /// Fields 5, 7 and 16 of Documentation/block/stat.rst; sectors are of 512 bytes.
    fn parse(text: &str) -> Option<Counters> {
        let field = |at: usize| text.split_whitespace().nth(at - 1)?.parse::<u64>().ok();
        Some(Counters {
            writes: field(5)?,
            written_bytes: field(7)? * 512,
            flushes: field(16)?,
        })
    }

    /// What was added since `before`.
    pub fn since(self, before: Counters) -> Counters {
        Counters {
            writes: self.writes.saturating_sub(before.writes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            flushes: self.flushes.saturating_sub(before.flushes),
        }
    }
}

/// The `stat` file of the device that `directory` lies on; of the whole device where that is a
/// partition, since flushes are counted there.
pub fn stat_file(directory: &Path) -> Result<PathBuf, AnyError> {
    let told = |e: std::io::Error| format!("{}: {e}", directory.display());
    let device = std::fs::metadata(directory).map_err(told)?.dev();
    // As glibc's gnu_dev_major(3) and gnu_dev_minor(3) take a dev_t apart.
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    let node = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let found = node.canonicalize().map_err(|_| {
        format!(
            "{} lies on no block device (it has the number {major}:{minor}): nobody would see \
             whether a peer flushes; name a directory on ext4 or xfs",
            directory.display()
        )
    })?;
    let whole = match found.parent() {
        Some(parent) if found.join("partition").exists() => parent.to_owned(),
        _ => found,
    };
    Ok(whole.join("stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_document() {
        let line = "1 2 3 4 50 6 70 8 9 10 11 12 13 14 15 160 17\n";
        let counters = Counters::parse(line).expect("seventeen fields");
        assert_eq!(counters.writes, 50);
        assert_eq!(counters.written_bytes, 70 * 512);
        assert_eq!(counters.flushes, 160);
        assert_eq!(Counters::parse("1 2 3 4 5 6 7 8 9 10 11\n"), None);
    }

    #[test]
    fn memory_is_no_device() {
        let refused = stat_file(Path::new("/proc")).expect_err("no block device");
        assert!(refused.to_string().contains("/proc"), "{refused}");
    }
}
