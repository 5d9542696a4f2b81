//! The lock of a log and its rings: given up with a ring that has ended, kept by one that was given
//! up while the kernel had its writes. And sleep, which a write that is not in the ring cannot end.

use super::queue::tests::Injected;
use super::*;
use crate::file::tests::Scratch;
use crate::file::{SyncMethod, lock_exclusive};
use crate::queue::{OpKind, Piece};
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};

const BYTES: u64 = 64 << 10;
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A locked file behind rings; `None` where there are none.
fn locked(scratch: &Scratch) -> Option<(UringFiles, LockGuard, PathBuf)> {
    let options = UringOptions::default();
    if let Err(refused) = options.check() {
        println!("skipped: {refused}");
        return None;
    }
    let path = scratch.file("log", BYTES);
    let lock = lock_exclusive(&path).expect("free");
    let set = FileSet::open(std::slice::from_ref(&path), BYTES, SyncMethod::Buffered);
    let device = UringFiles::new(set.expect("opens"), options).under_lock(&lock);
    Some((device, lock, path))
}

fn write(id: u64) -> Op {
    let pieces = [Piece { at: 0, len: 4096 }, Piece::default()];
    let kind = OpKind::Write {
        addr: 4096 * id,
        pieces,
    };
    Op { id, kind }
}

fn region() -> Arc<Region> {
    Arc::new(Region::new(4096).expect("memory"))
}

#[test]
fn a_ring_that_ends_gives_the_lock_up() {
    let scratch = Scratch::new();
    let Some((device, lock, path)) = locked(&scratch) else {
        return;
    };
    let mut queue = device.queue(region()).expect("queue");
    queue.submit(&[write(1), write(2)]);
    drop(queue);
    drop(lock);
    lock_exclusive(&path).expect("nobody has it");
}

/// The kernel may still carry its writes out, in redo that the next owner would acknowledge.
#[test]
fn a_ring_that_is_given_up_with_writes_inside_keeps_the_lock() {
    let scratch = Scratch::new();
    let Some((device, lock, path)) = locked(&scratch) else {
        return;
    };
    let queue = Injected::new(&device, region());
    let queue = queue.give_up_with(&[write(1), write(2)], Errno::NXIO.raw_os_error());
    drop(queue);
    drop(lock);
    let refused = lock_exclusive(&path).expect_err("the ring has it");
    assert!(matches!(refused, DeviceError::InUse { .. }), "{refused}");
}

/// One that had nothing inside has nothing to keep it for.
#[test]
fn a_ring_that_is_given_up_empty_gives_the_lock_up() {
    let scratch = Scratch::new();
    let Some((device, lock, path)) = locked(&scratch) else {
        return;
    };
    let queue = Injected::new(&device, region());
    drop(queue.give_up_with(&[], Errno::NXIO.raw_os_error()));
    drop(lock);
    lock_exclusive(&path).expect("nobody has it");
}

/// A write that the kernel asked to be made again waits for its place in the ring: nothing wakes a
/// sleeper for it, so there must be none.
#[test]
fn nobody_sleeps_over_a_write_that_is_not_in_the_ring() {
    let scratch = Scratch::new();
    let Some((device, _lock, _)) = locked(&scratch) else {
        return;
    };
    let bell = Arc::new(Doorbell::default());
    let seen = bell.read();
    let (awake, slept) = channel::<()>();
    let rescuer = {
        let bell = Arc::clone(&bell);
        std::thread::spawn(move || {
            if slept.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                bell.ring();
            }
        })
    };
    let mut queue = Injected::new(&device, region());
    queue.park_beside_a_backlog(write(1), &bell);
    drop(awake);
    rescuer.join().expect("no panic");
    assert_eq!(bell.read(), seen, "it slept until somebody rang");
}
