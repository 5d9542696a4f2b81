//! What keeps an experiment from harm: the user's consent, neighbours that use the device, and what
//! may be written.
//!
//! What it must not know: how load is made.

pub(crate) mod consent;
pub mod limits;
pub mod meter;
pub(crate) mod neighbours;
