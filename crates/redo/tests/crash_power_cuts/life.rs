//! A life of a log between two power cuts: the child that commits and reports, the parent that
//! listens and cuts, and what must be there afterwards.
//!
//! Invariants: an acknowledgement is written to the pipe after the commit returned, and the pipe
//! is drained all the while; the child says nothing else there. A child that ends before the cut
//! is a failure, one that does not end after it is a hang.

use crate::common::{SMALL, options, record, whose};
use crate::control::{self, Control};
use crate::volume::{TEST, Volume};
use device::{DeviceError, IoEngine, SyncMethod};
use redo::{CommitMode, Error, Layout, Log, LogWriter, Options, Rba, Recovery, Session};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const SESSIONS: u32 = 4;
const DIRECTORY: &str = "REDO_CUT_DIRECTORY";
const METHOD: &str = "REDO_CUT_METHOD";
const ENGINE: &str = "REDO_CUT_ENGINE";
const WRITER: &str = "REDO_CUT_WRITER";
const CONTROL: &str = "REDO_CUT_CONTROL";
/// What the pipe carries: a session and the number of its acknowledged record.
const ACK_BYTES: usize = 8;
/// Instead of a session: the log has been made.
const CREATED: u32 = u32::MAX;
/// Instead of a session, with the number of a member added: what it may lack, bytes.
const WINDOW: u32 = u32::MAX - MEMBERS as u32;
/// Members of a log, where it has some.
pub const MEMBERS: usize = 2;
/// Far more than anything takes, also on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How a child commits.
pub struct Way {
    pub method: SyncMethod,
    pub io: IoEngine,
    pub writer: LogWriter,
    pub control: Option<Control>,
}

/// What a child said before its power went.
pub struct Told {
    /// It made the log in this life.
    pub created: bool,
    /// Sessions and their acknowledged records, in order.
    pub acks: Vec<(u32, u32)>,
    /// The most that was acknowledged and that each member did not have, bytes.
    pub windows: [u32; MEMBERS],
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

/// A child at work.
pub struct Running {
    child: Ended,
    first: Receiver<()>,
    drain: JoinHandle<std::io::Result<Vec<u8>>>,
}

/// Starts a child; `heard` is called for each acknowledgement as it is read.
pub fn start(
    directory: &Path,
    way: &Way,
    mut heard: impl FnMut(u32, u32) + Send + 'static,
) -> Result<Running, String> {
    let mut says = vec![
        (DIRECTORY, directory.display().to_string()),
        (METHOD, way.method.name().to_owned()),
        (ENGINE, way.io.name().to_owned()),
        (WRITER, way.writer.to_string()),
    ];
    if let Some(control) = way.control {
        says.push((CONTROL, control.name().to_owned()));
    }
    start_as(says, move |who, which| {
        if who < SESSIONS {
            heard(who, which);
        }
    })
}

/// Starts a child with this in its environment; `heard` is called with whatever it says of sessions
/// and windows, as it is read.
pub fn start_as(
    says: Vec<(&str, String)>,
    mut heard: impl FnMut(u32, u32) + Send + 'static,
) -> Result<Running, String> {
    let told = |e: std::io::Error| e.to_string();
    let mut command = Command::new(std::env::current_exe().map_err(told)?);
    command
        .args([TEST, "--exact", "--nocapture"])
        .envs(says)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Ended(command.spawn().map_err(told)?);
    let mut pipe = child.0.stderr.take().ok_or("no pipe")?;
    let (begun, first) = std::sync::mpsc::channel();
    let drain = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut part = vec![0; 1 << 16];
        let mut told = 0;
        while let got @ 1.. = pipe.read(&mut part)? {
            bytes.extend_from_slice(&part[..got]);
            let (acks, _) = bytes[told..].as_chunks::<ACK_BYTES>();
            for ack in acks {
                let (who, which) = who_and_which(*ack);
                if who != CREATED {
                    heard(who, which);
                }
                if who < SESSIONS {
                    // A commit, not only the making of the log. Nobody may listen any more.
                    let _ = begun.send(());
                }
            }
            told += acks.len() * ACK_BYTES;
        }
        Ok(bytes)
    });
    Ok(Running {
        child,
        first,
        drain,
    })
}

