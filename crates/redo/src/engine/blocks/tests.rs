//! Records of a real log, looked for after its blocks were changed.

use super::RecordFound::{Foreign, Missing, Torn, Whole};
use super::*;
use crate::commit::CommitMode;
use crate::engine::{Log, Shape};
use measure::workload::split_mix;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A log of a few long records, and where they are.
struct Written {
    folder: PathBuf,
    blocks: LogBlocks,
    records: Vec<(StreamBlock, u32, Vec<u8>)>,
}

impl Drop for Written {
    fn drop(&mut self) {
        // It lies in the system's folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn written(name: &str) -> Written {
    let folder = std::env::temp_dir().join(format!("redo-blocks-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let shape = Shape::new()
        .groups(2)
        .file_bytes(1 << 20)
        .block_bytes(Some(4096));
    Log::builder(&folder)
        .shape(shape)
        .create()
        .expect("is made");
    let (log, _) = Log::builder(&folder).open().expect("opens");
    let geometry = *log.geometry();
    let mut session = log.session();
    let mut state = 7;
    let mut records = Vec::new();
    for _ in 0..6 {
        let words: Vec<u8> = (0..700)
            .flat_map(|_| split_mix(&mut state).to_le_bytes())
            .collect();
        let rba = session.append(&[&words]).expect("there is room");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
        let block = geometry.stream_block(rba).expect("of this log");
        records.push((block, u32::from(rba.offset), words));
    }
    drop((session, log));
    let control = super::super::Inspection::open(&folder)
        .expect("opens")
        .control()
        .clone();
    let life = control.current().life.expect("it was written");
    let directory = Directory::open(&folder).expect("opens");
    Written {
        blocks: LogBlocks::open(&directory, geometry, control.log_id, life),
        folder,
        records,
    }
}

impl Written {
    /// Reads or writes bytes of a block.
    fn file(&self, block: StreamBlock) -> (std::fs::File, u64) {
        let geometry = &self.blocks.geometry;
        let name = &Paths::log_names(geometry.groups)[geometry.group(block) as usize];
        let open = std::fs::File::options()
            .read(true)
            .write(true)
            .open(self.folder.join(name));
        let at = geometry.address(block) - u64::from(geometry.group(block)) * geometry.file_bytes;
        (open.expect("opens"), at)
    }

    fn change(&self, block: StreamBlock, from: usize, bytes: &[u8]) {
        let (file, at) = self.file(block);
        file.write_all_at(bytes, at + from as u64).expect("writes");
        file.sync_all().expect("direct reads see it");
    }

    fn bytes(&self, block: StreamBlock) -> Vec<u8> {
        let (file, at) = self.file(block);
        let mut out = vec![0; 4096];
        file.read_exact_at(&mut out, at).expect("reads");
        out
    }

    fn look(&mut self, which: usize) -> (RecordFound, StreamBlock) {
        self.blocks.block = None;
        let (block, offset, record) = self.records[which].clone();
        self.blocks.record(block, offset, &record)
    }
}

#[test]
fn whole_records_are_found_and_the_last_block_is_known() {
    let mut log = written("whole");
    for which in 0..log.records.len() {
        assert_eq!(log.look(which), (Whole, log.records[which].0));
    }
    let (last, ..) = log.records[5];
    assert_eq!(
        log.blocks.last_whole(0),
        Some(last + 1),
        "each record has two blocks"
    );
    assert_eq!(log.blocks.last_whole(last + 2), None);
}

#[test]
fn each_kind_of_damage_is_recognised_in_the_block_that_has_it() {
    let mut log = written("damage");
    let second = |log: &Written, which: usize| log.records[which].0 + 1;
    // What was there before.
    log.change(second(&log, 0), 0, &[0xEE; 4096]);
    assert_eq!(log.look(0), (Missing, second(&log, 0)));
    // Its first half alone, its second half alone, and half of its first sector.
    for (which, from, len) in [(1, 2048, 2048), (2, 0, 512), (3, 256, 256)] {
        let block = log.records[which].0;
        log.change(block, from, &vec![0xEE; len]);
        assert_eq!(log.look(which), (Torn, block), "{which}");
    }
    // A block of another place, and another record of this place.
    let (from, to) = (log.records[5].0, log.records[4].0);
    log.change(to, 0, &log.bytes(from));
    assert_eq!(log.look(4), (Foreign, to));
    log.records[5].2[9] ^= 1;
    assert_eq!(log.look(5).0, Foreign);
}

#[test]
fn a_missing_file_has_no_blocks() {
    let log = written("missing");
    let name = &Paths::log_names(2)[0];
    std::fs::remove_file(log.folder.join(name)).expect("removes");
    let directory = Directory::open(Path::new(&log.folder)).expect("opens");
    let (geometry, life) = (log.blocks.geometry, log.blocks.life);
    let mut blocks = LogBlocks::open(&directory, geometry, LogId([1; 16]), life);
    assert_eq!(blocks.record(0, 0, b"anything"), (Missing, 0));
    assert_eq!(blocks.last_whole(0), None);
}
