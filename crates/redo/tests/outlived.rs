//! Sessions and queues that outlive their log: they hold no file and no device, through threads and
//! through rings, and the next owner comes at once. And a process that outlives its kill, because
//! one of its members is frozen.

mod common;

use common::{SMALL, Scratch, options, record};
use device::raw::RawDevice;
use device::{IoEngine, UringOptions};
use redo::{
    CommitMode, CommitPost, Completions, Error, Log, LogWriter, MemberLayout, Options, Session,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WRITERS: [LogWriter; 3] = [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Workers(2)];

/// Every way to write, rings where there are some.
fn ways() -> Vec<Options> {
    let mut engines = vec![IoEngine::Threads];
    match UringOptions::default().check() {
        Ok(()) => engines.push(IoEngine::IoUring),
        Err(refused) => println!("skipped: {refused}"),
    }
    let with_writers = |io| WRITERS.map(|log_writer| options().io(io).log_writer(log_writer));
    engines.into_iter().flat_map(with_writers).collect()
}

/// Works with a log, and gives what outlives it: the log itself too, where it is closed.
fn outlive(log: Log, by_close: bool) -> (Session, Completions<u32>, Option<Log>) {
    let mut session = log.session();
    let mut queue = log.completions(4);
    session.append(&[&record(1, 1)]).expect("fits");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    let ticket = session.commit_async(CommitPost::Immediate).expect("open");
    queue.push(ticket, 1).expect("room");
    if !by_close {
        drop(log);
        return (session, queue, None);
    }
    log.close().expect("nothing failed");
    assert!(matches!(log.close(), Err(Error::Closed)), "once");
    let durable = log.durable();
    assert!(matches!(log.checkpoint(durable), Err(Error::Closed)));
    assert!(matches!(log.read_from(durable), Err(Error::Closed)));
    (session, queue, Some(log))
}

/// What this process has open below a directory.
fn open_below(directory: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir("/proc/self/fd").expect("lists");
    let targets = all
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter(|target| target.starts_with(directory))
        .collect()
}

#[test]
fn what_outlives_a_log_holds_no_file() {
    for way in ways() {
        let case = format!("{} {:?}", way.io.name(), way.log_writer);
        for by_close in [true, false] {
            let scratch = Scratch::with_log();
            let (io, log_writer) = (way.io, way.log_writer);
            let again = || options().io(io).log_writer(log_writer);
            let (log, _) = common::open_with(&scratch.0, again()).expect("a new log");
            assert!(!open_below(&scratch.0).is_empty(), "they can be seen");
            let (mut session, _queue, _log) = outlive(log, by_close);
            let held = open_below(&scratch.0);
            assert!(held.is_empty(), "{case}: {held:?}");
            let refused = session.append(&[&record(1, 2)]);
            assert!(matches!(refused, Err(Error::Closed)), "{case}: {refused:?}");
            let (log, recovery) = common::open_with(&scratch.0, again()).expect("free again");
            assert_eq!(recovery.scan().records, 1, "{case}");
            drop(log);
        }
    }
}

/// Detached when it is dropped.
struct Loop(PathBuf);

impl Loop {
    fn on(file: &Path) -> Result<Loop, String> {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).arg(file);
        let output = command.output().map_err(|e| format!("losetup: {e}"))?;
        if !output.status.success() {
            return Err("losetup makes no loop device here (needs root)".to_owned());
        }
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Loop(name.into()))
    }

    /// Claims it as the next owner does, once.
    fn claim(&self) -> Result<(), Errno> {
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::open(&self.0, flags, Mode::empty()).map(drop)
    }

    /// Claims it as the next owner does. Each search for a free loop device (`losetup --find`)
    /// claims it for a moment; what outlives a log would have it for as long as it lives.
    fn claim_beside_searches(&self) -> Result<(), Errno> {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match self.claim() {
                Err(Errno::BUSY) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                claimed => return claimed,
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = Command::new("losetup")
            .arg("--detach")
            .arg(&self.0)
            .status();
        if !detached.is_ok_and(|status| status.success()) {
            eprintln!("{} stays attached", self.0.display());
        }
    }
}

#[test]
fn what_outlives_a_log_does_not_claim_its_device() {
    let scratch = Scratch::new();
    let image = scratch.0.join("image");
    let file = std::fs::File::create(&image).expect("writable");
    file.set_len(8 << 20).expect("sparse");
    let device = match Loop::on(&image) {
        Ok(device) => device,
        Err(why) => return println!("skipped: {why}"),
    };
    for way in ways() {
        let case = format!("{} {:?}", way.io.name(), way.log_writer);
        for by_close in [true, false] {
            let look = RawDevice::at(&device.0).expect("readable");
            let consent = look.consent(Some(&device.0)).expect("repeated");
            let cleared = look.hold().and_then(|held| held.clear(&consent));
            common::create_with(cleared.expect("free"), SMALL, &|_, _| {}, &|| false)
                .expect("a new log");
            let held = RawDevice::at(&device.0).and_then(|look| look.hold());
            let (io, log_writer) = (way.io, way.log_writer);
            let again = options().io(io).log_writer(log_writer);
            let (log, _) = common::open_with(held.expect("free"), again).expect("a log");
            assert_eq!(device.claim(), Err(Errno::BUSY), "{case}: while it is open");
            let outlived = outlive(log, by_close);
            assert_eq!(device.claim_beside_searches(), Ok(()), "{case}: at once");
            drop(outlived);
        }
    }
}

