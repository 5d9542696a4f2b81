//! Commits that tasks await, on real and faulty devices: every future is decided, beside threads
//! and completion queues, when the device fails and when the log is closed or dropped; a stalled
//! device costs no processor time; a poll makes no system call; wakers may call the log.

mod common;

use common::{SMALL, Scratch, WRITERS, assert_prefixes, faulty, options, record, recovered, until};
use device::fault::{EIO, Fault, FaultTarget, Injection};
use redo::writer::Cause;
use redo::{
    CommitFuture, CommitPost, Error, Layout, Log, LogWriter, MemberLayout, Session, Triggers,
};
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// No timed wait hides a lost wake-up.
const UNTIMED: Triggers = Triggers::NONE
    .commit(true)
    .third(true)
    .bytes(Some(1 << 20))
    .period(None);
/// Which child's part this process plays.
const PART: &str = "REDO_FUTURES_PART";

/// Counts its wakes.
#[derive(Default)]
struct CountedWakes(AtomicU32);

impl Wake for CountedWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl CountedWakes {
    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn poll(future: &mut CommitFuture, waker: &Waker) -> Poll<Result<(), Error>> {
    let polled = Pin::new(future).poll(&mut Context::from_waker(waker));
    polled.map_ok(drop)
}

/// Appends a record and commits it; what is awaited.
fn begun(session: &mut Session, post: CommitPost, who: u32, which: u32) -> CommitFuture {
    session.append(&[&record(who, which)]).expect("open");
    session.commit_async(post).expect("open").into_future()
}

fn runtimes() -> [Runtime; 2] {
    let one = Builder::new_current_thread().enable_all().build();
    let several = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    [one, several].map(|runtime| runtime.expect("a runtime"))
}

/// Commits so many records, each awaited. How many are durable, and the error that ended it.
async fn commits(log: Arc<Log>, who: u32, total: u32) -> (u32, Option<Error>) {
    let mut session = log.session();
    for which in 0..total {
        let appended = session.append(&[&record(who, which)]);
        let ticket = appended.and_then(|_| session.commit_async(CommitPost::Immediate));
        let done = match ticket {
            Ok(ticket) => ticket.await.map(drop),
            Err(refused) => Err(refused),
        };
        if let Err(error) = done {
            return (which, Some(error));
        }
    }
    (total, None)
}

/// Tasks, threads that wait and threads with completion queues share a log.
#[test]
fn tasks_threads_and_queues_are_served_alike() {
    const EACH: u32 = 40;
    const TASKS: u32 = 24;
    for log_writer in WRITERS {
        for runtime in runtimes() {
            let scratch = Scratch::new();
            let (_, log) = faulty(&scratch, log_writer, UNTIMED);
            std::thread::scope(|scope| {
                for who in [TASKS, TASKS + 1] {
                    let log = &log;
                    scope.spawn(move || {
                        let mut session = log.session();
                        for which in 0..EACH {
                            common::commit(&mut session, who, which).expect("durable");
                        }
                    });
                }
                let log = &log;
                scope.spawn(move || {
                    let (mut session, mut queue) = (log.session(), log.completions(8));
                    let (mut sent, mut told) = (0, 0);
                    while told < EACH {
                        while sent < EACH && queue.len() < queue.capacity() {
                            session.append(&[&record(TASKS + 2, sent)]).expect("open");
                            let ticket = session.commit_async(CommitPost::Immediate);
                            queue.push(ticket.expect("open"), sent).expect("room");
                            sent += 1;
                        }
                        assert!(queue.wait() > 0, "some are queued");
                        while let Some(done) = queue.take() {
                            done.outcome.expect("durable");
                            told += 1;
                        }
                    }
                });
                runtime.block_on(async {
                    let tasks =
                        (0..TASKS).map(|who| tokio::spawn(commits(Arc::clone(log), who, EACH)));
                    for task in tasks.collect::<Vec<_>>() {
                        let (durable, error) = task.await.expect("no panic");
                        assert!(durable == EACH && error.is_none(), "{error:?}");
                    }
                });
            });
            drop(log);
            let (records, _) = recovered(&scratch.0);
            assert_prefixes(&records, &[EACH; TASKS as usize + 3]);
        }
    }
}

/// Once a flush fails every task gets the error, and what was acknowledged is there.
#[test]
fn tasks_of_a_failing_device_get_its_error() {
    const TASKS: u32 = 16;
    for log_writer in WRITERS {
        for fails in [0, 5] {
            let scratch = Scratch::new();
            let (data, log) = faulty(&scratch, log_writer, UNTIMED);
            data.inject(Injection {
                target: FaultTarget::Flush,
                nth: data.counts().flushes + 1 + fails,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            let [_, runtime] = runtimes();
            let acknowledged: Vec<u32> = runtime.block_on(async {
                let tasks =
                    (0..TASKS).map(|who| tokio::spawn(commits(Arc::clone(&log), who, 10_000)));
                let mut acknowledged = Vec::new();
                for task in tasks.collect::<Vec<_>>() {
                    let (durable, error) = task.await.expect("no panic");
                    let told = matches!(error, Some(Error::Poisoned(Cause::Flush(_))));
                    assert!(told, "{error:?}");
                    acknowledged.push(durable);
                }
                acknowledged
            });
            drop(runtime);
            drop(log);
            let (records, _) = recovered(&scratch.0);
            assert_prefixes(&records, &acknowledged);
        }
    }
}

/// Futures of redo that nobody wants written, each registered: closing writes it, dropping does
/// not; each future is woken once, and what was reported as failed stays so.
#[test]
fn closing_and_dropping_the_log_decide_every_future() {
    const FUTURES: u32 = 1000;
    for log_writer in WRITERS {
        for closes in [true, false] {
            let scratch = Scratch::new();
            let (_, log) = faulty(&scratch, log_writer, Triggers::NONE);
            let mut session = log.session();
            let wakes = Arc::new(CountedWakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            let mut futures: Vec<_> = (0..FUTURES)
                .map(|which| begun(&mut session, CommitPost::Batch, 0, which))
                .collect();
            for future in &mut futures {
                assert!(poll(future, &waker).is_pending());
            }
            let log = Arc::into_inner(log).expect("nobody else has it");
            if closes {
                log.close().expect("healthy");
            } else {
                drop(log);
            }
            assert_eq!(wakes.count(), FUTURES);
            for future in &mut futures {
                let first = poll(future, &waker);
                match &first {
                    Poll::Ready(Ok(())) => assert!(closes, "nobody wrote it"),
                    Poll::Ready(Err(Error::Closed)) => assert!(!closes, "it was written"),
                    other => panic!("{other:?}"),
                }
                let again = poll(future, &waker);
                assert_eq!(format!("{first:?}"), format!("{again:?}"));
            }
            // What is made of a closed log is decided too, if it can be made at all.
            assert!(session.commit_async(CommitPost::Immediate).is_err());
        }
    }
}

/// A device that stalls holds up a close, but no future: each is decided at once.
#[test]
fn futures_on_a_stalled_device_are_told_of_a_close_before_it_ends() {
    for log_writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Workers(2)] {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        let gate = data.gate();
        let mut session = log.session();
        let mut future = begun(&mut session, CommitPost::Immediate, 0, 0);
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        assert!(poll(&mut future, &waker).is_pending());
        assert!(gate.await_pending(1, common::PATIENCE).is_some(), "written");
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| log.close());
            until("it is woken", || wakes.count() > 0);
            let told = poll(&mut future, &waker);
            assert!(matches!(told, Poll::Ready(Err(Error::Closed))), "{told:?}");
            drop(gate);
            closing.join().expect("no panic").expect("healthy again");
        });
        // It is there all the same, but it was reported as failed.
        assert!(matches!(
            poll(&mut future, &waker),
            Poll::Ready(Err(Error::Closed))
        ));
        let (records, _) = recovered(&scratch.0);
        assert_eq!(records.len(), 1);
    }
}

