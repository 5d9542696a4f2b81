//! The load: tables, rows by several connections at a time, indexes, routines, statistics.
//!
//! Invariants: the schema is marked as being loaded before its first table exists, and as loaded
//! after everything else; a load that fails or is cancelled removes what it made, and the next one
//! removes what a killed one left.

use super::copy::CopyIn;
use super::driver::LONG;
use super::schema::{self, SchemaState, SchemaUse};
use super::statements;
use crate::postgres::Server;
use crate::postgres::connection::Connection;
use crate::postgres::error::PostgresError;
use crate::tprocc::contents::{TprocCTable, WarehouseRows};
use crate::tprocc::load::{LoadOptions, LoadPhase, LoadProgress, LoadResult};
use crate::tprocc::rows::RowText;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is reported, and asked whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// What connections of a load set: they need not wait for each commit, and build indexes in memory.
/// The last statement of a load is durable, and so is everything before it.
const SETTINGS: &str = "SET synchronous_commit = off; SET maintenance_work_mem = '128MB'; \
     SET client_min_messages = error";

/// Loads a schema.
///
/// # Errors
/// There is one already, the load was cancelled, or of the server; nothing is left then.
pub fn load(
    server: &Server,
    options: &LoadOptions,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<LoadResult, PostgresError> {
    let started = Instant::now();
    let mut control = server.patient(LONG)?;
    schema::lock(&mut control, SchemaUse::Alone)?;
    let replaced = match schema::state(&mut control)? {
        SchemaState::Absent => false,
        SchemaState::Foreign => return Err(schema::foreign()),
        SchemaState::Unfinished => schema::drop(&mut control)?,
        SchemaState::Loaded => {
            return Err(PostgresError::Unusable(
                "the database has tables of TPROC-C already: remove them with redolab tprocc \
                 drop --url URL"
                    .to_owned(),
            ));
        }
    };
    control.query(&statements::create_schema())?;
    match fill(server, &mut control, options, progress) {
        Ok((rows, rows_time)) => Ok(LoadResult {
            rows,
            rows_time,
            time: started.elapsed(),
            replaced,
        }),
        Err(error) => {
            // The next load finds what cannot be removed now.
            let _ = schema::drop(&mut control);
            Err(error)
        }
    }
}

/// Fills an empty schema. Its rows, and the time that these took.
fn fill(
    server: &Server,
    control: &mut Connection,
    options: &LoadOptions,
    progress: &dyn Fn(&LoadProgress) -> bool,
) -> Result<(u64, Duration), PostgresError> {
    let started = Instant::now();
    control.query(statements::TABLES)?;
    let parts = WarehouseRows::all(options.warehouses);
    let expected = parts.iter().map(|part| part.table.expected_rows()).sum();
    let rows = AtomicU64::new(0);
    let watch = |phase, total| Watch {
        phase,
        done: &rows,
        total,
        progress,
    };
    let copy = |connection: &mut Connection, part: &WarehouseRows, stop: &AtomicBool| {
        copy(connection, *part, options.seed, &rows, stop)
    };
    in_parallel(
        server,
        options.connections,
        &parts,
        &watch(LoadPhase::Rows, expected),
        &copy,
    )?;
    let (copied, rows_time) = (rows.load(Ordering::Relaxed), started.elapsed());
    rows.store(0, Ordering::Relaxed);
    let indexes = |connection: &mut Connection, sql: &&str, _: &AtomicBool| {
        connection.query(sql)?;
        rows.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let total = statements::INDEXES.len() as u64;
    let watched = watch(LoadPhase::Indexes, total);
    in_parallel(
        server,
        options.connections,
        &statements::INDEXES,
        &watched,
        &indexes,
    )?;
    rows.store(0, Ordering::Relaxed);
    let vacuum = |connection: &mut Connection, table: &TprocCTable, _: &AtomicBool| {
        connection.query(&statements::vacuum(*table))?;
        rows.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let watched = watch(LoadPhase::Statistics, TprocCTable::ALL.len() as u64);
    in_parallel(
        server,
        options.connections,
        &TprocCTable::ALL,
        &watched,
        &vacuum,
    )?;
    control.query(statements::ROUTINES)?;
    let state = format!("{} warehouses, seed {}", options.warehouses, options.seed);
    control.query(&statements::mark(&state))?;
    Ok((copied, rows_time))
}

/// Copies the rows of a table that belong to a warehouse, in one transaction.
fn copy(
    connection: &mut Connection,
    part: WarehouseRows,
    seed: u64,
    done: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), PostgresError> {
    let mut copy = CopyIn::begin(connection, &statements::copy(part.table))?;
    let mut rows = RowText::default();
    for number in 0..part.table.parts() {
        if stop.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        rows.clear();
        part.make(number, seed, &mut rows);
        copy.send(rows.bytes())?;
        done.fetch_add(rows.count(), Ordering::Relaxed);
    }
    copy.finish()
}

fn cancelled() -> PostgresError {
    PostgresError::Unusable("the load was cancelled; what it had made is removed".to_owned())
}

/// What is reported while connections work.
struct Watch<'a> {
    phase: LoadPhase,
    done: &'a AtomicU64,
    total: u64,
    progress: &'a dyn Fn(&LoadProgress) -> bool,
}

/// Hands `work` to so many connections, one piece at a time, until all is done or one fails.
fn in_parallel<T: Sync>(
    server: &Server,
    connections: u32,
    work: &[T],
    watch: &Watch<'_>,
    each: &(dyn Fn(&mut Connection, &T, &AtomicBool) -> Result<(), PostgresError> + Sync),
) -> Result<(), PostgresError> {
    let (next, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (stop, failure) = (AtomicBool::new(false), Mutex::new(None));
    let worker = || {
        let outcome = (|| {
            let mut connection = server.patient(LONG)?;
            connection.query(SETTINGS)?;
            while let Some(piece) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stop.load(Ordering::Relaxed) {
                    return Err(cancelled());
                }
                each(&mut connection, piece, &stop)?;
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
