//! Owners that live, that have ended, and that cannot be seen.

use super::*;
use crate::file::{FINISHING_MAX, lock_exclusive, lock_within, tests::Scratch};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn locks_are_found_by_device_and_inode() {
    let locks = "\
1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
2: FLOCK  ADVISORY  READ  12 fe:00:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 16 fe:00:77 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fe:01:77 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fe:00:77 0 EOF
5: FLOCK  ADVISORY  WRITE 15 00:2b:78 0 EOF
6: FLOCK
";
    for (dev, inode, want) in [
        ((254, 0), 77, Some(14)),
        ((254, 1), 77, Some(13)),
        ((254, 0), 78, None),
        ((0, 99), 78, Some(15)),
        ((7, 0), 77, None),
    ] {
        assert_eq!(find(locks, dev, inode), want, "{dev:?} {inode}");
    }
}

#[test]
fn a_held_file_names_its_owner_and_a_free_one_nobody() {
    let scratch = Scratch::new();
    let path = scratch.file("log", 4096);
    assert_eq!(owner(&path).expect("readable"), None);
    let held = lock_exclusive(&path).expect("free");
    assert_eq!(owner(&path).expect("readable"), Some(std::process::id()));
    drop(held);
    assert_eq!(owner(&path).expect("readable"), None);
}

/// Ended with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        drop((self.0.kill(), self.0.wait()));
    }
}

fn refused(path: &Path, patience: Duration) -> DeviceError {
    let at = DirectoryEntry::of(path).expect("an entry");
    lock_within(&at, patience).expect_err("it is locked")
}

const MOMENT: Duration = Duration::from_millis(50);

/// What proc_pid_stat(5) and proc_pid_status(5) print of a thread.
#[test]
fn threads_run_until_they_end_or_are_killed() {
    let stat = |state: &str, flags: u32| format!("42 (a) b) {state} 1 42 42 0 -1 {flags} 9 9");
    let status = |pending: &str| format!("Name:\ta\nSigPnd:\t{pending}\nShdPnd:\t0\n");
    let none = status("0000000000000000");
    for (state, flags, status, want) in [
        ("S", 0x40_0040, &none, true),
        ("R", 0, &none, true),
        ("D", 0x40, &none, true),
        ("t", 0, &none, true),
        ("S", 0, &status("0000000000000002"), true),
        ("Z", 0x40_0044, &none, false),
        ("X", 0, &none, false),
        // Killed, and in a call that cannot be interrupted; or on its last way.
        ("D", 0x40, &status("0000000000000100"), false),
        ("D", 0x44, &none, false),
        // A ring's worker.
        ("D", 0x40_4050, &none, false),
        ("S", 0, &String::new(), true),
    ] {
        assert_eq!(runs(&stat(state, flags), status), want, "{state} {flags:x}");
    }
    assert!(!runs("", &none) && !runs("42 (a", &none));
    assert!(is_alive(std::process::id()) && !is_alive(0) && !is_alive(u32::MAX));
}

/// The main thread of a program may end before the others: the system then shows the process as a
/// zombie, and it has the lock all the same.
#[test]
fn an_owner_whose_main_thread_has_ended_is_alive() {
    const HOLDER: &str = "\
import ctypes, fcntl, sys, threading
def hold():
    file = open(sys.argv[1], 'r+')
    fcntl.flock(file, fcntl.LOCK_EX)
    print('held', flush=True)
    sys.stdin.read()
threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)
";
    let scratch = Scratch::new();
    let path = scratch.file("log", 4096);
    let mut command = Command::new("python3");
    command.args(["-c", HOLDER]).arg(&path);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = spawned.map(Ended) else {
        return println!("skipped: python3 is not here");
    };
    let mut line = String::new();
    let mut output = BufReader::new(child.0.stdout.take().expect("piped"));
    output.read_line(&mut line).expect("readable");
    assert_eq!(line, "held\n");
    let stat = format!("/proc/{}/stat", child.0.id());
    let begun = Instant::now();
    while !std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z ")) {
        assert!(begun.elapsed() < FINISHING_MAX, "its main thread ends");
        std::thread::sleep(MOMENT / 10);
    }
    assert_eq!(owner(&path).expect("readable"), Some(child.0.id()));
    let said = refused(&path, MOMENT);
    assert!(matches!(said, DeviceError::InUse { .. }), "{said}");
    drop(child);
    lock_exclusive(&path).expect("free with its owner");
}

/// Names the file to a child, which cannot see its parent.
const HIDDEN: &str = "REDOLAB_HIDDEN_OWNER";

/// Processes of others are hidden by an option of /proc: who exists is alive.
#[test]
fn an_owner_that_proc_hides_is_alive() {
    if let Some(path) = std::env::var_os(HIDDEN) {
        // Another user, without any right of root's: a thread has its own.
        let looks = std::thread::spawn(move || {
            use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
            set_thread_groups(&[]).expect("root may");
            set_thread_gid(rustix::process::Gid::from_raw(65534)).expect("root may");
            set_thread_uid(rustix::process::Uid::from_raw(65534)).expect("root may");
            let parent = rustix::process::getppid().expect("a parent");
            let hidden = format!("/proc/{}/stat", parent.as_raw_nonzero());
            let is_hidden = std::fs::read(hidden).is_err();
            println!(
                "\nhidden {is_hidden}: {}",
                refused(Path::new(&path), MOMENT)
            );
            std::io::stdout().flush().expect("a pipe");
        });
        return looks.join().expect("no panic");
    }
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: mounting needs root");
    }
    for option in ["hidepid=1", "hidepid=2"] {
        let scratch = Scratch::new();
        let path = scratch.file("log", 4096);
        let all = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&scratch.0, all(0o755)).expect("ours");
        std::fs::set_permissions(&path, all(0o666)).expect("ours");
        let _held = lock_exclusive(&path).expect("free");
        let script = format!("mount -t proc -o {option} proc /proc && exec \"$0\" \"$@\"");
        let output = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .arg(std::env::current_exe().expect("this program"))
            .args(["an_owner_that_proc_hides_is_alive", "--nocapture"])
            .env(HIDDEN, &path)
            .output();
        let said = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let said = said.unwrap_or_default();
        let Some(line) = said.lines().find(|line| line.starts_with("hidden ")) else {
            return println!("skipped: no mount of /proc of its own here");
        };
        assert!(line.starts_with("hidden true: "), "{option}: {line}");
        let holder = format!("in use by process {};", std::process::id());
        assert!(line.contains(&holder), "{option}: {line}");
    }
}

#[test]
fn a_thread_that_waits_for_a_device_is_named() {
    let waits = "4242 (lgm01.0) D 1 4242 4242 0 -1 4194372 0 0";
    assert_eq!(name_of_waiting(waits).as_deref(), Some("lgm01.0"));
    assert_eq!(
        name_of_waiting("4242 (a) b) D 1 2").as_deref(),
        Some("a) b")
    );
    for others in ["4242 (lgm01.0) S 1 4242", "4242 (D ) R 1", "", "4242"] {
        assert_eq!(name_of_waiting(others), None, "{others}");
    }
}
