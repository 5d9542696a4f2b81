//! What a device carries, by the magic numbers of known formats.
//!
//! Invariants: only reading; every known place is looked at, so that a device with several
//! signatures reports all of them; what is not known is not called empty: [`Content::is_blank`]
//! is about bytes. What it must not know: what follows from a signature.

use super::table::{
    Magic, SignatureKind, TABLE, ZFS, ZFS_LABEL_BYTES, ZFS_LABELS, ZFS_MAGIC, ZFS_RING_AT,
    ZFS_SLOT_BYTES,
};
use crate::error::DeviceError;
use std::collections::HashMap;

/// A format that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// What it stands for.
    pub kind: SignatureKind,
    /// Where it was found first, bytes from the device's beginning.
    pub at: u64,
    /// Where the format is published.
    pub source: &'static str,
}

/// What stands on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Formats that were recognised, each once, in the table's order.
    pub signatures: Vec<Signature>,
    /// The first and the last MiB hold nothing but zeros.
    pub is_blank: bool,
}

impl Content {
    /// Size, model and signatures in words.
    pub(super) fn inventory(&self, bytes: u64, model: &str) -> String {
        let gib = bytes as f64 / (1_u64 << 30) as f64;
        let size = format!("{gib:.3} GiB, {bytes} bytes");
        let mut carries: Vec<String> = self
            .signatures
            .iter()
            .map(|s| format!("{} at byte {}", s.name, s.at))
            .collect();
        if carries.is_empty() {
            let what = if self.is_blank {
                "no known signature, and its first and last MiB are zero"
            } else {
                "no known signature, but its first or last MiB is not empty"
            };
            carries.push(what.to_owned());
        }
        format!("{size}; {model}; carries {}", carries.join(", "))
    }
}

/// Bytes at each end of a device in which formats keep their super blocks, labels and tables; some
/// keep copies elsewhere.
pub const END_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: u64 = 64 << 10;

/// Looks at a device of `bytes`, which `read` fills buffers from.
pub(super) fn scan(bytes: u64, read: Read<'_>) -> Result<Content, DeviceError> {
    let mut medium = Medium {
        bytes,
        read,
        chunks: HashMap::new(),
    };
    let mut signatures: Vec<Signature> = Vec::new();
    for magic in TABLE {
        let found = match magic.spot.on(bytes) {
            Some(at) => medium.begins_with(at, magic.bytes)?.then_some(at),
            None => None,
        };
        let new = |s: &Signature| s.name != magic.name;
        if let Some(at) = found.filter(|_| signatures.iter().all(new)) {
            signatures.push(magic.at(at));
        }
    }
    if let Some(at) = medium.zfs()? {
        signatures.push(Signature {
            name: "ZFS pool member",
            kind: SignatureKind::Member,
            at,
            source: ZFS,
        });
    }
    let is_blank = medium.is_blank()?;
    Ok(Content {
        signatures,
        is_blank,
    })
}

/// Every place of the table at which its signature stands, in the table's order.
pub(super) fn places(bytes: u64, read: Read<'_>) -> Result<Vec<u64>, DeviceError> {
    let mut medium = Medium {
        bytes,
        read,
        chunks: HashMap::new(),
    };
    let mut found = Vec::new();
    for magic in TABLE {
        if let Some(at) = magic.spot.on(bytes)
            && medium.begins_with(at, magic.bytes)?
        {
            found.push(at);
        }
    }
    Ok(found)
}

impl Magic {
    fn at(&self, at: u64) -> Signature {
        Signature {
            name: self.name,
            kind: self.kind,
            at,
            source: self.source,
        }
    }
}

/// Fills a buffer from an address.
pub(super) type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> Result<(), DeviceError>;

/// A device, read in chunks that are kept.
struct Medium<'a> {
    bytes: u64,
    read: Read<'a>,
    chunks: HashMap<u64, Vec<u8>>,
}

