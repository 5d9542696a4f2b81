//! What a test left: its folder or its device, as it is found after the restart.
//!
//! Invariants: nothing is written before the judgement is durable on the server; what is in use, or
//! of another test, is not judged.

use super::PowerTestError;
use super::device_note::DeviceNote;
use super::find::{self, FoundWrites};
use super::find_raw;
use super::folder::TestFolder;
use super::judge::{CheckedWrite, PlaceFound};
use super::messages::{OpenTest, PowerAck, TestedFiles};
use super::records::{TestId, from_hex};
use device::LogDevice;
use device::raw::{Content, RawDevice, RawDeviceRefusal};
use measure::power_test::LossClass;
use redo::engine::Inspection;
use redo::format::{FILE_HEADER_BYTES, FileHeader, RAW_LOG_AT};
use std::path::{Path, PathBuf};

/// What a test left.
pub(super) enum LeftSite {
    /// A folder.
    Folder(TestFolder),
    /// Nothing: the folder is gone.
    Gone,
    /// A raw device.
    Device(LeftDevice),
}

/// A raw device.
pub(super) struct LeftDevice {
    path: PathBuf,
    note: Option<DeviceNote>,
    /// What is on it; `None` where that cannot be read.
    content: Option<Content>,
}

impl LeftSite {
    /// What is at a path.
    ///
    /// # Errors
    /// A path that cannot be opened, or that is in use.
    pub(super) fn find(path: &Path) -> Result<LeftSite, PowerTestError> {
        let shown = path.display();
        if device::raw::is_block_device(path) {
            return LeftDevice::find(path).map(LeftSite::Device);
        }
        match TestFolder::find(path)? {
            None => Ok(LeftSite::Gone),
            Some(folder) if folder.is_locked() => Err(PowerTestError::Unjudged(format!(
                "{shown}: the writer is still running; cut the power, or end it"
            ))),
            Some(folder) => Ok(LeftSite::Folder(folder)),
        }
    }

    /// The same, if it is of this test. A folder or a note of an earlier test of the same server is
    /// what the device went back to: nothing of this test is there.
    pub(super) fn of_test(
        self,
        test: &OpenTest,
        earlier: &[String],
        path: &str,
    ) -> Result<LeftSite, PowerTestError> {
        let folder = match self {
            LeftSite::Folder(folder) => folder,
            LeftSite::Gone => return Ok(LeftSite::Gone),
            LeftSite::Device(device) => {
                device.check(test, earlier, path)?;
                return Ok(LeftSite::Device(device));
            }
        };
        let Ok(Some(found)) = folder.test_id() else {
            // Without its marker nothing in it is believed to be of another test.
            return Ok(LeftSite::Folder(folder));
        };
        if found == test.new.test_id {
            return Ok(LeftSite::Folder(folder));
        }
        if earlier.contains(&found) {
            return Ok(LeftSite::Gone);
        }
        Err(unknown_test(path, &found, test))
    }

    /// What is on the disk of everything acknowledged.
    ///
    /// # Errors
    /// Only where what the server kept makes no sense.
    pub(super) fn look(
        &self,
        test: &OpenTest,
        acks: &[PowerAck],
    ) -> Result<FoundWrites, PowerTestError> {
        let id = TestId::parse(&test.new.test_id).unwrap_or(TestId([0; 16]));
        match (self, &test.files) {
            (LeftSite::Gone, _) => Ok(nothing_left(acks)),
            (LeftSite::Folder(folder), Some(TestedFiles::Log(log))) => {
                find::find(find::LeftLog::Files(&folder.folder), log, id, acks)
            }
            (LeftSite::Device(device), Some(TestedFiles::Log(log))) => {
                find::find(find::LeftLog::Device(&device.path), log, id, acks)
            }
            (LeftSite::Folder(folder), Some(TestedFiles::Raw(shapes))) => {
                Ok(find_raw::find(&folder.folder, shapes, id, acks))
            }
            (LeftSite::Device(_), Some(TestedFiles::Raw(_))) => Err(PowerTestError::Unjudged(
                "the test wrote to files, and its path is a block device now; give up the test with \
                 --abandon"
                    .to_owned(),
            )),
            (_, None) => Ok(FoundWrites::default()),
        }
    }

    /// Why the writer of test `test_id` ended by itself; `None` where it did not.
    pub(super) fn end_note(&self, test_id: &str) -> Option<String> {
        match self {
            LeftSite::Folder(folder) => folder.end_note(),
            LeftSite::Gone => None,
            LeftSite::Device(device) => device.own_note(test_id)?.ended.clone(),
        }
    }

