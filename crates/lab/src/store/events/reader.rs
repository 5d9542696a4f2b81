//! Reading a run's events in chunks: the columns that are asked for, in bounded memory.
//!
//! Invariants: of a finished run every part has the length and the sum that were stated when it was
//! written; of an unfinished one a part that cannot be read is left out and reported, and events of
//! parts that were not in place are not there. Files are read as hostile: what the decoder does not
//! take is an error that names the file.

use super::{EventColumn, EventKind, FOLDER, parse_part_name};
use crate::folder::Folder;
use crate::store::error::io_error;
use crate::store::reader::{contents, damaged, unreadable};
use crate::store::{FileSum, MANIFEST, Store, StoreError, hex, hlog};
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Events of a chunk at most.
const CHUNK_EVENTS: usize = 1 << 16;
/// Longest part that is read: redolab writes parts of 10 MB.
const PART_MAX_BYTES: u64 = 256 << 20;

/// What to read.
#[derive(Clone, Debug)]
pub struct Query {
    /// The kind of event; `None` for all.
    pub event: Option<EventKind>,
    /// Row of the run, from 1; `None` for all.
    pub row: Option<u32>,
    /// The columns, text ones excepted: what they tell is in each chunk.
    pub columns: Vec<EventColumn>,
}

/// Some events of one kind and one row of a run.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The kind.
    pub event: EventKind,
    /// The row, from 1.
    pub row: u32,
    /// How many events.
    pub events: usize,
    columns: Vec<(EventColumn, Vec<Option<i64>>)>,
}

impl Chunk {
    /// The figures of a column, an event each, `None` where an event has none; empty when the query
    /// did not ask for it.
    #[must_use]
    pub fn column(&self, column: EventColumn) -> &[Option<i64>] {
        let found = self.columns.iter().find(|(name, _)| *name == column);
        found.map_or(&[], |(_, values)| values.as_slice())
    }
}

/// A part of an unfinished run that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutPart {
    /// The part.
    pub file: String,
    /// What does not fit.
    pub what: String,
}

/// Reads events chunk by chunk, in the order of kinds, rows and parts.
pub struct EventReader {
    folder: Folder,
    /// Lengths and sums of a finished run.
    stated: Option<BTreeMap<String, FileSum>>,
    query: Query,
    waiting: VecDeque<(EventKind, u32, String)>,
    open: Option<OpenPart>,
    cut: Vec<CutPart>,
}

struct OpenPart {
    event: EventKind,
    row: u32,
    name: String,
    file: SerializedFileReader<File>,
    /// The next row group.
    group: usize,
    columns: Vec<(EventColumn, ColumnReaderImpl<Int64Type>)>,
    /// Events of the row group that were not read.
    left: usize,
}

impl Store {
    /// The events of a run, finished or not.
    ///
    /// # Errors
    /// A run that is missing or has no events, a finished one whose parts are not those that were
    /// written, or the system's errors.
    pub fn events(&self, id: &str, query: Query) -> Result<EventReader, StoreError> {
        let run = self.folder(id)?;
        let listing = |e| io_error(run.path(), "listing", e);
        let none = || StoreError::NoEvents { id: id.to_owned() };
        let finished = run.names().map_err(listing)?.iter().any(|n| n == MANIFEST);
        let stated = if finished {
            Some(contents(&run)?.events.ok_or_else(none)?)
        } else {
            None
        };
        let folder = match run.open(FOLDER) {
            Ok(folder) => folder,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !finished => return Err(none()),
            Err(e) => return Err(unreadable(&run.path().join(FOLDER), "opening events", e)),
        };
        let present = folder.names().map_err(listing)?;
        if let Some(stated) = &stated
            && let Some(missing) = stated.keys().find(|name| !present.contains(name))
        {
            return Err(damaged(&folder.path().join(missing), "it is missing"));
        }
        let names = match &stated {
            Some(stated) => stated.keys().cloned().collect(),
            None => present,
        };
        let mut waiting: Vec<(EventKind, u32, String)> = names
            .into_iter()
            .filter_map(|name| parse_part_name(&name).map(|(kind, row)| (kind, row, name)))
            .filter(|(kind, row, _)| {
                query.event.is_none_or(|k| k == *kind) && query.row.is_none_or(|r| r == *row)
            })
            .collect();
        waiting.sort();
        Ok(EventReader {
            folder,
            stated,
            query,
            waiting: waiting.into(),
            open: None,
            cut: Vec::new(),
        })
    }
}

impl Store {
    /// Hands every part of a run's events to `visit`, by its name and as it was written: for what
    /// reads Parquet itself. `false`: no events were captured.
    ///
    /// # Errors
    /// As [`Store::events`], and those of `visit`.
    pub fn for_each_event_part<E: From<StoreError>>(
        &self,
        id: &str,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let query = Query {
            event: None,
            row: None,
            columns: Vec::new(),
        };
        let mut parts = match self.events(id, query) {
            Err(StoreError::NoEvents { .. }) => return Ok(false),
            parts => parts?,
        };
        while let Some((event, row, name)) = parts.waiting.pop_front() {
            // Verifies its length and sum, or leaves it out.
            if parts.open_part(event, row, name.clone())?.is_none() {
                continue;
            }
            let path = parts.folder.path().join(&name);
            let bytes = parts.folder.read(&name, PART_MAX_BYTES);
            let bytes = bytes.map_err(|e| unreadable(&path, "reading events", e))?;
            visit(&name, &bytes)?;
        }
        Ok(true)
    }
}

