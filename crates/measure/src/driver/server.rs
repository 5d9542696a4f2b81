//! What the server of a target counts of its own log, and what becomes of two readings.
//!
//! Invariants: what a server does not count is `None`. A difference is known only where both
//! readings have the value, it did not go backwards, and nobody reset it in between.

use crate::record::{ServerTotals, WaitSamples};

/// What a server has counted, from when it began to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Which server it is; two readings of one server have the same.
    pub server: String,
    /// Since when it counts, as it reports that: a reset changes it, and so does a restart of a
    /// server that begins anew then. It does not concern `lsn`.
    pub began: String,
    /// Transactions that sessions of this process which have ended have committed.
    pub commits: Option<u64>,
    /// Position of its log, in bytes.
    pub lsn: Option<u64>,
    /// What else it counts of its log. Flushes are 0 also where its writes are durable by
    /// themselves; bytes with which it filled new files are not in `written_bytes`.
    pub counted: ServerTotals,
}

/// What a server counted between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerGrowth {
    /// The differences.
    pub totals: ServerTotals,
    /// Transactions of this process between the readings.
    pub commits: Option<u64>,
    /// Why a difference is unknown that both readings have, in words.
    pub note: Option<String>,
}

impl ServerCounts {
    /// What was counted from the reading `before` to this one. After a reset, and of another
    /// server, only what cannot be reset is known.
    #[must_use]
    pub fn since(&self, before: &ServerCounts) -> ServerGrowth {
        if self.server != before.server {
            return ServerGrowth {
                note: Some("the two readings are of different servers".to_owned()),
                ..ServerGrowth::default()
            };
        }
        let mut backwards = Vec::new();
        let mut grown = |name: &'static str, after: Option<u64>, before: Option<u64>| {
            let (after, before) = (after?, before?);
            if after < before {
                backwards.push(name);
            }
            after.checked_sub(before)
        };
        let redo_lsn_bytes = grown("the position of the log", self.lsn, before.lsn);
        let commits = grown("commits", self.commits, before.commits);
        let mut totals = self.counted.each(&before.counted, grown);
        let mut note = (!backwards.is_empty()).then(|| {
            format!(
                "the server's counts went backwards: {}",
                backwards.join(", ")
            )
        });
        if self.began != before.began {
            totals = ServerTotals::default();
            note = Some("the server restarted or reset its statistics meanwhile".to_owned());
        }
        totals.redo_lsn_bytes = redo_lsn_bytes;
        ServerGrowth {
            totals,
            commits,
            note,
        }
    }
}

/// Samples what the sessions of a target wait for in its server, until it is ended or dropped.
pub trait WaitSampling: Send {
    /// Ends the sampling and its thread. What was sampled; `None` where the server failed to
    /// answer meanwhile.
    fn end(self: Box<Self>) -> Option<WaitSamples>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lsn: u64, syncs: Option<u64>, began: &str) -> ServerCounts {
        ServerCounts {
            server: "a".to_owned(),
            began: began.to_owned(),
            commits: Some(lsn / 2_000),
            lsn: Some(lsn),
            counted: ServerTotals {
                wal_bytes: Some(lsn / 2),
                syncs,
                ..ServerTotals::default()
            },
        }
    }

    #[test]
    fn differences_are_known_where_both_readings_have_the_value() {
        let (before, after) = (counts(1_000, None, "1"), counts(5_000, Some(4), "1"));
        let grown = after.since(&before);
        assert_eq!(grown.totals.redo_lsn_bytes, Some(4_000));
        assert_eq!(grown.totals.wal_bytes, Some(2_000));
        assert_eq!((grown.totals.syncs, grown.totals.writes), (None, None));
        assert_eq!((grown.commits, grown.note), (Some(2), None));
    }

    /// Also where the counts after it are larger than those before.
    #[test]
    fn after_a_reset_only_the_position_is_known() {
        let (before, after) = (counts(1_000, Some(1), "1"), counts(9_000, Some(4), "2"));
        let grown = after.since(&before);
        assert_eq!(grown.totals.redo_lsn_bytes, Some(8_000));
        assert_eq!((grown.totals.wal_bytes, grown.totals.syncs), (None, None));
        assert_eq!(grown.commits, Some(4));
        assert!(grown.note.is_some_and(|note| note.contains("reset")));
    }

    #[test]
    fn what_went_backwards_is_unknown_and_named() {
        let (before, after) = (counts(5_000, Some(7), "1"), counts(6_000, Some(4), "1"));
        let grown = after.since(&before);
        assert_eq!(
            (grown.totals.syncs, grown.totals.wal_bytes),
            (None, Some(500))
        );
        assert!(
            grown
                .note
                .is_some_and(|note| note.ends_with("backwards: flushes"))
        );
    }

    #[test]
    fn another_server_is_no_difference() {
        let before = counts(1_000, Some(1), "1");
        let mut after = counts(2_000, Some(2), "1");
        after.server = "b".to_owned();
        let grown = after.since(&before);
        assert_eq!(grown.totals, ServerTotals::default());
        assert!(grown.note.is_some());
    }
}
