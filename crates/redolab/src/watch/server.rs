//! What the server itself counts of its commits and its log, and how it is set, where it can be
//! asked: two readings, in a session that only reads.
//!
//! Invariant: what a version does not count, and what went backwards between the readings, is
//! `None`; of transactions that wrote at most those are counted that certainly did.

use drivers::collect::{ReadServer, ReadingMoment, ServerListing, ServerReading};
use measure::driver::DriverError;
use measure::run::ScopedSetting;
use std::collections::BTreeMap;

/// Fewer bytes of redo for each transaction are records of commits alone: what they wrote was
/// temporary or unlogged, and nobody has to wait for that.
const COMMIT_RECORD_BYTES: u64 = 80;
/// If less than this part of the transaction ids is left without those of subtransactions and
/// rollbacks, the rest depends on how late these are counted.
const LEFT_DIVISOR: u64 = 3;
/// Settings of roles and databases that are kept, at most.
const SCOPED_MAX: usize = 1024;
/// Where settings come from that hold for redolab's own session alone.
const OWN_SOURCES: [&str; 5] = ["database", "user", "database user", "client", "session"];

/// What a server has counted so far, and how it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The id that the next transaction will get.
    next_xid: Option<u64>,
    /// All transactions with an older id have ended.
    oldest_xid: Option<u64>,
    /// Ids of subtransactions, at most, and since when they are counted.
    subtransactions: Option<(u64, String)>,
    /// Rollbacks.
    rollbacks: Option<u64>,
    /// Sessions that are connected now.
    pub(super) sessions: Option<u64>,
    /// Its settings.
    pub(super) settings: BTreeMap<String, String>,
    /// Those of roles and databases.
    pub(super) scoped: Vec<ScopedSetting>,
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
    /// Transactions that wrote redo and committed, at least.
    pub(super) writing_commits: Option<u64>,
}

impl ServerTally {
    /// Asks the server.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn read(server: &mut dyn ReadServer) -> Result<ServerTally, DriverError> {
        Ok(tally(&server.read(ReadingMoment::Watched)?))
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
            writing_commits: self.writing_commits(before),
        }
    }

    /// Only a transaction that writes has an id, and so has each of its subtransactions. Both
    /// rollbacks and commits of transactions that only read are counted with the others.
    fn writing_commits(&self, before: &ServerTally) -> Option<u64> {
        let grown = |of: fn(&ServerTally) -> Option<u64>| of(self)?.checked_sub(of(before)?);
        let ids = self.oldest_xid?.checked_sub(before.next_xid?)?;
        let (now, then) = (self.subtransactions.as_ref()?, &before.subtransactions);
        let (then, since) = then.as_ref()?;
        let subtransactions = now.0.checked_sub(*then).filter(|_| now.1 == *since)?;
        let others = subtransactions.saturating_add(grown(|t| t.rollbacks)?);
        let left = ids.saturating_sub(others);
        let has_redo = grown(|t| t.position)? >= ids.saturating_mul(COMMIT_RECORD_BYTES);
        let is_known = has_redo && left >= ids / LEFT_DIVISOR;
        is_known.then_some(left.min(grown(|t| t.commits)?))
    }
}

fn tally(reading: &ServerReading) -> ServerTally {
    let listing = |name: &str| reading.listings.iter().find(|l| l.name == name);
    let of_wal = |column: &str| sum(listing("pg_stat_wal")?, column, &[]);
    let of_io = |column: &str| {
        let wanted = [("object", "wal"), ("context", "normal")];
        sum(listing("pg_stat_io")?, column, &wanted)
    };
    let of_databases = |column: &str| sum(listing("pg_stat_database")?, column, &[]);
    let xid = |column: &str| sum(listing("pg_snapshot")?, column, &[]);
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
        position(&cell(listing, listing.rows.first()?, "insert_lsn")?)
    };
    let subtransactions = || {
        let listing = listing("pg_stat_slru")?;
        let since = cell(listing, listing.rows.first()?, "stats_reset");
        Some((sum(listing, "accesses", &[])?, since.unwrap_or_default()))
    };
    ServerTally {
        commits: of_databases("xact_commit").or_else(|| status("Handler_commit")),
        binlog_commits: status("Binlog_commits"),
        position: lsn().or_else(|| status("Innodb_lsn_current")),
        writes: of_wal("wal_write")
            .or_else(|| of_io("writes"))
            .or_else(|| status("Innodb_log_writes")),
        flushes: of_wal("wal_sync")
            .or_else(|| of_io("fsyncs"))
            .or_else(|| status("Innodb_os_log_fsyncs")),
        next_xid: xid("next_xid"),
        oldest_xid: xid("oldest_xid"),
        subtransactions: subtransactions(),
        rollbacks: of_databases("xact_rollback"),
        sessions: of_databases("numbackends").or_else(|| status("Threads_connected")),
        settings: settings(&listing),
        scoped: listing("pg_db_role_setting").map_or_else(Vec::new, scoped),
    }
}

/// The settings that decide how durable a commit is, or what it costs.
fn settings<'a>(listing: &impl Fn(&str) -> Option<&'a ServerListing>) -> BTreeMap<String, String> {
    let postgres = listing("pg_settings").into_iter().flat_map(|listing| {
        listing.rows.iter().filter_map(|row| {
            let source = cell(listing, row, "source").unwrap_or_default();
            let own = OWN_SOURCES.contains(&source.as_str());
            let name = cell(listing, row, "name")?;
            let is_meant = !own && drivers::postgres::SETTINGS.contains(&name.as_str());
            is_meant.then_some((name, cell(listing, row, "setting")?))
        })
    });
    let mariadb = listing("global_variables").into_iter().flat_map(|listing| {
        listing.rows.iter().filter_map(|row| {
            let name = cell(listing, row, "Variable_name")?;
            let is_meant = drivers::mariadb::SETTINGS.contains(&name.as_str());
            is_meant.then_some((name, cell(listing, row, "Value")?))
        })
    });
    postgres.chain(mariadb).collect()
}

