//! What goes wrong with a MariaDB or MySQL server, with what to do about it.
//!
//! Invariants: text from the server is untrusted and is made harmless here, and no message contains
//! a password.

use super::fields::Fields;
use crate::client::{SocketError, harmless_message};
use measure::driver::DriverError;
use std::fmt;
use std::io;
use thiserror::Error;

/// Numbers of errors that mean a missing privilege: for a schema, a table, an operation.
const PRIVILEGE: [u16; 3] = [1044, 1142, 1227];
/// Numbers of errors that mean a refused connection, beside SQLSTATE class 28: the host is
/// blocked, or not allowed to connect, or has to use TLS.
const REFUSAL: [u16; 3] = [1129, 1130, 3159];

/// What the server reports as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariadbMessage {
    /// Its number.
    pub number: u16,
    /// Its SQLSTATE, five characters; empty before the server knows the protocol's version.
    pub state: String,
    /// Its text.
    pub text: String,
}

impl MariadbMessage {
    /// Reads an ERR packet, its first byte included; what is missing is empty.
    #[must_use]
    pub fn of(body: &[u8]) -> MariadbMessage {
        let mut fields = Fields::of(body);
        let number = fields.skip(1).and_then(|()| fields.u16());
        let rest = fields.rest();
        let (state, text) = match rest.split_first() {
            Some((b'#', after)) => after.split_at_checked(5).unwrap_or((after, &[])),
            _ => (&[][..], rest),
        };
        MariadbMessage {
            number: number.unwrap_or_default(),
            state: harmless_message(state),
            text: harmless_message(text),
        }
    }

    /// Whether the server refuses who connects.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.state.starts_with("28") || REFUSAL.contains(&self.number)
    }

    /// Whether a privilege is missing.
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        PRIVILEGE.contains(&self.number)
    }
}

impl fmt::Display for MariadbMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.as_str() {
            "" => write!(f, "error {}: {}", self.number, self.text),
            state => write!(f, "error {} ({state}): {}", self.number, self.text),
        }
    }
}

/// An error of the driver of MariaDB and MySQL.
#[derive(Debug, Error)]
pub enum MariadbError {
    /// The address cannot be used.
    #[error(
        "the address is not usable: {0}; write mariadb://USER@HOST:PORT/DATABASE, or \
         mariadb://USER@/DATABASE?socket=/PATH, where other characters than letters, digits and \
         .-_~ are percent-encoded"
    )]
    Address(&'static str),
    /// No connection.
    #[error(
        "no MariaDB or MySQL server is reachable at {at}: {source}; check that it runs, and that \
         host and port, or the socket, are right"
    )]
    Unreachable {
        /// Host and port, or the socket.
        at: String,
        /// What the system reports.
        source: io::Error,
    },
    /// The server refuses who connects.
    #[error(
        "the server refuses the connection: {message}; check user, host and password (the address \
         or MYSQL_PWD{note}); redolab does not support TLS yet"
    )]
    Refused {
        /// What it reports.
        message: MariadbMessage,
        /// What is known of the password, or nothing.
        note: &'static str,
    },
    /// The server asks for another authentication.
    #[error(
        "the server asks for the authentication plugin `{0}`, which redolab does not support: use \
         a user with mysql_native_password, caching_sha2_password or unix_socket"
    )]
    Method(String),
    /// `caching_sha2_password` needs the password in clear, once.
    #[error(
        "the server's plugin caching_sha2_password asks for the password itself, because it does \
         not have it in its cache, and redolab sends it through a Unix socket only: use \
         ?socket=/PATH, or log in once as this user with another client"
    )]
    FullAuthentication,
    /// A privilege is missing.
    #[error(
        "the server reports {message}; redolab works in a schema of its own: GRANT CREATE, DROP, \
         INSERT, SELECT ON `{schema}`.* to the user, or use another one"
    )]
    Privilege {
        /// What it reports.
        message: MariadbMessage,
        /// The schema.
        schema: String,
    },
    /// What was asked for cannot be done on this server; the text contains what to do.
    #[error("{0}")]
    Unusable(String),
    /// The server reports an error.
    #[error("the server reports {0}")]
    Server(MariadbMessage),
    /// A commit is not what was asked for.
    #[error("{0}; the commit may not be what was asked for")]
    Commit(String),
    /// It is not the protocol of MariaDB that the other side uses.
    #[error("not the protocol of MariaDB and MySQL: {0}; is this the port of such a server?")]
    Protocol(&'static str),
    /// The connection failed.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

impl MariadbError {
    /// The same error while a commit was in flight: whether it is durable is not known.
    #[must_use]
    pub fn of_commit(self) -> MariadbError {
        match self {
            MariadbError::Socket(error) => MariadbError::Socket(error.of_commit()),
            other => other,
        }
    }

    /// The same error of a statement in a schema: a missing privilege contains what to grant.
    #[must_use]
    pub fn in_schema(self, schema: &str) -> MariadbError {
        match self {
            MariadbError::Server(message) if message.is_privilege() => MariadbError::Privilege {
                message,
                schema: schema.to_owned(),
            },
            other => other,
        }
    }

    /// Number of the error that the server reports.
    #[must_use]
    pub fn number(&self) -> Option<u16> {
        match self {
            MariadbError::Server(message) => Some(message.number),
            _ => None,
        }
    }
}

impl From<MariadbError> for DriverError {
    fn from(error: MariadbError) -> DriverError {
        match error {
            MariadbError::Address(_)
            | MariadbError::Refused { .. }
            | MariadbError::Method(_)
            | MariadbError::FullAuthentication
            | MariadbError::Privilege { .. }
            | MariadbError::Unusable(_) => DriverError::unusable(error),
            other => DriverError::failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Password;

    #[test]
    fn what_the_server_reports_is_one_harmless_line() {
        let message = MariadbMessage::of(b"\xff\x15\x04#28000Access\x1b]0;x\x07 denied\nfor\xff");
        assert_eq!(
            message.to_string(),
            "error 1045 (28000): Access denied for\u{fffd}"
        );
        assert!(message.is_refusal() && !message.is_privilege());
        let early = MariadbMessage::of(b"\xff\x10\x04Too many connections");
        assert_eq!(early.to_string(), "error 1040: Too many connections");
        for short in [&b"\xff"[..], b"\xff\x01", b"\xff\x01\x02#28", b""] {
            assert!(!MariadbMessage::of(short).to_string().is_empty());
        }
        let _known = Password::new("swordfish 8".to_owned());
        let echoed = MariadbMessage::of(b"\xff\x15\x04#28000no xswordfish 8");
        assert!(!echoed.to_string().contains("fish 8"), "{echoed}");
    }

    #[test]
    fn a_missing_privilege_names_the_schema() {
        let message = MariadbMessage::of(b"\xff\x14\x04#42000Access denied");
        let error = MariadbError::Server(message).in_schema("redolab_a");
        assert!(error.to_string().contains("ON `redolab_a`.*"), "{error}");
        assert!(DriverError::from(error).is_unusable());
    }
}
