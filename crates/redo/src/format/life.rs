//! Identities of the log's lives: what distinguishes two copies of one log that both went on.
//!
//! What lives here: drawing an id, and the part of it that each block carries. What it must not
//! know: where ids are kept, and what follows from one that does not fit.

/// Identity of one incarnation of a log, drawn from the system's randomness when the incarnation
/// begins; never all zeros in its first six bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifeId([u8; 16]);

/// The first 48 bits of a [`LifeId`], which every block of that life carries; never zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifeMark(u64);

impl LifeId {
    /// A new one. Neither clocks nor counters enter it: two machines that start from one snapshot
    /// have the same of both.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn draw() -> std::io::Result<LifeId> {
        loop {
            let mut bytes = [0_u8; 16];
            let flags = rustix::rand::GetRandomFlags::empty();
            let drawn = rustix::io::retry_on_intr(|| rustix::rand::getrandom(&mut bytes, flags))?;
            if drawn == bytes.len()
                && let Some(id) = LifeId::from_bytes(bytes)
            {
                return Ok(id);
            }
        }
    }

    /// The id that these bytes are; `None` when its mark would be zero.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Option<LifeId> {
        let [a, b, c, d, e, f, ..] = bytes;
        match LifeMark::of([a, b, c, d, e, f]) {
            Some(_) => Some(LifeId(bytes)),
            None => None,
        }
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The part that blocks carry.
    #[must_use]
    pub const fn mark(self) -> LifeMark {
        let [a, b, c, d, e, f, ..] = self.0;
        LifeMark(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }
}

impl LifeMark {
    /// The mark that these bytes of a block are; `None` when they are zero.
    #[must_use]
    pub const fn of(bytes: [u8; 6]) -> Option<LifeMark> {
        let [a, b, c, d, e, f] = bytes;
        match u64::from_le_bytes([a, b, c, d, e, f, 0, 0]) {
            0 => None,
            mark => Some(LifeMark(mark)),
        }
    }

    /// Its bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.0.to_le_bytes();
        [a, b, c, d, e, f]
    }
}

impl std::fmt::Display for LifeMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl std::fmt::Display for LifeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_come_back() {
        let ids: Vec<LifeId> = (0..100).map(|_| LifeId::draw().expect("random")).collect();
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(LifeId::from_bytes(id.bytes()), Some(*id));
            assert_eq!(LifeMark::of(id.mark().bytes()), Some(id.mark()));
            let same = ids.iter().skip(at + 1).filter(|o| o.mark() == id.mark());
            assert_eq!(same.count(), 0, "{id}");
        }
        assert_eq!(LifeId::from_bytes([0; 16]), None);
    }
}
