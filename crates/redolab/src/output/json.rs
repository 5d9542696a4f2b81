//! A run as JSON, for programs: the manifest's own form, with `null` in the fields that the
//! evidence of an imported row does not tell.

use measure::run::Run;
use std::io::{self, Write};

/// Writes the run as pretty-printed JSON with a newline behind it.
///
/// # Errors
/// An error of `out`.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    if run.rows.iter().all(|row| row.not_measured.is_empty()) {
        serde_json::to_writer_pretty(&mut *out, run)?;
    } else {
        let mut value = serde_json::to_value(run)?;
        for (index, row) in run.rows.iter().enumerate() {
            for field in &row.not_measured {
                if let Some(slot) = value["rows"][index].get_mut(field) {
                    *slot = serde_json::Value::Null;
                }
            }
        }
        serde_json::to_writer_pretty(&mut *out, &value)?;
    }
    out.write_all(b"\n")
}
