//! Capture: every log file sync and every log file parallel write of a row, through bounded
//! buffers, to a thread that stores them.
//!
//! Invariants: a thread that commits or writes the log copies an event into a buffer and never
//! waits for the thread; there are `BUFFERS` buffers of each kind, made when they are needed; when
//! all are full, further events are counted as lost and the row says so. What is captured is what
//! the row counts: the same window, the same waits.
//!
//! What it must not know: the format of what is stored.

use super::sample::Sample;
use crate::experiment::Failure;
use crate::store::StoreError;
use crate::store::events::{EventWriter, RowFacts, SyncEvent, WriteEvent, Written};
use measure::Nanos;
use measure::run::CapturedEvents;
use redo::engine::LogWrite;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// Events of a buffer.
const BUFFER_EVENTS: usize = 4096;
/// Buffers of each kind at most. All of both kinds together take 100 MB; those of log file sync
/// hold 2.6 s of 200,000 commits a second.
const BUFFERS: usize = 128;
/// The few messages beside the buffers.
const OTHER_MESSAGES: usize = 8;

enum Message {
    Begin(RowFacts),
    Syncs(Vec<SyncEvent>),
    Writes(Vec<WriteEvent>),
    End(SyncSender<Result<Written, StoreError>>),
    Finish(Option<SyncSender<EventWriter>>),
}

/// Takes events from sessions and the log writer.
pub struct Capture {
    shared: Arc<Shared>,
    /// One for each shard of the recorder.
    syncs: Box<[Mutex<Vec<SyncEvent>>]>,
    writes: Mutex<Vec<WriteEvent>>,
    sender: SyncSender<Message>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// A row is being measured.
    active: AtomicBool,
    /// Nothing can be stored any more.
    failed: AtomicBool,
    /// Events of the row for which there was no buffer.
    lost: AtomicU64,
    syncs: Pool<SyncEvent>,
    writes: Pool<WriteEvent>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

/// Empty buffers.
struct Pool<T>(Mutex<(Vec<Vec<T>>, usize)>);

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(Mutex::new((Vec::new(), 0)))
    }
}

impl<T> Pool<T> {
    /// An empty buffer, unless all are full.
    fn take(&self) -> Option<Vec<T>> {
        let mut pool = lock(&self.0);
        if let Some(buffer) = pool.0.pop() {
            return Some(buffer);
        }
        if pool.1 == BUFFERS {
            return None;
        }
        pool.1 += 1;
        drop(pool);
        Some(Vec::with_capacity(BUFFER_EVENTS))
    }

