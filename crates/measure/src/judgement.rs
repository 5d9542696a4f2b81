//! Findings and the verdict as plain data (VERDICT.md). Made by `analysis`, stored in a run.

use crate::enum_words::words;
use serde::{Deserialize, Serialize};

/// Should a redo log live here?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// Yes, if what the reasons name is so.
    Conditional,
    /// No.
    No,
    /// The measurement does not allow an answer.
    Undetermined,
}

words!(Answer {
    Yes => "yes",
    Conditional => "conditional",
    No => "no",
    Undetermined => "undetermined",
});

impl Answer {
    /// The worse the answer, the higher; what is not known is worse than what holds conditionally.
    #[must_use]
    pub const fn badness(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::Conditional => 1,
            Answer::Undetermined => 2,
            Answer::No => 3,
        }
    }
}

/// Does an acknowledged write survive power loss?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A power test passed.
    Tested,
    /// Declared by the device, a sourced model entry or the user.
    Declared,
    /// Nothing proves it: a fast flush fits a protected cache and a lying one.
    Unverified,
    /// The medium itself loses it.
    Volatile,
    /// A power test lost acknowledged writes.
    Refuted,
}

words!(Durability {
    Tested => "tested",
    Declared => "declared",
    Unverified => "unverified",
    Volatile => "volatile",
    Refuted => "refuted",
});

impl Durability {
    /// The worse, the higher.
    #[must_use]
    pub const fn badness(self) -> u8 {
        self as u8
    }

    /// The word with what it rests on. Runs of earlier versions do not contain that, and their
    /// `tested` may be that of a single cut.
    #[must_use]
    pub fn with_basis(self, basis: Option<&str>) -> String {
        match (basis, self) {
            (Some(basis), _) => format!("{self} ({basis})"),
            (None, Durability::Tested) => format!("{self} (number of cuts not known)"),
            (None, Durability::Declared) => format!("{self} (by whom is not known)"),
            (None, _) => self.word().to_owned(),
        }
    }

    /// Acknowledged writes are known not to survive power loss.
    #[must_use]
    pub const fn loses_commits(self) -> bool {
        matches!(self, Durability::Volatile | Durability::Refuted)
    }
}

/// Are commits fast and steady enough for the stated need?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Performance {
    /// Meets the need with headroom.
    Meets,
    /// Meets it without headroom.
    Marginal,
    /// Misses it.
    Misses,
    /// No need was stated; the envelope is given instead.
    NoNeedStated,
}

words!(Performance {
    Meets => "meets the need",
    Marginal => "marginal for the need",
    Misses => "misses the need",
    NoNeedStated => "no need stated",
});

impl Performance {
    /// The worse, the higher.
    #[must_use]
    pub const fn badness(self) -> u8 {
        match self {
            Performance::NoNeedStated => 0,
            Performance::Meets => 1,
            Performance::Marginal => 2,
            Performance::Misses => 3,
        }
    }
}

/// How a reason weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// For the record.
    Info,
    /// In favour.
    Good,
    /// To be watched or settled.
    Caution,
    /// Against.
    Bad,
}

/// How sure a finding is of its claim, apart from how it weighs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Suspicion: it fits what was seen, and so do other explanations.
    Low,
    /// Inferred from a sample, or reported by somebody who can be mistaken. Runs of earlier
    /// versions do not say, and are read as this.
    #[default]
    Medium,
    /// Counted exactly, or read where it is decided.
    High,
}

words!(Confidence {
    Low => "low",
    Medium => "medium",
    High => "high",
});

/// A finding: a claim with its numbers, its threshold and that threshold's source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable identifier, such as `stack.volatile`.
    pub id: String,
    /// How it weighs.
    pub weight: Weight,
    /// One sentence.
    pub claim: String,
    /// The numbers behind it, named with their units.
    pub numbers: Vec<(String, f64)>,
    /// The threshold that was applied, in words; empty where there is none.
    pub threshold: String,
    /// Where the threshold or rule comes from.
    pub source: String,
    /// How sure it is.
    #[serde(default)]
    pub confidence: Confidence,
    /// What to do about it.
    pub advice: String,
}

