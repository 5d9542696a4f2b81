//! Numbers in tables that are not yet sections of an account.

pub use measure::words::{count as grouped, digits as real};

/// Nanoseconds as milliseconds, for tables of waits.
#[must_use]
pub fn ns_as_ms(ns: f64) -> String {
    real(ns / 1e6)
}
