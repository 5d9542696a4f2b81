//! Work folders in a directory of somebody else, who renames them; and after ends that leave no
//! time: a power cut, a limit of file size, memory that cannot be had.

use crate::harness::{Done, LoopVolume, Place, Running, done, entries, skipped};
use redo::{Log, Shape};
use rustix::process::Signal;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Long enough to measure something.
const SHORT: &str = "100ms";

/// A run of `time` in `target`.
fn run_in(target: &Path, time: &str) -> Vec<String> {
    let target = target.display().to_string();
    let words = [
        "run",
        "--on",
        &target,
        "--jobs",
        "1",
        "--time",
        time,
        "--warmup",
        "0",
        "--allow-busy",
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "-v",
    ];
    words.map(str::to_owned).to_vec()
}

/// Another log, whose files have the names that redolab's own have.
struct Victim {
    at: PathBuf,
    before: Vec<(String, u64, u64, i64, Vec<u8>)>,
}

impl Victim {
    fn new(place: &Place) -> Victim {
        let at = place.path().join("victim");
        std::fs::create_dir(&at).expect("a fresh directory");
        let shape = Shape::default().file_bytes(512 << 10);
        Log::builder(&at).shape(shape).create().expect("a log");
        for name in ["probe.dat", "redo.probe", ".redolab-journal"] {
            std::fs::write(at.join(name), "precious").expect("writes");
        }
        let before = Victim::look(&at);
        Victim { at, before }
    }

    fn look(at: &Path) -> Vec<(String, u64, u64, i64, Vec<u8>)> {
        let print = |name: String| {
            let path = at.join(&name);
            let meta = path.symlink_metadata().expect("exists");
            let content = std::fs::read(&path).expect("readable");
            (name, meta.ino(), meta.size(), meta.mtime_nsec(), content)
        };
        entries(at).into_iter().map(print).collect()
    }

    fn expect_untouched(&self, what: &str) {
        let now = Victim::look(&self.at);
        let names = |v: &[(String, u64, u64, i64, Vec<u8>)]| {
            v.iter()
                .map(|f| (f.0.clone(), f.1, f.2, f.3))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&now), names(&self.before), "{what}");
        assert!(now == self.before, "{what}: content changed");
    }
}

/// Renames each work folder as soon as it is there and links to the victim in its place, and after
/// a moment puts it back, until it is stopped. Counts the swaps.
fn swap(target: &Path, victim: &Path, pause: Duration, stop: &AtomicBool) -> u32 {
    let mut swaps = 0;
    let moved = target.join("moved");
    while !stop.load(Ordering::Relaxed) {
        for name in entries(target) {
            let folder = target.join(&name);
            if !name.starts_with("redolab-work-") || std::fs::rename(&folder, &moved).is_err() {
                continue;
            }
            symlink(victim, &folder).expect("links");
            swaps += 1;
            std::thread::sleep(pause);
            std::fs::remove_file(&folder).expect("a link");
            std::fs::rename(&moved, &folder).expect("renames");
        }
    }
    swaps
}

#[test]
fn a_folder_that_is_swapped_all_the_while_harms_no_other_directory() {
    let seed = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(1, |t| t.as_millis() as u64);
    println!("seed {seed}");
    let mut state = seed;
    let mut draw = |below: u64| measure::workload::split_mix(&mut state) % below;
    let place = Place::new();
    let victim = Victim::new(&place);
    let mut all = 0;
    for round in 0..8 {
        let stop = AtomicBool::new(false);
        let pause = Duration::from_micros(draw(20_000));
        let signal = Duration::from_millis(100 + draw(2_000));
        let (mut ended, mut swaps) = (None, 0);
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| swap(&place.target, &victim.at, pause, &stop));
            let arguments = run_in(&place.target, SHORT);
            let child = place.command(&arguments).spawn().expect("starts");
            let running = Running::of(child, arguments.join(" "));
            if round % 2 == 1 {
                std::thread::sleep(signal);
                running.signal(Signal::INT);
            }
            ended = Some(running.wait());
            stop.store(true, Ordering::Relaxed);
            swaps = swapper.join().expect("no panic");
        });
        let ended: Done = ended.expect("it ended");
        let what = format!("round {round}, {swaps} swaps: {ended:?}");
        victim.expect_untouched(&what);
        // An empty folder may stay that was elsewhere when it was to be removed; no file does.
        for folder in entries(&place.target) {
            let folder = place.target.join(folder);
            assert_eq!(entries(&folder), [""; 0], "{what}");
            std::fs::remove_dir(&folder).expect("empty");
        }
        all += swaps;
    }
    println!("{all} swaps");
    assert!(all > 8, "{all} swaps");
}

