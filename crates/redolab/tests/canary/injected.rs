//! Stalls that are injected, and what the canary makes of them. Nothing here asserts a time: an
//! injection lasts until the canary has reported a stall.

use crate::harness::LoopVolume;
use crate::program::done;
use crate::slow_disk::SlowDisk;
use crate::stalls::{Canary, PrintedStall};
use crate::{alone, number, skipped};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Stalls of each class in a check.
const USUAL: u64 = 2;

/// What holds up the canary.
trait Injection {
    /// The word of its class.
    fn class(&self) -> &'static str;
    /// What it is called in the data.
    fn name(&self) -> &'static str {
        self.class()
    }
    /// Holds it up once.
    fn inject(&mut self, number: u64, canary: &Canary);
}

/// The disk pauses.
struct Pause<'a>(&'a SlowDisk);

impl Injection for Pause<'_> {
    fn class(&self) -> &'static str {
        "storage"
    }

    fn inject(&mut self, number: u64, _: &Canary) {
        self.0.pause(Duration::from_millis(250 + 30 * number));
    }
}

/// The disk pauses while it has pages of somebody else to write.
struct PauseInWriteback<'a>(&'a SlowDisk);

impl Injection for PauseInWriteback<'_> {
    fn class(&self) -> &'static str {
        "storage"
    }

    fn name(&self) -> &'static str {
        "storage in writeback"
    }

    fn inject(&mut self, number: u64, _: &Canary) {
        let to = format!("of={}/beside-{}", self.0.at(), number % 2);
        self.0.set_paused(true);
        let writer = Command::new("dd")
            .args([
                "if=/dev/zero",
                &to,
                "bs=1M",
                "count=8",
                "conv=fsync",
                "status=none",
            ])
            .spawn();
        std::thread::sleep(Duration::from_millis(350 + 30 * number));
        self.0.set_paused(false);
        let ended = writer.and_then(|mut writer| writer.wait());
        assert!(ended.expect("dd runs").success());
    }
}

/// A control group of version 1, which goes away when dropped.
struct Group {
    parent: PathBuf,
    folder: PathBuf,
}

impl Group {
    /// A group of this controller, whose groups have this file; says why it skips.
    fn make(controller: &str, file: &str) -> Option<Group> {
        let parent = Path::new("/sys/fs/cgroup").join(controller);
        let folder = parent.join(format!("redolab-canary-{}", std::process::id()));
        let made = std::fs::create_dir(&folder);
        let group = Group { parent, folder };
        if made.is_err() || !group.folder.join(file).exists() {
            skipped(&format!("there is no control group with {file} here"));
            return None;
        }
        Some(group)
    }

    fn set(&self, file: &str, value: &str) {
        std::fs::write(self.folder.join(file), value).expect("a limit");
    }

    /// Takes a process in, or sends it back.
    fn hold(&self, pid: u32, is_held: bool) {
        let folder = if is_held { &self.folder } else { &self.parent };
        std::fs::write(folder.join("cgroup.procs"), pid.to_string()).expect("our own child");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process of it may not be gone yet.
        for _ in 0..200 {
            let removed = std::fs::remove_dir(&self.folder);
            if removed.is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} stays", self.folder.display());
    }
}

const WRITES: &str = "blkio.throttle.write_iops_device";

/// A control group lets two writes per second of the canary pass to its device.
struct Limit {
    group: Group,
    device: String,
}

impl Limit {
    fn make(node: &str) -> Option<Limit> {
        let group = Group::make("blkio", WRITES)?;
        let name = Path::new(node).file_name().unwrap_or_default();
        let number = std::fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev"));
        let device = number.expect("a device").trim().to_owned();
        Some(Limit { group, device })
    }
}

impl Injection for Limit {
    fn class(&self) -> &'static str {
        "storage"
    }

    fn inject(&mut self, _: u64, canary: &Canary) {
        self.group.set(WRITES, &format!("{} 2", self.device));
        self.group.hold(canary.pid(), true);
        std::thread::sleep(Duration::from_millis(1100));
        self.group.hold(canary.pid(), false);
        self.group.set(WRITES, &format!("{} 0", self.device));
    }
}

