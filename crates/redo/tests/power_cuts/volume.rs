//! A file system on a loop device that can lose its power, and its removal whatever happens.
//!
//! Invariant: the one that unmounts and removes is the janitor, a process in a group of its own
//! that waits for its standard input to end: by the test's own hand, or by its death, however it
//! comes (a panic, Ctrl-C, SIGKILL).

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JANITOR: &str = "REDO_CUT_JANITOR";
const TEST: &str = "acknowledged_commits_survive_power_cuts";

/// A mounted file system.
pub struct Volume {
    at: PathBuf,
    image: PathBuf,
    kind: String,
    janitor: Child,
}

/// Runs a program; its complaint if it fails.
fn done(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(format!("{program}: {}", last.unwrap_or("failed")))
}

impl Volume {
    /// Makes and mounts one; the error says why there can be none here.
    pub fn make(kind: &str) -> Result<Volume, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("loop devices need root".to_owned());
        }
        done("xfs_io", &["-V"])?;
        let directory =
            std::env::temp_dir().join(format!("redo-cuts-{}-{kind}", std::process::id()));
        let at = directory.join("mount");
        std::fs::create_dir_all(&at).map_err(|e| e.to_string())?;
        // From here on whatever is left is the janitor's.
        let janitor = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .args([TEST, "--exact", "--nocapture"])
            .env(JANITOR, &directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let janitor = janitor.map_err(|e| e.to_string())?;
        let image = directory.join("image");
        let volume = Volume {
            at,
            image,
            kind: kind.to_owned(),
            janitor,
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
        done("mount", &["-t", &self.kind, "-o", "loop", &image, &at])
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        // It has nobody to report to but its standard error.
        drop(self.janitor.wait());
    }
}

/// Somebody may hold it for a moment: a child between fork and exec, a scanner of volumes.
fn unmount(at: &Path, options: &[&str]) -> Result<(), String> {
    let at = at.display().to_string();
    let arguments: Vec<&str> = options.iter().copied().chain([at.as_str()]).collect();
    let mut last = Ok(());
    for _ in 0..100 {
        last = done("umount", &arguments);
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
    let at = directory.join("mount");
    let mounted = || {
        let parent = std::fs::metadata(&directory).map(|m| std::os::unix::fs::MetadataExt::dev(&m));
        let own = std::fs::metadata(&at).map(|m| std::os::unix::fs::MetadataExt::dev(&m));
        // A file system that was shut down answers with an error, and is mounted.
        own.is_err() || own.ok() != parent.ok()
    };
    if mounted() && unmount(&at, &[]).is_err() {
        // Out of sight at once, gone with its last user.
        if let Err(why) = unmount(&at, &["--lazy"]) {
            eprintln!("{} stays: {why}", directory.display());
            std::process::exit(1);
        }
    }
    if let Err(e) = std::fs::remove_dir_all(&directory) {
        eprintln!("{} stays: {e}", directory.display());
    }
    std::process::exit(0);
}
