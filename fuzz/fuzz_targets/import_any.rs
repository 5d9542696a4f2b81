//! See [`promise`]: the kind is recognised from the content, look-alikes are refused.

#![no_main]

#[path = "../promises/import.rs"]
mod promise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(None, bytes));
