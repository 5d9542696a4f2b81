//! Where the files of a log lie, by their names.
//!
//! What it must not know: what is in them.

use crate::format::RAW_LOG_AT;
use crate::group::Geometry;
use std::path::{Path, PathBuf};

/// Paths of a log's files in its directory.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The directory.
    pub directory: PathBuf,
}

impl Paths {
    /// Of a log in `directory`.
    #[must_use]
    pub fn new(directory: impl AsRef<Path>) -> Paths {
        Paths {
            directory: directory.as_ref().to_owned(),
        }
    }

    /// Name of the control file in its directory.
    pub const CONTROL: &str = "redo.ctl";
    /// Name of the control file until all log files are made.
    pub const UNFINISHED: &str = "redo.ctl.unfinished";

    /// Name of the stripe file in each directory of a striped log.
    pub const STRIPE: &str = "redo.stripe";
    /// Name of the stripe file until all of them are made.
    pub const UNFINISHED_STRIPE: &str = "redo.stripe.unfinished";

    /// Name of the ring in its directory.
    pub const RING: &str = "redo.ring";

    /// Names of the log files in their directory, by group.
    #[must_use]
    pub fn log_names(groups: u32) -> Vec<String> {
        (1..=groups).map(|g| format!("redo{g:02}.log")).collect()
    }

    /// The control file.
    #[must_use]
    pub fn control(&self) -> PathBuf {
        self.directory.join(Paths::CONTROL)
    }

    /// The log file of each group.
    #[must_use]
    pub fn logs(&self, groups: u32) -> Vec<PathBuf> {
        let names = Paths::log_names(groups);
        names.iter().map(|name| self.directory.join(name)).collect()
    }
}

/// Where a log lives.
#[derive(Clone, Debug)]
pub enum LogPlace {
    /// In files of a directory.
    Directory(Paths),
    /// On a raw block device.
    Device(PathBuf),
}

impl LogPlace {
    /// Of the log that `path` names: a block device, or else a directory.
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> LogPlace {
        let path = path.as_ref();
        if device::raw::is_block_device(path) {
            LogPlace::Device(path.to_owned())
        } else {
            LogPlace::Directory(Paths::new(path))
        }
    }

    /// What errors name.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            LogPlace::Directory(paths) => &paths.directory,
            LogPlace::Device(path) => path,
        }
    }

    /// What its owner has locked.
    #[must_use]
    pub fn locked(&self) -> PathBuf {
        match self {
            LogPlace::Directory(paths) => paths.control(),
            LogPlace::Device(path) => path.clone(),
        }
    }

    /// Where each group is, to be shown: its file, or the device and the byte that it begins at.
    #[must_use]
    pub fn groups(&self, geometry: &Geometry) -> Vec<PathBuf> {
        match self {
            LogPlace::Directory(paths) => paths.logs(geometry.groups),
            LogPlace::Device(path) => (0..u64::from(geometry.groups))
                .map(|group| RAW_LOG_AT + group * geometry.file_bytes)
                .map(|at| PathBuf::from(format!("{}+{at}", path.display())))
                .collect(),
        }
    }
}