impl Running {
    /// Waits for the first acknowledged commit; a child that makes none is asked why.
    pub fn committing(self) -> Result<Running, String> {
        if self.first.recv_timeout(PATIENCE).is_ok() {
            return Ok(self);
        }
        let problem = "the child commits nothing";
        self.finish(Some(problem))
            .map(|_| unreachable!("{problem}"))
    }

    /// Whether it ended by itself.
    pub fn ended(&mut self) -> bool {
        !matches!(self.child.0.try_wait(), Ok(None))
    }

    /// Has all its threads stand still, as the power goes: what they have asked of the system
    /// before takes its way, and nothing is asked any more.
    pub fn freeze(&mut self) -> Result<(), String> {
        let pid = Pid::from_child(&self.child.0);
        kill_process(pid, Signal::STOP).map_err(|e| e.to_string())?;
        let tasks = format!("/proc/{}/task", self.child.0.id());
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let tasks = std::fs::read_dir(&tasks).map_err(|e| e.to_string())?;
            let stats = tasks.flatten().map(|task| task.path().join("stat"));
            let stats = stats.filter_map(|stat| std::fs::read_to_string(stat).ok());
            // The state follows the name in brackets (proc_pid_stat(5)).
            let mut states = stats.filter_map(|stat| stat.rsplit(") ").next()?.chars().next());
            if !states.any(|state| matches!(state, 'R' | 'S')) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Err(String::from("the child does not stand still"))
    }

    /// Ends it; the problem, with what it said about that.
    pub fn failed(self, problem: &str) -> String {
        let finished = self.finish(Some(problem));
        finished.err().unwrap_or_else(|| problem.to_owned())
    }

    /// Ends it, and gives what it said; with a problem, what it said about that.
    pub fn finish(mut self, problem: Option<&str>) -> Result<Told, String> {
        drop(self.child.0.kill());
        if let Some(problem) = problem {
            let mut said = String::new();
            if let Some(output) = &mut self.child.0.stdout {
                drop(output.read_to_string(&mut said));
            }
            return Err(format!("{problem}; it said: {said}"));
        }
        drop(self.child);
        let bytes = self.drain.join().map_err(|_| "the listener panicked")?;
        read(&bytes.map_err(|e| e.to_string())?)
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
    let mut running = start(directory, way, |_, _| {})?;
    if !early {
        running = running.committing()?;
    }
    std::thread::sleep(moment);
    let ended = running.ended();
    volume.cut()?;
    let problem = match ended {
        true => Some("the child ended before the cut"),
        false => ends(&mut running).err(),
    };
    let told = running.finish(problem)?;
    volume.restore()?;
    Ok(told)
}

/// Every commit fails once the power is gone: all threads of the child get an error, and it ends.
fn ends(running: &mut Running) -> Result<(), &'static str> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if running.ended() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("the child hangs after the cut")
}

/// The member of which `who` says what it may lack.
pub fn window(who: u32) -> Option<usize> {
    let member = who.checked_sub(WINDOW)? as usize;
    (member < MEMBERS).then_some(member)
}

fn who_and_which(ack: [u8; ACK_BYTES]) -> (u32, u32) {
    let ack = u64::from_le_bytes(ack);
    ((ack >> 32) as u32, ack as u32)
}

