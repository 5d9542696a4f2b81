//! What the tools of others tell of a stack: RAID controllers of their cache's battery (storcli,
//! perccli, ssacli), ZFS of its properties.
//!
//! Invariants: only commands that show are run, by argument arrays, without a shell, and ended
//! after a deadline; a tool that is not installed, fails or hangs leaves its facts unknown. Tools
//! of controllers are run by root alone, and only where a controller was seen.

mod controller;
mod zfs;

use measure::stack::Stack;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A tool that takes longer hangs in its controller.
const DEADLINE: Duration = Duration::from_secs(20);
/// More than any of them prints.
const OUTPUT_MAX: u64 = 16 << 20;

/// Adds to `stack` what tools tell.
pub fn complete(stack: &mut Stack) {
    zfs::complete(stack, &run);
    if stack.has_controller() && rustix::process::geteuid().is_root() {
        controller::complete(stack, &run);
    }
}

/// Runs a tool and gives what it printed, or why it could not.
type Run<'a> = &'a dyn Fn(&Path, &[&str]) -> Option<String>;

fn run(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let out = child.stdout.take()?;
    let (sender, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = out.take(OUTPUT_MAX).read_to_end(&mut text);
        // Nobody waits any more after the deadline.
        let _ = sender.send(
            read.is_ok()
                .then(|| String::from_utf8_lossy(&text).into_owned()),
        );
    });
    let text = heard.recv_timeout(DEADLINE).ok().flatten();
    // All was said, or too much time has passed: in either case it is not needed any more.
    let _ = child.kill();
    let _ = child.wait();
    text
}

/// Where a program of this name is installed: in the places of `PATH`, then in `more`.
fn installed(names: &[&str], more: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|place| place.is_absolute())
        .chain(more.iter().map(PathBuf::from))
        .collect();
    let each = names
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)));
    each.into_iter().find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_run_and_heard() {
        let shell = installed(&["sh"], &[]).expect("every system has one");
        let said = run(&shell, &["-c", "echo $LC_ALL"]);
        assert_eq!(said.as_deref(), Some("C\n"));
        assert_eq!(run(Path::new("/nonexistent/tool"), &[]), None);
        assert_eq!(
            installed(&["no-such-tool-anywhere"], &["/nonexistent"]),
            None
        );
    }
}
