//! A log with a small second member on model devices: what it hides of the disk's stalls, and what
//! failover costs while the disk is healthy. See experiments/failover.
//!
//! `cargo bench -p redolab-redo --bench failover -- ARGUMENTS`, which are one of
//!
//! - `stalls [ROUNDS] [COMMITS] [GAP_US] [FIRST_ROUND]`
//! - `pairs [PAIRS] [CHUNK_MS] [SESSIONS,..] [LOAD,..]`
//!
//! `stalls`: one session commits so often, without pause or once per gap; with a gap all cases run
//! at the same time. `pairs`: sessions commit on the default log and on one with failover in turns;
//! LOAD is `full`, or `half` of what the default log commits.

mod common;

use common::AnyError;
use common::drawn::{DrawnDevice, control, nanos};
use device::LogDevice;
use measure::Histogram;
use measure::workload::split_mix;
use redo::{CommitMode, Layout, Log, LogWriter, MemberLayout, Options, Session, Shape};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(64 << 20);
const RECORD: [u8; 1900] = [7; 1900];
/// A stall takes this.
const STALL: Duration = Duration::from_millis(20);
/// When failover takes the disk for late: one of its healthy writes in 400 takes longer.
const DELAY: Duration = Duration::from_micros(1750);
const RING_BYTES: u64 = (16 << 20) + (32 << 10);

/// What is measured.
#[derive(Clone, Copy)]
enum Case {
    /// The disk alone.
    Disk,
    /// The disk and a ring that is always written.
    Ring,
    /// The disk and a ring that is written when the disk is late.
    Failover,
}

/// A log, its disk and its ring.
struct Place {
    log: Log,
    disk: DrawnDevice,
    ring: DrawnDevice,
}

impl Place {
    fn open(case: Case, seed: u64, stall: Duration, options: Options) -> Result<Place, AnyError> {
        let bytes = SHAPE.file_bytes * u64::from(SHAPE.groups);
        let disk = DrawnDevice::new(bytes, seed, stall);
        let ring = DrawnDevice::new(RING_BYTES, !seed, Duration::ZERO);
        let data: Arc<dyn LogDevice> = Arc::new(disk.clone());
        let second: Arc<dyn LogDevice> = Arc::new(ring.clone());
        let with = |delay| {
            let disk = (Arc::clone(&data), control());
            Layout::from(MemberLayout::ring_on_devices(disk, second, delay))
        };
        let layout = match case {
            Case::Disk => Layout::devices(data, control()),
            Case::Ring => with(None),
            Case::Failover => with(Some(DELAY)),
        };
        let log = Log::builder(layout).shape(SHAPE).create()?;
        let log = log.options(options).open()?.0;
        Ok(Place { log, disk, ring })
    }

    /// Both devices draw other times from now on.
    fn seed(&self, seed: u64) {
        self.disk.seed(seed);
        self.ring.seed(!seed);
    }
}

fn main() -> Result<(), AnyError> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let number = |at: usize, usual: u64| args.get(at).map_or(Ok(usual), |n| n.parse());
    let list = |at: usize, usual: &str| -> Vec<String> {
        let given = args.get(at).map_or(usual, String::as_str);
        given.split(',').map(str::to_owned).collect()
    };
    match args.first().map(String::as_str) {
        Some("stalls") => {
            let (rounds, commits) = (number(1, 5)?, number(2, 10_000)?);
            let gap = Duration::from_micros(number(3, 0)?);
            stalls(number(4, 0)?, rounds, commits, gap)
        }
        Some("pairs") => {
            let (pairs, chunk) = (number(1, 300)?, Duration::from_millis(number(2, 150)?));
            pairs_of(pairs, chunk, &list(3, "1,8"), &list(4, "half,full"))
        }
        _ => Err("stalls or pairs".into()),
    }
}

