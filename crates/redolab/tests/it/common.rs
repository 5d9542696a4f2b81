//! A run in which every field of every structure is filled, for the tests of formats.

use measure::Histogram;
use measure::imported::{
    Axis, Cell, Column, Diagnostic, Imported, Series, SeriesPoint, Severity, Source, SourceRegion,
    Table,
};
use measure::judgement::{
    Answer, Confidence, Durability, Finding, Need, NeedQuantity, NeedSource, Performance,
    ProductionWait, Scope, Verdict, Weight,
};
use measure::origin::{CellOrigin, Derivation, RowOrigin, ScaledSpan, TextSpan};
use measure::power_test::{
    CutKind, LossClass, OtherStackSeries, PowerTestEvidence, PowerTestSeries, StackFingerprint,
};
use measure::run::{
    AuditStatus, CapturedEvents, CommitPathFigures, CommitsPerWrite, ConsistencyCondition,
    DeviceFigures, Environment, FloorRow, FlushAudit, Interval, LearningFigures, MemberFacts,
    NfsRequests, NodeFigures, OpenLoopFigures, Origin, PlaceFigures, PlacementFigures,
    ProcessorFigures, ProcessorInterrupts, RecordedSyncSwitch, RedoFigures, RedoLogFacts,
    RedoWorkload, Row, RowCondition, Run, SCHEMA, ServerFigures, SlowLogWrite, SlowLogWrites,
    StripeFacts, Target, TargetFacts, TprocCDetail, TprocCFigures, Validity, WaitParts,
    WatchedFigures, WatchedLayers, Worker, WorkloadInfo,
};
use measure::stack::{ControllerCache, Declaration, Layer, LayerKind, Protection, Stack};
use measure::workload::CommitMode;

/// A histogram of `n` pseudo-random values around 100 µs with a tail, from a seed.
pub fn histogram(seed: u64, n: u64) -> Histogram {
    let mut state = seed;
    let mut h = Histogram::new();
    for _ in 0..n {
        let word = measure::workload::split_mix(&mut state);
        let tail = if word & 0x3ff == 0 { word >> 34 } else { 0 };
        h.record(90_000 + (word >> 20) % 30_000 + tail);
    }
    h
}

fn power_tests() -> PowerTestEvidence {
    let stack = |method| {
        let layers = Stack {
            layers: vec![layer()],
            depths: vec![0],
            ..Stack::default()
        };
        StackFingerprint::of(&layers, Some(method))
    };
    let series = |method| PowerTestSeries {
        stack: stack(method),
        kinds: vec![CutKind::HostPower, CutKind::GuestReset],
        cuts: 5,
        other_cuts: 1,
        by_word: Some(1),
        acknowledgements: 600,
        acknowledgements_of_cuts: 500,
        lost: 2,
        refuted_cuts: 1,
        classes: vec![LossClass::TornSector],
        last: "2026-11-24T10:05:00.000Z".to_owned(),
        hypervisor: Some("KVM".to_owned()),
    };
    PowerTestEvidence {
        same: Some(series("direct")),
        others: vec![OtherStackSeries {
            changes: stack("direct").changes_from(&stack("dsync")),
            series: series("dsync"),
        }],
    }
}

fn layer() -> Layer {
    let text = |s: &str| Some(s.to_owned());
    Layer {
        kind: LayerKind::Disk,
        name: "vda".to_owned(),
        dev: text("254:0"),
        mount_point: text("/"),
        source: text("/dev/vda"),
        options: vec!["rw".to_owned()],
        backing: text("/x"),
        detail: text("virtio"),
        model: text("m"),
        vendor: text("v"),
        firmware: text("f"),
        serial: text("S1"),
        wwid: text("eui.1"),
        controller: text("ahci"),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        atomic_write_bytes: Some(4096),
        start_bytes: Some(1 << 20),
        write_cache: text("write back"),
        cache_type: text("write back"),
        drive_write_cache: Some(true),
        fua: Some(false),
        rotational: Some(false),
        integrity: text("none"),
        size_bytes: Some(1 << 40),
        copy_on_write: Some(false),
    }
}

