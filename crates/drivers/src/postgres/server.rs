//! What a server is: its version, whether redolab may commit on it, and its settings.
//!
//! Invariant: settings are read on the connection that commits, so those of its role and database
//! are among them.

use super::connection::Connection;
use super::error::PostgresError;
use super::url::ALLOW_LOGICAL_SLOTS;
use crate::client::changed_setting;
use measure::run::DatabaseFacts;
use std::collections::BTreeMap;

/// The oldest version, as `server_version_num` has it.
const VERSION_MIN: u32 = 120_000;
/// Settings that decide how durable a commit is, or what it costs; a version has most of them.
pub const SETTINGS: [&str; 24] = [
    "commit_delay",
    "commit_siblings",
    "data_checksums",
    "fsync",
    "full_page_writes",
    "max_wal_size",
    "synchronous_commit",
    "synchronous_standby_names",
    "track_wal_io_timing",
    "wal_block_size",
    "wal_buffers",
    "wal_compression",
    "wal_init_zero",
    "wal_level",
    "wal_recycle",
    "wal_segment_size",
    "wal_sync_method",
    "wal_writer_delay",
    "wal_writer_flush_after",
    "archive_mode",
    "checkpoint_timeout",
    "debug_io_direct",
    "io_method",
    "track_commit_timestamp",
];

/// Whether a server can be used, in one row: in recovery, logical slots, and whether the user may
/// call the function that writes messages (NULL where there is none).
const STATE: &str = "SELECT pg_catalog.pg_is_in_recovery(), \
     (SELECT pg_catalog.count(*) FROM pg_catalog.pg_replication_slots \
       WHERE slot_type = 'logical'), \
     (SELECT pg_catalog.bool_and(pg_catalog.has_function_privilege(oid, 'EXECUTE')) \
       FROM pg_catalog.pg_proc WHERE proname = 'pg_logical_emit_message' \
       AND pronamespace = 'pg_catalog'::pg_catalog.regnamespace \
       AND proargtypes[2] = 'pg_catalog.bytea'::pg_catalog.regtype)";

/// Reads the facts of a server, on which redolab may commit.
///
/// # Errors
/// It cannot be used, and what to do.
pub fn facts(
    connection: &mut Connection,
    allows_logical_slots: bool,
) -> Result<DatabaseFacts, PostgresError> {
    let version = show(connection, "server_version")?;
    let number: Option<u32> = show(connection, "server_version_num")?.parse().ok();
    if number.is_none_or(|number| number < VERSION_MIN) {
        return Err(PostgresError::Unusable(format!(
            "the server is PostgreSQL {version}; redolab needs version 12 or newer"
        )));
    }
    let state = connection.query(STATE)?;
    let row: Vec<Option<&str>> = state.iter().flatten().map(Option::as_deref).collect();
    check(&row, allows_logical_slots)?;
    let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
    let rows = connection.query(&format!(
        "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings \
         WHERE name IN ({names})"
    ))?;
    let mut settings = BTreeMap::new();
    for row in rows {
        let mut row = row.into_iter();
        if let (Some(Some(name)), Some(Some(value))) = (row.next(), row.next()) {
            settings.insert(name, value);
        }
    }
    Ok(DatabaseFacts {
        product: "PostgreSQL".to_owned(),
        version,
        settings,
        ..DatabaseFacts::default()
    })
}

/// Judges the row that [`STATE`] returns.
fn check(row: &[Option<&str>], allows_logical_slots: bool) -> Result<(), PostgresError> {
    let unusable = |text: &str| Err(PostgresError::Unusable(text.to_owned()));
    let [recovery, slots, privilege] = row else {
        return Err(PostgresError::Protocol(
            "a query has another row than it asks for",
        ));
    };
    if *recovery != Some("f") {
        return unusable(
            "the server is in recovery (a standby), and accepts no commits: use the address of \
             the primary",
        );
    }
    match privilege {
        Some("t") => {}
        Some(_) => {
            return unusable(
                "the user may not write messages: GRANT EXECUTE ON FUNCTION \
                 pg_logical_emit_message to the user, or use another one",
            );
        }
        None => {
            return unusable(
                "the server has no function pg_logical_emit_message, so it is not PostgreSQL 12 \
                 or newer",
            );
        }
    }
    if *slots != Some("0") && !allows_logical_slots {
        return Err(PostgresError::Unusable(format!(
            "the server has a logical replication slot, whose consumer would receive every \
             message that redolab commits: drop the slot, use another server, or add \
             {ALLOW_LOGICAL_SLOTS}=1 to the parameters of the address"
        )));
    }
    Ok(())
}

/// Whether settings changed between two readings, and which.
///
/// # Errors
/// The first setting that differs.
pub fn unchanged(first: &DatabaseFacts, now: &DatabaseFacts) -> Result<(), PostgresError> {
    changed_setting(first, now).map_or(Ok(()), |change| Err(PostgresError::Unusable(change)))
}

/// Whether commits have the records of `wal_level = logical`.
#[must_use]
pub fn is_logical(facts: &DatabaseFacts) -> bool {
    let level = facts.settings.get("wal_level");
    level.is_some_and(|level| level == "logical")
}

fn show(connection: &mut Connection, name: &str) -> Result<String, PostgresError> {
    let rows = connection.query(&format!("SHOW {name}"))?;
    let value = rows.into_iter().flatten().next().flatten();
    value.ok_or(PostgresError::Protocol("a setting has no value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_cannot_be_used_are_refused() {
        let usable = [Some("f"), Some("0"), Some("t")];
        assert!(check(&usable, false).is_ok());
        assert!(check(&[Some("f"), Some("2"), Some("t")], true).is_ok());
        for (row, part) in [
            ([Some("t"), Some("0"), Some("t")], "in recovery"),
            ([None, Some("0"), Some("t")], "in recovery"),
            ([Some("f"), Some("2"), Some("t")], "allow_logical_slots=1"),
            ([Some("f"), None, Some("t")], "logical replication slot"),
            ([Some("f"), Some("0"), Some("f")], "GRANT EXECUTE"),
            ([Some("f"), Some("0"), None], "no function"),
        ] {
            let error = check(&row, false).expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(check(&usable[..2], false).is_err());
    }
}
