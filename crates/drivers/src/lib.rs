//! What redolab measures, behind the seam of [`measure::driver`]: the embedded redo log, and
//! database servers.
//!
//! What it must not know: how long and how often sessions run, what is recorded of them, and what
//! it means.

mod client;
pub mod embedded;
mod kinds;
pub mod mariadb;
pub mod postgres;
mod work;

pub use client::Password;
pub use kinds::KINDS;
