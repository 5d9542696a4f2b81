//! What tests of private servers share: folders that a server's account can enter, the processes of
//! a server, and kills.

use crate::harness::{Place, Running, entries};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A row of counted commits: it has them however slow the machine is.
pub const SHORT: [&str; 4] = ["--commits", "40", "--jobs", "2"];
/// A row on a server whose figures a test reads.
pub const ROWS: [&str; 4] = ["--commits", "80", "--jobs", "2"];
/// After a kill nothing of a server is left after this time, on a machine that does much else.
const OUTLIVED_MAX: Duration = Duration::from_secs(60);
/// Kills; `REDOLAB_SERVER_KILLS` asks for more.
const KILLS: u64 = 6;

/// Whether a command has ended; what the kernel counted of it can still be read.
pub fn has_ended(running: &Running) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = Pid::from_raw(running.pid().cast_signed()).expect("a process has a number");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let ended = waitid(WaitId::Pid(pid), options);
    ended.expect("our own child").is_some()
}

/// A run on a server by its address, as JSON, beside whatever else has its log on the disk.
pub fn run_on<'a>(address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let on = ["run", "--on", address, "--allow-busy", "--format", "json"];
    [&on[..], more].concat()
}

/// A kind of private server.
#[derive(Clone, Copy)]
pub struct PrivateKind {
    /// Its driver.
    pub driver: &'static str,
    /// An argument that only the server itself has.
    pub argument: &'static str,
}

impl PrivateKind {
    /// A short run on `target`.
    pub fn command<'a>(&self, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let on = [
            "run",
            "--driver",
            self.driver,
            "--on",
            target,
            "--allow-busy",
        ];
        [&on[..], &SHORT, more].concat()
    }

    /// The process of the server itself, once it runs.
    pub fn await_server(&self, folder: &Path) -> i32 {
        let start = Instant::now();
        loop {
            let all = processes(folder);
            let is_it = |line: &str| line.contains(self.argument) && !line.contains("server-guard");
            if let Some((pid, _)) = all.iter().find(|(_, line)| is_it(line)) {
                return *pid;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "no server: {all:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills redolab and its guard at random moments: no server outlives them, the next command
    /// removes what they left, and no run is falsely complete.
    pub fn expect_no_server_outlives_a_kill(&self, place: &Place) {
        let target = text(&place.target).to_owned();
        let asked = std::env::var("REDOLAB_SERVER_KILLS").ok();
        let kills = asked.and_then(|text| text.parse().ok()).unwrap_or(KILLS);
        let seed = std::process::id();
        println!("seed {seed}");
        let mut random = u64::from(seed) | 1;
        for round in 0..kills {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            self.kill_once(place, (round, (random >> 33) % 1500));
            expect_ended(&place.target, &format!("seed {seed}, round {round}"));
        }
        // The last kill may have come before there was anything to be removed.
        let is_left = entries(&place.target)
            .iter()
            .any(|name| name.starts_with(WORK));
        let done = place.run(&self.command(&target, &["-v"]));
        done.expect(0, if is_left { &["Removed"] } else { &[] });
        place.expect_clean(&place.target);
        expect_no_false_run(place);
    }

    /// Redolab, its guard, or both are killed after some milliseconds; every second time after the
    /// server itself was started.
    fn kill_once(&self, place: &Place, (round, after_ms): (u64, u64)) {
        let command = self.command(text(&place.target), &["-q"]);
        let child = place.command(&command).spawn().expect("starts");
        let running = Running::of(child, "run".to_owned());
        if (round / 3) % 2 == 0 {
            self.await_server(&place.target);
        }
        std::thread::sleep(Duration::from_millis(after_ms));
        let guards = processes(&place.target);
        let guards = guards
            .iter()
            .filter(|(_, line)| line.contains("server-guard"));
        let guards: Vec<i32> = guards.map(|(pid, _)| *pid).collect();
        match round % 3 {
            0 => running.signal(Signal::KILL),
            1 => guards.into_iter().for_each(kill),
            _ => {
                guards.into_iter().for_each(kill);
                running.signal(Signal::KILL);
            }
        }
        if round % 3 == 1 {
            // Without its guard a server is gone, and redolab says so and cleans up.
            running.wait();
            place.expect_clean(&place.target);
        } else {
            drop(running);
        }
    }
}

fn expect_no_false_run(place: &Place) {
    let list = ["runs", "--store", text(&place.store), "list"];
    let listed = place.run(&[&list[..], &["--format", "json"]].concat());
    listed.expect(0, &[]);
    for run in listed.json()["runs"].as_array().expect("runs") {
        let rows = run["rows"].as_u64().unwrap_or(0);
        assert!(run["state"] != "complete" || rows == 1, "{run}");
        assert_ne!(run["state"], "damaged", "{run}");
    }
    assert!(entries(&place.store).len() > 1);
}

/// What the names of redolab's folders begin with.
const WORK: &str = "redolab-work-";

/// A place that a server's account can enter.
pub fn open_place() -> Place {
    let place = Place::new();
    open(place.path(), 0o711);
    place
}

pub fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

pub fn folder(place: &Place, name: &str) -> PathBuf {
    let path = place.path().join(name);
    fs::create_dir(&path).expect("a new directory");
    path
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Processes whose command line or working directory is below `folder`.
pub fn processes(folder: &Path) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("lists").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let at = entry.path();
        let line = fs::read(at.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let inside = fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        let is_redolab = line.contains(" run --driver");
        // A process that has ended and was not waited for has neither.
        if !is_redolab && (inside || line.contains(text(folder))) {
            found.push((pid, line));
        }
    }
    found
}

/// Nothing of a server runs on `folder` any more, soon.
pub fn expect_ended(folder: &Path, what: &str) {
    let start = Instant::now();
    loop {
        let left = processes(folder);
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < OUTLIVED_MAX, "{what}: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process");
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::KILL);
}
