//! Packed evidence: whatever the bytes are, what is unpacked stays within the limit, and reading in
//! small pieces gives what reading in large ones does.

use redolab::intake::unpack::Unpacked;
use std::io::{Cursor, Read};

const MAX_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: usize = 1 << 16;

fn unpack(bytes: &[u8], step: usize) -> (Vec<u8>, bool) {
    let file = Box::new(Cursor::new(bytes.to_vec()));
    let mut unpacked = Unpacked::new(file, MAX_BYTES).expect("memory is read");
    let mut chunk = vec![0; step];
    let mut out = Vec::new();
    loop {
        match unpacked.read(&mut chunk) {
            Ok(0) => return (out, true),
            Ok(n) => out.extend_from_slice(&chunk[..n]),
            Err(_) => return (out, false),
        }
        assert!(out.len() as u64 <= MAX_BYTES || unpacked.packing().is_empty());
    }
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let (large, whole) = unpack(bytes, CHUNK_BYTES);
    let (small, again) = unpack(bytes, 7);
    if whole && again {
        assert!(large == small, "pieces differ");
    }
    let common = large.len().min(small.len());
    assert!(large[..common] == small[..common], "pieces differ");
    assert_eq!(whole, again);
}