fn diagnostic() -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        id: "trace.cut_line".to_owned(),
        file: "lg00.trc".to_owned(),
        line: Some(3),
        column: Some(7),
        detail: "d".to_owned(),
        count: 2,
    }
}

fn origin() -> RowOrigin {
    let span = TextSpan {
        line: 1,
        column: 2,
        length: 3,
    };
    RowOrigin {
        file: "lg00.trc".to_owned(),
        lines: (1, 2),
        cells: vec![
            CellOrigin::Read(span),
            CellOrigin::Derived(Box::new(Derivation {
                formula: 0,
                inputs: vec![span.into(), "process".into()],
            })),
            CellOrigin::Scaled(Box::new(ScaledSpan {
                span,
                factor: 0.001,
            })),
        ],
    }
}

fn imported() -> Imported {
    let column = |key: &str| Column {
        key: key.to_owned(),
        heading: "h".to_owned(),
    };
    Imported {
        log_device: None,
        sources: vec![Source {
            file: "lg00.trc".to_owned(),
            kind: "oracle-trace".to_owned(),
            packing: "gzip".to_owned(),
            bytes: 10,
            lines: 1,
            facts: vec![("Release".to_owned(), "6".to_owned())],
            regions: vec![SourceRegion {
                first: 1,
                last: 2,
                read_as: "worker_latency".to_owned(),
                passed_over: "prose".to_owned(),
            }],
        }],
        tables: vec![Table {
            id: "worker_latency".to_owned(),
            title: "t".to_owned(),
            file: "lg00.trc".to_owned(),
            line: Some(1),
            columns: vec![column("process"), column("waits"), column("max_ms")],
            rows: vec![vec![
                Cell::Text("LG00".to_owned()),
                Cell::Count(u64::MAX),
                Cell::Real(13.0),
            ]],
            origins: vec![origin()],
            formulas: vec!["count of the lines".to_owned()],
        }],
        series: vec![Series {
            row: 0,
            event: "log_file_sync".to_owned(),
            axis: Axis::Time,
            width: 0.5,
            distribution: None,
            points: vec![SeriesPoint {
                at: 1.0,
                count: 2,
                mean_ns: 1.5,
                max_ns: 2,
                blocks: 3,
            }],
        }],
    }
}

fn finding() -> Finding {
    Finding {
        id: "stack.volatile".to_owned(),
        weight: Weight::Caution,
        claim: "c".to_owned(),
        numbers: vec![("p99_ns".to_owned(), 1.5)],
        threshold: "t".to_owned(),
        source: "s".to_owned(),
        confidence: Confidence::Low,
        advice: "a".to_owned(),
    }
}

fn verdict() -> Verdict {
    Verdict {
        answer: Answer::Conditional,
        durability: Durability::Unverified,
        performance: Performance::NoNeedStated,
        scope: Scope {
            seconds: 120.0,
            bytes_written: 1 << 33,
            log_footprint_bytes: 1 << 30,
            cache_resident: true,
            not_judged: vec!["power loss".to_owned()],
            watched: true,
        },
        reasons: vec![finding()],
        summary: "s".to_owned(),
        durability_basis: Some("b".to_owned()),
        loss_per_cut_below: Some(0.1),
    }
}

fn watched(h: &Histogram) -> WatchedFigures {
    WatchedFigures {
        log_writes: Some(9),
        write_calls: Some(12),
        written_bytes: Some(98_304),
        device_bytes: Some(102_400),
        device_requests: Some(13),
        bytes_per_write: Some(10_922.7),
        commits_per_write: Some(3.5),
        write_call: Some(h.stats()),
        flush: Some(h.stats()),
        size_bytes: Some(h.stats()),
        between_writes: Some(h.stats()),
        device_write: Some(h.stats()),
        device_flush: Some(h.stats()),
        layers: Some(WatchedLayers {
            log_writes: 9,
            device_write_ns: 300.5,
            device_flush_ns: 500.0,
            file_system_ns: 20.25,
        }),
        other_flushes: Some(1),
        left_out_writes: Some(2),
        filled_bytes: Some(1 << 24),
        not_flushed: Some(0),
        unflushed_ns: Some(3_000_000),
        writing_commits: Some(30),
        sessions: Some(4),
        server_writes: Some(12),
        server_flushes: Some(9),
        events: Some(90),
        lost_events: Some(0),
        notes: vec!["a note".to_owned()],
    }
}

