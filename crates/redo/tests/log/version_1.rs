//! Logs that version 1 of the format wrote, kept as it left them: one open, as a killed process
//! leaves it, one closed. They open, are recovered whole, become version 2 with the next
//! incarnation, and can be inspected without being changed.
//!
//! The files are kept without the zeros and without the pseudo-random bytes behind the last block
//! (`version_1/*.sparse`): a line, then for each file its name, length and pieces.

use crate::common::{Scratch, commit, options, record, recovered};
use device::sim_disk::SimDisk;
use redo::control::{CONTROL_BYTES, COPY_BYTES, ControlInfo};
use redo::engine::{Inspection, Paths};
use redo::format::{FORMAT_VERSION, VERSION_WITHOUT_LIVES};
use redo::recovery::End;
use redo::{Error, Log, Rba};
use std::path::Path;
use std::sync::Arc;

/// The first record behind the checkpoint, and the one after the last.
const RECORDS: std::ops::Range<u32> = 218..242;
const LEFT_OPEN: &[u8] = include_bytes!("version_1/left_open.sparse");
const CLOSED: &[u8] = include_bytes!("version_1/closed.sparse");

/// Takes numbers and bytes off a kept file.
struct Kept<'a>(&'a [u8]);

impl<'a> Kept<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> usize {
        u32::from_le_bytes(self.take(4).try_into().expect("four bytes")) as usize
    }
}

/// The files of a kept log: names and contents.
fn files(kept: &[u8]) -> Vec<(String, Vec<u8>)> {
    let line = b"redolab sparse files 1\n";
    let mut kept = Kept(kept.strip_prefix(line).expect("a kept log"));
    let mut files = Vec::new();
    while !kept.0.is_empty() {
        let len = usize::from(kept.take(1)[0]);
        let name = String::from_utf8(kept.take(len).to_vec()).expect("a plain name");
        let mut content = vec![0; kept.number()];
        for _ in 0..kept.number() {
            let (at, len) = (kept.number(), kept.number());
            content[at..at + len].copy_from_slice(kept.take(len));
        }
        files.push((name, content));
    }
    files
}

fn unpacked(kept: &[u8]) -> Scratch {
    let scratch = Scratch::new();
    for (name, content) in files(kept) {
        std::fs::write(scratch.0.join(name), content).expect("writable");
    }
    scratch
}

/// What the log held when it was kept: one record of another kind is the last of the closed one.
fn expected(kept: &[u8]) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = RECORDS.map(|which| record(0, which)).collect();
    if kept == CLOSED {
        records.push(vec![3; 900]);
    }
    records
}

fn payloads(records: Vec<(Rba, Vec<u8>)>) -> Vec<Vec<u8>> {
    records.into_iter().map(|(_, payload)| payload).collect()
}

fn control(directory: &Path) -> ControlInfo {
    Log::inspect(directory).expect("a log").0
}

#[test]
fn it_is_recovered_and_goes_on_in_the_new_version() {
    for kept in [LEFT_OPEN, CLOSED] {
        let scratch = unpacked(kept);
        let before = control(&scratch.0);
        assert_eq!(before.version, VERSION_WITHOUT_LIVES);
        assert_eq!(before.closed_at.is_some(), kept == CLOSED);
        assert!(before.incarnations.iter().all(|i| i.life.is_none()));
        let (found, how) = recovered(&scratch.0);
        assert_eq!(payloads(found), expected(kept));
        assert_eq!(how, End::Clean);
        let upgraded = control(&scratch.0);
        assert_eq!(upgraded.version, FORMAT_VERSION);
        assert!(upgraded.current().life.is_some());

        let (log, _) = crate::common::open_with(&scratch.0, options()).expect("upgraded");
        let mut session = log.session();
        let mut wanted = expected(kept);
        for which in 0..8 {
            commit(&mut session, 1, which).expect("durable");
            wanted.push(record(1, which));
        }
        drop((session, log));
        // Blocks of both versions lie in one log now.
        assert_eq!(payloads(recovered(&scratch.0).0), wanted);
        let info = control(&scratch.0);
        let lives: Vec<bool> = info.incarnations.iter().map(|i| i.life.is_some()).collect();
        assert!(lives.contains(&false) && lives.contains(&true), "{lives:?}");

        // A checkpoint frees the old blocks, and the log goes once round.
        let (log, _) = crate::common::open_with(&scratch.0, options()).expect("upgraded");
        let mut session = log.session();
        for which in 0..60 {
            let rba = commit(&mut session, 2, which).expect("durable");
            log.checkpoint(rba).expect("durable");
        }
        log.close().expect("nothing failed");
        let last = payloads(recovered(&scratch.0).0);
        assert_eq!(last, [record(2, 59)]);
    }
}

