//! The question before much is written: asked where somebody looks on, after everything was
//! announced and nothing refused, and before the first byte.
//!
//! What it must not know: whether a terminal is attached, and how an answer is read. A console
//! where nobody looks on agrees.

use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::experiment::plan::prepare::Prepared;
use crate::safety::Refusal;
use measure::words::size;

/// More than this is written only after somebody agreed, where somebody looks on.
const ASK_BYTES: u64 = 10 << 30;

/// Asks whether what `prepared` may write is to be written.
///
/// # Errors
/// The answer is no, or an interrupt came instead of one.
pub(crate) fn ask(prepared: &Prepared<'_>, console: &dyn Console) -> Result<(), Failure> {
    if prepared.all_bytes <= ASK_BYTES {
        return Ok(());
    }
    match console.confirm(&question(prepared)) {
        true => Ok(()),
        false if console.interrupt().requested() => Err(Failure::Interrupted),
        false => Err(Refusal::Declined.into()),
    }
}

fn question(prepared: &Prepared<'_>) -> String {
    let bytes = size(prepared.all_bytes);
    let time = match prepared.takes {
        Some(takes) => format!(
            "in about {:.0} s, after the log files were made",
            takes.as_secs()
        ),
        None => "in a time that depends on the device, since commits are counted".to_owned(),
    };
    format!("Up to {bytes} will be written {time}. Continue?")
}
