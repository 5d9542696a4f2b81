//! What the server itself counts of its commits and its log, where it can be asked: two readings,
//! in a session that only reads.
//!
//! Invariant: what a version does not count, and what went backwards between the readings, is
//! `None`.

use drivers::collect::{ReadServer, ReadingMoment, ServerListing, ServerReading};
use measure::driver::DriverError;

/// What a server has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerTally {
    /// Commits.
    commits: Option<u64>,
    /// Commits in the binary log, where there is one: the others are counted twice then.
    binlog_commits: Option<u64>,
    /// Position of the log, in bytes.
    position: Option<u64>,
    /// Writes of the log.
    writes: Option<u64>,
    /// Flushes of the log.
    flushes: Option<u64>,
}

/// What a server counted between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerGrown {
    /// Commits.
    pub(super) commits: Option<u64>,
    /// Redo, bytes.
    pub(super) redo_bytes: Option<u64>,
    /// Writes of the log.
    pub(super) writes: Option<u64>,
    /// Flushes of the log; `None` also where it counts none, because writes are durable.
    pub(super) flushes: Option<u64>,
}

impl ServerTally {
    /// Asks the server.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn read(server: &mut dyn ReadServer) -> Result<ServerTally, DriverError> {
        Ok(tally(&server.read(ReadingMoment::End)?))
    }

    /// What was counted since `before`.
    pub(super) fn since(&self, before: &ServerTally) -> ServerGrown {
        let grown = |of: fn(&ServerTally) -> Option<u64>| of(self)?.checked_sub(of(before)?);
        let binlog = grown(|t| t.binlog_commits).filter(|commits| *commits > 0);
        ServerGrown {
            commits: binlog.or_else(|| grown(|t| t.commits)),
            redo_bytes: grown(|t| t.position),
            writes: grown(|t| t.writes),
            flushes: grown(|t| t.flushes).filter(|flushes| *flushes > 0),
        }
    }
}

fn tally(reading: &ServerReading) -> ServerTally {
    let listing = |name: &str| reading.listings.iter().find(|l| l.name == name);
    let of_wal = |column: &str| sum(listing("pg_stat_wal")?, column, &[]);
    let of_io = |column: &str| {
        let wanted = [("object", "wal"), ("context", "normal")];
        sum(listing("pg_stat_io")?, column, &wanted)
    };
    let status = |name: &str| {
        let rows = &listing("global_status")?.rows;
        let is_it = |row: &&Vec<Option<String>>| {
            let key = row.first().and_then(Option::as_deref);
            key.is_some_and(|key| key.eq_ignore_ascii_case(name))
        };
        rows.iter().find(is_it)?.get(1)?.as_deref()?.parse().ok()
    };
    let lsn = || {
        let listing = listing("pg_lsn")?;
        let column = column(listing, "insert_lsn")?;
        position(listing.rows.first()?.get(column)?.as_deref()?)
    };
    let commits = listing("pg_stat_database").and_then(|l| sum(l, "xact_commit", &[]));
    ServerTally {
        commits: commits.or_else(|| status("Handler_commit")),
        binlog_commits: status("Binlog_commits"),
        position: lsn().or_else(|| status("Innodb_lsn_current")),
        writes: of_wal("wal_write")
            .or_else(|| of_io("writes"))
            .or_else(|| status("Innodb_log_writes")),
        flushes: of_wal("wal_sync")
            .or_else(|| of_io("fsyncs"))
            .or_else(|| status("Innodb_os_log_fsyncs")),
    }
}

fn column(listing: &ServerListing, name: &str) -> Option<usize> {
    listing
        .columns
        .iter()
        .position(|column| column.name == name)
}

/// The sum of a column over the rows in which other columns have these values; `None` where there
/// is no such column or no number in it.
fn sum(listing: &ServerListing, name: &str, wanted: &[(&str, &str)]) -> Option<u64> {
    let at = column(listing, name)?;
    let cell = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten();
    let fits = |row: &&Vec<Option<String>>| {
        wanted.iter().all(|(name, value)| {
            let text = column(listing, name).and_then(|at| cell(row, at));
            text.as_deref() == Some(*value)
        })
    };
    let rows = listing.rows.iter().filter(fits);
    let numbers = rows.filter_map(|row| cell(row, at)?.parse::<u64>().ok());
    numbers.fold(None, |sum: Option<u64>, n| {
        Some(sum.unwrap_or(0).saturating_add(n))
    })
}

/// The bytes of a position such as `16/B374D848`.
fn position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let part = |text: &str| {
        u64::from_str_radix(text, 16)
            .ok()
            .filter(|n| *n <= u32::MAX.into())
    };
    Some(part(high)? << 32 | part(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivers::collect::ListingColumn;

    fn listing(name: &'static str, columns: &[&str], rows: &[&[&str]]) -> ServerListing {
        let cell = |text: &&str| Some((*text).to_owned()).filter(|text| !text.is_empty());
        ServerListing {
            name,
            statement: String::new(),
            columns: columns
                .iter()
                .map(|name| ListingColumn::text(name))
                .collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(cell).collect())
                .collect(),
        }
    }

    fn postgres(commits: [&str; 2], writes: &str, lsn: &str) -> ServerTally {
        let rows: [&[&str]; 2] = [&["a", commits[0]], &["b", commits[1]]];
        tally(&ServerReading {
            listings: vec![
                listing("pg_lsn", &["now", "insert_lsn"], &[&["x", lsn]]),
                listing("pg_stat_database", &["datname", "xact_commit"], &rows),
                listing(
                    "pg_stat_io",
                    &["object", "context", "writes", "fsyncs"],
                    &[
                        &["wal", "normal", writes, "7"],
                        &["wal", "normal", "", "0"],
                        &["wal", "init", "90", "9"],
                        &["relation", "normal", "50", "5"],
                    ],
                ),
            ],
            refused: Vec::new(),
        })
    }

    #[test]
    fn a_server_counts_what_it_wrote_between_two_readings() {
        let before = postgres(["10", "5"], "100", "0/FFFFFF00");
        let after = postgres(["30", "6"], "140", "1/100");
        let grown = after.since(&before);
        assert_eq!((grown.commits, grown.writes), (Some(21), Some(40)));
        assert_eq!(grown.redo_bytes, Some(0x200));
        assert_eq!(grown.flushes, None, "none were counted");
        let restarted = before.since(&after);
        assert_eq!((restarted.commits, restarted.redo_bytes), (None, None));
        assert_eq!(
            ServerTally::default().since(&before),
            ServerGrown::default()
        );
    }

    #[test]
    fn commits_in_the_binary_log_are_not_counted_twice() {
        let status = |handler: &str, binlog: &str| {
            let rows: [&[&str]; 4] = [
                &["Handler_commit", handler],
                &["Binlog_commits", binlog],
                &["Innodb_lsn_current", "5000"],
                &["Innodb_log_writes", "3"],
            ];
            tally(&ServerReading {
                listings: vec![listing("global_status", &["Variable_name", "Value"], &rows)],
                refused: Vec::new(),
            })
        };
        let commits = |a: ServerTally, b: ServerTally| b.since(&a).commits;
        assert_eq!(commits(status("10", "0"), status("30", "0")), Some(20));
        assert_eq!(commits(status("10", "5"), status("30", "15")), Some(10));
        assert_eq!(position("x/1"), None);
        assert_eq!(position("1/100000000"), None);
    }
}