const CASES: [(&str, Case, Duration); 5] = [
    ("healthy", Case::Disk, Duration::ZERO),
    ("stalling", Case::Disk, STALL),
    ("ring", Case::Ring, STALL),
    ("failover", Case::Failover, STALL),
    ("healthy_failover", Case::Failover, Duration::ZERO),
];

fn stalls(first_round: u64, rounds: u64, commits: u64, gap: Duration) -> Result<(), AnyError> {
    println!(
        "round,gap_us,case,commits,p50_us,p99_us,p999_us,max_us,log_writes,ring_writes,ring_first,\
         skipped,over_budget,most_lag_bytes"
    );
    for round in first_round..first_round + rounds {
        // Interleaved: forwards, then backwards.
        let mut cases = CASES;
        if round % 2 == 1 {
            cases.reverse();
        }
        if gap.is_zero() {
            for case in cases {
                println!("{}", stalls_of(case, round, commits, gap)?);
            }
            continue;
        }
        // They sleep nearly all of the time, and share nothing.
        std::thread::scope(|scope| {
            let run =
                |case| move || stalls_of(case, round, commits, gap).map_err(|e| e.to_string());
            let all = cases.map(|case| scope.spawn(run(case)));
            for thread in all {
                println!("{}", thread.join().map_err(|_| "a case panicked")??);
            }
            Ok::<_, AnyError>(())
        })?;
    }
    Ok(())
}

/// One case of one round, as a line.
fn stalls_of(
    (name, case, stall): (&str, Case, Duration),
    round: u64,
    commits: u64,
    gap: Duration,
) -> Result<String, AnyError> {
    let options = Options::default().log_writer(LogWriter::Inline);
    let place = Place::open(case, 1000 + round, stall, options)?;
    let times = commit_after(&place.log, commits, gap)?;
    let us = |q: f64| {
        let ns = times.quantile(q);
        ns.map_or(String::new(), |ns| format!("{:.1}", ns as f64 / 1e3))
    };
    let ring = place.log.ring().unwrap_or_default();
    place.log.close()?;
    Ok(format!(
        "{round},{},{name},{commits},{},{},{},{:.1},{},{},{},{},{},{}",
        gap.as_micros(),
        us(0.5),
        us(0.99),
        us(0.999),
        times.max() as f64 / 1e3,
        ring.writes,
        ring.ring_writes,
        ring.first,
        ring.skip_busy + ring.skip_large,
        u8::from(ring.over_budget),
        ring.most_lag_bytes,
    ))
}

/// Commits one after the other, with a rest behind each.
fn commit_after(log: &Log, commits: u64, gap: Duration) -> Result<Histogram, AnyError> {
    let mut session = log.session();
    let mut times = Histogram::new();
    for n in 0..commits {
        session.append(&[&RECORD])?;
        let begun = Instant::now();
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        times.record(nanos(begun.elapsed()));
        if n % 1000 == 999 {
            log.checkpoint(log.durable())?;
        }
        if let Some(rest) = gap.checked_sub(begun.elapsed()) {
            std::thread::sleep(rest);
        }
    }
    Ok(times)
}

/// Sessions of a log, and what they commit in a chunk.
struct Load {
    place: Place,
    sessions: Vec<Session>,
}

/// What a chunk came to.
#[derive(Default)]
struct Chunk {
    commits: u64,
    seconds: f64,
    mean_us: f64,
}

impl Chunk {
    fn rate(&self) -> f64 {
        self.commits as f64 / self.seconds
    }
}

impl Load {
    fn open(case: Case, sessions: usize) -> Result<Load, AnyError> {
        let place = Place::open(case, 1, Duration::ZERO, Options::default())?;
        let sessions = (0..sessions).map(|_| place.log.session()).collect();
        Ok(Load { place, sessions })
    }

