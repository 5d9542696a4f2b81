//! What measures: sessions that generate load ([`load`], the [`pace`] of an open loop), what is
//! recorded of them ([`recorder`]), counted a second time (`span`) and captured event by event
//! ([`capture`]), one [`row`] and all of them (`rows`), the raw [`floor`], also by processor
//! (`placement`).
//!
//! What it must not know: how a target is made, and what a run means.

pub(crate) mod busy;
pub mod capture;
pub mod control;
pub(crate) mod earlier;
#[cfg(test)]
pub(crate) mod fixture;
pub mod floor;
#[cfg(test)]
mod little;
pub mod load;
mod multiplex;
mod open;
pub mod pace;
pub mod payload;
pub(crate) mod placement;
mod planted;
pub mod recorder;
pub mod row;
pub(crate) mod rows;
pub mod sample;
pub mod shared;
mod span;
