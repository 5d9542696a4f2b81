//! Drafts of a run, which the store keeps while it is measured, within a part of the budget.

use super::Failure;
use crate::budget::Budget;
use crate::store::RunWriter;
use measure::run::Run;
use std::sync::Arc;

/// Drafts of the run, which may use a part of the budget: each row writes all rows before it again.
pub(super) struct Drafts {
    budget: Arc<Budget>,
    left: u64,
}

/// Drafts use at most this part of what is left when the rows begin, as a divisor.
const DRAFTS_DIVISOR: u64 = 64;

impl Drafts {
    /// Drafts within a part of what is left of `budget`.
    pub(super) fn new(budget: &Arc<Budget>) -> Drafts {
        Drafts {
            budget: Arc::clone(budget),
            left: budget.left() / DRAFTS_DIVISOR,
        }
    }

    /// Writes one where there is room: a run without a draft keeps its intervals all the same.
    pub(super) fn write(&mut self, store: &RunWriter, run: &Run) -> Result<(), Failure> {
        if self.left > 0 {
            let before = self.budget.used();
            store.draft(run)?;
            self.left = self.left.saturating_sub(self.budget.used() - before);
        }
        Ok(())
    }
}
