//! See [`promise`].

#![no_main]

#[path = "../promises/trace_ring.rs"]
mod promise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(bytes));
