//! Sessions and queues that outlive their log: they hold no file and no device, through threads and
//! through rings, and the next owner comes at once.

mod common;

use common::{SMALL, Scratch, options, record};
use device::raw::RawDevice;
use device::{IoEngine, UringOptions};
use redo::{CommitMode, CommitPost, Completions, Error, Log, LogWriter, Options, Session};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::process::Command;
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
