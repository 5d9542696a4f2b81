//! A password that shows itself nowhere.

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

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without the password, where it contains it.
    #[must_use]
    pub fn removed_from(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, "(a password)")
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_text() {
        let password = Password::new("hunter2".to_owned());
        assert_eq!(format!("{password:?}"), "(a password)");
        assert_eq!(
            password.removed_from("no hunter2 here"),
            "no (a password) here"
        );
        assert_eq!(Password::new(String::new()).removed_from("text"), "text");
    }
}
