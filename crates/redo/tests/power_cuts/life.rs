//! A life of a log between two power cuts: the child that commits and tells, the parent that
//! listens and cuts, and what must be there afterwards.
//!
//! Invariants: an acknowledgement is written to the pipe after the commit returned, and the pipe
//! is drained all the while; the child says nothing else there. A child that ends before the cut
//! is a failure, one that does not end after it is a hang.

use crate::common::{SMALL, options, record, whose};
use crate::control::{self, Control};
use crate::volume::Volume;
use device::SyncMethod;
use redo::{CommitMode, Error, Log, LogWriter, Options, Rba, Session};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SESSIONS: u32 = 4;
const DIRECTORY: &str = "REDO_CUT_DIRECTORY";
const METHOD: &str = "REDO_CUT_METHOD";
const WRITER: &str = "REDO_CUT_WRITER";
const CONTROL: &str = "REDO_CUT_CONTROL";
/// What the pipe carries: a session and the number of its acknowledged record.
const ACK_BYTES: usize = 8;
/// Instead of a session: the log has been made.
const CREATED: u32 = u32::MAX;
/// Far more than anything takes, also on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a child commits.
pub struct Way {
    pub method: SyncMethod,
    pub writer: LogWriter,
    pub control: Option<Control>,
}

/// What a child said before its power went.
pub struct Told {
    /// It made the log in this life.
    pub created: bool,
    /// Sessions and their acknowledged records, in order.
    pub acks: Vec<(u32, u32)>,
}

/// The last record of each session that must be there.
pub type Known = [Option<u32>; SESSIONS as usize];

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A child is ended with the test, whatever becomes of the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a child, cuts the power `moment` after its start (`early`) or after its first
/// acknowledged commit, and brings the power back.
pub fn until_cut(
    volume: &Volume,
    directory: &Path,
    way: &Way,
    early: bool,
    moment: Duration,
) -> Result<Told, String> {
    let told = |e: std::io::Error| e.to_string();
    let mut command = Command::new(std::env::current_exe().map_err(told)?);
    command
        .args([
            "acknowledged_commits_survive_power_cuts",
            "--exact",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .env(METHOD, way.method.name())
        .env(WRITER, way.writer.name())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(control) = way.control {
        command.env(CONTROL, control.name());
    }
    let mut child = Ended(command.spawn().map_err(told)?);
    let mut pipe = child.0.stderr.take().ok_or("no pipe")?;
    let (begun, first) = std::sync::mpsc::channel();
    let drain = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut part = vec![0; 1 << 16];
        while let got @ 1.. = pipe.read(&mut part)? {
            bytes.extend_from_slice(&part[..got]);
            // A commit, not only the making of the log. Nobody listens when the cut comes early.
            if bytes.len() >= 2 * ACK_BYTES {
                let _ = begun.send(());
            }
        }
        Ok::<_, std::io::Error>(bytes)
    });
    if !early {
        first
            .recv_timeout(PATIENCE)
            .map_err(|_| "the child commits nothing")?;
    }
    std::thread::sleep(moment);
    let ended = child.0.try_wait().map_err(told)?.is_some();
    volume.cut()?;
    let problem = match ended {
        true => Some("the child ended before the cut"),
        false => ends(&mut child.0).err(),
    };
    drop(child.0.kill());
    if let Some(problem) = problem {
        let mut said = String::new();
        let output = child
            .0
            .stdout
            .as_mut()
            .map(|out| out.read_to_string(&mut said));
        drop(output);
        return Err(format!("{problem}; it said: {said}"));
    }
    drop(child);
    let bytes = drain
        .join()
        .map_err(|_| "the listener panicked")?
        .map_err(told)?;
    volume.restore()?;
    read(&bytes)
}

/// Every commit fails once the power is gone: all threads of the child are told, and it ends.
fn ends(child: &mut Child) -> Result<(), &'static str> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("the child hangs after the cut")
}

fn read(bytes: &[u8]) -> Result<Told, String> {
    let (acks, rest) = bytes.as_chunks::<ACK_BYTES>();
    let mut told = Told {
        created: false,
        acks: Vec::new(),
    };
    let mut sane = rest.is_empty();
    for ack in acks {
        let ack = u64::from_le_bytes(*ack);
        let (who, which) = ((ack >> 32) as u32, ack as u32);
        match who {
            CREATED => told.created = true,
            0..SESSIONS => told.acks.push((who, which)),
            _ => sane = false,
        }
    }
    if !sane {
        return Err(format!(
            "the child said: {}",
            String::from_utf8_lossy(bytes)
        ));
    }
    Ok(told)
}

