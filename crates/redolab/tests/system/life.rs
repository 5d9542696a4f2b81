//! The life of a log without a pause: a race of two members, a database writer, an archiver and
//! log switches under a steady load, until the process is killed (SIGKILL). Its memory stays flat,
//! every acknowledged record is archived once and in order, and the archive ends as the log does.
//!
//! `REDOLAB_LIFE_SECONDS` sets how long (6 s), `REDOLAB_LIFE_RATE` the commits per second (1,500).
//! It proves nothing about power loss: the system lives on.

use super::archive::{Ended, SHAPE, asked, found, number, record};
use device::file::{Directory, create_prewritten_at};
use device::{FileSet, SyncMethod};
use drivers::embedded::{ArchiveOptions, DataFile, EmbeddedLog, LogBackground, archive_folder};
use measure::driver::Driver as _;
use redo::{ArchiveMode, CommitMode, Log, MemberLayout, Options, RedoRecord};
use redolab::archived::read_archive;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const DIRECTORY: &str = "REDOLAB_LIFE_DIRECTORY";
const SECONDS: &str = "REDOLAB_LIFE_SECONDS";
const RATE: &str = "REDOLAB_LIFE_RATE";
const TEST: &str = "life::a_log_lives_on_and_its_archive_has_what_was_acknowledged";
const SESSIONS: u32 = 16;
/// Bytes of a record.
const LONGEST: usize = 300;
/// Bytes of blocks that are written for each byte of redo.
const WRITTEN_PER_REDO: f64 = 0.5;
const DATA_BYTES: u64 = 16 << 20;

fn layout(directory: &Path) -> MemberLayout {
    MemberLayout::race(["a", "b"].map(|member| directory.join(member))).force_same_device(true)
}

fn data_file(directory: &Path, redo_bytes: &Arc<AtomicU64>) -> DataFile {
    let held = Directory::open(directory).expect("a directory");
    let at = held.entry("data.dbf").expect("a name");
    if !directory.join("data.dbf").exists() {
        create_prewritten_at(&at, DATA_BYTES, &[], 1, &|_| {}, &|| false)
            .expect("room")
            .keep();
    }
    let open = |method| FileSet::open_at(&held, &["data.dbf"], DATA_BYTES, method);
    let device = open(SyncMethod::Direct).or_else(|_| open(SyncMethod::Buffered));
    let redo_bytes = Arc::clone(redo_bytes);
    DataFile {
        device: Arc::new(device.expect("a data file")),
        written_per_redo: WRITTEN_PER_REDO,
        redo_bytes: Arc::new(move || redo_bytes.load(Ordering::Relaxed)),
    }
}

/// The log with all that runs beside it, the folder of its archive, and the records that the log
/// itself still has.
fn open(directory: &Path) -> (EmbeddedLog, PathBuf, Vec<RedoRecord>) {
    let redo_bytes = Arc::<AtomicU64>::default();
    let seen = Arc::clone(&redo_bytes);
    let options = Options::default()
        .buffer_bytes(1 << 20)
        .archive_mode(ArchiveMode::On)
        .observer(move |write| {
            seen.fetch_add(write.redo_bytes.into(), Ordering::Relaxed);
        });
    let opened = Log::builder(layout(directory)).options(options).open();
    let (log, recovery) = opened.expect("a log");
    let records = recovery.records().map(|record| record.expect("whole"));
    let records = records.collect();
    let archive = directory.join("archive");
    let folder = archive_folder(&log, &archive).expect("open");
    let beside = LogBackground {
        data: Some(data_file(directory, &redo_bytes)),
        archive: Some(ArchiveOptions::new(
            Directory::open(&archive).expect("opens"),
        )),
        ..LogBackground::default()
    };
    let log = EmbeddedLog::start_with(log, asked(), beside).expect("it lives");
    (log, folder, records)
}

/// Commits at the rate for ever, and reports through its standard error what was acknowledged.
fn child(directory: &Path) -> ! {
    let rate = number(RATE).unwrap_or(1500) as f64 / f64::from(SESSIONS);
    let (log, ..) = open(directory);
    let out = Mutex::new(std::io::stderr());
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (log, out) = (&log, &out);
            scope.spawn(move || {
                let mut session = log.log().session();
                let begun = Instant::now();
                for which in 0.. {
                    let due = begun + Duration::from_secs_f64(f64::from(which) / rate);
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    session
                        .append(&[&record(0, who, which, LONGEST)])
                        .expect("open");
                    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                    let ack = [who, which].map(u32::to_le_bytes).concat();
                    let written = out.lock().expect("no panic").write_all(&ack);
                    written.expect("the parent reads");
                }
            });
        }
    });
    unreachable!("sessions commit for ever")
}

