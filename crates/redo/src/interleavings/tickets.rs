//! Models of what does not sleep: tickets that are reported later, and foregrounds that poll.

use super::*;
use crate::Error;
use crate::tickets::{CommitRequest, Tickets, durable_batches};
use crate::turn::{ArmedTicket, Signal};
use crate::writer::LogFileSync;
use loom::thread;

type Shared = loom::sync::Arc<Log>;

fn shared(way: Leadership, log_file_sync: LogFileSync, planted: Planted) -> Shared {
    let rules = Rules {
        way,
        log_file_sync,
        planted,
        ..Rules::default()
    };
    loom::sync::Arc::new(log_with(3, (1 << 32) - 1, rules))
}

/// Appends and commits without waiting; the batch is the tag.
fn request(log: &Log, queue: &mut Tickets<u64>, body: &[u8]) -> Result<(), Error> {
    let batch = append(log, body)?;
    log.check()?;
    log.commit_async(batch, true);
    let request = CommitRequest {
        through: batch + 1,
        immediate: true,
    };
    let queued = queue.push(request, batch);
    assert!(queued.is_ok(), "room");
    Ok(())
}

/// Waits for all tickets of the queue; how many are durable, and that each is reported once, in
/// order, and none durable after one that failed.
fn tell_all(log: &Log, queue: &mut Tickets<u64>, waits: bool) -> usize {
    let (mut durable, mut failed, mut last) = (0, false, 0);
    while queue.len() > 0 {
        let decided = if waits {
            queue.wait(log, |scribe| scribe.lead(log))
        } else {
            queue.poll(log)
        };
        if decided == 0 {
            thread::yield_now();
        }
        for _ in 0..decided {
            let (batch, yes) = queue.take().expect("as many as are decided");
            assert!(batch >= last, "in order");
            last = batch;
            let yes = yes.is_some();
            if yes {
                assert!(
                    log.buffer.published() > batch,
                    "what is reported durable is durable"
                );
                assert!(!failed, "durable behind one that failed");
                durable += 1;
            }
            failed |= !yes;
        }
        assert!(queue.take().is_none(), "reported twice");
    }
    durable
}

/// Commits the bodies, each with a ticket, and waits for all.
fn foreground(log: &Log, bodies: &[&[u8]], waits: bool) -> usize {
    let mut queue = Tickets::new(bodies.len());
    for body in bodies {
        if request(log, &mut queue, body).is_err() {
            break;
        }
    }
    tell_all(log, &mut queue, waits)
}

/// One thread with two tickets beside one that commits and waits; nobody else where foregrounds
/// write, else a log writer that is posted.
fn tickets_beside_a_committer(log: Shared, waits: bool, served: bool) {
    let server = served.then(|| serving(&log));
    let committer = {
        let log = loom::sync::Arc::clone(&log);
        thread::spawn(move || commit(&log, b"a").expect("durable"))
    };
    assert_eq!(foreground(&log, &[b"bc", b"def"], waits), 2);
    committer.join().expect("no panic");
    log.close();
    if let Some(server) = server {
        server.join().expect("no panic");
    }
    let records = log.baton().expect("whole").records();
    let expected = [&b"a"[..], b"bc", b"def"].map(<[u8]>::to_vec);
    assert_eq!(sorted(records), expected);
}

#[test]
fn who_waits_for_tickets_leads_where_foregrounds_do() {
    let log = || shared(Leadership::Inline, LogFileSync::PostWait, Planted::none());
    explore(3, move || tickets_beside_a_committer(log(), true, false));
}

#[test]
fn who_only_polls_has_the_fallback_log_writer_write() {
    let log = || shared(Leadership::Inline, LogFileSync::PostWait, Planted::none());
    explore(2, move || {
        let log = log();
        let server = serving(&log);
        assert_eq!(foreground(&log, &[b"bc", b"def"], false), 2);
        log.close();
        server.join().expect("no panic");
    });
}