/// A future that is dropped, before it was polled or after, leaves its commit under way, and the
/// others on its batch are woken.
#[test]
fn a_commit_whose_future_was_dropped_goes_on() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        let gate = data.gate();
        let mut session = log.session();
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        // The first is in flight; the others share the batch behind it, or the one after.
        let mut kept = vec![begun(&mut session, CommitPost::Immediate, 0, 0)];
        assert!(gate.await_pending(1, common::PATIENCE).is_some(), "written");
        for which in 1..500 {
            let mut future = begun(&mut session, CommitPost::Immediate, 0, which);
            match which % 5 {
                0 => kept.push(future),
                1 => drop(future),
                polls => {
                    for _ in 1..polls {
                        assert!(poll(&mut future, &waker).is_pending());
                    }
                }
            }
        }
        for future in &mut kept {
            assert!(poll(future, &waker).is_pending());
        }
        assert_eq!(wakes.count(), 0);
        drop(gate);
        let [one, _] = runtimes();
        for future in kept {
            one.block_on(future).expect("durable");
        }
        let last = session.commit_async(CommitPost::Immediate).expect("open");
        one.block_on(last.into_future()).expect("durable");
        drop(log);
        let (records, _) = recovered(&scratch.0);
        assert_prefixes(&records, &[500]);
    }
}

