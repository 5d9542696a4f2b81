//! Where the bytes of a stripe lie: arithmetic only.
//!
//! Invariant: every byte of the space lies on exactly one place of one device, and no part passes
//! the border between two devices.

use super::StripeWidth;

/// How a space is laid out over the devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripeMap {
    width: u64,
    count: u64,
    bytes: u64,
}

/// A place on a device of the stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The device, from 0.
    pub(super) column: usize,
    /// Byte on it.
    pub(super) addr: u64,
}

impl StripeMap {
    /// Over `count` devices, the smallest of which has `smallest` bytes.
    pub(super) fn new(width: StripeWidth, count: usize, smallest: u64) -> StripeMap {
        let (width, count) = (width.bytes(), count as u64);
        StripeMap {
            width,
            count,
            bytes: (smallest / width * width).saturating_mul(count),
        }
    }

    /// Bytes of the space.
    pub(super) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether so many bytes from `addr` on lie in the space.
    pub(super) fn holds(self, addr: u64, len: usize) -> bool {
        let end = addr.checked_add(len as u64);
        end.is_some_and(|end| end <= self.bytes)
    }

    /// Bytes of the widest part.
    pub(super) fn width(self) -> u64 {
        self.width
    }

    fn place(self, addr: u64) -> Place {
        let (piece, inside) = (addr / self.width, addr % self.width);
        Place {
            column: (piece % self.count) as usize,
            addr: piece / self.count * self.width + inside,
        }
    }
}

/// The parts of `len` bytes from `addr` on, which the space holds: each with the bytes before it,
/// its length and its place.
pub(super) fn split(
    map: StripeMap,
    addr: u64,
    len: usize,
) -> impl Iterator<Item = (usize, usize, Place)> {
    let mut before = 0;
    std::iter::from_fn(move || {
        let left = len - before;
        let addr = addr + before as u64;
        let room = map.width - addr % map.width;
        let part = usize::try_from(room).map_or(left, |room| room.min(left));
        let begins = before;
        before += part;
        (part > 0).then(|| (begins, part, map.place(addr)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sector of the space has a place of its own, and they fill the devices.
    #[test]
    fn every_sector_has_a_place_of_its_own() {
        for (width, count, smallest) in [
            (StripeWidth::Fine, 2, (512 << 10) + 4096),
            (StripeWidth::Fine, 5, 256 << 10),
            (StripeWidth::Coarse, 3, (2 << 20) + 512),
        ] {
            let map = StripeMap::new(width, count, smallest);
            let each = smallest / width.bytes() * width.bytes();
            assert_eq!(map.bytes(), each * count as u64);
            let mut seen = std::collections::BTreeSet::new();
            for addr in (0..map.bytes()).step_by(512) {
                let Place { column, addr } = map.place(addr);
                assert!(column < count && addr + 512 <= each, "{column} {addr}");
                assert!(seen.insert((column, addr)), "{column} {addr} twice");
            }
            assert!(map.holds(0, map.bytes() as usize) && map.holds(map.bytes(), 0));
            assert!(!map.holds(1, map.bytes() as usize) && !map.holds(u64::MAX, 2));
        }
    }

    /// Parts are in order, complete, and end at borders.
    #[test]
    fn parts_end_where_the_next_device_begins() {
        let map = StripeMap::new(StripeWidth::Fine, 3, 1 << 20);
        let wide = 128 << 10;
        let parts: Vec<_> = split(map, wide as u64 - 4096, 2 * wide).collect();
        let place = |column, addr| Place { column, addr };
        assert_eq!(
            parts,
            [
                (0, 4096, place(0, wide as u64 - 4096)),
                (4096, wide, place(1, 0)),
                (4096 + wide, wide - 4096, place(2, 0)),
            ]
        );
        let around: Vec<_> = split(map, 2 * wide as u64, wide + 512).collect();
        assert_eq!(
            around,
            [(0, wide, place(2, 0)), (wide, 512, place(0, wide as u64))]
        );
        assert_eq!(split(map, 77, 0).count(), 0);
    }
}
