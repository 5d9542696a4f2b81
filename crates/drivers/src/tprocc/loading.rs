//! The load: tables, rows by several connections at a time, indexes, routines, statistics.
//!
//! Invariants: the schema is marked as being loaded before its first table exists, and as loaded
//! after everything else; a load that fails or is cancelled removes what it made, and the next one
//! removes what a killed one left.

use super::contents::WarehouseRows;
use super::load::{LoadOptions, LoadPhase, LoadProgress, LoadResult};
use super::rows::RowText;
use super::schema;
use super::server::{SchemaConnection, SchemaState, SchemaTask, SchemaUse, TprocCServer};
use measure::driver::DriverError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is reported, and asked whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// Loads a schema.
///
/// # Errors
/// There is one already, the load was cancelled, or of the server; nothing is left then.
pub fn load(
    server: &dyn TprocCServer,
    options: &LoadOptions,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<LoadResult, DriverError> {
    let started = Instant::now();
    let mut control = server.connect(SchemaTask::Maintenance)?;
    schema::lock(&mut *control, SchemaUse::Alone)?;
    let replaced = match control.state()? {
        SchemaState::Absent => false,
        SchemaState::Foreign => return Err(schema::foreign()),
        SchemaState::Unfinished => schema::drop(&mut *control)?,
        SchemaState::Loaded => {
            return Err(DriverError::unusable(
                "the database has tables of TPROC-C already: remove them with redolab tprocc \
                 drop --url URL",
            ));
        }
    };
    match fill(server, &mut *control, options, progress) {
        Ok((rows, rows_time)) => Ok(LoadResult {
            rows,
            rows_time,
            time: started.elapsed(),
            replaced,
        }),
        Err(error) => {
            // The next load finds what cannot be removed now.
            let _ = schema::drop(&mut *control);
            Err(error)
        }
    }
}

/// Makes and fills the schema. Its rows, and the time that these took.
fn fill(
    server: &dyn TprocCServer,
    control: &mut dyn SchemaConnection,
    options: &LoadOptions,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<(u64, Duration), DriverError> {
    let started = Instant::now();
    control.create()?;
    let parts = WarehouseRows::all(options.warehouses);
    let expected = parts.iter().map(|part| part.table.expected_rows()).sum();
    let rows = AtomicU64::new(0);
    let each = |connection: &mut dyn SchemaConnection, part: &WarehouseRows, stop: &AtomicBool| {
        load_part(connection, *part, options.seed, &rows, stop)
    };
    let watch = Watch {
        phase: LoadPhase::Rows,
        done: &rows,
        total: expected,
        progress,
    };
    in_parallel(server, options.connections, &parts, &watch, &each)?;
    let rows_time = started.elapsed();
    for phase in [LoadPhase::Indexes, LoadPhase::Statistics] {
        run_all(server, options.connections, phase, progress)?;
    }
    let state = format!("{} warehouses, seed {}", options.warehouses, options.seed);
    control.mark(&state)?;
    Ok((rows.load(Ordering::Relaxed), rows_time))
}

/// Runs the statements of a phase.
fn run_all(
    server: &dyn TprocCServer,
    connections: u32,
    phase: LoadPhase,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<(), DriverError> {
    let statements = server.finishing(phase);
    if statements.is_empty() {
        return Ok(());
    }
    let done = AtomicU64::new(0);
    let each = |connection: &mut dyn SchemaConnection, sql: &String, _: &AtomicBool| {
        connection.query(sql)?;
        done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let watch = Watch {
        phase,
        done: &done,
        total: statements.len() as u64,
        progress,
    };
    in_parallel(server, connections, &statements, &watch, &each)
}

/// Loads the rows of a table that belong to a warehouse.
fn load_part(
    connection: &mut dyn SchemaConnection,
    part: WarehouseRows,
    seed: u64,
    done: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), DriverError> {
    let mut numbers = 0..part.table.parts();
    let mut source = |rows: &mut RowText| {
        if stop.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        rows.clear();
        let Some(number) = numbers.next() else {
            return Ok(false);
        };
        part.make(number, seed, rows);
        done.fetch_add(rows.count(), Ordering::Relaxed);
        Ok(true)
    };
    connection.load(part.table, &mut source)
}

fn cancelled() -> DriverError {
    DriverError::unusable("the load was cancelled; what it had made is removed")
}

/// What is reported while connections work.
struct Watch<'a> {
    phase: LoadPhase,
    done: &'a AtomicU64,
    total: u64,
    progress: &'a dyn Fn(&LoadProgress) -> bool,
}

/// What a connection does with a piece of work.
type PieceWork<'a, T> =
    dyn Fn(&mut dyn SchemaConnection, &T, &AtomicBool) -> Result<(), DriverError> + Sync + 'a;

/// Hands `work` to so many connections, one piece at a time, until all is done or one fails.
fn in_parallel<T: Sync>(
    server: &dyn TprocCServer,
    connections: u32,
    work: &[T],
    watch: &Watch<'_>,
    each: &PieceWork<'_, T>,
) -> Result<(), DriverError> {
    let (next, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (stop, failure) = (AtomicBool::new(false), Mutex::new(None));
    let worker = || {
        let outcome = (|| {
            let mut connection = server.connect(SchemaTask::Load)?;
            while let Some(piece) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stop.load(Ordering::Relaxed) {
                    return Err(cancelled());
                }
                each(&mut *connection, piece, &stop)?;
            }
            Ok(())
        })();
        if let Err(error) = outcome {
            let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
        running.fetch_sub(1, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        for _ in 0..connections.max(1) {
            running.fetch_add(1, Ordering::SeqCst);
            scope.spawn(worker);
        }
        while running.load(Ordering::SeqCst) > 0 {
            let goes_on = (watch.progress)(&LoadProgress {
                phase: watch.phase,
                done: watch.done.load(Ordering::Relaxed),
                total: watch.total,
            });
            if !goes_on {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK);
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}