    /// All sessions commit for so long: without a pause, or so many times per second together.
    fn chunk(&mut self, time: Duration, rate: Option<f64>, seed: u64) -> Result<Chunk, AnyError> {
        self.place.seed(seed);
        let count = self.sessions.len();
        let pace = rate.map(|rate| Duration::from_secs_f64(count as f64 / rate));
        let (begin, mut chunk) = (Barrier::new(count + 1), Chunk::default());
        let mut sum = Duration::ZERO;
        let ended = std::thread::scope(|scope| {
            let begin = &begin;
            let all: Vec<_> = (self.sessions.iter_mut().zip(0_u32..))
                .map(|(session, n)| {
                    scope.spawn(move || {
                        begin.wait();
                        let first = pace.map(|pace| pace * n / count as u32);
                        run(session, time, first.zip(pace))
                    })
                })
                .collect();
            begin.wait();
            let start = Instant::now();
            for thread in all {
                let (commits, waited) = thread.join().map_err(|_| "a session panicked")??;
                chunk.commits += commits;
                sum += waited;
            }
            Ok::<_, AnyError>(start.elapsed())
        })?;
        chunk.seconds = ended.max(time).as_secs_f64();
        chunk.mean_us = sum.as_secs_f64() * 1e6 / chunk.commits as f64;
        let log = &self.place.log;
        log.checkpoint(log.durable())?;
        Ok(chunk)
    }
}

/// A session's part of a chunk: its commits, and how long they took in all.
fn run(
    session: &mut Session,
    time: Duration,
    pace: Option<(Duration, Duration)>,
) -> Result<(u64, Duration), redo::Error> {
    let start = Instant::now();
    let (mut commits, mut waited) = (0, Duration::ZERO);
    let mut due = pace.map(|(first, _)| first);
    loop {
        match (due, pace) {
            (Some(at), Some((_, pace))) if at < time => {
                if let Some(rest) = at.checked_sub(start.elapsed()) {
                    std::thread::sleep(rest);
                }
                due = Some(at + pace);
            }
            (None, _) if start.elapsed() < time => {}
            _ => return Ok((commits, waited)),
        }
        session.append(&[&RECORD])?;
        let begun = Instant::now();
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        waited += begun.elapsed();
        commits += 1;
    }
}

fn pairs_of(
    pairs: u64,
    chunk: Duration,
    sessions: &[String],
    loads: &[String],
) -> Result<(), AnyError> {
    println!(
        "sessions,load,round,order,default_per_s,failover_per_s,default_mean_us,failover_mean_us"
    );
    for sessions in sessions {
        for load in loads {
            let count: usize = sessions.parse()?;
            let mut default = Load::open(Case::Disk, count)?;
            let mut failover = Load::open(Case::Failover, count)?;
            // The first chunks fault memory in, and the log writer learns.
            let warm = Duration::from_secs(2);
            let full = default.chunk(warm, None, 1)?.rate();
            failover.chunk(warm, None, 1)?;
            let rate = match load.as_str() {
                "full" => None,
                "half" => Some(full / 2.0),
                other => return Err(format!("{other}: half or full").into()),
            };
            for round in 0..pairs {
                let mut state = round;
                let seed = split_mix(&mut state);
                let (a, b, order);
                if round % 2 == 0 {
                    order = "AB";
                    a = default.chunk(chunk, rate, seed)?;
                    b = failover.chunk(chunk, rate, seed)?;
                } else {
                    order = "BA";
                    b = failover.chunk(chunk, rate, seed)?;
                    a = default.chunk(chunk, rate, seed)?;
                }
                println!(
                    "{sessions},{load},{round},{order},{:.1},{:.1},{:.1},{:.1}",
                    a.rate(),
                    b.rate(),
                    a.mean_us,
                    b.mean_us
                );
            }
            let ring = failover.place.log.ring().unwrap_or_default();
            let (hedged, writes) = (ring.ring_writes, ring.writes);
            println!("# {sessions} {load}: {hedged} of {writes} log writes on the ring");
            for load in [default, failover] {
                drop(load.sessions);
                load.place.log.close()?;
            }
        }
    }
    Ok(())
}
