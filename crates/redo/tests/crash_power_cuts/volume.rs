//! A file system on a loop device that can lose its power, and its removal whatever happens.
//!
//! Invariant: the one that unmounts and removes is the janitor, a process in a group of its own
//! that waits for its standard input to end: by the test's own hand, or by its death, however it
//! comes (a panic, Ctrl-C, SIGKILL).

use crate::program::done;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JANITOR: &str = "REDO_CUT_JANITOR";
/// The test as which children and janitors are started.
pub const TEST: &str = "acknowledged_commits_survive_power_cuts";

/// A mounted file system.
pub struct Volume {
    at: PathBuf,
    image: PathBuf,
    kind: String,
    _janitor: Janitor,
}

/// Removes everything when it is dropped, or when the one who hired it is gone.
pub struct Janitor(Child);

impl Janitor {
    /// Makes the scratch directory of that name, with places to mount in it, and has it watched.
    pub fn hire(name: &str) -> Result<(PathBuf, Janitor), String> {
        let name = format!("redo-cuts-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        for place in PLACES {
            std::fs::create_dir_all(directory.join(place)).map_err(|e| e.to_string())?;
        }
        let janitor = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .args([TEST, "--exact", "--nocapture"])
            .env(JANITOR, &directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Ok((directory, Janitor(janitor.map_err(|e| e.to_string())?)))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It has nobody to report to but its standard error.
        drop(self.0.wait());
    }
}

/// Where something may be mounted in a scratch directory; the first lies on the second.
pub const PLACES: [&str; 2] = ["mount", "fuse"];

impl Volume {
    /// Makes and mounts one; the error says why there can be none here.
    pub fn make(kind: &str) -> Result<Volume, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("loop devices need root".to_owned());
        }
        done("xfs_io", &["-V"])?;
        let (directory, janitor) = Janitor::hire(kind)?;
        let volume = Volume {
            at: directory.join(PLACES[0]),
            image: directory.join("image"),
            kind: kind.to_owned(),
            _janitor: janitor,
        };
        let file = std::fs::File::create(&volume.image).map_err(|e| e.to_string())?;
        // The smallest that mkfs.xfs still makes is 300 MiB.
        let mib = if kind == "xfs" { 320 } else { 128 };
        file.set_len(mib << 20).map_err(|e| e.to_string())?;
        done(
            &format!("mkfs.{kind}"),
            &["-q", &volume.image.display().to_string()],
        )?;
        volume.mount()?;
        Ok(volume)
    }

    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// The power goes: nothing that is not on the device is ever written to it.
    pub fn cut(&self) -> Result<(), String> {
        done(
            "xfs_io",
            &["-x", "-c", "shutdown", &self.at.display().to_string()],
        )
        .map(drop)
    }

    /// The power is back: what the file system makes of its device.
    pub fn restore(&self) -> Result<(), String> {
        unmount(&self.at, &[])?;
        self.mount()
    }

    /// The loop device goes with the mount.
    fn mount(&self) -> Result<(), String> {
        let (image, at) = (
            self.image.display().to_string(),
            self.at.display().to_string(),
        );
        done("mount", &["-t", &self.kind, "-o", "loop", &image, &at]).map(drop)
    }
}

/// Somebody may hold it for a moment: a child between fork and exec, a scanner of volumes.
fn unmount(at: &Path, options: &[&str]) -> Result<(), String> {
    let at = at.display().to_string();
    let arguments: Vec<&str> = options.iter().copied().chain([at.as_str()]).collect();
    let mut last = Ok(());
    for _ in 0..100 {
        last = done("umount", &arguments).map(drop);
        if last.is_ok() {
            return last;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    last
}

/// Whether this process is a janitor.
pub fn is_janitor() -> bool {
    std::env::var_os(JANITOR).is_some()
}

/// Waits for its end of input, and removes everything.
pub fn janitor() -> ! {
    let directory = PathBuf::from(std::env::var_os(JANITOR).expect("it is one"));
    // Input that cannot be read has ended too.
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
    let dev = |path: &Path| std::fs::metadata(path).map(|m| m.dev()).ok();
    for at in PLACES.map(|place| directory.join(place)) {
        // A file system that was shut down answers with an error, and is mounted.
        let mounted = dev(&at).is_none() || dev(&at) != dev(&directory);
        // Out of sight at once, if not otherwise, and gone with its last user.
        if mounted
            && unmount(&at, &[]).is_err()
            && let Err(why) = unmount(&at, &["--lazy"])
        {
            eprintln!("{} stays: {why}", directory.display());
            std::process::exit(1);
        }
    }
    if let Err(e) = std::fs::remove_dir_all(&directory) {
        eprintln!("{} stays: {e}", directory.display());
    }
    std::process::exit(0);
}
