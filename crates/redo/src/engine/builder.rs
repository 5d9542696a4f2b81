//! Where a log lies and how it is made and opened: the one way in.
//!
//! Invariants: a raw device is written by [`LogBuilder::create`] only as
//! [`Layout::Cleared`], which `device::raw` gives for a device that was looked at,
//! confirmed by its exact path, and held; what is not given takes its default.

use super::create::hold;
use super::headers::fresh_id;
use super::member_layout::MemberLayout;
use super::{Log, Options, Paths, Shape, stripe};
use crate::control;
use crate::error::Error;
use crate::recovery::Recovery;
use device::file::Directory;
use device::raw::{ClearedRawDevice, HeldRawDevice};
use device::{LogDevice, StripeWidth};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a log lies.
#[non_exhaustive]
pub enum Layout {
    /// In files of the directory of this path.
    Directory(PathBuf),
    /// In files of a directory that is held open: its path may change hands.
    OpenDirectory(Directory),
    /// In a file of each of several directories, which should be on different devices.
    Stripe {
        /// The directories, from 2 to [`device::stripe::MAX_STRIPE_DEVICES`]. A log that exists is
        /// opened whatever their order.
        directories: Vec<Directory>,
        /// Width of the stripe of a log that is made. A log that exists has recorded its own.
        width: StripeWidth,
    },
    /// On a raw block device that holds a log, to be opened.
    Device(HeldRawDevice),
    /// On a raw block device whose content may be overwritten, to make a log on it.
    Cleared(ClearedRawDevice),
    /// On one device of models and tests, laid out as a raw device.
    Space {
        /// The device.
        device: Arc<dyn LogDevice>,
        /// What errors name.
        path: PathBuf,
    },
    /// In several places, each of which holds the whole log.
    Members(MemberLayout),
    /// On two devices of models and tests.
    Devices {
        /// The device of all groups.
        data: Arc<dyn LogDevice>,
        /// The device of the control information.
        control: Arc<dyn LogDevice>,
    },
}

impl Layout {
    /// In files of `directory`, which exists.
    #[must_use]
    pub fn directory(directory: impl AsRef<Path>) -> Layout {
        Layout::Directory(directory.as_ref().to_owned())
    }

    /// In a stripe over `directories`, which exist.
    ///
    /// # Errors
    /// A directory that cannot be opened.
    pub fn stripe(directories: &[impl AsRef<Path>], width: StripeWidth) -> Result<Layout, Error> {
        let each = directories.iter().map(|path| hold(path.as_ref()));
        let directories = each.collect::<Result<_, _>>()?;
        Ok(Layout::Stripe { directories, width })
    }

    /// On `device`, laid out as a raw device; errors name `path`.
    #[must_use]
    pub fn space(device: Arc<dyn LogDevice>, path: impl AsRef<Path>) -> Layout {
        let path = path.as_ref().to_owned();
        Layout::Space { device, path }
    }

    /// On `data`, which spans all groups, and `control`, of [`crate::control::CONTROL_BYTES`].
    #[must_use]
    pub fn devices(data: Arc<dyn LogDevice>, control: Arc<dyn LogDevice>) -> Layout {
        Layout::Devices { data, control }
    }
}

impl From<&Path> for Layout {
    fn from(directory: &Path) -> Layout {
        Layout::directory(directory)
    }
}

impl From<&PathBuf> for Layout {
    fn from(directory: &PathBuf) -> Layout {
        Layout::directory(directory)
    }
}

impl From<PathBuf> for Layout {
    fn from(directory: PathBuf) -> Layout {
        Layout::Directory(directory)
    }
}

impl From<&str> for Layout {
    fn from(directory: &str) -> Layout {
        Layout::directory(directory)
    }
}

impl From<&Directory> for Layout {
    fn from(directory: &Directory) -> Layout {
        Layout::OpenDirectory(directory.clone())
    }
}

impl From<HeldRawDevice> for Layout {
    fn from(device: HeldRawDevice) -> Layout {
        Layout::Device(device)
    }
}

impl From<ClearedRawDevice> for Layout {
    fn from(device: ClearedRawDevice) -> Layout {
        Layout::Cleared(device)
    }
}

impl From<MemberLayout> for Layout {
    fn from(members: MemberLayout) -> Layout {
        Layout::Members(members)
    }
}

/// Makes and opens a log. See [`Log::builder`].
pub struct LogBuilder<'a> {
    pub(super) layout: Layout,
    shape: Shape,
    options: Options,
    progress: Box<dyn Fn(u64, u64) + 'a>,
    cancel: Box<dyn Fn() -> bool + 'a>,
}

impl Log {
    /// Begins to make or to open a log in a directory (a path, or [`Directory`]), on a raw device
    /// ([`HeldRawDevice`] to open, [`ClearedRawDevice`] to create) or in any other [`Layout`].
    ///
    /// ```no_run
    /// # fn main() -> Result<(), redo::Error> {
    /// use redo::Log;
    /// Log::builder("/var/lib/engine/log").create()?;
    /// let (log, recovery) = Log::builder("/var/lib/engine/log").open()?;
    /// # let _ = (log, recovery);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn builder<'a>(layout: impl Into<Layout>) -> LogBuilder<'a> {
        LogBuilder {
            layout: layout.into(),
            shape: Shape::default(),
            options: Options::default(),
            progress: Box::new(|_, _| {}),
            cancel: Box::new(|| false),
        }
    }
}

