//! Addresses of PostgreSQL servers: from text to an [`Address`], and to text without the password.
//!
//! Invariants: no error quotes the text, because a password that is not encoded may end up in any
//! part of it; what is shown is percent-encoded, so that it is harmless and can be used again.

use super::error::PostgresError;
use crate::client::{Password, UrlParts, encoded};
use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A host name or an IP address.
    Network(String),
    /// A directory that contains the Unix socket.
    Directory(PathBuf),
}

/// An address of a database. Its `Debug` text shows no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where the server listens.
    pub host: Host,
    /// Its port, also of a Unix socket.
    pub port: u16,
    /// The user that connects.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, if the address contains one.
    pub password: Option<Password>,
    /// `sslmode`, if the address contains one.
    pub ssl_mode: Option<String>,
    /// Servers with a logical replication slot are accepted.
    pub allows_logical_slots: bool,
}

/// The parameter that accepts servers with a logical replication slot.
pub const ALLOW_LOGICAL_SLOTS: &str = "allow_logical_slots";
const PORT: u16 = 5432;

/// Parts of an address that authority, path and parameters may all contain.
#[derive(Default)]
struct Parts {
    host: Option<String>,
    port: Option<String>,
    user: Option<String>,
    database: Option<String>,
    password: Option<Password>,
    ssl_mode: Option<String>,
    allows_logical_slots: bool,
}

impl Address {
    /// Reads an address; `user` is taken where it names none.
    ///
    /// # Errors
    /// What is wrong with it, without its text.
    pub fn parse(text: &str, user: Option<&str>) -> Result<Address, PostgresError> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or(PostgresError::Address("it begins with another scheme"))?;
        let found = UrlParts::parse(rest).map_err(PostgresError::Address)?;
        let mut parts = Parts {
            host: found.host,
            port: found.port,
            user: found.user,
            database: found.path,
            password: found.password,
            ..Parts::default()
        };
        for (name, value) in found.parameters {
            read_parameter(&name, value, &mut parts)?;
        }
        parts.into_address(user)
    }

    /// The address as results show it, without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        let user = encoded(&self.user);
        let database = encoded(&self.database);
        let mut shown = match &self.host {
            Host::Network(host) if host.contains(':') => {
                format!(
                    "postgres://{user}@[{}]:{}/{database}",
                    encoded_host(host),
                    self.port
                )
            }
            Host::Network(host) => {
                format!(
                    "postgres://{user}@{}:{}/{database}",
                    encoded(host),
                    self.port
                )
            }
            Host::Directory(path) => {
                let path = encoded(&path.to_string_lossy()).replace("%2F", "/");
                format!("postgres://{user}@:{}/{database}?host={path}", self.port)
            }
        };
        if self.allows_logical_slots {
            shown.push(if shown.contains('?') { '&' } else { '?' });
            shown.push_str(ALLOW_LOGICAL_SLOTS);
            shown.push_str("=1");
        }
        shown
    }
}

impl Parts {
    fn into_address(self, user: Option<&str>) -> Result<Address, PostgresError> {
        let host = self
            .host
            .ok_or(PostgresError::Address("it names no host"))?;
        let host = match host.strip_prefix('/') {
            Some(_) => Host::Directory(PathBuf::from(host)),
            None if host.contains([',', '/']) => {
                return Err(PostgresError::Address("it names more than one host"));
            }
            None => Host::Network(host),
        };
        let port = match self.port {
            None => PORT,
            Some(port) => {
                port.parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or(PostgresError::Address(
                        "the port is not a number from 1 to 65535",
                    ))?
            }
        };
        let user = self
            .user
            .or_else(|| user.map(str::to_owned))
            .ok_or(PostgresError::Address("it names no user"))?;
        let database = self.database.unwrap_or_else(|| user.clone());
        if [&user, &database].iter().any(|text| text.contains('\0')) {
            return Err(PostgresError::Address("it contains a zero byte"));
        }
        Ok(Address {
            host,
            port,
            user,
            database,
            password: self.password,
            ssl_mode: self.ssl_mode,
            allows_logical_slots: self.allows_logical_slots,
        })
    }
}

