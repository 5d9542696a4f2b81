//! Records from blocks: puts together what spans blocks and logs, and drops what an incarnation
//! left unfinished.
//!
//! Invariants: records come in order, whole, from the checkpoint on. What it must not know: which
//! blocks count.

use crate::control::Position;
use crate::format::decode_record_header;
use crate::format::{BLOCK_HEADER_BYTES, BlockHeader, NO_RECORD, RECORD_HEADER_BYTES};
use crate::group::{Geometry, StreamBlock};
use crate::planted::{Bug, Planted};
use crate::rba::Rba;

/// Puts records together from blocks in order.
pub(super) struct Records {
    geometry: Geometry,
    from: Position,
    partial: Vec<u8>,
    begun: Option<Position>,
    incarnation: u32,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) first: Option<Rba>,
    pub(super) last: Option<Rba>,
    planted: Planted,
}

impl Records {
    /// Of a log of `geometry`; records that begin before `from` are left out.
    pub(super) fn new(geometry: Geometry, from: Position, planted: Planted) -> Records {
        Records {
            geometry,
            from,
            partial: Vec::new(),
            begun: None,
            incarnation: 0,
            count: 0,
            bytes: 0,
            first: None,
            last: None,
            planted,
        }
    }

    /// The next block is not readable: a record that reaches into it is lost.
    pub(super) fn skip(&mut self) {
        self.begun = None;
        self.partial.clear();
    }

    pub(super) fn block(
        &mut self,
        block: StreamBlock,
        header: &BlockHeader,
        bytes: &[u8],
        visit: &mut impl FnMut(Rba, Position, &[u8]),
    ) -> Result<(), String> {
        if header.incarnation != self.incarnation {
            // What the incarnation before left unfinished was never acknowledged.
            if !self.planted.has(Bug::JoinIncarnations) {
                self.begun = None;
            }
            self.incarnation = header.incarnation;
        }
        let used = usize::from(header.used);
        let payload = bytes
            .get(BLOCK_HEADER_BYTES..BLOCK_HEADER_BYTES + used)
            .ok_or_else(|| format!("{used} bytes used in a smaller block"))?;
        let mut at = 0;
        if self.begun.is_some() {
            at += self.take(block, 0, payload, visit)?;
        } else if header.first_record == NO_RECORD {
            return Ok(());
        } else {
            at = usize::from(header.first_record);
        }
        let first = usize::from(header.first_record);
        if self.begun.is_none() && at < used && first != at {
            return Err(format!("first record at {first} where {at} was expected"));
        }
        while at < used {
            self.begun = Some(Position {
                block,
                offset: at as u16,
            });
            self.partial.clear();
            at += self.take(block, at, &payload[at..], visit)?;
        }
        Ok(())
    }

    /// Takes from `piece`, which lies at `at` of `block`, what the begun record needs; hands the
    /// record on when it is whole. Returns the bytes taken.
    fn take(
        &mut self,
        block: StreamBlock,
        at: usize,
        piece: &[u8],
        visit: &mut impl FnMut(Rba, Position, &[u8]),
    ) -> Result<usize, String> {
        let mut taken = 0;
        let mut need = RECORD_HEADER_BYTES;
        loop {
            let more = (need - self.partial.len().min(need)).min(piece.len() - taken);
            self.partial.extend_from_slice(&piece[taken..taken + more]);
            taken += more;
            if self.partial.len() < need {
                return Ok(taken);
            }
            let header = self
                .partial
                .first_chunk::<RECORD_HEADER_BYTES>()
                .expect("complete");
            let len = decode_record_header(header).ok_or("a record header of no known kind")?;
            let most = self.geometry.capacity_blocks() * u64::from(self.geometry.payload());
            if u64::from(len) > most {
                return Err(format!("a record of {len} bytes in a log of {most}"));
            }
            let whole = RECORD_HEADER_BYTES + len as usize;
            if need == whole {
                let next = Position {
                    block,
                    offset: (at + taken) as u16,
                };
                self.finish(next, visit);
                return Ok(taken);
            }
            need = whole;
        }
    }

    fn finish(&mut self, next: Position, visit: &mut impl FnMut(Rba, Position, &[u8])) {
        let begun = self.begun.take().expect("a record that ends has begun");
        if begun >= self.from {
            let rba = self.geometry.rba(begun.block, begun.offset.into());
            let payload = &self.partial[RECORD_HEADER_BYTES..];
            self.count += 1;
            self.bytes += payload.len() as u64;
            self.first = self.first.or(Some(rba));
            self.last = Some(rba);
            visit(rba, next, payload);
        }
        self.partial.clear();
    }
}
