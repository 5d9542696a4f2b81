//! Runs of version 1 (`redolab.run/1`), which become runs of this version when they are read.
//!
//! In version 1 a figure that was not measured held zero, and the row named it in a list; what a
//! workload did not know of the log writer was empty text. This is the only module that knows
//! either. Every figure that was measured stays as it was.

use super::groups::flat;
use super::{
    CapturedEvents, CommitPathFigures, CrossCheck, DeviceFigures, Environment, FloorRow,
    ImportedFacts, ImportedWorkload, Interval, LearningFigures, OpenLoopFigures, Origin,
    PayloadInfo, ProbeRow, ProcessorFigures, RedoFigures, RedoLogFacts, RedoWorkload, Row, Run,
    RunNotes, SCHEMA, SessionFigures, SessionTime, SizeSweep, Target, TargetFacts, Validity,
    WaitStats, WorkloadInfo, measured,
};
use crate::imported::{Diagnostic, Imported};
use crate::judgement::{Finding, Need, Verdict};
use crate::stack::Stack;
use crate::workload::arrivals::Arrivals;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The schema of runs of version 1.
pub const SCHEMA_1: &str = "redolab.run/1";

/// A run of version 1, as it was written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RunOfVersion1 {
    run_id: String,
    created: String,
    origin: Origin,
    redolab_version: String,
    command: Vec<String>,
    target: OldTarget,
    workload: OldWorkload,
    environment: Environment,
    rows: Vec<OldRow>,
    #[serde(default)]
    floor: Vec<FloorRow>,
    #[serde(default)]
    lab_overhead_ns: Option<f64>,
    #[serde(default)]
    findings: Vec<Finding>,
    validity: Validity,
    #[serde(default)]
    need: Need,
    #[serde(default)]
    verdict: Option<Verdict>,
    #[serde(default)]
    report: Option<String>,
    #[serde(default)]
    diagnostics: Vec<Diagnostic>,
    #[serde(default)]
    imported: Option<Imported>,
}

/// Where the log lived; everything but the first three is of a redo log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct OldTarget {
    kind: String,
    path: String,
    stack: Stack,
    sync_method: String,
    redo_block_bytes: u32,
    seal_bytes: u32,
    log_groups: u32,
    log_file_bytes: u64,
    log_buffer_bytes: u64,
    huge_pages: bool,
    unwritten_extents: Option<u64>,
    #[serde(default)]
    io: String,
    #[serde(default)]
    io_depth: u32,
    #[serde(default)]
    probe: Vec<ProbeRow>,
    #[serde(default)]
    fallbacks: Vec<String>,
}

/// What was run, and how the log was written meanwhile.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct OldWorkload {
    names: Vec<String>,
    jobs: Vec<u32>,
    time_s: Option<f64>,
    warmup_s: f64,
    commits: Option<u64>,
    cpu_per_txn_us: f64,
    log_writer: String,
    #[serde(default)]
    commit_api: String,
    #[serde(default)]
    log_file_sync: String,
    #[serde(default)]
    flush_triggers: String,
    #[serde(default)]
    log_writer_cpus: Vec<u32>,
    seed: u64,
    #[serde(default)]
    arrivals: Option<Arrivals>,
    #[serde(default)]
    soak_s: Option<f64>,
    #[serde(default)]
    payload: Option<PayloadInfo>,
    #[serde(default)]
    size_sweep: Option<SizeSweep>,
}

/// A row: its figures have the names and places that they have today.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct OldRow {
    workload: String,
    nodes: u32,
    jobs: u32,
    #[serde(default)]
    threads: Option<u32>,
    #[serde(default)]
    redo_bytes_per_txn: Option<u64>,
    #[serde(default)]
    records_per_txn: Option<u32>,
    #[serde(default)]
    commits_per_session: Option<u64>,
    #[serde(default)]
    soak: bool,
    commit_throughput_tps: f64,
    commit_latency_ms: f64,
    redo_synch_writes_iops: f64,
    log_file_sync_ms: Option<f64>,
    elapsed_s: f64,
    commits: u64,
    elapsed_ns: u64,
    waits: BTreeMap<String, WaitStats>,
    commit_latency: WaitStats,
    #[serde(default)]
    curves: BTreeMap<String, Vec<(f64, u64)>>,
    commit_path: CommitPathFigures,
    #[serde(default)]
    session_time: Option<SessionTime>,
    #[serde(default)]
    cross_check: Option<CrossCheck>,
    #[serde(default)]
    sessions: Vec<SessionFigures>,
    #[serde(default)]
    intervals: Vec<Interval>,
    #[serde(default)]
    events: Option<CapturedEvents>,
    #[serde(flatten, with = "flat")]
    redo: Option<RedoFigures>,
    #[serde(flatten, with = "flat")]
    device: Option<DeviceFigures>,
    #[serde(flatten, with = "flat")]
    processors: Option<ProcessorFigures>,
    #[serde(flatten, with = "flat")]
    open_loop: Option<OpenLoopFigures>,
    #[serde(flatten, with = "flat")]
    learning: Option<LearningFigures>,
    /// Fields that hold zero because nobody measured them.
    #[serde(default)]
    not_measured: Vec<String>,
}

impl From<RunOfVersion1> for Run {
    fn from(old: RunOfVersion1) -> Run {
        let target = target(old.target, &old.workload, old.imported.as_ref());
        Run {
            notes: RunNotes::default(),
            schema: SCHEMA.to_owned(),
            run_id: old.run_id,
            created: old.created,
            origin: old.origin,
            redolab_version: old.redolab_version,
            command: old.command,
            workload: workload(old.workload, &target),
            target,
            environment: old.environment,
            rows: old.rows.into_iter().map(row).collect(),
            floor: old.floor,
            placement: None,
            power_tests: None,
            lab_overhead_ns: old.lab_overhead_ns,
            findings: old.findings,
            validity: old.validity,
            need: old.need,
            verdict: old.verdict,
            report: old.report,
            diagnostics: old.diagnostics,
            imported: old.imported,
        }
    }
}

