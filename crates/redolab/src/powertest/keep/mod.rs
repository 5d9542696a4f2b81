//! What the server keeps: the tests that were not judged, with every acknowledgement that is still
//! asked for, in a redo log of its own; and each judged cut, in a file of its own.
//!
//! ```text
//! DIR/keep.json        {"schema": "redolab.powertest-keep/1"}
//! DIR/redo*.log, …     the log: what happened to tests, in order
//! DIR/cycles/ID.json   a judged cut (redolab.powertest/1)
//! ```
//!
//! Invariants: whatever a call returned for is durable; an event is applied in one place
//! (`events`), whether it just happened or is recovered; before the log is full, what is
//! still needed is written once more between two marks, and only when the second mark is durable
//! the checkpoint moves to the first; a copy without its second mark is ignored. A test whose cut
//! is in a file is judged, whatever the log says.

mod events;
mod files;

use super::PowerTestError;
use super::messages::{ACK_BYTES, ACKS_MAX, NewTest, OpenTest, PowerAck, TestNote, TestedFiles};
use super::records::TestId;
use crate::folder::Folder;
use events::{ACKS, KeepEvent, KeptTest, KeptTests, event_record};
use files::{MARKER, MARKER_SCHEMA, check_marker, has, read_cycles};
use measure::power_test::PowerCycle;
use redo::{CommitMode, Log, Rba, Session, Shape};
use std::path::Path;

/// Half of a log file is the most that a copy may take, so that there is room for several copies of
/// which a crash left only a part.
const GROUPS: u32 = 6;
/// Tests that are kept without having been judged, at most.
const TESTS_MAX: usize = 32;
/// Names of earlier tests of a path that are reported.
const EARLIER_MAX: usize = 64;

/// The server's memory of tests.
pub(super) struct PowerKeep {
    folder: Folder,
    log: Log,
    session: Session,
    tests: KeptTests,
    cycles: Vec<PowerCycle>,
    /// The redo that is needed begins here.
    from: Rba,
}

impl PowerKeep {
    /// Opens the keep in a directory, or makes it where the directory is empty or missing; a new
    /// one has log files of `file_bytes`.
    ///
    /// # Errors
    /// A directory of something else, a keep that another server has open, a full disk.
    pub(super) fn open(path: &Path, file_bytes: u64) -> Result<PowerKeep, PowerTestError> {
        let shown = path.display();
        let failed = |what| PowerTestError::system(format!("--keep {shown}: {what}"));
        Folder::make_root(path, 0o777).map_err(failed("making the directory"))?;
        let folder = Folder::open_root(path).map_err(failed("opening"))?;
        let is_new = check_marker(&folder)?;
        let builder = || Log::builder(folder.directory());
        if is_new || !has(&folder, redo::engine::Paths::CONTROL)? {
            let shape = Shape::new().groups(GROUPS).file_bytes(file_bytes);
            builder().shape(shape).create().map_err(|e| {
                PowerTestError::Failed(format!("--keep {shown}: making the server's log: {e}"))
            })?;
        }
        if is_new {
            let marker = format!("{{\"schema\": \"{MARKER_SCHEMA}\"}}\n");
            folder
                .replace(MARKER, marker.as_bytes())
                .map_err(PowerTestError::system(format!(
                    "--keep {shown}: writing {MARKER}"
                )))?;
        }
        let (log, recovery) = builder().open().map_err(|e| {
            PowerTestError::Failed(format!("--keep {shown}: opening the server's log: {e}"))
        })?;
        let mut tests = KeptTests::default();
        let mut problem = None;
        recovery.recover(|rba, record| {
            if let Err(what) = tests.apply(record) {
                problem.get_or_insert(format!("the record at {rba} cannot be read: {what}"));
            }
            Ok::<(), redo::Error>(())
        })?;
        if let Some(what) = problem {
            return Err(PowerTestError::Failed(format!(
                "--keep {shown}: {what}; another redolab may have written it: use that, or another \
                 directory"
            )));
        }
        tests.copy = None;
        let cycles = read_cycles(&folder)?;
        tests
            .tests
            .retain(|id, _| !cycles.iter().any(|c: &PowerCycle| c.test_id == *id));
        let from = log.durable();
        let mut keep = PowerKeep {
            session: log.session(),
            folder,
            log,
            tests,
            cycles,
            from,
        };
        // What was recovered is written once more, so that the old redo is not needed.
        keep.copy()?;
        Ok(keep)
    }

