//! A run as one JSON file, to be carried to another machine and loaded there.
//!
//! Invariants: interval files travel byte for byte; only finished, undamaged runs leave; what
//! comes in is verified whole before its manifest is written, and never replaces a run. Neither way
//! holds the file in memory: interval files are streamed, and the run is bounded (see `outline`).

use super::outline::{self, Outline, RUN_MAX_BYTES, Unescaped};
use super::reader::damaged;
use super::recordings::{self, RECORDING_MAX_BYTES};
use super::{HLOG, Marker, Store, StoreError, hlog, named, other_version};
use crate::folder::is_name;
use crate::harmless_json::HarmlessJson;
use measure::run::Run;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// The schema of an exported run.
pub const SCHEMA: &str = "redolab.export/2";
/// Longest export that is made or read, in bytes.
const EXPORT_MAX_BYTES: u64 = 1 << 30;
/// Bytes of an interval file that are carried at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A file that can be read twice.
pub trait Rereadable: Read + Seek {}

impl<T: Read + Seek> Rereadable for T {}

impl Store {
    /// Writes a finished run with its intervals as one JSON document.
    ///
    /// # Errors
    /// Those of loading it, a run over 1 GiB, or an error of `out`.
    pub fn export(&self, id: &str, out: &mut dyn Write) -> Result<(), StoreError> {
        let run = self.load(id)?;
        // Verifies every interval and every file against its stated sum.
        self.for_each_interval(id, &mut |_, _| {})?;
        let folder = self.folder(id)?;
        let failed = |e| super::io_error(folder.path(), "exporting", e);
        let mut out = HarmlessJson::new(out);
        let mut out = Bounded {
            out: &mut out,
            room: EXPORT_MAX_BYTES,
        };
        let written = StoreError::Output;
        let schema = format!("{{\n\"schema\": \"{SCHEMA}\",\n\"run\": ");
        out.write_all(schema.as_bytes()).map_err(written)?;
        serde_json::to_writer_pretty::<&mut dyn Write, _>(&mut out, &run)
            .map_err(|e| written(e.into()))?;
        out.write_all(b",\n\"hlog\": {").map_err(written)?;
        let names = folder.names().map_err(failed)?;
        let files = names.iter().filter(|name| name.ends_with(HLOG));
        for (index, name) in files.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let name_text = serde_json::to_string(name).expect("a string is JSON");
            out.write_all(format!("{comma}\n{name_text}: \"").as_bytes())
                .map_err(written)?;
            let file = folder.open_file(name).map_err(failed)?;
            let mut lines = BufReader::with_capacity(CHUNK_BYTES, file);
            let mut line = Vec::new();
            // The lines are bounded: they were just verified.
            while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
                let text = std::str::from_utf8(&line)
                    .map_err(|e| failed(io::Error::new(io::ErrorKind::InvalidData, e)))?;
                let quoted = serde_json::to_string(text).expect("a string is JSON");
                let inner = quoted.trim_start_matches('"');
                let inner = inner.strip_suffix('"').unwrap_or(inner);
                out.write_all(inner.as_bytes()).map_err(written)?;
                line.clear();
            }
            out.write_all(b"\"").map_err(written)?;
        }
        out.write_all(b"\n},\n\"recording\": {").map_err(written)?;
        let mut comma = "";
        self.for_each_recording_text(id, &mut |name, text, path| {
            let text = std::str::from_utf8(text).map_err(|e| damaged(path, e.to_string()))?;
            let quoted = |text: &str| serde_json::to_string(text).expect("a string is JSON");
            let line = format!("{comma}\n{}: {}", quoted(name), quoted(text));
            comma = ",";
            out.write_all(line.as_bytes()).map_err(written)
        })?;
        out.write_all(b"\n}\n}\n").map_err(written)?;
        out.flush().map_err(written)
    }

    /// Loads an exported run and returns its name.
    ///
    /// # Errors
    /// Something that is not an exported run, one that would take too much memory, intervals that
    /// are damaged, or a run of that name that is already there; nothing is left of a run that
    /// could not be loaded.
    pub fn import(&self, input: &mut dyn Rereadable) -> Result<String, StoreError> {
        let Parts {
            run,
            files,
            recordings,
        } = parse(input, &mut |_, _| {})?;
        let id = run.run_id.clone();
        let mut writer = self.begin(&id)?;
        let stored = files
            .iter()
            .try_for_each(|(name, range)| {
                let mut text = unescaped(input, range).map_err(refuse)?;
                let mut header = vec![0; hlog::HEADER.len()];
                text.read_exact(&mut header).map_err(refuse)?;
                let mut chunk = vec![0; CHUNK_BYTES];
                writer.append(name, b"")?;
                loop {
                    let n = text.read(&mut chunk).map_err(refuse)?;
                    if n == 0 {
                        return Ok(());
                    }
                    writer.append(name, chunk.get(..n).unwrap_or_default())?;
                }
            })
            .and_then(|()| {
                recordings.iter().try_for_each(|(name, range)| {
                    writer.write_recording(name, &recording_text(input, range)?)
                })
            })
            .and_then(|()| writer.finish(&run));
        if stored.is_err() {
            // The reason is told by the error; what is left would show as incomplete.
            let _ = self.delete(&id);
        }
        stored.map(|()| id)
    }
}

