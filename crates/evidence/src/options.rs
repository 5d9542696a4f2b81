//! What the user decides about an import: the kind of its files, among others.
//!
//! What it must not know: how a kind is recognised (`kind`) and read (`readers`).

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Oracle's extended SQL trace, and what log writers write into theirs.
    OracleTrace,
    /// Listings of `v$event_histogram`.
    EventHistogram,
    /// `count,elapsed`, as the script of study 000 writes.
    CountElapsed,
    /// A report of AWR or Statspack in HTML.
    AwrHtml,
    /// A report of AWR or Statspack as text, or a passage of one.
    AwrText,
    /// Output of sysstat's `iostat`.
    Iostat,
    /// The same as JSON.
    IostatJson,
    /// fio's JSON or JSON+.
    FioJson,
    /// Output of `pg_test_fsync`.
    PgTestFsync,
    /// An HdrHistogram interval log.
    Hlog,
    /// `V$LGWRIO_OUTLIER` or `X$KSFDSTLL`.
    LgwrOutliers,
    /// Metrics of a cell's flash log.
    CellMetrics,
    /// Output of `pgbench`.
    Pgbench,
    /// A log of `pgbench -l`.
    PgbenchLog,
    /// Views of PostgreSQL's statistics, as `psql` prints them.
    PgStats,
    /// fio's text for people.
    FioText,
    /// A log of fio: latencies, bandwidth, IOPS or bins of latencies.
    FioLog,
    /// Listings of `v$system_event` and `v$sysstat`.
    OracleCounters,
    /// Output of HammerDB.
    HammerDb,
    /// Output of sysbench.
    Sysbench,
    /// Histograms of eBPF tools.
    EbpfHistogram,
    /// Copies of `/proc/diskstats`.
    Diskstats,
    /// R's `summary` and `t.test`.
    RSummary,
    /// A table of a published study.
    StudyTable,
}

/// What the user decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What the files are; `None` recognises each from its content.
    pub kind: Option<Kind>,
    /// Statements and bind values are replaced before they are kept anywhere.
    pub redact_sql: bool,
    /// Nanoseconds of the unit of `ela` in traces, against whatever their headers say.
    pub ela_unit_ns: Option<u64>,
    /// The wait whose every value is kept for `count,elapsed`, by the evidence's own name.
    pub samples_of: Option<String>,
}
