//! A password that shows itself nowhere, and texts of servers that were given one.
//!
//! Invariant: a password that this process knows is in no text of a server that is shown.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Secrets that a server may know. A process uses few.
static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// So many of them are kept.
const KNOWN_MAX: usize = 256;
/// A shorter secret cannot be hidden: a message without all of its letters shows what it is.
const MESSAGE_MIN: usize = 4;
/// A shorter secret is removed from messages only: as a word of a value it would be too common.
const WORD_MIN: usize = 6;
/// What is in the place of a secret.
const REMOVED: &str = "(a password)";

/// Remembers a secret that a server is given or knows, and may send back.
pub fn remember(secret: &[u8]) {
    let Ok(secret) = std::str::from_utf8(secret) else {
        return;
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = secret.len() < MESSAGE_MIN || known.iter().any(|one| one == secret);
    if !is_known && known.len() < KNOWN_MAX {
        known.push(secret.to_owned());
        // One secret may contain another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }
}

/// A message of a server without any secret that is known.
pub(super) fn without_secrets(text: &str) -> String {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let remove = |text: String, secret: &String| text.replace(secret, REMOVED);
    known.iter().fold(text.to_owned(), remove)
}

/// A value of a server without any secret that is a whole word of it: a part of a word is a
/// coincidence, and values are compared and shown.
pub(super) fn without_secret_words(text: &str) -> String {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let long = known.iter().filter(|secret| secret.len() >= WORD_MIN);
    long.fold(text.to_owned(), |text, secret| {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (at, found) in text.match_indices(secret.as_str()) {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            if !is_part(before) && !is_part(after) {
                out.push_str(&text[from..at]);
                out.push_str(REMOVED);
                from = at + found.len();
            }
        }
        out.push_str(&text[from..]);
        out
    })
}

/// A password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Keeps a password. From now on it is in no text of a server.
    #[must_use]
    pub fn new(text: String) -> Password {
        remember(text.as_bytes());
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
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REMOVED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_text() {
        let text = "a correct-horse-3b c/correct-horse-3/d";
        assert_eq!(without_secrets(text), text, "nobody knows it yet");
        let password = Password::new("correct-horse-3".to_owned());
        assert_eq!(format!("{password:?}"), REMOVED);
        assert_eq!(
            without_secrets(text),
            "a (a password)b c/(a password)/d",
            "wherever it is"
        );
        assert_eq!(
            without_secret_words(text),
            "a correct-horse-3b c/(a password)/d"
        );
        // Nothing, and what is no text.
        remember(b"");
        remember(b"\xff\xfe");
        assert_eq!(without_secrets("text"), "text");
    }
}
