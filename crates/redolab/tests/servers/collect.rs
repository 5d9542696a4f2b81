//! `redolab collect postgres` and `collect mariadb` on real servers.

use crate::harness::{Place, entries};
use crate::secrets::expect_no_file_with;
use crate::{databases, mariadb};
use std::fs;
use std::path::Path;

const PASSWORD: &str = "hunter2";

/// Files of a collection that any version gives, with a word that each contains.
fn expect_files(place: &Place, folder: &str, wanted: &[(&str, &str)]) {
    let folder = place.path().join(folder);
    for (name, word) in wanted {
        let text = fs::read_to_string(folder.join(name)).expect(name);
        assert!(text.contains(word), "{name}: {text}");
    }
    let names = entries(&folder);
    assert!(
        names.iter().any(|name| name.starts_with("waits-")),
        "{names:?}"
    );
    assert!(names.iter().any(|name| name == "iostat.txt"), "{names:?}");
    assert!(expect_no_file_with(&folder, PASSWORD, Path::new("")) >= wanted.len());
}

#[test]
fn postgres_is_read_twice_and_stays_as_it_is() {
    let Some(server) = databases::server() else {
        return;
    };
    let place = Place::new();
    let objects = || server.value("SELECT count(*) FROM pg_class, pg_roles");
    let before = objects();
    let address = server.tcp_address(&format!("bench:{PASSWORD}"));
    let collect = ["collect", "postgres", &address, "--time", "1s", "-o", "got"];
    let done = place.run(&collect);
    done.expect(
        0,
        &["Reading postgres://bench@127.0.0.1", "nothing is changed"],
    );
    assert!(!format!("{}{}", done.out, done.err).contains(PASSWORD));
    assert_eq!(objects(), before);
    let mut wanted = vec![
        ("begin-version.txt", "PostgreSQL"),
        ("begin-pg_settings.txt", "wal_sync_method"),
        ("begin-pg_stat_database.txt", "xact_commit"),
        ("end-pg_stat_database.txt", "xact_commit"),
        ("end-pg_lsn.txt", "insert_lsn"),
    ];
    let has_view = server.value("SELECT to_regclass('pg_stat_wal') IS NOT NULL") == "t";
    if has_view {
        wanted.extend([
            ("begin-pg_stat_wal.txt", "wal_bytes"),
            ("end-pg_stat_wal.txt", "(1 row)"),
        ]);
    }
    expect_files(&place, "got", &wanted);
    place.run(&collect).expect(2, &["has files already"]);
    place.run(&["import", "got"]).expect(0, &["iostat"]);
}

#[test]
fn mariadb_is_read_twice_and_stays_as_it_is() {
    let Some(server) = mariadb::server() else {
        return;
    };
    let place = Place::new();
    let before = server.everything_else();
    let address = server.tcp_address(&format!("guest:{PASSWORD}"));
    let collect = ["collect", "mariadb", &address, "--time", "1s", "-o", "got"];
    let done = place.run(&collect);
    // The user may not read the status of InnoDB.
    done.expect(
        0,
        &["nothing is changed", "Not read at the end: innodb_status"],
    );
    assert!(!format!("{}{}", done.out, done.err).contains(PASSWORD));
    expect_files(
        &place,
        "got",
        &[
            (
                "begin-global_variables.txt",
                "innodb_flush_log_at_trx_commit",
            ),
            ("begin-global_status.txt", "Innodb_os_log_written"),
            ("end-global_status.txt", "rows in set"),
        ],
    );
    assert!(server.everything_else() == before, "nothing was made");
    server
        .sql("GRANT PROCESS ON *.* TO guest@'127.0.0.1'")
        .expect("granted");
    let before = server.everything_else();
    let again = ["collect", "mariadb", &address, "--time", "1s", "-o", "more"];
    place.run(&again).expect(0, &["end-innodb_status.txt"]);
    expect_files(
        &place,
        "more",
        &[("end-innodb_status.txt", "INNODB MONITOR OUTPUT")],
    );
    assert!(server.everything_else() == before, "nothing was made");
    place.run(&["import", "more"]).expect(0, &["iostat"]);
    let redacted = ["--time", "200ms", "--redact", "names", "-o", "redacted"];
    place
        .run(&[&["collect", "mariadb", &address], &redacted[..]].concat())
        .expect(0, &[]);
    let path = server.folder().display().to_string();
    let plain = fs::read_to_string(place.path().join("more/begin-global_variables.txt"));
    assert!(
        plain.expect("written").contains(&path),
        "a path of the server"
    );
    expect_no_file_with(&place.path().join("redacted"), &path, Path::new(""));
}
