//! What PostgreSQL counts of its WAL, for a collection of evidence.

use super::WITHOUT_TLS;
use super::connection::{Connection, TextTable};
use super::credentials::{ClientEnvironment, Credentials};
use super::error::PostgresError;
use super::url::Address;
use crate::collect::{
    ClientLayout, ListingColumn, PATIENCE, ReadServer, ReadingMoment, RefusedListing,
    ServerListing, ServerReading,
};
use measure::driver::DriverError;

/// Makes each transaction of the session one that cannot write, and ends statements that take long.
const READ_ONLY: [&str; 2] = [
    "SET default_transaction_read_only = on",
    "SET statement_timeout = '9s'",
];

/// What does not change in an interval.
const SETTINGS: &[(&str, &str)] = &[
    ("version", "SELECT version()"),
    (
        "pg_settings",
        "SELECT name, setting, unit, source FROM pg_catalog.pg_settings WHERE name ~ \
         '^(wal_|commit_|synchronous_|fsync$|full_page|checkpoint|max_wal|min_wal|bgwriter_flush|\
         track_|archive_mode|data_checksums|block_size|server_version|data_sync|io_method|\
         io_workers|backend_flush|shared_buffers$|max_connections$|segment_size|debug_io_direct|\
         recovery_init|effective_io|old_snapshot)' ORDER BY name",
    ),
];

/// What the server counts, in the order in which it is read.
const COUNTS: &[(&str, &str)] = &[
    (
        "pg_lsn",
        "SELECT now(), pg_is_in_recovery(), CASE WHEN NOT pg_is_in_recovery() THEN \
         pg_current_wal_insert_lsn() END AS insert_lsn, CASE WHEN NOT pg_is_in_recovery() THEN \
         pg_current_wal_flush_lsn() END AS flush_lsn",
    ),
    ("pg_stat_wal", "SELECT now(), * FROM pg_stat_wal"),
    ("pg_stat_io", "SELECT * FROM pg_stat_io"),
    ("pg_stat_database", "SELECT * FROM pg_stat_database"),
    ("pg_stat_bgwriter", "SELECT * FROM pg_stat_bgwriter"),
    ("pg_stat_checkpointer", "SELECT * FROM pg_stat_checkpointer"),
    ("pg_stat_replication", "SELECT * FROM pg_stat_replication"),
];

/// What shows how durable the commits of a log are that is watched.
const WATCHED: &[(&str, &str)] = &[
    (
        "pg_settings",
        "SELECT name, pg_catalog.current_setting(name) AS setting, source FROM \
         pg_catalog.pg_settings",
    ),
    (
        "pg_db_role_setting",
        "SELECT r.rolname AS role, d.datname AS database, c.setting FROM \
         pg_catalog.pg_db_role_setting s CROSS JOIN LATERAL pg_catalog.unnest(s.setconfig) AS \
         c(setting) LEFT JOIN pg_catalog.pg_database d ON d.oid = s.setdatabase LEFT JOIN \
         pg_catalog.pg_roles r ON r.oid = s.setrole ORDER BY 1, 2, 3",
    ),
    // The functions of these names are in every version.
    (
        "pg_snapshot",
        "SELECT txid_snapshot_xmax(txid_current_snapshot()) AS next_xid, \
         txid_snapshot_xmin(txid_current_snapshot()) AS oldest_xid",
    ),
    (
        "pg_stat_slru",
        "SELECT blks_hit + blks_read AS accesses, stats_reset FROM pg_stat_slru WHERE name IN \
         ('Subtrans', 'subtransaction')",
    ),
];

const WAITS: &str = "SELECT backend_type, state, wait_event_type, wait_event, count(*) AS sessions \
     FROM pg_stat_activity WHERE pid <> pg_backend_pid() GROUP BY 1, 2, 3, 4";

/// `undefined_table`: the version has no such view.
const NO_SUCH_VIEW: &str = "42P01";

/// A PostgreSQL server that is read.
struct ReadPostgres {
    connection: Connection,
    shown: String,
}

/// Connects to a server that is only read; nothing else is asked of it.
///
/// # Errors
/// The server cannot be reached, or refuses.
pub fn read_server(
    address: &str,
    environment: &ClientEnvironment,
) -> Result<Box<dyn ReadServer>, DriverError> {
    let address = Address::parse(address, environment.user.as_deref())?;
    let mode = address.ssl_mode.as_deref();
    let mode = mode.or(environment.ssl_mode.as_deref());
    if mode.is_some_and(|mode| !WITHOUT_TLS.contains(&mode)) {
        return Err(PostgresError::Tls.into());
    }
    let credentials = Credentials::find(&address, environment);
    let patience = environment.patience.min(PATIENCE);
    let mut connection = Connection::open(&address, &credentials, patience)?;
    for statement in READ_ONLY {
        connection.query(statement)?;
    }
    Ok(Box::new(ReadPostgres {
        connection,
        shown: address.shown(),
    }))
}

impl ReadPostgres {
    fn listing(
        &mut self,
        name: &'static str,
        statement: &str,
    ) -> Result<ServerListing, PostgresError> {
        let TextTable { columns, rows } = self.connection.table(statement)?;
        let column = |(name, is_number)| ListingColumn { name, is_number };
        Ok(ServerListing {
            name,
            statement: statement.to_owned(),
            columns: columns.into_iter().map(column).collect(),
            rows,
        })
    }
}

impl ReadServer for ReadPostgres {
    fn shown(&self) -> String {
        self.shown.clone()
    }

    fn layout(&self) -> ClientLayout {
        ClientLayout::Psql
    }

    fn is_local(&self) -> bool {
        self.connection.wire.is_local()
    }

    fn read(&mut self, moment: ReadingMoment) -> Result<ServerReading, DriverError> {
        let settings = match moment {
            ReadingMoment::Begin => SETTINGS,
            ReadingMoment::End => &[],
            ReadingMoment::Watched => WATCHED,
        };
        let mut reading = ServerReading::default();
        for (name, statement) in settings.iter().chain(COUNTS) {
            match self.listing(name, statement) {
                Ok(listing) => reading.listings.push(listing),
                Err(PostgresError::Server(message)) => reading.refused.push(RefusedListing {
                    name,
                    why: match message.code == NO_SUCH_VIEW {
                        true => "this version does not have it".to_owned(),
                        false => message.to_string(),
                    },
                }),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(reading)
    }

    fn waits(&mut self) -> Result<ServerListing, DriverError> {
        Ok(self.listing("pg_stat_activity", WAITS)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    #[test]
    fn a_server_that_never_answers_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let environment = ClientEnvironment {
            patience: Duration::from_millis(200),
            ..ClientEnvironment::none()
        };
        let began = Instant::now();
        let address = format!("postgres://ann@127.0.0.1:{port}/d");
        let error = read_server(&address, &environment)
            .err()
            .expect("no answer");
        assert!(error.to_string().contains("did not answer"), "{error}");
        assert!(began.elapsed() < PATIENCE);
    }

    #[test]
    fn only_what_reads_is_sent() {
        for (_, statement) in SETTINGS.iter().chain(COUNTS).chain(WATCHED) {
            assert!(statement.starts_with("SELECT "), "{statement}");
            assert!(!statement.contains(';'), "{statement}");
        }
    }
}