fn read_parameter(
    name: &str,
    value: Option<String>,
    parts: &mut Parts,
) -> Result<(), PostgresError> {
    match name {
        "host" => parts.host = value,
        "port" => parts.port = value,
        "user" => parts.user = value,
        "dbname" => parts.database = value,
        "password" => parts.password = value.map(Password::new),
        "sslmode" => parts.ssl_mode = value,
        ALLOW_LOGICAL_SLOTS => match value.as_deref() {
            Some("1") => parts.allows_logical_slots = true,
            Some("0") => parts.allows_logical_slots = false,
            _ => {
                return Err(PostgresError::Address(
                    "allow_logical_slots is neither 0 nor 1",
                ));
            }
        },
        _ => {
            return Err(PostgresError::Address(
                "a parameter is not one of host, port, user, dbname, password, sslmode and \
                 allow_logical_slots",
            ));
        }
    }
    Ok(())
}

fn encoded_host(host: &str) -> String {
    encoded(host).replace("%3A", ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        Address::parse(text, None).expect("an address")
    }

    #[test]
    fn every_form_is_read_and_shown_without_its_password() {
        for (text, shown) in [
            (
                "postgres://ann@db.example:5433/shop",
                "postgres://ann@db.example:5433/shop",
            ),
            (
                "postgresql://ann:secret@db.example",
                "postgres://ann@db.example:5432/ann",
            ),
            (
                "postgres://ann:s%40%2Fcret@[::1]:6000/a",
                "postgres://ann@[::1]:6000/a",
            ),
            ("postgres://ann:s@cret@h/a", "postgres://ann@h:5432/a"),
            (
                "postgres://ann@/a?host=/run/pg",
                "postgres://ann@:5432/a?host=/run/pg",
            ),
            (
                "postgres://ann@%2Frun%2Fpg:7/a",
                "postgres://ann@:7/a?host=/run/pg",
            ),
            (
                "postgres:///?host=h&user=%41nn&password=secret&dbname=a%20b&port=9&sslmode=prefer",
                "postgres://Ann@h:9/a%20b",
            ),
            (
                "postgres://a@h/b?allow_logical_slots=1",
                "postgres://a@h:5432/b?allow_logical_slots=1",
            ),
            (
                "postgres://a@/b?host=/run&allow_logical_slots=1",
                "postgres://a@:5432/b?host=/run&allow_logical_slots=1",
            ),
        ] {
            let address = read(text);
            assert_eq!(address.shown(), shown, "{text}");
            let again = read(shown);
            assert_eq!(again.shown(), shown, "{text}");
            assert!(!format!("{address:?}").contains("cret"), "{text}");
        }
        let address = read("postgres://ann:s%40%2F%25cret@h/a");
        assert_eq!(
            address.password.as_ref().map(Password::bytes),
            Some(&b"s@/%cret"[..])
        );
        let user = Address::parse("postgres://h", Some("bob")).expect("an address");
        assert_eq!(user.shown(), "postgres://bob@h:5432/bob");
    }

    #[test]
    fn what_is_wrong_is_reported_without_the_text() {
        for text in [
            "mysql://ann:secret@h/a",
            "postgres://ann:secret@/a",
            "postgres://:secret@h/a",
            "postgres://ann:secret@h:port/a",
            "postgres://ann:secret@h:0/a",
            "postgres://ann:secret@h:65536/a",
            "postgres://ann:secret@h,i/a",
            "postgres://ann:secret@[::1/a",
            "postgres://ann:secret@[::1]x/a",
            "postgres://ann:12/secret@h/a",
            "postgres://ann:12?secret@h/a",
            "postgres://ann:12#secret@h/a?port=x",
            "postgres://ann:sec%zzret@h/a",
            "postgres://ann:sec%f",
            "postgres://ann:%ff@h/a",
            "postgres://ann:secret@h/a?secret=secret",
            "postgres://ann:secret@h/a?secret",
            "postgres://ann:secret@h/a?allow_logical_slots=secret",
            "postgres://ann%00:secret@h/a",
        ] {
            let error = Address::parse(text, None).expect_err(text);
            let error = format!("{error} {error:?}");
            assert!(!error.contains("secret"), "{text}: {error}");
            assert!(error.contains("postgres://USER@HOST"), "{text}: {error}");
        }
    }
}
