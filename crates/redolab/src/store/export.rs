//! A run as one JSON file, to be carried to another machine and loaded there.
//!
//! Invariants: interval files travel byte for byte; only finished, undamaged runs leave; what
//! comes in is verified whole before its manifest is written, and never replaces a run.

use super::{HLOG, Store, StoreError, hlog, named};
use crate::folder::is_name;
use measure::run::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// The schema of an exported run.
pub const SCHEMA: &str = "redolab.export/1";
/// Longest export that is made or read, in bytes.
const EXPORT_MAX_BYTES: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    schema: String,
    run: Run,
    /// Text of each interval file by its name.
    hlog: BTreeMap<String, String>,
}

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
        let mut room = EXPORT_MAX_BYTES;
        let mut files = BTreeMap::new();
        for name in folder.names().map_err(failed)? {
            if !name.ends_with(HLOG) {
                continue;
            }
            let bytes = folder.read(&name, room).map_err(failed)?;
            room -= bytes.len() as u64;
            let text = String::from_utf8(bytes)
                .map_err(|e| failed(io::Error::new(io::ErrorKind::InvalidData, e)))?;
            files.insert(name, text);
        }
        let export = Export {
            schema: SCHEMA.to_owned(),
            run,
            hlog: files,
        };
        serde_json::to_writer_pretty(&mut *out, &export).map_err(|e| failed(e.into()))?;
        out.write_all(b"\n")
            .and_then(|()| out.flush())
            .map_err(failed)
    }

    /// Loads an exported run and returns its name.
    ///
    /// # Errors
    /// Something that is not an exported run, intervals that are damaged, or a run of that name
    /// that is already there; nothing is left of a run that could not be loaded.
    pub fn import(&self, input: &mut dyn Read) -> Result<String, StoreError> {
        let export = parse(input, &mut |_, _| {})?;
        let id = export.run.run_id.clone();
        let mut writer = self.begin(&id)?;
        let stored = export
            .hlog
            .iter()
            .try_for_each(|(name, text)| {
                let body = text.strip_prefix(hlog::HEADER).unwrap_or_default();
                writer.append(name, body.as_bytes())
            })
            .and_then(|()| writer.finish(&export.run));
        if stored.is_err() {
            // The reason is told by the error; what is left would show as incomplete.
            let _ = self.delete(&id);
        }
        stored.map(|()| id)
    }
}

/// Reads an exported run without storing it, and hands every interval to `visit` with the name of
/// its series.
///
/// # Errors
/// Something that is not an exported run, or intervals that are damaged.
pub fn read(
    input: &mut dyn Read,
    visit: &mut dyn FnMut(&str, hlog::Record),
) -> Result<Run, StoreError> {
    parse(input, visit).map(|export| export.run)
}

fn parse(
    input: &mut dyn Read,
    visit: &mut dyn FnMut(&str, hlog::Record),
) -> Result<Export, StoreError> {
    let refuse = |what: String| StoreError::NotAnExport {
        what: crate::output::sanitize::line(&what),
    };
    let mut text = String::new();
    input
        .take(EXPORT_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|e| refuse(e.to_string()))?;
    if text.len() as u64 > EXPORT_MAX_BYTES {
        return Err(refuse("it is longer than 1 GiB".to_owned()));
    }
    let marker: super::Marker = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
    if marker.schema != SCHEMA {
        return Err(refuse(format!("schema `{}`, not {SCHEMA}", marker.schema)));
    }
    let export: Export = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
    drop(text);
    named(&export.run.run_id)?;
    for (name, text) in &export.hlog {
        let row = name.strip_suffix(HLOG).unwrap_or_default();
        if !is_name(row) {
            return Err(refuse(format!("`{name}` cannot name an interval file")));
        }
        let mut each = |record: hlog::Record| visit(&format!("{row}/{}", record.tag), record);
        let scan = hlog::scan(text.as_bytes(), &mut each)
            .map_err(|f| refuse(format!("{name} line {}: {}", f.line, f.what)))?;
        if let Some(cut) = scan.cut {
            return Err(refuse(format!("{name} line {}: {}", cut.line, cut.what)));
        }
    }
    Ok(export)
}
