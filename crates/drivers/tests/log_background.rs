//! A database writer and an archiver that are slow hold log switches, each by its own wait event;
//! one that fails ends the log, and why is reported.

use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Injection};
use device::file::Directory;
use device::sim_disk::SimDisk;
use drivers::embedded::{ArchiveOptions, AskedOfLog, DataFile, EmbeddedLog, LogBackground};
use measure::driver::Driver as _;
use redo::{ArchiveMode, CommitMode, Log, LogFileSync, LogWriter, Options, Shape, SyncMethod};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(512 << 10);
/// Nothing takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(100);

/// What the observer adds up.
#[derive(Default)]
struct Seen {
    redo_bytes: AtomicU64,
    checkpoint_ns: AtomicU64,
    archive_ns: AtomicU64,
}

/// A log in `directory` with that beside it, and what its observer sees.
fn open(
    directory: &Path,
    beside: impl FnOnce(&Arc<Seen>) -> LogBackground,
) -> (EmbeddedLog, Arc<Seen>) {
    drop(
        Log::builder(directory)
            .shape(SHAPE)
            .create()
            .expect("a log"),
    );
    open_again(directory, beside)
}

/// The same for a log that exists.
fn open_again(
    directory: &Path,
    beside: impl FnOnce(&Arc<Seen>) -> LogBackground,
) -> (EmbeddedLog, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let beside = beside(&seen);
    let observer = Arc::clone(&seen);
    let mode = beside
        .archive
        .as_ref()
        .map_or(ArchiveMode::Keep, |_| ArchiveMode::On);
    let options = Options::default()
        .buffer_bytes(1 << 20)
        .archive_mode(mode)
        .observer(move |write| {
            let order = Ordering::SeqCst;
            (observer.redo_bytes).fetch_add(write.redo_bytes.into(), order);
            (observer.checkpoint_ns).fetch_add(write.checkpoint_wait_ns, order);
            (observer.archive_ns).fetch_add(write.archive_wait_ns, order);
        });
    let (log, _) = Log::builder(directory)
        .options(options)
        .open()
        .expect("opens");
    let asked = AskedOfLog {
        sync_method: SyncMethod::Direct,
        log_writer: LogWriter::Auto,
        log_writer_cpus: Vec::new(),
        log_file_sync: LogFileSync::Adaptive,
        io_depth: 1,
        unwritten_extents: None,
        stays: true,
        stripe: None,
        members: Vec::new(),
        ring: None,
    };
    let log = EmbeddedLog::start_with(log, asked, beside).expect("starts");
    (log, seen)
}

/// A data file of 1 MiB, of whose every byte of redo dirties as much.
fn data_file(seen: &Arc<Seen>) -> (Arc<FaultDevice>, DataFile) {
    let disk = SimDisk::new(1 << 20, 4096, false);
    disk.set_immediate(true);
    let device = Arc::new(FaultDevice::new(Arc::new(disk)));
    let seen = Arc::clone(seen);
    let data = DataFile {
        device: device.clone(),
        written_per_redo: 1.0,
        redo_bytes: Arc::new(move || seen.redo_bytes.load(Ordering::SeqCst)),
    };
    (device, data)
}

fn until(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Commits until the log is full and nothing more is acknowledged, then lets go with `release`, and
/// commits one log more.
fn stuck_until(log: &EmbeddedLog, release: impl FnOnce()) {
    let capacity = log.log().geometry().capacity_blocks();
    let (asked, committed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (asked, committed) = (&asked, &committed);
        let thread = scope.spawn(move || {
            let mut session = log.log().session();
            for which in 0..capacity + capacity / 3 {
                session.append(&[&[1; 3000]]).expect("open");
                asked.store(which + 1, Ordering::SeqCst);
                session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                committed.fetch_add(1, Ordering::SeqCst);
            }
        });
        // The checkpoint may have entered a log before the first block was dirtied, not further.
        until("the log is full", || {
            asked.load(Ordering::SeqCst) > capacity
        });
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(committed.load(Ordering::SeqCst), capacity, "one block each");
        assert!(!thread.is_finished());
        release();
        thread.join().expect("it went on");
    });
}

#[test]
fn a_database_writer_that_is_slow_holds_the_switch() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut made = None;
    let (log, seen) = open(scratch.path(), |seen| {
        let (device, data) = data_file(seen);
        made = Some(device.gate());
        LogBackground {
            data: Some(data),
            archive: None,
            ..LogBackground::default()
        }
    });
    let gate = made.expect("made");
    stuck_until(&log, || drop(gate));
    let waited = Duration::from_nanos(seen.checkpoint_ns.load(Ordering::SeqCst));
    assert!(waited >= Duration::from_millis(30), "{waited:?}");
    assert_eq!(seen.archive_ns.load(Ordering::SeqCst), 0);
    let life = log.counters().log_life.expect("it writes");
    assert!(
        life.data_blocks > Some(0) && life.checkpoints > Some(0),
        "{life:?}"
    );
    assert_eq!((life.archived_files, life.archived_bytes), (None, None));
    log.check().expect("all is well");
    log.close().expect("closes");
}

