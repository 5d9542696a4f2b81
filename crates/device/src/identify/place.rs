//! Where a path is: its device, its mount, and whether it is a block device itself.
//!
//! Also what the volume has room for. Must not know the layers below.

use super::root::{Dev, Root};
use crate::error::DeviceError;
use rustix::fs::{AtFlags, CWD, FileType, StatVfsMountFlags, Statx, StatxFlags};
use std::path::{Path, PathBuf};

/// What the kernel says of a path, or what a recording says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The absolute path.
    pub path: PathBuf,
    /// The device of its file system.
    pub dev: Option<Dev>,
    /// The id of its mount, from Linux 5.8.
    pub mount_id: Option<u64>,
    /// The device that the path itself is, when it is a block device.
    pub node: Option<Dev>,
}

impl Place {
    /// A path of which nothing else is known: it is found by its name in the mount table.
    #[must_use]
    pub fn named(path: impl Into<PathBuf>) -> Place {
        Place {
            path: path.into(),
            dev: None,
            mount_id: None,
            node: None,
        }
    }

    /// A block device.
    #[must_use]
    pub fn block(path: impl Into<PathBuf>, node: Dev) -> Place {
        Place {
            node: Some(node),
            ..Place::named(path)
        }
    }

    /// Asks this machine's kernel.
    ///
    /// # Errors
    /// When the path does not exist or may not be looked at.
    pub fn of(path: &Path) -> Result<Place, DeviceError> {
        let failed = |source: std::io::Error| DeviceError::Io {
            path: path.to_owned(),
            action: "looking up the file",
            source,
        };
        let absolute = path.canonicalize().map_err(failed)?;
        match statx(&absolute) {
            Ok(stat) => Ok(Place::from_statx(absolute, &stat)),
            Err(_) => Place::by_stat(absolute).map_err(failed),
        }
    }

    fn from_statx(path: PathBuf, stat: &Statx) -> Place {
        let block = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::BlockDevice;
        let has_id = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Place {
            path,
            dev: Some(Dev {
                major: stat.stx_dev_major,
                minor: stat.stx_dev_minor,
            }),
            mount_id: has_id.then_some(stat.stx_mnt_id),
            node: block.then_some(Dev {
                major: stat.stx_rdev_major,
                minor: stat.stx_rdev_minor,
            }),
        }
    }

    /// For kernels and sandboxes without `statx`.
    fn by_stat(path: PathBuf) -> std::io::Result<Place> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let stat = std::fs::metadata(&path)?;
        let node = stat.file_type().is_block_device();
        Ok(Place {
            path,
            dev: Some(Dev::unpack(stat.dev())),
            mount_id: None,
            node: node.then(|| Dev::unpack(stat.rdev())),
        })
    }

    /// A path named by the kernel (a backing file, an upper directory): looked up where this
    /// machine is walked, found by name in a recording.
    pub(super) fn lookup(root: &Root, path: &Path) -> Option<Place> {
        if root.is_live() {
            return Place::of(path).ok();
        }
        path.is_absolute().then(|| Place::named(path))
    }
}

fn statx(path: &Path) -> rustix::io::Result<Statx> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    rustix::fs::statx(CWD, path, AtFlags::empty(), wanted)
}

/// What a volume has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its size in bytes.
    pub total_bytes: u64,
    /// Bytes that an ordinary user may still write.
    pub available_bytes: u64,
    /// Mounted read-only.
    pub read_only: bool,
    /// Files that may still be made; `None` where the file system has no such limit.
    pub inodes_free: Option<u64>,
}

/// Room on the volume of a path.
///
/// # Errors
/// When the path does not exist or the file system does not answer.
pub fn volume(path: &Path) -> Result<Volume, DeviceError> {
    let stat = rustix::fs::statvfs(path).map_err(|e| DeviceError::Io {
        path: path.to_owned(),
        action: "asking for the room on the volume",
        source: e.into(),
    })?;
    let unit = if stat.f_frsize == 0 {
        stat.f_bsize
    } else {
        stat.f_frsize
    };
    Ok(Volume {
        total_bytes: stat.f_blocks.saturating_mul(unit),
        available_bytes: stat.f_bavail.saturating_mul(unit),
        read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        inodes_free: (stat.f_files != 0).then_some(stat.f_favail),
    })
}

/// The path's own setting against copy on write (`chattr +C`), which new files of a directory
/// inherit; `None` where it cannot be read.
pub(super) fn no_copy_attribute(path: &Path) -> Option<bool> {
    let file = std::fs::File::open(path).ok()?;
    let flags = rustix::fs::ioctl_getflags(&file).ok()?;
    Some(flags.contains(rustix::fs::IFlags::NOCOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_named() {
        let path = Path::new("/no/such/place");
        for message in [
            Place::of(path)
                .map(|_| ())
                .expect_err("missing")
                .to_string(),
            volume(path).map(|_| ()).expect_err("missing").to_string(),
        ] {
            assert!(message.starts_with("/no/such/place: "), "{message}");
        }
    }

    #[test]
    fn the_temporary_directory_has_room_and_a_device() {
        let path = std::env::temp_dir();
        let volume = volume(&path).expect("it exists");
        assert!(volume.total_bytes >= volume.available_bytes);
        assert!(volume.total_bytes > 0);
        let place = Place::of(&path).expect("it exists");
        let stat = Place::by_stat(place.path.clone()).expect("it exists");
        assert_eq!((place.dev, place.node), (stat.dev, None));
    }
}
