//! Addresses of MariaDB and MySQL servers: from text to a [`ServerAddress`], and to text without
//! the password.
//!
//! Invariants: no error quotes the text, because a password that is not encoded may end up in any
//! part of it; what is shown is percent-encoded, so that it is harmless and can be used again; the
//! name of a schema contains letters, digits and underscores only.

use super::error::MariadbError;
use crate::client::{Password, UrlParts, encoded};
use std::fmt;
use std::path::PathBuf;

const PORT: u16 = 3306;
/// What the names of redolab's schemas begin with.
const PREFIX: &str = "redolab_";
/// The database of an address that names none.
const DATABASE: &str = "run";
/// The longest name of a database; the server accepts names of 64 characters.
const DATABASE_MAX: usize = 56;
const SCHEMES: [&str; 2] = ["mariadb", "mysql"];

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPlace {
    /// A host name or an IP address, and the port.
    Network(String, u16),
    /// A Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for ServerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerPlace::Network(host, port) => {
                write!(f, "host {}, port {port}", host.escape_debug())
            }
            ServerPlace::Socket(path) => {
                let path = path.display().to_string();
                write!(f, "the socket {}", path.escape_debug())
            }
        }
    }
}

/// An address of a server and of redolab's schema on it. Its `Debug` text shows no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Where the server listens.
    pub place: ServerPlace,
    /// The user that connects.
    pub user: String,
    /// The password, if the address contains one.
    pub password: Option<Password>,
    scheme: &'static str,
    database: String,
}

impl ServerAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, without its text.
    pub fn parse(text: &str) -> Result<ServerAddress, MariadbError> {
        ServerAddress::read(text).map_err(MariadbError::Address)
    }

    /// The server at a socket, and a user without a password.
    #[must_use]
    pub fn of_socket(path: PathBuf, user: &str) -> ServerAddress {
        ServerAddress {
            place: ServerPlace::Socket(path),
            user: user.to_owned(),
            password: None,
            scheme: SCHEMES[0],
            database: DATABASE.to_owned(),
        }
    }

    fn read(text: &str) -> Result<ServerAddress, &'static str> {
        let (scheme, rest) = text
            .split_once("://")
            .and_then(|(scheme, rest)| Some((*SCHEMES.iter().find(|s| **s == scheme)?, rest)))
            .ok_or("it begins with another scheme")?;
        let mut parts = UrlParts::parse(rest)?;
        let mut socket = None;
        for (name, value) in std::mem::take(&mut parts.parameters) {
            match name.as_str() {
                "socket" => socket = value,
                "user" => parts.user = value,
                "password" => parts.password = value.map(Password::new),
                _ => return Err("a parameter is not one of socket, user and password"),
            }
        }
        let user = parts.user.ok_or("it names no user")?;
        if user.contains('\0') {
            return Err("it contains a zero byte");
        }
        let database = parts.path.unwrap_or_else(|| DATABASE.to_owned());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if database.len() > DATABASE_MAX || !database.bytes().all(is_plain) {
            return Err(
                "the database, from which redolab makes the name of its schema, has other \
                 characters than letters, digits and underscores, or more than 56",
            );
        }
        let place = match (socket, parts.host) {
            (Some(path), None) if path.starts_with('/') => ServerPlace::Socket(PathBuf::from(path)),
            (Some(_), None) => return Err("the socket is not a path from the root"),
            (Some(_), Some(_)) => return Err("it names both a host and a socket"),
            (None, Some(host)) if host.contains([',', '/']) => {
                return Err("it names more than one host");
            }
            (None, Some(host)) => ServerPlace::Network(host, port(parts.port.as_deref())?),
            (None, None) => return Err("it names neither a host nor a socket"),
        };
        Ok(ServerAddress {
            place,
            user,
            password: parts.password,
            scheme,
            database,
        })
    }

    /// Whether it is a Unix socket, or an address of this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.place {
            ServerPlace::Socket(_) => true,
            ServerPlace::Network(host, _) => {
                let address = host.parse::<std::net::IpAddr>();
                host == "localhost" || address.is_ok_and(|address| address.is_loopback())
            }
        }
    }

    /// Name of the schema that redolab makes: the database, with `redolab_` before it.
    #[must_use]
    pub fn schema(&self) -> String {
        match self.database.starts_with(PREFIX) {
            true => self.database.clone(),
            false => format!("{PREFIX}{}", self.database),
        }
    }

    /// The address as results show it, without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        let (scheme, user, database) = (self.scheme, encoded(&self.user), &self.database);
        match &self.place {
            ServerPlace::Network(host, port) => {
                let host = match host.contains(':') {
                    true => format!("[{}]", encoded(host).replace("%3A", ":")),
                    false => encoded(host),
                };
                format!("{scheme}://{user}@{host}:{port}/{database}")
            }
            ServerPlace::Socket(path) => {
                let path = encoded(&path.to_string_lossy()).replace("%2F", "/");
                format!("{scheme}://{user}@/{database}?socket={path}")
            }
        }
    }
}

