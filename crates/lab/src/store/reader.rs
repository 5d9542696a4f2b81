//! Reading runs: listing, manifests, histograms.
//!
//! Invariants: listing never fails because of one run; figures of a finished run are shown only
//! when its manifest's CRC fits; intervals only when theirs do. Memory stays bounded by the number
//! of intervals, not by their histograms: those are merged as they are read.

use super::error::io_error;
use super::notes;
use super::{
    CONTENTS, CONTENTS_MAX_BYTES, CONTENTS_SCHEMA, Contents, DRAFT, FileSum, HLOG, MANIFEST,
    Marker, RUN_MAX_BYTES, Store, StoreError, Version, hex, hlog, outline, version,
};
use crate::folder::{Folder, is_name};
use measure::judgement::Answer;
use measure::run::{Origin, Row, Run, RunNotes, WaitStats};
use measure::{Histogram, Nanos, WaitEvent};
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;

/// Longest file of intervals: a day of one-second intervals of five series takes a tenth of it.
const HLOG_MAX_BYTES: u64 = 16 << 30;

/// Characters of a run's name that tell its second: `YYYYMMDD-HHMMSS`.
const SECOND_IN_NAME: usize = 15;

/// What a run in the store is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Finished, and its manifest is as it was written.
    Complete,
    /// Not finished: killed, or still being written (the entry's detail says which).
    Incomplete,
    /// Not as it was written.
    Damaged,
    /// Written by a later version.
    NewerVersion,
    /// Written by an earlier version, whose runs are not read any more.
    OlderVersion,
}

/// One run in a listing.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The run's name.
    pub id: String,
    /// What it is worth.
    pub state: State,
    /// Why it is not complete; empty when it is.
    pub detail: String,
    /// What a listing shows; of a draft where the run is incomplete.
    pub summary: Option<RunSummary>,
}

impl Entry {
    /// What runs are sorted by. A name's random end says nothing of time, and is last.
    fn age(&self) -> (&str, &str, &str) {
        let second = self.id.get(..SECOND_IN_NAME).unwrap_or(&self.id);
        let created = self.summary.as_ref().map_or("", |s| s.created.as_str());
        (second, created, &self.id)
    }
}

/// What a listing shows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// RFC 3339 time of creation, UTC.
    pub created: String,
    /// Where the figures come from.
    pub origin: Origin,
    /// The command that made it.
    pub command: Vec<String>,
    /// Kind and path of the target.
    pub target: (String, String),
    /// Names of the workloads.
    pub workloads: Vec<String>,
    /// Number of rows.
    pub rows: usize,
    /// No problem makes the figures wrong.
    pub valid: bool,
    /// There are problems that do not make them wrong.
    pub doubtful: bool,
    /// What its user noted.
    pub notes: RunNotes,
    /// Commits per second of the fastest row whose sessions waited, and the 99th percentile of
    /// their wait in nanoseconds; of any row where none waited.
    pub fastest: Option<(f64, Option<u64>)>,
    /// The verdict's answer.
    pub answer: Option<Answer>,
}

/// The fastest row's commits per second and the 99th percentile of its waits.
fn fastest(run: &Run) -> Option<(f64, Option<u64>)> {
    let figures = |row: &Row| {
        let tps = row.commit_throughput_tps?;
        let sync = row.wait(WaitEvent::LogFileSync).filter(|w| w.count > 0);
        let wait = sync.or(row.commit_latency.as_ref().filter(|_| row.waits.is_empty()));
        Some((wait.is_some(), tps, wait.and_then(|w| w.p99_ns)))
    };
    let rows = run.rows.iter().filter_map(figures);
    let best = rows.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.map(|(_, tps, p99_ns)| (tps, p99_ns))
}

impl From<&Run> for RunSummary {
    fn from(run: &Run) -> RunSummary {
        RunSummary {
            created: run.created.clone(),
            origin: run.origin,
            command: run.command.clone(),
            target: (run.target.kind.clone(), run.target.path.clone()),
            workloads: run.workload.names().to_vec(),
            rows: run.rows.len(),
            valid: run.validity.valid,
            doubtful: run.validity.valid && !run.validity.problems.is_empty(),
            notes: run.notes.clone(),
            fastest: fastest(run),
            answer: run.verdict.as_ref().map(|verdict| verdict.answer),
        }
    }
}

/// One interval's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalFigures {
    /// Start on the run's clock.
    pub start: Nanos,
    /// End on the run's clock.
    pub end: Nanos,
    /// Its figures.
    pub stats: WaitStats,
}

/// One series of a run.
#[derive(Clone, Debug, Default)]
pub struct StoredSeries {
    /// All intervals merged.
    pub merged: Histogram,
    /// Each interval, in the order in which they were written.
    pub intervals: Vec<IntervalFigures>,
}

