//! What PostgreSQL counts of its WAL, by version.
//!
//! | version | source |
//! |---|---|
//! | 12, 13 | the LSN alone |
//! | 14 to 17 | `pg_stat_wal`, without the bytes of its writes |
//! | 18 | `pg_stat_wal`, and `pg_stat_io` where object is `wal` |
//!
//! Invariants: what a version does not count is `None`, and so are times where
//! `track_wal_io_timing` is off, in which case the server reports zeros.

use super::connection::Connection;
use super::error::PostgresError;
use measure::driver::ServerCounts;
use measure::record::ServerTotals;
use std::time::Duration;

/// Backends report what they counted once per second, and when they end. Tried: after 1.2 s
/// nothing was missing.
pub const DELAY: Duration = Duration::from_millis(1_200);

/// Versions as `server_version_num` has them: from when there is `pg_stat_wal`, from when
/// checkpoints have a view of their own, and from when writes and flushes are in `pg_stat_io`.
const HAS_WAL_VIEW: u32 = 140_000;
const HAS_CHECKPOINTER_VIEW: u32 = 170_000;
const HAS_WAL_IO: u32 = 180_000;

/// Columns of the statement.
const COLUMNS: usize = 15;

/// A connection that reads the counts of its server.
#[derive(Debug)]
pub struct CountedServer {
    /// The connection.
    pub connection: Connection,
    statement: String,
    computes_written: bool,
    /// Which server it is.
    server: String,
}

impl CountedServer {
    /// Finds out which version serves the connection; `address` names a server that reports no
    /// identifier.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn on(mut connection: Connection, address: &str) -> Result<CountedServer, PostgresError> {
        let version = value(&mut connection, "SHOW server_version_num")?;
        let version: u32 = version
            .parse()
            .map_err(|_| PostgresError::Protocol("server_version_num is not a number"))?;
        let identifier = "SELECT system_identifier FROM pg_catalog.pg_control_system()";
        let server = match value(&mut connection, identifier) {
            Ok(identifier) => identifier,
            // The role may not call the function.
            Err(PostgresError::Server(_)) => address.to_owned(),
            Err(error) => return Err(error),
        };
        Ok(CountedServer {
            connection,
            statement: statement(version),
            computes_written: (HAS_WAL_VIEW..HAS_WAL_IO).contains(&version),
            server,
        })
    }

    /// What the server has counted so far.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn read(&mut self) -> Result<ServerCounts, PostgresError> {
        let rows = self.connection.query(&self.statement)?;
        let row = rows.first().filter(|row| row.len() == COLUMNS);
        let row = row.ok_or(PostgresError::Protocol(
            "a query has another row than it asks for",
        ))?;
        let mut counts = counts_of(row, self.computes_written);
        counts.server.clone_from(&self.server);
        Ok(counts)
    }
}

/// The one value of a query.
fn value(connection: &mut Connection, sql: &str) -> Result<String, PostgresError> {
    let rows = connection.query(sql)?;
    let value = rows.into_iter().flatten().next().flatten();
    value.ok_or(PostgresError::Protocol("a query has no value"))
}

/// The statement that reads all counts of a version, in [`COLUMNS`] columns.
fn statement(version: u32) -> String {
    let (has_view, has_io) = (version >= HAS_WAL_VIEW, version >= HAS_WAL_IO);
    let (view, checkpoints) = match version >= HAS_CHECKPOINTER_VIEW {
        true => ("pg_stat_checkpointer", "c.num_timed + c.num_requested"),
        false => (
            "pg_stat_bgwriter",
            "c.checkpoints_timed + c.checkpoints_req",
        ),
    };
    let (wal, since, sizes) = match has_view {
        true => (
            ", pg_catalog.pg_stat_wal w",
            "w.stats_reset",
            "w.wal_bytes, w.wal_records, w.wal_fpi, w.wal_buffers_full",
        ),
        false => ("", "NULL", "NULL, NULL, NULL, NULL"),
    };
    let (io, io_since, writes) = match (has_io, has_view) {
        (true, _) => (
            ", (SELECT pg_catalog.max(stats_reset) AS stats_reset, \
             pg_catalog.sum(writes) FILTER (WHERE context = 'normal') AS writes, \
             pg_catalog.sum(write_bytes) FILTER (WHERE context = 'normal') AS write_bytes, \
             pg_catalog.sum(write_bytes) FILTER (WHERE context = 'init') AS filled_bytes, \
             pg_catalog.sum(write_time) FILTER (WHERE context = 'normal') AS write_time, \
             pg_catalog.sum(fsyncs) FILTER (WHERE context = 'normal') AS syncs, \
             pg_catalog.sum(fsync_time) FILTER (WHERE context = 'normal') AS sync_time \
             FROM pg_catalog.pg_stat_io WHERE object = 'wal') i",
            "i.stats_reset",
            "i.writes, i.write_bytes, i.filled_bytes, i.write_time, i.syncs, i.sync_time",
        ),
        (false, true) => (
            "",
            "NULL",
            "w.wal_write, NULL, NULL, w.wal_write_time, w.wal_sync, w.wal_sync_time",
        ),
        (false, false) => ("", "NULL", "NULL, NULL, NULL, NULL, NULL, NULL"),
    };
    let epoch = |column: &str| match column {
        "NULL" => "NULL".to_owned(),
        column => format!("extract(epoch FROM {column})"),
    };
    let resets = [since, io_since, "c.stats_reset"].map(epoch).join(", ");
    format!(
        "SELECT pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_catalog.pg_lsn, \
         pg_catalog.concat_ws(' ', {resets}), {sizes}, {writes}, {checkpoints}, \
         pg_catalog.current_setting('track_wal_io_timing', true), \
         pg_catalog.current_setting('wal_block_size') \
         FROM pg_catalog.{view} c{wal}{io}"
    )
}

