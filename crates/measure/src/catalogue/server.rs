//! Metrics that a server counts of itself, and those that its figures give per commit.

use super::{Metric, OWN};

const PG_WAL: &str = "PostgreSQL 14 to 17: pg_stat_wal; 18: pg_stat_io of the object wal";
const LOG_WRITES: &str = "PostgreSQL 14 to 17: pg_stat_wal; 18: pg_stat_io of the object wal; MariaDB: Innodb_log_writes";
const LOG_FLUSHES: &str = "PostgreSQL 14 to 17: pg_stat_wal; 18: pg_stat_io of the object wal; MariaDB before 10.8 and MySQL: Innodb_os_log_fsyncs";
const DISKSTATS: &str = "Documentation/block/stat of the Linux kernel";

/// Prefix of the keys of a server's metrics where rows are flat.
pub const SERVER_PREFIX: &str = "server_";

/// A metric of a server, with the key, heading, unit and definition.
const fn server(
    key: &'static str,
    heading: &'static str,
    unit: &'static str,
    definition: &'static str,
    source: &'static str,
) -> Metric {
    Metric {
        key,
        heading,
        unit,
        definition,
        source,
    }
}

/// Metrics of the server of a row, in the order of tables. They are counted between two readings:
/// once all sessions are open, before their first commit, and after the last one has ended and the
/// server's statistics have arrived.
pub const SERVER: &[Metric] = &[
    server(
        "server_observed_s",
        "Observed s",
        "s",
        "Time between the two readings of the server's counts. It contains warm-up, measured time and the wait for late statistics.",
        OWN,
    ),
    server(
        "server_commits",
        "Observed commits",
        "",
        "Commits of redolab's sessions between the readings, warm-up included. Figures per commit are divided by it.",
        OWN,
    ),
    server(
        "server_redo_lsn_bytes",
        "Redo LSN",
        "B",
        "Redo: growth of the position of the server's log (PostgreSQL: pg_current_wal_insert_lsn; MariaDB: Innodb_lsn_current). It contains page headers and padding, and the records of other clients and of the server itself.",
        "PostgreSQL documentation, WAL internals (LSN)",
    ),
    server(
        "server_wal_bytes",
        "WAL bytes",
        "B",
        "Redo as the server counts it. PostgreSQL: records without page headers and padding; MariaDB: the growth of the LSN.",
        "pg_stat_wal.wal_bytes; Innodb_os_log_written",
    ),
    server(
        "server_records",
        "WAL records",
        "",
        "Records of the log.",
        "pg_stat_wal.wal_records",
    ),
    server(
        "server_full_page_images",
        "Full pages",
        "",
        "Images of whole pages in the log, which follow a checkpoint.",
        "pg_stat_wal.wal_fpi",
    ),
    server(
        "server_writes",
        "WAL writes",
        "",
        "Writes of the log that the server made.",
        LOG_WRITES,
    ),
    server(
        "server_written_bytes",
        "WAL written",
        "B",
        "Bytes of these writes. PostgreSQL 18 counts them. For 14 to 17 they are computed (written_is_computed): a write begins on the page on which the one before it ended and takes whole pages, so it is writes times the page size plus the growth of the LSN. A write that begins on a new page, as where the log buffer wraps, makes this one page too much.",
        PG_WAL,
    ),
    server(
        "server_initialized_bytes",
        "WAL filled",
        "B",
        "Bytes with which the server filled new files of its log; not in written_bytes. Only PostgreSQL 18 counts them.",
        "pg_stat_io, object wal, context init",
    ),
    server(
        "server_write_ms",
        "WAL write ms",
        "ms",
        "Mean time of a write of the log; null unless track_wal_io_timing is on.",
        PG_WAL,
    ),
    server(
        "server_syncs",
        "WAL syncs",
        "",
        "Flushes of the log that the server asked for. Zero with wal_sync_method open_datasync and open_sync, under which the writes themselves are durable. Null for MariaDB from 10.8 on, which counts only the flushes of all files.",
        LOG_FLUSHES,
    ),
    server(
        "server_sync_ms",
        "WAL sync ms",
        "ms",
        "Mean time of a flush of the log; null unless track_wal_io_timing is on.",
        PG_WAL,
    ),
    server(
        "server_buffers_full",
        "Buffers full",
        "",
        "Writes that a session had to make, or waits of a session, because the log buffer was full.",
        "pg_stat_wal.wal_buffers_full; Innodb_log_waits",
    ),
    server(
        "server_checkpoints",
        "Checkpoints",
        "",
        "Checkpoints that began, timed or requested.",
        "pg_stat_bgwriter; from PostgreSQL 17 pg_stat_checkpointer",
    ),
    server(
        "server_device_writes",
        "Disk writes",
        "",
        "Writes with data that the kernel counted between the readings on the device of the log; null where that device is not known.",
        DISKSTATS,
    ),
    server(
        "server_device_written_bytes",
        "Disk written",
        "B",
        "Bytes of these writes, those of other files and processes on that device included.",
        DISKSTATS,
    ),
    server(
        "server_device_flushes",
        "Disk flushes",
        "",
        "Flushes that the whole disk executed, those for other programs included. A device without a volatile cache receives none.",
        DISKSTATS,
    ),
    server(
        "server_redo_per_commit_bytes",
        "Redo B/commit",
        "B",
        "redo_lsn_bytes per commit.",
        OWN,
    ),
    server(
        "server_written_per_commit_bytes",
        "Written B/commit",
        "B",
        "written_bytes per commit.",
        OWN,
    ),
    server(
        "server_device_per_commit_bytes",
        "Disk B/commit",
        "B",
        "device_written_bytes of the whole disk, those of all other programs included, per commit.",
        OWN,
    ),
    server(
        "server_writes_per_commit",
        "Writes/commit",
        "",
        "writes per commit.",
        OWN,
    ),
    server(
        "server_syncs_per_commit",
        "Syncs/commit",
        "",
        "syncs per commit.",
        OWN,
    ),
    server(
        "server_device_flushes_per_commit",
        "Disk flushes/commit",
        "",
        "device_flushes of the whole disk, those for all other programs included, per commit.",
        OWN,
    ),
    server(
        "server_written_per_redo",
        "Written/redo",
        "",
        "written_bytes for each byte of redo_lsn_bytes. A server that writes whole pages writes its last page again with each commit.",
        OWN,
    ),
    server(
        "server_device_per_redo",
        "Disk/redo",
        "",
        "device_written_bytes of the whole disk for each byte of redo_lsn_bytes.",
        OWN,
    ),
];