fn text(old: &str) -> Option<String> {
    (!old.is_empty()).then(|| old.to_owned())
}

fn target(old: OldTarget, workload: &OldWorkload, imported: Option<&Imported>) -> Target {
    let facts = match imported {
        Some(imported) => TargetFacts::Imported(ImportedFacts::of(imported)),
        // A run that ended before its log was made described none.
        None if old.log_groups == 0 => TargetFacts::Unknown,
        None => TargetFacts::RedoLog(RedoLogFacts {
            sync_method: old.sync_method,
            redo_block_bytes: old.redo_block_bytes,
            seal_bytes: old.seal_bytes,
            log_groups: old.log_groups,
            log_file_bytes: old.log_file_bytes,
            log_buffer_bytes: old.log_buffer_bytes,
            huge_pages: old.huge_pages,
            unwritten_extents: old.unwritten_extents,
            io: text(&old.io),
            io_depth: (old.io_depth > 0).then_some(old.io_depth),
            log_writer: text(&workload.log_writer),
            log_writer_cpus: workload.log_writer_cpus.clone(),
            log_file_sync: text(&workload.log_file_sync),
            flush_triggers: text(&workload.flush_triggers),
            probe: old.probe,
            fallbacks: old.fallbacks,
            stripe: None,
            members: Vec::new(),
            ring: None,
            node_directories: Vec::new(),
        }),
    };
    Target {
        kind: old.kind,
        path: old.path,
        stack: old.stack,
        facts,
    }
}

fn workload(old: OldWorkload, target: &Target) -> WorkloadInfo {
    match target.facts {
        TargetFacts::Imported(_) => {
            return WorkloadInfo::Imported(ImportedWorkload { names: old.names });
        }
        TargetFacts::Unknown if old.names.is_empty() => return WorkloadInfo::Unknown,
        _ => {}
    }
    WorkloadInfo::Redo(RedoWorkload {
        names: old.names,
        jobs: old.jobs,
        time_s: old.time_s,
        warmup_s: old.warmup_s,
        commits: old.commits,
        cpu_per_txn_us: old.cpu_per_txn_us,
        commit_write: BTreeMap::new(),
        commit_api: text(&old.commit_api),
        seed: old.seed,
        arrivals: old.arrivals,
        soak_s: old.soak_s,
        payload: old.payload,
        size_sweep: old.size_sweep,
        tproc_c: None,
    })
}

fn row(old: OldRow) -> Row {
    let mut row = Row {
        workload: old.workload,
        nodes: old.nodes,
        by_node: Vec::new(),
        jobs: old.jobs,
        // Each session had a thread of its own before threads were recorded.
        threads: old.threads.filter(|threads| *threads > 0),
        redo_bytes_per_txn: old.redo_bytes_per_txn,
        records_per_txn: old.records_per_txn,
        commits_per_session: old.commits_per_session,
        soak: old.soak,
        condition: None,
        commit_throughput_tps: Some(old.commit_throughput_tps),
        commit_latency_ms: Some(old.commit_latency_ms),
        redo_synch_writes_iops: Some(old.redo_synch_writes_iops),
        log_file_sync_ms: old.log_file_sync_ms,
        elapsed_s: Some(old.elapsed_s),
        commits: Some(old.commits),
        elapsed_ns: Some(old.elapsed_ns),
        waits: old.waits,
        commit_latency: Some(old.commit_latency),
        curves: old.curves,
        commit_path: Some(old.commit_path),
        session_time: old.session_time,
        cross_check: old.cross_check,
        sessions: old.sessions,
        intervals: old.intervals,
        events: old.events,
        redo: old.redo,
        device: old.device,
        processors: old.processors,
        open_loop: old.open_loop,
        learning: old.learning,
        server: None,
        tproc_c: None,
        log_life: None,
        watched: None,
    };
    for field in &old.not_measured {
        forget(&mut row, field);
    }
    row.redo = row.redo.and_then(measured);
    row
}

/// Makes `None` of a figure that held zero because nobody measured it.
fn forget(row: &mut Row, field: &str) {
    let mut redo = row.redo.take().unwrap_or_default();
    match field {
        "threads" => row.threads = None,
        "commit_throughput_tps" => row.commit_throughput_tps = None,
        "commit_latency_ms" => row.commit_latency_ms = None,
        "redo_synch_writes_iops" => row.redo_synch_writes_iops = None,
        "elapsed_s" => row.elapsed_s = None,
        "commits" => row.commits = None,
        "elapsed_ns" => row.elapsed_ns = None,
        "commit_latency" => row.commit_latency = None,
        "commit_path" => row.commit_path = None,
        "redo_blocks_per_s" => redo.redo_blocks_per_s = None,
        "redo_writes_iops" => redo.redo_writes_iops = None,
        "redo_data_mbps" => redo.redo_data_mbps = None,
        "redo_data_kb_per_txn" => redo.redo_data_kb_per_txn = None,
        "redo_size_bytes" => redo.redo_size_bytes = None,
        "commits_per_write" => redo.commits_per_write = None,
        "redo_wastage_bytes" => redo.redo_wastage_bytes = None,
        "flushes" => redo.flushes = None,
        "log_switches" => redo.log_switches = None,
        "log_writer_switches" => redo.log_writer_switches = None,
        // The importer of version 1 named no other field.
        _ => {}
    }
    row.redo = Some(redo);
}

#[cfg(test)]
mod tests;
