//! The header of a stripe file: which of a log's stripe files it is. The bytes of the log lie
//! behind it, divided over all of them.

use super::{FORMAT_VERSION, HeaderProblem, LogId, Summer, le32, le64};
use device::StripeWidth;

/// Bytes of a stripe file's header that are used.
pub const STRIPE_HEADER_BYTES: usize = 64;
/// Extent of the header: the log's bytes begin here, so that a stripe width never crosses a border
/// of the storage below for the header's sake.
pub const STRIPE_DATA_AT: u64 = 1 << 20;

const STRIPE_MAGIC: [u8; 8] = *b"REDOSTR\0";

/// What a stripe file says of itself.
///
/// ```text
///  0 magic "REDOSTR\0"   8 version   9 0   12 log_id   28 number u32   32 count u32
/// 36 width u32   40 column_bytes u64   48 0   60 crc u32   64
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeHeader {
    /// The log that it belongs to.
    pub log_id: LogId,
    /// Its place in the order of the stripe, from 0.
    pub number: u32,
    /// Stripe files of the log.
    pub count: u32,
    /// Width of the stripe.
    pub width: StripeWidth,
    /// Bytes of the log that the file holds behind its header.
    pub column_bytes: u64,
}

impl StripeHeader {
    /// Encodes the used part of the header.
    #[must_use]
    pub fn encode(&self) -> [u8; STRIPE_HEADER_BYTES] {
        let width = u32::try_from(self.width.bytes()).expect("at most 1 MiB");
        let mut out = [0_u8; STRIPE_HEADER_BYTES];
        out[0..8].copy_from_slice(&STRIPE_MAGIC);
        out[8] = FORMAT_VERSION;
        out[12..28].copy_from_slice(&self.log_id.0);
        out[28..32].copy_from_slice(&self.number.to_le_bytes());
        out[32..36].copy_from_slice(&self.count.to_le_bytes());
        out[36..40].copy_from_slice(&width.to_le_bytes());
        out[40..48].copy_from_slice(&self.column_bytes.to_le_bytes());
        let crc = Summer::new(self.log_id).sum(&out[..60], &[]);
        out[60..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a header. The version is checked right after the magic.
    ///
    /// # Errors
    /// Which of the three it fails. A header whose checksum is right and whose values no stripe
    /// can have is damaged too.
    pub fn decode(bytes: &[u8]) -> Result<StripeHeader, HeaderProblem> {
        let head: &[u8; STRIPE_HEADER_BYTES] = bytes.first_chunk().ok_or(HeaderProblem::NotOurs)?;
        if head[0..8] != STRIPE_MAGIC {
            return Err(HeaderProblem::NotOurs);
        }
        if head[8] != FORMAT_VERSION {
            return Err(HeaderProblem::Version(head[8]));
        }
        let mut id = [0_u8; 16];
        id.copy_from_slice(&head[12..28]);
        let log_id = LogId(id);
        let width = StripeWidth::of_bytes(le32(head, 36).into());
        let (number, count, column_bytes) = (le32(head, 28), le32(head, 32), le64(head, 40));
        let is_whole = Summer::new(log_id).sum(&head[..60], &[]) == le32(head, 60);
        match width {
            Some(width)
                if is_whole
                    && number < count
                    && (2..=device::stripe::MAX_STRIPE_DEVICES).contains(&(count as usize))
                    && column_bytes > 0
                    && column_bytes.is_multiple_of(width.bytes()) =>
            {
                Ok(StripeHeader {
                    log_id,
                    number,
                    count,
                    width,
                    column_bytes,
                })
            }
            _ => Err(HeaderProblem::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: StripeHeader = StripeHeader {
        log_id: LogId(*b"0123456789abcdef"),
        number: 1,
        count: 3,
        width: StripeWidth::Fine,
        column_bytes: 6 << 17,
    };

    #[test]
    fn a_header_comes_back_and_no_changed_byte_passes() {
        let bytes = HEADER.encode();
        assert_eq!(StripeHeader::decode(&bytes), Ok(HEADER));
        assert_eq!(
            StripeHeader::decode(&bytes[..63]),
            Err(HeaderProblem::NotOurs)
        );
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 4;
            let expected = match at {
                0..8 => HeaderProblem::NotOurs,
                8 => HeaderProblem::Version(FORMAT_VERSION ^ 4),
                _ => HeaderProblem::Damaged,
            };
            assert_eq!(StripeHeader::decode(&changed), Err(expected), "byte {at}");
        }
    }

    /// The checksum is right, and no stripe can be like this.
    #[test]
    fn values_that_no_stripe_has_are_damage() {
        let with = |number, count, column_bytes| StripeHeader {
            number,
            count,
            column_bytes,
            ..HEADER
        };
        for header in [
            with(3, 3, 1 << 20),
            with(0, 1, 1 << 20),
            with(0, 33, 1 << 20),
            with(0, 2, 0),
            with(0, 2, (1 << 20) + 4096),
        ] {
            let read = StripeHeader::decode(&header.encode());
            assert_eq!(read, Err(HeaderProblem::Damaged), "{header:?}");
        }
    }
}