/// A task that posts nobody is served when somebody else posts.
#[test]
fn who_posts_nobody_is_served_by_others() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        let before = data.counts().writes;
        let mut session = log.session();
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut relaxed = begun(&mut session, CommitPost::Batch, 0, 0);
        assert!(poll(&mut relaxed, &waker).is_pending());
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(
            (data.counts().writes, wakes.count()),
            (before, 0),
            "nobody posted"
        );
        let urgent = begun(&mut session, CommitPost::Immediate, 0, 1);
        until("it is served", || wakes.count() == 1);
        assert!(matches!(poll(&mut relaxed, &waker), Poll::Ready(Ok(()))));
        // What is durable is known at once.
        let mut urgent = urgent;
        until("both are", || !poll(&mut urgent, &waker).is_pending());
        let nothing = session.commit_async(CommitPost::Immediate).expect("open");
        let told = poll(&mut nothing.into_future(), &waker);
        assert!(matches!(told, Poll::Ready(Ok(()))), "nothing to wait for");
    }
}

/// Calls the log where the baton is needed when it is woken.
struct Meddler(Arc<Log>, AtomicBool);

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        let _ = self.0.history();
        self.1.store(true, Ordering::SeqCst);
    }
}

/// Tasks are woken without the baton, when their redo is durable and when the device fails.
#[test]
fn wakers_may_call_the_log() {
    for log_writer in WRITERS {
        let scratch = Scratch::new();
        let (data, log) = faulty(&scratch, log_writer, UNTIMED);
        for fails in [false, true] {
            let gate = data.gate();
            if fails {
                data.inject(Injection {
                    target: FaultTarget::Flush,
                    nth: data.counts().flushes + 1,
                    fault: Fault::Errno(EIO),
                    for_good: true,
                });
            }
            let mut session = log.session();
            let mut future = begun(&mut session, CommitPost::Immediate, 0, 0);
            let meddler = Arc::new(Meddler(Arc::clone(&log), AtomicBool::new(false)));
            let waker = Waker::from(Arc::clone(&meddler));
            assert!(poll(&mut future, &waker).is_pending());
            drop(gate);
            until("it is woken", || meddler.1.load(Ordering::SeqCst));
            let told = poll(&mut future, &waker);
            assert!(matches!(told, Poll::Ready(outcome) if outcome.is_err() == fails));
        }
    }
}

/// The thread on which a handle was woken, and what closing came to.
type Woken = (Option<String>, Result<(), Error>);

/// Has the last handle of a log, and drops it when it is woken, or closes it before.
struct LastOwner {
    log: Mutex<Option<Log>>,
    closes: bool,
    /// Nothing where it panicked.
    ended: Mutex<Option<Woken>>,
}

