//! Where tracefs is. Where it is not mounted, a mount of redolab's own, to which no path leads: it
//! ends with the process, however that ends.

use super::TracefsError;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::path::{Path, PathBuf};

/// Where systems mount it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The kernel's tracefs.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// The mount, where it is redolab's own.
    _own: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds it where it is mounted, and mounts it for this process otherwise.
    ///
    /// # Errors
    /// It is not mounted, and cannot be.
    pub fn find() -> Result<Tracefs, TracefsError> {
        let mounted = |place: &&&str| Path::new(place).join("instances").is_dir();
        if let Some(place) = PLACES.iter().find(mounted) {
            return Ok(Tracefs {
                root: PathBuf::from(place),
                _own: None,
            });
        }
        Tracefs::mount()
    }

    fn mount() -> Result<Tracefs, TracefsError> {
        let refused = |errno: Errno| TracefsError::NotMounted {
            why: match errno {
                Errno::PERM | Errno::ACCESS => "not mounted, and only root can mount it".to_owned(),
                Errno::NODEV => "this kernel has none (CONFIG_FTRACE)".to_owned(),
                Errno::NOSYS => {
                    "not mounted, and this kernel has no mounts without a path".to_owned()
                }
                other => format!("it is not mounted, and cannot be: {other}"),
            },
        };
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(refused)?;
        fsconfig_create(&context).map_err(refused)?;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        let mount = fsmount(&context, flags, MountAttrFlags::empty()).map_err(refused)?;
        Ok(Tracefs {
            root: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())),
            _own: Some(mount),
        })
    }

    /// A directory that leads to it, in this process.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
