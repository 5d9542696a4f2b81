//! What InnoDB counts of its redo log, read by name: what a version does not count is `None`.
//!
//! Invariant: a counter is read as the server reports it. `Innodb_os_log_written` grows with the
//! LSN on MariaDB, so it does not contain the padding of log writes.

use super::connection::ServerConnection;
use super::error::MariadbError;

/// Counters of the redo log since the server started, by names of MariaDB, and of MySQL where that
/// has others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounters {
    /// `Innodb_os_log_written`, bytes.
    pub os_log_written: Option<u64>,
    /// `Innodb_log_writes`.
    pub log_writes: Option<u64>,
    /// `Innodb_os_log_fsyncs`: flushes of the log, which MariaDB does not count from 10.8 on.
    pub os_log_fsyncs: Option<u64>,
    /// `Innodb_log_waits`: waits for room in the log buffer.
    pub log_waits: Option<u64>,
    /// `Innodb_lsn_current`, or `Innodb_redo_log_current_lsn`.
    pub lsn_current: Option<u64>,
    /// `Innodb_lsn_flushed`, or `Innodb_redo_log_flushed_to_disk_lsn`.
    pub lsn_flushed: Option<u64>,
}

const NAMES: [&str; 8] = [
    "Innodb_os_log_written",
    "Innodb_os_log_fsyncs",
    "Innodb_log_writes",
    "Innodb_log_waits",
    "Innodb_lsn_current",
    "Innodb_redo_log_current_lsn",
    "Innodb_lsn_flushed",
    "Innodb_redo_log_flushed_to_disk_lsn",
];

impl LogCounters {
    /// Reads the counters.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn read(connection: &mut ServerConnection) -> Result<LogCounters, MariadbError> {
        let names = NAMES.map(|name| format!("'{name}'")).join(", ");
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
        let mut counters = LogCounters::default();
        for row in connection.query(&sql)? {
            if let [Some(name), Some(value)] = row.as_slice() {
                counters.set(name, value.parse().ok());
            }
        }
        Ok(counters)
    }

    fn set(&mut self, name: &str, value: Option<u64>) {
        let counter = match name {
            "Innodb_os_log_written" => &mut self.os_log_written,
            "Innodb_os_log_fsyncs" => &mut self.os_log_fsyncs,
            "Innodb_log_writes" => &mut self.log_writes,
            "Innodb_log_waits" => &mut self.log_waits,
            "Innodb_lsn_current" | "Innodb_redo_log_current_lsn" => &mut self.lsn_current,
            "Innodb_lsn_flushed" | "Innodb_redo_log_flushed_to_disk_lsn" => &mut self.lsn_flushed,
            _ => return,
        };
        *counter = value;
    }
}

/// Where the LSN is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LsnSource {
    /// A counter of that name.
    Status(&'static str),
    /// The report of the engine, which needs the privilege PROCESS.
    EngineReport,
}

impl LsnSource {
    /// The first source that the server has.
    ///
    /// # Errors
    /// It has none, and what to do.
    pub fn find(connection: &mut ServerConnection) -> Result<LsnSource, MariadbError> {
        for source in [
            LsnSource::Status("Innodb_lsn_current"),
            LsnSource::Status("Innodb_redo_log_current_lsn"),
            LsnSource::EngineReport,
        ] {
            match source.read_if_any(connection) {
                Ok(Some(_)) => return Ok(source),
                Ok(None) => {}
                Err(MariadbError::Server(message)) if message.is_privilege() => {}
                Err(error) => return Err(error),
            }
        }
        Err(MariadbError::Unusable(
            "the server does not report its LSN to this user, so the redo of a commit cannot be \
             measured: GRANT PROCESS ON *.* to the user, or use MariaDB 10.5 or MySQL 8.0.30 or \
             newer"
                .to_owned(),
        ))
    }

    /// The LSN.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn read(self, connection: &mut ServerConnection) -> Result<u64, MariadbError> {
        let lsn = self.read_if_any(connection)?;
        lsn.ok_or(MariadbError::Protocol("the server reports no LSN any more"))
    }

    /// The LSN; `None` where the server has no such source.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn read_if_any(
        self,
        connection: &mut ServerConnection,
    ) -> Result<Option<u64>, MariadbError> {
        Ok(match self {
            LsnSource::Status(name) => {
                let rows = connection.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
                let value = rows
                    .into_iter()
                    .next()
                    .and_then(|row| row.into_iter().nth(1));
                value.flatten().and_then(|value| value.parse().ok())
            }
            LsnSource::EngineReport => {
                let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let rows = connection.query_as("SHOW ENGINE INNODB STATUS", lossy)?;
                let texts = rows.iter().flatten().flatten();
                texts.flat_map(|text| text.lines()).find_map(lsn_of_line)
            }
        })
    }
}

/// The number of a line such as `Log sequence number 12345`.
fn lsn_of_line(line: &str) -> Option<u64> {
    line.strip_prefix("Log sequence number")?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_read_by_its_own_name_and_the_others_are_ignored() {
        type Counter = fn(&LogCounters) -> Option<u64>;
        let counters: [Counter; 8] = [
            |c| c.os_log_written,
            |c| c.os_log_fsyncs,
            |c| c.log_writes,
            |c| c.log_waits,
            |c| c.lsn_current,
            |c| c.lsn_current,
            |c| c.lsn_flushed,
            |c| c.lsn_flushed,
        ];
        for (name, counter) in NAMES.into_iter().zip(counters) {
            let mut found = LogCounters::default();
            found.set(name, Some(7));
            assert_eq!(counter(&found), Some(7), "{name}");
            found.set(name, None);
            assert_eq!(found, LogCounters::default(), "{name} sets one counter");
        }
        let mut counters = LogCounters::default();
        counters.set("Innodb_lsn_last_checkpoint", Some(7));
        assert_eq!(counters, LogCounters::default());
    }

    #[test]
    fn the_report_of_the_engine_has_the_lsn() {
        assert_eq!(lsn_of_line("Log sequence number          4711"), Some(4711));
        assert_eq!(lsn_of_line("Log flushed up to   4711"), None);
        assert_eq!(lsn_of_line("Log sequence number x"), None);
    }
}