impl Wake for LastOwner {
    fn wake(self: Arc<Self>) {
        let Some(log) = self.log.lock().expect("whole").take() else {
            return;
        };
        let closed = if self.closes { log.close() } else { Ok(()) };
        drop(log);
        let thread = std::thread::current().name().map(str::to_owned);
        *self.ended.lock().expect("whole") = Some((thread, closed));
    }
}

/// Descriptors of this process below `directory`.
fn descriptors(directory: &Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("of this process");
    let links = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.starts_with(directory)).count()
}

/// A task that is woken may be the last that has the log: on the log writer's own thread, too, the
/// drop returns, and what the log held is given up.
#[test]
fn a_waker_may_drop_or_close_the_last_log() {
    for log_writer in WRITERS {
        for (closes, places) in [(false, 1), (true, 1), (false, 2)] {
            let scratch = Scratch::new();
            let directories = ["a", "b"].map(|name| scratch.0.join(name));
            for directory in &directories {
                std::fs::create_dir(directory).expect("a place");
            }
            let layout = || match places {
                1 => Layout::from(&directories[0]),
                _ => Layout::from(MemberLayout::mirror(&directories).force_same_device(true)),
            };
            let made = Log::builder(layout()).shape(SMALL).create();
            let ways = options().log_writer(log_writer).triggers(UNTIMED);
            // Members take one log write at a time, which workers do not.
            let (log, _) = match made.expect("a new log").options(ways).open() {
                Ok(opened) => opened,
                Err(_) if places == 2 => continue,
                Err(error) => panic!("{log_writer}: {error}"),
            };
            let mut session = log.session();
            // Not asked for before it is awaited, so that it cannot be durable by then.
            let mut future = begun(&mut session, CommitPost::Batch, 0, 0);
            let owner = Arc::new(LastOwner {
                log: Mutex::new(Some(log)),
                closes,
                ended: Mutex::default(),
            });
            let waker = Waker::from(Arc::clone(&owner));
            assert!(poll(&mut future, &waker).is_pending());
            let posted = begun(&mut session, CommitPost::Immediate, 0, 1);
            until("the waker returns", || {
                owner.ended.lock().expect("whole").is_some()
            });
            let (thread, closed) = owner.ended.lock().expect("whole").take().expect("it ended");
            assert_eq!(thread.as_deref(), Some("lgwr"), "{log_writer}");
            match closed {
                Ok(()) => {}
                Err(Error::ClosedByWaker) if closes => {}
                Err(error) => panic!("{log_writer}: {error}"),
            }
            drop((session, future, posted));
            until("nothing is held", || descriptors(&scratch.0) == 0);
            let (again, recovery) = Log::builder(layout()).open().expect("nobody holds it");
            assert_eq!(recovery.scan().records, 2, "{log_writer}");
            again.close().expect("healthy");
        }
    }
}

/// Runs this program's test `child` in a process of its own, in front of which `before` stands.
fn child(part: &str, before: Option<(&str, Vec<String>)>) -> std::io::Result<std::process::Output> {
    let own = std::env::current_exe().expect("this program");
    let mut command = match before {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(own);
            command
        }
        None => Command::new(own),
    };
    command
        .args(["--exact", "part", "--test-threads=1", "--nocapture"])
        .env(PART, part)
        .stdin(Stdio::null())
        .output()
}

/// Not a test: the child's part.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    match part.split_once(' ') {
        Some(("stall", log_writer)) => stall(log_writer.parse().expect("a log writer")),
        _ => traced(),
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().expect("positive"),
        time.tv_nsec as u32,
    )
}

/// A thousand tasks wait for two seconds on a device that does not answer.
fn stall(log_writer: LogWriter) {
    const TASKS: u32 = 1000;
    let scratch = Scratch::new();
    let (data, log) = faulty(&scratch, log_writer, UNTIMED);
    let gate = data.gate();
    let [one, _] = runtimes();
    let done = Arc::new(Mutex::new(0));
    one.block_on(async {
        let tasks = (0..TASKS).map(|who| {
            let (log, done) = (Arc::clone(&log), Arc::clone(&done));
            tokio::spawn(async move {
                let told = commits(log, who, 1).await;
                *done.lock().expect("whole") += 1;
                told
            })
        });
        let tasks: Vec<_> = tasks.collect();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let before = cpu_time();
        tokio::time::sleep(Duration::from_secs(2)).await;
        println!("spent {} us", (cpu_time() - before).as_micros());
        assert_eq!(*done.lock().expect("whole"), 0, "the device did not answer");
        drop(gate);
        for task in tasks {
            let (durable, error) = task.await.expect("no panic");
            assert!(durable == 1 && error.is_none(), "{error:?}");
        }
    });
}

