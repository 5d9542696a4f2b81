//! Writing one run.
//!
//! Invariants: an interval is appended with one write, and taken back whole when that fails, so
//! that a full disk costs the intervals after it and none before; the manifest comes last.
//! Interval files are synchronised only at the end, so that storing does not add flushes to the
//! device that is being measured.

use super::error::io_error;
use super::events::{self, EventWriter};
use super::recordings::{self, Recordings};
use super::{
    CONTENTS, CONTENTS_MAX_BYTES, CONTENTS_SCHEMA, Contents, DRAFT, FileSum, HLOG, MANIFEST, Store,
    StoreError, hex, hlog, named, outline, run_named,
};
use crate::budget::{Budget, pages};
use crate::folder::Folder;
use crc_fast::Digest;
use measure::record::Recording;
use measure::run::Run;
use measure::{Histogram, Nanos};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// A run that is being written. Dropping it without [`RunWriter::finish`] leaves the run
/// incomplete, with every interval up to then readable.
#[derive(Debug)]
pub struct RunWriter {
    id: String,
    root: Folder,
    folder: Folder,
    files: BTreeMap<String, Appended>,
    /// Parts of the events that are in place, where they are captured.
    events: Option<BTreeMap<String, FileSum>>,
    /// What the rows were computed from.
    recordings: Option<Recordings>,
    /// What may be written.
    budget: Arc<Budget>,
    /// An interval could not be stored: the run's figures say more than its histograms.
    lost: bool,
}

/// A file that grows.
struct Appended {
    file: File,
    bytes: u64,
    digest: Digest,
    broken: bool,
}

impl std::fmt::Debug for Appended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes, broken: {}", self.bytes, self.broken)
    }
}

impl Appended {
    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier failure left a cut interval"));
        }
        if let Err(e) = self.file.write_all(text) {
            self.broken = self.file.set_len(self.bytes).is_err();
            return Err(e);
        }
        self.bytes += text.len() as u64;
        self.digest.update(text);
        Ok(())
    }
}

