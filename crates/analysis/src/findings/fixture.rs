//! For tests: a clean run, on which nothing cautions.

use measure::judgement::Need;
use measure::run::*;
use measure::stack::{Layer, LayerKind, Stack};
use std::collections::BTreeMap;

pub(crate) fn stats(count: u64, mean_ns: f64) -> WaitStats {
    let at = |f: f64| Some((mean_ns * f) as u64);
    WaitStats {
        count,
        total_ns: (count as f64 * mean_ns) as u64,
        mean_ns,
        min_ns: (mean_ns * 0.5) as u64,
        p50_ns: at(0.95),
        p90_ns: at(1.3),
        p99_ns: at(2.0),
        p999_ns: at(3.0),
        max_ns: (mean_ns * 6.0) as u64,
        ..WaitStats::default()
    }
}

pub(crate) fn disk() -> Layer {
    Layer {
        model: Some("ACME NV3000".to_owned()),
        detail: Some("nvme".to_owned()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        write_cache: Some("write through".to_owned()),
        drive_write_cache: Some(false),
        rotational: Some(false),
        fua: Some(true),
        size_bytes: Some(1 << 40),
        ..Layer::new(LayerKind::Disk, "nvme0n1")
    }
}

pub(crate) fn row(workload: &str, jobs: u32, tps: f64, mbps: f64, sync_ns: f64) -> Row {
    let commits = (tps * 10.0) as u64;
    let waits = BTreeMap::from([
        ("log_file_sync".to_owned(), stats(commits, sync_ns)),
        (
            "log_file_parallel_write".to_owned(),
            stats(commits / 2, sync_ns * 0.8),
        ),
    ]);
    let interval = |i: u64| Interval {
        t_s: i as f64,
        seconds: 1.0,
        commits: commits / 10,
        log_file_sync_mean_ns: Some(sync_ns),
        log_file_parallel_write_mean_ns: Some(sync_ns * 0.8),
        log_file_parallel_write_max_ns: Some((sync_ns * 4.0) as u64),
        ..Interval::default()
    };
    Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs,
        commit_throughput_tps: Some(tps),
        commit_latency_ms: Some(f64::from(jobs) / tps * 1e3),
        log_file_sync_ms: Some(sync_ns / 1e6),
        elapsed_s: Some(10.0),
        elapsed_ns: Some(10_000_000_000),
        commits: Some(commits),
        waits,
        commit_path: Some(CommitPathFigures {
            attributed: commits,
            queue_ns: sync_ns * 0.1,
            write_ns: sync_ns * 0.5,
            flush_ns: sync_ns * 0.3,
            wake_ns: sync_ns * 0.1,
            ..CommitPathFigures::default()
        }),
        intervals: (1..=10).map(interval).collect(),
        redo: Some(RedoFigures {
            redo_data_mbps: Some(mbps),
            redo_size_bytes: Some((mbps * 1024.0 * 1024.0 * 10.0) as u64),
            commits_per_write: Some(CommitsPerWrite {
                mean: 2.0,
                p50: 2,
                p99: 4,
            }),
            redo_wastage_bytes: Some((mbps * 1024.0 * 1024.0) as u64),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            device_written_bytes: Some((mbps * 1024.0 * 1024.0 * 11.0) as u64),
            flush_audit: Some(FlushAudit {
                status: AuditStatus::Verified,
                needed: 100,
                counted: Some(100),
                nfs: None,
                note: String::new(),
            }),
            background_write_pct: Some(0.1),
            ..DeviceFigures::default()
        }),
        processors: Some(ProcessorFigures {
            cpu_busy_pct: Some(40.0),
            ..ProcessorFigures::default()
        }),
        ..Row::default()
    }
}

fn floor(method: &str, pre_written: bool, bytes: u64, mean_ns: f64, flush_ns: f64) -> FloorRow {
    FloorRow {
        sync_method: method.to_owned(),
        pre_written,
        write_bytes: bytes,
        writes_per_s: 1e9 / mean_ns,
        latency: stats(1000, mean_ns),
        write_mean_ns: mean_ns - flush_ns,
        flush_mean_ns: flush_ns,
    }
}

