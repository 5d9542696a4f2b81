//! Directories of a log's members, what opens them, and what was recovered.
#![allow(dead_code)]

use crate::common::{SMALL, Scratch, options};
use device::fault::FaultDevice;
use device::{FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{Error, Log, MemberLayout, Recovery};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories of members below a scratch directory.
pub struct Places {
    pub scratch: Scratch,
    pub count: usize,
}

impl Places {
    pub fn new(count: usize) -> Places {
        let scratch = Scratch::new();
        for member in 0..count {
            std::fs::create_dir(scratch.0.join(member.to_string())).expect("a directory");
        }
        Places { scratch, count }
    }

    pub fn path(&self, member: usize) -> PathBuf {
        self.scratch.0.join(member.to_string())
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        (0..self.count).map(|member| self.path(member)).collect()
    }

    /// All are in one scratch directory, hence on one disk.
    pub fn mirror(&self) -> MemberLayout {
        MemberLayout::mirror(self.paths()).force_same_device(true)
    }

    pub fn race(&self) -> MemberLayout {
        MemberLayout::race(self.paths()).force_same_device(true)
    }

    pub fn create(layout: MemberLayout) {
        Log::builder(layout)
            .shape(SMALL)
            .create()
            .expect("a new log");
    }

    /// Of a log whose members lie in these directories: devices that a test can have fail.
    pub fn devices(&self) -> Vec<Arc<FaultDevice>> {
        let open = |member: usize| {
            let logs = Paths::new(self.path(member)).logs(SMALL.groups);
            let set = FileSet::open(&logs, SMALL.file_bytes, SyncMethod::Buffered);
            Arc::new(FaultDevice::new(Arc::new(set.expect("log files"))))
        };
        (0..self.count).map(open).collect()
    }

    pub fn on_devices(&self, devices: &[Arc<FaultDevice>], cell: usize) -> MemberLayout {
        let each = devices.iter().enumerate().map(|(member, data)| {
            let control = [Paths::new(self.path(member)).control()];
            let control = FileSet::open(&control, CONTROL_BYTES, SyncMethod::Buffered);
            let data: Arc<dyn LogDevice> = data.clone();
            let control: Arc<dyn LogDevice> = Arc::new(control.expect("control information"));
            (data, control)
        });
        MemberLayout::devices(each.collect::<Vec<_>>(), cell)
    }
}

pub fn open(layout: MemberLayout) -> (Log, Recovery) {
    try_open(layout).expect("a log with members")
}

pub fn try_open(layout: MemberLayout) -> Result<(Log, Recovery), Error> {
    // Members that are given up stay so, unless a test wants them back.
    Log::builder(layout)
        .options(options().member_retry(None))
        .open()
}

pub fn refusal(layout: MemberLayout) -> String {
    try_open(layout)
        .map(|_| ())
        .expect_err("refused")
        .to_string()
}

/// Commits records of session 0 one after the other.
pub fn commit(log: &Log, numbers: std::ops::Range<u32>) {
    let mut session = log.session();
    for number in numbers {
        crate::common::commit(&mut session, 0, number).expect("acknowledged");
    }
}

/// How many records of session 0 there are, each of them right.
pub fn count(recovery: &Recovery) -> usize {
    let mut records = Vec::new();
    let read = recovery.recover(|rba, bytes| {
        records.push((rba, bytes.to_vec()));
        Ok::<(), Error>(())
    });
    read.expect("what was recovered is readable");
    crate::common::assert_prefixes(&records, &[0]);
    records.len()
}

pub fn in_sync(log: &Log) -> Vec<bool> {
    log.members().iter().map(|member| member.in_sync).collect()
}

/// What refuses these members contains these words.
pub fn says(layout: MemberLayout, words: &[&str]) {
    let text = refusal(layout.force_same_device(true));
    for word in words {
        assert!(text.contains(word), "`{word}` is not in `{text}`");
    }
}

pub fn named(path: &Path) -> String {
    path.display().to_string()
}
