//! What `--max-write` leaves to a floor that is measured without a log.

use super::{KEEP_BYTES, Limits, ServersToMake};
use crate::budget::Budget;
use crate::experiment::Failure;
use crate::experiment::measure::floor::FILE_BYTES;
use crate::safety::Refusal;
use measure::words::size;

/// Kept for what a raw device, the journal of the work folder and the store take.
const KEPT_BYTES: u64 = KEEP_BYTES + (16 << 20);
/// The points of small writes have room for a few hundred each.
const POINTS_BYTES: u64 = 32 << 20;

/// The plan of a floor alone: each point has an equal part of what the points before it left.
///
/// # Errors
/// A limit that does not hold the file and a few small writes.
pub(crate) fn of_floor(limit: Option<u64>) -> Result<Limits, Failure> {
    let (planned, mut lines) = (FILE_BYTES + KEPT_BYTES + POINTS_BYTES, Vec::new());
    if let Some(allowed) = limit {
        if allowed < planned {
            let parts = format!(
                "{} for the file, {} kept for the store, {} for the writes",
                size(FILE_BYTES),
                size(KEPT_BYTES),
                size(POINTS_BYTES)
            );
            return Err(Failure::Refused(Refusal::Budget {
                planned,
                allowed,
                parts,
                advice: "",
            }));
        }
        lines.push(
            "The points share this equally; what a point does not use goes to those after it, and \
             one whose share holds fewer than 4 writes is left out."
                .to_owned(),
        );
    }
    Ok(Limits {
        budget: Budget::of(limit),
        making: FILE_BYTES,
        servers: ServersToMake::default(),
        floor: limit.map(|limit| limit - KEPT_BYTES),
        direct_only: false,
        fixed: None,
        lines,
    })
}
