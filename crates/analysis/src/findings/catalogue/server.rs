//! Findings about servers: what their acknowledgement of a commit means.

use super::{CatalogueEntry, FigureAnchor};
use crate::thresholds::RuleBasis::Opinion;
use measure::judgement::Confidence::High;

const PG: &str = "PostgreSQL documentation, Server Configuration, Write Ahead Log";

entries! {
    SERVER_ACKNOWLEDGEMENT = CatalogueEntry::new("server.acknowledgement", High,
        "What the server does before it acknowledges a commit, by its settings.")
        .rule("the settings that the committing session reads", PG)
        .at(FigureAnchor::Stack);
    SERVER_NO_FLUSH = CatalogueEntry::new("server.no_flush", High,
        "The server does not flush its log: fsync = off, or innodb_flush_method = nosync.")
        .rule("fsync = off, innodb_flush_method = nosync: no", "PostgreSQL documentation, fsync; MariaDB documentation, innodb_flush_method")
        .advice("Set fsync = on (innodb_flush_method other than nosync) and measure again: without flushes a power failure loses acknowledged commits and can corrupt the database.")
        .at(FigureAnchor::Stack);
    SERVER_LATE_FLUSH = CatalogueEntry::new("server.late_flush", High,
        "The server acknowledges a commit before it flushes its log: synchronous_commit = off, or innodb_flush_log_at_trx_commit = 0 or 2.")
        .rule("synchronous_commit = off, innodb_flush_log_at_trx_commit 0 and 2: no", "PostgreSQL documentation, synchronous_commit; MariaDB documentation, innodb_flush_log_at_trx_commit")
        .advice("Set synchronous_commit = on (innodb_flush_log_at_trx_commit = 1) and measure again, or accept that a crash loses the last acknowledged commits.")
        .at(FigureAnchor::Stack);
    SERVER_LOCAL_COMMIT = CatalogueEntry::new("server.local_commit", High,
        "The server has synchronous standbys, and acknowledges commits without them: synchronous_commit = local.")
        .rule("synchronous_commit = local with synchronous_standby_names", "PostgreSQL documentation, synchronous_commit")
        .advice("Set synchronous_commit = on if a commit has to be on a standby when it returns.")
        .at(FigureAnchor::Stack);
    SERVER_LOG_NOT_FLUSHED = CatalogueEntry::new("server.log_not_flushed", High,
        "A log was written while it was watched, and nobody flushed what was written.")
        .limit("seconds for which a write waited and no flush was in flight", &["unflushed_s", "unflushed_after_flush_s"])
        .advice("Set fsync = on (PostgreSQL), innodb_flush_method other than nosync (InnoDB), or the writer's own option for flushes (Redis: appendfsync always): until it flushes, a power failure loses what it wrote.");
    SERVER_BINLOG_NOT_FLUSHED = CatalogueEntry::new("server.binlog_not_flushed", High,
        "The server keeps a binary log and does not flush it at each commit: sync_binlog is not 1.")
        .rule("log_bin = ON with sync_binlog other than 1", "MariaDB documentation, sync_binlog and group commit for the binary log: recovery rolls back prepared transactions that the binary log does not contain")
        .advice("Set sync_binlog = 1, or accept that a power failure loses the last acknowledged commits.")
        .at(FigureAnchor::Stack);
    SERVER_TORN_PAGES = CatalogueEntry::new("server.torn_pages", High,
        "The server cannot repair a data page that a power failure tears: full_page_writes = off, or innodb_doublewrite = OFF.")
        .rule("full_page_writes = off, innodb_doublewrite OFF or DETECT_ONLY, unless the storage writes whole pages atomically", "PostgreSQL documentation, full_page_writes; MariaDB documentation, innodb_doublewrite")
        .advice("Set full_page_writes = on (innodb_doublewrite = ON), or show that the file system or the device of the data files never tears a page.")
        .at(FigureAnchor::Stack);
    SERVER_FLUSHES_MISSING = CatalogueEntry::new("server.flushes_missing", High,
        "The server counted fewer flushes of its log than its acknowledged commits need.")
        .rule("with wal_sync_method fsync, fdatasync or fsync_writethrough each session's commits need a flush each; a flush serves all sessions. Under open_datasync and open_sync the server counts none, and nothing follows.", "redolab: 1 % and 4 flushes fewer, as in the flush audit; PostgreSQL documentation, pg_stat_wal.wal_sync")
        .rests_on(Opinion)
        .advice("Look for a setting of a role, database or session (ALTER ROLE ... SET synchronous_commit), or a patched server: SHOW fsync and synchronous_commit in the session that commits.");
    SERVER_COMMITS_NOT_DURABLE = CatalogueEntry::new("server.commits_not_durable", High,
        "A watched server committed more transactions that wrote than the flushes of its log can have made durable: it acknowledges commits before they are durable.")
        .limit("transactions that wrote, by transaction ids, for each flush or durable write and session", &["commits_per_flush_and_session"])
        .advice("Look for the setting of a role or database (ALTER ROLE ... SET synchronous_commit) and for an application that sets it (SET LOCAL synchronous_commit = off), or accept that a crash of the server loses the last acknowledged commits; wal_writer_delay then sets how many. Transactions that only write unlogged tables wait for no flush either.");
    SERVER_STATISTICS = CatalogueEntry::new("server.statistics", High,
        "Counts of the server are missing in a row: the server restarted, or its statistics were reset, went backwards or could not be read.")
        .rule("a difference needs two readings of the same statistics", "redolab")
        .advice("Do not reset statistics (pg_stat_reset_shared) during a run; check the role's privileges and max_connections.");
}
