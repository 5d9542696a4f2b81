//! The guide to embedding the log and the crate's README, compiled as documentation tests. Nothing
//! lives here.

#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}

#[doc = include_str!("../README.md")]
mod readme {}
