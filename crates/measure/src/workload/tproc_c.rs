//! TPROC-C as a workload: five transactions on the tables of an order entry, as HammerDB defines
//! it. What the transactions do is the driver's matter; here is only what a plan decides.

use super::{CommitMode, Workload};
use serde::{Deserialize, Serialize};

/// Name of the workload.
pub const TPROC_C: &str = "TPROC-C";

/// What every view of results of TPROC-C says.
pub const TPROC_C_NOTICE: &str = "TPROC-C is derived from the TPC-C benchmark and does not comply \
     with it: its results are not comparable with published TPC-C results.";

/// What a plan decides of TPROC-C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TprocC {
    /// Users key before and think after each transaction.
    pub think: bool,
}

impl Workload {
    /// TPROC-C. How much redo its transactions make is for the server to know.
    #[must_use]
    pub fn tproc_c(think: bool) -> Workload {
        Workload {
            name: TPROC_C.to_owned(),
            redo_bytes: 0,
            records: 1,
            commit: CommitMode::WAIT_IMMEDIATE,
            tproc_c: Some(TprocC { think }),
        }
    }

    /// Bytes of redo that a transaction appends, where the workload decides them.
    #[must_use]
    pub fn known_redo_bytes(&self) -> Option<u32> {
        self.tproc_c.is_none().then_some(self.redo_bytes)
    }
}
