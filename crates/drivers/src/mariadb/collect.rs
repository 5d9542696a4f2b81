//! What MariaDB and MySQL count of their redo and binary logs, for a collection of evidence.

use super::connection::ServerConnection;
use super::error::MariadbError;
use super::{Login, MariadbEnvironment};
use crate::collect::{
    ClientLayout, ListingColumn, PATIENCE, ReadServer, ReadingMoment, RefusedListing,
    ServerListing, ServerReading,
};
use measure::driver::DriverError;
use measure::words::sanitize;

/// Each transaction of the session cannot write.
const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";

/// What does not change in an interval.
const SETTINGS: &[(&str, &str, &[&str])] = &[(
    "global_variables",
    "SHOW GLOBAL VARIABLES WHERE Variable_name REGEXP \
     '^(version|innodb_|binlog|sync_|log_bin|aria_|rpl_|max_connections|thread_|flush|gtid_|\
     slave_parallel|replica_parallel|expire_logs)'",
    &["Variable_name", "Value"],
)];

/// What the server counts, in the order in which it is read.
const COUNTS: &[(&str, &str, &[&str])] = &[
    (
        "global_status",
        "SHOW GLOBAL STATUS",
        &["Variable_name", "Value"],
    ),
    (
        "innodb_status",
        "SHOW ENGINE INNODB STATUS",
        &["Type", "Name", "Status"],
    ),
];

const WAITS: &str = "SELECT COMMAND, STATE, COUNT(*) AS sessions FROM \
     information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() GROUP BY COMMAND, STATE";

/// Bytes of a value that are kept: the status of InnoDB is long.
const VALUE_MAX: usize = 128 << 10;

/// A server that is read.
struct ReadMariadb {
    connection: ServerConnection,
    shown: String,
    is_local: bool,
}

/// Connects to a server that is only read; nothing else is asked of it.
///
/// # Errors
/// The server cannot be reached, or refuses.
pub fn read_server(
    address: &str,
    environment: &MariadbEnvironment,
) -> Result<Box<dyn ReadServer>, DriverError> {
    let login = Login::new(address, environment)?;
    let mut connection = login.connect_within(login.patience.min(PATIENCE))?;
    connection.run(READ_ONLY)?;
    Ok(Box::new(ReadMariadb {
        is_local: login.address.is_local(),
        shown: login.address.shown(),
        connection,
    }))
}

/// Lines of a value, without what a terminal would obey.
fn kept(bytes: &[u8]) -> String {
    match bytes.get(..VALUE_MAX) {
        Some(begin) => {
            let begin = sanitize::text(&String::from_utf8_lossy(begin));
            format!("{begin}\n[redolab kept the first {VALUE_MAX} bytes]\n")
        }
        None => sanitize::text(&String::from_utf8_lossy(bytes)),
    }
}

impl ReadMariadb {
    fn listing(
        &mut self,
        name: &'static str,
        statement: &str,
        columns: &[&str],
    ) -> Result<ServerListing, MariadbError> {
        let rows = self.connection.query_as(statement, kept)?;
        if rows.iter().any(|row| row.len() != columns.len()) {
            return Err(MariadbError::Protocol(
                "a query has other columns than it asks for",
            ));
        }
        let column = |name: &&str| ListingColumn {
            name: (*name).to_owned(),
            is_number: *name == "sessions",
        };
        Ok(ServerListing {
            name,
            statement: statement.to_owned(),
            columns: columns.iter().map(column).collect(),
            rows,
        })
    }
}

impl ReadServer for ReadMariadb {
    fn shown(&self) -> String {
        self.shown.clone()
    }

    fn layout(&self) -> ClientLayout {
        ClientLayout::Mariadb
    }

    fn is_local(&self) -> bool {
        self.is_local
    }

    fn read(&mut self, moment: ReadingMoment) -> Result<ServerReading, DriverError> {
        let settings = match moment {
            ReadingMoment::Begin | ReadingMoment::Watched => SETTINGS,
            ReadingMoment::End => &[],
        };
        let mut reading = ServerReading::default();
        for (name, statement, columns) in settings.iter().chain(COUNTS) {
            match self.listing(name, statement, columns) {
                Ok(listing) => reading.listings.push(listing),
                Err(MariadbError::Server(message)) => reading.refused.push(RefusedListing {
                    name,
                    why: message.to_string(),
                }),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(reading)
    }

    fn waits(&mut self) -> Result<ServerListing, DriverError> {
        let columns = ["COMMAND", "STATE", "sessions"];
        Ok(self.listing("processlist", WAITS, &columns)?)
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
        let environment = MariadbEnvironment {
            password: None,
            patience: Duration::from_millis(200),
        };
        let began = Instant::now();
        let address = format!("mariadb://ann@127.0.0.1:{port}");
        let error = read_server(&address, &environment)
            .err()
            .expect("no answer");
        assert!(error.to_string().contains("did not answer"), "{error}");
        assert!(began.elapsed() < PATIENCE);
    }

    #[test]
    fn a_long_value_is_cut_and_harmless() {
        let long = kept(&vec![b'x'; VALUE_MAX + 1]);
        assert!(long.len() < VALUE_MAX + 100 && long.contains("kept the first"));
        let text = kept(b"a\nb\x1b[2J");
        assert!(text.starts_with("a\nb") && !text.contains('\x1b'), "{text}");
    }
}
