//! One cell, in a process of its own: open the log, load it from closed-loop threads or tasks,
//! report.
//!
//! Invariants: every thread runs the same load from before the window until after it; the window's
//! ends are read in one place, counters and processor time beside the clock; an error of any
//! thread is the cell's.

use crate::AnyError;
use crate::device::Counters;
use crate::outcome::Report;
use crate::peer::{self, Opened, Place, Step};
use crate::plan::Cell;
use crate::tape::{Phase, Tape};
use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Threads on which tasks run: as many as Go has for its goroutines on two processors.
const WORKERS: usize = 2;
/// Samples that must lie beyond a percentile for it to be given.
const BEYOND: u64 = 10;

/// The window's end, or its beginning.
struct Moment {
    at: Instant,
    cpu_us: u64,
    device: Counters,
}

impl Moment {
    fn now(cell: &Cell) -> Result<Moment, AnyError> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let us = |t: nix::sys::time::TimeVal| t.tv_sec() as u64 * 1_000_000 + t.tv_usec() as u64;
        Ok(Moment {
            at: Instant::now(),
            cpu_us: us(usage.user_time()) + us(usage.system_time()),
            device: Counters::read(&cell.stat)?,
        })
    }
}

/// Plays the cell and prints its report.
pub fn run(cell: &Cell) -> Result<(), AnyError> {
    let (peer, variant) = peer::find(&cell.peer)?;
    let open = peer.open.ok_or("this peer is a program of its own")?;
    let opened = open(&Place {
        directory: &cell.directory,
        threads: cell.threads,
        variant: &variant,
    })?;
    let Opened {
        steps,
        tasks,
        in_flight,
        mut housekeeping,
        log,
    } = opened;
    let phase = Arc::new(Phase::default());
    let failure = Arc::new(Failure::default());
    let pool = measure::workload::pool(1, 1 << 20);
    let threads: Vec<_> = (0..)
        .zip(steps)
        .map(|(number, step)| {
            let tape = Tape::new(Arc::clone(&pool), number, Arc::clone(&phase));
            let (phase, failure) = (Arc::clone(&phase), Arc::clone(&failure));
            std::thread::spawn(move || committer(step, tape, &phase, &failure))
        })
        .collect();
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .build()?;
    let tasks: Vec<_> = (0..)
        .zip(tasks)
        .map(|(number, task)| {
            let tape = Tape::new(Arc::clone(&pool), number, Arc::clone(&phase));
            let (failure, working) = (Arc::clone(&failure), task(tape));
            runtime.spawn(async move {
                let (tape, result) = working.await;
                failure.note(result);
                tape.into_times()
            })
        })
        .collect();
    let mut wait = |seconds: f64| {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        while Instant::now() < until && !failure.happened() {
            if let Some(work) = &mut housekeeping {
                failure.note(work());
            }
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(peer::HOUSEKEEPING));
        }
    };
    wait(cell.warm_up);
    let first = Moment::now(cell)?;
    phase.measure();
    wait(cell.seconds);
    let last = Moment::now(cell)?;
    phase.end();
    let mut times = Histogram::<u64>::new(3)?;
    let mut sum_ns = 0;
    for thread in threads {
        let (more, sum) = thread.join().map_err(|_| "a committer panicked")?;
        times.add(more)?;
        sum_ns += sum;
    }
    for task in tasks {
        let (more, sum) = runtime.block_on(task)?;
        times.add(more)?;
        sum_ns += sum;
    }
    drop(log);
    failure.told()?;
    let report = Report {
        in_flight,
        ..report(&times, sum_ns, &first, &last)
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn committer(
    mut step: Step,
    mut tape: Tape,
    phase: &Phase,
    failure: &Failure,
) -> (Histogram<u64>, u64) {
    while !phase.over() && !failure.happened() {
        failure.note(step(&mut tape));
    }
    tape.into_times()
}

fn report(times: &Histogram<u64>, sum_ns: u64, first: &Moment, last: &Moment) -> Report {
    let commits = times.len();
    // A percentile with too few samples beyond it would be an accident; zero stands for none.
    let quantile = |q: f64| {
        let enough = commits as f64 * (1.0 - q) >= BEYOND as f64;
        if enough {
            times.value_at_quantile(q)
        } else {
            0
        }
    };
    let device = last.device.since(first.device);
    Report {
        in_flight: 1,
        commits,
        window_ns: last.at.duration_since(first.at).as_nanos() as u64,
        mean_ns: sum_ns.checked_div(commits).unwrap_or(0),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        max_ns: times.max(),
        cpu_us: last.cpu_us - first.cpu_us,
        flushes: device.flushes,
        device_writes: device.writes,
        device_bytes: device.written_bytes,
    }
}

/// The first error of any thread.
#[derive(Default)]
struct Failure {
    happened: AtomicBool,
    what: Mutex<Option<AnyError>>,
}

impl Failure {
    fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    fn note(&self, result: Result<(), AnyError>) {
        if let Err(error) = result {
            let mut what = self.what.lock().expect("nobody panics while holding it");
            what.get_or_insert(error);
            self.happened.store(true, Ordering::Relaxed);
        }
    }

    fn told(&self) -> Result<(), AnyError> {
        let what = self
            .what
            .lock()
            .expect("nobody panics while holding it")
            .take();
        what.map_or(Ok(()), Err)
    }
}
