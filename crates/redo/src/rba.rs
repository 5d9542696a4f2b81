//! Where a record is: the redo byte address, as Oracle names it.

use std::fmt;

/// Redo byte address. Ordered as the records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rba {
    /// Log sequence number; the first log is 1.
    pub log_seq: u64,
    /// Block within that log; the first is 0.
    pub block: u32,
    /// Byte within the block's payload.
    pub offset: u16,
}

impl fmt::Display for Rba {
    /// `seq.block.offset` in hexadecimal, as Oracle's dumps print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0x{:06x}.{:08x}.{:04x}",
            self.log_seq, self.block, self.offset
        )
    }
}
