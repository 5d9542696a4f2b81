//! A file system on a loop device on a disk that is served here, and that pauses or is slow when a
//! test asks for it.
//!
//! Invariants: this process never reads or writes what is mounted; the mounts and the folder go
//! when the janitor's standard input ends, which is when the test ends or dies. There is one disk
//! at a time.

use crate::fuse::{self, Journal};
use crate::program::done;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const DISK_BYTES: u64 = 192 << 20;
/// Bytes per second of a disk that is slow.
const SLOW: u64 = 24 << 20;
const JANITOR: &str = "cat > /dev/null; for place in mount fuse; do \
     umount \"$1/$place\" 2> /dev/null || umount -l \"$1/$place\" 2> /dev/null; done; \
     rm -rf --one-file-system \"$1\"";

static PAUSED: AtomicBool = AtomicBool::new(false);
static BYTES_PER_S: AtomicU64 = AtomicU64::new(u64::MAX);

/// Takes its time, when it is asked to.
#[derive(Default)]
pub struct Slowness;

impl Slowness {
    fn take(bytes: usize) {
        let rate = BYTES_PER_S.load(Ordering::SeqCst);
        if rate != u64::MAX {
            std::thread::sleep(Duration::from_secs_f64(bytes as f64 / rate as f64));
        }
        while PAUSED.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Journal for Slowness {
    fn written(&mut self, _: u64, data: &[u8]) {
        Slowness::take(data.len());
    }

    fn flushed(&mut self) -> Result<(), i32> {
        Slowness::take(0);
        Ok(())
    }
}

/// The file system and its disk.
pub struct SlowDisk {
    path: PathBuf,
    janitor: Child,
    disk: fuse::Shared<Slowness>,
}

impl SlowDisk {
    /// A fast disk with an ext4 file system; why there can be none here.
    pub fn make() -> Result<SlowDisk, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("loop devices need root".to_owned());
        }
        let device = fuse::open().map_err(|e| format!("/dev/fuse: {e}"))?;
        let path = std::env::temp_dir().join(format!("redolab-canary-{}", std::process::id()));
        for place in ["mount", "fuse"] {
            std::fs::create_dir_all(path.join(place)).map_err(|e| e.to_string())?;
        }
        let janitor = Command::new("sh")
            .args(["-c", JANITOR, "sh", &path.display().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let mut slow = SlowDisk {
            janitor: janitor.map_err(|e| format!("sh: {e}"))?,
            disk: fuse::Shared::new(Vec::new()),
            path,
        };
        slow.mount(device)?;
        Ok(slow)
    }

    fn mount(&mut self, device: std::fs::File) -> Result<(), String> {
        let image = self.path.join("image");
        let text = |path: PathBuf| path.display().to_string();
        let failed = |e: std::io::Error| e.to_string();
        let file = std::fs::File::create(&image).map_err(failed)?;
        file.set_len(DISK_BYTES).map_err(failed)?;
        let options = "lazy_itable_init=0,lazy_journal_init=0";
        done("mkfs.ext4", &["-q", "-E", options, &text(image.clone())])?;
        self.disk.lock().image = std::fs::read(&image).map_err(failed)?;
        std::fs::remove_file(&image).map_err(failed)?;
        let (keep, options) = fuse::serving(device, &self.disk)?;
        let below = text(self.path.join("fuse"));
        let arguments = ["-i", "-t", "fuse", "-o", &options, "slow-disk", &below];
        let mounted = done("mount", &arguments);
        drop(keep);
        mounted?;
        let file = format!("{below}/{}", fuse::NAME);
        done("mount", &["-t", "ext4", "-o", "loop", &file, &self.at()]).map(drop)
    }

    /// Where it is mounted.
    pub fn at(&self) -> String {
        self.path.join("mount").display().to_string()
    }

    /// Its loop device.
    pub fn device(&self) -> Result<String, String> {
        let source = done("findmnt", &["-n", "-o", "SOURCE", &self.at()])?;
        Ok(source.trim().to_owned())
    }

    /// It confirms nothing for a while.
    pub fn pause(&self, time: Duration) {
        self.set_paused(true);
        std::thread::sleep(time);
        self.set_paused(false);
    }

    /// It confirms nothing from now on, or again.
    pub fn set_paused(&self, is_paused: bool) {
        PAUSED.store(is_paused, Ordering::SeqCst);
    }

    /// It is slow from now on, or as fast as it can be.
    pub fn set_slow(&self, is_slow: bool) {
        let rate = if is_slow { SLOW } else { u64::MAX };
        BYTES_PER_S.store(rate, Ordering::SeqCst);
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        PAUSED.store(false, Ordering::SeqCst);
        BYTES_PER_S.store(u64::MAX, Ordering::SeqCst);
        drop(self.janitor.stdin.take());
        // It has nobody to report to but its standard error.
        drop(self.janitor.wait());
        self.disk.lock().given_up = true;
    }
}
