//! fjall: an insert and `persist` a commit.

use super::{Class, Opened, Peer, Place, Step, blocking, key};
use crate::AnyError;
use fjall::{Database, KeyspaceCreateOptions, PersistMode};

pub const PEER: Peer = Peer {
    name: "fjall",
    class: Class::Single,
    package: "fjall",
    settings: "insert, then persist(SyncData); its journal is not flushed to the system before \
               that (manual_journal_persist), not compressed; memtable of 64 MiB",
    open: Some(open),
};

fn open(place: &Place) -> Result<Opened, AnyError> {
    let database = Database::builder(place.directory.join("db"))
        .manual_journal_persist(true)
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .manual_journal_persist(true)
            .max_memtable_size(64 << 20)
    };
    let rows = database.keyspace("rows", options)?;
    let committer = |number: u32| -> Step {
        let (database, rows) = (database.clone(), rows.clone());
        let mut next = 0;
        blocking(move |record| {
            next += 1;
            rows.insert(key(number, next).to_be_bytes(), record)?;
            database.persist(PersistMode::SyncData)?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new((database, rows)),
    })
}
