//! What redolab measures, behind the seam of [`measure::driver`]: the embedded redo log,
//! database servers, and TPROC-C on these.
//!
//! What it must not know: how long and how often sessions run, what is recorded of them, and what
//! it means.

mod client;
pub mod collect;
pub mod embedded;
mod kinds;
pub mod managed;
pub mod mariadb;
pub mod postgres;
pub mod tprocc;
mod work;

pub use client::Password;
pub use kinds::KINDS;
