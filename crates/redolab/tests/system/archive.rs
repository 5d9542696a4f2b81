//! An archiver that is killed (SIGKILL) at random moments, with its log, again and again: in the
//! end the archive has every acknowledged record once, in order, as a reader finds that shares no
//! code with the archiver. It proves nothing about power loss: the system lives on.
//!
//! `REDOLAB_ARCHIVE_KILLS` sets how many (25), `REDOLAB_ARCHIVE_SEED` repeats the moments.

use device::file::Directory;
use drivers::embedded::{ArchiveOptions, AskedOfLog, EmbeddedLog, LogBackground, archive_folder};
use measure::driver::Driver as _;
use measure::workload::split_mix;
use redo::{ArchiveMode, CommitMode, Log, LogFileSync, LogWriter, Options, Shape, SyncMethod};
use redolab::archived::{ArchiveProblem, ArchiveSurvey, read_archive};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

const DIRECTORY: &str = "REDOLAB_ARCHIVE_DIRECTORY";
const LIFE: &str = "REDOLAB_ARCHIVE_LIFE";
const SESSIONS: u32 = 3;
/// Bytes of a record.
const LONGEST: usize = 3000;
pub(super) const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(512 << 10);

/// Whose a record is: the life, the session, and its number there.
pub(super) type Key = (u32, u32);

pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn places(directory: &Path) -> (PathBuf, PathBuf) {
    (directory.join("log"), directory.join("archive"))
}

/// What was asked of a log, for the facts of a run.
pub(super) fn asked() -> AskedOfLog {
    AskedOfLog {
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
    }
}

fn open(directory: &Path) -> (EmbeddedLog, PathBuf) {
    let (log_at, archive) = places(directory);
    let options = Options::default()
        .buffer_bytes(1 << 20)
        .archive_mode(ArchiveMode::On);
    let (log, _) = Log::builder(&log_at)
        .options(options)
        .open()
        .expect("a log");
    let folder = archive_folder(&log, &archive).expect("open");
    let beside = LogBackground {
        archive: Some(ArchiveOptions::new(
            Directory::open(&archive).expect("opens"),
        )),
        ..LogBackground::default()
    };
    let log = EmbeddedLog::start_with(log, asked(), beside).expect("the archive goes on");
    (log, folder)
}

