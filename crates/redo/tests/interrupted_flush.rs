//! A signal may interrupt fdatasync on file systems that wait for somebody else, such as FUSE. Here
//! a FUSE server answers flushes with EINTR, which is what the caller of an interrupted one sees:
//! the log asks again and goes on, on threads and rings. Any other answer poisons the log.
//!
//! A child commits, in a mount namespace of its own that ends with it; this process serves, and
//! touches nothing above what it serves.

#[path = "crash_power_cuts/fuse.rs"]
mod fuse;

mod common;

use device::fault::{EINTR, EIO};
use device::{FileSet, LogDevice, SimDisk, SyncMethod, UringFiles, UringOptions};
use redo::control::CONTROL_BYTES;
use redo::format::LogId;
use redo::writer::Cause;
use redo::{CommitMode, Error, Options, Shape};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(2)
    .file_bytes(512 << 10);
const COMMITS: u8 = 8;
/// Names the file to write, and whether through rings, to a child.
const DISK: &str = "REDO_INTERRUPTED_DISK";
const RINGS: &str = "REDO_INTERRUPTED_RINGS";
const PATIENCE: Duration = Duration::from_secs(60);

/// How flushes are answered, and how many of them were carried out.
#[derive(Default)]
struct Flushes {
    /// Error numbers that the next flushes are answered with, the last first.
    refused: Vec<i32>,
    done: usize,
}

impl fuse::Journal for Flushes {
    fn written(&mut self, _at: u64, _data: &[u8]) {}

    fn flushed(&mut self) -> Result<(), i32> {
        if let Some(errno) = self.refused.pop() {
            return Err(errno);
        }
        self.done += 1;
        Ok(())
    }
}

type Shared = fuse::Shared<Flushes>;

/// A directory that something is mounted on in the child's namespace.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Best effort: the test has told its result already.
        drop(std::fs::remove_dir(&self.0));
    }
}

struct Committer {
    child: Child,
    /// Dropped, it calls off the end of the child that is due after [`PATIENCE`].
    _watch: Sender<()>,
    lines: Lines<BufReader<ChildStdout>>,
    disk: Shared,
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.disk.lock().given_up = true;
        // It may have ended, which is as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Committer {
    fn start(place: &Place, rings: bool) -> Result<Committer, String> {
        let told = |e: std::io::Error| e.to_string();
        let device = fuse::open().map_err(|e| format!("/dev/fuse: {e}"))?;
        let bytes = SHAPE.file_bytes as usize * SHAPE.groups as usize;
        let disk = Shared::new(vec![0; bytes]);
        let (device, options) = fuse::serving(device, &disk)?;
        // The child must not hold the server's end, or it would wait for a server that died.
        let script = r#"mount -i -t fuse -o "$0" redo-disk "$1" && eval "exec $3<&-" && exec "$2" \
            --exact interrupted_flushes_are_asked_for_again --nocapture"#;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "bash", "-c", script]);
        command.arg(options).arg(&place.0);
        command.arg(std::env::current_exe().map_err(told)?);
        command.arg(device.as_raw_fd().to_string());
        command.env(DISK, place.0.join(fuse::NAME));
        command.envs(rings.then_some((RINGS, "1")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawned = command.spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(e) => {
                disk.lock().given_up = true;
                return Err(format!("unshare: {e}"));
            }
        };
        drop(device);
        let out = child.stdout.take().expect("piped");
        let lines = BufReader::new(out).lines();
        let (_watch, called_off) = channel();
        let late = rustix::process::Pid::from_child(&child);
        std::thread::spawn(move || {
            if called_off.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // What waits for its words then finds none.
                let _ = rustix::process::kill_process(late, Signal::KILL);
            }
        });
        Ok(Committer {
            child,
            _watch,
            lines,
            disk,
        })
    }

    /// The next word of the child that is meant for us.
    fn hear(&mut self) -> Option<String> {
        let lines = self.lines.by_ref().map_while(Result::ok);
        let mut words = lines.filter_map(|l| Some(l.split_once("CHILD ")?.1.to_owned()));
        words.next()
    }

    /// Has it commit once more while flushes are answered so, the last first.
    fn commit(&mut self, answers: &[i32]) -> Option<String> {
        self.disk.lock().journal.refused = answers.to_vec();
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "go").expect("it listens");
        self.hear()
    }

    fn flushes(&self) -> usize {
        self.disk.lock().journal.done
    }
}

/// The child: a log on the disk, a commit for each line that it is sent.
fn commit_on(path: &Path, rings: bool) {
    let bytes = SHAPE.file_bytes * u64::from(SHAPE.groups);
    let files = FileSet::open(&[path.to_owned()], bytes, SyncMethod::Buffered).expect("opens");
    let data: Arc<dyn LogDevice> = match rings {
        true => Arc::new(UringFiles::new(files, UringOptions::default())),
        false => Arc::new(files),
    };
    let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    let geometry = SHAPE.geometry(&data.caps(), path).expect("a shape");
    redo::control::ControlFile::format(Arc::clone(&control), geometry, LogId([7; 16]))
        .expect("a new log");
    let options = Options::default().buffer_bytes(1 << 20);
    let (log, _) = common::open_on(data, control, options).expect("opens");
    let mut session = log.session();
    println!("CHILD open");
    for line in std::io::stdin().lines() {
        drop(line.expect("readable"));
        let done = session
            .append(&[b"redo"])
            .and_then(|_| session.commit(CommitMode::WAIT_IMMEDIATE));
        match done {
            Ok(_) => println!("CHILD durable"),
            Err(Error::Poisoned(Cause::Flush(failure))) => println!("CHILD {}", failure.errno),
            Err(other) => println!("CHILD {other}"),
        }
    }
}

/// Commits with interrupted flushes, then with one that fails.
fn try_on(place: &Place, rings: bool) -> Result<(), String> {
    let mut child = Committer::start(place, rings)?;
    if child.hear().as_deref() != Some("open") {
        return Err("the child could not mount or open".to_owned());
    }
    for n in 0..COMMITS {
        let before = child.flushes();
        let interrupted = vec![EINTR; usize::from(n % 4)];
        assert_eq!(child.commit(&interrupted).as_deref(), Some("durable"));
        let left = child.disk.lock().journal.refused.clone();
        assert_eq!(left, [], "all were answered");
        assert_eq!(child.flushes(), before + 1, "and then one succeeded");
    }
    let lost = child.commit(&[EIO, EINTR]);
    assert_eq!(lost, Some(EIO.to_string()));
    assert_eq!(child.commit(&[]), Some(EIO.to_string()), "it stays so");
    drop(child.child.stdin.take());
    let start = Instant::now();
    while child.child.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < PATIENCE, "the child ends with its input");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[test]
fn interrupted_flushes_are_asked_for_again() {
    if let Some(path) = std::env::var_os(DISK) {
        return commit_on(Path::new(&path), std::env::var_os(RINGS).is_some());
    }
    if !rustix::process::geteuid().is_root() {
        println!("skipped: mounting needs root");
        return;
    }
    for rings in [false, true] {
        if let (true, Err(refused)) = (rings, UringOptions::default().check()) {
            println!("skipped: {refused}");
            return;
        }
        let name = format!("redo-interrupted-{}-{rings}", std::process::id());
        let place = Place(std::env::temp_dir().join(name));
        std::fs::create_dir(&place.0).expect("a fresh directory");
        if let Err(why) = try_on(&place, rings) {
            println!("skipped: {why}");
            return;
        }
    }
}
