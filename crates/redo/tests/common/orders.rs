//! A pipelined log on a device behind a gate: three batches in flight, whose writes and flushes
//! end in an order that is chosen. What must then be acknowledged follows from a model of its own:
//! of the writes, the contiguous ones; of those, what the flush that has ended was submitted after.
#![allow(unsafe_code)]

use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Gate, HeldOperation, Injection};
use device::{Caps, DeviceError, LogDevice, OpKind, Queue, Region, SimDisk};
use redo::control::CONTROL_BYTES;
use redo::format::LogId;
use redo::planted::Planted;
use redo::{CommitMode, Error, Layout, Log, LogWriter, Options, Shape};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(300);
/// The same beside a planted bug, whose sign may be that somebody waits for ever.
const SHORT_PATIENCE: Duration = Duration::from_secs(5);
/// Long enough for a host that does wrong to be seen at it, most of the time.
const MOMENT: Duration = Duration::from_millis(2);
pub const BATCHES: usize = 3;

pub const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(2)
    .file_bytes(512 << 10);

struct Blocks(SimDisk);

// SAFETY: the disk below is given the operations that came.
unsafe impl LogDevice for Blocks {
    fn caps(&self) -> Caps {
        let blocking = true;
        Caps {
            blocking,
            ..self.0.caps()
        }
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        self.0.queue(region)
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.0.read(addr, out)
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        self.0.settle()
    }
}

/// Who carries operations out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Workers,
    /// A queue that does not block, without threads.
    Queue,
}

/// A log on disks of memory that keep everything at once, the data behind a fault device.
///
/// Queues of [`SimDisk`] say that they do not block; behind [`Blocks`] they say that they do, so
/// that workers carry out their operations.
pub struct Disks {
    pub data: Arc<FaultDevice>,
    pub control: Arc<dyn LogDevice>,
}

impl Disks {
    pub fn new(by: By) -> Disks {
        let disk = |bytes| {
            let disk = SimDisk::new(bytes, 4096, false);
            disk.set_immediate(true);
            disk
        };
        let control: Arc<dyn LogDevice> = Arc::new(disk(CONTROL_BYTES as usize));
        let caps = control.caps();
        let geometry = SHAPE.geometry(&caps, "memory".as_ref()).expect("a shape");
        redo::control::ControlFile::format(Arc::clone(&control), geometry, LogId([3; 16]))
            .expect("a new log");
        let data = disk(SHAPE.file_bytes as usize * SHAPE.groups as usize);
        let data: Arc<dyn LogDevice> = match by {
            By::Workers => Arc::new(Blocks(data)),
            By::Queue => Arc::new(data),
        };
        Disks {
            data: Arc::new(FaultDevice::new(data)),
            control,
        }
    }

    pub fn open(&self, options: Options) -> Log {
        let data: Arc<dyn LogDevice> = self.data.clone();
        let opened = Log::builder(Layout::devices(data, Arc::clone(&self.control)))
            .options(options)
            .open();
        opened.expect("the log opens").0
    }
}

pub fn pipelined(planted: Planted) -> Options {
    let mut options = Options::default()
        .log_writer(LogWriter::Workers(4))
        .buffer_bytes(1 << 20)
        .record_history(true)
        .planted(planted);
    // One session for each batch, one after the other: there is nobody to wait for.
    options.policy.gather = false;
    options
}

/// Starts a session that commits record `which`; returns its answer.
pub fn committer(log: &Log, which: usize) -> Receiver<Result<(), Error>> {
    let (tell, told) = channel();
    let mut session = log.session();
    std::thread::spawn(move || {
        let done = session
            .append(&[&which.to_le_bytes()])
            .and_then(|_| session.commit(CommitMode::WAIT_IMMEDIATE).map(drop));
        // Nobody listens where the test has failed.
        let _ = tell.send(done);
    });
    told
}

/// What has been released, and what follows.
#[derive(Default)]
struct Model {
    written: [bool; BATCHES],
    /// What the flush in flight covers.
    flush: Option<usize>,
    durable: usize,
    failed: bool,
}

impl Model {
    fn contiguous(&self) -> usize {
        self.written.iter().take_while(|done| **done).count()
    }

    /// The flush that must have been submitted now.
    fn flush_due(&mut self) -> bool {
        let due = !self.failed && self.flush.is_none() && self.contiguous() > self.durable;
        if due {
            self.flush = Some(self.contiguous());
        }
        due
    }
}

/// Which batch each held write is of, in the order of submission.
fn is_flush(held: &HeldOperation) -> bool {
    held.op.kind == OpKind::Flush
}