/// Damage of an old block is found, and a block of version 1 is not taken for one of a new life.
#[test]
fn its_blocks_are_still_verified() {
    let scratch = unpacked(LEFT_OPEN);
    let info = control(&scratch.0);
    // The first block of the second record.
    let block = info.checkpoint.block + 8;
    let geometry = info.geometry;
    let file = &Paths::new(&scratch.0).logs(geometry.groups)[geometry.group(block) as usize];
    let mut bytes = std::fs::read(file).expect("readable");
    let at = (geometry.address(block) % geometry.file_bytes) as usize;
    bytes[at + 60] ^= 1;
    std::fs::write(file, bytes).expect("writable");
    let refused = crate::common::open_with(&scratch.0, options()).map(drop);
    let place = matches!(refused, Err(Error::Corrupt { rba, .. }) if rba == geometry.rba(block, 0));
    assert!(place, "{refused:?}");
}

/// A program of version 1 that went on with a copy wrote blocks without a life under the number
/// that an upgraded copy uses too.
#[test]
fn a_copy_that_went_on_in_version_1_is_not_mixed_with_an_upgraded_one() {
    let scratch = unpacked(LEFT_OPEN);
    let old = control(&scratch.0);
    drop(recovered(&scratch.0));
    let (log, _) = crate::common::open_with(&scratch.0, options()).expect("upgraded");
    commit(&mut log.session(), 1, 0).expect("durable");
    drop(log);
    let info = control(&scratch.0);
    let geometry = info.geometry;
    let current = info.current();
    assert!(current.number > old.current().number);
    let summer = redo::format::Summer::new(info.log_id);
    let foreign = redo::format::BlockHeader {
        stream_block: current.first + 8,
        durable_upto: 0,
        incarnation: current.number,
        life: None,
        used: 0,
        first_record: redo::format::NO_RECORD,
    };
    let file = &Paths::new(&scratch.0).logs(geometry.groups)
        [geometry.group(foreign.stream_block) as usize];
    let mut bytes = std::fs::read(file).expect("readable");
    let at = (geometry.address(foreign.stream_block) % geometry.file_bytes) as usize;
    bytes[at..at + 40].copy_from_slice(&foreign.encode(&summer, &[]));
    std::fs::write(file, bytes).expect("writable");
    let refused = crate::common::open_with(&scratch.0, options()).map(drop);
    assert!(
        matches!(refused, Err(Error::MixedCopies { .. })),
        "{refused:?}"
    );
}

#[test]
fn inspecting_changes_nothing() {
    for kept in [LEFT_OPEN, CLOSED] {
        let scratch = unpacked(kept);
        let log = Inspection::open(&scratch.0).expect("a log");
        let mut found = Vec::new();
        let scan = log.scan(|rba, bytes| found.push((rba, bytes.to_vec())));
        assert_eq!(scan.expect("whole").how, End::Clean);
        assert_eq!(payloads(found), expected(kept));
        let survey = log.survey(&|_| {}).expect("readable");
        assert!(survey.iter().all(|g| g.blocks > 0 && g.unsound_count == 0));
        for (name, content) in files(kept) {
            let now = std::fs::read(scratch.0.join(&name)).expect("readable");
            assert!(now == content, "{name} was changed");
        }
    }
}