/// Recovers and checks: of each session what is there has no gap, and its last acknowledged
/// record is there (checkpoints leave out only what lies before all of those). What was recovered
/// once must be recovered again: the last records, from now on.
pub fn verify(directory: &Path, acknowledged: &Known) -> Result<Known, String> {
    let (log, recovery) = Log::open(directory, options()).map_err(|e| e.to_string())?;
    let mut found: [Option<(u32, u32)>; SESSIONS as usize] = [None; SESSIONS as usize];
    let mut gap = None;
    let each = recovery.for_each(|rba, bytes| {
        let (who, which) = whose(bytes);
        let (first, next) = found[who as usize].unwrap_or((which, which));
        if which != next {
            gap = Some(format!("session {who} at {rba}: {which} follows {next}"));
        }
        found[who as usize] = Some((first, which + 1));
    });
    each.map_err(|e| e.to_string())?;
    drop(log);
    if let Some(gap) = gap {
        return Err(gap);
    }
    for (who, (found, last)) in found.iter().zip(acknowledged).enumerate() {
        let there = |last: &u32| found.is_some_and(|(first, next)| (first..next).contains(last));
        if let Some(last) = last.filter(|last| !there(last)) {
            return Err(format!(
                "session {who}: {last} is missing, {found:?} is there"
            ));
        }
    }
    Ok(found.map(|found| found.map(|(_, next)| next - 1)))
}

/// Whether this process is a child.
pub fn is_child() -> bool {
    std::env::var_os(DIRECTORY).is_some()
}

/// Tells the parent that record `which` of session `who` is acknowledged. One write of a few
/// bytes is atomic on a pipe; without a parent there is nothing left to do.
pub fn tell(who: u32, which: u32) {
    let ack = u64::from(who) << 32 | u64::from(which);
    if std::io::stderr().write_all(&ack.to_le_bytes()).is_err() {
        std::process::exit(0);
    }
}

/// Tells the parent that the log has been made.
pub fn tell_created() {
    tell(CREATED, 0);
}

/// Commits until the power goes.
pub fn child() -> ! {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).expect("it is a child"));
    let why = match std::env::var(CONTROL) {
        Ok(name) if name == Control::Unsynced.name() => {
            control::unsynced(&directory).err().map(|e| e.to_string())
        }
        _ => commits(&directory).err().map(|e| e.to_string()),
    };
    // For a parent that wonders why it ended too early.
    println!("{}", why.as_deref().unwrap_or("no error"));
    std::process::exit(0);
}

/// The options that the parent asked for.
fn asked() -> Options {
    let word = |name| std::env::var(name).expect("the parent says how");
    Options {
        sync_method: word(METHOD).parse().expect("a sync method"),
        log_writer: word(WRITER).parse().expect("a log writer"),
        #[cfg(feature = "crash")]
        planted: match std::env::var(CONTROL) {
            Ok(_) => redo::planted::Planted::with(redo::planted::Bug::AcknowledgeBeforeFlush),
            Err(_) => redo::planted::Planted::none(),
        },
        ..options()
    }
}

/// Makes the log if there is none, and commits from all sessions, with log switches and
/// checkpoints, until the first error.
fn commits(directory: &Path) -> Result<(), Error> {
    if !directory.exists() {
        std::fs::create_dir(directory).map_err(|e| Error::Options(e.to_string()))?;
        Log::create(directory, SMALL, &|_, _| {}, &|| false)?;
        // The directory's own name is the application's to make durable.
        let parent = directory
            .parent()
            .expect("it lies in the mounted file system");
        device::file::sync_directory(parent)?;
        tell_created();
    }
    let (log, recovery) = Log::open(directory, asked())?;
    let mut next = [0; SESSIONS as usize];
    let mut last = [Rba::default(); SESSIONS as usize];
    recovery.for_each(|rba, bytes| {
        let (who, which) = whose(bytes);
        next[who as usize] = which + 1;
        last[who as usize] = rba;
    })?;
    let last = Mutex::new(last);
    let checkpoints = || -> Result<(), Error> {
        loop {
            // So often that checkpoints and switches meet cuts, so rarely that records are left.
            std::thread::sleep(Duration::from_millis(3));
            let upto = last.lock().expect("whole").iter().min().copied();
            if let Some(upto) = upto.filter(|rba| *rba > Rba::default()) {
                log.checkpoint(upto)?;
            }
        }
    };
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (session, next, last) = (log.session(), next[who as usize], &last);
            scope.spawn(move || foreground(session, who, next, last));
        }
        checkpoints()
    })
}

/// Ends with the first commit that is not acknowledged.
fn foreground(mut session: Session, who: u32, next: u32, last: &Mutex<[Rba; SESSIONS as usize]>) {
    for which in next.. {
        let bytes = record(who, which);
        let Ok(rba) = session.append(&[&bytes]) else {
            return;
        };
        if session.commit(CommitMode::WAIT_IMMEDIATE).is_err() {
            return;
        }
        tell(who, which);
        last.lock().expect("whole")[who as usize] = rba;
    }
}