fn scoped(listing: &ServerListing) -> Vec<ScopedSetting> {
    let each = listing.rows.iter().filter_map(|row| {
        let setting = cell(listing, row, "setting")?;
        let (name, value) = setting.split_once('=')?;
        let is_meant = drivers::postgres::SETTINGS.contains(&name);
        is_meant.then(|| ScopedSetting {
            role: cell(listing, row, "role"),
            database: cell(listing, row, "database"),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    });
    each.take(SCOPED_MAX).collect()
}

fn column(listing: &ServerListing, name: &str) -> Option<usize> {
    listing
        .columns
        .iter()
        .position(|column| column.name == name)
}

/// A cell of a row, by the name of its column.
fn cell(listing: &ServerListing, row: &[Option<String>], name: &str) -> Option<String> {
    row.get(column(listing, name)?).cloned().flatten()
}

/// The sum of a column over the rows in which other columns have these values; `None` where there
/// is no such column or no number in it.
fn sum(listing: &ServerListing, name: &str, wanted: &[(&str, &str)]) -> Option<u64> {
    let fits = |row: &&Vec<Option<String>>| {
        wanted
            .iter()
            .all(|(name, value)| cell(listing, row, name).as_deref() == Some(*value))
    };
    let rows = listing.rows.iter().filter(fits);
    let numbers = rows.filter_map(|row| cell(listing, row, name)?.parse::<u64>().ok());
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

    /// A reading with these counts: the next and the oldest transaction id, subtransactions,
    /// commits, rollbacks, and the position of the log.
    fn ids(
        [next, oldest, subs, commits, rollbacks]: [u64; 5],
        lsn: &str,
        reset: &str,
    ) -> ServerTally {
        let text = |n: u64| n.to_string();
        let row = |cells: &[String]| cells.iter().cloned().map(Some).collect::<Vec<_>>();
        let one = |name, columns: &[&str], cells: &[String]| ServerListing {
            rows: vec![row(cells)],
            ..listing(name, columns, &[])
        };
        tally(&ServerReading {
            listings: vec![
                one("pg_lsn", &["insert_lsn"], &[lsn.to_owned()]),
                one(
                    "pg_snapshot",
                    &["next_xid", "oldest_xid"],
                    &[text(next), text(oldest)],
                ),
                one(
                    "pg_stat_slru",
                    &["accesses", "stats_reset"],
                    &[text(subs), reset.to_owned()],
                ),
                one(
                    "pg_stat_database",
                    &["xact_commit", "xact_rollback"],
                    &[text(commits), text(rollbacks)],
                ),
            ],
            refused: Vec::new(),
        })
    }

    #[test]
    fn only_commits_that_certainly_wrote_are_counted_as_such() {
        let before = ids([1_000, 990, 50, 500, 5], "0/0", "a");
        let since = |counts, lsn, reset| ids(counts, lsn, reset).since(&before).writing_commits;
        // 2,000 ids, of which 3 still run: each was a commit.
        assert_eq!(
            since([3_000, 2_997, 50, 2_490, 5], "0/100000", "a"),
            Some(1_990)
        );
        // As many commits that only read beside one transaction of 1,000 subtransactions.
        assert_eq!(
            since([2_001, 2_001, 1_050, 99_500, 5], "0/100000", "a"),
            None
        );
        // A few subtransactions and rollbacks are none of them.
        assert_eq!(
            since([3_000, 3_000, 550, 9_500, 105], "0/100000", "a"),
            Some(1_400)
        );
        // Transactions that only read have no id.
        assert_eq!(
            since([1_000, 1_000, 50, 99_500, 5], "0/100000", "a"),
            Some(0)
        );
        // Temporary and unlogged tables: nothing but the records of the commits.
        assert_eq!(since([3_000, 3_000, 50, 2_500, 5], "0/13880", "a"), None);
        // One transaction runs since before the beginning; statistics were reset.
        assert_eq!(since([3_000, 900, 50, 2_500, 5], "0/100000", "a"), None);
        assert_eq!(since([3_000, 3_000, 60, 2_500, 5], "0/100000", "b"), None);
    }

    #[test]
    fn settings_are_the_servers_own_and_those_of_roles_and_databases() {
        let found = tally(&ServerReading {
            listings: vec![
                listing(
                    "pg_settings",
                    &["name", "setting", "source"],
                    &[
                        &["fsync", "off", "configuration file"],
                        &["synchronous_commit", "off", "user"],
                        &["work_mem", "4MB", "default"],
                    ],
                ),
                listing(
                    "pg_db_role_setting",
                    &["role", "database", "setting"],
                    &[
                        &["app", "", "synchronous_commit=off"],
                        &["", "shop", "work_mem=8MB"],
                    ],
                ),
            ],
            refused: Vec::new(),
        });
        assert_eq!(
            found.settings,
            [("fsync".to_owned(), "off".to_owned())].into()
        );
        let app = ScopedSetting {
            role: Some("app".to_owned()),
            database: None,
            name: "synchronous_commit".to_owned(),
            value: "off".to_owned(),
        };
        assert_eq!(found.scoped, [app]);
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
