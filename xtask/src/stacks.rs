//! The stacks of processes that are about to be ended: where each of their threads is.
//!
//! Of a program the debugger gdb knows the functions; where it is missing or of no use, the kernel
//! still says in which of its own functions each thread waits.

use crate::setup::{find, within};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The debugger is ended after this time.
const DEBUGGER_MAX: Duration = Duration::from_secs(30);
/// Lines of a process that are shown at most.
const LINES: usize = 400;

/// What is known of each of these processes, with its command line first.
pub fn of(pids: &[u32]) -> String {
    pids.iter().map(|pid| of_process(*pid)).collect()
}

fn of_process(pid: u32) -> String {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    let stacks = debugger(pid).unwrap_or_else(|| kernel(pid));
    let lines: Vec<&str> = stacks.lines().take(LINES).collect();
    format!("-- process {pid}: {command}\n{}\n", lines.join("\n"))
}

/// What gdb prints; `None` where it is not installed or may not attach.
fn debugger(pid: u32) -> Option<String> {
    let gdb = find("gdb")?;
    let said = std::env::temp_dir().join(format!("stacks-{}-{pid}", std::process::id()));
    let file = std::fs::File::create(&said).ok()?;
    let mut command = Command::new(gdb);
    command
        .args(["-nx", "-batch", "-iex", "set auto-load off"])
        .args(["-iex", "set debuginfod enabled off", "-p", &pid.to_string()])
        .args(["-ex", "thread apply all backtrace 40"])
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null());
    within(&mut command, DEBUGGER_MAX);
    let text = std::fs::read_to_string(&said).unwrap_or_default();
    // Only this process reads it.
    let _ = std::fs::remove_file(&said);
    let begins = text.find("\nThread ")?;
    text.get(begins..).map(str::to_owned)
}

/// Name, state and kernel function of each thread.
fn kernel(pid: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut lines = String::new();
    for task in tasks.into_iter().flatten().flatten() {
        let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find(|line| line.starts_with("State:"));
        lines.push_str(&format!(
            "{} {} {}\n{}",
            read("comm").trim_end(),
            state.unwrap_or("State: unknown"),
            read("wchan"),
            read("stack")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_process_are_shown_and_what_is_gone_is_not_invented() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep");
        // Its arguments are there only when it has begun.
        let begun = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        while begun(child.id()).is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (whole, alone) = (of(&[child.id()]), kernel(child.id()));
        drop(child.kill());
        child.wait().expect("our own child");
        assert!(whole.contains("sleep 600"), "{whole}");
        assert!(
            whole.contains("\nThread ") || whole.contains("State:"),
            "{whole}"
        );
        assert!(alone.starts_with("sleep State:"), "{alone}");
        assert_eq!(kernel(u32::MAX), "");
    }
}
