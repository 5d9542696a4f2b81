//! Models of the pipelined log writer: committers post it and a device rings it, on one word.
//! The device is a thread that ends writes in any order; nobody sleeps for ever, and who returns
//! is durable.

use super::*;
use crate::sync::Mutex;
use crate::turn::Turned;
use loom::thread;

/// What the log writer and the device share: what a queue of workers is made of.
#[derive(Default)]
struct Device {
    inner: Mutex<Inner>,
    work: crate::wait::WaitWord,
}

#[derive(Default)]
struct Inner {
    submitted: Vec<u64>,
    done: Vec<u64>,
    stop: bool,
}

impl Device {
    /// A worker's life: the newest first, so that later batches end before earlier ones.
    fn work(&self, log: &Log) {
        loop {
            let seen = self.work.read();
            let batch = {
                let mut inner = self.inner.lock().expect("loom");
                if inner.stop {
                    return;
                }
                inner.submitted.pop()
            };
            let Some(batch) = batch else {
                self.work.wait(seen);
                continue;
            };
            self.inner.lock().expect("loom").done.push(batch);
            log.ring();
        }
    }

    fn stop(&self) {
        self.inner.lock().expect("loom").stop = true;
        self.work.bump();
        self.work.wake_all();
    }
}

/// A host of several batches in flight: what the writer and `engine::pipeline` do, without a
/// checkpoint and with writes that are durable by themselves.
#[derive(Default)]
struct Pipe {
    /// Batches in flight, oldest first; ended ones wait for those before them.
    flight: Vec<(crate::buffer::Batch, bool)>,
    handled: u32,
    outbox: Vec<u64>,
    inbox: Vec<u64>,
    planted: Planted,
}

const DEPTH: usize = 2;

impl Pipe {
    fn turn(&mut self, scribe: &mut Scribe, log: &Log) -> Turned {
        for ended in std::mem::take(&mut self.inbox) {
            let flight = self.flight.iter_mut().find(|(batch, _)| batch.id == ended);
            flight.expect("it was in flight").1 = true;
        }
        while let Some((batch, true)) = self.flight.first().copied() {
            scribe.next = batch.end();
            log.buffer.release(batch.end());
            log.buffer.publish(batch.id + 1, batch.end());
            self.flight.remove(0);
        }
        let closing = !log.is_open();
        while !closing && self.flight.len() < DEPTH {
            let asked = log.asked();
            if log.buffer.open_batch().1 == 0 {
                self.handled = asked;
                break;
            }
            if asked == self.handled {
                break;
            }
            self.handled = asked;
            let batch = log.buffer.seal().expect("it has bytes");
            if self.planted.has(Bug::HandledAfterSeal) {
                self.handled = log.asked();
            }
            assert!(log.buffer.await_filled(&batch), "nobody dies here");
            for block in batch.start..batch.end() {
                scribe.take(log, block);
            }
            self.flight.push((batch, false));
            self.outbox.push(batch.id);
        }
        if closing && self.flight.is_empty() {
            return Turned::Over;
        }
        Turned::Wait(None)
    }
}

/// The log writer's thread and the device's.
struct Running {
    writer: thread::JoinHandle<()>,
    worker: thread::JoinHandle<()>,
    device: loom::sync::Arc<Device>,
}

fn start(log: &loom::sync::Arc<Log>, planted: Planted) -> Running {
    let device = loom::sync::Arc::new(Device::default());
    let writer = {
        let (log, device) = (loom::sync::Arc::clone(log), loom::sync::Arc::clone(&device));
        thread::spawn(move || {
            let pipe = std::cell::RefCell::new(Pipe {
                planted,
                ..Pipe::default()
            });
            log.pipeline(
                |scribe| pipe.borrow_mut().turn(scribe, &log),
                |bell, seen, turned| {
                    let mut pipe = pipe.borrow_mut();
                    if turned == Turned::Over {
                        return;
                    }
                    if !pipe.outbox.is_empty() {
                        let mut inner = device.inner.lock().expect("loom");
                        inner.submitted.append(&mut pipe.outbox);
                        drop(inner);
                        device.work.bump();
                        device.work.wake(1);
                    }
                    let mut inner = device.inner.lock().expect("loom");
                    pipe.inbox.append(&mut inner.done);
                    drop(inner);
                    if pipe.inbox.is_empty() {
                        bell.wait(seen);
                    }
                },
            );
        })
    };
    let worker = {
        let (log, device) = (loom::sync::Arc::clone(log), loom::sync::Arc::clone(&device));
        thread::spawn(move || device.work(&log))
    };
    Running {
        writer,
        worker,
        device,
    }
}

