//! A member that was given up is copied and returns while sessions commit, against a plain copy of
//! the same bytes under the same commits. The devices are models with a bandwidth. See
//! experiments/resilver.
//!
//! `cargo bench -p redolab-redo --bench resilver -- [ROUNDS] [SESSIONS] [FIRST_ROUND]`
#![allow(unsafe_code)]

mod common;

use common::AnyError;
use common::drawn::control;
use device::queue::{IoOrDevice, run_one};
use device::{
    Caps, DeviceError, IoFailure, LogDevice, NullDevice, Op, OpCompletion, OpKind, Piece, Queue,
    Region,
};
use redo::{CommitMode, Layout, Log, MemberLayout, Options, Session, Shape};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(256 << 20);
const RECORD: [u8; 1900] = [7; 1900];
/// Each operation takes this, and what its bytes take.
const LATENCY: Duration = Duration::from_micros(200);
/// Nanoseconds per byte: 500 MB/s.
const NS_PER_BYTE: u64 = 2;
/// Operations under way share the bandwidth in parts of so many bytes.
const PART_BYTES: usize = 64 << 10;
/// Bytes that a plain copy reads and writes at once.
const COPY_BYTES: usize = 1 << 20;
/// The member is stale for so long before it is copied.
const STALE: Duration = Duration::from_secs(2);

/// A device of a bandwidth that all of its operations share. It keeps nothing.
#[derive(Clone)]
struct SharedDevice {
    bytes: u64,
    /// When it has transferred what it was asked for.
    free_at: Arc<Mutex<Instant>>,
    /// The next write fails.
    fails: Arc<AtomicBool>,
}

impl SharedDevice {
    fn new(bytes: u64) -> SharedDevice {
        SharedDevice {
            bytes,
            free_at: Arc::new(Mutex::new(Instant::now())),
            fails: Arc::default(),
        }
    }

    /// Takes as long as an operation of so many bytes takes, beside others.
    fn transfer(&self, bytes: usize) {
        let mut own = Instant::now();
        let mut left = bytes;
        while left > 0 {
            let part = left.min(PART_BYTES);
            let time = Duration::from_nanos(part as u64 * NS_PER_BYTE);
            {
                let free_at = self.free_at.lock();
                let mut free_at = free_at.unwrap_or_else(PoisonError::into_inner);
                own = own.max(*free_at) + time;
                *free_at = own;
            }
            left -= part;
            let more = if left > 0 { Duration::ZERO } else { LATENCY };
            std::thread::sleep((own + more).saturating_duration_since(Instant::now()));
        }
    }
}

// SAFETY: it never touches a region.
unsafe impl LogDevice for SharedDevice {
    fn caps(&self) -> Caps {
        NullDevice::PLAIN
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let (device, done) = (self.clone(), Vec::new());
        Ok(Box::new(SharedQueue { device, done }))
    }

    fn read(&self, _addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        out.fill(0);
        self.transfer(out.len());
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Ok(())
    }
}

struct SharedQueue {
    device: SharedDevice,
    done: Vec<OpCompletion>,
}

