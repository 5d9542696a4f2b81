//! What the file system says about a file's extents (FIEMAP).
//!
//! Invariant: `None` means that it does not say, never that there are none.

use crate::file::{DirectoryEntry, Node};
use rustix::fs::OFlags;
use rustix::ioctl::{Updater, opcode};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const EXTENTS_PER_CALL: usize = 128;
const FLAG_SYNC: u32 = 0x1;
const EXTENT_LAST: u32 = 0x1;
/// The place on the device is not known, not yet chosen, or not that of the data alone: unknown,
/// delayed allocation, encoded, encrypted, not aligned, inline, in the tail of another block.
const EXTENT_WITHOUT_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;
/// Extents of a file that are read, at most.
const EXTENTS_MAX: usize = 65_536;
const EXTENT_UNWRITTEN: u32 = 0x800;

/// `struct fiemap` without its trailing array: the size that the request's code carries.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [Extent; EXTENTS_PER_CALL],
}

const FIEMAP: rustix::ioctl::Opcode = opcode::read_write::<Header>(b'f', 11);
const _: () = assert!(size_of::<Header>() == 32 && size_of::<Extent>() == 56);

/// How many extents of the file are allocated but unwritten: a flush behind the first write to
/// one also commits the file system's journal. `None` where the file system does not say, or the
/// file cannot be opened.
#[must_use]
pub fn unwritten_extents(path: &Path) -> Option<u64> {
    unwritten(&DirectoryEntry::of(path).ok()?)
}

/// Where a part of a file lies on the device of its file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedExtent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device.
    pub physical: u64,
    /// Its length.
    pub length: u64,
}

/// Where the file lies on the device of its file system, without making the file durable first.
/// Parts that have no place of their own yet are left out. `None` where the file system does not
/// say.
#[must_use]
pub fn mapped_extents(file: BorrowedFd<'_>) -> Option<Vec<MappedExtent>> {
    let mut found = Vec::new();
    let is_whole = each_extent(file, 0, |extent| {
        if extent.flags & EXTENT_WITHOUT_PLACE == 0 {
            found.push(MappedExtent {
                logical: extent.logical,
                physical: extent.physical,
                length: extent.length,
            });
        }
        found.len() < EXTENTS_MAX
    });
    is_whole.map(|()| found)
}

impl DirectoryEntry {
    /// As [`unwritten_extents`](crate::file::unwritten_extents).
    #[must_use]
    pub fn unwritten_extents(&self) -> Option<u64> {
        unwritten(self)
    }
}

fn unwritten(at: &DirectoryEntry) -> Option<u64> {
    let file = Node::File.open_at(at, OFlags::RDONLY).ok()?;
    let mut unwritten = 0;
    each_extent(file.as_fd(), FLAG_SYNC, |extent| {
        unwritten += u64::from(extent.flags & EXTENT_UNWRITTEN != 0);
        true
    })?;
    Some(unwritten)
}

/// Hands out extents in their order while `take` asks for more; `None` where the file system does
/// not say them.
fn each_extent(
    file: BorrowedFd<'_>,
    flags: u32,
    mut take: impl FnMut(&Extent) -> bool,
) -> Option<()> {
    let mut request = Box::new(Request {
        header: Header::default(),
        extents: [Extent::default(); EXTENTS_PER_CALL],
    });
    let mut start = 0;
    loop {
        ask(file, &mut request, start, flags)?;
        let mapped = request.header.mapped_extents as usize;
        let extents = request.extents.get(..mapped)?;
        if !extents.iter().all(&mut take) {
            return Some(());
        }
        let next = match extents.last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => last.logical.checked_add(last.length)?,
            _ => return Some(()),
        };
        if next <= start {
            return None;
        }
        start = next;
    }
}

fn ask(file: BorrowedFd<'_>, request: &mut Request, start: u64, flags: u32) -> Option<()> {
    request.header = Header {
        start,
        length: u64::MAX - start,
        flags,
        mapped_extents: 0,
        extent_count: EXTENTS_PER_CALL as u32,
        reserved: 0,
    };
    // SAFETY: FIEMAP reads the header and writes it and at most `extent_count` extents behind
    // it, which is exactly what `Request` holds, in the kernel's layout (sizes asserted above).
    unsafe { rustix::ioctl::ioctl(file, Updater::<FIEMAP, Request>::new(request)) }.ok()
}