/// A file whose last interval was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutFile {
    /// The file.
    pub file: String,
    /// Where and how.
    pub flaw: hlog::Flaw,
}

/// The histograms of a run.
#[derive(Clone, Debug, Default)]
pub struct Histograms {
    /// By `row/event`, as they were written.
    pub series: BTreeMap<String, StoredSeries>,
    /// Files whose last interval was cut; only an incomplete run may have any.
    pub cut: Vec<CutFile>,
}

impl Store {
    /// All runs, oldest first: by the second in their names, within one by `created`, which has
    /// milliseconds. One bad run is an entry like any other.
    ///
    /// # Errors
    /// Only when the store itself cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, StoreError> {
        let names = self.root.names().map_err(|e| self.failed("listing", e))?;
        let mut entries: Vec<Entry> = names
            .into_iter()
            .filter(|name| is_name(name) && !super::is_reserved(name))
            .map(|id| self.entry(id))
            .collect();
        entries.sort_by(|a, b| a.age().cmp(&b.age()));
        Ok(entries)
    }

    fn entry(&self, id: String) -> Entry {
        let (state, detail, summary) = match self.load(&id) {
            Ok(run) => (State::Complete, String::new(), Some(RunSummary::from(&run))),
            Err(e) => {
                let state = match e {
                    StoreError::Incomplete { .. } | StoreError::Running { .. } => State::Incomplete,
                    StoreError::NewerRun { .. } => State::NewerVersion,
                    StoreError::OlderRun { .. } => State::OlderVersion,
                    _ => State::Damaged,
                };
                let draft = match state {
                    State::Incomplete => self.load_draft(&id).ok().flatten(),
                    _ => None,
                };
                (state, e.to_string(), draft.as_ref().map(RunSummary::from))
            }
        };
        Entry {
            id,
            state,
            detail,
            summary,
        }
    }

    /// A finished run, its manifest verified.
    ///
    /// # Errors
    /// A run that is missing, incomplete, still being written, damaged or of another version.
    pub fn load(&self, id: &str) -> Result<Run, StoreError> {
        let folder = self.folder(id)?;
        let path = folder.path().join(MANIFEST);
        let bytes = match folder.read(MANIFEST, RUN_MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(unfinished(id, &folder)),
            Err(e) => return Err(unreadable(&path, "reading the manifest", e)),
        };
        check_version(id, &path, &bytes)?;
        let contents = contents(&folder)?;
        let found = hex(hlog::crc32c(&bytes));
        if found != contents.manifest_crc32c {
            let what = format!(
                "CRC32C is {found}, contents.json states {}",
                contents.manifest_crc32c
            );
            return Err(StoreError::Damaged { path, what });
        }
        outline::check(&bytes).map_err(|what| damaged(&path, what))?;
        let read = serde_json::from_slice::<Run>(&bytes);
        let mut run = read.map_err(|e| damaged(&path, e.to_string()))?;
        run.notes.add(&notes::later(&folder)?);
        if run.run_id != id {
            return Err(damaged(&path, format!("it is of run {}", run.run_id)));
        }
        Ok(run)
    }

    /// The last draft of a run that was not finished; `None` where none was written.
    ///
    /// # Errors
    /// A draft that is damaged or of another version, or the system's errors.
    pub fn load_draft(&self, id: &str) -> Result<Option<Run>, StoreError> {
        let folder = self.folder(id)?;
        let path = folder.path().join(DRAFT);
        match folder.read(DRAFT, RUN_MAX_BYTES) {
            Ok(bytes) => {
                check_version(id, &path, &bytes)?;
                outline::check(&bytes).map_err(|what| damaged(&path, what))?;
                let run = serde_json::from_slice(&bytes);
                run.map(Some).map_err(|e| damaged(&path, e.to_string()))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(unreadable(&path, "reading the draft", e)),
        }
    }

    /// The histograms of a run, each interval verified. Of a finished run every file has to be as
    /// it was written; of an incomplete one the last interval of a file may be cut, which is said.
    ///
    /// # Errors
    /// A run that is missing, damaged, or the system's errors.
    pub fn load_histograms(&self, id: &str) -> Result<Histograms, StoreError> {
        let mut out = Histograms::default();
        let cut = self.for_each_interval(id, &mut |name, record| {
            let series = out.series.entry(name.to_owned()).or_default();
            series.merged.merge(&record.histogram);
            series.intervals.push(IntervalFigures {
                start: record.start,
                end: record.end,
                stats: record.histogram.stats(),
            });
        })?;
        out.cut = cut;
        Ok(out)
    }

    /// Hands every interval of a run to `visit` with the name of its series, file by file.
    ///
    /// # Errors
    /// As [`Store::load_histograms`]; what was visited before an error is sound.
    pub fn for_each_interval(
        &self,
        id: &str,
        visit: &mut dyn FnMut(&str, hlog::Record),
    ) -> Result<Vec<CutFile>, StoreError> {
        let folder = self.folder(id)?;
        let listing = |e| io_error(folder.path(), "listing", e);
        let names = folder.names().map_err(listing)?;
        let finished = names.iter().any(|n| n == MANIFEST);
        let stated = if finished {
            Some(contents(&folder)?.files)
        } else {
            None
        };
        let present: Vec<&String> = names.iter().filter(|n| n.ends_with(HLOG)).collect();
        if let Some(stated) = &stated
            && let Some(missing) = stated.keys().find(|k| !present.contains(k))
        {
            return Err(damaged(&folder.path().join(missing), "it is missing"));
        }
        let mut cut = Vec::new();
        for name in present {
            let sum = match &stated {
                Some(files) => Some(files.get(name).ok_or_else(|| {
                    damaged(&folder.path().join(name), "contents.json does not list it")
                })?),
                None => None,
            };
            let flaw = read_file(&folder, name, sum, visit)?;
            cut.extend(flaw.map(|flaw| CutFile {
                file: name.clone(),
                flaw,
            }));
        }
        Ok(cut)
    }
}

