//! What the disk's control information says of the log's ring: that there is one, and whether the
//! disk may lack what the ring holds (docs/decisions/2026-11-24-ring-and-failover.md).

use super::ControlInfo;

/// When redo is written to the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// Always, beside the disk.
    Ring,
    /// When the disk does not answer in time.
    Failover,
}

/// What control information says of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingTable {
    /// When it is written.
    pub kind: RingKind,
    /// The disk has everything that was acknowledged: the log was closed, or its ring was given up.
    /// The ring's content does not count then.
    pub spare: bool,
}

const SPARE: u8 = 1;
const ARCHIVES: u8 = 2;

impl RingTable {
    /// Of a new log, whose ring has nothing that counts.
    #[must_use]
    pub fn new(kind: RingKind) -> RingTable {
        RingTable { kind, spare: true }
    }

    /// Its 8 bytes; also whether the log is in archive mode, for which the version has no room.
    pub(super) fn encode(self, archives: bool) -> [u8; 8] {
        let kind = match self.kind {
            RingKind::Ring => 1,
            RingKind::Failover => 2,
        };
        let spare = if self.spare { SPARE } else { 0 };
        let archives = if archives { ARCHIVES } else { 0 };
        [kind, spare | archives, 0, 0, 0, 0, 0, 0]
    }

    /// Of its bytes; `None` for what no log can have.
    pub(super) fn decode(bytes: &[u8]) -> Option<(RingTable, bool)> {
        let (kind, flags) = match *bytes {
            [1, flags, 0, 0, 0, 0, 0, 0] => (RingKind::Ring, flags),
            [2, flags, 0, 0, 0, 0, 0, 0] => (RingKind::Failover, flags),
            _ => return None,
        };
        let spare = flags & SPARE != 0;
        let known = flags & !(SPARE | ARCHIVES) == 0;
        known.then_some((RingTable { kind, spare }, flags & ARCHIVES != 0))
    }
}

impl ControlInfo {
    /// The same of a log with a ring.
    #[must_use]
    pub fn with_ring(mut self, ring: RingTable) -> ControlInfo {
        self.ring = Some(ring);
        self.version = self.own_version();
        self
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use crate::control::Position;
    use crate::format::LogId;
    use crate::group::Geometry;

    #[test]
    fn rings_come_back_and_impossible_ones_do_not() {
        for kind in [RingKind::Ring, RingKind::Failover] {
            for (spare, archives) in [(false, false), (true, false), (false, true), (true, true)] {
                let ring = RingTable { kind, spare };
                let bytes = ring.encode(archives);
                assert_eq!(RingTable::decode(&bytes), Some((ring, archives)));
            }
        }
        for bytes in [[0; 8], [3, 0, 0, 0, 0, 0, 0, 0], [1, 4, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(RingTable::decode(&bytes), None);
        }
        assert_eq!(RingTable::decode(&[1, 0, 0, 0, 0, 0, 0, 1]), None);
    }

    #[test]
    fn control_information_with_a_ring_comes_back() {
        let geometry = Geometry {
            block_bytes: 512,
            seal_blocks: 1,
            groups: 2,
            blocks_per_group: 8,
            header_bytes: 4096,
            file_bytes: 8192,
        };
        let plain = ControlInfo::new(LogId([3; 16]), geometry);
        let mut info = plain.with_ring(RingTable::new(RingKind::Failover));
        for archived in [
            None,
            Some(Position {
                block: 0,
                offset: 7,
            }),
        ] {
            info.set_archived(archived);
            assert_eq!(info.version, 5);
            assert_eq!(ControlInfo::decode(&info.encode()), Ok(info.clone()));
        }
    }
}
