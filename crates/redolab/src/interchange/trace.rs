//! A row of a run as a trace in the form of Oracle's extended SQL trace (event 10046), for programs
//! that read such traces.
//!
//! ```text
//! Unix process pid: 1000, image: (session 0)
//! XCTEND rlbk=0, rd_only=0, tim=1394360855123100
//! WAIT #0: nam='log file sync' ela= 123 batch=17 obj#=-1 tim=1394360855123223
//! Unix process pid: 1, image: (LGWR)
//! WAIT #0: nam='log file parallel write' ela= 98 files=1 blocks=4 requests=1 obj#=-1 tim=…
//! ```
//! Invariants: each line is an event of the store, and none is invented; the header shows that
//! redolab wrote the trace, and names no release of Oracle; `ela` and `tim` are microseconds, `ela`
//! to the nearest one; `tim` is the end of the wait, counted from 1970 UTC.

use crate::store::StoreError;
use crate::store::events::{Chunk, EventColumn, EventKind, EventReader, Query};
use analysis::account::utc_time;
use measure::WaitEvent;
use measure::run::{Row, Run, SlowLogWrite, TargetFacts, WATCHED_BLOCK_BYTES};
use measure::words::sanitize;
use std::collections::BTreeSet;
use std::io::Write;

/// Number of the log writer in the trace.
const LOG_WRITER: u64 = 1;
/// Number of the log writer's first worker.
const FIRST_WORKER: u64 = 2;
/// Number of the first session.
const FIRST_SESSION: u64 = 1000;

/// The figures of an event that a trace shows.
const COLUMNS: [EventColumn; 10] = [
    EventColumn::StartUtcUs,
    EventColumn::StartExtraNs,
    EventColumn::LatencyNs,
    EventColumn::Batch,
    EventColumn::Session,
    EventColumn::Blocks,
    EventColumn::Writes,
    EventColumn::CheckpointWaitNs,
    EventColumn::GroupWaitNs,
    EventColumn::Worker,
];

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The events could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trace could not be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

/// What to ask of the store for the trace of the row with that number, from 1.
#[must_use]
pub fn query(number: u32) -> Query {
    Query {
        event: None,
        row: Some(number),
        columns: COLUMNS.to_vec(),
    }
}

/// The name of a row's trace file.
#[must_use]
pub fn file_name(number: usize, row: &Row) -> String {
    let workload = super::component(&row.workload);
    format!("{number:02}-{workload}-{}.trc", row.jobs)
}

/// Writes the trace of the row with that number, from 1, whose `events` the store found by
/// [`query`]. Waits come in the order of the store: sessions, then the log writer.
///
/// # Errors
/// Of reading the events, or of `out`.
pub fn write(
    out: &mut dyn Write,
    run: &Run,
    (number, row): (usize, &Row),
    events: EventReader,
) -> Result<(), TraceError> {
    header(out, run, (number, row))?;
    let slow = row.redo().slow_log_writes.as_ref();
    let mut trace = Trace {
        out,
        current: None,
        named: BTreeSet::new(),
        block_bytes: match &run.target.facts {
            TargetFacts::RedoLog(log) => u64::from(log.redo_block_bytes),
            TargetFacts::Watched(_) => WATCHED_BLOCK_BYTES,
            _ => 0,
        },
        warning_ns: slow.map(|slow| slow.threshold_ns),
    };
    for chunk in events {
        trace.chunk(&chunk?)?;
    }
    Ok(())
}

/// The lines before the first process, as servers write `name: value`.
fn header(out: &mut dyn Write, run: &Run, (number, row): (usize, &Row)) -> std::io::Result<()> {
    let lost = row.events.as_ref().map_or(0, |events| events.lost);
    let text = |text: &str| sanitize::line(text);
    writeln!(out, "Trace file {}", file_name(number, row))?;
    for (name, value) in [
        (
            "Written by",
            format!(
                "redolab {} (report --format trace), not by an Oracle server",
                text(&run.redolab_version)
            ),
        ),
        ("Run", text(&run.run_id)),
        ("Origin", run.origin.word().to_owned()),
        ("Created", text(&run.created)),
        ("Target", text(&run.target.path)),
        ("Row", number.to_string()),
        ("Workload", text(&row.workload)),
        ("Jobs", row.jobs.to_string()),
        ("Events lost", lost.to_string()),
        (
            "Process numbers",
            format!(
                "{LOG_WRITER} is the log writer, from {FIRST_WORKER} its workers, from \
                 {FIRST_SESSION} the sessions; they are not those of the system"
            ),
        ),
    ] {
        writeln!(out, "{name}: {value}")?;
    }
    writeln!(out)
}

/// A trace that is being written.
struct Trace<'a> {
    out: &'a mut dyn Write,
    /// The process whose lines are written.
    current: Option<u64>,
    /// Processes that have been named.
    named: BTreeSet<u64>,
    /// Bytes of a redo block; 0 where it is not known.
    block_bytes: u64,
    /// Log writes that take at least this have a warning, where the run kept them.
    warning_ns: Option<u64>,
}

/// An event of the store.
#[derive(Clone, Copy)]
struct StoredEvent {
    /// Nanoseconds since 1970 UTC.
    start_ns: u64,
    latency_ns: u64,
}

