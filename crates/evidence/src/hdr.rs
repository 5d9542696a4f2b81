//! The one decoder of HdrHistogram's encodings (V0, V1 and V2, deflated, in base64): for interval
//! logs of other tools (`hlog`) and for the intervals of stored runs (the binary's store).
//!
//! Invariants: the text is hostile; what it inflates to is bounded; a count is never invented for a
//! part that is cut.

use base64::Engine as _;
use flate2::read::ZlibDecoder;
use std::io::Read as _;

/// Bytes that a histogram may inflate to.
const INFLATED_MAX: u64 = 4 << 20;
/// Cookies of the packed and of the inner form of each encoding, without the bits that tell the
/// size of a count.
const ENCODINGS: [(Encoding, u32, u32); 3] = [
    (Encoding::V2, 0x1c84_9304, 0x1c84_9303),
    (Encoding::V1, 0x1c84_9302, 0x1c84_9301),
    (Encoding::V0, 0x1c84_9309, 0x1c84_9308),
];

/// How a histogram was encoded: until HdrHistogram 2.1.2 counts were words of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    V0,
    V1,
    V2,
}

/// What one encoded histogram holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedHistogram {
    /// Significant decimal digits of the values, from 1 to 5.
    pub digits: u32,
    /// The highest value of each bucket that is not empty, in ascending order, and its count.
    pub counts: Vec<(u64, u64)>,
}

/// Decodes the text of one histogram, as an interval log holds it.
///
/// # Errors
/// Text that is not base64, an unknown encoding, a histogram that is cut, or one that inflates to
/// more than any histogram takes.
pub fn decode(payload: &str) -> Result<DecodedHistogram, String> {
    let engine = base64::engine::general_purpose::STANDARD;
    let packed = engine
        .decode(payload.trim())
        .map_err(|e| format!("base64: {e}"))?;
    let word = |bytes: &[u8], at: usize| -> Option<u32> {
        let part = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(part.try_into().ok()?))
    };
    let cookie = word(&packed, 0).map(|c| c & !0xf0);
    let found = ENCODINGS
        .iter()
        .find(|(_, outer, _)| Some(*outer) == cookie);
    let Some((encoding, _, inside)) = found else {
        return Err("no cookie of an encoding that is known (V0, V1, V2)".to_owned());
    };
    let mut inner = Vec::new();
    let read = ZlibDecoder::new(packed.get(8..).unwrap_or_default())
        .take(INFLATED_MAX + 1)
        .read_to_end(&mut inner);
    read.map_err(|e| format!("deflate: {e}"))?;
    if inner.len() as u64 > INFLATED_MAX {
        return Err("inflates to more than any histogram".to_owned());
    }
    let cookie = word(&inner, 0).ok_or("cut")?;
    if cookie & !0xf0 != *inside {
        return Err("no cookie inside".to_owned());
    }
    // V0 has the precision first, and a total where later ones have a ratio; no length.
    let (digits_at, lowest_at, body_at) = match encoding {
        Encoding::V0 => (4, 8, 32),
        Encoding::V1 | Encoding::V2 => (12, 16, 40),
    };
    let digits = word(&inner, digits_at).ok_or("cut")?;
    let lowest = inner
        .get(lowest_at..lowest_at + 8)
        .and_then(|b| b.try_into().ok())
        .map(u64::from_be_bytes);
    let lowest = lowest.unwrap_or(1).max(1);
    let body = inner.get(body_at..).unwrap_or_default();
    let length = match encoding {
        Encoding::V0 => body.len(),
        _ => word(&inner, 4).ok_or("cut")? as usize,
    };
    if !(1..=5).contains(&digits) || length > body.len() {
        return Err("a length or precision that does not fit".to_owned());
    }
    let body = &body[..length];
    let counts = match encoding {
        Encoding::V2 => unfold(body, digits, lowest)?,
        _ => words(body, (cookie >> 4 & 0xe) as usize, digits, lowest)?,
    };
    Ok(DecodedHistogram { digits, counts })
}

