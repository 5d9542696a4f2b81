//! One io_uring instance: its memory, its two queues of entries, and the system calls on it.
//!
//! Invariants: an entry becomes visible to the kernel only after it is written whole; a
//! completion is read only after the kernel published it; nothing here frees memory that an entry
//! names. The ring knows entries and numbers, not writes, files or logs.

use crate::error::DeviceError;
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringOp,
    IoringRegisterOp, IoringSqFlags, io_uring_cqe, io_uring_enter, io_uring_enter_arg,
    io_uring_getevents_arg, io_uring_params, io_uring_ptr, io_uring_register, io_uring_setup,
    io_uring_sqe, iovec,
};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::Timespec;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Completions never get lost, and an entry's own memory is free once it was submitted.
const NEEDED: IoringFeatureFlags = IoringFeatureFlags::SINGLE_MMAP
    .union(IoringFeatureFlags::NODROP)
    .union(IoringFeatureFlags::SUBMIT_STABLE);

/// The end of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// What the entry was named.
    pub(super) user_data: u64,
    /// Bytes, or a negative error number.
    pub(super) result: i32,
}

/// A ring.
#[derive(Debug)]
pub(super) struct Ring {
    fd: OwnedFd,
    rings: Mapping,
    entries: Mapping,
    params: io_uring_params,
    /// Entries written so far, as the kernel will see them at the next submission.
    tail: u32,
    /// Completions read so far.
    head: u32,
}

