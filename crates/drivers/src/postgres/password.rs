//! A password, which is shown nowhere.
//!
//! Invariant: only [`Password::bytes`] gives it.

use std::fmt;

/// A password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Keeps a password.
    #[must_use]
    pub fn new(text: String) -> Password {
        Password(text)
    }

    /// The password itself, for the server alone.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password)")
    }
}
