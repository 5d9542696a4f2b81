//! See [`promise`].

#![no_main]

#[path = "../promises/import.rs"]
mod promise;

use analysis::import::Kind;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(Some(Kind::CellMetrics), bytes));