const QUOTA: &str = "cpu.cfs_quota_us";

/// The canary shares a fifth of a processor with a program that takes all of it.
struct Quota(Group);

impl Injection for Quota {
    fn class(&self) -> &'static str {
        "scheduler"
    }

    fn inject(&mut self, _: u64, canary: &Canary) {
        self.0.set("cpu.cfs_period_us", "1000000");
        self.0.set(QUOTA, "200000");
        // It enters by itself, so that what it starts is in the group too.
        let script = "echo $$ > \"$1\"; exec timeout 1.5 sh -c 'while :; do :; done'";
        let group = self.0.folder.join("cgroup.procs");
        let hog = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(group)
            .stdin(Stdio::null())
            .spawn();
        self.0.hold(canary.pid(), true);
        hog.and_then(|mut hog| hog.wait())
            .expect("sh ends by itself");
        self.0.hold(canary.pid(), false);
    }
}

/// Somebody has the slow disk write back what he wrote.
struct Storm<'a>(&'a SlowDisk);

impl Injection for Storm<'_> {
    fn class(&self) -> &'static str {
        "writeback"
    }

    fn inject(&mut self, number: u64, _: &Canary) {
        self.0.set_slow(true);
        let to = format!("of={}/storm-{}", self.0.at(), number % 2);
        let count = format!("count={}", 20 + 4 * number.min(10));
        let arguments = ["if=/dev/zero", &to, "bs=1M", &count, "conv=fsync"];
        done("dd", &arguments).expect("writes");
        self.0.set_slow(false);
    }
}

/// A real-time process takes the processor to which the canary is bound.
struct Hog {
    processor: String,
}

impl Hog {
    fn bind(&self, canary: &Canary) {
        let pid = canary.pid().to_string();
        let arguments = ["-a", "-p", "-c", &self.processor, &pid];
        done("taskset", &arguments).expect("our own child");
    }
}

