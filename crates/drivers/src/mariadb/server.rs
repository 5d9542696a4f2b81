//! What a server is: its product and version, whether redolab may commit on it, and its settings.
//!
//! Invariant: settings are read as sessions see them.

use super::connection::ServerConnection;
use super::error::MariadbError;
use crate::client::changed_setting;
use measure::run::DatabaseFacts;
use std::collections::BTreeMap;

/// The oldest versions.
const MARIADB_MIN: (u32, u32) = (10, 2);
const MYSQL_MIN: (u32, u32) = (8, 0);
/// Settings that refuse commits where they are not `OFF`.
const READ_ONLY: [&str; 5] = [
    "innodb_read_only",
    "read_only",
    "super_read_only",
    "transaction_read_only",
    "tx_read_only",
];
/// The setting that names the directory of the redo log.
pub const LOG_DIRECTORY: &str = "innodb_log_group_home_dir";
/// Settings that decide how durable a commit is, or what it costs; a version has most of them.
pub const SETTINGS: [&str; 43] = [
    "binlog_format",
    "binlog_order_commits",
    "binlog_row_image",
    "innodb_autoextend_increment",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_checksum_algorithm",
    "innodb_doublewrite",
    "innodb_encrypt_log",
    "innodb_fast_shutdown",
    "innodb_flush_log_at_timeout",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_sync",
    "innodb_io_capacity",
    "innodb_log_buffer_size",
    "innodb_log_checksums",
    "innodb_log_compressed_pages",
    "innodb_log_file_buffering",
    "innodb_log_file_size",
    "innodb_log_file_write_through",
    "innodb_log_files_in_group",
    "innodb_log_spin_wait_delay",
    "innodb_log_write_ahead_size",
    "innodb_log_writer_threads",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_redo_log_encrypt",
    "innodb_deadlock_detect",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "innodb_use_native_aio",
    "log_bin",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "version_comment",
    "wsrep_on",
    LOG_DIRECTORY,
    "performance_schema",
];

/// A server as a session finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// Product, version and settings.
    pub facts: DatabaseFacts,
    /// Bytes of an InnoDB page.
    pub page_bytes: u32,
    /// The longest packet that the server accepts.
    pub packet_bytes: u64,
}

impl ServerState {
    /// What is known of a server with MariaDB's defaults before it is made.
    #[must_use]
    pub fn of_defaults() -> ServerState {
        ServerState {
            facts: DatabaseFacts::default(),
            page_bytes: 16 << 10,
            packet_bytes: 16 << 20,
        }
    }
}

/// Reads the state of a server, on which redolab may commit.
///
/// # Errors
/// It cannot be used, and what to do.
pub fn state(connection: &mut ServerConnection) -> Result<ServerState, MariadbError> {
    let product = product(&connection.version)?;
    let names: Vec<&str> = SETTINGS
        .iter()
        .chain(&READ_ONLY)
        .chain(&["max_allowed_packet"])
        .copied()
        .collect();
    let rows = connection.query(&format!(
        "SHOW VARIABLES WHERE Variable_name IN ('{}')",
        names.join("', '")
    ))?;
    let mut settings = BTreeMap::new();
    for row in rows {
        if let [Some(name), Some(value)] = row.as_slice() {
            settings.insert(name.clone(), value.clone());
        }
    }
    refuse_read_only(&mut settings)?;
    let packet = settings.remove("max_allowed_packet");
    let packet_bytes = packet.and_then(|text| text.parse().ok());
    let page = settings.get("innodb_page_size");
    let page_bytes = page.and_then(|text| text.parse().ok());
    let (Some(page_bytes), Some(packet_bytes)) = (page_bytes, packet_bytes) else {
        return Err(MariadbError::Unusable(
            "the server has no InnoDB: start it with that engine".to_owned(),
        ));
    };
    Ok(ServerState {
        facts: DatabaseFacts {
            product: product.to_owned(),
            version: connection.version.clone(),
            settings,
            ..DatabaseFacts::default()
        },
        page_bytes,
        packet_bytes,
    })
}

/// The product of a version that can be used.
fn product(version: &str) -> Result<&'static str, MariadbError> {
    let (product, least) = match version.contains("MariaDB") {
        true => ("MariaDB", MARIADB_MIN),
        false => ("MySQL", MYSQL_MIN),
    };
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse::<u32>().ok());
    let number = numbers.next().flatten().zip(numbers.next().flatten());
    if number.is_none_or(|number| number < least) {
        return Err(MariadbError::Unusable(format!(
            "the server is {product} {version}; redolab needs MariaDB 10.2 or MySQL 8.0, or newer"
        )));
    }
    Ok(product)
}