// SAFETY: the mappings are plain shared memory, reachable through this value only; the kernel does
// not care which thread submits or reads.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring of at least `entries` entries, a power of two.
    ///
    /// # Errors
    /// [`DeviceError::Uring`] where the kernel has none, is too old or does not permit it.
    pub(super) fn new(entries: u32) -> Result<Ring, DeviceError> {
        let mut params = io_uring_params::default();
        // SAFETY: no flag is set that would make the kernel read a descriptor from `params`.
        let fd = unsafe { io_uring_setup(entries, &mut params) }.map_err(refused("set up"))?;
        if !params.features.contains(NEEDED) {
            return Err(refused("set up: this kernel's is too old, 5.6 is needed")(
                Errno::NOSYS,
            ));
        }
        let (sq, cq) = (&params.sq_off, &params.cq_off);
        let array = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cqes = cq.cqes as usize + params.cq_entries as usize * size_of::<io_uring_cqe>();
        let sqes = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let rings = Mapping::new(&fd, array.max(cqes), IORING_OFF_SQ_RING)?;
        let entries = Mapping::new(&fd, sqes, IORING_OFF_SQES)?;
        let mut ring = Ring {
            fd,
            rings,
            entries,
            params,
            tail: 0,
            head: 0,
        };
        ring.name_entries();
        ring.require(&[IoringOp::Write, IoringOp::WriteFixed, IoringOp::Fsync])?;
        Ok(ring)
    }

    /// The indirection array stays the identity: entry `i` stands in slot `i`.
    fn name_entries(&mut self) {
        self.tail = self.word(self.params.sq_off.tail).load(Ordering::Acquire);
        self.head = self.word(self.params.cq_off.head).load(Ordering::Acquire);
        for i in 0..self.params.sq_entries {
            let at = self.params.sq_off.array + i * size_of::<u32>() as u32;
            self.word(at).store(i, Ordering::Relaxed);
        }
    }

    /// # Errors
    /// When the kernel does not know one of the operations.
    fn require(&self, ops: &[IoringOp]) -> Result<(), DeviceError> {
        if ops.iter().all(|op| self.knows(*op)) {
            return Ok(());
        }
        Err(refused("set up: this kernel's lacks an operation")(
            Errno::OPNOTSUPP,
        ))
    }

    /// Whether the kernel knows an operation.
    pub(super) fn knows(&self, op: IoringOp) -> bool {
        // struct io_uring_probe: 16 bytes (the second holds the number of entries), then 8 for
        // each operation: its code, a byte, 16 bits of flags of which the lowest says supported.
        let mut answer = [0_u64; 2 + 256];
        // SAFETY: the memory is large enough for 256 operations and lives through the call.
        let asked = unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterProbe,
                answer.as_mut_ptr().cast(),
                256,
            )
        };
        let listed = answer[0].to_ne_bytes()[1];
        let known = answer[2 + usize::from(op as u8)].to_ne_bytes();
        asked.is_ok() && (op as u8) < listed && u16::from_ne_bytes([known[2], known[3]]) & 1 != 0
    }

    /// Registers memory as fixed buffer 0; the kernel pins it until the ring is closed.
    ///
    /// # Errors
    /// ENOMEM where the limit of locked memory is too low, and what else the kernel says.
    ///
    /// # Safety
    /// The memory outlives the ring.
    pub(super) unsafe fn register_buffer(&self, base: *mut u8, len: usize) -> Result<(), Errno> {
        let buffer = iovec {
            iov_base: base.cast(),
            iov_len: len,
        };
        // SAFETY: one iovec that lives through the call; the memory by the caller's promise.
        let asked = unsafe {
            let one = (&raw const buffer).cast::<c_void>();
            io_uring_register(&self.fd, IoringRegisterOp::RegisterBuffers, one, 1)
        };
        asked.map(|_| ())
    }

    /// Registers open files, which are then known by their place in `files`.
    ///
    /// # Errors
    /// What the kernel says, such as EMFILE.
    pub(super) fn register_files(&self, files: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let numbers: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let count = u32::try_from(numbers.len()).map_err(|_| Errno::MFILE)?;
        // SAFETY: `count` descriptors that live through the call; the kernel takes its own hold.
        let asked = unsafe {
            let all = numbers.as_ptr().cast::<c_void>();
            io_uring_register(&self.fd, IoringRegisterOp::RegisterFiles, all, count)
        };
        asked.map(|_| ())
    }

    /// Gives registered files up. Closing the ring does that too, but some time after the call that
    /// closes it has returned.
    pub(super) fn unregister_files(&self) {
        let none = std::ptr::null();
        // SAFETY: names no memory.
        let asked =
            unsafe { io_uring_register(&self.fd, IoringRegisterOp::UnregisterFiles, none, 0) };
        // Where it is refused they go with the ring.
        let _ = asked;
    }

    /// Entries that can be pushed before the next submission.
    pub(super) fn room(&self) -> u32 {
        self.params.sq_entries - self.unsubmitted()
    }

    /// Entries of the ring.
    pub(super) fn capacity(&self) -> u32 {
        self.params.sq_entries
    }

    /// Completions that the kernel can keep without setting some aside.
    pub(super) fn completions(&self) -> u32 {
        self.params.cq_entries
    }

    /// Entries pushed and not yet taken by the kernel.
    pub(super) fn unsubmitted(&self) -> u32 {
        let taken = self.word(self.params.sq_off.head).load(Ordering::Acquire);
        self.tail.wrapping_sub(taken)
    }

    /// Writes an entry, to be submitted by [`Ring::enter`].
    ///
    /// # Safety
    /// The memory that it names stays valid, and untouched where the kernel reads it, until its
    /// completion was read.
    ///
    /// # Panics
    /// Without [`Ring::room`].
    pub(super) unsafe fn push(&mut self, entry: io_uring_sqe) {
        assert!(self.room() > 0, "the caller looked for room");
        let slot = (self.tail & (self.params.sq_entries - 1)) as usize;
        let slots = self.entries.base.as_ptr().cast::<io_uring_sqe>();
        // SAFETY: in the mapping, and the kernel has taken what stood in this slot before.
        unsafe { slots.add(slot).write(entry) };
        self.tail = self.tail.wrapping_add(1);
        // The kernel reads the tail only in `enter`; Release orders the entry before it.
        self.word(self.params.sq_off.tail)
            .store(self.tail, Ordering::Release);
    }

    /// Submits what was pushed and waits until `want` completions are there; an interrupted wait
    /// is a success, since the caller looks again.
    ///
    /// # Errors
    /// EAGAIN and EBUSY: nothing was submitted now; read completions and ask again. Anything else
    /// is a programming error or a ring that is no more.
    pub(super) fn enter(&self, want: u32) -> Result<(), Errno> {
        let flags = match want {
            0 if !self.overflowed() => IoringEnterFlags::empty(),
            _ => IoringEnterFlags::GETEVENTS,
        };
        // SAFETY: what the entries name is valid by the promise of `push`.
        match unsafe { io_uring_enter(&self.fd, self.unsubmitted(), want, flags) } {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Waits for `want` completions and submits nothing.
    ///
    /// # Errors
    /// As [`Ring::enter`].
    pub(super) fn wait(&self, want: u32) -> Result<(), Errno> {
        // SAFETY: submits nothing.
        match unsafe { io_uring_enter(&self.fd, 0, want, IoringEnterFlags::GETEVENTS) } {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Submits what was pushed and waits until a completion is there or `timeout` is over.
    ///
    /// # Errors
    /// As [`Ring::enter`].
    pub(super) fn enter_for(&self, timeout: Option<Duration>) -> Result<(), Errno> {
        let Some(timeout) = timeout else {
            return self.enter(1);
        };
        let spec = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let arg = io_uring_getevents_arg {
            ts: io_uring_ptr::new((&raw const spec).cast_mut().cast()),
            ..io_uring_getevents_arg::default()
        };
        let flags = IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG;
        // SAFETY: what the entries name is valid by the promise of `push`; `arg` and the time that
        // it points to live through the call, and no signals are named.
        match unsafe { io_uring_enter_arg(&self.fd, self.unsubmitted(), 1, flags, Some(&arg)) } {
            Ok(_) | Err(Errno::INTR | Errno::TIME) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The kernel keeps completions aside that found no room.
    pub(super) fn overflowed(&self) -> bool {
        let flags = self.word(self.params.sq_off.flags).load(Ordering::Acquire);
        IoringSqFlags::from_bits_retain(flags).contains(IoringSqFlags::CQ_OVERFLOW)
    }

    /// The next completion.
    pub(super) fn pop(&mut self) -> Option<Ended> {
        let tail = self.word(self.params.cq_off.tail).load(Ordering::Acquire);
        if self.head == tail {
            return None;
        }
        let slot = (self.head & (self.params.cq_entries - 1)) as usize;
        let at = self.params.cq_off.cqes as usize + slot * size_of::<io_uring_cqe>();
        // SAFETY: in the mapping; written by the kernel before it moved the tail, read with
        // Acquire above, and not overwritten before the head moves below.
        let ended = unsafe {
            let entry = &*self.rings.base.as_ptr().add(at).cast::<io_uring_cqe>();
            Ended {
                user_data: entry.user_data.u64_(),
                result: entry.res,
            }
        };
        self.head = self.head.wrapping_add(1);
        self.word(self.params.cq_off.head)
            .store(self.head, Ordering::Release);
        Some(ended)
    }

    fn word(&self, at: u32) -> &AtomicU32 {
        assert!(at as usize + size_of::<u32>() <= self.rings.len);
        // SAFETY: in the mapping by the assert, aligned by the kernel's layout, and shared with
        // the kernel, which accesses it atomically too.
        unsafe {
            &*self
                .rings
                .base
                .as_ptr()
                .add(at as usize)
                .cast::<AtomicU32>()
        }
    }
}

/// A refusal, with a word on who may have refused.
pub(super) fn refused(action: &'static str) -> impl Fn(Errno) -> DeviceError {
    move |errno| DeviceError::Uring {
        action,
        hint: match errno {
            Errno::NOSYS => " (this kernel has none, or a filter hides it)",
            Errno::PERM | Errno::ACCESS => " (kernel.io_uring_disabled, or a seccomp filter)",
            Errno::NOMEM => " (the limit of locked memory, ulimit -l, may be too low)",
            _ => "",
        },
        source: errno.into(),
    }
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, len: usize, offset: u64) -> Result<Mapping, DeviceError> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the system's choice aliases nothing.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, protection, flags, fd, offset) }
                .map_err(refused("map its queues"))?;
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never returns null");
        Ok(Mapping { base, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "unmapping our own memory cannot fail");
    }
}
