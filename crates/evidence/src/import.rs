//! An import of one or more files: each is read by the reader of its kind, and what spans files is
//! joined at the end.
//!
//! Invariant: a file's kind is decided once, from its first [`HEAD_BYTES`] or from
//! [`Options::kind`]; diagnostics are bounded, and those that were not kept are counted.

use crate::notes::quote;
use crate::prefixes::CutPrefixes;
use crate::readers::KindReader;
use crate::{
    Gathered, ImportRefusal, Kind, Notes, Options, Sink, counters, kind, regions, sink, snapshots,
    tables, text, trace,
};
use measure::imported::{Diagnostic, Imported, Severity, Source};
use measure::origin::TextSpan;
use measure::run::Row;

/// Bytes of a file that its kind is recognised from.
pub const HEAD_BYTES: usize = 256 << 10;
/// Diagnostics that an import keeps in all.
const DIAGNOSTICS_MAX: usize = 10_000;

/// An import of one or more files.
#[derive(Debug, Default)]
pub struct Import {
    options: Options,
    gathered: Gathered,
    sources: Vec<Source>,
    diagnostics: Vec<Diagnostic>,
    dropped: u64,
    /// Which file gave which rows.
    rows_of: Vec<tables::RowsOfFile>,
}

/// What an import gives to a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One row for each process or snapshot.
    pub rows: Vec<Row>,
    /// Sources, tables, series.
    pub imported: Imported,
    /// What is wrong or unusual.
    pub diagnostics: Vec<Diagnostic>,
}

impl Import {
    /// An import of nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Import {
        Import {
            options,
            ..Import::default()
        }
    }

    /// Begins a file. `file` is its name as the user gave it, `packing` how it was packed.
    #[must_use]
    pub fn open(&self, file: &str, packing: &str) -> Reading {
        Reading::open(&self.options, file, packing)
    }

    /// What the user decided.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Ends a file, and takes what it gave; returns the last of its samples beside the outcome. The
    /// diagnostics of a refused file are kept all the same.
    pub fn close(&mut self, mut reading: Reading) -> (Vec<u8>, Result<(), ImportRefusal>) {
        let ended = reading.end(&mut self.gathered);
        let samples = reading.take_samples();
        let room = DIAGNOSTICS_MAX.saturating_sub(self.diagnostics.len());
        let mut found = reading.sink.notes.into_diagnostics();
        self.dropped += found.iter().skip(room).map(|d| d.count).sum::<u64>();
        found.truncate(room);
        self.diagnostics.append(&mut found);
        if ended.is_ok() {
            self.rows_of.push(tables::RowsOfFile {
                file: reading.source.file.clone(),
                lines: reading.source.lines,
                end: self.gathered.rows.len(),
            });
            self.sources.push(reading.source);
        }
        (samples, ended)
    }

    /// A file could not be read to its end: says so beside what was read.
    pub fn note(&mut self, severity: Severity, id: &'static str, file: &str, detail: String) {
        let mut notes = Notes::new(file);
        notes.add(severity, id, None, None, || detail);
        self.diagnostics.append(&mut notes.into_diagnostics());
    }

    /// Files that gave something.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Joins what the files gave.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        for offset in self.options.utc_offsets.clone() {
            if !self.sources.iter().any(|s| offset.is_of(&s.file)) {
                let detail = format!(
                    "the offset {offset} is stated for {}, which is not a source of this import",
                    quote(offset.source.as_bytes())
                );
                self.note(Severity::Warning, "import.no_such_source", "", detail);
            }
        }
        if self.dropped > 0 {
            let detail = format!("{} more diagnostics were not kept", self.dropped);
            self.note(Severity::Warning, "import.many_diagnostics", "", detail);
        }
        let Gathered {
            mut rows,
            mut tables,
            series,
            snapshots,
            counters,
            log_devices,
            ..
        } = self.gathered;
        let mut all = tables::of_rows(&rows, &self.rows_of);
        snapshots::join(&snapshots, &mut rows, &mut all, &mut self.diagnostics);
        all.append(&mut tables);
        counters::join(&counters, &mut all, &mut self.diagnostics);
        let log_device = crate::listing::log_device(&log_devices, &all, &mut self.diagnostics);
        Outcome {
            rows,
            imported: Imported {
                sources: self.sources,
                tables: all,
                series,
                log_device,
            },
            diagnostics: self.diagnostics,
        }
    }
}

