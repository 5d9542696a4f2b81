//! What the disk holds of everything acknowledged through the embedded log: what recovery would
//! return, and where it returns nothing, what is in the place.
//!
//! Invariants: nothing is written or flushed; the log's own files decide what recovery returns, but
//! where a record has to be is computed from what the server kept, so that files that are missing
//! or damaged do not hide anything.

use super::PowerTestError;
use super::judge::{CheckedWrite, PlaceFound};
use super::messages::{PowerAck, TestedLog};
use super::records::{TestId, from_hex, hash, record};
use crate::folder::Folder;
use measure::words::sanitize;
use redo::Geometry;
use redo::engine::{Inspection, LogBlocks, RecordFound};
use redo::format::{LifeId, LogId};
use std::collections::BTreeMap;
use std::path::Path;

/// What was found of the acknowledged writes.
#[derive(Debug, Default)]
pub(super) struct FoundWrites {
    /// Each acknowledged write, in the order in which the server kept them.
    pub(super) writes: Vec<CheckedWrite>,
    /// Streams and positions at which anything whole was found.
    pub(super) later: Vec<(u32, u64)>,
    /// What was unusual, in sentences.
    pub(super) notes: Vec<String>,
}

/// Where a log was written to.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeftLog<'a> {
    /// To files in a folder.
    Files(&'a Folder),
    /// To a raw device.
    Device(&'a Path),
}

impl LeftLog<'_> {
    fn path(&self) -> &Path {
        match self {
            LeftLog::Files(folder) => folder.path(),
            LeftLog::Device(path) => path,
        }
    }
}

/// The geometry of the log, as the server kept it.
fn geometry(log: &TestedLog) -> Option<Geometry> {
    let geometry = Geometry {
        block_bytes: log.block_bytes,
        seal_blocks: log.seal_blocks,
        groups: log.groups,
        blocks_per_group: log.blocks_per_group,
        header_bytes: log.header_bytes,
        file_bytes: log.file_bytes,
    };
    let redo = log.blocks_per_group.checked_mul(log.block_bytes.into())?;
    let fits = redo.checked_add(log.header_bytes)? <= log.file_bytes;
    let possible = matches!(log.block_bytes, 512 | 4096)
        && (2..=1024).contains(&log.groups)
        && log.blocks_per_group > 0
        && log.file_bytes <= redo::group::MAX_FILE_BYTES;
    (fits && possible).then_some(geometry)
}

/// Looks for every acknowledged record of `test` where it was written to.
///
/// # Errors
/// Only where what the server kept makes no sense: what is wrong on the disk is a finding.
pub(super) fn find(
    left: LeftLog<'_>,
    log: &TestedLog,
    test: TestId,
    acks: &[PowerAck],
) -> Result<FoundWrites, PowerTestError> {
    let wrong = || PowerTestError::Failed("the server describes a log that cannot be".to_owned());
    let geometry = geometry(log).ok_or_else(wrong)?;
    let log_id = LogId(from_hex(&log.log_id).ok_or_else(wrong)?);
    let life = from_hex(&log.life_id)
        .and_then(LifeId::from_bytes)
        .ok_or_else(wrong)?;
    let mut found = FoundWrites::default();
    let recovered = recovered(left.path(), &geometry, log_id, &mut found.notes);
    let mut blocks = match left {
        LeftLog::Files(folder) => LogBlocks::open(folder.directory(), geometry, log_id, life),
        LeftLog::Device(path) => LogBlocks::open_device(path, geometry, log_id, life),
    };
    let mut payload = Vec::new();
    for (number, ack) in (0..).zip(acks) {
        let is_back = recovered.get(&(ack.at, ack.offset)) == Some(&(ack.length, ack.hash));
        let (place, at) = match is_back {
            true => (PlaceFound::Kept, ack.at),
            false => in_place(&mut blocks, test, ack, &mut payload),
        };
        found.writes.push(CheckedWrite {
            stream: 0,
            at,
            number,
            after: 0,
            found: place,
        });
    }
    let first = found
        .writes
        .iter()
        .filter(|w| w.found != PlaceFound::Kept)
        .map(|w| w.at)
        .min();
    if let Some(last) = first.and_then(|first| blocks.last_whole(first + 1)) {
        found.later.push((0, last));
    }
    Ok(found)
}

/// What is in the place of a record that recovery does not return, and the first block that is not
/// whole.
fn in_place(
    blocks: &mut LogBlocks,
    test: TestId,
    ack: &PowerAck,
    payload: &mut Vec<u8>,
) -> (PlaceFound, u64) {
    payload.resize(ack.length as usize, 0);
    record(payload, test, ack.session, ack.sequence);
    if hash(payload) != ack.hash {
        // The acknowledgement is not of a record of this test.
        return (PlaceFound::Foreign, ack.at);
    }
    let (found, at) = blocks.record(ack.at, ack.offset, payload);
    let place = match found {
        RecordFound::Whole => PlaceFound::Unreachable,
        RecordFound::Missing => PlaceFound::Missing,
        RecordFound::Torn => PlaceFound::Torn,
        RecordFound::Foreign => PlaceFound::Foreign,
    };
    (place, at)
}

/// Length and hash of the records that recovery would return, by block and offset.
type Recovered = BTreeMap<(u64, u32), (u32, u64)>;

fn recovered(
    path: &Path,
    geometry: &Geometry,
    log_id: LogId,
    notes: &mut Vec<String>,
) -> Recovered {
    let mut out = Recovered::new();
    let mut note = |what: String| notes.push(sanitize::line(&what));
    let log = match Inspection::open(path) {
        Ok(log) => log,
        Err(e) => {
            note(format!("Recovery returns nothing: {e}."));
            return out;
        }
    };
    if log.control().log_id != log_id || log.control().geometry != *geometry {
        note("Recovery returns nothing: what is there is another log.".to_owned());
        return out;
    }
    let scanned = log.scan(|rba, record| {
        if let Some(block) = geometry.stream_block(rba) {
            let place = (block, u32::from(rba.offset));
            out.insert(place, (record.len() as u32, hash(record)));
        }
    });
    if let Err(e) = scanned {
        note(format!("Recovery refuses the log: {e}."));
    }
    out
}
