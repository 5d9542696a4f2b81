//! What a thread has in flight.

use super::{DoneWrite, TracedFile};

/// A thread: it has at most one write and one flush in flight, because calls block.
#[derive(Debug, Default)]
pub(super) struct Task {
    /// Its direct write that blocks it: the file, and where it writes.
    pub(super) direct: Option<(TracedFile, u64)>,
    /// Its write into the page cache.
    pub(super) buffered: Option<BufferedWrite>,
    /// Its flush.
    pub(super) sync: Option<OpenSync>,
    /// A flush that has ended and may belong to a write that ends just after it.
    pub(super) held: Option<OpenSync>,
}

impl Task {
    pub(super) fn is_idle(&self) -> bool {
        self.direct.is_none()
            && self.buffered.is_none()
            && self.sync.is_none()
            && self.held.is_none()
    }
}

/// A write into the page cache in flight.
#[derive(Debug)]
pub(super) struct BufferedWrite {
    pub(super) begin_ns: u64,
    pub(super) file: TracedFile,
    pub(super) pos: u64,
    pub(super) end: u64,
    /// The flush within it.
    pub(super) flush_ns: Option<u64>,
}

impl BufferedWrite {
    pub(super) fn new(begin_ns: u64, file: TracedFile, pos: u64, length: u64) -> BufferedWrite {
        BufferedWrite {
            begin_ns,
            file,
            pos,
            end: pos.saturating_add(length),
            flush_ns: None,
        }
    }

    /// A further part of the same write begins at `pos`, or the same part goes another way. The
    /// kernel names all that is left of a write and then takes what fits into a page of its cache,
    /// so that a further part lies within.
    pub(super) fn goes_on(&self, file: TracedFile, pos: u64) -> bool {
        let is_part = (self.pos..=self.end).contains(&pos);
        self.file == file && is_part && self.flush_ns.is_none()
    }
}

/// A flush in flight, or one that has ended.
#[derive(Debug)]
pub(super) struct OpenSync {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) file: TracedFile,
    /// It is part of a write that is durable by itself.
    pub(super) is_inner: bool,
    /// An event of the file system marks its end.
    pub(super) has_end: bool,
    /// The operation of io_uring that it is, where its end is that of the operation.
    pub(super) request: Option<u64>,
    /// The writes that it makes durable.
    pub(super) covered: Vec<DoneWrite>,
}
