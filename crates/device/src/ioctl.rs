//! What the kernel says of an open block device.
//!
//! Invariant: these requests only read. A kernel that does not know one gives an error, never a
//! guess. Numbers from `include/uapi/linux/fs.h` and `include/uapi/linux/nvme_ioctl.h`.
#![allow(unsafe_code)]

use rustix::io::Result;
use rustix::ioctl::{Getter, Opcode, Updater, opcode};
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

/// Bytes of the SMART / health information log of an NVMe drive.
pub(crate) const HEALTH_LOG_BYTES: usize = 512;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<NvmeCommand>() == 72, "the kernel's size");
const NVME_ADMIN_COMMAND: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x41);

/// The SMART / health information log of the whole drive (Get Log Page, log 02h).
pub(crate) fn nvme_health_log(device: impl AsFd) -> Result<Box<[u8; HEALTH_LOG_BYTES]>> {
    const GET_LOG_PAGE: u8 = 0x02;
    const HEALTH: u32 = 0x02;
    // Words of four bytes, counted from 0.
    const WORDS: u32 = HEALTH_LOG_BYTES as u32 / 4 - 1;
    let mut log = Box::new([0; HEALTH_LOG_BYTES]);
    let mut command = NvmeCommand {
        opcode: GET_LOG_PAGE,
        namespace: u32::MAX,
        address: log.as_mut_ptr() as u64,
        data_bytes: HEALTH_LOG_BYTES as u32,
        cdw10: WORDS << 16 | HEALTH,
        timeout_ms: 5000,
        ..NvmeCommand::default()
    };
    // SAFETY: the command has the kernel's layout, and it writes at most `data_bytes` to `address`,
    // which is memory of that size that lives longer than the call.
    let status = unsafe {
        let update = Updater::<NVME_ADMIN_COMMAND, NvmeCommand>::new(&mut command);
        rustix::ioctl::ioctl(device, update)
    };
    status.map(|()| log)
}
