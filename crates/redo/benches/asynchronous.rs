//! Asynchronous commits of 2,000 bytes: thousands in flight on one and two threads, on the null
//! device and in a directory, beside sessions that each wait on a thread of their own (goals G13
//! and G14 of the engine: commits per second with 1,024 and 4,096 in flight; many sessions against
//! 256 threads). The same commits as tasks that await them, on tokio's runtime of one thread,
//! beside a task that sleeps until the next tenth millisecond and notes how late it is woken.
//! Rounds are interleaved in one process; one line of CSV a turn.
//!
//! `cargo bench -p redolab-redo --bench asynchronous -- [DIRECTORY] [ROUNDS] [SECONDS] [WORDS]`
//!
//! Only cases whose name contains all of WORDS are run (`null inline 1024`), and fio where one of
//! them is `file`. With tickets a
//! commit's time is read from the clock once for 32 commits, so a percentile is wrong by what 32
//! commits take at most.

mod common;

use common::{AnyError, cpu_us, fio, on_nothing};
use measure::workload::{Generator, pool};
use measure::{Clock, Histogram, Nanos};
use redo::CommitPost;
use redo::{CommitMode, Log, LogWriter, Options, Shape};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const RECORD_BYTES: u32 = 2000;
const GROUP: usize = 32;
const WRITERS: [LogWriter; 4] = [
    LogWriter::Auto,
    LogWriter::Inline,
    LogWriter::Lgwr,
    LogWriter::Workers(2),
];
const SHAPE: Shape = Shape::new().groups(3).file_bytes(256 << 20);

/// How the sessions of a turn run.
#[derive(Clone, Copy)]
struct Case {
    writer: LogWriter,
    threads: usize,
    /// Commits in flight on each thread; `None`: one, waited for.
    in_flight: Option<usize>,
    /// As many tasks have one each.
    tasks: bool,
}

impl Case {
    fn name(&self, place: &str) -> String {
        let writer = self.writer;
        let threads = self.threads;
        match self.in_flight {
            None => format!("{place} {writer} sync {threads} threads"),
            Some(n) if self.tasks => format!("{place} {writer} tasks {threads} threads {n} each"),
            Some(n) => format!("{place} {writer} async {threads} threads {n} each"),
        }
    }
}

/// What one turn gave.
struct Turn {
    per_s: f64,
    times: Histogram,
    writes: u64,
    cpu_us: f64,
    /// How late a sleeping task was woken, in nanoseconds.
    late: Histogram,
}

/// What one thread gave: the times of its commits, and how late a task was.
type Times = (Histogram, Histogram);

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = common::folder(args.next(), "asynchronous-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(2.0), |s| s.parse())?);
    let words: Vec<String> = args.collect();
    println!(
        "round,case,per_s,p50_us,p99_us,p999_us,max_us,commits_per_write,cpu_us_per_commit,\
         timer_p50_us,timer_p99_us"
    );
    let mut cases: Vec<(String, Vec<f64>)> = Vec::new();
    for round in 0..rounds {
        std::fs::create_dir_all(&directory)?;
        let beside_fio = words.is_empty() || words.iter().any(|word| word == "file");
        if let Some(mb_per_s) = beside_fio
            .then(|| fio(&directory, SHAPE, time))
            .transpose()?
            .flatten()
        {
            // As commits: of as many bytes, if they cost nothing else.
            let per_s = mb_per_s * 1048576.0 / f64::from(RECORD_BYTES);
            println!("{round},fio,{per_s:.0},0,0,0,0,0,0,,");
            record(&mut cases, "fio", per_s);
        }
        std::fs::remove_dir_all(&directory)?;
        for place in [None, Some(directory.as_path())] {
            for case in cases_of() {
                let name = case.name(if place.is_some() { "file" } else { "null" });
                let has = |word: &String| name.split(' ').any(|part| part == word);
                if !words.iter().all(has) {
                    continue;
                }
                let turn = turn(place, case, time)?;
                let us = |q: f64| turn.times.quantile_raw(q) as f64 / 1e3;
                let commits = turn.times.count() as f64;
                let late = |q: f64| match turn.late.count() {
                    0 => String::new(),
                    _ => format!("{:.1}", turn.late.quantile_raw(q) as f64 / 1e3),
                };
                println!(
                    "{round},{name},{:.0},{:.1},{:.1},{:.1},{:.1},{:.1},{:.2},{},{}",
                    turn.per_s,
                    us(0.5),
                    us(0.99),
                    us(0.999),
                    turn.times.max() as f64 / 1e3,
                    commits / turn.writes.max(1) as f64,
                    turn.cpu_us / commits.max(1.0),
                    late(0.5),
                    late(0.99),
                );
                record(&mut cases, &name, turn.per_s);
            }
        }
    }
    summary(&cases);
    Ok(())
}

