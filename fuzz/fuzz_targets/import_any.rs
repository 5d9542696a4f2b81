//! See [`common`]: the kind is told from the content, look-alikes are refused.

#![no_main]

mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::import(None, bytes));