#[test]
fn a_dedicated_log_writer_is_posted_once_a_batch() {
    for (waits, learns) in [
        (true, LogFileSync::PostWait),
        (true, LogFileSync::Polling),
        (false, LogFileSync::PostWait),
    ] {
        explore(2, move || {
            let log = shared(Leadership::Dedicated, learns, Planted::none());
            let server = serving(&log);
            assert_eq!(foreground(&log, &[b"bc", b"def"], waits), 2);
            log.close();
            server.join().expect("no panic");
        });
    }
    let log = || {
        shared(
            Leadership::Dedicated,
            LogFileSync::PostWait,
            Planted::none(),
        )
    };
    explore(1, move || tickets_beside_a_committer(log(), true, true));
}

/// The first or second write fails under two threads with two tickets each.
#[test]
fn tickets_of_a_failed_log_are_told_once() {
    for fails_after in [0, 1] {
        explore(2, move || {
            let log = shared(Leadership::Inline, LogFileSync::PostWait, Planted::none());
            log.baton().expect("whole").fails_after = Some(fails_after);
            let other = {
                let log = loom::sync::Arc::clone(&log);
                thread::spawn(move || foreground(&log, &[b"a"], true))
            };
            let durable = foreground(&log, &[b"bc", b"def"], true);
            let durable = durable + other.join().expect("no panic");
            let records = log.baton().expect("whole").records().len();
            assert!(durable <= records, "{durable} were reported of {records}");
        });
    }
}

/// Everybody polls: nobody sleeps who could be woken, and yet somebody leads.
#[test]
fn pollers_lead_for_each_other() {
    explore(3, || {
        let log = shared(Leadership::Inline, LogFileSync::Polling, Planted::none());
        let other = {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || commit(&log, b"a").expect("durable"))
        };
        commit(&log, b"bc").expect("durable");
        other.join().expect("no panic");
        let records = log.baton().expect("whole").records();
        assert_eq!(sorted(records), [b"a".to_vec(), b"bc".to_vec()]);
    });
}

/// The way of learning changes while two wait: one may sleep and the other poll.
#[test]
fn sleepers_and_pollers_lead_for_each_other() {
    for to_polling in [true, false] {
        explore(2, move || {
            let first = [LogFileSync::PostWait, LogFileSync::Polling][usize::from(!to_polling)];
            let log = shared(Leadership::Inline, first, Planted::none());
            let other = {
                let log = loom::sync::Arc::clone(&log);
                thread::spawn(move || commit(&log, b"a").expect("durable"))
            };
            let changes = {
                let log = loom::sync::Arc::clone(&log);
                thread::spawn(move || log.change_mind(to_polling, true))
            };
            commit(&log, b"bc").expect("durable");
            other.join().expect("no panic");
            changes.join().expect("no panic");
        });
    }
}

/// Who writes changes while two wait: one may have turned to the log writer, and the other to
/// nobody.
#[test]
fn who_leads_changes_while_two_wait() {
    for to_inline in [true, false] {
        explore(2, move || {
            let log = shared(Leadership::Either, LogFileSync::PostWait, Planted::none());
            log.change_mind(false, !to_inline);
            who_leads_changes(log, to_inline);
        });
    }
}

fn who_leads_changes(log: loom::sync::Arc<Log>, to_inline: bool) {
    let server = serving(&log);
    let other = {
        let log = loom::sync::Arc::clone(&log);
        thread::spawn(move || {
            log.change_mind(false, to_inline);
            commit(&log, b"a").expect("durable");
        })
    };
    commit(&log, b"bc").expect("durable");
    other.join().expect("no panic");
    log.close();
    server.join().expect("no panic");
    let records = log.baton().expect("whole").records();
    assert_eq!(sorted(records), [b"a".to_vec(), b"bc".to_vec()]);
}

/// The log writer leads while a waiting thread begins to ask nobody, and does not hand the baton
/// on.
#[test]
fn a_log_writer_that_does_not_hand_on_is_found_as_a_deadlock() {
    let test = "tickets::a_log_writer_that_does_not_hand_on_is_found_as_a_deadlock";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::NoHandOff);
        let log = shared(Leadership::Either, LogFileSync::PostWait, planted);
        log.change_mind(false, false);
        who_leads_changes(log, true);
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

/// Pollers miss the hand-off that comes last before they are the log writer's.
#[test]
fn who_leads_changes_while_two_poll() {
    for to_inline in [true, false] {
        explore(2, move || {
            let log = shared(Leadership::Either, LogFileSync::Polling, Planted::none());
            log.change_mind(true, !to_inline);
            who_leads_changes(log, to_inline);
        });
    }
}

