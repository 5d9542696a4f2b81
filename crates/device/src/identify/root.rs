//! Reading `/proc`, `/sys` and `/dev`, of this machine or of a recording of one.
//!
//! Invariants: every look-up of `identify` goes through [`Root`], so that a recorded tree is
//! walked exactly like the live machine; nothing here fails loudly: what cannot be read is `None`
//! or empty, and the caller says what that means. What it must not know: what the files mean.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most that is read of one file: mount tables of container hosts have megabytes.
const READ_LIMIT: u64 = 64 << 20;
/// sysfs attributes are at most a page.
const TEXT_LIMIT: u64 = 64 << 10;

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dev {
    /// The driver's number; 0 for anonymous devices, which have no block device.
    pub major: u32,
    /// The driver's own count.
    pub minor: u32,
}

impl Dev {
    /// `major:minor`, as sysfs and mountinfo write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Dev> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Dev {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// From the packed form of `stat`.
    #[must_use]
    pub fn unpack(dev: u64) -> Dev {
        Dev {
            major: rustix::fs::major(dev),
            minor: rustix::fs::minor(dev),
        }
    }

    /// It has no block device: a file system in memory, on a network, or on several devices.
    #[must_use]
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for Dev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A directory that stands for `/`.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
    live: bool,
}

impl Root {
    /// The machine that this process runs on.
    #[must_use]
    pub fn live() -> Root {
        Root {
            prefix: PathBuf::from("/"),
            live: true,
        }
    }

    /// A recording: a directory that holds `proc`, `sys` and `dev`.
    #[must_use]
    pub fn recorded(prefix: impl Into<PathBuf>) -> Root {
        Root {
            prefix: prefix.into(),
            live: false,
        }
    }

    /// System calls on paths speak of the same machine as the files.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Where an absolute path is found.
    #[must_use]
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let path = absolute.as_ref();
        self.prefix.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A short text without surrounding white space and zeros; `None` when it is empty.
    #[must_use]
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let bytes = read_up_to(&self.path(absolute), TEXT_LIMIT)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A number in a file of its own.
    #[must_use]
    pub fn number(&self, absolute: impl AsRef<Path>) -> Option<u64> {
        self.text(absolute)?.parse().ok()
    }

    /// The bytes of a file.
    #[must_use]
    pub fn bytes(&self, absolute: impl AsRef<Path>) -> Option<Vec<u8>> {
        read_up_to(&self.path(absolute), READ_LIMIT)
    }

    /// Names in a directory, sorted; empty when there is none.
    #[must_use]
    pub fn list(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(absolute)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// Something is there.
    #[must_use]
    pub fn exists(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }

    /// The path with every symbolic link resolved, as an absolute path of this root.
    #[must_use]
    pub fn resolve(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        let real = self.path(absolute).canonicalize().ok()?;
        let prefix = self.prefix.canonicalize().ok()?;
        let inside = real.strip_prefix(prefix).ok()?;
        Some(Path::new("/").join(inside))
    }

    /// Where a symbolic link points, as written in it.
    #[must_use]
    pub fn link(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        std::fs::read_link(self.path(absolute)).ok()
    }
}

fn read_up_to(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A path from bytes that the kernel gave.
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// The last component, as text.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// `prefix` and then a number: the kernel's way to name devices.
pub(super) fn is_numbered(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}
