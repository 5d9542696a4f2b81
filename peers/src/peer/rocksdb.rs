//! RocksDB: a put with sync a commit, one queue of writers or two (pipelined).

use super::{Class, Opened, Peer, Place, Step, blocking, key};
use crate::AnyError;
use rocksdb::{DB, DBRecoveryMode, Options, WriteOptions};
use std::sync::Arc;

pub const SYNC: Peer = Peer {
    name: "rocksdb",
    class: Class::GroupCommit,
    package: "rocksdb",
    settings: "put with sync; memtables of 64 MiB, no compactions; four recycled logs \
               (point-in-time recovery, which allows them), filled before the load by five \
               memtables without sync",
    open: Some(open),
};

pub const PIPELINED: Peer = Peer {
    name: "rocksdb:pipelined",
    settings: "the same with enable_pipelined_write",
    ..SYNC
};

const MEMTABLE_MIB: u64 = 64;

fn open(place: &Place) -> Result<Opened, AnyError> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size((MEMTABLE_MIB as usize) << 20);
    options.set_max_write_buffer_number(6);
    options.set_disable_auto_compactions(true);
    options.set_level_zero_slowdown_writes_trigger(1 << 20);
    options.set_level_zero_stop_writes_trigger(1 << 20);
    options.set_recycle_log_file_num(4);
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_enable_pipelined_write(place.variant == "pipelined");
    let database = Arc::new(DB::open(&options, place.directory)?);
    let large = measure::workload::pool(7, 1 << 20);
    for number in 0..5 * MEMTABLE_MIB {
        database.put(key(u32::MAX, number).to_be_bytes(), &large[..])?;
        if number % MEMTABLE_MIB == MEMTABLE_MIB - 1 {
            database.flush()?;
        }
    }
    let committer = |number: u32| -> Step {
        let database = Arc::clone(&database);
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        let mut next = 0;
        blocking(move |record| {
            next += 1;
            database.put_opt(key(number, next).to_be_bytes(), record, &durable)?;
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