impl Iterator for EventReader {
    type Item = Result<Chunk, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut part = match self.open.take() {
                Some(part) => part,
                None => {
                    let (event, row, name) = self.waiting.pop_front()?;
                    match self.open_part(event, row, name) {
                        Ok(Some(part)) => part,
                        Ok(None) => continue,
                        Err(e) => return Some(Err(self.fail(e))),
                    }
                }
            };
            match part.chunk(&self.query.columns) {
                Ok(Some(chunk)) => {
                    self.open = Some(part);
                    return Some(Ok(chunk));
                }
                Ok(None) => {}
                Err(what) => match self.refuse(&part.name, what) {
                    Ok(()) => {}
                    Err(e) => return Some(Err(self.fail(e))),
                },
            }
        }
    }
}

impl EventReader {
    /// Parts of an unfinished run that were left out so far.
    #[must_use]
    pub fn cut(&self) -> &[CutPart] {
        &self.cut
    }

    /// After an error there is no more.
    fn fail(&mut self, error: StoreError) -> StoreError {
        self.waiting.clear();
        error
    }

    /// A part that cannot be read: an error of a finished run.
    fn refuse(&mut self, name: &str, what: String) -> Result<(), StoreError> {
        let what = measure::words::sanitize::line(&what);
        if self.stated.is_some() {
            return Err(damaged(&self.folder.path().join(name), what));
        }
        let file = name.to_owned();
        self.cut.push(CutPart { file, what });
        Ok(())
    }

    fn open_part(
        &mut self,
        event: EventKind,
        row: u32,
        name: String,
    ) -> Result<Option<OpenPart>, StoreError> {
        let path = self.folder.path().join(&name);
        let failed = |e| unreadable(&path, "reading events", e);
        let mut file = self.folder.open_file(&name).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        if let Some(sum) = self.stated.as_ref().and_then(|stated| stated.get(&name)) {
            if bytes < sum.bytes {
                let stated = sum.bytes;
                return Err(StoreError::CutShort {
                    path,
                    bytes,
                    stated,
                });
            }
            let found = crc32c(&mut file).map_err(failed)?;
            if bytes != sum.bytes || hex(found) != sum.crc32c {
                return Err(damaged(&path, "it is not what contents.json lists"));
            }
        }
        if bytes > PART_MAX_BYTES {
            self.refuse(&name, format!("it is longer than {PART_MAX_BYTES} bytes"))?;
            return Ok(None);
        }
        match guarded(|| SerializedFileReader::new(file)) {
            Ok(file) => Ok(Some(OpenPart {
                event,
                row,
                name,
                file,
                group: 0,
                columns: Vec::new(),
                left: 0,
            })),
            Err(what) => self.refuse(&name, what).map(|()| None),
        }
    }
}

impl OpenPart {
    /// The next events, or `None` at the end of the part.
    fn chunk(&mut self, columns: &[EventColumn]) -> Result<Option<Chunk>, String> {
        while self.left == 0 {
            if self.group == self.file.metadata().num_row_groups() {
                return Ok(None);
            }
            self.next_group(columns)?;
        }
        let events = self.left.min(CHUNK_EVENTS);
        let mut chunk = Chunk {
            event: self.event,
            row: self.row,
            events,
            columns: Vec::with_capacity(columns.len()),
        };
        for (column, reader) in &mut self.columns {
            let values = figures(reader, *column, events)?;
            chunk.columns.push((*column, values));
        }
        self.left -= events;
        Ok(Some(chunk))
    }

    fn next_group(&mut self, wanted: &[EventColumn]) -> Result<(), String> {
        let (file, index) = (&self.file, self.group);
        let (columns, rows) = guarded(|| {
            let group = file.get_row_group(index)?;
            let rows = usize::try_from(group.metadata().num_rows())
                .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
            let columns: Result<Vec<_>, ParquetError> = wanted
                .iter()
                .map(|column| Ok((*column, open_column(group.as_ref(), *column)?)))
                .collect();
            Ok((columns?, rows))
        })?;
        self.columns = columns;
        self.left = rows;
        self.group += 1;
        Ok(())
    }
}

fn open_column(
    group: &dyn RowGroupReader,
    column: EventColumn,
) -> Result<ColumnReaderImpl<Int64Type>, ParquetError> {
    let schema = group.metadata().schema_descr();
    let found = schema.columns().iter().position(|c| {
        c.name() == column.name() && c.physical_type() == Physical::INT64 && c.max_rep_level() == 0
    });
    let absent = || ParquetError::General(format!("it has no column {}", column.name()));
    match group.get_column_reader(found.ok_or_else(absent)?)? {
        ColumnReader::Int64ColumnReader(reader) => Ok(reader),
        _ => Err(absent()),
    }
}

/// The next `count` figures of a column.
fn figures(
    reader: &mut ColumnReaderImpl<Int64Type>,
    column: EventColumn,
    count: usize,
) -> Result<Vec<Option<i64>>, String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut records = 0;
    while records < count {
        let (more, _, _) =
            guarded(|| reader.read_records(count - records, Some(&mut levels), None, &mut values))?;
        if more == 0 {
            return Err(format!("column {} ends early", column.name()));
        }
        records += more;
    }
    if levels.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    let figure = |level: i16| (level > 0).then(|| values.next()).flatten();
    Ok(levels.into_iter().map(figure).collect())
}

/// Runs the decoder, whose every failure is one of the file.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(format!("not a whole file of events: {e}")),
        Err(_) => Err("not a file of events: it cannot be decoded".to_owned()),
    }
}

/// The sum of a whole file, which then stands at its beginning.
fn crc32c(file: &mut File) -> std::io::Result<u32> {
    let mut digest = hlog::digest();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(buffer.get(..read).unwrap_or_default());
    }
    file.rewind()?;
    Ok(hlog::finish(&digest))
}
