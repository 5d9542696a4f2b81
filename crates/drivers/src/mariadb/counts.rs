//! What a MariaDB or MySQL server has counted of its log, for differences between two readings.
//!
//! | counted here | the server's name |
//! |---|---|
//! | position of the log | `Innodb_lsn_current`, `Innodb_redo_log_current_lsn`, or a report |
//! | bytes of the log | `Innodb_os_log_written` of MariaDB, which grows as the position does |
//! | writes | `Innodb_log_writes` |
//! | flushes | `Innodb_os_log_fsyncs`, which MariaDB does not have from 10.8 on |
//! | full buffers | `Innodb_log_waits` |
//!
//! Invariants: bytes written are unknown, because no counter contains the padding of log writes.
//! `Innodb_data_fsyncs` is no count of the log's flushes, because it contains those of all files.
//! Counters begin at 0 when the server starts, so without the time of its start only the position
//! of the log is known.

use super::connection::ServerConnection;
use super::counters::{LogCounters, LsnSource};
use super::error::MariadbError;
use measure::driver::ServerCounts;
use measure::record::ServerTotals;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Settings that together no other server has: data directories are not shared.
const IDENTITY: [&str; 5] = ["datadir", "hostname", "port", "server_uid", "server_uuid"];
/// Bytes of the digest that names a server.
const NAME_BYTES: usize = 8;

/// Which server serves the connection: a name that contains none of its settings.
///
/// # Errors
/// Of the server, or of the connection.
pub fn identity(connection: &mut ServerConnection) -> Result<String, MariadbError> {
    let names = IDENTITY.join("', '");
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{names}')");
    let rows = connection.query(&sql)?;
    let settings = rows.into_iter().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        Some((row.next()?, row.next()?))
    });
    Ok(name_of(&settings.collect()))
}

/// A digest of settings.
fn name_of(settings: &BTreeMap<String, String>) -> String {
    let mut digest = Sha256::new();
    for (name, value) in settings {
        for text in [name, value] {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
    }
    let bytes = digest.finalize();
    let hex = bytes
        .iter()
        .take(NAME_BYTES)
        .map(|byte| format!("{byte:02x}"));
    hex.collect()
}

/// What the server has counted so far, apart from commits.
///
/// # Errors
/// Of the server, or of the connection.
pub fn read(connection: &mut ServerConnection) -> Result<ServerCounts, MariadbError> {
    let is_mariadb = connection.version.contains("MariaDB");
    let server = identity(connection)?;
    let started = started(connection, is_mariadb)?;
    let mut counters = LogCounters::read(connection)?;
    if counters.lsn_current.is_none() {
        let report = LsnSource::EngineReport.read_if_any(connection);
        counters.lsn_current = known(report)?;
    }
    Ok(counts_of(server, started, counters, is_mariadb))
}

fn counts_of(
    server: String,
    started: Option<String>,
    counters: LogCounters,
    is_mariadb: bool,
) -> ServerCounts {
    let position = ServerCounts {
        server,
        lsn: counters.lsn_current,
        ..ServerCounts::default()
    };
    let Some(began) = started else {
        return position;
    };
    ServerCounts {
        began,
        counted: ServerTotals {
            // What MySQL counts under this name was not tried.
            wal_bytes: counters.os_log_written.filter(|_| is_mariadb),
            writes: counters.log_writes,
            syncs: counters.os_log_fsyncs,
            buffers_full: counters.log_waits,
            ..ServerTotals::default()
        },
        ..position
    }
}

/// When the server started, in seconds of its clock at that time. Both values of the difference
/// are of the moment at which the statement began, so it is the same in every reading.
fn started(
    connection: &mut ServerConnection,
    is_mariadb: bool,
) -> Result<Option<String>, MariadbError> {
    let schema = match is_mariadb {
        true => "information_schema",
        false => "performance_schema",
    };
    let rows = connection.query(&format!(
        "SELECT UNIX_TIMESTAMP() - VARIABLE_VALUE FROM {schema}.GLOBAL_STATUS \
         WHERE VARIABLE_NAME = 'UPTIME'"
    ));
    let first = |rows: Vec<Vec<Option<String>>>| rows.into_iter().flatten().next().flatten();
    known(rows.map(first))
}

/// A value that the server reports; `None` where it refuses.
fn known<T>(answer: Result<Option<T>, MariadbError>) -> Result<Option<T>, MariadbError> {
    match answer {
        Err(MariadbError::Server(_)) => Ok(None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> LogCounters {
        LogCounters {
            os_log_written: Some(10),
            log_writes: Some(20),
            os_log_fsyncs: None,
            log_waits: Some(40),
            lsn_current: Some(50),
            lsn_flushed: Some(60),
        }
    }

    #[test]
    fn what_a_version_does_not_count_is_unknown() {
        let started = || Some("17".to_owned());
        let counts = counts_of("a".to_owned(), started(), counters(), true);
        let expected = ServerCounts {
            server: "a".to_owned(),
            began: "17".to_owned(),
            lsn: Some(50),
            counted: ServerTotals {
                wal_bytes: Some(10),
                writes: Some(20),
                buffers_full: Some(40),
                ..ServerTotals::default()
            },
            ..ServerCounts::default()
        };
        assert_eq!(counts, expected);
        let older = LogCounters {
            os_log_fsyncs: Some(30),
            ..counters()
        };
        let counts = counts_of("a".to_owned(), started(), older, false);
        assert_eq!(
            (counts.counted.syncs, counts.counted.wal_bytes),
            (Some(30), None)
        );
        // Nobody knows whether it began to count between two readings.
        let counts = counts_of("a".to_owned(), None, counters(), true);
        assert_eq!((counts.lsn, counts.counted.writes), (Some(50), None));
        assert_eq!(
            (counts.counted.wal_bytes, counts.counted.buffers_full),
            (None, None)
        );
    }

    #[test]
    fn a_server_is_named_by_all_of_its_settings_and_none_is_in_its_name() {
        let settings = |port: &str, datadir: &str| {
            [("port", port), ("datadir", datadir)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        let name = name_of(&settings("3306", "/var/lib/mysql"));
        assert_eq!(name, name_of(&settings("3306", "/var/lib/mysql")));
        assert_ne!(name, name_of(&settings("3307", "/var/lib/mysql")));
        assert_ne!(name, name_of(&settings("3306", "/var/lib/mysql2")));
        assert_eq!(name.len(), 2 * NAME_BYTES);
        assert!(name.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    }
}