/// A row whose log file sync is `h`.
#[expect(clippy::too_many_lines, reason = "a whole run, field by field")]
pub fn row(h: &Histogram) -> Row {
    Row {
        workload: "LGWR-LAT1".to_owned(),
        nodes: 1,
        jobs: 64,
        threads: Some(2),
        commit_throughput_tps: Some(9_341.123_456_789),
        commit_latency_ms: Some(0.107),
        redo_synch_writes_iops: Some(1e3),
        log_file_sync_ms: Some(h.mean() / 1e6),
        elapsed_s: Some(30.000_000_001),
        commits: Some(h.count()),
        elapsed_ns: Some(30_000_000_001),
        waits: [("log_file_sync".to_owned(), h.stats())].into(),
        commit_latency: Some(h.stats()),
        curves: [("log_file_sync".to_owned(), h.curve())].into(),
        session_time: Some(measure::run::SessionTime {
            beyond_ns: -5,
            lab_ns: 6,
        }),
        cross_check: Some(cross_check()),
        commit_path: Some(CommitPathFigures {
            attributed: 5,
            queue_ns: 1.0,
            write_ns: 2.0,
            flush_ns: 3.0,
            wake_ns: 4.0,
            parts: Some(WaitParts {
                commits: 3,
                io_ns: 1.0,
                group_commit_ns: 2.0,
                cpu_ns: 3.0,
                log_writer_ns: 4.0,
            }),
            run_queue_ns: Some(0.25),
        }),
        redo_bytes_per_txn: Some(1997),
        records_per_txn: Some(1),
        commits_per_session: Some(9),
        sessions: vec![measure::run::SessionFigures {
            session: 3,
            commits: 9,
            elapsed_ns: 10,
            mean_ns: 1.5,
            max_ns: 4,
        }],
        soak: true,
        intervals: vec![Interval {
            rss_bytes: Some(1 << 24),
            backlog: Some(5),
            redo_bytes: Some(6),
            written_bytes: Some(12),
            log_writes: Some(13),
            log_file_sync_mean_ns: Some(7.0),
            log_file_sync_p99_ns: Some(1),
            log_file_sync_max_ns: Some(8),
            log_file_parallel_write_mean_ns: Some(9.0),
            log_file_parallel_write_max_ns: Some(10),
            log_switches: Some(11),
            device_util_pct: Some(2.0),
            ..Interval::default()
        }],
        by_node: vec![NodeFigures {
            node: 1,
            jobs: 64,
            commits: 5,
            commit_throughput_tps: 1.25,
            commit_latency: h.stats(),
            log_file_sync: Some(h.stats()),
            redo_size_bytes: 6,
            redo_data_mbps: 0.5,
            log_file_parallel_write: h.stats(),
            flushes: 7,
            log_switches: 8,
        }],
        events: Some(CapturedEvents {
            log_file_syncs: 8,
            log_file_parallel_writes: 3,
            lost: 0,
        }),
        condition: Some(RowCondition {
            commit_write: "wait-immediate".to_owned(),
            log_file_sync: "adaptive".to_owned(),
            busy_threads: 4,
            round: 2,
        }),
        redo: Some(RedoFigures {
            redo_blocks_per_s: Some(1e4),
            redo_writes_iops: Some(1e3),
            redo_data_mbps: Some(0.1 + 0.2),
            redo_data_kb_per_txn: Some(1.95),
            flash_cache_write_pct: Some(92.63),
            redo_size_bytes: Some(u64::from(u32::MAX) * 7),
            commits_per_write: Some(CommitsPerWrite {
                mean: 13.7,
                p50: 12,
                p99: 40,
            }),
            redo_wastage_bytes: Some(1),
            nowait_window_bytes: Some(4096),
            nowait_window_ms: Some(1.5),
            flushes: Some(2),
            log_switches: Some(3),
            log_writer_switches: Some(9),
            workers: vec![Worker {
                name: "LG00".to_owned(),
                log_file_parallel_write: h.stats(),
                operations: 10,
                idle_count: 11,
                idle_ns: 12,
            }],
            log_write_warnings: Some(4),
            slow_log_writes: Some(SlowLogWrites {
                threshold_ns: 500_000_000,
                dropped: 3,
                writes: vec![SlowLogWrite {
                    at_utc_ns: 1_394_360_000_123_456_789,
                    size_bytes: 4096,
                    took_ns: 780_000_001,
                    member: Some(1),
                }],
            }),
        }),
        device: Some(DeviceFigures {
            device_writes: Some(4),
            device_written_bytes: Some(5),
            device_util_pct: Some(6.0),
            flush_audit: Some(FlushAudit {
                status: AuditStatus::LowerBound,
                needed: 1,
                counted: Some(2),
                nfs: Some(NfsRequests {
                    writes: 3,
                    commits: 4,
                }),
                note: "n".to_owned(),
            }),
            background_write_pct: Some(0.5),
        }),
        processors: Some(ProcessorFigures {
            cpu_busy_pct: Some(1.0 / 3.0),
            cpu_user_pct: Some(0.1),
            cpu_sys_pct: Some(0.2),
            cpu_idle_pct: Some(90.0),
            cpu_iowait_pct: Some(5.0),
            cpu_us_per_commit: Some(7.0),
            context_switches_per_commit: Some(8.0),
        }),
        open_loop: Some(OpenLoopFigures {
            offered_tps: Some(5000.0),
            backlog_end: Some(17),
            lateness_ms: Some(0.02),
            detail: Some(measure::run::OpenLoop {
                arrivals: 100,
                not_served: 3,
                oldest_not_served_ns: Some(5),
                backlog_max: 20,
                queue: h.stats(),
                lateness: h.stats(),
                lateness_pct: 1.5,
                lab_busy_pct: Some(2.5),
            }),
        }),
        learning: Some(LearningFigures {
            log_file_sync_switches: Some(1),
            log_file_sync_polled_pct: Some(50.0),
            log_file_sync_switch_log: vec![RecordedSyncSwitch {
                t_s: 1.5,
                to: "polling".to_owned(),
                left_per_s: 1e4,
                taken_per_s: 2e4,
            }],
        }),
        server: Some(server()),
        log_life: Some(measure::run::LogLifeFigures {
            data_blocks_written: Some(81),
            data_written_mbps: Some(0.5),
            log_checkpoints: Some(3),
            archived_files: Some(2),
            archived_bytes: Some(1 << 20),
            neighbour_fsyncs: Some(9),
            neighbour_fsync_p50_us: Some(120.5),
            neighbour_fsync_p99_us: Some(800.0),
            neighbour_fsync_max_us: Some(900.0),
        }),
        watched: Some(watched(h)),
        tproc_c: Some(TprocCFigures {
            nopm: Some(21_995.0),
            tpm: Some(50_323.0),
            detail: Some(TprocCDetail {
                warehouses: 1,
                think: true,
                counted_ns: 60_000_000_000,
                new_orders: Some(21_995),
                transactions: Some(50_323),
                rolled_back: 220,
                retries: 1,
                latencies: [("new-order".to_owned(), h.stats())].into(),
                conditions: vec![ConsistencyCondition {
                    name: "w_ytd = sum(d_ytd)".to_owned(),
                    checked: 1,
                    violated: 1,
                    first_violation: Some("f".to_owned()),
                }],
            }),
        }),
    }
}

