//! Whether to believe a run: what speaks against its figures, as part of the result.

use serde::{Deserialize, Serialize};

/// Whether to believe a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// No problem makes the figures wrong.
    pub valid: bool,
    /// What speaks against them.
    pub problems: Vec<Problem>,
}

/// Something that speaks against a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable identifier, such as `io_error`.
    pub id: String,
    /// The figures are wrong, not merely doubtful.
    pub invalidates: bool,
    /// What happened.
    pub detail: String,
}

impl Validity {
    /// Valid so far.
    #[must_use]
    pub fn sound() -> Validity {
        Validity {
            valid: true,
            problems: Vec::new(),
        }
    }

    /// Adds a problem.
    pub fn add(&mut self, id: &str, invalidates: bool, detail: impl Into<String>) {
        if invalidates {
            self.valid = false;
        }
        self.problems.push(Problem {
            id: id.to_owned(),
            invalidates,
            detail: detail.into(),
        });
    }
}
