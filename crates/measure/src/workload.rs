//! Workloads as plain data, and the generator of their redo.
//!
//! Sizes are those of study 003 (redo of a transaction as its tables show it): LGWR-LAT1 1.95 kB,
//! LGWR-LAT25 26.3 kB, LGWR-LAT125 124 kB with COMMIT WRITE WAIT IMMEDIATE, LGWR-THR 486 kB with
//! COMMIT WRITE NOWAIT BATCH. The generator knows nothing of logs or threads: it says which bytes
//! a transaction appends.

use serde::{Deserialize, Serialize};

/// Whether the foreground waits for its redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitWait {
    /// Return when the redo is durable.
    Wait,
    /// Return at once.
    Nowait,
}

/// Whether the foreground posts the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitPost {
    /// Have it written now.
    Immediate,
    /// Leave it to the next write.
    Batch,
}

/// `COMMIT WRITE {WAIT|NOWAIT} {IMMEDIATE|BATCH}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMode {
    /// Whether to wait.
    pub wait: CommitWait,
    /// Whether to post.
    pub post: CommitPost,
}

impl CommitMode {
    /// The safe default.
    pub const WAIT_IMMEDIATE: CommitMode = CommitMode {
        wait: CommitWait::Wait,
        post: CommitPost::Immediate,
    };
    /// Waits without posting the log writer: written when something else has it written.
    pub const WAIT_BATCH: CommitMode = CommitMode {
        wait: CommitWait::Wait,
        post: CommitPost::Batch,
    };
    /// Posts the log writer and goes on.
    pub const NOWAIT_IMMEDIATE: CommitMode = CommitMode {
        wait: CommitWait::Nowait,
        post: CommitPost::Immediate,
    };
    /// The fastest and least safe.
    pub const NOWAIT_BATCH: CommitMode = CommitMode {
        wait: CommitWait::Nowait,
        post: CommitPost::Batch,
    };
}

/// A workload's specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name, as the study writes it.
    pub name: String,
    /// Bytes of redo of a transaction, record headers not included.
    pub redo_bytes: u32,
    /// Records that the transaction's redo is divided into.
    pub records: u32,
    /// How it commits.
    pub commit: CommitMode,
}

/// The jobs that run when none are named. Fixed, so that runs compare.
pub const DEFAULT_JOBS: [u32; 5] = [1, 2, 8, 32, 64];

impl Workload {
    /// The four workloads of study 003, one record a transaction.
    #[must_use]
    pub fn standard() -> Vec<Workload> {
        let latency = |name: &str, redo_bytes| Workload {
            name: name.to_owned(),
            redo_bytes,
            records: 1,
            commit: CommitMode::WAIT_IMMEDIATE,
        };
        vec![
            latency("LGWR-LAT1", 1_997),
            latency("LGWR-LAT25", 26_931),
            latency("LGWR-LAT125", 126_976),
            Workload {
                name: "LGWR-THR".to_owned(),
                redo_bytes: 497_664,
                records: 1,
                commit: CommitMode::NOWAIT_BATCH,
            },
        ]
    }

    /// The workload of that name, case and the `LGWR-` prefix being optional.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Workload> {
        let wanted = name.to_ascii_uppercase();
        Workload::standard()
            .into_iter()
            .find(|w| w.name == wanted || w.name.strip_prefix("LGWR-") == Some(wanted.as_str()))
    }

    /// Length of record `index` of a transaction: the redo is divided evenly, the first records
    /// taking the remainder.
    #[must_use]
    pub fn record_bytes(&self, index: u32) -> u32 {
        let records = self.records.max(1);
        self.redo_bytes / records + u32::from(index < self.redo_bytes % records)
    }
}

/// Bytes at the head of each record that make it unique: session, transaction, record, all
/// little-endian.
pub const STAMP_BYTES: usize = 16;

