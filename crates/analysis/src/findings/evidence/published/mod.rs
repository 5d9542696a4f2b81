//! Rules about what the published studies print: sweeps and claims about them, shares beside their
//! formula or their counts, a column of clock readings named a latency, windows stated in words,
//! misspelt platforms, sides of a comparison that are not alike.
//!
//! These rules will move to `reproduce` (the command that puts published figures beside measured
//! ones), with the readers in the crate `evidence`'s module `published`. They are about tables by
//! their ids and columns and know no study, as the other rules here.

pub(in crate::findings) mod clock;
mod shares;
pub(crate) mod sweep;
mod sweep_claims;
mod sweep_order;
pub(crate) mod sweep_peaks;
mod window;
mod wording;

use super::view::Tables;
use crate::findings::note::Note;

/// What these rules find.
pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    clock::collect(tables, notes);
    window::collect(tables, notes);
    shares::collect(tables, notes);
    sweep::collect(tables, notes);
    sweep_order::collect(tables, notes);
    sweep_claims::collect(tables, notes);
    sweep_peaks::collect(tables, notes);
    wording::collect(tables, notes);
}