impl Injection for Hog {
    fn class(&self) -> &'static str {
        "scheduler"
    }

    fn inject(&mut self, _: u64, canary: &Canary) {
        self.bind(canary);
        let processor = ["taskset", "-c", &self.processor];
        let before = [&["0.3", "chrt", "-f", "50"][..], &processor].concat();
        let ended = Command::new("timeout")
            .args(before)
            .args(["sh", "-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .status();
        ended.expect("timeout ends by itself");
    }
}

/// Whether a stall has the class of what was injected. A heartbeat that was late by at least half
/// of it makes it one of the scheduler: beside other work that is true whatever was injected.
fn is_right(stall: &PrintedStall, injection: &dyn Injection) -> bool {
    let (ms, class, overdue) = stall;
    class == injection.class() || (class == "scheduler" && *overdue >= ms / 2.0)
}

/// Whether tasks of this machine wait much for its disks or processors before anything is injected:
/// then it stalls by itself, and a stall says little about what was injected.
fn is_busy_machine() -> bool {
    /// Percent of the last ten seconds.
    const MUCH: f64 = 20.0;
    let avg10 = |of: &str| {
        let text = std::fs::read_to_string(format!("/proc/pressure/{of}")).unwrap_or_default();
        let some = text.lines().find(|line| line.starts_with("some "));
        let word = some.and_then(|line| line.split(' ').find_map(|w| w.strip_prefix("avg10=")));
        word.and_then(|word| word.parse::<f64>().ok())
    };
    ["io", "cpu"].iter().any(|of| avg10(of) > Some(MUCH))
}

/// Injects so many stalls; how many were classed right. Of the stalls of one injection the longest
/// counts.
fn injected(canary: &Canary, injection: &mut dyn Injection, count: u64) -> u64 {
    let mut right = 0;
    for at in 0..count {
        // What came between two injections is not of either.
        let between = canary.leftover();
        injection.inject(at, canary);
        let stalls = canary.stalls();
        let longest = stalls.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let is_right = longest.is_some_and(|stall| is_right(stall, injection));
        println!(
            "{} {at}: {stalls:?}, before it {between:?}",
            injection.name()
        );
        note(injection.name(), at, longest);
        right += u64::from(is_right);
    }
    right
}

/// A line of data.
fn note(injected: &str, at: u64, longest: Option<&PrintedStall>) {
    let Some(path) = std::env::var_os("REDOLAB_CANARY_CSV") else {
        return;
    };
    let is_new = !Path::new(&path).exists();
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let mut file = file.expect("opens");
    if is_new {
        writeln!(file, "injected,number,stall_ms,class").expect("writes");
    }
    let (ms, class) = longest.map_or((0.0, "none"), |(ms, class, _)| (*ms, class));
    writeln!(file, "{injected},{at},{ms},{class}").expect("writes");
}

/// The canary's JSON follows its schema.
fn expect_schema(json: &serde_json::Value) {
    let problems = crate::plain::schema_problems(json);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn injected_stalls_are_classed_right() {
    let _alone = alone();
    let disk = match SlowDisk::make() {
        Ok(disk) => disk,
        Err(why) => return skipped(&why),
    };
    for tool in ["dd", "taskset", "chrt", "timeout"] {
        if done(tool, &["--version"]).is_err() {
            return skipped(&format!("{tool} is not here"));
        }
    }
    let count = number("REDOLAB_CANARY_STALLS", USUAL);
    let is_busy = is_busy_machine();
    let node = disk.device().expect("a loop device");
    let canary = Canary::start(&[&disk.at(), "--time", "30m", "--format", "json"]);
    // The first probes have made a median.
    std::thread::sleep(Duration::from_secs(2));
    let mut limit = Limit::make(&node);
    let limited = limit.as_ref().map_or(0, |_| count / 2);
    let mut right = injected(&canary, &mut Pause(&disk), count - limited);
    if let Some(limit) = &mut limit {
        right += injected(&canary, limit, limited);
    }
    let beside = count / 2;
    right += injected(&canary, &mut PauseInWriteback(&disk), beside);
    right += injected(&canary, &mut Storm(&disk), count);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut hog = Hog {
        processor: (processors - 1).to_string(),
    };
    let quota = Group::make("cpu", QUOTA);
    let in_group = quota.as_ref().map_or(0, |_| count / 2);
    if let Some(group) = quota {
        right += injected(&canary, &mut Quota(group), in_group);
    }
    right += injected(&canary, &mut hog, count - in_group);
    let (code, json) = canary.interrupt();
    drop(limit);
    let all = 3 * count + beside;
    let wrong = all - right;
    println!("{right} of {all} injected stalls are classed right, {wrong} wrong");
    assert_eq!(code, Some(130));
    expect_schema(&json);
    let found = done("ls", &[&disk.at()]).expect("lists");
    assert!(!found.contains("redolab"), "left behind: {found}");
    // The proof at length is made on a quiet machine.
    let least = if is_busy && count == USUAL { 1 } else { all };
    assert!(right >= least, "{right} of {all} are right");
}

/// At length: a machine on which nothing else runs has no stall.
#[test]
fn a_quiet_machine_has_no_injected_stalls_at_length() {
    let seconds = number("REDOLAB_CANARY_QUIET_S", 0);
    if seconds == 0 {
        return;
    }
    let _alone = alone();
    // In memory, and served by the kernel alone: a disk of this process would need a processor.
    let Some(volume) = LoopVolume::make_in("ext4", 1, 512, Path::new("/dev/shm")) else {
        return skipped("a loop device in memory");
    };
    let (time, at) = (format!("{seconds}s"), volume.path().display().to_string());
    let canary = Canary::start(&[&at, "--time", &time, "--format", "json"]);
    let (code, json) = canary.wait();
    let found = json["stalls"].as_array().map_or(0, Vec::len);
    println!("{} probes in {seconds} s, {found} stalls", json["probes"]);
    assert_eq!(code, Some(0));
    expect_schema(&json);
    assert_eq!(json["stalls_by_class"].to_string().matches(":0").count(), 4);
}