/// A record of its number and of up to `longest` bytes more.
pub(super) fn record(life: u32, who: u32, which: u32, longest: usize) -> Vec<u8> {
    let mut state = u64::from(life) << 40 ^ u64::from(who) << 32 ^ u64::from(which);
    let mut bytes = [life, who, which].map(u32::to_le_bytes).concat();
    let len = 12 + split_mix(&mut state) as usize % longest;
    while bytes.len() < len {
        bytes.extend_from_slice(&split_mix(&mut state).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Commits for ever, and says through its standard error what was acknowledged.
fn child(directory: &Path) -> ! {
    let life = number(LIFE).expect("the parent says which") as u32;
    let (log, _) = open(directory);
    let out = Mutex::new(std::io::stderr());
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (log, out) = (&log, &out);
            scope.spawn(move || {
                let mut session = log.log().session();
                for which in 0.. {
                    session
                        .append(&[&record(life, who, which, LONGEST)])
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

/// A child is ended with the test, whatever becomes of the test.
pub(super) struct Ended(pub(super) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a child and kills it `moment` after `acks` acknowledged commits, so that a slow machine
/// tests as much; gives the number of the last acknowledged record of each session.
fn life(directory: &Path, life: u32, acks: u64, moment: Duration) -> BTreeMap<u32, u32> {
    let test = "archive::what_was_acknowledged_is_archived_through_kills";
    let child = Command::new(std::env::current_exe().expect("a test has a path"))
        .args([test, "--exact", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(LIFE, life.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Ended(child.expect("the test starts itself"));
    let mut pipe = child.0.stderr.take().expect("piped");
    let mut bytes = Vec::new();
    let first = (&mut pipe).take(8 * acks).read_to_end(&mut bytes);
    let drain = std::thread::spawn(move || pipe.read_to_end(&mut bytes).map(|_| bytes));
    std::thread::sleep(moment);
    drop(child);
    let bytes = drain.join().expect("no panic").expect("a pipe");
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    let first = first.expect("a pipe") as u64;
    assert!(first == 8 * acks, "the child said: {}", text());
    let mut last = BTreeMap::new();
    for ack in bytes.as_chunks::<8>().0 {
        let ack = u64::from_le_bytes(*ack);
        let (who, which) = (ack as u32, (ack >> 32) as u32);
        assert!(who < SESSIONS, "the child said: {}", text());
        last.insert(who, which);
    }
    last
}

/// Reads the archive: of each life and session the numbers follow each other from 0. Gives how many
/// there are.
pub(super) fn found(
    folder: &Path,
    longest: usize,
) -> Result<(ArchiveSurvey, BTreeMap<Key, u32>), ArchiveProblem> {
    let mut found: BTreeMap<Key, u32> = BTreeMap::new();
    let survey = read_archive(folder, |rba, bytes| {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let (life, who, which) = (word(0), word(4), word(8));
        let next = found.entry((life, who)).or_default();
        assert_eq!(which, *next, "life {life}, session {who}, at {rba}");
        assert!(
            bytes == record(life, who, which, longest),
            "another record at {rba}"
        );
        *next += 1;
    })?;
    Ok((survey, found))
}

#[test]
fn what_was_acknowledged_is_archived_through_kills() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        child(Path::new(&directory));
    }
    let scratch = tempfile::tempdir().expect("a directory");
    let (log, archive) = places(scratch.path());
    for path in [&log, &archive] {
        std::fs::create_dir(path).expect("fresh");
    }
    let made = Log::builder(&log).shape(SHAPE).create();
    drop(made.expect("a new log"));
    let seed = number("REDOLAB_ARCHIVE_SEED").unwrap_or(u64::from(std::process::id()));
    let kills = number("REDOLAB_ARCHIVE_KILLS").unwrap_or(25) as u32;
    println!("REDOLAB_ARCHIVE_SEED={seed} REDOLAB_ARCHIVE_KILLS={kills}");
    let mut state = seed;
    let mut acknowledged = Vec::new();
    for n in 0..kills {
        let acks = 1 + split_mix(&mut state) % 400;
        let moment = Duration::from_micros(split_mix(&mut state) % 3_000);
        acknowledged.push(life(scratch.path(), n, acks, moment));
        // Whatever is finished is whole, also while the log is not open.
        let folders = std::fs::read_dir(&archive).expect("it is there");
        for folder in folders.map(|folder| folder.expect("an entry").path()) {
            found(&folder, LONGEST).unwrap_or_else(|what| panic!("seed {seed}, kill {n}: {what}"));
        }
    }
    // The last life only archives the rest.
    let (log, folder) = open(scratch.path());
    log.close().expect("archived to the end");
    drop(log);
    let (survey, found) =
        found(&folder, LONGEST).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    let mut acks = 0;
    for (n, last) in acknowledged.iter().enumerate() {
        for (who, which) in last {
            acks += u64::from(*which) + 1;
            let archived = found.get(&(n as u32, *who)).copied().unwrap_or(0);
            assert!(
                archived > *which,
                "seed {seed}: life {n}, session {who}: {archived} archived, {which} acknowledged"
            );
        }
    }
    println!(
        "{kills} kills: {acks} records acknowledged, {} archived in {} files: 0 missing",
        survey.records, survey.files
    );
    assert!(survey.unfinished.is_empty(), "{:?}", survey.unfinished);
    let end = survey.end_rba.as_deref().expect("records were archived");
    let last_log = u64::from_str_radix(&end[2..8], 16).expect("0x and six digits");
    let left = last_log - 1;
    assert!(left > 3, "no group of the three was reused: {survey:?}");
    assert!(survey.files >= left, "a file per log at least: {survey:?}");
    damaged_archives_are_refused(&folder);
}

/// The reader finds what is wrong: a flipped bit, a missing file, a file that is cut off.
fn damaged_archives_are_refused(folder: &Path) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let middle = &files[files.len() / 2];
    let whole = std::fs::read(middle).expect("readable");
    let refused = |what: &str| {
        let problem = read_archive(folder, |_, _| {}).expect_err(what).to_string();
        let named = files
            .iter()
            .any(|file| problem.starts_with(&*file.to_string_lossy()));
        assert!(named, "{what}: {problem}");
        problem
    };
    for at in (0..whole.len()).step_by((whole.len() / 40).max(1)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(middle, &bytes).expect("writable");
        refused(&format!("bit {at}"));
    }
    for kept in [0, 63, 64, whole.len() / 2, whole.len() - 1] {
        std::fs::write(middle, &whole[..kept]).expect("writable");
        refused(&format!("{kept} bytes"));
    }
    std::fs::remove_file(middle).expect("removable");
    let gap = refused("a missing file");
    assert!(gap.contains("the file before ends at"), "{gap}");
    std::fs::write(middle, &whole).expect("writable");
    read_archive(folder, |_, _| {}).expect("as it was");
}
