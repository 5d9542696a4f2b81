//! What goes wrong with a PostgreSQL server, with what to do about it.
//!
//! Invariants: text from the server is untrusted and is made harmless here, and no message contains
//! a password.

use crate::client::{SocketError, harmless_message};
use measure::driver::DriverError;
use std::fmt;
use std::io;
use thiserror::Error;

/// What the server reports as an error or a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMessage {
    /// Its severity, such as `FATAL`.
    pub severity: String,
    /// Its SQLSTATE, five characters.
    pub code: String,
    /// Its text.
    pub text: String,
}

impl ServerMessage {
    /// Reads the fields of an ErrorResponse or a NoticeResponse; a field that is missing is empty.
    #[must_use]
    pub fn of(body: &[u8]) -> ServerMessage {
        let mut message = ServerMessage::default();
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, text)) = field.split_first() else {
                break;
            };
            match kind {
                // `V` is never translated, and follows `S`.
                b'S' | b'V' => message.severity = harmless_message(text),
                b'C' => message.code = harmless_message(text),
                b'M' => message.text = harmless_message(text),
                _ => {}
            }
        }
        message
    }

    /// Whether the server refuses who connects (SQLSTATE class 28).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.code.starts_with("28")
    }
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.code, self.text)
    }
}

/// An error of the PostgreSQL driver.
#[derive(Debug, Error)]
pub enum PostgresError {
    /// The address cannot be used.
    #[error(
        "the address is not usable: {0}; write postgres://USER@HOST:PORT/DATABASE, where other \
         characters than letters, digits and .-_~ are percent-encoded"
    )]
    Address(&'static str),
    /// No connection.
    #[error(
        "no PostgreSQL server is reachable at {at}: {source}; check that it runs, and that host \
         and port are right"
    )]
    Unreachable {
        /// Host and port, or the socket.
        at: String,
        /// What the system reports.
        source: io::Error,
    },
    /// The address or the environment asks for TLS.
    #[error(
        "TLS is not supported yet; use a Unix socket, or sslmode=disable over a network that is \
         trusted"
    )]
    Tls,
    /// The server refuses who connects.
    #[error(
        "the server refuses the connection: {message}; check user, password and pg_hba.conf{note} \
         (a server that accepts TLS only cannot be used: redolab does not support TLS yet)"
    )]
    Refused {
        /// What it reports.
        message: ServerMessage,
        /// What is known of the password, or nothing.
        note: String,
    },
    /// The server wants a password, and there is none.
    #[error(
        "the server asks for a password, and there is none: set PGPASSWORD, or write it into \
         ~/.pgpass{0}"
    )]
    NoPassword(String),
    /// The server asks for the password in clear over a network.
    #[error(
        "the server asks for the password in clear text, which redolab sends only through a Unix \
         socket or the loopback interface: use scram-sha-256 in pg_hba.conf"
    )]
    ClearText,
    /// The server asks for another authentication.
    #[error(
        "the server asks for the authentication method {0}, which redolab does not support: use \
         scram-sha-256, md5, password or trust in pg_hba.conf"
    )]
    Method(&'static str),
    /// The server did not prove that it knows the password.
    #[error("the exchange of SCRAM-SHA-256 failed: {0}; is this the right server?")]
    Proof(String),
    /// What was asked for cannot be done on this server; the text contains what to do.
    #[error("{0}")]
    Unusable(String),
    /// The server reports an error.
    #[error("the server reports {0}")]
    Server(ServerMessage),
    /// The server reports a warning with a commit, so the commit may not be what was asked for.
    #[error("the server reports {0}; the commit may be less durable than was asked for")]
    Warned(ServerMessage),
    /// It is not the protocol of PostgreSQL that the other side uses.
    #[error("not the protocol of PostgreSQL: {0}; is this a PostgreSQL server's port?")]
    Protocol(&'static str),
    /// The connection failed.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

impl PostgresError {
    /// The same error while a commit was in flight: whether it is durable is not known.
    #[must_use]
    pub fn of_commit(self) -> PostgresError {
        match self {
            PostgresError::Socket(error) => PostgresError::Socket(error.of_commit()),
            other => other,
        }
    }
}

impl From<io::Error> for PostgresError {
    fn from(error: io::Error) -> PostgresError {
        SocketError::Io(error).into()
    }
}

impl From<PostgresError> for DriverError {
    fn from(error: PostgresError) -> DriverError {
        match error {
            PostgresError::Address(_)
            | PostgresError::Tls
            | PostgresError::Refused { .. }
            | PostgresError::NoPassword(_)
            | PostgresError::ClearText
            | PostgresError::Method(_)
            | PostgresError::Unusable(_) => DriverError::unusable(error),
            other => DriverError::failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_writes_is_one_harmless_line() {
        let body = b"SFEHLER\0VFATAL\0C28P01\0Mno\x1b]0;title\x07 entry\nfor\xff\0\0rest";
        let message = ServerMessage::of(body);
        assert_eq!(message.to_string(), "FATAL 28P01: no entry for\u{fffd}");
        assert!(message.is_refusal());
        assert_eq!(ServerMessage::of(b""), ServerMessage::default());
        let _known = crate::client::Password::new("swordfish 9".to_owned());
        let echoed = ServerMessage::of(b"VFATAL\0C28P01\0Myou sent xswordfish 9x\0");
        assert_eq!(echoed.to_string(), "FATAL 28P01: you sent x(a password)x");
    }
}