    /// Makes a test known. An earlier one of the path that was not judged is in its way, unless it
    /// is given up.
    ///
    /// # Errors
    /// The refusal, in words for its user.
    pub(super) fn begin(&mut self, new: NewTest) -> Result<Result<(), String>, PowerTestError> {
        if TestId::parse(&new.test_id).is_none() {
            return Ok(Err(
                "the identity of the test is not 32 hexadecimal digits".to_owned()
            ));
        }
        let of_path: Vec<String> = self.of_path(&new.machine_id, &new.path);
        if self.tests.tests.contains_key(&new.test_id) || self.cycle(&new.test_id).is_some() {
            return Ok(Err("there is a test of this identity".to_owned()));
        }
        if let (Some(earlier), false) = (of_path.first(), new.abandon) {
            return Ok(Err(format!(
                "test {earlier} of {} was not verified; run `redolab powertest verify` first, or give \
                 it up with --abandon",
                measure::words::sanitize::line(&new.path)
            )));
        }
        for earlier in of_path {
            self.note(KeepEvent::Closed(earlier))?;
        }
        if self.tests.tests.len() >= TESTS_MAX {
            return Ok(Err(format!(
                "the server keeps {TESTS_MAX} tests that were not verified; verify or give up some"
            )));
        }
        self.note(KeepEvent::Opened(Box::new(new)))?;
        Ok(Ok(()))
    }

    /// Keeps what a test's files are.
    pub(super) fn files(&mut self, id: &str, files: TestedFiles) -> Result<(), PowerTestError> {
        self.note(KeepEvent::Files(id.to_owned(), files))
    }

    /// Keeps what happened to a test.
    pub(super) fn noted(&mut self, id: &str, note: TestNote) -> Result<(), PowerTestError> {
        self.note(KeepEvent::Noted(id.to_owned(), note))
    }

    /// Keeps acknowledgements; how many the test has then. The inner error says that there is no
    /// room for them.
    pub(super) fn acknowledge(
        &mut self,
        id: TestId,
        acks: &[PowerAck],
    ) -> Result<Result<u64, String>, PowerTestError> {
        let room = self.group_bytes() / 2;
        if self.tests.copy_bytes() + (acks.len() * ACK_BYTES) as u64 > room {
            return Ok(Err(format!(
                "the server has no room for more acknowledgements that are not released; use a \
                 smaller --log-file-size for the writer, or a larger --keep-file-size than {} and a \
                 new directory for the server",
                measure::words::size(self.log.geometry().file_bytes)
            )));
        }
        let mut record = vec![ACKS];
        record.extend_from_slice(&id.0);
        acks.iter()
            .for_each(|ack| record.extend_from_slice(&ack.encode()));
        self.write(&record)?;
        let kept = self.tests.tests.get(&id.to_string());
        Ok(Ok(kept.map_or(0, |kept| kept.test.acknowledged)))
    }

    /// Keeps that nobody asks for what lies before a position any more.
    pub(super) fn release(
        &mut self,
        id: &str,
        (stream, at, offset): (u32, u64, u32),
    ) -> Result<(), PowerTestError> {
        self.note(KeepEvent::Released(id.to_owned(), stream, at, offset))
    }

    /// Keeps a judged cut, and forgets the test's acknowledgements.
    pub(super) fn judged(&mut self, cycle: PowerCycle) -> Result<(), PowerTestError> {
        files::write_cycle(&self.folder, &cycle)?;
        let id = cycle.test_id.clone();
        self.cycles.push(cycle);
        self.note(KeepEvent::Closed(id))
    }

    /// Forgets a test.
    pub(super) fn abandon(&mut self, id: &str) -> Result<(), PowerTestError> {
        self.note(KeepEvent::Closed(id.to_owned()))
    }

