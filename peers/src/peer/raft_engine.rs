//! raft-engine: each committer is a Raft group that appends entries and is compacted behind them.

use super::{Class, Opened, Peer, Place, Step, blocking};
use crate::AnyError;
use protobuf::well_known_types::BytesValue;
use raft_engine::{Config, Engine, LogBatch, MessageExt, ReadableSize};
use std::sync::Arc;

pub const PEER: Peer = Peer {
    name: "raft-engine",
    class: Class::GroupCommit,
    package: "raft-engine",
    settings: "a Raft group for each committer, one entry a write with sync; no compression; log \
               files of 64 MiB, recycled and prefilled, the prefill synced and two rotations made \
               before the load (the first file is never prefilled); purged behind the load at \
               256 MiB",
    open: Some(open),
};

/// Entries of a group that stay in its memory table.
const KEPT: u64 = 256;
const FILE_MIB: u64 = 64;

/// An entry is a message of bytes, of which the first eight are its index.
struct Stamped;

impl MessageExt for Stamped {
    type Entry = BytesValue;

    fn index(entry: &BytesValue) -> u64 {
        let stamp = entry.get_value().first_chunk::<8>();
        stamp.map_or(0, |stamp| u64::from_le_bytes(*stamp))
    }
}

fn entry(index: u64, record: &[u8]) -> BytesValue {
    let mut value = Vec::with_capacity(record.len());
    value.extend_from_slice(&index.to_le_bytes());
    value.extend_from_slice(record.get(8..).unwrap_or_default());
    let mut entry = BytesValue::new();
    entry.set_value(value);
    entry
}

fn open(place: &Place) -> Result<Opened, AnyError> {
    let config = Config {
        dir: place.directory.display().to_string(),
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize::mb(FILE_MIB),
        purge_threshold: ReadableSize::mb(4 * FILE_MIB),
        enable_log_recycle: true,
        prefill_for_recycle: true,
        ..Config::default()
    };
    let engine = Arc::new(Engine::open(config)?);
    for file in std::fs::read_dir(place.directory)? {
        std::fs::File::open(file?.path())?.sync_all()?;
    }
    rotate(&engine)?;
    let committer = |number: u32| -> Step {
        let (engine, region) = (Arc::clone(&engine), u64::from(number) + 1);
        let mut batch = LogBatch::with_capacity(1);
        let mut index = 0;
        blocking(move |record| {
            index += 1;
            batch.add_entries::<Stamped>(region, &[entry(index, record)])?;
            engine.write(&mut batch, true)?;
            if index % KEPT == 0 {
                engine.compact_to(region, index);
            }
            Ok(())
        })
    };
    let steps = (0..place.threads).map(committer).collect();
    let purged = Arc::clone(&engine);
    let housekeeping = Box::new(move || {
        purged.purge_expired_files()?;
        Ok(())
    });
    Ok(Opened {
        steps,
        tasks: Vec::new(),
        in_flight: 1,
        housekeeping: Some(housekeeping),
        log: Box::new(engine),
    })
}

/// Writes two files' worth without sync, so that the load begins in a recycled file.
fn rotate(engine: &Engine) -> Result<(), AnyError> {
    let region = u64::MAX >> 1;
    let large = measure::workload::pool(7, 1 << 20);
    let mut batch = LogBatch::with_capacity(1);
    for index in 1..=2 * FILE_MIB {
        batch.add_entries::<Stamped>(region, &[entry(index, &large)])?;
        engine.write(&mut batch, false)?;
        engine.compact_to(region, index);
    }
    engine.sync()?;
    Ok(())
}