/// The counts of a row of that statement.
fn counts_of(row: &[Option<String>], computes_written: bool) -> ServerCounts {
    let text = |column: usize| row.get(column).and_then(Option::as_deref);
    let count = |column: usize| text(column)?.parse::<u64>().ok();
    let is_timed = text(13) == Some("on");
    let time_ns = |column: usize| {
        let ms: f64 = text(column).filter(|_| is_timed)?.parse().ok()?;
        (ms.is_finite() && ms >= 0.0).then_some((ms * 1e6) as u64)
    };
    let (lsn, writes) = (count(0), count(6));
    // A write begins on the page on which the one before it ended, and takes whole pages: so many
    // writes write their number of pages, and as many again as the log grew.
    let computed = || lsn?.checked_add(writes?.checked_mul(count(14)?)?);
    ServerCounts {
        server: String::new(),
        began: text(1).unwrap_or_default().to_owned(),
        commits: None,
        lsn,
        counted: ServerTotals {
            wal_bytes: count(2),
            records: count(3),
            full_page_images: count(4),
            buffers_full: count(5),
            writes,
            written_bytes: if computes_written {
                computed()
            } else {
                count(7)
            },
            written_is_computed: computes_written,
            initialized_bytes: count(8),
            write_ns: time_ns(9),
            syncs: count(10),
            sync_ns: time_ns(11),
            checkpoints: count(12),
            ..ServerTotals::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_for_what_it_has() {
        for (version, with, without) in [
            (120_022, "pg_stat_bgwriter c", "pg_stat_wal"),
            (130_018, "pg_stat_bgwriter c", "pg_stat_wal"),
            (140_000, "w.wal_sync_time", "pg_stat_io"),
            (160_004, "c.checkpoints_req", "pg_stat_checkpointer"),
            (170_000, "c.num_requested", "pg_stat_io"),
            (180_004, "object = 'wal'", "w.wal_sync"),
        ] {
            let sql = statement(version);
            assert!(
                sql.contains(with) && !sql.contains(without),
                "{version}: {sql}"
            );
        }
    }

    fn row(values: [&str; COLUMNS]) -> Vec<Option<String>> {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        values.into_iter().map(known).collect()
    }

    #[test]
    fn what_a_version_does_not_count_is_unknown() {
        let old = row([
            "5000", "17.5", "", "", "", "", "", "", "", "", "", "", "3", "", "8192",
        ]);
        let counts = counts_of(&old, false);
        assert_eq!(
            (counts.lsn, counts.counted.checkpoints),
            (Some(5000), Some(3))
        );
        assert_eq!((counts.counted.writes, counts.counted.syncs), (None, None));
        assert_eq!(
            (counts.counted.written_bytes, counts.counted.write_ns),
            (None, None)
        );
        let wrong = row([
            "-1", "x", "1.5", "", "", "", "many", "", "", "", "", "", "", "on", "8192",
        ]);
        let counts = counts_of(&wrong, true);
        assert_eq!(
            (counts.lsn, counts.counted.wal_bytes, counts.counted.writes),
            (None, None, None)
        );
        assert_eq!(counts.counted.written_bytes, None);
    }

    #[test]
    fn zeros_of_times_that_are_not_tracked_are_unknown() {
        for (timing, times) in [
            ("off", (None, None)),
            ("on", (Some(1_500_000), Some(250_000_000))),
        ] {
            let values = [
                "5000", "17", "4000", "40", "2", "0", "10", "", "", "1.5", "10", "250", "1",
                timing, "8192",
            ];
            let counts = counts_of(&row(values), true);
            assert_eq!(
                (counts.counted.write_ns, counts.counted.sync_ns),
                times,
                "{timing}"
            );
            assert_eq!(counts.counted.written_bytes, Some(10 * 8192 + 5000));
            assert!(counts.counted.written_is_computed);
        }
    }
}