    /// Tests of a path that were not judged, and identities of those that were, the newest first.
    pub(super) fn list(
        &self,
        machine_id: &str,
        path: &str,
        is_live: impl Fn(&str) -> bool,
    ) -> (Vec<OpenTest>, Vec<String>) {
        let of_path = self.of_path(machine_id, path);
        let open = of_path.iter().filter_map(|id| {
            let kept = self.tests.tests.get(id)?;
            let test = &kept.test;
            Some(OpenTest {
                new: test.new.clone(),
                files: test.files.clone(),
                acknowledged: test.acknowledged,
                demanded: kept.acks.len() as u64,
                is_live: is_live(id),
                ended: test.ended.clone(),
                failed: test.failed.clone(),
                clock_jumps: test.clock_jumps.clone(),
                record: test.record.clone(),
            })
        });
        let earlier = self.cycles.iter().rev().filter(|cycle| cycle.path == path);
        let earlier = earlier.map(|cycle| cycle.test_id.clone()).take(EARLIER_MAX);
        (open.collect(), earlier.collect())
    }

    /// Acknowledgements of a test from number `from` on, as many as a message takes.
    pub(super) fn acks(&self, id: &str, from: u64) -> Option<&[PowerAck]> {
        let acks = &self.tests.tests.get(id)?.acks;
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(acks.len());
        let rest = &acks[from..];
        Some(&rest[..rest.len().min(ACKS_MAX)])
    }

    /// Every judged cut.
    pub(super) fn cycles(&self) -> &[PowerCycle] {
        &self.cycles
    }

    /// Identities of the tests that were not judged.
    pub(super) fn open_tests(&self) -> Vec<String> {
        self.tests.tests.keys().cloned().collect()
    }

    fn cycle(&self, id: &str) -> Option<&PowerCycle> {
        self.cycles.iter().find(|cycle| cycle.test_id == id)
    }

    fn of_path(&self, machine_id: &str, path: &str) -> Vec<String> {
        let here =
            |kept: &&KeptTest| kept.test.new.machine_id == machine_id && kept.test.new.path == path;
        let found = self.tests.tests.values().filter(here);
        found.map(|kept| kept.test.new.test_id.clone()).collect()
    }

    fn note(&mut self, event: KeepEvent) -> Result<(), PowerTestError> {
        let record = event_record(&event)?;
        self.write(&record)
    }

    /// Makes a record durable and applies it.
    fn write(&mut self, record: &[u8]) -> Result<(), PowerTestError> {
        self.session.append(&[record])?;
        self.session.commit(CommitMode::WAIT_IMMEDIATE)?;
        self.tests.apply(record).map_err(PowerTestError::Failed)?;
        if self.used_bytes() > self.group_bytes() {
            self.copy()?;
        }
        Ok(())
    }

    /// Bytes of redo in a log file.
    fn group_bytes(&self) -> u64 {
        let geometry = self.log.geometry();
        geometry.blocks_per_group * u64::from(geometry.payload())
    }

    /// Bytes of redo from the checkpoint on, about.
    fn used_bytes(&self) -> u64 {
        let geometry = self.log.geometry();
        let block = |rba| geometry.stream_block(rba).unwrap_or(0);
        let blocks = block(self.log.durable()).saturating_sub(block(self.from));
        blocks * u64::from(geometry.payload())
    }

    /// Writes what is needed once more, and gives up the redo before it. There is room for it: a
    /// copy is at most half a log file, and the redo before it is hardly more than one.
    fn copy(&mut self) -> Result<(), PowerTestError> {
        let from = self
            .session
            .append(&[&event_record(&KeepEvent::CopyBegun)?])?;
        for kept in self.tests.tests.values() {
            let mut test = kept.test.clone();
            // They are counted again when they follow.
            test.acknowledged -= (kept.acks.len() as u64).min(test.acknowledged);
            let id = TestId::parse(&test.new.test_id).unwrap_or(TestId([0; 16]));
            self.session
                .append(&[&event_record(&KeepEvent::Copied(Box::new(test)))?])?;
            for acks in kept.acks.chunks(ACKS_MAX) {
                let bytes: Vec<u8> = acks.iter().flat_map(PowerAck::encode).collect();
                self.session.append(&[&[ACKS], &id.0, &bytes])?;
            }
        }
        self.session
            .append(&[&event_record(&KeepEvent::CopyEnded)?])?;
        self.session.commit(CommitMode::WAIT_IMMEDIATE)?;
        self.log.checkpoint(from)?;
        self.from = from;
        Ok(())
    }

    /// Closes the log.
    pub(super) fn close(self) -> Result<(), PowerTestError> {
        drop(self.session);
        Ok(self.log.close()?)
    }
}

#[cfg(test)]
mod tests;