/// Counts what is written to it.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RunWriter {
    pub(super) fn begin(store: &Store, id: &str) -> Result<RunWriter, StoreError> {
        run_named(id)?;
        let path = store.path().join(id);
        let folder = store.root.create(id).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { id: id.to_owned() },
            _ => io_error(&path, "making the run's directory", e),
        })?;
        let locking = |e| io_error(&path, "locking the run's directory", e);
        folder.lock().map_err(locking)?;
        let root = Folder::open_root(store.path()).map_err(|e| store.failed("opening", e))?;
        Ok(RunWriter {
            id: id.to_owned(),
            root,
            folder,
            files: BTreeMap::new(),
            events: None,
            recordings: None,
            budget: Budget::of(None),
            lost: false,
        })
    }

    /// Has everything that is written of the run come out of `budget`.
    #[must_use]
    pub fn within(mut self, budget: &Arc<Budget>) -> RunWriter {
        self.budget = Arc::clone(budget);
        self
    }

    /// Asks for the bytes of a file before they are written.
    fn take(&self, bytes: usize) -> io::Result<()> {
        let refused = |refusal: crate::safety::Refusal| io::Error::other(refusal.to_string());
        self.budget.take(pages(bytes as u64)).map_err(refused)
    }

    /// Appends an interval of a series. `series` is `row/event`, such as
    /// `03-LGWR-LAT1-64/log_file_sync`: the row names the file, the event the tag in it. `start`
    /// and `end` are on the run's clock.
    ///
    /// # Errors
    /// A name outside the rule, an interval that ends before it starts, or the system's errors;
    /// after a full disk what was stored before stays readable.
    pub fn interval(
        &mut self,
        series: &str,
        start: Nanos,
        end: Nanos,
        histogram: &Histogram,
    ) -> Result<(), StoreError> {
        let (row, tag) = series.split_once('/').unwrap_or((series, ""));
        named(row)?;
        named(tag)?;
        if start > end {
            return Err(self.not_storable(format!("{series}: an interval ends before it starts")));
        }
        let text = hlog::encode(tag, start, end, histogram)
            .map_err(|what| self.not_storable(format!("{series}: {what}")))?;
        self.append(&format!("{row}{HLOG}"), text.as_bytes())
    }

    /// Appends to an interval file, making it with its header first.
    pub(super) fn append(&mut self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        let outcome = self.append_whole(name, text);
        self.lost |= outcome.is_err();
        outcome
    }

    fn append_whole(&mut self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.path().join(name);
        let failed = |e| io_error(&path, "appending an interval", e);
        self.take(text.len()).map_err(failed)?;
        let file = match self.files.entry(name.to_owned()) {
            std::collections::btree_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::btree_map::Entry::Vacant(e) => e.insert(Appended {
                file: self.folder.create_file(name).map_err(failed)?,
                bytes: 0,
                digest: hlog::digest(),
                broken: false,
            }),
        };
        if file.bytes == 0 {
            file.append(hlog::HEADER.as_bytes()).map_err(failed)?;
        }
        file.append(text).map_err(failed)
    }

    /// Stores what the row with that name was computed from, such as `03-LGWR-LAT1-64`.
    ///
    /// # Errors
    /// A name outside the rule, a recording that cannot be read back, one that is there already, or
    /// the system's errors.
    pub fn recording(&mut self, row: &str, recording: &Recording) -> Result<(), StoreError> {
        named(row)?;
        let text = serde_json::to_vec(recording)
            .map_err(|e| self.not_storable(format!("recording {row}: {e}")))?;
        match recordings::parse(&text) {
            Ok(back) if back == *recording => {}
            Ok(_) => {
                let what = format!("recording {row} holds a figure that JSON cannot hold");
                return Err(self.not_storable(what));
            }
            Err(what) => return Err(self.not_storable(format!("recording {row}: {what}"))),
        }
        self.write_recording(&recordings::file_of(row), &text)
    }

    /// Writes the text of a recording. A run that lost one is not finished.
    pub(super) fn write_recording(&mut self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        let outcome = self.take(text.len()).and_then(|()| {
            let recordings = match &mut self.recordings {
                Some(recordings) => recordings,
                none => none.insert(Recordings::begin(&self.folder)?),
            };
            recordings.write(name, text)
        });
        self.lost |= outcome.is_err();
        let path = self.folder.path().join(recordings::FOLDER).join(name);
        outcome.map_err(|e| io_error(&path, "writing a recording", e))
    }

    /// Makes the folder of the run's events.
    ///
    /// # Errors
    /// The system's.
    pub fn begin_events(&mut self) -> Result<EventWriter, StoreError> {
        let failed = |e| io_error(self.folder.path(), "making the folder of events", e);
        let folder = self.folder.create(events::FOLDER).map_err(failed)?;
        Ok(EventWriter::new(folder))
    }

    /// Takes the events over into the run: every part is in place.
    ///
    /// # Errors
    /// What went wrong when the parts were written; the run can then not be finished.
    pub fn end_events(&mut self, events: EventWriter) -> Result<(), StoreError> {
        self.events = events.into_parts();
        self.lost |= self.events.is_none();
        if self.lost {
            return Err(
                self.not_storable("an interval or an event could not be written".to_owned())
            );
        }
        Ok(())
    }

    /// Makes the parts of the events durable.
    fn sync_events(&self) -> io::Result<()> {
        let Some(parts) = &self.events else {
            return Ok(());
        };
        let folder = self.folder.open(events::FOLDER)?;
        for name in parts.keys() {
            folder.open_file(name)?.sync_all()?;
        }
        folder.sync()
    }

    /// Stores the run so far, so that an interrupted run can say what it was. Replaces the
    /// earlier draft whole.
    ///
    /// # Errors
    /// The system's.
    pub fn draft(&self, run: &Run) -> Result<(), StoreError> {
        let text = self.serialised(run)?;
        self.take(text.len())
            .and_then(|()| self.folder.replace(DRAFT, &text))
            .map_err(|e| io_error(self.folder.path(), "writing draft.json", e))
    }

    /// Removes the run: nothing was measured, so there is nothing to keep of it.
    ///
    /// # Errors
    /// The system's; what is left of the run is then listed as incomplete.
    pub fn discard(&self) -> Result<(), StoreError> {
        super::remove_run(&self.root, &self.folder, &self.id)
    }

    /// Completes the run: synchronises the intervals, then writes contents and manifest, the
    /// manifest last.
    ///
    /// # Errors
    /// A run that lost an interval (its percentiles could not be recomputed), that JSON cannot
    /// hold (a figure that is not a number), or that has another run's name; or the system's
    /// errors. The run then stays incomplete; [`RunWriter::draft`] can still keep its figures.
    pub fn finish(self, run: &Run) -> Result<(), StoreError> {
        if self.lost {
            return Err(self.not_storable(
                "an interval, an event or a recording of it could not be written".to_owned(),
            ));
        }
        let manifest = self.serialised(run)?;
        let failed = |action| move |e| (action, e);
        let outcome: Result<(), (&'static str, io::Error)> = (|| {
            let mut files = BTreeMap::new();
            for (name, appended) in &self.files {
                appended
                    .file
                    .sync_all()
                    .map_err(failed("synchronising intervals"))?;
                let crc32c = hex(hlog::finish(&appended.digest));
                let bytes = appended.bytes;
                files.insert(name.clone(), FileSum { bytes, crc32c });
            }
            self.sync_events().map_err(failed("synchronising events"))?;
            let recordings = self.recordings.as_ref().map(Recordings::sync).transpose();
            let recordings = recordings.map_err(failed("synchronising recordings"))?;
            let contents = Contents {
                schema: CONTENTS_SCHEMA.to_owned(),
                manifest_crc32c: hex(hlog::crc32c(&manifest)),
                files,
                events: self.events.clone(),
                recordings,
            };
            let text = serde_json::to_vec_pretty(&contents).expect("strings and integers are JSON");
            if text.len() as u64 > CONTENTS_MAX_BYTES {
                let e = io::Error::other("more files than can be listed");
                return Err(("writing contents.json", e));
            }
            self.take(text.len() + manifest.len())
                .and_then(|()| self.folder.replace(CONTENTS, &text))
                .map_err(failed("writing contents.json"))?;
            self.folder
                .replace(MANIFEST, &manifest)
                .map_err(failed("writing manifest.json"))?;
            self.root.sync().map_err(failed("synchronising the store"))
        })();
        outcome.map_err(|(action, e)| io_error(self.folder.path(), action, e))?;
        // The run is complete; a draft that stays behind is ignored.
        let _ = self.folder.remove_file(DRAFT);
        Ok(())
    }

    /// The manifest's bytes; what was not written so that it reads back equal is refused.
    fn serialised(&self, run: &Run) -> Result<Vec<u8>, StoreError> {
        if run.run_id != self.id || run.schema != measure::run::SCHEMA {
            let what = format!("its manifest names {} {}", run.schema, run.run_id);
            return Err(self.not_storable(what));
        }
        let mut length = Length(1);
        serde_json::to_writer_pretty::<&mut dyn Write, _>(&mut length, run)
            .map_err(|e| self.not_storable(e.to_string()))?;
        let too_large = |what| {
            let help = "store less in one run, such as fewer files of evidence at once";
            self.not_storable(format!("{what}; {help}"))
        };
        outline::fits(length.0, 0).map_err(too_large)?;
        let mut text = Vec::with_capacity(usize::try_from(length.0).unwrap_or(0));
        serde_json::to_writer_pretty::<&mut dyn Write, _>(&mut text, run)
            .map_err(|e| self.not_storable(e.to_string()))?;
        text.push(b'\n');
        // What is stored can be read.
        outline::check(&text).map_err(too_large)?;
        match serde_json::from_slice::<Run>(&text) {
            Ok(back) if back == *run => Ok(text),
            _ => Err(self.not_storable(
                "a figure is infinite or not a number, which JSON cannot hold".to_owned(),
            )),
        }
    }

    fn not_storable(&self, what: String) -> StoreError {
        let id = self.id.clone();
        StoreError::NotStorable { id, what }
    }
}