/// A kept log on disks in memory, with these control copies.
fn open_with(kept: &[u8], copies: [&[u8]; 2]) -> Result<Vec<Vec<u8>>, Error> {
    let files = files(kept);
    let logs: Vec<u8> = files
        .iter()
        .filter(|(name, _)| name != "redo.ctl")
        .flat_map(|(_, content)| content.clone())
        .collect();
    let disk = |bytes: &[u8]| {
        let disk = SimDisk::new(bytes.len(), 512, false);
        disk.load(bytes);
        disk.set_immediate(true);
        Arc::new(disk)
    };
    let (data, control) = (disk(&logs), disk(&copies.concat()));
    let (log, recovery) = crate::common::open_on(data.clone(), control.clone(), options())?;
    let mut found = Vec::new();
    recovery.recover(|_, bytes| {
        found.push(bytes.to_vec());
        Ok::<(), redo::Error>(())
    })?;
    commit(&mut log.session(), 1, 0)?;
    drop((log, recovery));
    // Both copies say the same again, and what was committed is there.
    let mut both = [vec![0; COPY_BYTES], vec![0; COPY_BYTES]];
    for (at, copy) in (0..).zip(&mut both) {
        device::LogDevice::read(&*control, at * COPY_BYTES as u64, copy).expect("memory");
    }
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0][8], FORMAT_VERSION);
    let (log, recovery) = crate::common::open_on(data, control, options())?;
    let mut again = Vec::new();
    recovery.recover(|_, bytes| {
        again.push(bytes.to_vec());
        Ok::<(), redo::Error>(())
    })?;
    assert_eq!(again.pop(), Some(record(1, 0)));
    assert_eq!(again, found);
    drop(log);
    Ok(found)
}

/// Every state that a power cut can leave of the two writes that upgrade a log, by sectors, in
/// whichever order the copies are written.
#[test]
fn an_upgrade_that_is_cut_short_loses_nothing() {
    for kept in [LEFT_OPEN, CLOSED] {
        let (_, old) = files(kept)
            .into_iter()
            .find(|(name, _)| name == "redo.ctl")
            .expect("a kept log");
        assert_eq!(old.len() as u64, CONTROL_BYTES);
        let old = &old[..COPY_BYTES];
        let scratch = unpacked(kept);
        drop(recovered(&scratch.0));
        let new = std::fs::read(scratch.0.join("redo.ctl")).expect("readable");
        let new = &new[..COPY_BYTES];
        assert_eq!((old[8], new[8]), (VERSION_WITHOUT_LIVES, FORMAT_VERSION));
        // Only the first sectors and the last, with the checksum, differ.
        let differ = |s: &usize| old[s * 512..][..512] != new[s * 512..][..512];
        let sectors: Vec<usize> = (0..COPY_BYTES / 512).filter(differ).collect();
        assert_eq!(sectors.len(), 2, "{sectors:?}");
        for torn in 0..1 << sectors.len() {
            let mut begun = old.to_vec();
            for (at, sector) in sectors.iter().enumerate() {
                if torn >> at & 1 == 1 {
                    begun[sector * 512..][..512].copy_from_slice(&new[sector * 512..][..512]);
                }
            }
            for copies in [
                [&begun[..], old],
                [old, &begun],
                [&begun, new],
                [new, &begun],
            ] {
                let found = open_with(kept, copies).unwrap_or_else(|e| panic!("{torn}: {e}"));
                assert_eq!(found, expected(kept), "{torn}");
            }
        }
    }
}

/// The kept logs are what they are said to be.
#[test]
fn the_kept_logs_are_whole() {
    for kept in [LEFT_OPEN, CLOSED] {
        let names: Vec<String> = files(kept).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["redo.ctl", "redo01.log", "redo02.log", "redo03.log"]
        );
        for (name, content) in files(kept) {
            assert_eq!(content[8], VERSION_WITHOUT_LIVES, "{name}");
        }
    }
}
