//! `check --soak` on a loop device that the kernel throttles to the rate of a burst, and from some
//! moment on to a lower one: to the log it is a volume whose burst credits are spent then. Once by
//! requests, once by bytes, once not at all. The device is in memory: no other work on a disk holds
//! its writes up.
//!
//! A check takes the first of them, and skips it if other work leaves no even level in three soaks.
//! `REDOLAB_CREDITS=all` takes all three and skips none.

use crate::harness::{LoopVolume, Place, Running, is_root, skipped, tmpfs};
use serde_json::Value;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a device of these tests lets pass per second, in a burst and once it is over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Requests([u32; 2]),
    Bytes([u32; 2]),
    None,
}

/// A control group that throttles one device, and the processes in it. It goes away when dropped,
/// which the processes have to do before.
struct Throttle {
    folder: PathBuf,
    device: String,
    is_v2: bool,
}

const NAME: &str = "redolab-credits-";

impl Throttle {
    /// A group that lets everything pass; says why it skips.
    fn make(node: &str) -> Option<Throttle> {
        if !is_root() {
            skipped("throttling a device needs root");
            return None;
        }
        let v1 = Path::new("/sys/fs/cgroup/blkio");
        let v2 = Path::new("/sys/fs/cgroup");
        let is_v1 = v1.join("blkio.throttle.write_iops_device").exists();
        let controllers = std::fs::read_to_string(v2.join("cgroup.subtree_control"));
        let is_v2 = controllers.is_ok_and(|all| all.split_whitespace().any(|c| c == "io"));
        let parent = match (is_v1, is_v2) {
            (true, _) => v1,
            (false, true) => v2,
            (false, false) => {
                skipped("this kernel has no control group that throttles block devices");
                return None;
            }
        };
        remove_left_over(parent);
        let folder = parent.join(format!("{NAME}{}", std::process::id()));
        if std::fs::create_dir(&folder).is_err() {
            skipped(&format!("{} cannot be made", folder.display()));
            return None;
        }
        let device = std::fs::metadata(node).expect("a device").rdev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Some(Throttle {
            folder,
            device: format!("{major}:{minor}"),
            is_v2: !is_v1,
        })
    }

    fn add(&self, pid: u32) {
        let file = self.folder.join("cgroup.procs");
        std::fs::write(file, pid.to_string()).expect("our own child");
    }

    /// From now on no more passes than in its burst (0), or behind it (1).
    fn allow(&self, limit: Limit, phase: usize) {
        let (key, file, limit) = match limit {
            Limit::Requests(n) => ("wiops", "blkio.throttle.write_iops_device", n[phase]),
            Limit::Bytes(n) => ("wbps", "blkio.throttle.write_bps_device", n[phase]),
            Limit::None => return,
        };
        let device = &self.device;
        let (file, line) = match self.is_v2 {
            true => ("io.max", format!("{device} {key}={limit}")),
            false => (file, format!("{device} {limit}")),
        };
        std::fs::write(self.folder.join(file), line).expect("a limit");
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // The last process of it may not be gone yet.
        for _ in 0..200 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} stays", self.folder.display());
    }
}

/// Removes groups of tests that were killed.
fn remove_left_over(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(NAME);
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // A process may still be in it; then it stays.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// What a user may set for a soak of seconds on a busy machine.
const THRESHOLDS: &str = "steady_min_s = 20\ncap_flat_pct = 12\nbucket_depth_pct = 10\n";

/// The run and the report of a soak whose device is throttled after some seconds; `None` where it
/// cannot be throttled.
fn soaked(limit: Limit, need: &[&str]) -> Option<(Value, String)> {
    let place = Place::new();
    let memory = tmpfs(&place, 2048)?;
    let volume = LoopVolume::make_in("ext4", 4, 512, &memory.at)?;
    let throttle = Throttle::make(volume.device())?;
    let target = volume.path().join("target");
    std::fs::create_dir(&target).expect("a fresh directory");
    let text = |path: PathBuf| path.display().to_string();
    let (thresholds, report) = (place.path().join("thresholds"), place.path().join("r.html"));
    std::fs::write(&thresholds, THRESHOLDS).expect("writes");
    let (target, thresholds, report) = (text(target), text(thresholds), text(report));
    let fixed = "--quick --jobs 1 --time 200ms --warmup 1s --log-file-size 64M --log-groups 2 \
                 --allow-busy --soak 26s --format json";
    let mut arguments = vec!["check", &target, "--thresholds", &thresholds];
    arguments.extend(["--report", &report]);
    arguments.extend(fixed.split_whitespace().chain(need.iter().copied()));
    let child = place.command(&arguments).spawn().expect("starts");
    let mut running = Running::of(child, arguments.join(" "));
    throttle.add(running.pid());
    // The row before the soak has ended.
    running.until_said("LGWR-THR 1 job (");
    throttle.allow(limit, 0);
    running.until_said("soak: ");
    std::thread::sleep(Duration::from_secs(5));
    throttle.allow(limit, 1);
    let done = running.wait();
    let known = done.code.is_some_and(|code| [0, 3, 4].contains(&code));
    assert!(known, "{done:?}");
    let report = std::fs::read_to_string(&report).expect("a report");
    Some((done.json(), report))
}

/// A soak in which a bucket was found: other work that takes the processors for a second leaves no
/// even level, or makes the rows behind the soak slow, and then none may be found. After three
/// soaks that is skipped, or the last is returned where all have to be found.
fn drained(limit: Limit, need: &[&str]) -> Option<(Value, String)> {
    let mut left = 3;
    loop {
        let found = soaked(limit, need)?;
        left -= 1;
        if finding(&found.0, "steady.bucket").is_some() || left == 0 && takes_all() {
            return Some(found);
        }
        println!("again: {:#}", shown(&found.0));
        if left == 0 {
            skipped(
                "no bucket in three soaks beside other work; `cargo xtask prove credits` skips none",
            );
            return None;
        }
    }
}

fn takes_all() -> bool {
    std::env::var("REDOLAB_CREDITS").as_deref() == Ok("all")
}

fn finding<'a>(run: &'a Value, id: &str) -> Option<&'a Value> {
    let all = run["findings"].as_array().expect("findings");
    all.iter().find(|f| f["id"] == id)
}