    /// Whether something beside the acknowledged writes is gone, after which a pass shows nothing:
    /// the note of a device is there before the first acknowledgement.
    pub(super) fn lacks_note(&self, test_id: &str) -> bool {
        matches!(self, LeftSite::Device(device) if device.own_note(test_id).is_none())
    }

    /// Removes the files of a test that lost nothing, and keeps those of one that did. A log on a
    /// device stays.
    pub(super) fn tidy(self, class: LossClass, say: &dyn Fn(&str)) {
        let folder = match self {
            LeftSite::Folder(folder) => folder,
            LeftSite::Gone => return,
            LeftSite::Device(device) => {
                return say(&format!(
                    "The log of the test stays on {}; another test or run there needs --destroy.",
                    device.path.display()
                ));
            }
        };
        let outcome = match class {
            LossClass::NothingLost => folder.remove().map(|()| None),
            _ => folder.keep_as_evidence(),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(place)) => say(&format!("The files are kept as evidence in {place}.")),
            // A judgement does not depend on it, and the next test reports what is in its way.
            Err(e) => say(&format!("The test's files stay where they are: {e}")),
        }
    }
}

fn nothing_left(acks: &[PowerAck]) -> FoundWrites {
    let missing = |(number, ack): (u64, &PowerAck)| CheckedWrite {
        stream: ack.stream,
        at: ack.at,
        number,
        after: 0,
        found: PlaceFound::Missing,
    };
    FoundWrites {
        writes: (0..).zip(acks).map(missing).collect(),
        later: Vec::new(),
        notes: vec![
            "Nothing of this test is there: its folder is gone, or is that of an earlier test."
                .to_owned(),
        ],
    }
}

fn unknown_test(path: &str, found: &str, test: &OpenTest) -> PowerTestError {
    PowerTestError::Unjudged(format!(
        "{path}: it contains test {found}, which this server does not know by this path; its open \
         test is {}. Name the server that was used, or give up the test with --abandon",
        test.new.test_id
    ))
}

impl LeftDevice {
    fn find(path: &Path) -> Result<LeftDevice, PowerTestError> {
        use RawDeviceRefusal::{Claimed, InUse};
        // Who may not read it learns so here; what cannot be read further on is a finding.
        let note = DeviceNote::read(path)?;
        let look = RawDevice::at(path).ok();
        match look.as_ref().map(RawDevice::check) {
            Some(Err(why @ (Claimed { .. } | InUse { .. }))) => Err(PowerTestError::Unjudged(
                format!("{why}; end what uses it, such as the writer"),
            )),
            _ => Ok(LeftDevice {
                path: path.to_owned(),
                note,
                content: look.map(|look| look.content().clone()),
            }),
        }
    }

    fn own_note(&self, test_id: &str) -> Option<&DeviceNote> {
        self.note.as_ref().filter(|note| note.test_id == test_id)
    }

    /// Refuses what was written over the test since. A device that went back to an earlier test of
    /// this server, or on which nothing is recognised, has lost this one.
    fn check(&self, test: &OpenTest, earlier: &[String], path: &str) -> Result<(), PowerTestError> {
        let is_known = |id: &String| *id == test.new.test_id || earlier.contains(id);
        if let Some(note) = self.note.as_ref().filter(|note| !is_known(&note.test_id)) {
            return Err(unknown_test(path, &note.test_id, test));
        }
        // Every signature was wiped before the note was written.
        let mut signatures = self.content.iter().flat_map(|content| &content.signatures);
        let other = signatures
            .find(|found| !found.name.starts_with("redolab"))
            .map(|found| found.name.to_owned())
            .or_else(|| self.other_log(test).filter(|_| self.note.is_none()));
        other.map_or(Ok(()), |what| {
            Err(PowerTestError::Unjudged(format!(
                "{path}: it contains {what}. Either that was written over test {}, or the device went \
                 back to older content and everything is lost; give up the test with --abandon",
                test.new.test_id
            )))
        })
    }

    /// A redo log that is not the one of the test, also one that was not finished: the header of
    /// its first group is written before anything else.
    fn other_log(&self, test: &OpenTest) -> Option<String> {
        let Some(TestedFiles::Log(log)) = &test.files else {
            return None;
        };
        let whole = || {
            let found = Inspection::open(&self.path).ok()?;
            Some(found.control().log_id)
        };
        let begun = || {
            let mut head = [0; FILE_HEADER_BYTES];
            let space = device::raw::read_only(&self.path).ok()?;
            space.read(RAW_LOG_AT, &mut head).ok()?;
            Some(FileHeader::decode(&head).ok()?.log_id)
        };
        let found = whole().or_else(begun)?;
        let is_other = from_hex(&log.log_id) != Some(found.0);
        is_other.then(|| "another redo log".to_owned())
    }
}