fn port(text: Option<&str>) -> Result<u16, &'static str> {
    let Some(text) = text else {
        return Ok(PORT);
    };
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or("the port is not a number from 1 to 65535")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_shown_without_its_password() {
        for (text, shown, schema) in [
            (
                "mariadb://ann@db.example:3307/shop",
                "mariadb://ann@db.example:3307/shop",
                "redolab_shop",
            ),
            (
                "mysql://ann:secret@h",
                "mysql://ann@h:3306/run",
                "redolab_run",
            ),
            (
                "mariadb://ann:s%40%2Fcret@[::1]:6000/redolab_a",
                "mariadb://ann@[::1]:6000/redolab_a",
                "redolab_a",
            ),
            (
                "mariadb://ann:s@cret@/a?socket=/run/a%20b.sock",
                "mariadb://ann@/a?socket=/run/a%20b.sock",
                "redolab_a",
            ),
            (
                "mariadb:///?socket=/s&user=%41nn&password=secret",
                "mariadb://Ann@/run?socket=/s",
                "redolab_run",
            ),
        ] {
            let address = ServerAddress::parse(text).expect(text);
            assert_eq!(address.shown(), shown, "{text}");
            assert_eq!(address.schema(), schema, "{text}");
            let again = ServerAddress::parse(shown).expect(shown);
            assert_eq!(again.shown(), shown, "{text}");
            assert!(!format!("{address:?}").contains("cret"), "{text}");
        }
        let address = ServerAddress::parse("mysql://ann:s%40%2F%25cret@h/a").expect("an address");
        let password = address.password.as_ref().map(Password::bytes);
        assert_eq!(password, Some(&b"s@/%cret"[..]));
    }

    #[test]
    fn what_is_wrong_is_reported_without_the_text() {
        for text in [
            "postgres://ann:secret@h/a",
            "ann:secret@h/a",
            "mariadb://ann:secret@/a",
            "mariadb://:secret@h/a",
            "mariadb://ann:secret@h:port/a",
            "mariadb://ann:secret@h:0/a",
            "mariadb://ann:secret@h,i/a",
            "mariadb://ann:secret@[::1/a",
            "mariadb://ann:12/secret@h/a",
            "mariadb://ann:12?secret@h/a",
            "mariadb://ann:sec%zzret@h/a",
            "mariadb://ann:%ff@h/a",
            "mariadb://ann:secret@h/a`b",
            "mariadb://ann:secret@h/%27secret",
            "mariadb://ann:secret@h/a?secret=secret",
            "mariadb://ann:secret@h/a?secret",
            "mariadb://ann:secret@h/a?socket=/secret",
            "mariadb://ann:secret@/a?socket=secret",
            "mariadb://ann%00:secret@h/a",
            &format!("mariadb://ann:secret@h/{}", "a".repeat(57)),
        ] {
            let error = ServerAddress::parse(text).expect_err(text);
            let error = format!("{error} {error:?}");
            assert!(!error.contains("secret"), "{text}: {error}");
            assert!(error.contains("mariadb://USER@HOST"), "{text}: {error}");
        }
    }
}
