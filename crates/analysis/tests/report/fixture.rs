//! Runs of every kind of figure, for the tests of the report.

use analysis::report::data::{ReportData, RowEvents, SizeLine, SizePoint, SizeSweepLines};
use analysis::report::sample::{EventSample, SampledEvent};
use analysis::{Thresholds, findings, report, verdict};
use measure::Histogram;
use measure::judgement::{Need, Scope};
use measure::run::*;
use measure::stack::{ControllerCache, Declaration, Layer, LayerKind, Protection, Stack};
use std::collections::BTreeMap;

pub fn stats(mean_ns: f64) -> WaitStats {
    WaitStats {
        count: 10_000,
        total_ns: (mean_ns * 1e4) as u64,
        mean_ns,
        min_ns: 1000,
        p50_ns: Some(mean_ns as u64),
        p99_ns: Some(mean_ns as u64 * 3),
        max_ns: mean_ns as u64 * 60,
        over_1ms_pct: 99.99,
        ..WaitStats::default()
    }
}

/// The floor by processor; the unpinned thread is as slow as processor 0.
pub fn placement(text: &str) -> PlacementFigures {
    let place = |(cpu, ns): (Option<u32>, u64)| PlaceFigures {
        cpu,
        numa_node: cpu.map(|_| 0),
        latency: stats(ns as f64),
        round_p50_ns: (0..16).map(|round| ns + 100 * (round % 3)).collect(),
        interrupts: Some(vec![ProcessorInterrupts { cpu: 1, count: 900 }]),
        run_queue_pct: Some(0.2),
    };
    let places = [(None, 205_000), (Some(0), 205_000), (Some(1), 110_000)];
    PlacementFigures {
        sync_method: text.to_owned(),
        write_bytes: 4096,
        allowed_cpus: 2,
        places: places.into_iter().map(place).collect(),
    }
}

fn slow_log_writes() -> SlowLogWrites {
    SlowLogWrites {
        threshold_ns: 500_000_000,
        dropped: 2,
        writes: vec![SlowLogWrite {
            at_utc_ns: 1_394_360_855_000_000_000,
            size_bytes: 4096,
            took_ns: 780_000_000,
            member: Some(0),
        }],
    }
}

pub fn row(workload: &str, jobs: u32, seconds: u64, text: &str) -> Row {
    let interval = |i| Interval {
        t_s: i as f64,
        seconds: 1.0,
        commits: 900 + i,
        log_file_sync_mean_ns: Some(2e5),
        log_file_sync_max_ns: Some(3_000_000 + i),
        log_file_parallel_write_max_ns: Some(2_000_000 + i),
        ..Interval::default()
    };
    Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs,
        commit_throughput_tps: Some(1000.0 * f64::from(jobs)),
        commit_latency_ms: Some(1.0),
        log_file_sync_ms: Some(0.2),
        elapsed_s: Some(seconds as f64),
        elapsed_ns: Some(seconds * 1_000_000_000),
        commits: Some(10_000),
        waits: BTreeMap::from([
            ("log_file_sync".to_owned(), stats(2e5)),
            ("log_file_parallel_write".to_owned(), stats(1e5)),
            (text.to_owned(), stats(1e5)),
        ]),
        curves: BTreeMap::from([(
            "log_file_sync".to_owned(),
            vec![
                (0.0, 1000),
                (50.0, 200_000),
                (99.9, 900_000),
                (100.0, 5_000_000),
            ],
        )]),
        commit_path: Some(CommitPathFigures {
            attributed: 5,
            queue_ns: 1e4,
            write_ns: 1e5,
            flush_ns: 5e4,
            wake_ns: 1e4,
            ..CommitPathFigures::default()
        }),
        intervals: (1..=seconds).map(interval).collect(),
        redo: Some(RedoFigures {
            redo_data_mbps: Some(10.0),
            log_writer_switches: Some(2),
            workers: vec![Worker {
                name: text.to_owned(),
                log_file_parallel_write: stats(1e5),
                ..Worker::default()
            }],
            log_write_warnings: Some(3),
            slow_log_writes: Some(slow_log_writes()),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            flush_audit: Some(FlushAudit {
                status: AuditStatus::Missing,
                needed: 7,
                counted: Some(3),
                nfs: None,
                note: text.to_owned(),
            }),
            background_write_pct: Some(99.99),
            ..DeviceFigures::default()
        }),
        ..Row::default()
    }
}

