//! The load of one version: sessions that commit while their gate is open and sleep while it is
//! shut, and the checkpoint that follows log switches of the version that is measured.

use crate::AnyError;
use measure::workload::{Generator, pool};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where a log is.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A folder with the files of a log.
    Folder(&'a Path),
    /// The null device.
    Null,
}

/// The log writer.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// The committing session leads.
    Inline,
    /// A dedicated log writer.
    Lgwr,
}

/// Redo of a transaction of LGWR-LAT1, bytes.
const RECORD_BYTES: u32 = 1_997;
/// How often the checkpoint follows.
const LOOK: Duration = Duration::from_millis(2);

/// What both versions of the engine can do.
pub trait Engine: Send + Sync + Sized + 'static {
    /// A foreground.
    type Session: Send;
    /// A new foreground.
    fn session(&self) -> Self::Session;
    /// Appends a record and waits until its commit is durable.
    fn commit(session: &mut Self::Session, record: &[&[u8]]) -> Result<(), AnyError>;
    /// Moves the checkpoint where a log switch happened since `log_seq`.
    fn follow(&self, log_seq: &mut u64) -> Result<(), AnyError>;
    /// Closes the log.
    fn close(self) -> Result<(), AnyError>;
}

/// What a chunk came to.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Commits that were acknowledged.
    pub commits: u64,
    /// From opening the gate to the end of the last commit, nanoseconds.
    pub ns: u64,
}

/// An open log with its sessions, of either version.
pub trait Side {
    /// Commits with all sessions for as long as `length` and to the end of what is under way.
    fn chunk(&mut self, length: Duration) -> Result<Chunk, AnyError>;
    /// Ends the sessions and closes the log.
    fn close(self: Box<Self>) -> Result<(), AnyError>;
}

#[derive(Default)]
struct Gate {
    /// Chunks that were begun.
    begun: u64,
    /// Sessions that commit.
    running: u32,
    commits: u64,
    ended_at: Option<Instant>,
    failure: Option<AnyError>,
    over: bool,
}

#[derive(Default)]
struct Shared {
    gate: Mutex<Gate>,
    opened: Condvar,
    shut: Condvar,
    stop: AtomicBool,
}

impl Shared {
    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open log of one version.
pub struct Sessions<E> {
    log: Arc<E>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    log_seq: u64,
}

impl<E: Engine> Sessions<E> {
    /// Starts `jobs` sessions, which sleep.
    pub fn start(log: E, jobs: u32) -> Sessions<E> {
        let shared = Arc::new(Shared::default());
        let bytes = pool(1, 1 << 20);
        let threads = (0..jobs).map(|job| {
            let (session, shared) = (log.session(), Arc::clone(&shared));
            let generator = Generator::new(Arc::clone(&bytes), job, 1);
            std::thread::spawn(move || foreground::<E>(session, generator, &shared))
        });
        let threads = threads.collect();
        Sessions {
            log: Arc::new(log),
            shared,
            threads,
            log_seq: 0,
        }
    }
}

fn foreground<E: Engine>(mut session: E::Session, mut generator: Generator, shared: &Shared) {
    let mut begun = 0;
    loop {
        let mut gate = shared.gate();
        while gate.begun == begun && !gate.over {
            let woken = shared.opened.wait(gate);
            gate = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if gate.over {
            return;
        }
        begun = gate.begun;
        drop(gate);
        let mut commits = 0;
        let mut failure = None;
        while !shared.stop.load(Ordering::Relaxed) {
            generator.next_transaction();
            let (stamp, body) = generator.record(0, RECORD_BYTES);
            match E::commit(&mut session, &[&stamp, body]) {
                Ok(()) => commits += 1,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let now = Instant::now();
        let mut gate = shared.gate();
        gate.commits += commits;
        gate.ended_at = gate.ended_at.max(Some(now));
        gate.failure = gate.failure.take().or(failure);
        gate.running -= 1;
        if gate.running == 0 {
            shared.shut.notify_one();
        }
    }
}

impl<E: Engine> Side for Sessions<E> {
    fn chunk(&mut self, length: Duration) -> Result<Chunk, AnyError> {
        let shared = &self.shared;
        shared.stop.store(false, Ordering::Relaxed);
        let mut gate = shared.gate();
        gate.begun += 1;
        gate.running = self.threads.len() as u32;
        gate.commits = 0;
        gate.ended_at = None;
        let start = Instant::now();
        drop(gate);
        shared.opened.notify_all();
        while let Some(left) = length.checked_sub(start.elapsed()) {
            std::thread::sleep(left.min(LOOK));
            self.log.follow(&mut self.log_seq)?;
        }
        shared.stop.store(true, Ordering::Relaxed);
        let mut gate = shared.gate();
        while gate.running > 0 {
            let woken = shared.shut.wait_timeout(gate, LOOK);
            drop(woken.unwrap_or_else(PoisonError::into_inner));
            self.log.follow(&mut self.log_seq)?;
            gate = shared.gate();
        }
        if let Some(error) = gate.failure.take() {
            return Err(error);
        }
        let ended_at = gate.ended_at.ok_or("no session ended")?;
        Ok(Chunk {
            commits: gate.commits,
            ns: (ended_at - start).as_nanos() as u64,
        })
    }

    fn close(self: Box<Self>) -> Result<(), AnyError> {
        self.shared.gate().over = true;
        self.shared.opened.notify_all();
        for thread in self.threads {
            thread.join().map_err(|_| "a session panicked")?;
        }
        let log = Arc::into_inner(self.log).ok_or("the log is still in use")?;
        log.close()
    }
}
