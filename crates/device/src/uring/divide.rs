//! Operations become parts in the backlog of a queue: writes piece by piece and file by file,
//! flushes for each file with writes that are not known to be durable.
//!
//! Invariant: a flush counts as durable only what was counted as written before it is submitted,
//! and in a linked batch the writes before it, which end before it begins.

use super::parts::{Part, Underway, Work};
use super::queue::UringQueue;
use crate::file::set::take_front;
use crate::queue::Piece;
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl UringQueue {
    fn add(&mut self, part: Part) {
        let number = self.parts.put(part);
        self.backlog.push_back(number);
    }

    pub(super) fn add_write(&mut self, id: u64, addr: u64, mut pieces: [Piece; 2]) {
        let len = pieces[0].len + pieces[1].len;
        let inside = |p: &Piece| p.at <= self.region.len() && p.len <= self.region.len() - p.at;
        assert!(pieces.iter().all(inside), "range outside the region");
        if !self.shared.holds(addr, len) {
            return self.end(id, Err(Errno::INVAL.raw_os_error()));
        }
        if len == 0 {
            return self.end(id, Ok(0));
        }
        let operation = self.operations.put(Underway {
            id,
            left: 0,
            reached: len as u64,
            failed: None,
        });
        let mut before = 0;
        while before < len as u64 {
            let (file, mut offset) = self.shared.locate(addr + before);
            let take = self.shared.room(offset, len - before as usize);
            for piece in take_front(&mut pieces, take) {
                if piece.len == 0 {
                    continue;
                }
                let work = Work::Write {
                    at: piece.at,
                    len: piece.len,
                    offset,
                    before,
                };
                self.operations.at(operation).left += 1;
                self.add(Part {
                    operation,
                    file,
                    work,
                    linked: false,
                });
                offset += piece.len as u64;
                before += piece.len as u64;
            }
        }
    }

    /// A part for each file with writes that are not known to be durable; in a linked batch, the
    /// writes from `first` in the backlog on are such writes too.
    pub(super) fn add_flush(&mut self, id: u64, first: usize) {
        let shared = Arc::clone(&self.shared);
        let operation = self.operations.put(Underway {
            id,
            left: 0,
            reached: 0,
            failed: None,
        });
        let chain: Vec<usize> = match self.linked && !shared.method.durable_writes() {
            true => self.backlog.range(first..).copied().collect(),
            false => Vec::new(),
        };
        for (file, state) in shared.files.iter().enumerate() {
            if state.lost.load(Ordering::Acquire) {
                self.operations.at(operation).failed = Some((0, Errno::IO.raw_os_error()));
                continue;
            }
            let ahead = chain.iter().filter(|n| {
                let part = self.parts.get(**n);
                part.file == file && matches!(part.work, Work::Write { .. })
            });
            let mut written = state.written.load(Ordering::Acquire) + ahead.count() as u64;
            if self.flush_ahead {
                written += self.writes_under_way(file);
            }
            if state.flushed.load(Ordering::Acquire) < written {
                self.operations.at(operation).left += 1;
                self.add(Part {
                    operation,
                    file,
                    work: Work::Flush { written },
                    linked: false,
                });
            }
        }
        self.settle(operation);
    }

    /// What a flush must not count.
    #[cold]
    fn writes_under_way(&self, file: usize) -> u64 {
        let parts = self.parts.all();
        let parts = parts.into_iter().map(|number| self.parts.get(number));
        let writes = parts.filter(|p| p.file == file && matches!(p.work, Work::Write { .. }));
        writes.count() as u64
    }

    /// Chains what this batch put in the backlog. A chain is submitted at once, so one that does
    /// not fit the ring is refused.
    pub(super) fn link(&mut self, first: usize) {
        let chain: Vec<usize> = self.backlog.range(first..).copied().collect();
        if chain.len() > self.ring.capacity() as usize {
            self.backlog.truncate(first);
            for number in chain {
                self.fail_part(number, Errno::TOOBIG.raw_os_error());
            }
            return;
        }
        if let Some((_, before)) = chain.split_last() {
            for number in before {
                self.parts.at(*number).linked = true;
            }
        }
    }
}
