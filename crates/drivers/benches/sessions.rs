//! Commits of sessions on a database server, through `measure::driver`.
//!
//! Prints commits, seconds, microseconds of the process's CPU time meanwhile, and the bytes of a
//! row (0 where redo is exact). `experiments/postgres-pgbench` and `experiments/mariadb-slap` run
//! it in turns with the clients that they are named by.
//!
//!     cargo bench -p redolab-drivers --bench sessions -- ADDRESS CLIENTS LENGTH [nowait]
//!
//! LENGTH is a number of seconds, or of commits of each client, such as `5000x`.

use measure::driver::{Driver, DriverError, DriverSession, OpenedTarget, SessionLoad};
use measure::run::TargetFacts;
use measure::workload::{CommitMode, Payload, Workload};
use measure::{Clock, Nanos};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::sync::{Arc, Barrier};

/// Small, because making it is part of the process's CPU time.
const POOL_BYTES: usize = 64 << 10;

/// When a session ends.
#[derive(Clone, Copy)]
enum Length {
    Time(Nanos),
    Commits(u64),
}

impl Length {
    fn parse(text: &str) -> Result<Length, std::num::ParseIntError> {
        Ok(match text.strip_suffix('x') {
            Some(commits) => Length::Commits(commits.parse()?),
            None => Length::Time(Nanos::from_millis(text.parse::<u64>()? * 1000)),
        })
    }

    fn is_over(self, commits: u64, elapsed: Nanos) -> bool {
        match self {
            Length::Time(time) => elapsed >= time,
            Length::Commits(most) => commits >= most,
        }
    }
}

/// Commits of a session from when all sessions are open, and their time.
fn session(
    driver: &dyn Driver,
    load: SessionLoad,
    length: Length,
    together: &Barrier,
) -> Result<(u64, f64), DriverError> {
    let session = driver.session(load);
    together.wait();
    let mut kept = None;
    let outcome = session.and_then(|session| commit(driver, kept.insert(session), length));
    // What a driver does when a session ends is not of its commits.
    together.wait();
    outcome
}

fn commit(
    driver: &dyn Driver,
    session: &mut Box<dyn DriverSession>,
    length: Length,
) -> Result<(u64, f64), DriverError> {
    let begun = driver.clock().now();
    let (mut commits, mut until) = (0, begun);
    while !length.is_over(commits, until.since(begun)) {
        until = session.transaction()?.returned;
        commits += 1;
    }
    Ok((commits, until.since(begun).as_secs()))
}

/// CPU time of this process, in microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Bytes of the row of a transaction, where rows are calibrated.
fn row_bytes(target: &OpenedTarget) -> u32 {
    match target.driver.facts() {
        TargetFacts::Database(facts) => facts.calibrations.first().map_or(0, |c| c.row_bytes),
        _ => 0,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, clients, length, rest @ ..] = arguments.as_slice() else {
        // As `cargo bench` runs it without arguments.
        println!("skipped: it needs the address of a server, clients and seconds");
        return Ok(());
    };
    if address.starts_with("--") {
        println!("skipped: it needs the address of a server, clients and seconds");
        return Ok(());
    }
    let clients: u32 = clients.parse()?;
    let length = Length::parse(length)?;
    let mut workload = Workload::standard().remove(0);
    if rest.first().is_some_and(|mode| mode == "nowait") {
        workload.commit = CommitMode::NOWAIT_BATCH;
    }
    let kinds = [drivers::postgres::KIND, drivers::mariadb::KIND];
    let scheme = address.split("://").next().unwrap_or_default();
    let kind = kinds.into_iter().find(|kind| kind.is_called(scheme));
    let target = (kind.ok_or("no driver has this scheme")?.open)(address)?;
    target.driver.prepare(&[&workload])?;
    let payload = Payload::default();
    let (workload, pool) = (Arc::new(workload), payload.pool(1, POOL_BYTES));
    // This thread reads the CPU time when all are open, and when all have ended.
    let together = Barrier::new(clients as usize + 1);
    let mut used_us = 0.0;
    let outcomes: Vec<Result<(u64, f64), DriverError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let load = SessionLoad {
                    number,
                    workload: Arc::clone(&workload),
                    cpu_per_txn: Nanos::ZERO,
                    payload,
                    pool: Arc::clone(&pool),
                    seed: 1,
                };
                let (driver, together) = (&*target.driver, &together);
                scope.spawn(move || session(driver, load, length, together))
            })
            .collect();
        together.wait();
        let begun_us = cpu_us();
        together.wait();
        used_us = cpu_us() - begun_us;
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.filter_map(Result::ok).collect()
    });
    let (mut commits, mut longest) = (0, 0_f64);
    for outcome in outcomes {
        let (count, seconds) = outcome?;
        commits += count;
        longest = longest.max(seconds);
    }
    println!("{commits} {longest:.6} {used_us:.0} {}", row_bytes(&target));
    target.driver.close()?;
    Ok(())
}
