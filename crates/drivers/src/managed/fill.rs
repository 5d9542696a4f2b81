//! Writing a file once over its whole length.
//!
//! A log file that was only allocated makes the file system convert the blocks of each first write,
//! which costs a flush more. A server that was in use for a while overwrites blocks instead.

use device::file::Directory;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

const CHUNK: usize = 1 << 20;

/// Writes the bytes of the file called `name` over themselves, unless `interrupted`. Nothing is
/// flushed. A link is not followed, because the file may belong to an account that is not trusted.
///
/// # Errors
/// Of the system; or it is not a regular file.
pub(crate) fn fill(folder: &Directory, name: &OsStr, interrupted: &AtomicBool) -> io::Result<()> {
    let file = folder.open_writable(name)?;
    let length = file.metadata()?.len();
    rewrite(&file, length, interrupted)
}

fn rewrite(file: &File, length: u64, interrupted: &AtomicBool) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    while at < length && !interrupted.load(Ordering::Relaxed) {
        let count = CHUNK.min(usize::try_from(length - at).unwrap_or(CHUNK));
        file.read_exact_at(&mut chunk[..count], at)?;
        file.write_all_at(&chunk[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_hole_becomes_blocks_and_no_byte_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = Directory::open(folder.path()).expect("opens");
        let path = folder.path().join("log");
        let length = CHUNK as u64 * 3 + 5000;
        let file = File::create(&path).expect("makes it");
        file.set_len(length).expect("sets it");
        file.write_all_at(b"head", 0).expect("writes");
        file.write_all_at(b"tail", length - 4).expect("writes");
        let before = std::fs::read(&path).expect("reads");
        fill(&held, "log".as_ref(), &AtomicBool::new(false)).expect("fills");
        assert!(std::fs::read(&path).expect("reads") == before);
        let blocks = file.metadata().expect("it is there").blocks();
        assert!(blocks * 512 >= length, "{blocks} blocks");
    }

    #[test]
    fn links_are_not_followed_and_an_interrupt_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = Directory::open(folder.path()).expect("opens");
        let path = folder.path().join("log");
        File::create(&path)
            .and_then(|file| file.set_len(4 * CHUNK as u64))
            .expect("makes it");
        fill(&held, "log".as_ref(), &AtomicBool::new(true)).expect("interrupted");
        assert_eq!(path.metadata().expect("it is there").blocks(), 0);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("links");
        assert!(fill(&held, "link".as_ref(), &AtomicBool::new(false)).is_err());
        assert!(fill(&held, ".".as_ref(), &AtomicBool::new(false)).is_err());
    }
}