#[test]
fn a_limit_of_file_size_or_memory_leaves_no_folder() {
    let place = Place::new();
    let mut aborted = 0;
    // Too little for the log buffer, and in part for what is allocated around it.
    let memory = (46..=66).step_by(4).map(|mib| format!("-v {}", mib << 10));
    for limit in ["-f 4000".to_owned(), "-f 90000".to_owned()]
        .into_iter()
        .chain(memory)
    {
        let script = format!("ulimit {limit}; exec \"$@\"");
        let binary = env!("CARGO_BIN_EXE_redolab").to_owned();
        let mut words = vec!["-c".to_owned(), script, "sh".to_owned(), binary];
        words.extend(run_in(&place.target, SHORT));
        let mut shell = Command::new("sh");
        shell
            .args(&words)
            .current_dir(place.path())
            .env("REDOLAB_STORE", &place.store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = Running::of(shell.spawn().expect("starts"), limit.clone()).wait();
        aborted += u32::from(ended.code.is_none());
        assert_eq!(entries(&place.target), [""; 0], "ulimit {limit}: {ended:?}");
        if limit == "-f 4000" {
            ended.expect(1, &["File too large"]);
        }
    }
    println!("{aborted} aborted");
}

#[test]
fn an_abort_leaves_no_folder() {
    for moment in ["log files ...", "LGWR-LAT1 1 job (1/1) ..."] {
        let place = Place::new();
        let arguments = run_in(&place.target, "60s");
        let child = place.command(&arguments).spawn().expect("starts");
        let mut running = Running::of(child, arguments.join(" "));
        running.until_said(moment);
        assert_eq!(entries(&place.target).len(), 1, "{moment}");
        running.signal(Signal::ABORT);
        let ended = running.wait();
        assert_eq!(ended.code, None, "{ended:?}");
        place.expect_clean(&place.target);
    }
}

#[test]
fn after_a_power_cut_the_next_run_removes_the_folder() {
    if done("xfs_io", &["-V"]).is_none() {
        return skipped("xfs_io is not here");
    }
    let Some(mut volume) = LoopVolume::make("ext4", 8, 512) else {
        return;
    };
    for cut in 0..3_u64 {
        let place = Place::new();
        let target = volume.path().to_owned();
        let arguments = run_in(&target, "60s");
        let child = place.command(&arguments).spawn().expect("starts");
        let mut running = Running::of(child, arguments.join(" "));
        running.until_said("log files ...");
        std::thread::sleep(Duration::from_millis(300 + 350 * cut));
        volume.cut();
        running.signal(Signal::KILL);
        drop(running.wait());
        volume.restore();
        let left = entries(&target);
        assert_eq!(
            left.len(),
            1,
            "the cut came while the folder was there: {left:?}"
        );
        let again = place.run(&run_in(&target, SHORT));
        // On a busy machine a row of a moment has no commit.
        let code = again.code.filter(|code| *code == 4).unwrap_or(0);
        again.expect(code, &["Removed 1 folder that a killed run had left"]);
        place.expect_clean(&target);
    }
}