/// A stack of every kind of layer.
pub fn stack_of(text: &str) -> Stack {
    let some = || Some(text.to_owned());
    let layer = |kind| Layer {
        dev: some(),
        mount_point: some(),
        source: some(),
        options: vec![text.to_owned(), text.to_owned()],
        backing: some(),
        detail: some(),
        model: some(),
        write_cache: some(),
        integrity: some(),
        logical_block_bytes: Some(512),
        ..Layer::new(kind, text)
    };
    use LayerKind as K;
    let kinds = [
        K::Overlay,
        K::FileSystem,
        K::MemoryFileSystem,
        K::NetworkFileSystem,
        K::FuseFileSystem,
        K::Luks,
        K::DeviceMapper,
        K::Md,
        K::Loop,
        K::Zram,
        K::RamDisk,
        K::Partition,
        K::Disk,
    ];
    Stack {
        layers: kinds.map(layer).to_vec(),
        depths: vec![0; kinds.len()],
        hypervisor: some(),
        preload: some(),
        unknown: vec![text.to_owned()],
        controllers: vec![ControllerCache {
            name: text.to_owned(),
            protection: some(),
            ..ControllerCache::default()
        }],
        declared: vec![Declaration {
            protection: Protection::Plp,
            basis: text.to_owned(),
        }],
    }
}

/// A run in which every text is `text`.
pub fn run_of(text: &str) -> Run {
    let s = || text.to_owned();
    let some = || Some(text.to_owned());
    let mut validity = Validity::sound();
    validity.add(text, true, text);
    let floor = FloorRow {
        sync_method: s(),
        pre_written: true,
        write_bytes: 4096,
        writes_per_s: 1e4,
        latency: stats(1e5),
        write_mean_ns: 5e4,
        flush_mean_ns: 5e4,
    };
    Run {
        schema: s(),
        run_id: s(),
        created: s(),
        origin: Origin::Measured,
        redolab_version: s(),
        notes: measure::run::RunNotes::default(),
        command: vec![s(), s()],
        target: Target {
            kind: s(),
            path: s(),
            stack: stack_of(text),
            facts: TargetFacts::RedoLog(RedoLogFacts {
                sync_method: s(),
                redo_block_bytes: 512,
                io: Some(s()),
                probe: vec![ProbeRow {
                    sync_method: s(),
                    io: s(),
                    refused: some(),
                    ..ProbeRow::default()
                }],
                fallbacks: vec![s()],
                log_writer: Some(s()),
                log_writer_cpus: vec![0, 1],
                ..RedoLogFacts::default()
            }),
        },
        workload: WorkloadInfo::Redo(RedoWorkload {
            names: vec![s()],
            ..RedoWorkload::default()
        }),
        environment: Environment {
            kernel: s(),
            cpu_model: s(),
            hostname: s(),
            governor: some(),
            ..Environment::default()
        },
        rows: vec![
            row(text, 1, 5, text),
            row(text, 8, 5, text),
            row("LGWR-LAT1", 8, 5, text),
        ],
        floor: vec![floor],
        placement: Some(placement(text)),
        power_tests: None,
        lab_overhead_ns: Some(2000.0),
        findings: Vec::new(),
        validity,
        need: Need::default(),
        verdict: None,
        report: some(),
        diagnostics: Vec::new(),
        imported: None,
    }
}

pub fn judged(mut run: Run) -> Run {
    let found = findings(&run, &Thresholds::default());
    let scope = Scope {
        not_judged: vec![run.run_id.clone()],
        ..Scope::default()
    };
    run.verdict = Some(verdict(&run, &found, &run.need, scope));
    run.findings = found;
    run
}

/// The report of a run, with everything that a store can hold beside it.
pub fn page(run: &Run) -> String {
    report::html(run, &data_of(run))
}

