//! The flags with which another process opened a file, from /proc.
//!
//! What may not be read is unknown. It does not know whose file it is, or what it is for.

use rustix::fs::OFlags;
use std::path::Path;

/// O_DSYNC and O_SYNC as most architectures have them (asm-generic/fcntl.h); the names of rustix do
/// not distinguish them.
pub const DSYNC: OFlags = OFlags::from_bits_retain(0o10_000);
/// See [`DSYNC`], which is a part of it.
pub const SYNC: OFlags = OFlags::from_bits_retain(0o4_010_000);

/// The flags in a file below `/proc/PID/fdinfo`; `None` where it cannot be read.
#[must_use]
pub fn read(info: &Path) -> Option<OFlags> {
    let info = std::fs::read_to_string(info).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    Some(OFlags::from_bits_retain(flags))
}

/// Those that decide how writes reach the device, by the names of open(2).
#[must_use]
pub fn names(flags: OFlags) -> String {
    let mut names = vec![match flags & OFlags::RWMODE {
        OFlags::RDWR => "O_RDWR",
        OFlags::WRONLY => "O_WRONLY",
        _ => "O_RDONLY",
    }];
    if flags.contains(OFlags::DIRECT) {
        names.push("O_DIRECT");
    }
    if flags.contains(SYNC) {
        names.push("O_SYNC");
    } else if flags.contains(DSYNC) {
        names.push("O_DSYNC");
    }
    names.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_names_of_open() {
        for (flags, expected) in [
            (OFlags::RDWR | OFlags::CLOEXEC, "O_RDWR"),
            (OFlags::RDWR | DSYNC, "O_RDWR|O_DSYNC"),
            (OFlags::RDWR | SYNC, "O_RDWR|O_SYNC"),
            (
                OFlags::WRONLY | OFlags::DIRECT | DSYNC,
                "O_WRONLY|O_DIRECT|O_DSYNC",
            ),
            (OFlags::RDONLY, "O_RDONLY"),
        ] {
            assert_eq!(names(flags), expected);
        }
    }
}