    fn give(&self, mut buffer: Vec<T>) {
        buffer.clear();
        lock(&self.0).0.push(buffer);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A buffer holds whole events at any time.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    /// Starts the thread that stores what `shards` shards hand over.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(shards: usize, writer: EventWriter) -> std::io::Result<Capture> {
        let shared = Arc::new(Shared::default());
        // No buffer is ever refused for want of a place in the channel.
        let (sender, receiver) = sync_channel(2 * BUFFERS + OTHER_MESSAGES);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || store(writer, &receiver, &theirs))?;
        Ok(Capture {
            shared,
            syncs: (0..shards).map(|_| Mutex::default()).collect(),
            writes: Mutex::default(),
            sender,
            thread: Some(thread),
        })
    }

    /// What comes from now on belongs to a row. `now` is the time on the log's clock.
    pub fn begin_row(&self, row: u32, workload: &str, jobs: u32, now: Nanos) {
        self.discard();
        self.shared.lost.store(0, Ordering::SeqCst);
        let facts = RowFacts {
            row,
            workload: workload.to_owned(),
            jobs,
            utc_at_zero_ns: utc_now_ns() - now.0 as i64,
        };
        self.send(Message::Begin(facts));
        self.shared.active.store(true, Ordering::SeqCst);
    }

    /// Nothing can be stored any more, and [`Capture::end_row`] will say why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Ends the row: what was not handed over does not belong to it. Waits until all of it is
    /// stored.
    ///
    /// # Errors
    /// When events could not be stored.
    pub fn end_row(&self) -> Result<CapturedEvents, Failure> {
        self.shared.active.store(false, Ordering::SeqCst);
        self.discard();
        let (reply, answer) = sync_channel(1);
        self.send(Message::End(reply));
        let written = answer.recv().map_err(|_| gone())??;
        Ok(CapturedEvents {
            log_file_syncs: written.syncs,
            log_file_parallel_writes: written.writes,
            lost: self.shared.lost.load(Ordering::SeqCst),
        })
    }

    /// Ends the capture and gives back what it stored with.
    ///
    /// # Errors
    /// When the thread is gone.
    pub fn end(&self) -> Result<EventWriter, Failure> {
        let (reply, answer) = sync_channel(1);
        self.send(Message::Finish(Some(reply)));
        answer.recv().map_err(|_| gone())
    }

    /// Takes a session's samples, which go through a shard.
    pub(crate) fn samples(&self, shard: usize, samples: &[Sample]) {
        let Some(buffer) = self.syncs.get(shard).filter(|_| self.is_active()) else {
            return;
        };
        let mut buffer = lock(buffer);
        for event in samples.iter().filter_map(sync_event) {
            if full(&buffer) && !self.renew_syncs(&mut buffer) {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            buffer.push(event);
        }
    }

    /// Takes a log write.
    pub(crate) fn log_write(&self, write: &LogWrite) {
        if !self.is_active() {
            return;
        }
        let mut buffer = lock(&self.writes);
        if full(&buffer) && !self.renew_writes(&mut buffer) {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        buffer.push(write_event(write));
    }

    /// Hands over what a shard holds.
    pub(crate) fn hand_over_syncs(&self, shard: usize) {
        if let Some(buffer) = self.syncs.get(shard) {
            let mut buffer = lock(buffer);
            if !buffer.is_empty() && !self.renew_syncs(&mut buffer) {
                self.lose(&mut buffer);
            }
        }
    }

    /// Hands over the log writes.
    pub(crate) fn hand_over_writes(&self) {
        let mut buffer = lock(&self.writes);
        if !buffer.is_empty() && !self.renew_writes(&mut buffer) {
            self.lose(&mut buffer);
        }
    }

    fn lose<T>(&self, buffer: &mut Vec<T>) {
        let lost = buffer.len() as u64;
        self.shared.lost.fetch_add(lost, Ordering::Relaxed);
        buffer.clear();
    }

    /// Hands a buffer over for an empty one; `false` when there is none.
    fn renew_syncs(&self, buffer: &mut Vec<SyncEvent>) -> bool {
        let Some(empty) = self.shared.syncs.take() else {
            return false;
        };
        let full = std::mem::replace(buffer, empty);
        full.is_empty() || self.send(Message::Syncs(full))
    }

    fn renew_writes(&self, buffer: &mut Vec<WriteEvent>) -> bool {
        let Some(empty) = self.shared.writes.take() else {
            return false;
        };
        let full = std::mem::replace(buffer, empty);
        full.is_empty() || self.send(Message::Writes(full))
    }

    fn is_active(&self) -> bool {
        self.shared.active.load(Ordering::Relaxed)
    }

    /// Sends; when the thread is gone, what a buffer held is counted.
    fn send(&self, message: Message) -> bool {
        let Err(unsent) = self.sender.try_send(message) else {
            return true;
        };
        let (std::sync::mpsc::TrySendError::Full(unsent)
        | std::sync::mpsc::TrySendError::Disconnected(unsent)) = unsent;
        let events = match unsent {
            Message::Syncs(events) => events.len(),
            Message::Writes(events) => events.len(),
            _ => 0,
        };
        self.shared.lost.fetch_add(events as u64, Ordering::Relaxed);
        true
    }

    fn discard(&self) {
        for buffer in &self.syncs {
            lock(buffer).clear();
        }
        lock(&self.writes).clear();
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.send(Message::Finish(None));
        if let Some(thread) = self.thread.take() {
            // What it could not store it has said, or nobody is left to ask.
            let _ = thread.join();
        }
    }
}

fn gone() -> Failure {
    Failure::System {
        what: "the thread that stores events".to_owned(),
        source: std::io::Error::other("it is gone"),
    }
}

fn full<T>(buffer: &Vec<T>) -> bool {
    buffer.len() >= BUFFER_EVENTS.min(buffer.capacity())
}

/// The thread: stores until it has to finish.
fn store(mut writer: EventWriter, receiver: &Receiver<Message>, shared: &Shared) {
    for message in receiver {
        match message {
            Message::Begin(facts) => writer.begin_row(facts),
            Message::Syncs(events) => {
                writer.syncs(&events);
                shared.syncs.give(events);
            }
            Message::Writes(events) => {
                writer.writes(&events);
                shared.writes.give(events);
            }
            Message::End(reply) => {
                // Who asked may be gone.
                let _ = reply.send(writer.end_row());
            }
            Message::Finish(reply) => {
                // Of a row that was interrupted: an incomplete run keeps what is there.
                let _ = writer.end_row();
                if let Some(reply) = reply {
                    let _ = reply.send(writer);
                }
                return;
            }
        }
        if writer.has_failed() {
            shared.failed.store(true, Ordering::Relaxed);
        }
    }
}

fn sync_event(sample: &Sample) -> Option<SyncEvent> {
    let transaction = &sample.transaction;
    Some(SyncEvent {
        start_ns: transaction.requested.0,
        latency_ns: transaction.sync_ns?,
        transaction_ns: sample.latency_ns,
        parts_ns: transaction.path_ns,
        batch: transaction.batch,
        session: sample.session,
    })
}

fn write_event(write: &LogWrite) -> WriteEvent {
    let stations = &write.stations;
    let written = stations.written_ns.max(stations.submitted_ns);
    WriteEvent {
        start_ns: stations.submitted_ns,
        write_ns: written - stations.submitted_ns,
        flush_ns: stations
            .durable_ns
            .saturating_sub(written)
            .saturating_sub(write.deferred_ns),
        batch: write.batch,
        commits: write.commits,
        redo_bytes: write.redo_bytes,
        blocks: write.blocks,
        writes: write.writes,
        flushes: write.flushes,
        log_seq: write.log_seq,
        log_switch: write.switched,
        checkpoint_wait_ns: write.checkpoint_wait_ns,
        group_wait_ns: write.group_wait_ns,
        worker: write.worker,
    }
}

/// UTC nanoseconds since 1970.
fn utc_now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |t| i64::try_from(t.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::driver::Transaction;

    /// A capture whose thread does nothing yet.
    fn idle() -> (Capture, Receiver<Message>) {
        let (sender, receiver) = sync_channel(2 * BUFFERS + OTHER_MESSAGES);
        let capture = Capture {
            shared: Arc::default(),
            syncs: (0..2).map(|_| Mutex::default()).collect(),
            writes: Mutex::default(),
            sender,
            thread: None,
        };
        (capture, receiver)
    }

    fn sample(requested_ns: u64) -> Sample {
        Sample {
            latency_ns: 2000,
            transaction: Transaction {
                kind: 0,
                requested: Nanos(requested_ns),
                returned: Nanos(requested_ns + 1000),
                sync_ns: Some(1000),
                path_ns: None,
                batch: Some(1),
            },
            session: 0,
        }
    }

    fn received(receiver: &Receiver<Message>) -> u64 {
        let count = |message| match message {
            Message::Syncs(events) => events.len() as u64,
            _ => 0,
        };
        receiver.try_iter().map(count).sum()
    }

    #[test]
    fn what_cannot_be_kept_up_with_is_counted_and_nobody_waits() {
        let (capture, receiver) = idle();
        capture.begin_row(1, "w", 1, Nanos(0));
        let room = (BUFFERS * BUFFER_EVENTS) as u64;
        let samples: Vec<Sample> = (0..64).map(sample).collect();
        for _ in 0..(room + 6400) / 64 {
            capture.samples(0, &samples);
        }
        // The second shard has no buffer at all.
        capture.samples(1, &samples);
        let lost = || capture.shared.lost.load(Ordering::SeqCst);
        assert_eq!(lost(), 6400 + 64);
        capture.hand_over_syncs(0);
        let taken = received(&receiver);
        assert_eq!(taken + lost(), room + 6400 + 64, "every event is counted");
        assert_eq!(taken, room - BUFFER_EVENTS as u64);
    }

    #[test]
    fn an_event_that_comes_after_the_row_is_not_of_it() {
        let (capture, receiver) = idle();
        capture.samples(0, &[sample(1)]);
        capture.begin_row(1, "w", 1, Nanos(0));
        capture.samples(0, &[sample(2), sample(3)]);
        let mut without_wait = sample(4);
        without_wait.transaction.sync_ns = None;
        capture.samples(1, &[without_wait]);
        capture.hand_over_syncs(0);
        capture.hand_over_syncs(1);
        capture.samples(0, &[sample(5)]);
        capture.shared.active.store(false, Ordering::SeqCst);
        capture.discard();
        capture.samples(0, &[sample(6)]);
        capture.hand_over_syncs(0);
        assert_eq!(received(&receiver), 2);
        assert_eq!(capture.shared.lost.load(Ordering::SeqCst), 0);
    }
}