/// The processor time that a thousand waiting tasks take is next to nothing: less than a hundredth
/// of the time that passes, on a machine that may be busy with other things.
#[test]
fn tasks_that_wait_cost_no_processor_time() {
    for log_writer in [LogWriter::Inline, LogWriter::Lgwr, LogWriter::Workers(2)] {
        let output = child(&format!("stall {log_writer}"), None).expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}");
        let spent = told
            .split("spent ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let micros: u64 = spent.and_then(|n| n.parse().ok()).expect("a number");
        println!("{log_writer}: {micros} us of 2 s");
        assert!(micros < 20_000, "{log_writer}: {micros} us of 2 s");
    }
}

/// Marks a place in a trace.
fn mark() {
    let _ = rustix::process::getppid();
}

/// Polls a thousand futures in every state, between marks: before they are decided, again with
/// another waker, and when they are durable; and one of a log that was closed.
fn traced() {
    let scratch = Scratch::new();
    let (data, log) = faulty(&scratch, LogWriter::Inline, UNTIMED);
    let gate = data.gate();
    let mut session = log.session();
    let wakers: Vec<Waker> = (0..3)
        .map(|_| Arc::new(CountedWakes::default()).into())
        .collect();
    let mut futures: Vec<_> = (0..1000)
        .map(|which| begun(&mut session, CommitPost::Immediate, 0, which))
        .collect();
    let sweep = |futures: &mut Vec<CommitFuture>, expected: bool| {
        let mut as_expected = true;
        mark();
        for waker in &wakers {
            for future in futures.iter_mut() {
                as_expected &= poll(future, waker).is_ready() == expected;
            }
        }
        mark();
        assert!(as_expected, "ready: {expected}");
    };
    sweep(&mut futures, false);
    drop(gate);
    log.flush().expect("healthy again");
    sweep(&mut futures, true);
    let mut late = vec![begun(&mut session, CommitPost::Batch, 0, 1000)];
    assert!(poll(&mut late[0], &wakers[0]).is_pending());
    drop(Arc::into_inner(log));
    sweep(&mut late, true);
}

/// Between the marks strace(1) sees no system call of the thread that polls.
#[test]
fn a_poll_makes_no_system_call() {
    let output = Scratch::new();
    let trace = output.0.join("trace");
    let arguments = ["-f", "-qq", "-s", "0", "-o"].map(str::to_owned);
    let arguments = [&arguments[..], &[trace.display().to_string()]].concat();
    let ran = child("traced", Some(("strace", arguments)));
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    match ran {
        Ok(output) if output.status.success() => {}
        Ok(output) if !text.is_empty() => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        _ => return println!("skipped: strace does not run here"),
    }
    // -f puts the thread's number before each line.
    let calls = text.lines().filter_map(|line| line.split_once(' '));
    let calls: Vec<_> = calls
        .map(|(thread, call)| (thread, call.trim_start()))
        .collect();
    let marks = calls.iter().find(|(_, call)| call.starts_with("getppid("));
    let polling = marks.expect("it marks where it polls").0;
    let own = calls.iter().filter(|(thread, _)| *thread == polling);
    let (mut inside, mut marks, mut seen) = (false, 0, Vec::new());
    for (_, call) in own {
        if call.starts_with("getppid(") {
            (inside, marks) = (!inside, marks + 1);
        } else if inside && !call.starts_with("<... getppid resumed") {
            seen.push(*call);
        }
    }
    assert_eq!(marks, 6, "three times");
    assert!(seen.is_empty(), "{seen:#?}");
}