impl Queue for SharedQueue {
    fn submit(&mut self, ops: &[Op]) {
        for op in ops {
            let mut result = Ok(op.bytes() as u64);
            if let OpKind::Write { .. } = op.kind {
                self.device.transfer(op.bytes());
                if self.device.fails.swap(false, Ordering::Relaxed) {
                    result = Err(IoFailure { errno: 5 });
                }
            }
            let (id, by) = (op.id, 0);
            self.done.push(OpCompletion { id, result, by });
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }
}

/// Who copies.
#[derive(Clone, Copy)]
enum Case {
    /// The log itself: the member returns.
    Log,
    /// One piece is read, then written, and so on.
    Plain,
    /// The next piece is read while one is written.
    Overlapped,
}

const CASES: [(&str, Case); 3] = [
    ("resilver", Case::Log),
    ("plain", Case::Plain),
    ("overlapped", Case::Overlapped),
];

/// What a copy came to.
struct Copied {
    seconds: f64,
    /// Commits per second before and during it.
    before: f64,
    during: f64,
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let mut number = |usual: u64| args.next().map_or(Ok(usual), |arg| arg.parse());
    let (rounds, sessions, first) = (number(5)?, number(8)?, number(0)?);
    println!("round,sessions,case,bytes,seconds,mb_per_s,before_per_s,during_per_s");
    for round in first..first + rounds {
        let mut cases = CASES;
        if round % 2 == 1 {
            cases.reverse();
        }
        for (name, case) in cases {
            let found = measure(case, sessions)?;
            let bytes = SHAPE.file_bytes * u64::from(SHAPE.groups);
            println!(
                "{round},{sessions},{name},{bytes},{:.4},{:.1},{:.1},{:.1}",
                found.seconds,
                bytes as f64 / 1e6 / found.seconds,
                found.before,
                found.during
            );
        }
    }
    Ok(())
}

fn measure(case: Case, sessions: u64) -> Result<Copied, AnyError> {
    let bytes = SHAPE.file_bytes * u64::from(SHAPE.groups);
    let devices = [SharedDevice::new(bytes), SharedDevice::new(bytes)];
    let members = devices.clone();
    let members = members.map(|d| (Arc::new(d) as Arc<dyn LogDevice>, control()));
    let layout = Layout::from(MemberLayout::devices(members, 1));
    let retry = matches!(case, Case::Log).then_some(STALE);
    let log = Log::builder(layout).shape(SHAPE).create()?;
    let log = log
        .options(Options::default().member_retry(retry))
        .open()?
        .0;
    let (commits, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let copied = std::thread::scope(|scope| {
        let (commits, stop) = (&commits, &stop);
        for _ in 0..sessions {
            let session = log.session();
            scope.spawn(move || commit_until(session, commits, stop));
        }
        let copied = copy_beside(case, &log, &devices, commits);
        stop.store(true, Ordering::Relaxed);
        copied
    })?;
    log.close()?;
    Ok(copied)
}

fn commit_until(mut session: Session, commits: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let done = session
            .append(&[&RECORD])
            .and_then(|_| session.commit(CommitMode::WAIT_IMMEDIATE));
        if let Err(error) = done {
            eprintln!("{error}");
            return;
        }
        commits.fetch_add(1, Ordering::Relaxed);
    }
}

/// Loses the second member, and copies it while sessions commit.
fn copy_beside(
    case: Case,
    log: &Log,
    devices: &[SharedDevice; 2],
    commits: &AtomicU64,
) -> Result<Copied, AnyError> {
    let count = || commits.load(Ordering::Relaxed);
    let resilvering = || log.members()[1].resilvering;
    let in_sync = || log.members()[1].in_sync;
    // Watched until the member is stale; then commits are counted until it is copied.
    devices[1].fails.store(true, Ordering::Relaxed);
    wait(log, || !in_sync())?;
    let (since, first) = (Instant::now(), count());
    let begin = || match case {
        Case::Log => resilvering(),
        Case::Plain | Case::Overlapped => since.elapsed() >= STALE,
    };
    wait(log, begin)?;
    let (begun, at_begin) = (Instant::now(), count());
    let before = (at_begin - first) as f64 / since.elapsed().as_secs_f64();
    match case {
        Case::Log => wait(log, in_sync)?,
        Case::Plain | Case::Overlapped => std::thread::scope(|scope| {
            let overlapped = matches!(case, Case::Overlapped);
            let copier = scope.spawn(move || copy(devices, overlapped).map_err(|e| e.to_string()));
            wait(log, || copier.is_finished())?;
            copier.join().map_err(|_| "the copy panicked")??;
            Ok::<_, AnyError>(())
        })?,
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Copied {
        seconds,
        before,
        during: (count() - at_begin) as f64 / seconds,
    })
}

/// Waits, and has the checkpoint follow meanwhile.
fn wait(log: &Log, is_over: impl Fn() -> bool) -> Result<(), AnyError> {
    let since = Instant::now();
    let mut checkpoint = since;
    while !is_over() {
        std::thread::sleep(Duration::from_millis(1));
        if checkpoint.elapsed() > Duration::from_millis(100) {
            log.checkpoint(log.durable())?;
            checkpoint = Instant::now();
        }
        if since.elapsed() > Duration::from_secs(60) {
            return Err("nothing happened for a minute".into());
        }
    }
    Ok(())
}

/// A plain copy of all bytes.
fn copy([from, to]: &[SharedDevice; 2], overlapped: bool) -> Result<(), AnyError> {
    let (send, receive) = mpsc::sync_channel::<(u64, Vec<u8>)>(1);
    let region = Arc::new(Region::new(COPY_BYTES)?);
    let mut queue = to.queue(Arc::clone(&region))?;
    let mut write = |addr: u64, bytes: &[u8]| {
        // SAFETY: nothing is in flight on this queue, and nobody else has its region.
        unsafe { region.write(0, bytes) };
        let len = bytes.len();
        let pieces = [Piece { at: 0, len }, Piece::default()];
        let kind = OpKind::Write { addr, pieces };
        run_one(&mut *queue, Op { id: 1, kind }, len as u64)
    };
    let pieces = (0..from.bytes).step_by(COPY_BYTES);
    let read = |addr| {
        let mut bytes = vec![0; COPY_BYTES];
        from.read(addr, &mut bytes).map(|()| bytes)
    };
    if !overlapped {
        for addr in pieces {
            write(addr, &read(addr)?).map_err(|e| format!("{e:?}"))?;
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for addr in pieces {
                let Ok(bytes) = read(addr) else { return };
                if send.send((addr, bytes)).is_err() {
                    return;
                }
            }
        });
        for (addr, bytes) in receive {
            write(addr, &bytes).map_err(|e| format!("{e:?}"))?;
        }
        Ok(())
    })
}
