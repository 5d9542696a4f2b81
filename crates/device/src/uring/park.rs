//! Waiting for completions and for a [`Doorbell`] at once: the wait for the bell is an operation
//! of the ring.
//!
//! Invariants: the wait never outlives the call, so that no later ring of the bell is swallowed by
//! a sleeper who has left, and the bell's memory is not the kernel's afterwards.

use super::queue::{BELL, CANCEL, UringQueue};
use crate::doorbell::Doorbell;
use rustix::io::Errno;
use rustix::io_uring::{
    IoringOp, addr_or_splice_off_in_union, addr3_or_cmd_union, addr3_struct, io_uring_ptr,
    io_uring_sqe, off_or_addr2_union,
};
use std::sync::Arc;
use std::time::Duration;

/// FUTEX2_SIZE_U32 with FUTEX2_PRIVATE: the word that [`Doorbell`] wakes.
const FUTEX_FLAGS: i32 = 0x02 | 0x80;
/// FUTEX_BITSET_MATCH_ANY.
const ANY: u64 = 0xffff_ffff;
/// How long a queue sleeps that cannot wait for both.
const SLICE: Duration = Duration::from_micros(100);

impl UringQueue {
    /// As [`Queue::park`](crate::Queue::park).
    pub(super) fn park_for(&mut self, bell: &Arc<Doorbell>, seen: u32, timeout: Option<Duration>) {
        self.reap();
        self.advance(0);
        if !self.done.is_empty() {
            return;
        }
        if self.in_flight() == 0 {
            return bell.wait_timeout(seen, timeout);
        }
        // Two entries: the wait, and what ends it. What is asked for again is not in the ring yet.
        if !self.waits_for_bell || self.ring.room() < 2 || !self.backlog.is_empty() {
            return bell.wait_timeout(seen, Some(timeout.map_or(SLICE, |t| t.min(SLICE))));
        }
        let _asleep = bell.asleep();
        // SAFETY: the word lives as long as the bell, which outlives this call, and the wait has
        // ended when it returns; otherwise the process does not go on.
        unsafe { self.ring.push(wait_entry(bell, seen)) };
        self.bell_inside = true;
        let asked = self.ring.enter_for(timeout);
        self.reap();
        if self.bell_inside {
            self.end_wait(bell);
        }
        if let Err(errno) = asked
            && !matches!(errno, Errno::AGAIN | Errno::BUSY)
        {
            self.give_up(errno.raw_os_error());
        }
    }

    /// Takes the wait back and sees that it has ended.
    fn end_wait(&mut self, bell: &Arc<Doorbell>) {
        let entry = io_uring_sqe {
            opcode: IoringOp::AsyncCancel,
            fd: -1,
            addr_or_splice_off_in: addr_or_splice_off_in_union {
                user_data: BELL.into(),
            },
            user_data: CANCEL.into(),
            ..io_uring_sqe::default()
        };
        // SAFETY: it names no memory.
        unsafe { self.ring.push(entry) };
        self.cancel_inside = true;
        while self.bell_inside || self.cancel_inside {
            let asked = self.ring.enter(1);
            self.reap();
            if let Err(errno) = asked
                && !matches!(errno, Errno::AGAIN | Errno::BUSY)
            {
                // The kernel may hold the word for ever: so the bell stays.
                std::mem::forget(Arc::clone(bell));
                (self.bell_inside, self.cancel_inside) = (false, false);
                return self.give_up(errno.raw_os_error());
            }
        }
    }
}

/// Waits while the bell's word is `seen`.
fn wait_entry(bell: &Doorbell, seen: u32) -> io_uring_sqe {
    let mut entry = io_uring_sqe {
        opcode: IoringOp::FutexWait,
        fd: FUTEX_FLAGS,
        user_data: BELL.into(),
        ..io_uring_sqe::default()
    };
    entry.addr_or_splice_off_in = addr_or_splice_off_in_union {
        addr: io_uring_ptr::new(bell.word().as_ptr().cast()),
    };
    entry.off_or_addr2 = off_or_addr2_union { off: seen.into() };
    let mut mask = addr3_struct::default();
    mask.addr3 = ANY;
    entry.addr3_or_cmd = addr3_or_cmd_union { addr3: mask };
    entry
}