impl<'a> LogBuilder<'a> {
    /// The shape of the log that is to be made; [`Shape::default`] without it.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> LogBuilder<'a> {
        self.shape = shape;
        self
    }

    /// How the log is run once it is open; [`Options::default`] without it.
    #[must_use]
    pub fn options(mut self, options: Options) -> LogBuilder<'a> {
        self.options = options;
        self
    }

    /// Called while log files are written, with the bytes done and the bytes in all.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(u64, u64) + 'a) -> LogBuilder<'a> {
        self.progress = Box::new(progress);
        self
    }

    /// Polled while log files are written; return true to cancel, which removes what was made.
    #[must_use]
    pub fn cancel(mut self, cancel: impl Fn() -> bool + 'a) -> LogBuilder<'a> {
        self.cancel = Box::new(cancel);
        self
    }

    /// Makes the log; returns the builder, which can open it.
    ///
    /// In a directory, which must exist, log files are written with pseudo-random bytes, and the
    /// control information gets its name last. Nothing that exists is overwritten; what was begun
    /// is removed when it fails or is cancelled, and by the next call where this one was killed.
    ///
    /// In a stripe each directory gets one file, which is written in full with pseudo-random bytes;
    /// the files get their names last.
    ///
    /// On a raw device whatever it holds is wiped from both ends, the groups are written once with
    /// pseudo-random bytes, and the control information comes last. When it fails or is cancelled,
    /// the device holds no log. It stays held.
    ///
    /// # Errors
    /// Impossible shapes, block sizes that the device does not allow, no room, existing
    /// files, another creation in the same directory ([`Error::BeingCreated`]), a raw device that
    /// was not cleared ([`Error::NotCleared`]) or is too small
    /// ([`device::raw::RawDeviceRefusal::TooSmall`]; nothing was written then), a device that
    /// fails.
    pub fn create(mut self) -> Result<LogBuilder<'a>, Error> {
        let (shape, progress, cancel) = (self.shape, &*self.progress, &*self.cancel);
        self.layout = match self.layout {
            Layout::Directory(path) => {
                let held = hold(&path)?;
                Log::create_at(&held, shape, progress, cancel)?;
                Layout::Directory(path)
            }
            Layout::OpenDirectory(held) => {
                Log::create_at(&held, shape, progress, cancel)?;
                Layout::OpenDirectory(held)
            }
            Layout::Stripe { directories, width } => {
                stripe::create(&directories, width, shape, progress, cancel)?;
                Layout::Stripe { directories, width }
            }
            Layout::Cleared(device) => {
                Log::create_raw(&device, shape, progress, cancel)?;
                Layout::Device(device.into_held())
            }
            Layout::Device(held) => {
                let path = held.look().path().to_owned();
                return Err(Error::NotCleared { path });
            }
            Layout::Space { device, path } => {
                Log::create_in(&device, &path, shape, progress, cancel)?;
                Layout::Space { device, path }
            }
            Layout::Members(members) => {
                Log::create_members(&members, shape, progress, cancel)?;
                Layout::Members(members)
            }
            Layout::Devices { data, control } => {
                let path = Path::new(Paths::CONTROL);
                let geometry = shape.geometry(&data.caps(), path)?;
                control::ControlFile::format(Arc::clone(&control), geometry, fresh_id(path))?;
                Layout::Devices { data, control }
            }
        };
        Ok(self)
    }

    /// Opens the log and recovers it. A raw device is held until the log is gone.
    ///
    /// # Errors
    /// No log, another version, another log's file, a log in use, damage, options that are not
    /// possible, a device that fails. Nothing was changed then, unless the device failed while a
    /// new incarnation was recorded.
    pub fn open(self) -> Result<(Log, Recovery), Error> {
        let options = self.options;
        match self.layout {
            Layout::Directory(path) => Log::open_at(&hold(&path)?, options),
            Layout::OpenDirectory(held) => Log::open_at(&held, options),
            Layout::Stripe { directories, .. } => Log::open_stripe(&directories, options),
            Layout::Device(held) => Log::open_raw(held, options),
            Layout::Cleared(device) => Log::open_raw(device.into_held(), options),
            Layout::Space { device, path } => Log::open_in(&device, &path, options),
            Layout::Members(members) => Log::open_members(members, options),
            Layout::Devices { data, control } => Log::open_devices(data, control, options),
        }
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, path) = match self {
            Layout::Directory(path) => ("Directory", &**path),
            Layout::OpenDirectory(held) => ("OpenDirectory", held.path()),
            Layout::Stripe { directories, .. } => {
                let paths = directories.iter().map(Directory::path);
                return f
                    .debug_tuple("Stripe")
                    .field(&paths.collect::<Vec<_>>())
                    .finish();
            }
            Layout::Device(held) => ("Device", held.look().path()),
            Layout::Cleared(device) => ("Cleared", device.held().look().path()),
            Layout::Space { path, .. } => ("Space", &**path),
            Layout::Members(_) => return f.write_str("Members"),
            Layout::Devices { .. } => return f.write_str("Devices"),
        };
        f.debug_tuple(kind).field(&path).finish()
    }
}

impl std::fmt::Debug for LogBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogBuilder")
            .field("layout", &self.layout)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
