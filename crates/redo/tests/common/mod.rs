//! What the tests of whole logs share: a scratch directory, small logs, records that say whose
//! they are, and recovery into memory.
#![allow(dead_code)]

use device::{FaultDevice, FileSet, LogDevice, SyncMethod};
use measure::workload::split_mix;
use redo::Triggers;
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{CommitMode, Error, Layout, Log, LogWriter, Options, Rba, Recovery, Session, Shape};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A directory of one test, removed with everything in it.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redolab-redo-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a fresh directory");
        Scratch(path)
    }

    /// A scratch directory with a log in it.
    pub fn with_log() -> Scratch {
        let scratch = Scratch::new();
        create(&scratch.0);
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: the test has told its result already.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The smallest log worth testing: three files of 512 KiB, 4096-byte blocks.
pub const SMALL: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(512 << 10);

/// Every kind of log writer; of workers, one and several.
pub const WRITERS: [LogWriter; 6] = [
    LogWriter::Auto,
    LogWriter::Inline,
    LogWriter::Lgwr,
    LogWriter::Workers(1),
    LogWriter::Workers(3),
    LogWriter::Adaptive,
];

pub fn create(directory: &Path) {
    let made = Log::builder(directory).shape(SMALL).create();
    made.expect("a new log");
}

/// Appends `line` to the CSV file that the environment variable names, after `heading` where the
/// file is new; does nothing without the variable.
pub fn csv_line(variable: &str, heading: &str, line: &str) {
    let Some(path) = std::env::var_os(variable) else {
        return;
    };
    let append = || -> std::io::Result<()> {
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&path)?;
        if file.metadata()?.len() == 0 {
            writeln!(file, "{heading}")?;
        }
        writeln!(file, "{line}")
    };
    append().unwrap_or_else(|e| panic!("{variable}={}: {e}", path.display()));
}

/// Waits of the tests end long before, however loaded the machine, unless something hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until `done` says so.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Options with the smallest log buffer.
pub fn options() -> Options {
    Options::default().buffer_bytes(1 << 20)
}

/// Makes a log in `directory`.
pub fn create_with(
    directory: impl Into<Layout>,
    shape: Shape,
    progress: &dyn Fn(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let builder = Log::builder(directory).shape(shape);
    builder.progress(progress).cancel(cancel).create().map(drop)
}

/// Opens the log in `directory`.
pub fn open_with(directory: impl Into<Layout>, options: Options) -> Result<(Log, Recovery), Error> {
    Log::builder(directory).options(options).open()
}

/// Opens a log on devices.
pub fn open_on(
    data: Arc<dyn LogDevice>,
    control: Arc<dyn LogDevice>,
    options: Options,
) -> Result<(Log, Recovery), Error> {
    open_with(Layout::devices(data, control), options)
}

/// A log whose device can be made to fail and to stall, so large that it needs no checkpoint.
pub fn faulty(
    scratch: &Scratch,
    log_writer: LogWriter,
    triggers: Triggers,
) -> (Arc<FaultDevice>, Arc<Log>) {
    let shape = SMALL.file_bytes(16 << 20);
    create_with(&scratch.0, shape, &|_, _| {}, &|| false).expect("a new log");
    let paths = Paths::new(&scratch.0);
    let files = |files: &[_], bytes| {
        Arc::new(FileSet::open(files, bytes, SyncMethod::Buffered).expect("the log's files"))
    };
    let logs = files(&paths.logs(shape.groups), shape.file_bytes);
    let data = Arc::new(FaultDevice::new(logs));
    let control = files(&[paths.control()], CONTROL_BYTES);
    let ways = options().log_writer(log_writer).triggers(triggers);
    let device: Arc<dyn LogDevice> = data.clone();
    let (log, _) = open_on(device, control, ways).expect("no fault yet");
    (data, Arc::new(log))
}

pub fn open(directory: &Path) -> Log {
    open_with(directory, options()).expect("the log opens").0
}

/// A record of a session: who, which, and bytes that follow from both.
pub fn record(who: u32, which: u32) -> Vec<u8> {
    let mut state = u64::from(who) << 32 | u64::from(which);
    let len = split_mix(&mut state) % 700;
    let mut bytes = who.to_le_bytes().to_vec();
    bytes.extend_from_slice(&which.to_le_bytes());
    bytes.extend((0..len).map(|_| split_mix(&mut state) as u8));
    bytes
}

/// Whose record it is and which, when every byte is right.
pub fn whose(bytes: &[u8]) -> (u32, u32) {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4).expect("a record says whose it is");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    };
    let (who, which) = (word(0), word(4));
    assert_eq!(bytes, record(who, which), "record {which} of session {who}");
    (who, which)
}

/// Appends and commits record `which` of session `who`.
pub fn commit(session: &mut Session, who: u32, which: u32) -> Result<Rba, Error> {
    let bytes = record(who, which);
    let (head, body) = bytes.split_at(5);
    let rba = session.append(&[head, body])?;
    let commit = session.commit(CommitMode::WAIT_IMMEDIATE)?;
    assert!(commit.durable);
    Ok(rba)
}

/// Every record of the log in `directory`, with its address, and how the log ended.
pub fn recovered(directory: &Path) -> (Vec<(Rba, Vec<u8>)>, redo::recovery::End) {
    let (log, recovery) = open_with(directory, options()).expect("the log opens");
    let mut records = Vec::new();
    let count = recovery
        .recover(|rba, bytes| {
            records.push((rba, bytes.to_vec()));
            Ok::<(), redo::Error>(())
        })
        .expect("what was recovered is readable");
    assert_eq!(count, records.len() as u64);
    assert!(records.is_sorted_by(|a, b| a.0 < b.0), "addresses grow");
    let how = recovery.scan().how;
    drop(log);
    (records, how)
}

/// Asserts that each session's records are there from its first on without a gap, in order, at
/// least `acknowledged[who]` of them, and nothing else.
pub fn assert_prefixes(records: &[(Rba, Vec<u8>)], acknowledged: &[u32]) {
    let mut next = vec![0; acknowledged.len()];
    for (rba, bytes) in records {
        let (who, which) = whose(bytes);
        let next = next
            .get_mut(who as usize)
            .expect("a session that there was");
        assert_eq!(which, *next, "session {who} at {rba}");
        *next += 1;
    }
    for (who, (found, acknowledged)) in next.iter().zip(acknowledged).enumerate() {
        assert!(
            found >= acknowledged,
            "session {who}: {acknowledged} acknowledged, {found} recovered"
        );
    }
}
