//! Which tables each rule reads: a healthy input counts for a rule if it has one of them.

use measure::run::Run;

/// Tables of waits of reports and wait views.
const WAITS: &[&str] = &[
    "top_events",
    "all_waits",
    "foreground_waits",
    "background_waits",
    "system_event",
    "wait_events",
];
/// Those, and devices over time.
const STORAGE: &[&str] = &[
    "top_events",
    "all_waits",
    "foreground_waits",
    "background_waits",
    "system_event",
    "wait_events",
    "iostat",
    "diskstats",
];
/// Tables that `diagnosis::sources` reads.
const SOURCES: &[&str] = &[
    "fio_latency",
    "pg_stat_wal",
    "pg_stat_io",
    "sqlserver_waits",
    "pgbench",
    "pgbench_intervals",
    "sysbench",
    "ebpf_histogram",
    "sysbench_histogram",
    "event_histogram",
    "pg_test_fsync",
    "redo_waits_over",
];

/// Rows of a table that a rule needs at least, where that is more than one.
const ROWS_MIN: &[(&str, usize)] = &[
    ("diagnosis.cap", 10),
    ("diagnosis.levels", 6),
    ("diagnosis.stalls", 6),
];

/// Ids of findings, and the tables that they read.
const RULES: &[(&str, &[&str])] = &[
    ("latency.write_mean", WAITS),
    ("latency.source", SOURCES),
    ("diagnosis.commit_wait", WAITS),
    ("diagnosis.remote_write", WAITS),
    ("diagnosis.worker_ordering", WAITS),
    ("diagnosis.broadcast", WAITS),
    ("diagnosis.log_writer_cpu", WAITS),
    ("diagnosis.wake_up", WAITS),
    ("diagnosis.log_switches", WAITS),
    ("diagnosis.log_buffer", WAITS),
    ("diagnosis.processors", &["host_cpu"]),
    ("diagnosis.outliers", &["log_write_warnings", "io_outliers"]),
    ("diagnosis.tail", &["event_histogram", "redo_waits_over"]),
    (
        "diagnosis.slow_syncs",
        &[
            "fio_latency",
            "pg_stat_wal",
            "pg_stat_io",
            "sqlserver_waits",
            "prometheus_buckets",
            "etcd_slow_syncs",
        ],
    ),
    ("diagnosis.sync_tests", &["pg_test_fsync"]),
    (
        "diagnosis.no_flush",
        &[
            "pg_test_fsync",
            "pg_stat_io",
            "fio_latency",
            "pg_stat_wal",
            "sqlserver_waits",
        ],
    ),
    ("diagnosis.instances", WAITS),
    ("diagnosis.storage", STORAGE),
    (
        "diagnosis.levels",
        &["pgbench_progress", "sysbench_intervals"],
    ),
    (
        "diagnosis.stalls",
        &["pgbench_progress", "sysbench_intervals"],
    ),
    ("diagnosis.wal_buffers", &["pg_stat_wal"]),
    (
        "diagnosis.checkpoint_age",
        &["innodb_status", "mysql_status"],
    ),
    (
        "diagnosis.peak_hour",
        &["log_write_warnings", "io_outliers", "report_series"],
    ),
    ("diagnosis.change", &["report_series"]),
    ("diagnosis.log_device", &["iostat", "diskstats"]),
    ("diagnosis.cap", &["iostat", "diskstats"]),
    ("evidence.queue", &["iostat"]),
    ("evidence.buckets", &["fio_latency", "wait_histogram"]),
    ("evidence.change", &["wait_events"]),
    ("evidence.average", WAITS),
    ("evidence.shares", WAITS),
    ("evidence.rounding", WAITS),
    ("evidence.window", &["stated_window"]),
    ("evidence.cpu", &["host_cpu"]),
    ("evidence.clock", &["io_outliers"]),
    ("evidence.percentage", &["flash_log_metrics"]),
    ("evidence.counter_back", &["flash_log_metrics"]),
    ("evidence.ceiling", &["r_summary"]),
    ("evidence.small_effect", &["welch_t_test"]),
    ("evidence.interval", &["welch_t_test"]),
    ("evidence.not_alike", &["event_histogram"]),
    ("evidence.little", &["published_runs"]),
    ("evidence.sweep_changed", &["published_runs"]),
    ("evidence.wastage", &["published_runs"]),
    ("evidence.columns", &["column_pairing"]),
    ("evidence.commit_mode", &["commit_modes"]),
    ("evidence.thresholds", &["worker_latency_published"]),
    ("evidence.load_average", &["stated_load_average"]),
    ("evidence.other_load", &["flash_log_metrics"]),
    ("evidence.claim", &["claims"]),
    ("evidence.claim_exception", &["claims"]),
];

/// Whether a rule has something to judge in an import.
pub fn applies(id: &str, run: &Run) -> bool {
    let Some((_, tables)) = RULES.iter().find(|(known, _)| *known == id) else {
        return false;
    };
    let rows = ROWS_MIN.iter().find(|(known, _)| *known == id);
    let rows = rows.map_or(1, |(_, rows)| *rows);
    let all = run.imported.iter().flat_map(|imported| &imported.tables);
    all.into_iter()
        .any(|table| tables.contains(&table.id.as_str()) && table.rows.len() >= rows)
}

/// Whether a finding of the consistency of figures can be a caution, and has tables above.
pub fn is_a_caution(id: &str) -> bool {
    RULES.iter().any(|(known, _)| *known == id)
}