/// An event as a loop waits for it: the descriptor of the engine's, without a descriptor.
#[derive(Default)]
struct LoopEvent {
    raised: loom::sync::Mutex<bool>,
    changed: loom::sync::Condvar,
}

impl Signal for LoopEvent {
    fn raise(&self) {
        *self.raised.lock().expect("whole") = true;
        self.changed.notify_all();
    }

    fn lower(&self) {
        *self.raised.lock().expect("whole") = false;
    }
}

impl LoopEvent {
    fn wait(&self) {
        let mut raised = self.raised.lock().expect("whole");
        while !*raised {
            raised = self.changed.wait(raised).expect("whole");
        }
    }
}

/// What the log wakes instead of a task.
struct RaisesEvent(loom::sync::Arc<LoopEvent>);

impl std::task::Wake for RaisesEvent {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.raise();
    }
}

/// A loop that sleeps on the event of its queue alone, beside a log writer.
fn sleeps_on_the_event(log: &Shared) {
    let server = serving(log);
    let event = loom::sync::Arc::new(LoopEvent::default());
    let waker = RaisesEvent(loom::sync::Arc::clone(&event));
    let waker = std::task::Waker::from(std::sync::Arc::new(waker));
    let (mut armed, mut queue) = (ArmedTicket::default(), Tickets::new(1));
    request(log, &mut queue, b"bc").expect("open");
    armed.arm(&**log, &queue, &*event, &waker);
    while queue.poll(&**log) == 0 {
        armed.arm(&**log, &queue, &*event, &waker);
        event.wait();
    }
    armed.disarm(&**log);
    log.close();
    server.join().expect("no panic");
}

#[test]
fn who_waits_for_the_event_alone_is_served() {
    for way in [Leadership::Inline, Leadership::Dedicated] {
        explore(2, move || {
            sleeps_on_the_event(&shared(way, LogFileSync::PostWait, Planted::none()));
        });
    }
}

#[test]
fn an_event_that_is_armed_for_a_decided_ticket_is_found_as_a_deadlock() {
    let test = "tickets::an_event_that_is_armed_for_a_decided_ticket_is_found_as_a_deadlock";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::ArmLooksAway);
        let log = shared(Leadership::Dedicated, LogFileSync::PostWait, planted);
        sleeps_on_the_event(&log);
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn a_missing_post_is_found_as_a_deadlock() {
    let test = "tickets::a_missing_post_is_found_as_a_deadlock";
    let reason = failure(test, 2, || {
        let log = shared(
            Leadership::Dedicated,
            LogFileSync::PostWait,
            Planted::with(Bug::MissingPost),
        );
        tickets_beside_a_committer(log, true, true);
    });
    assert!(reason.contains("deadlock"), "{reason}");
}

#[test]
fn pollers_that_never_lead_are_found() {
    let test = "tickets::pollers_that_never_lead_are_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::PollerNeverLeads);
        let log = shared(Leadership::Inline, LogFileSync::Polling, planted);
        commit(&log, b"a").expect("durable");
    });
    assert!(reason.contains("maximum number of branches"), "{reason}");
}

#[test]
fn a_ticket_told_when_its_redo_is_written_is_found() {
    let test = "tickets::a_ticket_told_when_its_redo_is_written_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::TicketAtWritten);
        let log = shared(Leadership::Inline, LogFileSync::PostWait, planted);
        tickets_beside_a_committer(log, true, false);
    });
    assert!(
        reason.contains("what is reported durable is durable"),
        "{reason}"
    );
    assert_eq!(durable_batches_of_nothing(), 0);
}

/// Without the bug the position is the published one, whatever was released.
fn durable_batches_of_nothing() -> u64 {
    let found = std::sync::Arc::new(AtomicU64::new(7));
    let told = std::sync::Arc::clone(&found);
    explore(0, move || {
        let log = log(0, 0, Leadership::Inline, Planted::none());
        append(&log, b"a").expect("open");
        let batch = log.buffer.seal().expect("it has bytes");
        log.buffer.release(batch.end());
        told.store(
            durable_batches(&log.buffer, Planted::none()),
            Ordering::Relaxed,
        );
    });
    found.load(Ordering::Relaxed)
}
