//! Pressure on the page cache: a bounded file that is written through the cache all the time and
//! never flushed, so that the kernel's own writes reach the device between those of the test.

use super::folder::PRESSURE;
use super::order::StopFlags;
use crate::folder::Folder;
use std::os::unix::fs::FileExt;

const CHUNK: usize = 1 << 20;

/// Writes `bytes` over and over until it is stopped.
///
/// # Errors
/// The system's.
pub(super) fn run(folder: &Folder, bytes: u64, stop: &StopFlags) -> std::io::Result<()> {
    let file = {
        let flags = rustix::fs::OFlags::CREATE
            | rustix::fs::OFlags::EXCL
            | rustix::fs::OFlags::WRONLY
            | rustix::fs::OFlags::NOFOLLOW
            | rustix::fs::OFlags::CLOEXEC;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        std::fs::File::from(rustix::fs::openat(
            folder.directory(),
            PRESSURE,
            flags,
            mode,
        )?)
    };
    let mut chunk = vec![0; CHUNK];
    device::file::fill_noise(&mut chunk, 0x7072_6573, 0);
    let mut at = 0;
    while !stop.is_asked() {
        let left = usize::try_from(bytes - at).unwrap_or(CHUNK).min(CHUNK);
        file.write_all_at(&chunk[..left], at)?;
        at += left as u64;
        if at >= bytes {
            at = 0;
        }
    }
    Ok(())
}
