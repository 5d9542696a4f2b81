//! Where a record is: the redo byte address, as Oracle names it.

use std::fmt;
use std::str::FromStr;

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

/// A text that is not a redo byte address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a redo byte address: write it as 0x000001.0000002a.0000")]
pub struct InvalidRba {
    text: String,
}

impl FromStr for Rba {
    type Err = InvalidRba;

    /// Reads what [`Display`](fmt::Display) prints, also with fewer leading zeros.
    fn from_str(text: &str) -> Result<Rba, InvalidRba> {
        let read = || {
            let mut parts = text.strip_prefix("0x")?.split('.');
            let mut next = || {
                let digits = parts.next()?;
                // `from_str_radix` would take a sign.
                let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
                all.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
            };
            let (log_seq, block, offset) = (next()?, next()?, next()?);
            let rba = Rba {
                log_seq,
                block: block.try_into().ok()?,
                offset: offset.try_into().ok()?,
            };
            parts.next().is_none().then_some(rba)
        };
        read().ok_or_else(|| InvalidRba {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_printed_and_nothing_else_is() {
        let most = Rba {
            log_seq: u64::MAX,
            block: u32::MAX,
            offset: u16::MAX,
        };
        for rba in [Rba::default(), most] {
            assert_eq!(rba.to_string().parse(), Ok(rba));
        }
        for text in [
            "",
            "0x",
            "0x1.2",
            "0x1.2.3.4",
            "1.2.3",
            "0x1.+2.3",
            "0x1.2.10000",
            "0x1.100000000.0",
            "0x1..3",
            " 0x1.2.3",
            "all",
        ] {
            let refused = text.parse::<Rba>().expect_err(text).to_string();
            assert!(refused.contains("0x000001.0000002a.0000"), "{refused}");
        }
    }
}