/// One file that is being read.
#[derive(Debug)]
pub struct Reading {
    options: Options,
    source: Source,
    decoder: text::Decoder,
    /// Text before the kind is known.
    head: Vec<u8>,
    reader: Option<KindReader>,
    /// Cuts off what another program put before each line, and an example of that.
    prefixes: Option<(CutPrefixes, String)>,
    sink: Sink,
}

impl Reading {
    /// Begins a file that [`Import::close`] takes later. Files may be read at the same time on
    /// several threads; they are closed in their order.
    #[must_use]
    pub fn open(options: &Options, file: &str, packing: &str) -> Reading {
        Reading {
            options: options.clone(),
            source: Source {
                file: file.to_owned(),
                packing: packing.to_owned(),
                ..Source::default()
            },
            decoder: text::Decoder::default(),
            head: Vec::new(),
            reader: None,
            prefixes: None,
            sink: Sink {
                notes: Notes::new(file),
                samples: sink::Samples::of(options.samples_of.as_deref()),
            },
        }
    }

    /// Takes the next bytes, however they are cut.
    ///
    /// # Errors
    /// A file whose kind is not recognised or refused.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ImportRefusal> {
        let text = self.decoder.decode(bytes);
        self.source.bytes += bytes.len() as u64;
        if let Some(reader) = &mut self.reader {
            match &mut self.prefixes {
                Some((prefixes, _)) => reader.feed(&prefixes.feed(&text), &mut self.sink),
                None => reader.feed(&text, &mut self.sink),
            }
            return Ok(());
        }
        self.head.extend_from_slice(&text);
        if self.head.len() >= HEAD_BYTES {
            self.choose(false)?;
        }
        Ok(())
    }

    /// Whether the rest of the file may be cut into blocks ([`Reading::cut_block`]), scanned
    /// anywhere ([`trace::scan`]) and absorbed in order ([`Reading::absorb`]) instead of fed.
    #[must_use]
    pub fn is_scannable(&self) -> bool {
        let is_trace = matches!(self.reader, Some(KindReader::OracleTrace(_)));
        is_trace && !self.decoder.is_utf16() && self.prefixes.is_none()
    }

    /// Cuts the next bytes of a scannable file into a block of whole lines.
    pub fn cut_block(&mut self, bytes: &[u8], block: &mut Vec<u8>) {
        self.source.bytes += bytes.len() as u64;
        block.clear();
        if let Some(KindReader::OracleTrace(reader)) = &mut self.reader {
            reader.cut(bytes, block);
        }
    }

    /// Takes the next block and what was found in it.
    pub fn absorb(&mut self, block: &[u8], scanned: &mut trace::Scanned) {
        if let Some(KindReader::OracleTrace(reader)) = &mut self.reader {
            reader.absorb(block, scanned, &mut self.sink);
        }
    }

    /// Lines `count,elapsed` of the event of [`Options::samples_of`] since the last time.
    pub fn take_samples(&mut self) -> Vec<u8> {
        self.sink.samples.take()
    }

    /// Says that the file could not be read further.
    pub fn cut(&mut self, detail: String) {
        self.sink
            .notes
            .add(Severity::Error, "import.cut_short", None, None, || detail);
    }

    /// The reader that the head calls for, fed with the head. `is_whole` says that nothing follows.
    fn choose(&mut self, is_whole: bool) -> Result<(), ImportRefusal> {
        let file = &self.source.file;
        let head = &self.head[..self.head.len().min(HEAD_BYTES)];
        let kind = match self.options.kind {
            Some(_) if is_whole && head.trim_ascii().is_empty() => {
                return Err(ImportRefusal::Empty { file: file.clone() });
            }
            Some(kind) => kind,
            None => {
                let found = kind::recognise_whole(file, head)?;
                if !found.prefixes.is_empty() {
                    let cut = CutPrefixes::new(found.prefixes);
                    self.prefixes = Some((cut, found.example));
                }
                found.kind
            }
        };
        self.source.kind = kind.name().to_owned();
        let head = std::mem::take(&mut self.head);
        let head = match &mut self.prefixes {
            Some((prefixes, _)) => prefixes.feed(&head),
            None => head,
        };
        let is_open = self.options.kind.is_none() && self.prefixes.is_none();
        let is_page = is_open && is_whole && kind == Kind::OracleTrace && kind::is_page(&head);
        let mut reader = if is_page {
            KindReader::of_page(&self.options, file)
        } else {
            KindReader::new(kind, &self.options, file)
        };
        reader.feed(&head, &mut self.sink);
        self.reader = Some(reader);
        Ok(())
    }

    /// Feeds what is left at the end.
    fn feed_last(&mut self, text: &[u8]) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        match &mut self.prefixes {
            Some((prefixes, _)) => {
                let mut last = prefixes.feed(text);
                last.extend(prefixes.end());
                reader.feed(&last, &mut self.sink);
            }
            None => reader.feed(text, &mut self.sink),
        }
    }

    fn end(&mut self, out: &mut Gathered) -> Result<(), ImportRefusal> {
        let rest = self.decoder.end();
        match &mut self.reader {
            Some(_) => self.feed_last(&rest),
            None => {
                self.head.extend_from_slice(&rest);
                if let Err(refused) = self.choose(true) {
                    // A mail beside a listing is not read, but may name the log's device.
                    let said = crate::listing::said_in(&self.head, &self.source.file);
                    out.log_devices.extend(said);
                    return Err(refused);
                }
                self.feed_last(&[]);
            }
        }
        if self.decoder.is_utf16() {
            let what = || "UTF-16, read as such".to_owned();
            self.sink
                .notes
                .add(Severity::Note, "import.utf16", None, None, what);
        }
        let reader = self.reader.take().expect("chosen above");
        let kind = reader.kind();
        let (before, mark) = (out.yielded, out.mark());
        let given = (out.tables.len(), out.snapshots.len());
        let is_page = matches!(reader, KindReader::Page(_));
        let ended = reader.end(&mut self.sink, out);
        self.source.lines = ended.lines;
        if let Some((prefixes, example)) = &self.prefixes {
            let place = |span: &mut TextSpan| prefixes.place(span);
            out.move_places(mark, &place);
            self.sink.notes.move_places(&place);
            prefixes.say(example, kind.name(), &mut self.sink.notes);
        }
        let tables = out.tables.get(given.0..).unwrap_or_default();
        let snapshots = out.snapshots.get(given.1..).unwrap_or_default();
        let by_lines = (kind.is_by_lines() && !is_page).then(|| kind.name());
        let marks = &self.sink.notes.lines;
        self.source.regions = regions::of(marks, tables, snapshots, ended.lines, by_lines);
        self.source.facts = ended.facts;
        let file = &self.source.file;
        if let Some(offset) = self.options.utc_offsets.iter().find(|o| o.is_of(file)) {
            let fact = ("UTC offset (stated)".to_owned(), offset.to_string());
            self.source.facts.push(fact);
        }
        if out.yielded == before {
            let first = self.sink.notes.first().map(|d| format!(" ({})", d.detail));
            return Err(ImportRefusal::Nothing {
                file: self.source.file.clone(),
                kind,
                looked_for: kind.looked_for(),
                more: first.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