/// The highest value of the bucket of an index.
fn highest(index: u64, digits: u32, lowest: u64) -> Result<u64, String> {
    let unit = 63 - lowest.leading_zeros();
    let resolved = 2 * 10_u64.pow(digits);
    let magnitude = 64 - (resolved - 1).leading_zeros();
    let half = 1_u64 << (magnitude - 1);
    let bucket = index >> (magnitude - 1);
    let sub = index & (half - 1);
    let (power, sub) = if bucket == 0 {
        (0, sub)
    } else {
        (bucket - 1, sub + half)
    };
    let power = u32::try_from(power).unwrap_or(64) + unit;
    if power + magnitude > 64 {
        return Err("an index past 64 bits".to_owned());
    }
    Ok((sub << power) + ((1_u64 << power) - 1))
}

/// Counts of one size by index into values and counts.
fn words(body: &[u8], size: usize, digits: u32, lowest: u64) -> Result<Vec<(u64, u64)>, String> {
    if !matches!(size, 2 | 4 | 8) {
        return Err(format!("counts of {size} bytes"));
    }
    let mut out = Vec::new();
    for (index, bytes) in body.chunks_exact(size).enumerate() {
        let count = bytes.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        if count > 0 {
            out.push((highest(index as u64, digits, lowest)?, count));
        }
    }
    Ok(out)
}

/// ZigZag LEB128 counts by index into values and counts.
fn unfold(body: &[u8], digits: u32, lowest: u64) -> Result<Vec<(u64, u64)>, String> {
    let (mut out, mut index, mut at) = (Vec::new(), 0_u64, 0);
    while at < body.len() {
        let (mut raw, mut shift) = (0_u64, 0);
        loop {
            let Some(b) = body.get(at) else {
                return Err("a count is cut".to_owned());
            };
            at += 1;
            if shift == 56 {
                raw |= u64::from(*b) << 56;
                break;
            }
            raw |= u64::from(b & 0x7f) << shift;
            shift += 7;
            if b & 0x80 == 0 {
                break;
            }
        }
        let count = (raw >> 1) as i64 ^ -((raw & 1) as i64);
        if count < 0 {
            index = index.saturating_add(count.unsigned_abs());
            continue;
        }
        if count > 0 {
            out.push((highest(index, digits, lowest)?, count as u64));
        }
        index += 1;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write as _;

    /// A packed histogram: cookies, words of the head, then the counts.
    fn packed(outer: u32, inner: u32, head: &[u8], body: &[u8]) -> String {
        let mut plain = inner.to_be_bytes().to_vec();
        plain.extend_from_slice(head);
        plain.extend_from_slice(body);
        let mut zip = ZlibEncoder::new(Vec::new(), Compression::best());
        zip.write_all(&plain).expect("memory takes it");
        let zipped = zip.finish().expect("memory takes it");
        let mut all = outer.to_be_bytes().to_vec();
        all.extend((zipped.len() as u32).to_be_bytes());
        all.extend(zipped);
        base64::engine::general_purpose::STANDARD.encode(all)
    }

    /// V0 with counts of 8 bytes: three digits, lowest value 1.
    fn v0(body: &[u8]) -> String {
        let mut head = 3_u32.to_be_bytes().to_vec();
        head.extend(1_u64.to_be_bytes());
        head.extend([0; 16]);
        packed(0x1c84_9309, 0x1c84_9388, &head, body)
    }

    #[test]
    fn counts_of_one_size() {
        let mut body = vec![0; 8 * 7];
        body.extend(5_u64.to_be_bytes());
        let decoded = decode(&v0(&body)).expect("a histogram");
        assert_eq!((decoded.digits, decoded.counts), (3, vec![(7, 5)]));
    }

    #[test]
    fn what_inflates_without_an_end_is_refused() {
        let bomb = v0(&vec![0; INFLATED_MAX as usize]);
        assert!(bomb.len() < 20_000, "{} bytes", bomb.len());
        assert_eq!(
            decode(&bomb),
            Err("inflates to more than any histogram".to_owned())
        );
    }

    #[test]
    fn a_count_that_is_cut_is_refused() {
        let mut head = 2_u32.to_be_bytes().to_vec();
        head.extend(0_u32.to_be_bytes());
        head.extend(3_u32.to_be_bytes());
        head.extend(1_u64.to_be_bytes());
        head.extend([0; 16]);
        let of = |body: &[u8]| decode(&packed(0x1c84_9314, 0x1c84_9313, &head, body));
        assert_eq!(of(&[2, 4]).map(|d| d.counts), Ok(vec![(0, 1), (1, 2)]));
        assert_eq!(of(&[2, 0x84]), Err("a count is cut".to_owned()));
        assert!(of(&[2]).is_err(), "shorter than its length says");
    }
}