/// Reads one interval file; `sum` is what a finished run states of it.
fn read_file(
    folder: &Folder,
    name: &str,
    sum: Option<&FileSum>,
    visit: &mut dyn FnMut(&str, hlog::Record),
) -> Result<Option<hlog::Flaw>, StoreError> {
    let path = folder.path().join(name);
    let row = name.strip_suffix(HLOG).unwrap_or(name);
    let file = folder
        .open_file(name)
        .map_err(|e| unreadable(&path, "opening intervals", e))?;
    let input = BufReader::with_capacity(64 << 10, io::Read::take(file, HLOG_MAX_BYTES));
    let scan = hlog::scan(input, &mut |record| {
        visit(&format!("{row}/{}", record.tag), record);
    })
    .map_err(|flaw| damaged(&path, format!("line {}: {}", flaw.line, flaw.what)))?;
    let Some(sum) = sum else {
        return Ok(scan.cut);
    };
    if scan.bytes != sum.bytes || hex(scan.crc32c) != sum.crc32c {
        let what = format!(
            "{} bytes with CRC32C {}, contents.json states {} bytes with {}",
            scan.bytes,
            hex(scan.crc32c),
            sum.bytes,
            sum.crc32c
        );
        return Err(damaged(&path, what));
    }
    match scan.cut {
        Some(flaw) => Err(damaged(&path, format!("line {}: {}", flaw.line, flaw.what))),
        None => Ok(None),
    }
}

pub(super) fn contents(folder: &Folder) -> Result<Contents, StoreError> {
    let path = folder.path().join(CONTENTS);
    let bytes = folder
        .read(CONTENTS, CONTENTS_MAX_BYTES)
        .map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => damaged(&path, "it is missing, but there is a manifest"),
            _ => unreadable(&path, "reading contents.json", e),
        })?;
    let contents: Contents =
        serde_json::from_slice(&bytes).map_err(|e| damaged(&path, e.to_string()))?;
    if contents.schema == CONTENTS_SCHEMA {
        Ok(contents)
    } else {
        Err(damaged(&path, format!("schema `{}`", contents.schema)))
    }
}

/// A run without a manifest: still being written, or dead.
fn unfinished(id: &str, folder: &Folder) -> StoreError {
    let id = id.to_owned();
    if folder.is_locked() {
        StoreError::Running { id }
    } else {
        StoreError::Incomplete { id }
    }
}

/// Refuses the text of a run of another version.
fn check_version(id: &str, path: &Path, text: &[u8]) -> Result<(), StoreError> {
    let marker: Marker = serde_json::from_slice(text).map_err(|e| damaged(path, e.to_string()))?;
    let (id, found, supported) = (id.to_owned(), marker.schema, measure::run::SCHEMA);
    Err(match version(&found, supported) {
        Version::Same => return Ok(()),
        Version::Newer => StoreError::NewerRun {
            id,
            found,
            supported,
        },
        Version::Older => StoreError::OlderRun {
            id,
            path: path.to_owned(),
            found,
            supported,
        },
        Version::Other => damaged(
            path,
            format!("its schema is `{}`", measure::words::sanitize::line(&found)),
        ),
    })
}

pub(super) fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        what: what.into(),
    }
}

/// What is refused because of what it is (a link, a FIFO, too long) is damage of the store.
pub(super) fn unreadable(path: &Path, action: &'static str, e: io::Error) -> StoreError {
    let link = e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    match e.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => damaged(path, e.to_string()),
        _ if link => damaged(path, "it is a symbolic link, which redolab never makes"),
        _ => io_error(path, action, e),
    }
}