/// The process ended before the checkpoint followed the switches: at the next opening the log is
/// full up to its last log file, and no further switch can come before the checkpoint moves.
#[test]
fn a_log_that_was_full_when_it_ended_goes_on() {
    for with_data in [false, true] {
        let scratch = tempfile::tempdir().expect("a directory");
        let made = Log::builder(scratch.path()).shape(SHAPE).create();
        drop(made.expect("a log"));
        let opened = Log::builder(scratch.path()).open();
        let (log, _) = opened.expect("opens");
        let mut session = log.session();
        while log.durable().log_seq < 4 {
            session.append(&[&[1; 3000]]).expect("open");
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        }
        drop(session);
        log.close().expect("closes");
        drop(log);
        let (log, _) = open_again(scratch.path(), |seen| LogBackground {
            data: with_data.then(|| data_file(seen).1),
            ..LogBackground::default()
        });
        let (log, done) = (Arc::new(log), Arc::<AtomicBool>::default());
        // Not a scoped thread: the test ends although a commit hangs.
        let session = std::thread::spawn({
            let (log, done) = (Arc::clone(&log), Arc::clone(&done));
            move || {
                let mut session = log.log().session();
                for _ in 0..log.log().geometry().capacity_blocks() {
                    session.append(&[&[1; 3000]]).expect("open");
                    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                }
                done.store(true, Ordering::SeqCst);
            }
        });
        until("the checkpoint moves", || {
            session.is_finished() || done.load(Ordering::SeqCst)
        });
        session.join().expect("it committed");
        log.close().expect("closes");
    }
}

#[test]
fn a_database_writer_that_fails_ends_the_log_and_says_why() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (log, _) = open(scratch.path(), |seen| {
        let (device, data) = data_file(seen);
        device.inject(Injection {
            target: FaultTarget::Flush,
            nth: 1,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        LogBackground {
            data: Some(data),
            archive: None,
            ..LogBackground::default()
        }
    });
    let mut session = log.log().session();
    let mut commits = (0..1_000_000).map(|_| {
        session.append(&[&[1; 3000]])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)
    });
    assert!(commits.any(|commit| commit.is_err()), "sessions end");
    let why = log.check().expect_err("it failed").to_string();
    assert!(why.contains("data file"), "{why}");
}

#[test]
fn an_archiver_that_finds_no_room_ends_the_log_and_says_why() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (at, archive) = (scratch.path().join("log"), scratch.path().join("archive"));
    for path in [&at, &archive] {
        std::fs::create_dir(path).expect("fresh");
    }
    let (log, _) = open(&at, |_| LogBackground {
        data: None,
        archive: Some(ArchiveOptions {
            spare_bytes: u64::MAX / 2,
            ..ArchiveOptions::new(Directory::open(&archive).expect("opens"))
        }),
        ..LogBackground::default()
    });
    let mut session = log.log().session();
    let mut commits = (0..1_000_000).map(|_| {
        session.append(&[&[1; 3000]])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)
    });
    assert!(commits.any(|commit| commit.is_err()), "sessions end");
    let why = log.check().expect_err("it failed").to_string();
    assert!(why.contains("must stay free"), "{why}");
    assert!(log.close().is_err(), "it is not archived");
}

/// Files that are no longer kept are removed, the oldest first.
#[test]
fn an_archive_keeps_as_many_files_as_it_was_asked_for() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (at, archive) = (scratch.path().join("log"), scratch.path().join("archive"));
    for path in [&at, &archive] {
        std::fs::create_dir(path).expect("fresh");
    }
    let (log, seen) = open(&at, |_| LogBackground {
        data: None,
        archive: Some(ArchiveOptions {
            keep: Some(2),
            ..ArchiveOptions::new(Directory::open(&archive).expect("opens"))
        }),
        ..LogBackground::default()
    });
    let mut session = log.log().session();
    for _ in 0..3 * log.log().geometry().capacity_blocks() {
        session.append(&[&[1; 3000]]).expect("open");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    }
    let folder = drivers::embedded::archive_folder(log.log(), &archive).expect("open");
    log.close().expect("archived to the end");
    let life = log.counters().log_life.expect("it archives");
    assert!(life.archived_files >= Some(9), "{life:?}");
    let mut left: Vec<String> = std::fs::read_dir(&folder)
        .expect("there")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    left.sort();
    assert_eq!(left.len(), 2, "{left:?}");
    let last = left.last().expect("two");
    assert!(last.starts_with(&format!("redo-{:020}", 9)), "{last}");
    assert!(seen.redo_bytes.load(Ordering::SeqCst) > 0);
}
