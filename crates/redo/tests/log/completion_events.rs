//! What an event loop needs of the log: the event of a completion queue, which becomes readable
//! when tickets may be decided, and appending without blocking.

use crate::common::{Scratch, WRITERS, faulty, record};
use device::fault::{EIO, Fault, FaultTarget, Injection};
use redo::{CommitPost, Completions, Error, LogWriter, Session, Triggers};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const UNTIMED: Triggers = Triggers::NONE.commit(true).third(true).period(None);

/// Whether a descriptor is readable; waits for it as long as a slow machine may take, or not at
/// all.
fn readable(event: &impl AsFd, waits: bool) -> bool {
    let none = Timespec {
        tv_sec: if waits { 300 } else { 0 },
        tv_nsec: 0,
    };
    let mut polled = [PollFd::new(event, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&none)).expect("polls") > 0
}

fn queue(session: &mut Session, completions: &mut Completions<u32>, which: u32) {
    session.append(&[&record(0, which)]).expect("open");
    let ticket = session.commit_async(CommitPost::Immediate).expect("open");
    completions.push(ticket, which).expect("room");
}

/// Takes what is decided; how many.
fn taken(completions: &mut Completions<u32>, next: &mut u32) -> usize {
    let mut taken = 0;
    while let Some(done) = completions.take() {
        done.outcome.expect("durable");
        assert_eq!(done.tag, *next, "in order");
        (*next, taken) = (*next + 1, taken + 1);
    }
    taken
}

/// A loop that sleeps only on the event gets every completion, with every log writer.
#[test]
fn who_waits_for_the_event_alone_gets_every_completion() {
    const TOTAL: u32 = 300;
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (_, log) = faulty(&scratch, log_writer, UNTIMED);
        let (mut session, mut completions) = (log.session(), log.completions(7));
        let event = completions.event().expect("a descriptor");
        assert!(!readable(&event, false), "nothing is queued");
        let (mut sent, mut next) = (0, 0);
        while next < TOTAL {
            while sent < TOTAL && completions.len() < completions.capacity() {
                queue(&mut session, &mut completions, sent);
                sent += 1;
            }
            // A signal that was on its way may make it readable once for nothing.
            while completions.poll() == 0 {
                assert!(readable(&event, true), "commits are under way");
            }
            assert!(taken(&mut completions, &mut next) > 0);
        }
        crate::common::until("nothing is left", || {
            assert_eq!(completions.poll(), 0);
            !readable(&event, false)
        });
    }
}

/// A ticket that has nothing written lies first; the one behind it has both written.
#[test]
fn who_posts_behind_who_does_not_makes_the_event_readable() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (_, log) = faulty(&scratch, log_writer, UNTIMED);
        let (mut session, mut completions) = (log.session(), log.completions(4));
        let event = completions.event().expect("a descriptor");
        session.append(&[&record(0, 0)]).expect("open");
        let ticket = session.commit_async(CommitPost::Batch).expect("open");
        completions.push(ticket, 0).expect("room");
        assert!(
            !readable(&event, false),
            "{log_writer}: nobody has it written"
        );
        queue(&mut session, &mut completions, 1);
        let mut next = 0;
        while next < 2 {
            assert!(readable(&event, true), "{log_writer}");
            completions.poll();
            taken(&mut completions, &mut next);
        }
    }
}

/// It is unreadable while the device stalls, and readable once it failed.
#[test]
fn the_event_shows_what_the_device_does() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        let (mut session, mut completions) = (log.session(), log.completions(100));
        let event = completions.event().expect("a descriptor");
        let gate = data.gate();
        data.inject(Injection {
            target: FaultTarget::Flush,
            nth: data.counts().flushes + 1,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
        // The push into an empty queue arms it, without a poll.
        queue(&mut session, &mut completions, 0);
        assert!(
            gate.await_pending(1, crate::common::PATIENCE).is_some(),
            "written"
        );
        for _ in 0..3 {
            assert_eq!(completions.poll(), 0);
            assert!(!readable(&event, false), "the device stalls");
        }
        drop(gate);
        assert!(readable(&event, true), "it failed");
        assert_eq!(completions.poll(), 1);
        let done = completions.take().expect("decided");
        assert!(matches!(done.outcome, Err(Error::Poisoned(_))));
        // The event outlives its queue and its log.
        drop((completions, session, log));
        readable(&event, false);
    }
}

/// In a tokio runtime.
#[test]
fn an_async_fd_takes_the_event() {
    const TOTAL: u32 = 300;
    let scratch = Scratch::new();
    let (_, log) = faulty(&scratch, LogWriter::Inline, UNTIMED);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    runtime.expect("a runtime").block_on(async {
        let (mut session, mut completions) = (log.session(), log.completions(16));
        let event = completions.event().expect("a descriptor");
        // What it asks to be promised of any descriptor holds: this one lives as long as the event.
        #[allow(deprecated)]
        let event = tokio::io::unix::AsyncFd::new(event).expect("epoll takes it");
        let (mut sent, mut next) = (0, 0);
        while next < TOTAL {
            while sent < TOTAL && completions.len() < completions.capacity() {
                queue(&mut session, &mut completions, sent);
                sent += 1;
            }
            while completions.poll() == 0 {
                let mut ready = event.readable().await.expect("of this runtime");
                if completions.poll() == 0 {
                    ready.clear_ready();
                }
            }
            taken(&mut completions, &mut next);
        }
    });
}

/// A full log buffer is said so at once, and there is room again when the device answers.
#[test]
fn appending_does_not_block_on_a_full_buffer() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        let gate = data.gate();
        let mut session = log.session();
        let body = [7; 10_000];
        let mut appended = 0;
        // Full batches are sealed meanwhile: what counts is that nothing more finds room.
        let mut refused_since = Instant::now();
        while refused_since.elapsed() < Duration::from_millis(100) {
            if session.try_append(&[&body]).expect("open").is_some() {
                appended += 1;
                refused_since = Instant::now();
                assert!(appended < 1000, "the log buffer has a mebibyte");
            }
        }
        assert!(appended > 50, "{appended}");
        assert_eq!(session.appended().records, appended);
        assert!(session.try_append(&[&body]).expect("open").is_none());
        assert_eq!(session.space_waits().count, 0);
        drop(gate);
        crate::common::until("there is room", || {
            session.try_append(&[&body]).expect("open").is_some()
        });
        log.flush().expect("healthy");
        let too_large = vec![0; log.max_record_bytes() as usize + 1];
        let refused = session.try_append(&[&too_large]);
        assert!(matches!(refused, Err(Error::RecordTooLarge { .. })));
        drop(session);
        drop(log);
        assert_eq!(
            crate::common::recovered(&scratch.0).0.len() as u64,
            appended + 1
        );
    }
}
