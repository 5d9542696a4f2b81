//! Writes a report of synthetic data, to look at. Nothing in it was measured: the run says
//! `simulated` wherever figures are shown.
//!
//! `cargo run -p redolab-analysis --example report_demo -- FILE [yes|conditional|no|undetermined]`

use analysis::report::ReportData;
use analysis::{Thresholds, findings, report, verdict};
use measure::Histogram;
use measure::judgement::{Need, Scope};
use measure::run::*;
use measure::stack::{Layer, LayerKind, Stack};
use measure::workload::{Workload, split_mix};
use std::collections::BTreeMap;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or_else(|| "report_demo.html".to_owned());
    let kind = arguments.next().unwrap_or_else(|| "conditional".to_owned());
    let mut run = synthetic();
    match kind.as_str() {
        "yes" => {
            run.target.stack.hypervisor = None;
            run.need.commit_rate = Some(20_000.0);
            if let Some(disk) = run.target.stack.layers.last_mut() {
                disk.drive_write_cache = Some(false);
                disk.name = "nvme0n1".to_owned();
                disk.detail = Some("nvme".to_owned());
            }
        }
        "no" => run.need.commit_rate = Some(400_000.0),
        "undetermined" => run
            .validity
            .add("io_error", true, "write of 4096 bytes at 1 MiB: EIO."),
        _ => {}
    }
    // Judged as if it had been measured, so that every kind of verdict can be looked at.
    let found = findings(&run, &Thresholds::default());
    let scope = Scope {
        seconds: run.rows.iter().filter_map(|r| r.elapsed_s).sum(),
        bytes_written: run
            .rows
            .iter()
            .filter_map(|r| r.device().device_written_bytes)
            .sum(),
        log_footprint_bytes: run.target.redo_log().map_or(0, |log| log.footprint_bytes()),
        cache_resident: true,
        not_judged: Vec::new(),
        watched: false,
    };
    run.verdict = Some(verdict(&run, &found, &run.need, scope));
    run.findings = found;
    run.origin = Origin::Simulated;
    std::fs::write(&path, report::html(&run, &data(&run, &mut 7)))?;
    println!("{path}: synthetic data, for looking at the report only");
    Ok(())
}

