//! What the file system says about a file's extents (FIEMAP).
//!
//! Invariant: `None` means that it does not say, never that there are none.

use crate::file::{DirectoryEntry, Node};
use rustix::fs::OFlags;
use rustix::ioctl::{Updater, opcode};
use std::os::fd::OwnedFd;
use std::path::Path;

const EXTENTS_PER_CALL: usize = 128;
const FLAG_SYNC: u32 = 0x1;
const EXTENT_LAST: u32 = 0x1;
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

impl DirectoryEntry {
    /// As [`unwritten_extents`](crate::file::unwritten_extents).
    #[must_use]
    pub fn unwritten_extents(&self) -> Option<u64> {
        unwritten(self)
    }
}

fn unwritten(at: &DirectoryEntry) -> Option<u64> {
    let file = Node::File.open_at(at, OFlags::RDONLY).ok()?;
    let mut request = Box::new(Request {
        header: Header::default(),
        extents: [Extent::default(); EXTENTS_PER_CALL],
    });
    let (mut start, mut unwritten) = (0, 0);
    loop {
        ask(&file, &mut request, start)?;
        let mapped = request.header.mapped_extents as usize;
        let extents = request.extents.get(..mapped)?;
        let is_unwritten = |e: &&Extent| e.flags & EXTENT_UNWRITTEN != 0;
        unwritten += extents.iter().filter(is_unwritten).count() as u64;
        let next = match extents.last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => last.logical + last.length,
            _ => return Some(unwritten),
        };
        if next <= start {
            return None;
        }
        start = next;
    }
}

fn ask(file: &OwnedFd, request: &mut Request, start: u64) -> Option<()> {
    request.header = Header {
        start,
        length: u64::MAX - start,
        flags: FLAG_SYNC,
        mapped_extents: 0,
        extent_count: EXTENTS_PER_CALL as u32,
        reserved: 0,
    };
    // SAFETY: FIEMAP reads the header and writes it and at most `extent_count` extents behind
    // it, which is exactly what `Request` holds, in the kernel's layout (sizes asserted above).
    unsafe { rustix::ioctl::ioctl(file, Updater::<FIEMAP, Request>::new(request)) }.ok()
}