/// Resident memory of a process, KiB.
fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// What the parent saw of a life.
struct Life {
    /// Of each session the number of its last acknowledged record.
    last: Vec<Option<u32>>,
    /// Resident memory each tenth of a second, or each second of a long life, KiB.
    resident: Vec<u64>,
}

/// Reads acknowledgements until the other end is closed.
fn acknowledged(mut pipe: impl std::io::Read) -> Vec<Option<u32>> {
    let mut last = vec![None; SESSIONS as usize];
    let mut ack = [0; 8];
    while pipe.read_exact(&mut ack).is_ok() {
        let ack = u64::from_le_bytes(ack);
        let (who, which) = (ack as u32 as usize, (ack >> 32) as u32);
        let text = || String::from_utf8_lossy(&ack.to_le_bytes()).into_owned();
        assert!(who < last.len(), "the child reported: {}", text());
        last[who] = Some(which);
    }
    last
}

fn live(directory: &Path, seconds: u64) -> Life {
    let child = Command::new(std::env::current_exe().expect("a test has a path"))
        .args([TEST, "--exact", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Ended(child.expect("the test starts itself"));
    let pipe = child.0.stderr.take().expect("piped");
    let pipe = std::io::BufReader::with_capacity(64 << 10, pipe);
    let reader = std::thread::spawn(move || acknowledged(pipe));
    let between = Duration::from_millis(if seconds > 60 { 1000 } else { 100 });
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut resident = Vec::new();
    while Instant::now() < end {
        std::thread::sleep(between);
        resident.extend(resident_kib(child.0.id()));
        let ended = child.0.try_wait().expect("it is ours");
        assert!(ended.is_none(), "the log ended by itself: {ended:?}");
    }
    drop(child);
    let last = reader.join().expect("whole acknowledgements");
    Life { last, resident }
}

fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[values.len() / 2]
}

/// The archive ends with what the log itself has.
fn ends_with(folder: &Path, in_log: &[RedoRecord]) {
    let first = in_log.first().expect("a log that lived has redo").rba;
    let mut left = in_log.iter();
    read_archive(folder, |rba, bytes| {
        if rba >= first {
            let record = left.next().expect("the log has it too");
            assert_eq!(record.rba, rba);
            assert!(record.bytes == bytes, "another record at {rba}");
        }
    })
    .unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(left.len(), 0, "records that are not archived");
    println!(
        "the archive ends with the {} records of the log",
        in_log.len()
    );
}

#[test]
fn a_log_lives_on_and_its_archive_has_what_was_acknowledged() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        child(Path::new(&directory));
    }
    let seconds = number(SECONDS).unwrap_or(6);
    let scratch = tempfile::tempdir().expect("a directory");
    for name in ["a", "b", "archive"] {
        std::fs::create_dir(scratch.path().join(name)).expect("fresh");
    }
    let made = Log::builder(layout(scratch.path())).shape(SHAPE).create();
    drop(made.expect("a new log"));
    let life = live(scratch.path(), seconds);
    let resident = &life.resident;
    // Its start is over after two tenths.
    let (tenth, of) = ((resident.len() / 10).max(1), resident.len());
    let early = median(&resident[of / 5..of / 5 + tenth]);
    let late = median(&resident[of - tenth..]);
    let acks: u64 = life
        .last
        .iter()
        .map(|last| last.map_or(0, |l| u64::from(l) + 1))
        .sum();
    assert!(acks > 0, "nothing was committed");

    let (log, folder, in_log) = open(scratch.path());
    let members = log.log().members();
    assert!(members.iter().all(|member| member.in_sync), "{members:?}");
    log.close().expect("archived to the end");
    drop(log);
    let (survey, found) = found(&folder, LONGEST).unwrap_or_else(|what| panic!("{what}"));
    for (who, last) in (0..).zip(&life.last) {
        let archived = found.get(&(0, who)).copied().unwrap_or(0);
        let acknowledged = last.map_or(0, |last| last + 1);
        assert!(
            archived >= acknowledged,
            "session {who}: {archived} archived, {acknowledged} acknowledged"
        );
    }
    ends_with(&folder, &in_log);
    assert!(survey.unfinished.is_empty(), "{:?}", survey.unfinished);
    println!(
        "{seconds} s: {acks} acknowledged, {} archived in {} files, 0 missing; memory {early} KiB, \
         in the end {late} KiB",
        survey.records, survey.files
    );
    assert!(
        late <= early + early / 20 + (4 << 10),
        "memory grew: {resident:?}"
    );
}