/// A run on a drive that declares its protection, at ease with everything.
pub(crate) fn clean_run() -> Run {
    let layers = vec![Layer::new(LayerKind::FileSystem, "xfs"), disk()];
    Run {
        schema: SCHEMA.to_owned(),
        run_id: "clean".to_owned(),
        created: "2026-01-02T03:04:05Z".to_owned(),
        origin: Origin::Measured,
        redolab_version: "0.1.0".to_owned(),
        notes: measure::run::RunNotes::default(),
        command: vec!["redolab".to_owned(), "check".to_owned()],
        target: Target {
            kind: "file".to_owned(),
            path: "/redo".to_owned(),
            stack: Stack {
                depths: vec![0, 1],
                layers,
                ..Stack::default()
            },
            facts: TargetFacts::RedoLog(RedoLogFacts {
                sync_method: "direct".to_owned(),
                redo_block_bytes: 512,
                seal_bytes: 4096,
                log_groups: 4,
                log_file_bytes: 16 << 30,
                unwritten_extents: Some(0),
                ..RedoLogFacts::default()
            }),
        },
        workload: WorkloadInfo::default(),
        environment: Environment::default(),
        rows: vec![
            row("LGWR-LAT1", 1, 9_000.0, 17.0, 100_000.0),
            row("LGWR-LAT1", 8, 40_000.0, 78.0, 190_000.0),
            row("LGWR-THR", 8, 1_900.0, 900.0, 400_000.0),
        ],
        floor: vec![
            floor("direct", true, 4096, 90_000.0, 50_000.0),
            floor("direct", false, 4096, 180_000.0, 120_000.0),
            floor("buffered", true, 4096, 120_000.0, 100_000.0),
            floor("buffered", true, 64 << 20, 90e6, 80e6),
            floor("direct", true, 64 << 20, 90e6, 60_000.0),
        ],
        placement: None,
        power_tests: None,
        lab_overhead_ns: Some(2_000.0),
        findings: Vec::new(),
        validity: Validity::sound(),
        need: Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

pub(crate) fn set_sync(row: &mut Row, change: impl Fn(&mut WaitStats)) {
    change(row.waits.get_mut("log_file_sync").expect("the row waits"));
}

/// A run of `check --explain-latency`: log file sync in us of each round of its base.
pub(crate) fn explained_run(rounds_us: &[f64]) -> Run {
    let mut run = clean_run();
    run.rows.clear();
    run.verdict = None;
    for (round, us) in (1_u32..).zip(rounds_us) {
        // So that no two rounds have one ratio.
        let apart = 1.0 + 0.03 * (f64::from(round) - 2.0);
        for (commit_write, way, busy_threads, factor) in [
            ("wait-immediate", "adaptive", 0, 1.0),
            ("nowait-batch", "adaptive", 0, 0.5),
            ("wait-immediate", "adaptive", 4, 3.0 * apart),
            ("wait-immediate", "polling", 0, 0.9 * apart),
        ] {
            let sync_ns = us * 1e3 * factor;
            let mut row = row("LGWR-LAT1", 8, 8e9 / sync_ns, 10.0, sync_ns);
            row.condition = Some(RowCondition {
                commit_write: commit_write.to_owned(),
                log_file_sync: way.to_owned(),
                busy_threads,
                round,
            });
            row.commit_path = Some(CommitPathFigures {
                attributed: 1000,
                queue_ns: sync_ns * 0.35,
                write_ns: sync_ns * 0.2,
                flush_ns: sync_ns * 0.3,
                wake_ns: sync_ns * 0.15,
                parts: Some(WaitParts {
                    commits: row.waits["log_file_sync"].count,
                    io_ns: sync_ns * 0.5,
                    group_commit_ns: sync_ns * 0.3,
                    cpu_ns: sync_ns * 0.15,
                    log_writer_ns: sync_ns * 0.05,
                }),
                run_queue_ns: Some(sync_ns * 0.05),
            });
            if commit_write == "nowait-batch" {
                row.waits.remove("log_file_sync");
                row.commit_throughput_tps = row.commit_throughput_tps.map(|tps| tps * apart);
                row.commit_path = None;
            }
            run.rows.push(row);
        }
    }
    run
}