/// Whether commits on a server return before they are flushed: then none of its sessions waits.
#[must_use]
pub fn commits_wait_for_nothing(facts: &DatabaseFacts) -> bool {
    let is = |name: &str, values: &[&str]| {
        let value = facts.settings.get(name);
        value.is_some_and(|value| values.iter().any(|of| value.eq_ignore_ascii_case(of)))
    };
    // A binary log is off unless it has a name, or is `ON`, and what flushes it is waited for.
    let no_binary_log = !facts.settings.contains_key("log_bin") || is("log_bin", &["OFF", "0"]);
    is("innodb_flush_log_at_trx_commit", &["0", "2"])
        && (no_binary_log || is("sync_binlog", &["0"]))
}

/// Takes out the settings that refuse commits.
fn refuse_read_only(settings: &mut BTreeMap<String, String>) -> Result<(), MariadbError> {
    for name in READ_ONLY {
        let value = settings.remove(name);
        let is_off = |value: &String| ["OFF", "0"].contains(&value.as_str());
        if value.as_ref().is_some_and(|value| !is_off(value)) {
            return Err(MariadbError::Unusable(format!(
                "the server accepts no commits, because its setting {name} is on (a replica?): use \
                 the address of the primary, or SET GLOBAL {name} = OFF if the server is for tests"
            )));
        }
    }
    Ok(())
}

/// Whether settings changed between two readings, and which.
///
/// # Errors
/// The first setting that differs.
pub fn unchanged(first: &DatabaseFacts, now: &DatabaseFacts) -> Result<(), MariadbError> {
    changed_setting(first, now).map_or(Ok(()), |change| Err(MariadbError::Unusable(change)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_refused() {
        for (version, expected) in [
            ("10.11.19-MariaDB-0+deb12u1", Some("MariaDB")),
            ("11.4.2-MariaDB-log", Some("MariaDB")),
            ("10.2.0-MariaDB", Some("MariaDB")),
            ("8.0.36", Some("MySQL")),
            ("9.1.0-commercial", Some("MySQL")),
            ("10.1.48-MariaDB", None),
            ("5.5.68-MariaDB", None),
            ("5.7.44-log", None),
            ("", None),
            ("x", None),
        ] {
            let found = product(version);
            assert_eq!(found.as_ref().ok().copied(), expected, "{version}");
            if let Err(error) = found {
                assert!(error.to_string().contains("MariaDB 10.2"), "{error}");
            }
        }
    }

    #[test]
    fn a_server_that_accepts_no_commits_is_refused() {
        let with = |name: &str, value: &str| {
            BTreeMap::from([
                (name.to_owned(), value.to_owned()),
                ("a".into(), "b".into()),
            ])
        };
        for name in READ_ONLY {
            let mut writable = with(name, "OFF");
            assert!(refuse_read_only(&mut writable).is_ok(), "{name}");
            assert_eq!(writable.len(), 1, "it is no setting of a commit");
            for value in ["ON", "NO_LOCK", "1"] {
                let error = refuse_read_only(&mut with(name, value)).expect_err(name);
                assert!(error.to_string().contains(name), "{error}");
            }
        }
    }

    #[test]
    fn commits_wait_for_nothing_where_neither_log_is_flushed() {
        for (flush, binary_log, sync, expected) in [
            ("0", "OFF", "0", true),
            ("2", "OFF", "1", true),
            ("2", "ON", "0", true),
            ("2", "ON", "1", false),
            ("0", "ON", "100", false),
            ("1", "OFF", "0", false),
            ("3", "OFF", "0", false),
        ] {
            let settings = [
                ("innodb_flush_log_at_trx_commit", flush),
                ("log_bin", binary_log),
                ("sync_binlog", sync),
            ];
            let facts = DatabaseFacts {
                settings: settings.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
                ..DatabaseFacts::default()
            };
            let found = commits_wait_for_nothing(&facts);
            assert_eq!(found, expected, "{flush} {binary_log} {sync}");
        }
        assert!(!commits_wait_for_nothing(&DatabaseFacts::default()));
    }

    #[test]
    fn a_changed_setting_is_named() {
        let facts = |value: &str| DatabaseFacts {
            settings: BTreeMap::from([("sync_binlog".to_owned(), value.to_owned())]),
            ..DatabaseFacts::default()
        };
        assert!(unchanged(&facts("1"), &facts("1")).is_ok());
        let error = unchanged(&facts("1"), &facts("0")).expect_err("changed");
        assert!(error.to_string().contains("from 1 to 0"), "{error}");
        assert!(unchanged(&facts("1"), &DatabaseFacts::default()).is_err());
    }
}