/// Histograms, events and a size sweep for the rows of `run`, with its own text in their names.
pub fn data_of(run: &Run) -> ReportData {
    let mut data = ReportData::default();
    for (i, row) in run.rows.iter().enumerate() {
        for (k, interval) in row.intervals.iter().take(20).enumerate() {
            let mut h = Histogram::new();
            for n in 0..40 {
                h.record(interval.log_file_sync_max_ns.expect("known") / (1 + n));
            }
            let (start, end) = (k as u64 * 1_000_000_000, (k as u64 + 1) * 1_000_000_000);
            for event in ["log_file_sync", "log_file_parallel_write"] {
                data.interval(&format!("{:02}-x/{event}", i + 1), start, end, &h);
            }
        }
        let mut sample = EventSample::default();
        for n in 0..50 {
            sample.add(SampledEvent {
                at: n * 1_000_000,
                ns: 90_000 + n,
                bytes: Some(512 << (n % 4)),
            });
        }
        data.events.push(RowEvents {
            row: i,
            event: run.run_id.clone(),
            has_time: true,
            sample,
        });
    }
    let point = |redo_bytes: u64| SizePoint {
        redo_bytes,
        mean_ns: 1e5 + redo_bytes as f64,
        p99_ns: Some(300_000 + redo_bytes),
        count: 1000,
    };
    let line = |name: &str| SizeLine {
        name: name.to_owned(),
        points: [4096, 65_536, 1 << 20].map(point).to_vec(),
    };
    data.size_sweep = Some(SizeSweepLines {
        lines: vec![line(&run.run_id), line(&run.target.path)],
        break_at: Some([1 << 20, 2 << 20]),
        found: run.run_id.clone(),
    });
    data
}

pub fn payloads() -> Vec<String> {
    let mut out: Vec<String> = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title><script>x</script>",
        "</style><svg onload=alert(1)>",
        "]]><script>x</script>",
        "<!--",
        "--><b>",
        "&#x3c;script&#x3e;",
        "&lt;script&gt;",
        "&",
        "javascript:alert(1)",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<iframe srcdoc='<b>'>",
        "<base href=//evil>",
        "<meta http-equiv=refresh content=0>",
        "<link rel=stylesheet href=//evil>",
        "</code></pre><h1>x",
        "</desc></svg><img src=x>",
        "`;alert(1)//",
        "${7*7}",
        "{{7*7}}",
        "\u{1b}[31mred\u{1b}[0m<b>",
        "\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}",
        "\u{0}<script>",
        "\u{202e}gnp.exe",
        "a\u{2028}b\u{2029}c",
        "\u{ff1c}script\u{ff1e}",
        "=cmd|' /C calc'!A0",
        "x\u{9b}31m",
    ]
    .map(str::to_owned)
    .to_vec();
    out.push("<b>".repeat(50_000));
    out
}

/// A run of evidence that has `text` in every place that a file can fill.
pub fn evidence_of(text: &str) -> Run {
    use measure::imported::{
        Axis, Cell, Column, Diagnostic, Imported, Series, SeriesPoint, Severity, Source, Table,
    };
    let some = || text.to_owned();
    let mut run = run_of(text);
    run.origin = Origin::Imported;
    run.rows.truncate(1);
    run.diagnostics = vec![Diagnostic {
        severity: Severity::Warning,
        id: some(),
        file: some(),
        line: Some(1),
        column: Some(1),
        detail: some(),
        count: 1,
    }];
    run.imported = Some(Imported {
        log_device: None,
        sources: vec![Source {
            file: some(),
            kind: some(),
            packing: some(),
            facts: vec![(some(), some())],
            ..Source::default()
        }],
        tables: vec![Table {
            id: some(),
            title: some(),
            file: some(),
            columns: vec![Column {
                key: some(),
                heading: some(),
            }],
            rows: vec![vec![Cell::Text(some())]; 3],
            ..Table::default()
        }],
        series: vec![Series {
            row: 0,
            event: some(),
            axis: Axis::Sequence,
            width: 1.0,
            distribution: None,
            points: vec![SeriesPoint {
                at: 1.0,
                count: 1,
                mean_ns: 5.0,
                max_ns: 5,
                blocks: 1,
            }],
        }],
    });
    run
}

/// Tags by name, attributes included: what a parser would see as structure.
pub fn structure(html: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    let body = html.split("<body>").nth(1).expect("the report has a body");
    for tag in body.split('<').skip(1) {
        let name: String = tag.chars().take_while(|c| !" >\n".contains(*c)).collect();
        *out.entry(name).or_insert(0) += 1;
    }
    out
}
