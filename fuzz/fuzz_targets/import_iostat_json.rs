//! See [`common`].

#![no_main]

mod common;

use analysis::import::Kind;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::import(Some(Kind::IostatJson), bytes));