fn synthetic() -> Run {
    let workloads = Workload::standard();
    let jobs = [1, 2, 8, 32, 64];
    let mut state = 7;
    let rows = workloads
        .iter()
        .flat_map(|w| jobs.map(|j| (w, j)))
        .map(|(w, j)| row(w, j, &mut state))
        .collect();
    Run {
        schema: SCHEMA.to_owned(),
        run_id: "synthetic-demo".to_owned(),
        created: "2026-01-02T03:04:05Z".to_owned(),
        origin: Origin::Measured,
        redolab_version: "0.1.0".to_owned(),
        notes: measure::run::RunNotes::default(),
        command: ["redolab", "check", "/synthetic/redo log", "--time", "10s"]
            .map(str::to_owned)
            .to_vec(),
        target: target(),
        workload: WorkloadInfo::Redo(RedoWorkload {
            names: workloads.iter().map(|w| w.name.clone()).collect(),
            jobs: jobs.to_vec(),
            time_s: Some(10.0),
            warmup_s: 2.0,
            seed: 7,
            ..RedoWorkload::default()
        }),
        environment: Environment {
            kernel: "Linux 6.8.0 (synthetic)".to_owned(),
            cpu_model: "synthetic processor".to_owned(),
            cpus: 8,
            memory_bytes: 32 << 30,
            ..Environment::default()
        },
        rows,
        floor: floors(&mut state),
        placement: None,
        power_tests: None,
        lab_overhead_ns: Some(1_850.0),
        findings: Vec::new(),
        validity: Validity::sound(),
        need: Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

fn target() -> Target {
    let disk = Layer {
        model: Some("SYNTHETIC NV-1000".to_owned()),
        detail: Some("virtio".to_owned()),
        dev: Some("254:0".to_owned()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        write_cache: Some("write back".to_owned()),
        fua: Some(false),
        rotational: Some(false),
        size_bytes: Some(960 << 30),
        ..Layer::new(LayerKind::Disk, "vda")
    };
    let fs = Layer {
        mount_point: Some("/synthetic".to_owned()),
        source: Some("/dev/mapper/vg-redo".to_owned()),
        options: ["rw", "relatime", "attr2", "inode64", "logbufs=8"]
            .map(str::to_owned)
            .to_vec(),
        ..Layer::new(LayerKind::FileSystem, "xfs")
    };
    let dm = Layer {
        detail: Some("linear".to_owned()),
        ..Layer::new(LayerKind::DeviceMapper, "dm-0")
    };
    let part = Layer::new(LayerKind::Partition, "vda3");
    Target {
        kind: "file".to_owned(),
        path: "/synthetic/redo".to_owned(),
        stack: Stack {
            layers: vec![fs, dm, part, disk],
            depths: vec![0, 1, 2, 3],
            hypervisor: Some("KVM".to_owned()),
            preload: None,
            unknown: vec!["vda: the drive's own report of its write cache".to_owned()],
            ..Stack::default()
        },
        facts: TargetFacts::RedoLog(RedoLogFacts {
            sync_method: "direct".to_owned(),
            redo_block_bytes: 512,
            seal_bytes: 4096,
            log_groups: 4,
            log_file_bytes: 512 << 20,
            log_buffer_bytes: 64 << 20,
            huge_pages: true,
            unwritten_extents: Some(0),
            io: Some("threads".to_owned()),
            log_writer: Some("inline".to_owned()),
            log_writer_cpus: vec![0, 1],
            ..RedoLogFacts::default()
        }),
    }
}

/// What a store would hold: histograms of each interval, and some events.
fn data(run: &Run, state: &mut u64) -> ReportData {
    let mut data = ReportData::default();
    for (i, row) in run.rows.iter().enumerate() {
        for (k, interval) in row.intervals.iter().enumerate() {
            let start = (k as f64 * interval.seconds * 1e9) as u64;
            let end = start + (interval.seconds * 1e9) as u64;
            for (event, mean) in [
                ("log_file_sync", interval.log_file_sync_mean_ns),
                (
                    "log_file_parallel_write",
                    interval.log_file_parallel_write_mean_ns,
                ),
            ] {
                let h = histogram(state, mean.unwrap_or(0.0), 2_000);
                data.interval(&format!("{:02}-x/{event}", i + 1), start, end, &h);
            }
        }
    }
    data
}

/// A skewed sample around `scale`, with one in `rare` far out.
fn sample(state: &mut u64, scale: f64, rare: u64) -> u64 {
    let unit = |s: &mut u64| (split_mix(s) >> 11) as f64 / (1_u64 << 53) as f64;
    let normal: f64 = (0..6).map(|_| unit(state)).sum::<f64>() - 3.0;
    let tail = if split_mix(state).is_multiple_of(rare) {
        4.0 + 20.0 * unit(state)
    } else {
        1.0
    };
    (scale * (0.28 * normal).exp() * tail) as u64
}

fn histogram(state: &mut u64, scale: f64, n: u64) -> Histogram {
    let mut h = Histogram::new();
    (0..n).for_each(|_| h.record(sample(state, scale, 1500)));
    h
}

fn audit(needed: u64) -> FlushAudit {
    FlushAudit {
        status: AuditStatus::LowerBound,
        needed,
        counted: Some(needed + 31),
        nfs: None,
        note: "other processes wrote to the device".to_owned(),
    }
}

fn interval(i: u32, tps: f64, sync_ns: f64, floor: f64, s: &mut u64) -> Interval {
    let dip = if i == 7 { 0.8 } else { 1.0 };
    Interval {
        t_s: f64::from(i) / 2.0,
        seconds: 0.5,
        commits: (tps * 0.5 * dip * sample(s, 100.0, 9999) as f64 / 104.0) as u64,
        log_file_sync_mean_ns: Some(sync_ns / dip),
        log_file_sync_max_ns: Some(sample(s, sync_ns * 5.0, 12)),
        log_file_parallel_write_mean_ns: Some(floor),
        log_file_parallel_write_max_ns: Some(sample(s, floor * 4.0, 12)),
        log_switches: Some(u64::from(i == 7)),
        ..Interval::default()
    }
}

fn row(w: &Workload, jobs: u32, state: &mut u64) -> Row {
    let kb = f64::from(w.redo_bytes) / 1024.0;
    let floor = 95_000.0 + kb * 430.0;
    let group = f64::from(jobs).powf(0.72);
    let sync_ns = floor * (1.0 + f64::from(jobs) / group * 0.35);
    let bandwidth_tps = 1_400.0 * 1024.0 / kb;
    let free_tps = f64::from(jobs) / (sync_ns + 4_000.0) * 1e9;
    let tps = free_tps / (1.0 + (free_tps / bandwidth_tps).powi(4)).powf(0.25);
    let sync_ns = f64::from(jobs) / tps * 1e9 - 4_000.0;
    let commits = (tps * 10.0) as u64;
    let sync = histogram(state, sync_ns, commits.min(120_000));
    let write = histogram(state, floor, (commits as f64 / group) as u64 / 2 + 2_000);
    let redo = commits * u64::from(w.redo_bytes + 24);
    let per_s = |v: f64| v * tps;
    Row {
        workload: w.name.clone(),
        nodes: 1,
        jobs,
        commit_throughput_tps: Some(tps),
        commit_latency_ms: Some(f64::from(jobs) / tps * 1e3),
        redo_synch_writes_iops: Some(tps),
        log_file_sync_ms: Some(sync.mean() / 1e6),
        elapsed_s: Some(10.0),
        commits: Some(commits),
        elapsed_ns: Some(10_000_000_000),
        waits: BTreeMap::from([
            ("log_file_sync".to_owned(), sync.stats()),
            ("log_file_parallel_write".to_owned(), write.stats()),
        ]),
        curves: BTreeMap::from([("log_file_sync".to_owned(), sync.curve())]),
        commit_path: Some(CommitPathFigures {
            attributed: commits,
            queue_ns: sync.mean() - floor * 1.04,
            write_ns: floor * 0.45,
            flush_ns: floor * 0.5,
            wake_ns: floor * 0.09,
            ..CommitPathFigures::default()
        }),
        intervals: (1..=20)
            .map(|i| interval(i, tps, sync_ns, floor, state))
            .collect(),
        redo: Some(RedoFigures {
            redo_blocks_per_s: Some(per_s(kb * 2.1)),
            redo_writes_iops: Some(tps / group),
            redo_data_mbps: Some(per_s(kb / 1024.0)),
            redo_data_kb_per_txn: Some(kb),
            redo_size_bytes: Some(redo),
            commits_per_write: Some(CommitsPerWrite {
                mean: group,
                p50: group as u64,
                p99: u64::from(jobs),
            }),
            redo_wastage_bytes: Some((redo as f64 * 0.6 / group) as u64),
            flushes: Some((commits as f64 / group) as u64),
            log_switches: Some(1),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            device_writes: Some((commits as f64 / group) as u64),
            device_written_bytes: Some((redo as f64 * (1.02 + 0.6 / group)) as u64),
            device_util_pct: Some(97.0),
            flush_audit: Some(audit((commits as f64 / group) as u64)),
            background_write_pct: Some(0.4),
        }),
        processors: Some(processors(jobs, group)),
        ..Row::default()
    }
}

fn floors(state: &mut u64) -> Vec<FloorRow> {
    let mut out = Vec::new();
    for (method, flush) in [("direct", 58_000.0), ("dsync", 0.0), ("buffered", 90_000.0)] {
        for bytes in [4096_u64, 65_536, 1 << 20] {
            for pre_written in [true, false] {
                let extra = if pre_written { 1.0 } else { 2.1 };
                let mean = (102_000.0 + bytes as f64 * 0.4) * extra;
                let latency = histogram(state, mean, 20_000);
                out.push(FloorRow {
                    sync_method: method.to_owned(),
                    pre_written,
                    write_bytes: bytes,
                    writes_per_s: 1e9 / latency.mean(),
                    write_mean_ns: latency.mean() - flush * extra,
                    flush_mean_ns: flush * extra,
                    latency: latency.stats(),
                });
            }
        }
    }
    out
}

fn processors(jobs: u32, group: f64) -> ProcessorFigures {
    ProcessorFigures {
        cpu_busy_pct: Some(6.0 + 0.7 * f64::from(jobs)),
        cpu_user_pct: Some(2.0 + 0.4 * f64::from(jobs)),
        cpu_sys_pct: Some(4.0 + 0.3 * f64::from(jobs)),
        cpu_idle_pct: Some(92.0 - 0.8 * f64::from(jobs)),
        cpu_iowait_pct: Some(2.0),
        cpu_us_per_commit: Some(9.0 / group + 4.0),
        context_switches_per_commit: Some(1.9),
    }
}
