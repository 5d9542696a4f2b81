//! The members of a log: which there are, and which of them may be believed.
//!
//! Cells mirror each other, and the members of a cell race: one member per cell is a mirror, one
//! cell is a race, several cells of several members are a mirror of races
//! (docs/decisions/2026-11-23-members.md).

use super::ControlInfo;

/// Members that a log can have.
pub const MEMBERS_MAX: usize = 16;

/// What each member's control information says of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberTable {
    /// Members of the log.
    pub count: u8,
    /// Members of a cell; `count` is a multiple of it. Members `0..cell` are the first cell.
    pub cell: u8,
    /// The member in whose copy this is, from 0.
    pub own: u8,
    /// A bit for each member that is stale: it lacks redo that was acknowledged, or may lack it.
    pub stale: u16,
    /// How often this member's control information was written, modulo 65,536. Its parity is the
    /// copy that this writing began with: generations jump for a member that was away, this number
    /// does not.
    pub written: u16,
    /// How many lost members were replaced so far, modulo 256. Every member that is in sync then
    /// has the number; the one that was replaced does not, wherever it was.
    pub replaced: u8,
}

impl MemberTable {
    /// Of a new log: `count` members in cells of `cell`, all in sync. `None` where there are no
    /// such members.
    #[must_use]
    pub fn new(count: usize, cell: usize) -> Option<MemberTable> {
        let table = MemberTable {
            count: u8::try_from(count).ok()?,
            cell: u8::try_from(cell).ok()?,
            own: 0,
            stale: 0,
            written: 0,
            replaced: 0,
        };
        table.is_possible().then_some(table)
    }

    fn is_possible(self) -> bool {
        let all = u32::MAX
            .checked_shl(u32::from(self.count))
            .map_or(0, |m| !m);
        (2..=MEMBERS_MAX).contains(&usize::from(self.count))
            && (1..=self.count).contains(&self.cell)
            && self.count.is_multiple_of(self.cell)
            && self.own < self.count
            && u32::from(self.stale) & !all == 0
            && u32::from(self.stale) != all
    }

    /// Its members, from 0.
    pub fn all(self) -> impl Iterator<Item = usize> {
        0..usize::from(self.count)
    }

    /// Whether `member` is in sync.
    #[must_use]
    pub fn in_sync(self, member: usize) -> bool {
        member < usize::from(self.count) && self.stale >> member & 1 == 0
    }

    /// The members of each cell.
    pub fn cells(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let cell = usize::from(self.cell);
        (0..usize::from(self.count / self.cell)).map(move |n| n * cell..(n + 1) * cell)
    }

    /// Whether the members for which `there` holds have everything that was acknowledged: all
    /// members in sync of a cell that has one. In a race each of them may have been the first.
    #[must_use]
    pub fn suffice(self, there: impl Fn(usize) -> bool) -> bool {
        self.cells().any(|mut cell| {
            cell.clone().any(|member| self.in_sync(member))
                && cell.all(|member| there(member) || !self.in_sync(member))
        })
    }

    /// The same, whichever member's it is.
    #[must_use]
    pub(crate) fn of_all(self) -> MemberTable {
        MemberTable {
            own: 0,
            written: 0,
            ..self
        }
    }

    /// By how many replacements `other` knows more than this one; negative where it knows fewer.
    #[must_use]
    pub(crate) fn replacements_behind(self, other: MemberTable) -> i8 {
        other.replaced.wrapping_sub(self.replaced) as i8
    }

    /// Its 8 bytes.
    #[must_use]
    pub(super) fn encode(self) -> [u8; 8] {
        let [low, high] = self.stale.to_le_bytes();
        let [written_low, written_high] = self.written.to_le_bytes();
        let (count, cell, own) = (self.count, self.cell, self.own);
        let more = self.replaced;
        [count, cell, own, low, high, written_low, written_high, more]
    }

    /// Of its bytes; `None` for what no log can have.
    #[must_use]
    pub(super) fn decode(bytes: &[u8]) -> Option<MemberTable> {
        let (&[count, cell, own, low, high], rest) = bytes.split_first_chunk()?;
        let (written, rest) = rest.split_first_chunk()?;
        let table = MemberTable {
            count,
            cell,
            own,
            stale: u16::from_le_bytes([low, high]),
            written: u16::from_le_bytes(*written),
            replaced: *rest.first()?,
        };
        table.is_possible().then_some(table)
    }
}

impl ControlInfo {
    /// The same of a log with members.
    #[must_use]
    pub fn with_members(mut self, members: MemberTable) -> ControlInfo {
        self.members = Some(members);
        self.version = self.own_version();
        self
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn what_suffices_is_a_whole_cell() {
        let there = |given: &'static [usize]| move |member: usize| given.contains(&member);
        let mirror = MemberTable::new(2, 1).expect("two");
        assert!(mirror.suffice(there(&[0])) && mirror.suffice(there(&[1])));
        let race = MemberTable::new(2, 2).expect("two");
        assert!(!race.suffice(there(&[0])) && race.suffice(there(&[0, 1])));
        // The other one is proven stale.
        let race = MemberTable { stale: 2, ..race };
        assert!(race.suffice(there(&[0])) && !race.suffice(there(&[1])));
        let both = MemberTable::new(4, 2).expect("two cells");
        assert!(both.suffice(there(&[2, 3])) && !both.suffice(there(&[0, 2])));
        // A cell of stale members alone has nothing to give.
        let both = MemberTable {
            stale: 0b0011,
            ..both
        };
        assert!(!both.suffice(there(&[0, 1])) && both.suffice(there(&[0, 2, 3])));
    }

    #[test]
    fn tables_come_back_and_impossible_ones_do_not() {
        for (count, cell) in [(2, 1), (2, 2), (4, 2), (16, 1), (16, 16)] {
            let table = MemberTable::new(count, cell).expect("possible");
            let table = MemberTable {
                own: table.count - 1,
                stale: 1,
                written: 1 << 12,
                ..table
            };
            assert_eq!(MemberTable::decode(&table.encode()), Some(table));
        }
        for (count, cell) in [(0, 1), (1, 1), (17, 1), (4, 3), (2, 0), (2, 4)] {
            assert_eq!(MemberTable::new(count, cell), None, "{count} in {cell}");
        }
        let of = |own, stale| MemberTable {
            own,
            stale,
            ..MemberTable::new(2, 1).expect("two")
        };
        // All stale, a member that is none, the copy of one that is none.
        for table in [of(0, 3), of(0, 4), of(2, 0)] {
            assert_eq!(MemberTable::decode(&table.encode()), None, "{table:?}");
        }
    }
}
