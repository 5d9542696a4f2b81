//! The default log writer against every fixed way, cell by cell: sessions, device, processors,
//! quiet or beside busy loops. See experiments/default.
//!
//! `cargo bench -p redolab-redo --bench ways -- [DIRECTORY] [ROUNDS] [SECONDS]`
//!
//! `--sessions 1,8,64` `--devices disk,null,2ms` `--load 0,2` `--cpus any,1` `--record 2000`
//! `--modes auto,inline,lgwr+adaptive` (a log writer, then how foregrounds wait where that is not
//! its usual way; `none` plays the load alone, once per round, device and processors, so that what
//! the load loses can be computed). Rounds are interleaved; the order of the modes rotates from
//! round to round.

mod common;

use common::{AnyError, cpu_us, on_nothing, on_null, waited_for};
use device::{Caps, FaultDevice, NullDevice};
use redo::engine::LogWrite;
use redo::{Log, LogWriter, Options, Shape};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(64 << 20);

/// What is compared in one cell.
#[derive(Clone, Debug)]
struct Cell {
    device: String,
    cpus: String,
    load: u32,
    sessions: u32,
    record: u32,
}

fn main() -> Result<(), AnyError> {
    let mut args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let mut list = |name: &str, usual: &str| -> Vec<String> {
        let at = args.iter().position(|a| a == name);
        let given = at.map(|at| args.drain(at..(at + 2).min(args.len())).nth(1));
        let text = given.flatten().unwrap_or_else(|| usual.to_owned());
        text.split(',').map(str::to_owned).collect()
    };
    let sessions = list("--sessions", "1,8,64,256,1000");
    let devices = list("--devices", "disk,2ms,null");
    let load = list("--load", "0,2");
    let cpus = list("--cpus", "any,1");
    let records = list("--record", "2000");
    let modes = list(
        "--modes",
        "auto,inline,lgwr,lgwr+polling,lgwr+adaptive,workers=2",
    );
    let alone = modes.iter().any(|mode| mode == "none");
    let modes: Vec<String> = modes.into_iter().filter(|mode| mode != "none").collect();
    let mut args = args.into_iter();
    let directory = common::folder(args.next(), "ways-bench")?;
    let rounds: usize = args.next().map_or(Ok(5), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(1.0), |s| s.parse())?);
    std::fs::create_dir_all(&directory)?;
    Log::builder(&directory).shape(SHAPE).create()?;
    println!(
        "round,device,cpus,load,sessions,record,mode,per_s,mean_us,p50_us,p99_us,p999_us,max_us,\
         cpu_us_per_commit,commits_per_write,load_per_s,switches,trials,broken_off,polled_pct,\
         alone_pct,way"
    );
    for round in 0..rounds {
        for device in &devices {
            for cpus in &cpus {
                for load in &load {
                    if alone && load != "0" {
                        load_alone(round, device, cpus, load.parse()?, time)?;
                    }
                    for sessions in &sessions {
                        for record in &records {
                            let cell = Cell {
                                device: device.clone(),
                                cpus: cpus.clone(),
                                load: load.parse()?,
                                sessions: sessions.parse()?,
                                record: record.parse()?,
                            };
                            for at in 0..modes.len() {
                                let mode = &modes[(at + round) % modes.len()];
                                turn(&directory, round, &cell, mode, time)?;
                            }
                        }
                    }
                }
            }
        }
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn options(mode: &str) -> Result<Options, AnyError> {
    let (writer, sync) = mode.split_once('+').unwrap_or((mode, ""));
    let writer: LogWriter = writer.parse()?;
    let options = Options::default().log_writer(writer);
    Ok(match sync {
        "" => options,
        sync => options.log_file_sync(sync.parse()?),
    })
}

/// A log on a device that has a delay in each operation and nothing else.
fn on_delay(options: Options) -> Result<Log, AnyError> {
    let caps = Caps {
        durable_writes: true,
        ..NullDevice::PLAIN
    };
    on_null(SHAPE, caps, options, |null| {
        let slow = FaultDevice::new(Arc::new(null));
        slow.set_delay(Duration::from_millis(2));
        Arc::new(slow)
    })
}

/// Keeps this thread, and those that it starts, on these processors while it lives.
struct Pinned(CpuSet);

impl Pinned {
    fn to(cpus: &str) -> Result<Pinned, AnyError> {
        let before = sched_getaffinity(None)?;
        if cpus != "any" {
            let mut set = CpuSet::new();
            set.set(cpus.parse()?);
            sched_setaffinity(None, &set)?;
        }
        Ok(Pinned(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Threads that want the processors for themselves.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<(u64, f64)>>,
}

impl Load {
    fn start(count: u32) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let mut done = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    for n in 0..1000_u64 {
                        std::hint::black_box(n);
                    }
                    done += 1;
                }
                let cpu = clock_gettime(ClockId::ThreadCPUTime);
                (done, cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3)
            })
        });
        let threads = threads.collect();
        Load { stop, threads }
    }

    /// Turns of all loops, and their processor time in microseconds.
    fn end(self) -> (u64, f64) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.into_iter().filter_map(|t| t.join().ok());
        ended.fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
    }
}

