//! One session, or several: what decides whether a session that commits writes for itself.

/// Whether several sessions commit at a time, from what the last log writes carried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Company {
    score: u32,
    pub(super) several: bool,
}

/// Log writes with company that make a load one of several sessions, and without that end it.
const COMPANY: u32 = 8;
const ALONE: u32 = 64;

impl Company {
    /// A log write served so many commits, and so many more had come meanwhile.
    pub(super) fn wrote(&mut self, commits: u64, carried: u64) -> bool {
        let more = ALONE / COMPANY;
        self.score = if commits > 1 || carried > 0 {
            (self.score + more).min(ALONE)
        } else {
            self.score.saturating_sub(1)
        };
        self.several = match self.score {
            0 => false,
            ALONE => true,
            _ => self.several,
        };
        self.several
    }
}
