//! What the drivers of database servers share: a socket with a time limit, passwords, addresses.
//!
//! Invariants: what arrives is untrusted; no text contains a password.
//!
//! What it must not know: which servers there are, and what messages mean.

mod password;
mod socket;
mod url;

pub use password::{Password, remember};
pub use socket::{CONNECT_MAX, LocalPeer, Socket, SocketError};
pub use url::{UrlParts, encoded};

use measure::run::DatabaseFacts;
use measure::words::sanitize;

/// Characters of a text from a server that are kept.
const TEXT_MAX: usize = 500;

/// A value from a server as results show it: one harmless line of limited length, without the
/// secrets that were sent.
#[must_use]
pub fn harmless(bytes: &[u8]) -> String {
    shown(bytes, password::without_secret_words)
}

/// A message of a server, which may quote what it was sent: as [`harmless`], and a secret is found
/// in the middle of a word, too.
#[must_use]
pub fn harmless_message(bytes: &[u8]) -> String {
    shown(bytes, password::without_secrets)
}

/// Secrets are removed from what would be shown: what is not printed may divide them before.
fn shown(bytes: &[u8], remove: fn(&str) -> String) -> String {
    let text = sanitize::line(&String::from_utf8_lossy(bytes));
    remove(&text).chars().take(TEXT_MAX).collect()
}

/// The first setting that differs between two readings, as a message; `None` where none does.
#[must_use]
pub fn changed_setting(first: &DatabaseFacts, now: &DatabaseFacts) -> Option<String> {
    let names = first.settings.keys().chain(now.settings.keys());
    names.into_iter().find_map(|name| {
        let (before, after) = (first.settings.get(name), now.settings.get(name));
        let text = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
        (before != after).then(|| {
            format!(
                "the setting {name} changed from {} to {} while the target was in use: run again",
                text(before),
                text(after)
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_writes_is_one_harmless_line() {
        assert_eq!(
            harmless(b"no\x1b]0;title\x07 entry\nfor\xff"),
            "no entry for\u{fffd}"
        );
        assert_eq!(harmless(&[b'x'; 10_000]).len(), TEXT_MAX);
    }

    #[test]
    fn a_secret_that_a_server_sends_back_is_not_shown() {
        let _known = Password::new("open sesame 77".to_owned());
        for echoed in ["no open sesame 77!", "no open\x01 sesa\x1b[0mme 77!"] {
            assert_eq!(harmless_message(echoed.as_bytes()), "no (a password)!");
        }
        // Not even a part of it, where the text is cut.
        let long = format!("{}open sesame 77", "x".repeat(TEXT_MAX - 5));
        assert!(!harmless_message(long.as_bytes()).contains("open"));
        assert_eq!(harmless(b"16.3 open sesame 77"), "16.3 (a password)");
    }
}
