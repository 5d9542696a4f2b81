//! Writing a device before its first use: its ends cleared, a part filled from end to end.
//!
//! Invariants: a device's ends are durable zeros before [`wipe`] returns; what is filled
//! cannot be compressed or deduplicated. What it must not know: whether the device may be written
//! ([`ClearedRawDevice`](super::ClearedRawDevice) says so), and what is on it afterwards.
#![allow(unsafe_code)]

use super::signature::{self, END_BYTES};
use crate::file::fill_noise;
use crate::queue::{IoOrDevice, LogDevice, Op, OpKind, Piece, flush, run_one, write_durable};
use crate::region::Region;
use std::sync::Arc;

const CHUNK_BYTES: usize = 4 << 20;

/// Bytes that a signature between the ends is wiped with, the signature among them.
const SPOT_BYTES: u64 = 4096;

/// Makes the first and the last MiB zeros, and then every known signature between them, durably:
/// what stood on the device is not recognised any more, and not put to use beside what comes now.
///
/// # Errors
/// A device that fails, or is smaller than that.
pub fn wipe(space: &dyn LogDevice) -> Result<(), IoOrDevice> {
    let zeros = vec![0; END_BYTES as usize];
    write_durable(space, 0, &zeros)?;
    write_durable(space, space.bytes().saturating_sub(END_BYTES), &zeros)?;
    let left = signature::places(space.bytes(), &|at, out| space.read(at, out))?;
    for at in left {
        let spot = at / SPOT_BYTES * SPOT_BYTES;
        write_durable(space, spot, &zeros[..SPOT_BYTES as usize])?;
    }
    Ok(())
}

/// Fills `bytes` bytes from `at` on with the output of a generator, the first overlaid by `head`,
/// and flushes. `progress` hears the bytes written so far; `go_on` is asked before each chunk.
/// Returns false when it said no.
///
/// # Errors
/// A device that fails.
///
/// # Panics
/// When `head` is longer than a chunk of 4 MiB.
pub fn prewrite(
    space: &dyn LogDevice,
    (at, bytes): (u64, u64),
    head: &[u8],
    seed: u64,
    progress: &dyn Fn(u64),
    go_on: &dyn Fn() -> bool,
) -> Result<bool, IoOrDevice> {
    let region = Arc::new(Region::new(CHUNK_BYTES)?);
    let mut queue = space.queue(Arc::clone(&region))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut done = 0;
    while done < bytes {
        if !go_on() {
            return Ok(false);
        }
        let len = usize::try_from(bytes - done).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        fill_noise(&mut chunk[..len], seed, done);
        if done == 0 {
            chunk[..head.len()].copy_from_slice(head);
        }
        // SAFETY: no other thread has the region, and its queue has nothing in flight.
        unsafe { region.write(0, &chunk[..len]) };
        let op = Op {
            id: 1,
            kind: OpKind::Write {
                addr: at + done,
                pieces: [Piece { at: 0, len }, Piece::default()],
            },
        };
        run_one(&mut *queue, op, len as u64)?;
        done += len as u64;
        progress(done);
    }
    flush(&mut *queue)?;
    Ok(true)
}
