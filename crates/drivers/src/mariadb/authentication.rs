//! The server's greeting, and the answers of the authentication plugins.
//!
//! Source: the pages "Connection" of MariaDB's protocol documentation and "Authentication Methods"
//! of MySQL's. Invariant: the password itself leaves through a Unix socket only.

use super::fields::Fields;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Bytes of a server's challenge.
const CHALLENGE: usize = 20;
/// The plugins by which this driver can authenticate.
pub const NATIVE: &str = "mysql_native_password";
/// The default of MySQL 8.
pub const CACHING: &str = "caching_sha2_password";

/// What the client can do, and has to: 4.1 protocol, long passwords and flags, transactions,
/// challenges of 20 bytes, several results of a call, plugins, attributes of the connection.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x8_0000 | ATTRIBUTES;
/// Attributes of the connection, such as the name of the program.
pub const ATTRIBUTES: u32 = 0x10_0000;
/// Those without which a server is too old: 4.1 protocol, challenges of 20 bytes, plugins.
const NEEDED: u32 = 0x200 | 0x8000 | 0x8_0000;
/// The version of the greeting.
const GREETING: u8 = 10;
/// What MariaDB writes before its version, for clients that know single digits only.
const OLD_PREFIX: &[u8] = b"5.5.5-";

/// What a server begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, as it writes it.
    pub version: Vec<u8>,
    /// What it and this client can do.
    pub capabilities: u32,
    /// The bytes that a password is proved with.
    pub challenge: Vec<u8>,
    /// The plugin that it suggests.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Reads a greeting; `None` where it is malformed, or that of a server before MySQL 4.1.
    #[must_use]
    pub fn of(body: &[u8]) -> Option<Greeting> {
        let mut fields = Fields::of(body);
        if fields.u8()? != GREETING {
            return None;
        }
        let version = fields.text()?;
        fields.skip(4)?;
        let mut challenge = fields.bytes(8)?.to_vec();
        fields.skip(1)?;
        let low = fields.u16()?;
        // The character set and the status.
        fields.skip(3)?;
        let capabilities = u32::from(low) | u32::from(fields.u16()?) << 16;
        if capabilities & NEEDED != NEEDED {
            return None;
        }
        let length = usize::from(fields.u8()?);
        fields.skip(10)?;
        let more = fields.bytes(length.saturating_sub(8).max(13))?;
        challenge.extend_from_slice(more);
        challenge.truncate(CHALLENGE);
        // A server may leave out the zero byte at the end.
        let plugin = fields.text().unwrap_or_else(|| fields.rest());
        Some(Greeting {
            version: version.strip_prefix(OLD_PREFIX).unwrap_or(version).to_vec(),
            capabilities: capabilities & CAPABILITIES,
            challenge,
            plugin: plugin.to_vec(),
        })
    }
}

/// The answer of a plugin to a challenge; `None` where the plugin is not known. Without a password
/// every answer is empty.
#[must_use]
pub fn answer(plugin: &[u8], password: &[u8], challenge: &[u8]) -> Option<Vec<u8>> {
    let is_native = plugin == NATIVE.as_bytes();
    if !is_native && plugin != CACHING.as_bytes() {
        return None;
    }
    let challenge = challenge.get(..CHALLENGE).unwrap_or(challenge);
    if password.is_empty() {
        return Some(Vec::new());
    }
    Some(if is_native {
        native(password, challenge)
    } else {
        caching(password, challenge)
    })
}

/// SHA1(password) xor SHA1(challenge, SHA1(SHA1(password))).
fn native(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(challenge).chain_update(twice);
    xor(&once, &mask.finalize())
}

/// SHA256(password) xor SHA256(SHA256(SHA256(password)), challenge).
fn caching(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(challenge);
    xor(&once, &mask.finalize())
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server's side: it knows the hash of the hash, and checks an answer by it.
    fn accepts<D: Digest>(stored: &[u8], answer: &[u8], mask: &[u8]) -> bool {
        D::digest(xor(answer, mask)).to_vec() == stored
    }

    #[test]
    fn answers_prove_the_password_and_nothing_else() {
        let challenge = b"01234567890123456789\0";
        let first = &challenge[..CHALLENGE];
        for (password, is_right) in [(&b"hunter2"[..], true), (b"hunter3", false)] {
            let stored = Sha1::digest(Sha1::digest(b"hunter2")).to_vec();
            let mask = Sha1::new().chain_update(first).chain_update(&stored);
            let given = answer(NATIVE.as_bytes(), password, challenge).expect("known");
            assert_eq!(accepts::<Sha1>(&stored, &given, &mask.finalize()), is_right);
            let stored = Sha256::digest(Sha256::digest(b"hunter2")).to_vec();
            let mask = Sha256::new().chain_update(&stored).chain_update(first);
            let given = answer(CACHING.as_bytes(), password, challenge).expect("known");
            assert_eq!(
                accepts::<Sha256>(&stored, &given, &mask.finalize()),
                is_right
            );
        }
        assert_eq!(answer(NATIVE.as_bytes(), b"", challenge), Some(Vec::new()));
        assert_eq!(answer(b"client_ed25519", b"a", challenge), None);
    }

    #[test]
    fn a_greeting_that_is_cut_is_none() {
        let mut body = vec![GREETING];
        body.extend_from_slice(b"5.5.5-10.11.19-MariaDB\0\x01\0\0\0abcdefgh\0");
        body.extend_from_slice(&[0xff, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
        body.extend_from_slice(&[0; 10]);
        body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        let greeting = Greeting::of(&body).expect("a greeting");
        assert_eq!(greeting.version, b"10.11.19-MariaDB");
        assert_eq!(greeting.challenge, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.plugin, NATIVE.as_bytes());
        // What is cut within the name of the plugin may be another plugin.
        let least = body.len() - NATIVE.len() - 1;
        for cut in 0..least {
            assert_eq!(Greeting::of(&body[..cut]), None, "{cut}");
        }
        body[0] = 9;
        assert_eq!(Greeting::of(&body), None);
    }
}
