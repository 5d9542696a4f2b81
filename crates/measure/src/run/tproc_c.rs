//! The figures of a row of TPROC-C.
//!
//! Invariants: as of [`crate::run`]. NOPM and TPM have HammerDB's definitions, from readings of the
//! server's tables and counters before and after the measured time.

use super::figures::WaitStats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a row of TPROC-C came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TprocCFigures {
    /// New orders per minute: growth of the sum of `d_next_o_id`.
    pub nopm: Option<f64>,
    /// Commits and rollbacks of the server per minute.
    pub tpm: Option<f64>,
    /// The rest, in detail.
    #[serde(rename = "tproc_c")]
    pub detail: Option<TprocCDetail>,
}

/// What NOPM and TPM are computed from, and what else was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TprocCDetail {
    /// Warehouses of the schema.
    pub warehouses: u32,
    /// Users keyed and thought.
    pub think: bool,
    /// Nanoseconds between the two readings.
    pub counted_ns: u64,
    /// Growth of the sum of `d_next_o_id` between them; `None` where it could not be read.
    pub new_orders: Option<u64>,
    /// Growth of the server's commits and rollbacks between them; `None` where it does not report
    /// them.
    pub transactions: Option<u64>,
    /// New orders that were rolled back as TPROC-C demands; they are among the row's commits.
    pub rolled_back: u64,
    /// Transactions that were run again after a deadlock or a serialization failure.
    pub retries: u64,
    /// Times of transactions, by their kind.
    pub latencies: BTreeMap<String, WaitStats>,
    /// The consistency conditions, checked after the row.
    pub conditions: Vec<ConsistencyCondition>,
}

/// A condition that must hold between tables, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsistencyCondition {
    /// The condition, as an equation.
    pub name: String,
    /// Warehouses or districts that were checked.
    pub checked: u64,
    /// Those that violate it.
    pub violated: u64,
    /// The first of these, with its figures.
    pub first_violation: Option<String>,
}

impl ConsistencyCondition {
    /// Whether anything was checked.
    #[must_use]
    pub const fn is_checked(&self) -> bool {
        self.checked > 0
    }

    /// Whether it was checked and nothing violates it.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.is_checked() && self.violated == 0
    }
}