impl Medium<'_> {
    fn begins_with(&mut self, at: u64, wanted: &[u8]) -> Result<bool, DeviceError> {
        let end = at.checked_add(wanted.len() as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Ok(false);
        }
        for (at, byte) in (at..).zip(wanted) {
            let chunk = self.chunk(at / CHUNK_BYTES)?;
            if chunk.get((at % CHUNK_BYTES) as usize) != Some(byte) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn chunk(&mut self, number: u64) -> Result<&[u8], DeviceError> {
        let start = number * CHUNK_BYTES;
        if !self.chunks.contains_key(&number) {
            let len = self.bytes.saturating_sub(start).min(CHUNK_BYTES);
            let mut chunk = vec![0; len as usize];
            (self.read)(start, &mut chunk)?;
            self.chunks.insert(number, chunk);
        }
        Ok(self.chunks.get(&number).map_or(&[], Vec::as_slice))
    }

    /// The first uberblock of any label.
    fn zfs(&mut self) -> Result<Option<u64>, DeviceError> {
        let slots = (ZFS_LABEL_BYTES - ZFS_RING_AT) / ZFS_SLOT_BYTES;
        for label in ZFS_LABELS {
            let Some(label) = label.on(self.bytes) else {
                continue;
            };
            for slot in 0..slots {
                let at = label + ZFS_RING_AT + slot * ZFS_SLOT_BYTES;
                if self.begins_with(at, &ZFS_MAGIC.to_le_bytes())?
                    || self.begins_with(at, &ZFS_MAGIC.to_be_bytes())?
                {
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    fn is_blank(&mut self) -> Result<bool, DeviceError> {
        let chunks = self.bytes.div_ceil(CHUNK_BYTES);
        let tail = self.bytes.saturating_sub(END_BYTES) / CHUNK_BYTES;
        let head = (END_BYTES / CHUNK_BYTES).min(chunks);
        for number in (0..head).chain(tail.max(head)..chunks) {
            if self.chunk(number)?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Spot;
    use super::*;

    const BYTES: u64 = (70 << 20) + 3 * 512;

    /// A device that holds `pieces` and zeros.
    fn scan_of(bytes: u64, pieces: &[(u64, &[u8])]) -> Content {
        let read = |at: u64, out: &mut [u8]| {
            for (from, piece) in pieces {
                for (n, byte) in (*from..).zip(*piece) {
                    let place = n.checked_sub(at).and_then(|i| out.get_mut(i as usize));
                    if let Some(place) = place {
                        *place = *byte;
                    }
                }
            }
            Ok(())
        };
        scan(bytes, &read).expect("memory does not fail")
    }

    #[test]
    fn every_signature_of_the_table_is_found_at_its_place() {
        for magic in TABLE {
            let bytes = match magic.spot {
                Spot::Start(at) => BYTES.max(at + 4096),
                Spot::End { .. } => BYTES,
            };
            let at = magic.spot.on(bytes).expect("large enough");
            let found = scan_of(bytes, &[(at, magic.bytes)]).signatures;
            let named = |s: &Signature| s.name == magic.name && s.at == at;
            assert!(found.iter().any(named), "{magic:?}: {found:?}");
            assert!(
                !magic.source.is_empty() && magic.bytes.len() >= 2,
                "{magic:?}"
            );
            // A byte that differs is no signature.
            let mut other = magic.bytes.to_vec();
            *other.last_mut().expect("some bytes") ^= 0x80;
            let found = scan_of(bytes, &[(at, &other)]).signatures;
            assert!(found.is_empty(), "{magic:?}: {found:?}");
        }
    }

    #[test]
    fn zfs_is_found_in_each_label_in_both_byte_orders() {
        for label in ZFS_LABELS {
            let at = label.on(BYTES).expect("large") + ZFS_RING_AT + 77 * ZFS_SLOT_BYTES;
            for magic in [ZFS_MAGIC.to_le_bytes(), ZFS_MAGIC.to_be_bytes()] {
                let found = scan_of(BYTES, &[(at, &magic)]).signatures;
                assert_eq!(found.len(), 1, "{found:?}");
                assert_eq!((found[0].name, found[0].at), ("ZFS pool member", at));
            }
        }
    }

    #[test]
    fn several_signatures_are_all_told_and_each_once() {
        let pieces: &[(u64, &[u8])] = &[
            (510, b"\x55\xaa"),
            (512, b"EFI PART"),
            (BYTES - 512, b"EFI PART"),
            (1080, b"\x53\xef"),
            (0, b"REDOCTL\0"),
            (16_384, b"REDOCTL\0"),
        ];
        let names: Vec<_> = scan_of(BYTES, pieces)
            .signatures
            .iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(
            names,
            [
                "redolab redo log",
                "ext2, ext3 or ext4",
                "MBR partition table or boot sector",
                "GPT partition table",
                "backup GPT partition table",
            ]
        );
    }

    #[test]
    fn blank_speaks_of_both_ends_and_any_size_is_looked_at() {
        assert!(scan_of(BYTES, &[]).is_blank);
        assert!(scan_of(BYTES, &[(30 << 20, b"data")]).is_blank);
        for at in [0, (1 << 20) - 1, BYTES - (1 << 20), BYTES - 1] {
            let found = scan_of(BYTES, &[(at, b"\x01")]);
            assert!(!found.is_blank && found.signatures.is_empty(), "{at}");
        }
        for bytes in [0, 1, 511, 4096, 65_537, 600 << 10] {
            assert!(scan_of(bytes, &[]).is_blank, "{bytes}");
        }
    }
}
