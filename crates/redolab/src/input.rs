//! Opening files that the user names as inputs.
//!
//! Invariants: what has to be a regular file is opened without waiting, so that a FIFO never blocks
//! the command, and is refused when it is anything else; small files are read with a limit. A
//! symbolic link to an input is followed, since it is the user's own.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest text file of settings that is read, in bytes.
pub const SETTINGS_MAX_BYTES: u64 = 1 << 20;

/// Opens a regular file for reading.
///
/// # Errors
/// The system's, or `InvalidInput` for a FIFO, a device, a socket or a directory.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    let kind = match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
        FileType::RegularFile => return Ok(File::from(fd)),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Socket => "a socket",
        _ => "something else",
    };
    let what = format!("is {kind}, not a regular file; save its content in a file first");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// The text of a regular file of settings.
///
/// # Errors
/// Those of [`open`], a file over [`SETTINGS_MAX_BYTES`], or text that is not UTF-8.
pub fn read_settings(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let limit = SETTINGS_MAX_BYTES;
    open(path)?.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        let what = format!("is longer than {limit} bytes, which no such file is");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(text)
}
