//! Starting a process that ends when the one that started it does.

use super::order::ServerOrder;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Runs its arguments, and ends all processes of its group, itself included, when it is asked to
/// end. The group is that of the process that runs it.
const GROUP: &str = "trap 'kill -s KILL 0' TERM QUIT; \"$@\" & wait $!";

/// Starts what `order` names, in a process group of its own; what it prints goes to the standard
/// error of this process. The kernel sends it the signal for an
/// end at once when the calling thread ends, which therefore has to live as long as the server.
/// With `starts_others` that signal has to be SIGTERM or SIGQUIT.
///
/// # Errors
/// The system's.
#[allow(unsafe_code)]
pub fn spawn(order: &ServerOrder) -> io::Result<Child> {
    let death = Signal::from_named_raw(order.kill_signal)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no such signal"))?;
    // The guard's own is the file of what the server prints.
    let output = io::stderr().as_fd().try_clone_to_owned()?;
    let mut command = if order.starts_others {
        // What a program starts gets no signal when its guard ends, but this shell does.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", GROUP, "sh"]).arg(&order.program);
        shell
    } else {
        Command::new(&order.program)
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, kill_process};
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    const SIGTERM: i32 = 15;

    /// A script whose child would outlive it.
    fn script(folder: &Path) -> ServerOrder {
        let text = "sleep 1000 & echo $! > started; mv started pid; wait";
        ServerOrder {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), text.into()],
            directory: folder.to_owned(),
            account: None,
            end_signal: SIGTERM,
            kill_signal: SIGTERM,
            patience: Duration::ZERO,
            starts_others: true,
        }
    }

    /// The child of the script, once it runs.
    fn started(folder: &Path) -> Pid {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let text = std::fs::read_to_string(folder.join("pid")).unwrap_or_default();
            if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
                return pid;
            }
            assert!(Instant::now() < until, "it does not start");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// A process that ended may wait for its parent to take notice.
    fn runs(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    fn expect_ended(pid: Pid) {
        let until = Instant::now() + Duration::from_secs(5);
        while runs(pid) {
            assert!(Instant::now() < until, "it still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_script_started_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = spawn(&script(folder.path())).expect("starts");
        let pid = started(folder.path());
        assert!(runs(pid));
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        child.wait().expect("it ends");
        expect_ended(pid);
    }

    #[test]
    fn what_a_script_started_ends_with_the_thread_that_started_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        let starting = thread::spawn(move || {
            let child = spawn(&script(&path)).expect("starts");
            (child, started(&path))
        });
        let (mut child, pid) = starting.join().expect("a thread");
        expect_ended(pid);
        child.wait().expect("it ends");
    }
}