/// What the verdict rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// Seconds measured.
    pub seconds: f64,
    /// Bytes written to the target.
    pub bytes_written: u64,
    /// Bytes that the log files cover; 0 for a server, which decides that itself.
    pub log_footprint_bytes: u64,
    /// The footprint is under four times the largest known cache in the path (or no cache size
    /// is known and the footprint is small).
    pub cache_resident: bool,
    /// What was not judged, in words.
    pub not_judged: Vec<String>,
    /// It rests on log writes of somebody else's database, under the load that this had.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
}

/// The verdict. The answer is the worse of the two axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// The first axis.
    pub durability: Durability,
    /// The second axis.
    pub performance: Performance,
    /// What it rests on.
    pub scope: Scope,
    /// Reasons, the weightiest first.
    pub reasons: Vec<Finding>,
    /// One sentence for a ticket.
    pub summary: String,
    /// What the word of the first axis rests on: who declares it, how many cuts tested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability_basis: Option<String>,
    /// Where durability is tested: upper bound of the share of power cuts with a loss, at 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_per_cut_below: Option<f64>,
}

impl Verdict {
    /// The first axis with what it rests on.
    #[must_use]
    pub fn durability_in_words(&self) -> String {
        (self.durability).with_basis(self.durability_basis.as_deref())
    }
}

/// The need that the user stated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Commits a second.
    pub commit_rate: Option<f64>,
    /// Bytes of redo per second.
    pub redo_bytes_per_s: Option<f64>,
    /// 99th percentile of log file sync, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Bytes that the drives below are rated to take in their life (`--tbw`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rated_bytes: Option<f64>,
    /// Years that they have to last (`--years`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
    /// Sessions that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// Where figures come from that were taken from evidence of a production system
    /// (`--need-from`); empty where all were stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<NeedSource>,
    /// How long commits and log writes of that production system take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub production: Vec<ProductionWait>,
}

impl Need {
    /// Whether commits are judged against it.
    #[must_use]
    pub fn is_stated(&self) -> bool {
        self.commit_rate.is_some()
            || self.redo_bytes_per_s.is_some()
            || self.p99_ns.is_some()
            || !self.production.is_empty()
    }

    /// Whether it was taken from evidence of a production system.
    #[must_use]
    pub fn is_of_production(&self) -> bool {
        !self.sources.is_empty() || !self.production.is_empty()
    }
}

/// How long a production system waits for an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductionWait {
    /// Key of the event: `log_file_sync` or `log_file_parallel_write`.
    pub event: String,
    /// Mean, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The ends of the bucket that contains the median, nanoseconds; equal where it is known
    /// exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<[u64; 2]>,
    /// Those of the 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<[u64; 2]>,
    /// Those of the 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<[u64; 2]>,
    /// A device has to be as fast; false where production waits too long to be wished for, so that
    /// it is what a device has to beat.
    pub is_target: bool,
    /// File and table of the evidence.
    pub place: String,
}

/// A quantity of a need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedQuantity {
    /// Commits per second.
    CommitRate,
    /// Redo per second.
    RedoRate,
    /// Sessions that commit.
    Sessions,
    /// 99th percentile of log file sync.
    P99,
}

impl NeedQuantity {
    /// Every quantity.
    pub const ALL: [NeedQuantity; 4] = [
        NeedQuantity::CommitRate,
        NeedQuantity::RedoRate,
        NeedQuantity::Sessions,
        NeedQuantity::P99,
    ];

    /// The quantity in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            NeedQuantity::CommitRate => "commits per second",
            NeedQuantity::RedoRate => "redo per second",
            NeedQuantity::Sessions => "sessions",
            NeedQuantity::P99 => "99th percentile of log file sync",
        }
    }
}

/// Where a figure of the need comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedSource {
    /// The quantity.
    pub quantity: NeedQuantity,
    /// File, table and statistic of the evidence.
    pub place: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions that stored no basis called a single cut tested.
    #[test]
    fn no_word_of_a_proof_stands_alone() {
        for (durability, basis, words) in [
            (
                Durability::Tested,
                None,
                "tested (number of cuts not known)",
            ),
            (Durability::Tested, Some("20 cuts"), "tested (20 cuts)"),
            (
                Durability::Declared,
                None,
                "declared (by whom is not known)",
            ),
            (Durability::Volatile, None, "volatile"),
            (Durability::Unverified, None, "unverified"),
        ] {
            assert_eq!(durability.with_basis(basis), words);
        }
    }
}
