//! Integration tests of the laboratory, in one program so that they link once.
//!
//! None of these starts another process: between fork and exec a child would share the locks
//! that they test. Those that do are in `tests/system`.

mod account;
mod common;
mod corpus;
mod decisions;
mod events;
mod hlog;
mod ratios;
mod schema;
mod store;
mod views;
