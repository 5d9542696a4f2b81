//! The parts of an address such as `scheme://user:password@host:port/path?name=value`.
//!
//! Invariant: no error quotes the text, because a password that is not encoded may end up in any
//! part of it.

use super::Password;
use std::fmt::Write;

/// The decoded parts of an address; what is empty is `None`.
#[derive(Clone, Debug, Default)]
pub struct UrlParts {
    /// The user that connects.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Password>,
    /// A host name or an IP address, without brackets.
    pub host: Option<String>,
    /// Its port, as text.
    pub port: Option<String>,
    /// What follows the first slash.
    pub path: Option<String>,
    /// Names and decoded values after the question mark.
    pub parameters: Vec<(String, Option<String>)>,
}

impl UrlParts {
    /// Reads what follows `scheme://`.
    ///
    /// # Errors
    /// What is wrong with it, without its text.
    pub fn parse(text: &str) -> Result<UrlParts, &'static str> {
        let (rest, query) = text.split_once('?').unwrap_or((text, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A path among the parameters may contain slashes.
        if path.contains(['@', '/', '#']) || query.contains(['@', '#', '?']) {
            return Err("a character of the password or the database has to be percent-encoded");
        }
        let mut parts = UrlParts {
            path: filled(path)?,
            ..UrlParts::default()
        };
        parts.read_authority(authority)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a parameter has no value")?;
            parts.parameters.push((name.to_owned(), filled(value)?));
        }
        Ok(parts)
    }

    fn read_authority(&mut self, authority: &str) -> Result<(), &'static str> {
        let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (who, None),
        };
        self.user = filled(user)?;
        let password = password.map(filled).transpose()?.flatten();
        self.password = password.map(Password::new);
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or("the IPv6 address has no end")?;
                let port = port.strip_prefix(':').or(port.is_empty().then_some(""));
                (host, port.ok_or("the IPv6 address has no end")?)
            }
            None => place.split_once(':').unwrap_or((place, "")),
        };
        self.host = filled(host)?;
        self.port = filled(port)?;
        Ok(())
    }
}

/// The decoded text; `None` where it is empty.
fn filled(text: &str) -> Result<Option<String>, &'static str> {
    let decoded = decoded(text).ok_or(
        "a percent sign is not followed by two hexadecimal digits, or the text is not UTF-8",
    )?;
    Ok(Some(decoded).filter(|text| !text.is_empty()))
}

fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            out.push(u8::try_from(value).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// The text with everything but letters, digits and `.-_~` percent-encoded.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b".-_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String accepts all text");
        }
    }
    out
}
