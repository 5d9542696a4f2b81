//! SQLite: a statement a transaction, through its write-ahead log with full synchronisation.

use super::{Class, Opened, Peer, Place, Step, blocking, key};
use crate::AnyError;
use rusqlite::Connection;
use std::sync::{Arc, Mutex};

pub const PEER: Peer = Peer {
    name: "sqlite",
    class: Class::Single,
    package: "libsqlite3-sys",
    settings: "WAL, synchronous=FULL, one connection behind a lock (its writers exclude each other \
               and would sleep), prepared statement, a checkpoint every 4,000 pages, the WAL file \
               reused",
    open: Some(open),
};

fn open(place: &Place) -> Result<Opened, AnyError> {
    let connection = Connection::open(place.directory.join("rows.sqlite"))?;
    let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(format!("journal mode is {mode}").into());
    }
    connection.execute_batch(
        "PRAGMA synchronous=FULL;
         PRAGMA locking_mode=EXCLUSIVE;
         PRAGMA wal_autocheckpoint=4000;
         CREATE TABLE rows(id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
    )?;
    let connection = Arc::new(Mutex::new(connection));
    let committer = |number: u32| -> Step {
        let connection = Arc::clone(&connection);
        let mut next = 0;
        blocking(move |record| {
            next += 1;
            let id = i64::try_from(key(number, next))?;
            let connection = connection
                .lock()
                .map_err(|_| "another committer panicked")?;
            let mut insert = connection.prepare_cached("REPLACE INTO rows VALUES (?1, ?2)")?;
            insert.execute((id, record))?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new(connection),
    })
}