/// What a server counted, every field filled.
fn server() -> ServerFigures {
    ServerFigures {
        observed_s: Some(1.5),
        commits: Some(100),
        redo_lsn_bytes: Some(200_000),
        wal_bytes: Some(199_000),
        records: Some(200),
        full_page_images: Some(0),
        writes: Some(101),
        written_bytes: Some(1_000_000),
        written_is_computed: Some(false),
        initialized_bytes: Some(16 << 20),
        write_ns: Some(1_000_000),
        write_ms: Some(0.1),
        syncs: Some(100),
        sync_ns: Some(50_000_000),
        sync_ms: Some(0.5),
        buffers_full: Some(1),
        checkpoints: Some(2),
        device_writes: Some(120),
        device_written_bytes: Some(1_100_000),
        device_flushes: Some(103),
        redo_per_commit_bytes: Some(2_000.0),
        written_per_commit_bytes: Some(1e4),
        device_per_commit_bytes: Some(1.1e4),
        writes_per_commit: Some(1.01),
        syncs_per_commit: Some(1.0),
        device_flushes_per_commit: Some(1.03),
        written_per_redo: Some(5.0),
        device_per_redo: Some(5.5),
        waits: Some(measure::run::ServerWaits {
            readings: 50,
            readings_per_s: 49.5,
            query_ms: Some(0.2),
            sessions: [("IO:WalSync".to_owned(), 40)].into(),
        }),
        notes: vec!["n".to_owned()],
    }
}