/// Lives through one order: `choices` says which of what is held is released next; missing ones
/// are the first. Gives how many could be chosen from each time, or what was wrong.
pub fn live(
    by: By,
    choices: &[usize],
    fault: Option<(FaultTarget, u64)>,
    planted: Planted,
) -> Result<Vec<usize>, String> {
    let patience = match planted {
        sound if sound == Planted::none() => PATIENCE,
        _ => SHORT_PATIENCE,
    };
    let disks = Disks::new(by);
    let log = disks.open(pipelined(planted));
    let counts = disks.data.counts();
    if let Some((target, nth)) = fault {
        let before = match target {
            FaultTarget::Write => counts.writes,
            _ => counts.flushes,
        };
        disks.data.inject(Injection {
            target,
            nth: before + nth,
            fault: Fault::Errno(EIO),
            for_good: false,
        });
    }
    let gate = disks.data.gate();
    let mut told = Vec::new();
    for which in 0..BATCHES {
        told.push(Some(committer(&log, which)));
        let held = gate.await_pending(which + 1, patience);
        held.ok_or("a further batch is written while others are in flight")?;
        // It is held before it is counted: the next one must not be counted first.
        while disks.data.counts().writes <= counts.writes + which as u64 {
            std::thread::yield_now();
        }
    }
    let writes = gate.pending();
    if writes.iter().any(is_flush) {
        return Err("nothing is complete, and yet a flush was submitted".to_owned());
    }
    let options = release_all(&log, &gate, choices, &writes, (fault, patience), &mut told)?;
    drop(gate);
    let history = log.history();
    if fault.is_none() {
        let history = history.map_err(|e| e.to_string())?.expect("it is kept");
        if history.replay(log.fresh_writer()) != Ok(history.steps()) {
            return Err("the history does not replay".to_owned());
        }
    }
    match (log.close(), fault) {
        (Ok(()), None) | (Err(Error::Poisoned(_)), Some(_)) => Ok(options),
        (closed, _) => Err(format!("closed: {closed:?}")),
    }
}

type Told = Vec<Option<Receiver<Result<(), Error>>>>;

/// Steps of the log writer so far; `None` once it is poisoned.
fn steps(log: &Log) -> Option<u64> {
    let history = log.history().ok()?;
    history.map(|history| history.steps())
}

/// Waits until the log writer has taken another step than those: it has heard of the write that was
/// released, before the next one is. A worker that is not scheduled may report it later than the
/// next, and then a flush covers less than the model expects.
fn await_step(log: &Log, before: u64, patience: Duration) -> Result<(), String> {
    let until = Instant::now() + patience;
    while steps(log).is_some_and(|now| now <= before) {
        if Instant::now() > until {
            return Err("the log writer does not hear of a write that has ended".to_owned());
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn release_all(
    log: &Log,
    gate: &Gate,
    choices: &[usize],
    writes: &[HeldOperation],
    (fault, patience): (Option<(FaultTarget, u64)>, Duration),
    told: &mut Told,
) -> Result<Vec<usize>, String> {
    let (mut model, mut options, mut flushes) = (Model::default(), Vec::new(), 0);
    let mut expected = writes.len();
    loop {
        let held = gate
            .await_pending(expected, patience)
            .ok_or_else(|| format!("{expected} operations in flight were expected"))?;
        if held.is_empty() {
            break;
        }
        let choice = choices.get(options.len()).copied().unwrap_or(0);
        options.push(held.len());
        let chosen = held[choice];
        let struck = match fault {
            Some((FaultTarget::Flush, nth)) => is_flush(&chosen) && flushes + 1 == nth,
            Some((_, nth)) => chosen.ticket == writes[nth as usize - 1].ticket,
            None => false,
        };
        let before = steps(log);
        gate.release(chosen.ticket);
        expected = held.len() - 1;
        if let Some(before) = before.filter(|_| !struck && !model.failed && !is_flush(&chosen)) {
            await_step(log, before, patience)?;
        }
        if model.failed {
            acknowledged_late(told)?;
            continue;
        }
        model.failed = struck;
        if is_flush(&chosen) {
            flushes += 1;
            let covered = model.flush.take().ok_or("a flush that was not due")?;
            if !struck {
                model.durable = covered;
            }
        } else if !struck {
            let which = writes.iter().position(|w| w.ticket == chosen.ticket);
            model.written[which.ok_or("a write of nobody")?] = true;
        }
        expected += usize::from(model.flush_due());
        hear(told, &model, patience)?;
    }
    if told.iter().any(Option::is_some) {
        return Err("somebody still waits".to_owned());
    }
    Ok(options)
}

/// Each session that must have an answer has one, and no other.
fn hear(told: &mut Told, model: &Model, patience: Duration) -> Result<(), String> {
    for (which, slot) in told.iter_mut().enumerate() {
        let Some(waits) = slot else { continue };
        if which < model.durable || model.failed {
            let answer = waits.recv_timeout(patience);
            let answer = answer.map_err(|e| format!("batch {which} waits on: {e}"))?;
            match (answer, which < model.durable) {
                (Ok(()), true) | (Err(Error::Poisoned(_)), false) => *slot = None,
                (answer, _) => return Err(format!("batch {which} was answered {answer:?}")),
            }
        }
    }
    std::thread::sleep(MOMENT);
    acknowledged_late(told)
}

/// No session that waits has an answer.
fn acknowledged_late(told: &Told) -> Result<(), String> {
    for (which, waits) in told.iter().enumerate() {
        let heard = waits.as_ref().and_then(|waits| waits.try_recv().ok());
        if let Some(heard) = heard {
            return Err(format!("batch {which} was answered {heard:?} too early"));
        }
    }
    Ok(())
}

/// Every order, until one is wrong: how many there are, or what was wrong with which.
pub fn every_order(
    by: By,
    fault: Option<(FaultTarget, u64)>,
    planted: Planted,
) -> Result<usize, String> {
    let (mut choices, mut orders) = (Vec::new(), 0);
    loop {
        let options = live(by, &choices, fault, planted)
            .map_err(|what| format!("order {choices:?}, fault {fault:?}: {what}"))?;
        orders += 1;
        choices.resize(options.len(), 0);
        let Some(at) = (0..options.len()).rfind(|at| choices[*at] + 1 < options[*at]) else {
            return Ok(orders);
        };
        choices.truncate(at + 1);
        choices[at] += 1;
    }
}
