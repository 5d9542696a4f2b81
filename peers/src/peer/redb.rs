//! redb: a write transaction a commit; it has one writer at a time.

use super::{Class, Opened, Peer, Place, Step, blocking, key};
use crate::AnyError;
use redb::{Database, TableDefinition};
use std::sync::Arc;

pub const PEER: Peer = Peer {
    name: "redb",
    class: Class::Single,
    package: "redb",
    settings: "a write transaction with Durability::Immediate, one-phase",
    open: Some(open),
};

const ROWS: TableDefinition<u64, &[u8]> = TableDefinition::new("rows");

fn open(place: &Place) -> Result<Opened, AnyError> {
    let database = Arc::new(Database::create(place.directory.join("rows.redb"))?);
    let committer = |number: u32| -> Step {
        let database = Arc::clone(&database);
        let mut next = 0;
        blocking(move |record| {
            next += 1;
            let mut transaction = database.begin_write()?;
            transaction.set_durability(redb::Durability::Immediate)?;
            transaction
                .open_table(ROWS)?
                .insert(key(number, next), record)?;
            transaction.commit()?;
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: None,
        log: Box::new(database),
    })
}
