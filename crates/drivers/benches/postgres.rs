//! Commits of sessions on a PostgreSQL server, through `measure::driver`, for a time.
//!
//! Prints commits and seconds. `experiments/postgres-pgbench` runs it in turns with pgbench.
//!
//!     cargo bench -p redolab-drivers --bench postgres -- ADDRESS CLIENTS SECONDS [nowait]

use measure::driver::{Driver, DriverError, SessionLoad};
use measure::workload::{CommitMode, Payload, Workload};
use measure::{Clock, Nanos};
use std::error::Error;
use std::sync::{Arc, Barrier};

/// Small, because making it is part of the process's CPU time.
const POOL_BYTES: usize = 64 << 10;

/// Commits of a session until `time` has passed since `together`, and that time.
fn session(
    driver: &dyn Driver,
    load: SessionLoad,
    time: Nanos,
    together: &Barrier,
) -> Result<(u64, f64), DriverError> {
    let session = driver.session(load);
    together.wait();
    let mut session = session?;
    let begun = driver.clock().now();
    let (mut commits, mut until) = (0, begun);
    while until.since(begun) < time {
        until = session.transaction()?.returned;
        commits += 1;
    }
    Ok((commits, until.since(begun).as_secs()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, clients, seconds, rest @ ..] = arguments.as_slice() else {
        // As `cargo bench` runs it without arguments.
        println!("skipped: it needs the address of a server, clients and seconds");
        return Ok(());
    };
    if address.starts_with("--") {
        println!("skipped: it needs the address of a server, clients and seconds");
        return Ok(());
    }
    let clients: u32 = clients.parse()?;
    let time = Nanos::from_millis(seconds.parse::<u64>()? * 1000);
    let mut workload = Workload::standard().remove(0);
    if rest.first().is_some_and(|mode| mode == "nowait") {
        workload.commit = CommitMode::NOWAIT_BATCH;
    }
    let target = (drivers::postgres::KIND.open)(address)?;
    let payload = Payload::default();
    let (workload, pool) = (Arc::new(workload), payload.pool(1, POOL_BYTES));
    let together = Barrier::new(clients as usize);
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
                scope.spawn(move || session(driver, load, time, together))
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.filter_map(Result::ok).collect()
    });
    let (mut commits, mut longest) = (0, 0_f64);
    for outcome in outcomes {
        let (count, seconds) = outcome?;
        commits += count;
        longest = longest.max(seconds);
    }
    println!("{commits} {longest:.6}");
    Ok(())
}