/// Passes on at most so many bytes.
struct Bounded<'a> {
    out: &'a mut dyn Write,
    room: u64,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.room = self.room.checked_sub(n as u64).ok_or_else(|| {
            io::Error::other("the run takes over 1 GiB as one file, which cannot be loaded")
        })?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads an exported run without storing it, and hands every interval to `visit` with the name of
/// its series.
///
/// # Errors
/// Something that is not an exported run, one that would take too much memory, or intervals that
/// are damaged.
pub fn read(
    input: &mut dyn Rereadable,
    visit: &mut dyn FnMut(&str, hlog::Record),
) -> Result<Run, StoreError> {
    parse(input, visit).map(|parts| parts.run)
}

fn not_an_export(what: &str) -> StoreError {
    StoreError::NotAnExport {
        what: measure::words::sanitize::line(what),
    }
}

fn refuse(e: impl std::fmt::Display) -> StoreError {
    not_an_export(&e.to_string())
}

/// A part of the file.
fn part<'a>(
    input: &'a mut dyn Rereadable,
    range: &Range<u64>,
) -> io::Result<BufReader<io::Take<&'a mut dyn Rereadable>>> {
    input.seek(SeekFrom::Start(range.start))?;
    let part = input.take(range.end - range.start);
    Ok(BufReader::with_capacity(CHUNK_BYTES, part))
}

type Text<'a> = BufReader<Unescaped<BufReader<io::Take<&'a mut dyn Rereadable>>>>;

/// A string of the file.
fn unescaped<'a>(input: &'a mut dyn Rereadable, range: &Range<u64>) -> io::Result<Text<'a>> {
    let text = Unescaped::new(part(input, range)?);
    Ok(BufReader::with_capacity(CHUNK_BYTES, text))
}

/// The text of a recording.
fn recording_text(input: &mut dyn Rereadable, range: &Range<u64>) -> Result<Vec<u8>, StoreError> {
    let mut text = Vec::new();
    let bounded = unescaped(input, range).map_err(refuse)?;
    let mut bounded = bounded.take(RECORDING_MAX_BYTES + 1);
    bounded.read_to_end(&mut text).map_err(refuse)?;
    Ok(text)
}

/// The run, and where the texts of its interval files and recordings are.
struct Parts {
    run: Run,
    files: Vec<(String, Range<u64>)>,
    recordings: Vec<(String, Range<u64>)>,
}

fn parse(
    input: &mut dyn Rereadable,
    visit: &mut dyn FnMut(&str, hlog::Record),
) -> Result<Parts, StoreError> {
    let length = input.seek(SeekFrom::End(0)).map_err(refuse)?;
    if length > EXPORT_MAX_BYTES {
        return Err(not_an_export("it is longer than 1 GiB"));
    }
    let whole = part(input, &(0..length)).map_err(refuse)?;
    let outline = Outline::of(whole, SCHEMA).map_err(refuse)?;
    let bytes = outline.run.end - outline.run.start;
    outline::fits(bytes, outline.run_memory).map_err(refuse)?;
    let text = part(input, &outline.run).map_err(refuse)?;
    let marker: Marker = serde_json::from_reader(text.take(RUN_MAX_BYTES)).map_err(refuse)?;
    if let Some(what) = other_version(&marker.schema, measure::run::SCHEMA) {
        return Err(not_an_export(&format!("its run: {what}")));
    }
    let text = part(input, &outline.run).map_err(refuse)?;
    let run: Run = serde_json::from_reader(text.take(RUN_MAX_BYTES)).map_err(refuse)?;
    named(&run.run_id)?;
    for (name, range) in &outline.files {
        let row = name.strip_suffix(HLOG).unwrap_or_default();
        if !is_name(row) {
            return Err(not_an_export(&format!(
                "`{name}` cannot name an interval file"
            )));
        }
        let text = unescaped(input, range).map_err(refuse)?;
        let mut each = |record: hlog::Record| visit(&format!("{row}/{}", record.tag), record);
        let scan = hlog::scan(text, &mut each);
        let flaw = scan.map_or_else(Some, |scan| scan.cut);
        if let Some(flaw) = flaw {
            let what = format!("{name} line {}: {}", flaw.line, flaw.what);
            return Err(not_an_export(&what));
        }
    }
    for (name, range) in &outline.recordings {
        let text = recording_text(input, range)?;
        let what = match recordings::row_of(name) {
            None => Some(format!("`{name}` cannot name a recording")),
            Some(_) => recordings::parse(&text)
                .err()
                .map(|e| format!("{name}: {e}")),
        };
        if let Some(what) = what {
            return Err(not_an_export(&what));
        }
    }
    Ok(Parts {
        run,
        files: outline.files,
        recordings: outline.recordings,
    })
}