fn number(finding: &Value, name: &str) -> f64 {
    let pairs = finding["numbers"].as_array().expect("numbers");
    let found = pairs.iter().find(|pair| pair[0] == name);
    let value = found.and_then(|pair| pair[1].as_f64());
    value.unwrap_or_else(|| panic!("{name}: {finding}"))
}

/// The bucket that was found, with what holds of each.
fn expect_bucket<'a>((run, report): &'a (Value, String), counts: &str) -> &'a Value {
    let bucket = finding(run, "steady.bucket");
    let bucket = bucket.unwrap_or_else(|| panic!("no bucket: {:#}", shown(run)));
    let claim = bucket["claim"].as_str().expect("a claim");
    assert!(claim.contains(counts), "{claim}");
    assert!(finding(run, "steady.step").is_none(), "{claim}");
    assert!(number(bucket, "sustained_tps") < number(bucket, "burst_tps"));
    let (at, elapsed) = (
        number(bucket, "emptied_at_s"),
        soak(run)["elapsed_s"].as_f64(),
    );
    assert!(at > 0.0 && Some(at) < elapsed, "{claim}");
    let advice = bucket["advice"].as_str().expect("advice");
    assert!(advice.contains("peak of the stated need"), "{advice}");
    assert!(report.contains(">empty at "), "the figure marks the moment");
    bucket
}

fn soak(run: &Value) -> &Value {
    let rows = run["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["soak"] == true).expect("a soak")
}

/// What a bucket is found in, for a test that failed.
fn shown(run: &Value) -> Value {
    let rows = run["rows"].as_array().expect("rows");
    let behind = rows.iter().filter(|row| row["workload"] == "after-soak");
    let keys = [
        "jobs",
        "elapsed_s",
        "commits",
        "redo_writes_iops",
        "redo_size_bytes",
    ];
    let keys = [&keys[..], &["redo_wastage_bytes", "log_file_sync_ms"]].concat();
    let figures = |row: &Value| keys.iter().map(|key| row[*key].clone()).collect::<Value>();
    let seconds = soak(run)["intervals"].as_array().expect("intervals");
    let second = |i: &Value| serde_json::json!([i["log_writes"], i["written_bytes"]]);
    serde_json::json!({
        "keys": keys,
        "behind": behind.map(figures).collect::<Value>(),
        "seconds": seconds.iter().map(second).collect::<Value>(),
    })
}

#[test]
fn burst_credits_are_recognised_when_a_soak_has_spent_them() {
    let need = ["--commit-rate", "2000"];
    let Some(found) = drained(Limit::Requests([800, 200]), &need) else {
        return;
    };
    let bucket = expect_bucket(&found, "counts requests");
    assert!(number(bucket, "bucket_log_writes") > 0.0);
    let judged = finding(&found.0, "need.commit_rate").expect("judged");
    let claim = judged["claim"].as_str().expect("a claim");
    assert!(
        claim.contains("after the burst the soak sustained"),
        "{claim}"
    );
    if !takes_all() {
        return;
    }
    let need = ["--redo-rate", "20M"];
    let found = drained(Limit::Bytes([4 << 20, 1 << 20]), &need).expect("as before");
    let bucket = expect_bucket(&found, "counts bytes");
    assert!(number(bucket, "bucket_mb") > 0.0);
    let judged = finding(&found.0, "need.redo_rate").expect("judged");
    let claim = judged["claim"].as_str().expect("a claim");
    assert!(claim.contains("after the burst"), "{claim}");
    let (run, report) = soaked(Limit::None, &need).expect("as before");
    assert!(
        finding(&run, "steady.bucket").is_none(),
        "{:#}",
        shown(&run)
    );
    assert!(!report.contains(">empty at "));
}