fn record(cases: &mut Vec<(String, Vec<f64>)>, name: &str, rate: f64) {
    match cases.iter_mut().find(|c| c.0 == name) {
        Some(seen) => seen.1.push(rate),
        None => cases.push((name.to_owned(), vec![rate])),
    }
}

fn summary(cases: &[(String, Vec<f64>)]) {
    let spread = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        (values[last / 2], values[0], values[last])
    };
    println!("# case: commits/s, median (least to most); over fio's bytes / {RECORD_BYTES}");
    let fio = cases.iter().find(|c| c.0 == "fio").map(|c| &c.1);
    for (name, rates) in cases {
        let (median, least, most) = spread(rates);
        print!("# {name}: {median:.0} ({least:.0} to {most:.0})");
        if let Some(fio) = fio.filter(|_| name.starts_with("file")) {
            let ratios: Vec<f64> = rates.iter().zip(fio).map(|(a, b)| a / b).collect();
            let (median, least, most) = spread(&ratios);
            print!("; {median:.3} ({least:.3} to {most:.3})");
        }
        println!();
    }
}

fn cases_of() -> Vec<Case> {
    let mut cases = Vec::new();
    for writer in WRITERS {
        for in_flight in [1024, 4096] {
            for (threads, tasks) in [(1, false), (1, true), (2, false), (2, true)] {
                cases.push(Case {
                    writer,
                    threads,
                    in_flight: Some(in_flight / threads),
                    tasks,
                });
            }
        }
        for threads in [64, 256] {
            cases.push(Case {
                writer,
                threads,
                in_flight: None,
                tasks: false,
            });
        }
    }
    cases
}

/// A fresh log in `place`, or on the null device.
fn open(place: Option<&Path>, options: Options) -> Result<Log, AnyError> {
    if let Some(directory) = place {
        std::fs::create_dir_all(directory)?;
        Log::builder(directory).shape(SHAPE).create()?;
        return Ok(Log::builder(directory).options(options).open()?.0);
    }
    on_nothing(SHAPE, options)
}

fn turn(place: Option<&Path>, case: Case, time: Duration) -> Result<Turn, AnyError> {
    let counted = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let writes = Arc::clone(&counted);
    let options = Options::default()
        .log_writer(case.writer)
        .huge_pages(true)
        .observer(move |_| {
            writes.fetch_add(1, Ordering::Relaxed);
        });
    let log = Arc::new(open(place, options)?);
    let stop = Arc::new(AtomicBool::new(false));
    let barrier = Arc::new(Barrier::new(case.threads + 1));
    let bytes = pool(1, 1 << 20);
    let threads: Vec<_> = (0..case.threads)
        .map(|who| {
            let (log, stop, barrier) = (Arc::clone(&log), Arc::clone(&stop), Arc::clone(&barrier));
            let generator = Generator::new(bytes.clone(), who as u32, 1);
            std::thread::spawn(move || {
                barrier.wait();
                match case.in_flight {
                    Some(n) if case.tasks => awaited(&log, generator, n, &stop),
                    Some(n) => in_flight(&log, generator, n, &stop),
                    None => waited_for(&log, generator, &stop),
                }
            })
        })
        .collect();
    barrier.wait();
    let (start, cpu) = (Instant::now(), cpu_us());
    let mut last = log.durable().log_seq;
    while start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(1));
        let durable = log.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            log.checkpoint(durable)?;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (mut times, mut late) = (Histogram::new(), Histogram::new());
    for thread in threads {
        // Who is on the way may need room in the log.
        while !thread.is_finished() {
            log.checkpoint(log.durable())?;
            std::thread::sleep(Duration::from_millis(1));
        }
        let (more, woken) = thread.join().map_err(|_| "a thread panicked")??;
        times.merge(&more);
        late.merge(&woken);
    }
    let (elapsed, cpu_us) = (start.elapsed(), cpu_us() - cpu);
    drop(log);
    if let Some(directory) = place {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(Turn {
        per_s: times.count() as f64 / elapsed.as_secs_f64(),
        times,
        writes: counted.load(Ordering::Relaxed),
        cpu_us,
        late,
    })
}

