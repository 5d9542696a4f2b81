//! See [`promise`].

#![no_main]

#[path = "../promises/import.rs"]
mod promise;

use evidence::Kind;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(Some(Kind::ServerLog), bytes));