/// Makes a session's redo: incompressible, unique, without a copy. A record's payload is its
/// stamp followed by a slice of a pseudo-random pool at an offset that moves with each record.
#[derive(Debug)]
pub struct Generator {
    pool: std::sync::Arc<[u8]>,
    session: u32,
    transaction: u64,
    state: u64,
}

/// Pseudo-random bytes shared by the sessions of a run.
#[must_use]
pub fn pool(seed: u64, bytes: usize) -> std::sync::Arc<[u8]> {
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    let mut out = vec![0_u8; bytes];
    for chunk in out.chunks_mut(8) {
        let word = split_mix(&mut state).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    out.into()
}

/// SplitMix64 (Steele, Lea, Flood 2014): the next pseudo-random word.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Generator {
    /// A generator of session `session` over a shared pool.
    #[must_use]
    pub fn new(pool: std::sync::Arc<[u8]>, session: u32, seed: u64) -> Generator {
        Generator {
            pool,
            session,
            transaction: 0,
            state: seed ^ (u64::from(session) << 32),
        }
    }

    /// Begins the next transaction and returns its number.
    pub fn next_transaction(&mut self) -> u64 {
        self.transaction += 1;
        self.transaction
    }

    /// Record `index` of the current transaction, `bytes` long: stamp and body.
    #[inline]
    pub fn record(&mut self, index: u32, bytes: u32) -> ([u8; STAMP_BYTES], &[u8]) {
        let mut stamp = [0_u8; STAMP_BYTES];
        stamp[..4].copy_from_slice(&self.session.to_le_bytes());
        stamp[4..12].copy_from_slice(&self.transaction.to_le_bytes());
        stamp[12..].copy_from_slice(&index.to_le_bytes());
        let body = (bytes as usize)
            .saturating_sub(STAMP_BYTES)
            .min(self.pool.len());
        let room = (self.pool.len() - body) as u64;
        let at = if room == 0 {
            0
        } else {
            split_mix(&mut self.state) % room
        };
        (stamp, &self.pool[at as usize..at as usize + body])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_studys() {
        let kb: Vec<f64> = Workload::standard()
            .iter()
            .map(|w| f64::from(w.redo_bytes) / 1024.0)
            .collect();
        for (got, want) in kb.iter().zip([1.95, 26.3, 124.0, 486.0]) {
            assert!((got - want).abs() < 0.01, "{got} against {want}");
        }
        assert_eq!(
            Workload::by_name("lat25").map(|w| w.name).as_deref(),
            Some("LGWR-LAT25")
        );
        assert_eq!(Workload::by_name("LGWR-LAT2"), None);
    }

    #[test]
    fn records_add_up_to_the_transaction() {
        for records in [1, 2, 3, 7, 100] {
            let w = Workload {
                records,
                ..Workload::standard().remove(1)
            };
            let sum: u32 = (0..records).map(|i| w.record_bytes(i)).sum();
            assert_eq!(sum, w.redo_bytes);
        }
    }

    #[test]
    fn redo_is_unique_repeatable_and_incompressible() {
        let shared = pool(7, 1 << 16);
        let mut a = Generator::new(shared.clone(), 1, 7);
        let mut b = Generator::new(shared.clone(), 2, 7);
        a.next_transaction();
        b.next_transaction();
        let first = {
            let (s, body) = a.record(0, 2000);
            (s, body.to_vec())
        };
        let other = {
            let (s, body) = b.record(0, 2000);
            (s, body.to_vec())
        };
        assert_ne!(first, other);
        let mut again = Generator::new(pool(7, 1 << 16), 1, 7);
        again.next_transaction();
        let (s, body) = again.record(0, 2000);
        assert_eq!((s, body.to_vec()), first);
        assert_eq!(first.0.len() + first.1.len(), 2000);
        let mut counts = [0_u32; 256];
        shared.iter().for_each(|b| counts[*b as usize] += 1);
        assert!(
            counts.iter().all(|c| (150..370).contains(c)),
            "a byte is over- or under-used"
        );
    }
}
