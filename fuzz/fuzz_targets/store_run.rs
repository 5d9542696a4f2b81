//! See [`promise`].

#![no_main]

#[path = "../promises/store_run.rs"]
mod promise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(bytes));