impl StoredEvent {
    fn of(chunk: &Chunk, at: usize) -> StoredEvent {
        let figure = |column| figure(chunk, column, at).unwrap_or(0);
        let start_us = figure(EventColumn::StartUtcUs);
        StoredEvent {
            start_ns: start_us.saturating_mul(1000) + figure(EventColumn::StartExtraNs),
            latency_ns: figure(EventColumn::LatencyNs),
        }
    }

    fn start_us(self) -> u64 {
        self.start_ns / 1000
    }

    fn end_us(self) -> u64 {
        self.start_ns.saturating_add(self.latency_ns) / 1000
    }
}

fn figure(chunk: &Chunk, column: EventColumn, at: usize) -> Option<u64> {
    let value = chunk.column(column).get(at).copied().flatten()?;
    u64::try_from(value).ok()
}

/// Microseconds, to the nearest one.
fn micros(ns: u64) -> u64 {
    ns.saturating_add(500) / 1000
}

impl Trace<'_> {
    fn chunk(&mut self, chunk: &Chunk) -> std::io::Result<()> {
        for at in 0..chunk.events {
            match chunk.event {
                EventKind::LogFileSync => self.sync(chunk, at)?,
                EventKind::LogFileParallelWrite => self.write(chunk, at)?,
            }
        }
        Ok(())
    }

    /// The lines that follow are of this process.
    fn process(&mut self, pid: u64, name: impl FnOnce() -> String) -> std::io::Result<()> {
        if self.current.replace(pid) == Some(pid) {
            return Ok(());
        }
        if self.named.insert(pid) {
            return writeln!(self.out, "Unix process pid: {pid}, image: ({})", name());
        }
        writeln!(self.out, "*** [ Unix process pid: {pid} ]")
    }

    fn wait(&mut self, event: WaitEvent, ela_ns: u64, more: &str) -> std::io::Result<()> {
        let (name, ela) = (event.name(), micros(ela_ns));
        writeln!(self.out, "WAIT #0: nam='{name}' ela= {ela} {more}")
    }

    /// A commit, and the session's wait for it.
    fn sync(&mut self, chunk: &Chunk, at: usize) -> std::io::Result<()> {
        let event = StoredEvent::of(chunk, at);
        let session = figure(chunk, EventColumn::Session, at).unwrap_or(0);
        self.process(FIRST_SESSION + session, || format!("session {session}"))?;
        let start_us = event.start_us();
        writeln!(self.out, "XCTEND rlbk=0, rd_only=0, tim={start_us}")?;
        let batch = figure(chunk, EventColumn::Batch, at);
        let batch = batch.map_or_else(String::new, |batch| format!("batch={batch} "));
        let more = format!("{batch}obj#=-1 tim={}", event.end_us());
        self.wait(WaitEvent::LogFileSync, event.latency_ns, &more)
    }

    /// What the log writer waited for before a log write, the write, and the warning of a slow one.
    fn write(&mut self, chunk: &Chunk, at: usize) -> std::io::Result<()> {
        let event = StoredEvent::of(chunk, at);
        let of = |column| figure(chunk, column, at);
        let start_us = event.start_us();
        for (wait, column) in [
            (
                WaitEvent::LogFileSwitchCheckpointIncomplete,
                EventColumn::CheckpointWaitNs,
            ),
            (WaitEvent::LgwrAnyWorkerGroup, EventColumn::GroupWaitNs),
        ] {
            if let Some(ns) = of(column).filter(|ns| *ns > 0) {
                self.process(LOG_WRITER, || "LGWR".to_owned())?;
                self.wait(wait, ns, &format!("obj#=-1 tim={start_us}"))?;
            }
        }
        match of(EventColumn::Worker) {
            Some(worker) => {
                self.process(FIRST_WORKER + worker, || format!("LG{worker:02}"))?;
            }
            None => self.process(LOG_WRITER, || "LGWR".to_owned())?,
        }
        let blocks = of(EventColumn::Blocks).unwrap_or(0);
        let more = format!(
            "files=1 blocks={blocks} requests={} obj#=-1 tim={}",
            of(EventColumn::Writes).unwrap_or(0),
            event.end_us()
        );
        self.wait(WaitEvent::LogFileParallelWrite, event.latency_ns, &more)?;
        if self.warning_ns.is_some_and(|ns| event.latency_ns >= ns) {
            let slow = SlowLogWrite {
                size_bytes: blocks.saturating_mul(self.block_bytes),
                took_ns: event.latency_ns,
                ..SlowLogWrite::default()
            };
            let end_ns = event.start_ns.saturating_add(event.latency_ns);
            writeln!(self.out, "*** {}\n{}", utc_time(end_ns), slow.warning())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_nearest_microseconds_and_names_stay_inside_a_folder() {
        for (ns, us) in [(0, 0), (499, 0), (500, 1), (1499, 1), (1500, 2)] {
            assert_eq!(micros(ns), us, "{ns} ns");
        }
        assert_eq!(micros(u64::MAX), u64::MAX / 1000);
        let row = Row {
            workload: "../x".to_owned(),
            jobs: 4,
            ..Row::default()
        };
        assert_eq!(file_name(3, &row), "03-_x-4.trc");
    }
}
