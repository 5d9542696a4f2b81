//! A run as JSON, for programs: the manifest's own form, in which a figure that was not measured is
//! `null`.

use crate::harmless_json;
use measure::run::Run;
use std::io::{self, Write};

/// Writes the run as pretty-printed JSON with a newline behind it.
///
/// # Errors
/// An error of `out`.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    harmless_json::write_pretty(run, out)
}