/// A run of one row, every field filled.
#[expect(clippy::too_many_lines, reason = "a whole run, field by field")]
pub fn full_run(id: &str, h: &Histogram) -> Run {
    let mut validity = Validity::sound();
    validity.add("background", false, "others wrote 3 %");
    validity.shortened.push("row 1 ended early".to_owned());
    Run {
        schema: SCHEMA.to_owned(),
        run_id: id.to_owned(),
        created: "2026-11-20T10:15:00.000Z".to_owned(),
        origin: Origin::Measured,
        redolab_version: "0.1.0".to_owned(),
        notes: measure::run::RunNotes {
            label: Some("gp3".to_owned()),
            tags: [("volume".to_owned(), "gp3".to_owned())].into(),
        },
        command: vec!["redolab".to_owned(), "check".to_owned()],
        target: Target {
            kind: "file".to_owned(),
            path: "/redo".to_owned(),
            stack: Stack {
                layers: vec![layer(), Layer::new(LayerKind::FileSystem, "ext4")],
                depths: vec![0, 1],
                hypervisor: Some("kvm".to_owned()),
                preload: Some("libeatmydata.so".to_owned()),
                unknown: vec!["u".to_owned()],
                controllers: vec![ControllerCache {
                    name: "storcli: n".to_owned(),
                    protection: Some("Optimal".to_owned()),
                    protected: Some(true),
                    cache_bytes: Some(8 << 30),
                    forced_write_back: Some(false),
                    write_through: Some(false),
                    drive_caches: Some(false),
                }],
                declared: vec![Declaration {
                    protection: Protection::Plp,
                    basis: "b".to_owned(),
                }],
            },
            facts: TargetFacts::RedoLog(RedoLogFacts {
                unwritten_extents: Some(0),
                io: Some("io_uring".to_owned()),
                io_depth: Some(4),
                log_writer: Some("workers=2".to_owned()),
                log_writer_cpus: vec![1],
                log_file_sync: Some("polling".to_owned()),
                flush_triggers: Some("commit,third".to_owned()),
                probe: vec![measure::run::ProbeRow {
                    sync_method: "direct".to_owned(),
                    io: "io_uring".to_owned(),
                    write_bytes: 4096,
                    writes: 60,
                    p50_ns: Some(90_000),
                    mean_ns: Some(91_000.5),
                    refused: Some("r".to_owned()),
                    chosen: true,
                }],
                fallbacks: vec!["f".to_owned()],
                stripe: Some(StripeFacts {
                    width_bytes: 128 << 10,
                    directories: vec!["/u01".to_owned(), "/u02".to_owned()],
                }),
                members: vec![MemberFacts {
                    directory: "/u04".to_owned(),
                    cell: 1,
                    in_sync: true,
                    log_writes: 9,
                    first: 5,
                    margin_ns: 1,
                    longest_ns: 2,
                    outliers: 3,
                    outliers_of_all: 1,
                    window_bytes: 4096,
                    window_ns: 7,
                }],
                ring: Some(Box::new(measure::run::RingFacts {
                    kind: measure::run::RingFactsKind::Failover,
                    disk_directory: "/u05".to_owned(),
                    directory: "/f05".to_owned(),
                    delay_ns: Some(20_000_000),
                    ring_bytes: 64 << 20,
                    in_use: true,
                    log_writes: 9,
                    ring_writes: 5,
                    flushes: 9,
                    first: 4,
                    skip_busy: 3,
                    skip_large: 2,
                    over_budget: true,
                    lag_bytes: 1,
                    most_lag_bytes: 4096,
                })),
                node_directories: vec!["/u03".to_owned()],
                ..RedoLogFacts::default()
            }),
        },
        workload: WorkloadInfo::Redo(RedoWorkload {
            names: vec!["LGWR-LAT1".to_owned()],
            jobs: vec![64],
            time_s: Some(30.0),
            commits: Some(9),
            commit_write: [("LGWR-LAT1".to_owned(), CommitMode::WAIT_BATCH)].into(),
            commit_api: Some("async".to_owned()),
            arrivals: measure::workload::arrivals::Arrivals::new(
                5000.0,
                measure::workload::arrivals::Process::Poisson,
                "5@1s".parse().ok(),
            )
            .ok(),
            soak_s: Some(60.0),
            payload: Some(measure::run::PayloadInfo {
                compressibility: 2.0,
                dedupe: 1.0,
                measured_compressibility: 1.97,
                measured_dedupe: 1.0,
                compressor: "deflate".to_owned(),
                sample_bytes: 1 << 22,
            }),
            size_sweep: Some(measure::run::SizeSweep {
                sizes_bytes: vec![1024, 2048],
                flush_threshold_bytes: Some(1 << 20),
                buffer_third_bytes: Some(5_592_405),
                redo_block_bytes: 4096,
                archiving: false,
                smart_flash_logging: false,
            }),
            tproc_c: Some(measure::workload::TprocC { think: true }),
            ..RedoWorkload::default()
        }),
        environment: Environment {
            governor: Some("performance".to_owned()),
            ..Environment::default()
        },
        rows: vec![row(h)],
        floor: vec![FloorRow {
            sync_method: "direct".to_owned(),
            pre_written: true,
            write_bytes: 4096,
            writes_per_s: 1e4,
            latency: h.stats(),
            write_mean_ns: 1.0,
            flush_mean_ns: 2.0,
        }],
        placement: Some(PlacementFigures {
            sync_method: "direct".to_owned(),
            write_bytes: 4096,
            allowed_cpus: 2,
            places: vec![PlaceFigures {
                cpu: Some(1),
                numa_node: Some(0),
                latency: histogram(1, 110_000).stats(),
                round_p50_ns: vec![110_000, 111_000],
                interrupts: Some(vec![ProcessorInterrupts { cpu: 1, count: 7 }]),
                run_queue_pct: Some(0.5),
            }],
        }),
        power_tests: Some(power_tests()),
        lab_overhead_ns: Some(900.5),
        findings: vec![finding()],
        validity,
        need: Need {
            commit_rate: Some(1.0),
            redo_bytes_per_s: Some(2.0),
            p99_ns: Some(3),
            rated_bytes: Some(6e14),
            years: Some(5.0),
            sessions: Some(64),
            sources: vec![NeedSource {
                quantity: NeedQuantity::RedoRate,
                place: "awr.txt, load profile: Redo size".to_owned(),
            }],
            production: vec![ProductionWait {
                event: "log_file_sync".to_owned(),
                mean_ns: Some(17_100_000.5),
                p50_ns: Some([8_000_000, 16_000_000]),
                p99_ns: Some([32_000_000, 64_000_000]),
                p999_ns: Some([64_000_000, 128_000_000]),
                is_target: false,
                place: "awr.txt:28, 76,800 waits".to_owned(),
            }],
        },
        verdict: Some(verdict()),
        report: Some("r.html".to_owned()),
        diagnostics: vec![diagnostic()],
        imported: Some(imported()),
    }
}

fn cross_check() -> measure::run::CrossCheck {
    measure::run::CrossCheck {
        log_commits: 1,
        uncertain_commits: 2,
        window_ns: 3,
        uncertain_ns: 4,
        sampled: 5,
        sampled_ns: 6,
        sampled_recorded_ns: 7,
        sampled_error_ns: Some(14),
        edges_ns: -8,
        outside_ns: 9,
        log_bytes: 10,
        session_bytes: 11,
        miscounted: 12,
        worst: Some(measure::run::SessionCount {
            session: 13,
            own: 14,
            by_log: 15,
        }),
    }
}
