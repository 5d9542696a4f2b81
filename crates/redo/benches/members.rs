//! A race and a mirror of two devices against each of them alone, with stalls on one of them. The
//! devices are models: each write takes a drawn time, of its own generator, so that they share
//! nothing. See experiments/members.
//!
//! `cargo bench -p redolab-redo --bench members -- [ROUNDS] [COMMITS] [STALL_MS] [FIRST_ROUND]`

mod common;

use common::AnyError;
use common::drawn::{DrawnDevice, control, nanos};
use device::LogDevice;
use measure::Histogram;
use redo::{CommitMode, Layout, Log, LogWriter, MemberLayout, Options, Shape};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(64 << 20);
/// What is measured.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    /// One device that does not stall.
    Healthy,
    /// One device that stalls.
    Stalling,
    /// Both, members of a race.
    Race,
    /// Both, members of a mirror.
    Mirror,
    /// Two healthy devices, members of a race.
    HealthyRace,
    /// Two healthy devices, members of a mirror.
    HealthyMirror,
}

const CASES: [(&str, Case); 6] = [
    ("healthy", Case::Healthy),
    ("stalling", Case::Stalling),
    ("race", Case::Race),
    ("mirror", Case::Mirror),
    ("healthy_race", Case::HealthyRace),
    ("healthy_mirror", Case::HealthyMirror),
];

fn open(case: Case, seed: u64, stall: Duration) -> Result<(Log, Vec<DrawnDevice>), AnyError> {
    let bytes = SHAPE.file_bytes * u64::from(SHAPE.groups);
    let first = match case {
        Case::Healthy | Case::HealthyRace | Case::HealthyMirror => Duration::ZERO,
        _ => stall,
    };
    let devices = vec![
        DrawnDevice::new(bytes, seed, first),
        DrawnDevice::new(bytes, !seed, Duration::ZERO),
    ];
    let data = |n: usize| Arc::new(devices[n].clone()) as Arc<dyn LogDevice>;
    let both = |cell| {
        let members = [0, 1].map(|n| (data(n), control()));
        Layout::from(MemberLayout::devices(members, cell))
    };
    let layout = match case {
        Case::Healthy | Case::Stalling => Layout::devices(data(0), control()),
        Case::Race | Case::HealthyRace => both(2),
        Case::Mirror | Case::HealthyMirror => both(1),
    };
    let options = Options::default().log_writer(LogWriter::Inline);
    let log = Log::builder(layout).shape(SHAPE).create()?;
    Ok((log.options(options).open()?.0, devices))
}

/// Commits one after the other; their times, and those of the members' writes.
fn measure(case: Case, seed: u64, commits: u64, stall: Duration) -> Result<Measured, AnyError> {
    let (log, devices) = open(case, seed, stall)?;
    let mut session = log.session();
    let mut times = Histogram::new();
    for n in 0..commits {
        session.append(&[&[7; 1900]])?;
        let begun = Instant::now();
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        times.record(nanos(begun.elapsed()));
        if n % 1000 == 999 {
            log.checkpoint(log.durable())?;
        }
    }
    let members = log.members();
    drop(session);
    log.close()?;
    let write = |n: usize| devices[n].times();
    Ok(Measured {
        commit: times,
        writes: [write(0), write(1)],
        first: members.iter().map(|m| m.first).collect(),
        window_bytes: members.iter().map(|m| m.window_bytes).max().unwrap_or(0),
        window_ns: members.iter().map(|m| m.window_ns).max().unwrap_or(0),
    })
}

struct Measured {
    commit: Histogram,
    writes: [Histogram; 2],
    first: Vec<u64>,
    window_bytes: u64,
    window_ns: u64,
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let mut number = |default: u64| args.next().map_or(Ok(default), |arg| arg.parse());
    let (rounds, commits, stall) = (number(5)?, number(10_000)?, number(20)?);
    let (stall, first_round) = (Duration::from_millis(stall), number(0)?);
    println!(
        "round,case,commits,p50_us,p99_us,p999_us,max_us,write1_p29_us,write1_p50_us,write1_p71_us,\
         first1,first2,window_bytes,window_ms"
    );
    for round in first_round..first_round + rounds {
        // Interleaved: forwards, then backwards.
        let mut order: Vec<usize> = (0..CASES.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let (name, case) = CASES[at];
            let found = measure(case, 1000 + round, commits, stall)?;
            // Empty where there are too few for this quantile.
            let us = |times: &Histogram, q: f64| {
                let ns = times.quantile(q);
                ns.map_or(String::new(), |ns| format!("{:.1}", ns as f64 / 1e3))
            };
            let first = |n: usize| {
                found
                    .first
                    .get(n)
                    .copied()
                    .unwrap_or(commits * (1 - n as u64))
            };
            println!(
                "{round},{name},{commits},{},{},{},{:.1},{},{},{},{},{},{},{:.3}",
                us(&found.commit, 0.5),
                us(&found.commit, 0.99),
                us(&found.commit, 0.999),
                found.commit.max() as f64 / 1e3,
                us(&found.writes[0], 0.293),
                us(&found.writes[0], 0.5),
                us(&found.writes[0], 0.707),
                first(0),
                first(1),
                found.window_bytes,
                found.window_ns as f64 / 1e6,
            );
        }
    }
    Ok(())
}