const FROZEN: &str = "REDO_FROZEN";
const MEMBERS: [&str; 2] = ["one", "frozen/two"];
/// Bytes of a line of the child: of these a pipe holds a few hundred.
const LINE: usize = 200;

/// An ext4 file system in a file, frozen and thawed at will; unmounted when it is dropped.
struct Freezer {
    at: PathBuf,
    /// Thaws it when this process ends, however it ends: nothing that waits for it could be killed.
    guard: Child,
}

impl Freezer {
    fn below(folder: &Path) -> Result<Freezer, String> {
        let (image, at) = (folder.join("image"), folder.join("frozen"));
        let file = std::fs::File::create(&image).expect("writable");
        file.set_len(64 << 20).expect("sparse");
        std::fs::create_dir(&at).expect("a folder");
        let run = |program: &str, options: &[&str], paths: &[&Path]| {
            let output = Command::new(program).args(options).args(paths).output();
            let output = output.map_err(|error| format!("{program}: {error}"))?;
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            output.status.success().then_some(()).ok_or(why)
        };
        run("mkfs.ext4", &["-q", "-F"], &[&image])?;
        run("mount", &["-o", "loop"], &[&image, &at])?;
        let thaw = [
            "-c",
            "read nothing; fsfreeze --unfreeze \"$0\" 2> /dev/null",
        ];
        let mut guard = Command::new("sh");
        // In a group of its own, so that it is not ended with this process.
        guard
            .args(thaw)
            .arg(&at)
            .stdin(Stdio::piped())
            .process_group(0);
        let made = Freezer {
            guard: guard.spawn().expect("a shell"),
            at,
        };
        // Where it cannot be done, it is known before anything waits for it.
        made.freeze(true)?;
        made.freeze(false)?;
        Ok(made)
    }

    fn freeze(&self, frozen: bool) -> Result<(), String> {
        let how = if frozen { "--freeze" } else { "--unfreeze" };
        let status = Command::new("fsfreeze").arg(how).arg(&self.at).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("fsfreeze {how}: {status}")),
            Err(error) => Err(format!("fsfreeze: {error}")),
        }
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        let gone = Command::new("umount").arg(&self.at).status();
        if !gone.is_ok_and(|status| status.success()) {
            eprintln!("{} stays mounted", self.at.display());
        }
    }
}

/// Killed when it is dropped, and not waited for: it may be unable to end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

fn mirror(folder: &Path) -> MemberLayout {
    MemberLayout::mirror(MEMBERS.map(|member| folder.join(member))).force_same_device(true)
}

/// Commits until it is killed, and prints the number of each record that is durable.
fn commit_until_killed(folder: &Path) -> ! {
    let patience = options().member_patience(Duration::from_millis(50));
    let (log, _) = common::open_with(mirror(folder), patience).expect("a log of two members");
    let mut session = log.session();
    for number in 1.. {
        common::commit(&mut session, 0, number).expect("one member goes on");
        if number % 100 == 0 {
            log.checkpoint(log.durable()).expect("one member goes on");
        }
        println!("{:LINE$}", format!("durable {number}"));
    }
    unreachable!("it is killed")
}

/// While a member of a killed process is frozen, that process cannot end and keeps the locks of all
/// members: the refusal of the next opening names this process and member, and what to do. Then
/// nothing is missing.
#[test]
fn a_killed_process_that_cannot_end_is_named_to_who_opens_its_log() {
    if let Some(folder) = std::env::var_os(FROZEN) {
        commit_until_killed(Path::new(&folder));
    }
    let scratch = Scratch::new();
    let freezer = match Freezer::below(&scratch.0) {
        Ok(freezer) => freezer,
        Err(why) => return println!("skipped: no file system can be frozen here: {why}"),
    };
    for member in MEMBERS {
        std::fs::create_dir(scratch.0.join(member)).expect("a folder");
    }
    common::create_with(mirror(&scratch.0), SMALL, &|_, _| {}, &|| false).expect("a new log");
    let own = std::env::current_exe().expect("this program");
    let mut child = Command::new(own);
    child.args([
        "--exact",
        "a_killed_process_that_cannot_end_is_named_to_who_opens_its_log",
        "--nocapture",
    ]);
    let child = child.env(FROZEN, &scratch.0).stdout(Stdio::piped());
    let mut child = Killed(child.spawn().expect("it starts"));
    let output = child.0.stdout.take().expect("a pipe");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let mut durable =
        lines.filter_map(|line| line.rsplit_once("durable ")?.1.trim().parse::<u32>().ok());
    durable
        .by_ref()
        .find(|number| *number >= 10)
        .expect("it commits");
    freezer.freeze(true).expect("frozen");
    // What was in the pipe is from before; so many are not: the other member goes on alone.
    let before = durable.next().expect("it commits");
    let later = |number: &u32| *number >= before + 1_000;
    let last = durable.find(later).expect("it goes on");
    child.0.kill().expect("it runs");
    let refused = common::open_with(mirror(&scratch.0), options());
    let refused = refused.map(drop).expect_err("its locks are held");
    let refused = refused.to_string();
    let process = format!("process {}", child.0.id());
    for part in [&*process, "member 2", "hangs", "end the hang"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    freezer.freeze(false).expect("thawed");
    child.0.wait().expect("it ends now");
    let (_, recovery) = common::open_with(mirror(&scratch.0), options()).expect("free again");
    let found = recovery.records().last().expect("some were durable");
    let (_, found) = common::whose(&found.expect("readable").bytes);
    assert!(found >= last, "{last} was durable, {found} is there");
}