fn read(bytes: &[u8]) -> Result<Told, String> {
    let (acks, rest) = bytes.as_chunks::<ACK_BYTES>();
    let mut told = Told {
        created: false,
        acks: Vec::new(),
        windows: [0; MEMBERS],
    };
    let mut sane = rest.is_empty();
    for ack in acks {
        let (who, which) = who_and_which(*ack);
        match who {
            CREATED => told.created = true,
            0..SESSIONS => told.acks.push((who, which)),
            _ => match window(who) {
                Some(member) => told.windows[member] = told.windows[member].max(which),
                None => sane = false,
            },
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
    let found = recovered(directory, options())?;
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

/// As [`verify`], where the session may have had more acknowledged than is known, and a checkpoint
/// have left out what is: nothing acknowledged is missing at the end.
pub fn verify_end(directory: &Path, options: Options, acknowledged: &Known) -> Result<(), String> {
    let found = recovered(directory, options)?;
    for (who, (found, last)) in found.iter().zip(acknowledged).enumerate() {
        let there = |last: &u32| found.is_some_and(|(_, next)| next > *last);
        if let Some(last) = last.filter(|last| !there(last)) {
            return Err(format!(
                "session {who}: {last} is missing, {found:?} is there"
            ));
        }
    }
    Ok(())
}

/// What is recovered of each session, without a gap: its first record, and the one after its last.
pub type Found = [Option<(u32, u32)>; SESSIONS as usize];

fn recovered(directory: &Path, options: Options) -> Result<Found, String> {
    let opened = crate::common::open_with(directory, options);
    let (log, recovery) = opened.map_err(|e| e.to_string())?;
    let found = found(&recovery, |_, _, _| {});
    drop(log);
    found
}

/// What is recovered; `each` gets the session, the number and the place of each record.
pub fn found(recovery: &Recovery, mut each: impl FnMut(u32, u32, Rba)) -> Result<Found, String> {
    let mut found: Found = [None; SESSIONS as usize];
    let mut gap = None;
    let read = recovery.recover(|rba, bytes| {
        let (who, which) = whose(bytes);
        each(who, which, rba);
        let (first, next) = found[who as usize].unwrap_or((which, which));
        if which != next {
            gap = Some(format!("session {who} at {rba}: {which} follows {next}"));
        }
        found[who as usize] = Some((first, which + 1));
        Ok::<(), redo::Error>(())
    });
    read.map_err(|e| e.to_string())?;
    gap.map_or(Ok(found), Err)
}

/// Whether this process is a child.
pub fn is_child() -> bool {
    std::env::var_os(DIRECTORY).is_some()
}

/// Reports to the parent that record `which` of session `who` is acknowledged. One write of a few
/// bytes is atomic on a pipe; without a parent there is nothing left to do.
pub fn tell(who: u32, which: u32) {
    let ack = u64::from(who) << 32 | u64::from(which);
    if std::io::stderr().write_all(&ack.to_le_bytes()).is_err() {
        std::process::exit(0);
    }
}

/// Reports to the parent that the log has been made.
pub fn tell_created() {
    tell(CREATED, 0);
}

/// Reports to the parent that a record is acknowledged, and before that, in one write, what each
/// member may lack of what is.
pub fn tell_with_windows(log: &Log, who: u32, which: u32) {
    let windows = log.members().into_iter().map(|member| member.window_bytes);
    let windows = windows.chain(log.ring().map(|ring| ring.most_lag_bytes));
    let windows = (WINDOW..).zip(windows.map(|bytes| bytes as u32));
    let all = windows.chain([(who, which)]);
    let words = all.map(|(who, which)| (u64::from(who) << 32 | u64::from(which)).to_le_bytes());
    let bytes: Vec<u8> = words.flatten().collect();
    if std::io::stderr().write_all(&bytes).is_err() {
        std::process::exit(0);
    }
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
    options()
        .sync_method(word(METHOD).parse().expect("a sync method"))
        .io(word(ENGINE).parse().expect("an engine"))
        .log_writer(word(WRITER).parse().expect("a log writer"))
        .planted(match std::env::var(CONTROL) {
            Ok(_) => redo::planted::Planted::with(redo::planted::Bug::AcknowledgeBeforeFlush),
            Err(_) => redo::planted::Planted::none(),
        })
}

/// Makes the log if there is none, and commits to it until the first error.
fn commits(directory: &Path) -> Result<(), Error> {
    if !directory.exists() {
        std::fs::create_dir(directory).map_err(|source| DeviceError::Io {
            path: directory.to_owned(),
            action: "create",
            source,
        })?;
        crate::common::create_with(directory, SMALL, &|_, _| {}, &|| false)?;
        // The directory's own name is the application's to make durable.
        let parent = directory
            .parent()
            .expect("it lies in the mounted file system");
        device::file::sync_directory(parent)?;
        tell_created();
    }
    commit_on(directory, asked(), &|_, who, which| tell(who, which))
}

/// Commits to a log from all sessions, with log switches and checkpoints, until the first error;
/// `tell` is called for each acknowledged record.
pub fn commit_on(
    place: impl Into<Layout>,
    options: Options,
    tell: &(dyn Fn(&Log, u32, u32) + Sync),
) -> Result<(), Error> {
    let (log, recovery) = crate::common::open_with(place, options)?;
    let mut next = [0; SESSIONS as usize];
    let mut last = [Rba::default(); SESSIONS as usize];
    recovery.recover(|rba, bytes| {
        let (who, which) = whose(bytes);
        next[who as usize] = which + 1;
        last[who as usize] = rba;
        Ok::<(), redo::Error>(())
    })?;
    let (last, pace) = (Mutex::new(last), Pace::default());
    let checkpoints = || -> Result<(), Error> {
        while !pace.all_left() {
            // So often that checkpoints and switches meet cuts, so rarely that records are left.
            std::thread::sleep(Duration::from_millis(3));
            let upto = last.lock().expect("whole").iter().min().copied();
            if let Some(upto) = upto.filter(|rba| *rba > Rba::default()) {
                log.checkpoint(upto)?;
            }
        }
        Ok(())
    };
    let log = &log;
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (session, next) = (log.session(), next[who as usize]);
            let (last, pace) = (&last, &pace);
            let tell = move |which| tell(log, who, which);
            scope.spawn(move || foreground(session, (who, next), tell, last, pace));
        }
        checkpoints()
    })
}