/// The load without a log: a line without figures of commits.
fn load_alone(
    round: usize,
    device: &str,
    cpus: &str,
    count: u32,
    time: Duration,
) -> Result<(), AnyError> {
    let _pinned = Pinned::to(cpus)?;
    let (load, start) = (Load::start(count), Instant::now());
    std::thread::sleep(time);
    let all = start.elapsed();
    let (work, _) = load.end();
    let per_s = work as f64 / all.as_secs_f64();
    println!("{round},{device},{cpus},{count},0,0,none,0,,,,,,,,{per_s:.0},,,,,,");
    Ok(())
}

fn turn(
    directory: &Path,
    round: usize,
    cell: &Cell,
    mode: &str,
    time: Duration,
) -> Result<(), AnyError> {
    let _pinned = Pinned::to(&cell.cpus)?;
    let writes = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&writes);
    let options = options(mode)?.observer(move |_: &LogWrite| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let log = match &*cell.device {
        "disk" => Log::builder(directory).options(options).open()?.0,
        "null" => on_nothing(SHAPE, options)?,
        "2ms" => on_delay(options)?,
        other => return Err(format!("no device `{other}`; use disk, null or 2ms").into()),
    };
    let log = Arc::new(log);
    let load = Load::start(cell.load);
    let (cpu, start) = (cpu_us(), Instant::now());
    let (times, took) = waited_for(&log, cell.sessions, cell.record, time)?;
    let (cpu, all) = (cpu_us() - cpu, start.elapsed());
    let (work, load_cpu) = load.end();
    let commits = times.count() as f64;
    let us = |q: f64| times.quantile_raw(q) as f64 / 1e3;
    let learned = log.learned().unwrap_or_default();
    let pct = |n: u64| n as f64 * 100.0 / learned.commits.max(1) as f64;
    println!(
        "{round},{},{},{},{},{},{mode},{:.0},{:.1},{:.1},{:.1},{:.1},{:.1},{:.2},{:.1},{:.0},{},{},{},\
         {:.1},{:.1},{}",
        cell.device,
        cell.cpus,
        cell.load,
        cell.sessions,
        cell.record,
        commits / took.as_secs_f64(),
        times.mean() / 1e3,
        us(0.5),
        us(0.99),
        us(0.999),
        times.max() as f64 / 1e3,
        (cpu - load_cpu) / commits,
        commits / writes.load(Ordering::Relaxed) as f64,
        work as f64 / all.as_secs_f64(),
        learned.switches,
        learned.trials,
        learned.broken_off,
        pct(learned.polled),
        pct(learned.alone),
        learned.way.name(),
    );
    if std::env::var_os("WAYS_SWITCHES").is_some() {
        for s in &learned.recent {
            println!(
                "#   {:.3} s: to {} ({:.0} -> {:.0})",
                s.at.as_secs(),
                s.to.name(),
                s.left_per_s,
                s.taken_per_s
            );
        }
    }
    Ok(())
}