fn append(session: &mut redo::Session, generator: &mut Generator) -> Result<(), redo::Error> {
    generator.next_transaction();
    let (stamp, body) = generator.record(0, RECORD_BYTES);
    session.append(&[&stamp, body]).map(|_| ())
}

/// One thread, `n` commits in flight.
fn in_flight(
    log: &Log,
    mut generator: Generator,
    n: usize,
    stop: &AtomicBool,
) -> Result<Times, redo::Error> {
    let (clock, mut times) = (log.clock(), Histogram::new());
    let (mut session, mut queue) = (log.session(), log.completions(n));
    let mut begin = |queue: &mut redo::Completions<Nanos>, now: Nanos| {
        append(&mut session, &mut generator)?;
        let ticket = session.commit_async(CommitPost::Immediate)?;
        queue.push(ticket, now).expect("one returned for each");
        Ok::<(), redo::Error>(())
    };
    let now = clock.now();
    for _ in 0..n {
        begin(&mut queue, now)?;
    }
    while queue.wait() > 0 {
        let (mut now, mut in_group) = (clock.now(), 0);
        while let Some(done) = queue.take() {
            if in_group == GROUP {
                (now, in_group) = (clock.now(), 0);
            }
            in_group += 1;
            done.outcome?;
            times.record(now.since(done.tag).0);
            if !stop.load(Ordering::Relaxed) {
                begin(&mut queue, now)?;
            }
        }
    }
    Ok((times, Histogram::new()))
}

/// One thread on which `n` tasks await their commits, one each.
fn awaited(
    log: &Log,
    generator: Generator,
    n: usize,
    stop: &AtomicBool,
) -> Result<Times, redo::Error> {
    let shared = Rc::new(AwaitedThread {
        clock: log.clock(),
        session: RefCell::new((log.session(), generator)),
        times: RefCell::default(),
        over: Cell::new(false),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime of one thread");
    let local = tokio::task::LocalSet::new();
    let late = local.block_on(&runtime, async {
        let tasks = (0..n).map(|_| tokio::task::spawn_local(task(Rc::clone(&shared))));
        let tasks: Vec<_> = tasks.collect();
        let mut late = Histogram::new();
        let begun = tokio::time::Instant::now();
        let mut due = begun;
        while !stop.load(Ordering::Relaxed) {
            due += Duration::from_millis(10);
            tokio::time::sleep_until(due).await;
            late.record(due.elapsed().as_nanos() as u64);
        }
        shared.over.set(true);
        for task in tasks {
            task.await.expect("no task panics")?;
        }
        Ok::<_, redo::Error>(late)
    })?;
    let times = shared.times.take();
    Ok((times, late))
}

/// What the tasks of a thread share.
struct AwaitedThread {
    clock: redo::EngineClock,
    session: RefCell<(redo::Session, Generator)>,
    times: RefCell<Histogram>,
    over: Cell<bool>,
}

async fn task(shared: Rc<AwaitedThread>) -> Result<(), redo::Error> {
    while !shared.over.get() {
        let before = shared.clock.now();
        let ticket = {
            let (session, generator) = &mut *shared.session.borrow_mut();
            append(session, generator)?;
            session.commit_async(CommitPost::Immediate)?
        };
        ticket.await?;
        let took = shared.clock.now().since(before);
        shared.times.borrow_mut().record(took.0);
    }
    Ok(())
}

/// One thread that waits for each of its commits.
fn waited_for(
    log: &Log,
    mut generator: Generator,
    stop: &AtomicBool,
) -> Result<Times, redo::Error> {
    let (mut session, mut times) = (log.session(), Histogram::new());
    while !stop.load(Ordering::Relaxed) {
        let before = Instant::now();
        append(&mut session, &mut generator)?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        times.record(before.elapsed().as_nanos() as u64);
    }
    Ok((times, Histogram::new()))
}