/// Commits of each session in this life. None runs far ahead: the checkpoint stays behind the last
/// commit of the slowest, and one that never gets its turn would fill the log for all.
#[derive(Default)]
struct Pace([AtomicU32; SESSIONS as usize]);

/// Where each commit is a batch, each takes a block of 4 KiB at least: three sessions so far ahead
/// take three quarters of one log file of the three.
const AHEAD_MAX: u32 = 32;

impl Pace {
    /// Session `who` has made another commit, and waits for the slowest.
    fn step(&self, who: u32) {
        let own = self.0[who as usize].fetch_add(1, Ordering::SeqCst);
        let slowest = || self.0.iter().map(|n| n.load(Ordering::SeqCst)).min();
        while slowest().is_some_and(|slowest| slowest < own.saturating_sub(AHEAD_MAX)) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Nobody waits for session `who` any more.
    fn leave(&self, who: u32) {
        self.0[who as usize].store(u32::MAX, Ordering::SeqCst);
    }

    fn all_left(&self) -> bool {
        self.0.iter().all(|n| n.load(Ordering::SeqCst) == u32::MAX)
    }
}

/// Ends with the first commit that is not acknowledged.
fn foreground(
    mut session: Session,
    (who, next): (u32, u32),
    tell: impl Fn(u32),
    last: &Mutex<[Rba; SESSIONS as usize]>,
    pace: &Pace,
) {
    for which in next.. {
        let bytes = record(who, which);
        let Ok(rba) = session.append(&[&bytes]) else {
            break;
        };
        if session.commit(CommitMode::WAIT_IMMEDIATE).is_err() {
            break;
        }
        tell(which);
        last.lock().expect("whole")[who as usize] = rba;
        pace.step(who);
    }
    pace.leave(who);
}