impl Running {
    fn end(self, log: &Log) {
        log.close();
        self.writer.join().expect("no panic");
        self.device.stop();
        self.worker.join().expect("no panic");
    }
}

/// Commits one record after the other.
fn one_commits_twice(start_at: StreamBlock, first_batch: u64, planted: Planted) {
    let log = log(start_at, first_batch, Leadership::Pipelined, planted);
    let log = loom::sync::Arc::new(log);
    let running = start(&log, planted);
    for body in [b"a".as_slice(), b"bc"] {
        commit(&log, body).expect("served");
    }
    running.end(&log);
    let records = log.baton().expect("whole").records();
    assert_eq!(records, [b"a".to_vec(), b"bc".to_vec()]);
}

/// Both commit, one on a thread of its own; both are durable.
fn both_are_served(start_at: StreamBlock, first_batch: u64, planted: Planted) {
    let log = log(start_at, first_batch, Leadership::Pipelined, planted);
    let log = loom::sync::Arc::new(log);
    let running = start(&log, planted);
    let other = {
        let log = loom::sync::Arc::clone(&log);
        thread::spawn(move || commit(&log, b"bc"))
    };
    let own = commit(&log, b"a");
    let other = other.join().expect("no panic");
    assert!(own.is_ok() && other.is_ok(), "{own:?} {other:?}");
    running.end(&log);
    let records = log.baton().expect("whole").records();
    assert_eq!(sorted(records), [b"a".to_vec(), b"bc".to_vec()]);
}

#[test]
fn posts_and_completions_ring_one_word() {
    explore(2, || {
        one_commits_twice(3, (1 << 32) - 1, Planted::none());
    });
}

#[test]
fn two_committers_are_served_with_two_batches_in_flight() {
    explore(1, || {
        both_are_served(3, (1 << 32) - 1, Planted::none());
    });
}

/// The log is closed while a commit is on its way: what is in flight is waited for, a commit
/// that returned is on the log, and nobody hangs.
#[test]
fn closing_waits_for_what_is_in_flight() {
    explore(2, || {
        let log = log(0, 0, Leadership::Pipelined, Planted::none());
        let log = loom::sync::Arc::new(log);
        let running = start(&log, Planted::none());
        let committer = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || commit(&log, b"a"))
        };
        running.end(&log);
        let told = committer.join().expect("no panic");
        let records = log.baton().expect("whole").records();
        match told {
            Ok(()) => assert_eq!(records, [b"a"], "acknowledged"),
            Err(crate::Error::Closed) => {}
            Err(other) => panic!("{other}"),
        }
    });
}

#[test]
fn a_bell_that_is_read_late_is_found_as_a_deadlock() {
    let test = "pipeline::a_bell_that_is_read_late_is_found_as_a_deadlock";
    let reason = failure(test, 2, || {
        one_commits_twice(0, 0, Planted::with(Bug::ReadBellLate));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn posts_taken_for_served_after_the_seal_are_found_as_a_deadlock() {
    let test = "pipeline::posts_taken_for_served_after_the_seal_are_found_as_a_deadlock";
    let reason = failure(test, 1, || {
        both_are_served(0, 0, Planted::with(Bug::HandledAfterSeal));
    });
    assert!(reason.contains("deadlock"), "{reason}");
}
