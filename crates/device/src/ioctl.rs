//! What the kernel says of an open block device.
//!
//! Invariant: these requests only read. A kernel that does not know one gives an error, never a
//! guess. Numbers from `include/uapi/linux/fs.h`.
#![allow(unsafe_code)]

use rustix::io::Result;
use rustix::ioctl::{Getter, Opcode, opcode};
use std::ffi::c_int;
use std::os::fd::AsFd;

const BLKROGET: Opcode = opcode::none(0x12, 94);
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
const BLKALIGNOFF: Opcode = opcode::none(0x12, 122);
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);

/// Its size in bytes.
pub(crate) fn bytes(device: impl AsFd) -> Result<u64> {
    // SAFETY: BLKGETSIZE64 writes one u64, whatever its number says of `size_t`.
    unsafe { rustix::ioctl::ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }
}

/// Logical and physical sector in bytes.
pub(crate) fn sectors(device: impl AsFd) -> Result<(u32, u32)> {
    let logical = rustix::fs::ioctl_blksszget(&device)?;
    Ok((logical, rustix::fs::ioctl_blkpbszget(&device)?))
}

/// It takes no writes.
pub(crate) fn is_read_only(device: impl AsFd) -> Result<bool> {
    // SAFETY: BLKROGET writes one int.
    let flag = unsafe { rustix::ioctl::ioctl(device, Getter::<BLKROGET, c_int>::new()) }?;
    Ok(flag != 0)
}

/// How many bytes its first sector lies off a physical sector's beginning; negative where the
/// devices below it disagree.
pub(crate) fn alignment_offset(device: impl AsFd) -> Result<i32> {
    // SAFETY: BLKALIGNOFF writes one int.
    unsafe { rustix::ioctl::ioctl(device, Getter::<BLKALIGNOFF, c_int>::new()) }
}

/// A number that no two disks have had since the system started, also where they had the same
/// device number one after the other (Linux 5.15). A partition has its disk's.
pub(crate) fn disk_sequence(device: impl AsFd) -> Result<u64> {
    // SAFETY: BLKGETDISKSEQ writes one u64.
    unsafe { rustix::ioctl::ioctl(device, Getter::<BLKGETDISKSEQ, u64>::new()) }
}
