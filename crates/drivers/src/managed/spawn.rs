//! Starting a process that ends when the one that started it does.

use super::order::ServerOrder;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Starts what `order` names, in a process group of its own. The kernel sends it the signal for an
/// end at once when the calling thread ends, which therefore has to live as long as the server.
///
/// # Errors
/// The system's.
#[allow(unsafe_code)]
pub fn spawn(order: &ServerOrder) -> io::Result<Child> {
    let death = Signal::from_named_raw(order.kill_signal)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no such signal"))?;
    let output = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&order.output)?;
    let mut command = Command::new(&order.program);
    command
        .args(&order.arguments)
        .current_dir(&order.directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0);
    if let Some((uid, gid)) = order.account {
        command.uid(uid).gid(gid);
    }
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs between fork and exec and makes two system calls; it allocates
    // nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(death))?;
            // The parent may have ended before the signal was asked for.
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ))
            }
        });
    }
    command.spawn()
}
