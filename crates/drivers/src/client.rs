//! What the drivers of database servers share: a socket with a time limit, passwords, addresses.
//!
//! Invariants: what arrives is untrusted; no text contains a password.
//!
//! What it must not know: which servers there are, and what messages mean.

mod password;
mod socket;
mod url;

pub use password::Password;
pub use socket::{Socket, SocketError};
pub use url::{UrlParts, encoded};

use measure::run::DatabaseFacts;
use measure::words::sanitize;

/// Characters of a text from a server that are kept.
const TEXT_MAX: usize = 500;

/// Text from a server as messages and results show it: one harmless line of limited length.
#[must_use]
pub fn harmless(bytes: &[u8]) -> String {
    let text = sanitize::line(&String::from_utf8_lossy(bytes));
    text.chars().take(TEXT_MAX).collect()
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
}
