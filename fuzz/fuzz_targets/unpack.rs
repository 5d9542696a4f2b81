//! See [`promise`].

#![no_main]

#[path = "../promises/unpack.rs"]
mod promise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promise::bear(bytes));
