//! See [`common`].

#![no_main]

mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::import(analysis::import::Kind::EventHistogram, bytes));
