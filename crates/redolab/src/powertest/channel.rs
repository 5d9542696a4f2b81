//! The connection between writer or reader and server: who is there, and whole messages.
//!
//! ```text
//! server: "RLPT" version u16, 32 random bytes
//! client: "RLPT" version u16, 32 random bytes, HMAC(token, "client" + all random bytes)
//! server: 0, HMAC(token, "server" + all random bytes); or 1 and why not
//! then, both ways: length u32, body, the first 16 bytes of HMAC(key of this way, number + body)
//! ```
//!
//! Invariants: the token is never sent; sums are compared in constant time; a body is at most
//! [`BODY_MAX`] bytes and its length is checked before it is read; every read and write ends within
//! a time limit, however slowly bytes come; a message that was changed, left out or repeated on the
//! way is an error. The messages are not secret.

mod bounded;

use bounded::{Within, fill, io, put, whole};
use hmac::{Hmac, KeyInit, Mac};
use measure::words::sanitize;
use redo::format::LifeId;
use serde::Serialize;
use serde_json::Value;
use sha2::Sha256;
use std::io::Read as _;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

/// Version of the protocol.
pub const VERSION: u16 = 2;
/// Longest body of a message, bytes.
pub const BODY_MAX: usize = 64 << 10;
/// For a client's whole greeting, and for each message once it has begun.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// For the whole greeting of a client that has not shown yet that it has the token.
pub const GREETING: Duration = Duration::from_secs(5);
/// A writer sends something at least so often.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

const MAGIC: [u8; 4] = *b"RLPT";
const NONCE: usize = 32;
const SUM: usize = 32;
const SHORT_SUM: usize = 16;
/// Reasons of a refusal are cut to this.
const REASON_MAX: usize = 512;
/// Shortest and longest token.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 16..=4096;

type Sum = Hmac<Sha256>;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other side closed it.
    #[error("{peer}: the connection was closed")]
    Closed {
        /// The other side.
        peer: String,
    },
    /// The other side did not answer.
    #[error("{peer}: no answer within {} s", .after.as_secs())]
    Silent {
        /// The other side.
        peer: String,
        /// The time limit.
        after: Duration,
    },
    /// Another version of the protocol.
    #[error(
        "{peer}: it uses version {found} of the power-test protocol, this redolab uses {VERSION}; use \
         the same redolab on both machines"
    )]
    Version {
        /// The other side.
        peer: String,
        /// Its version.
        found: u16,
    },
    /// Something that is no power-test server or client.
    #[error("{peer}: it is no redolab powertest server; name the host and port of one")]
    Foreign {
        /// The other side.
        peer: String,
    },
    /// The server does not know the token.
    #[error(
        "{peer}: the server does not have this token; use the same --token-file on both machines"
    )]
    Impostor {
        /// The other side.
        peer: String,
    },
    /// The other side refused.
    #[error("{peer}: {reason}")]
    Refused {
        /// The other side.
        peer: String,
        /// Why.
        reason: String,
    },
    /// A message that is too long, was changed on the way, or cannot be read.
    #[error("{peer}: a message cannot be used: {what}")]
    Message {
        /// The other side.
        peer: String,
        /// What is wrong with it.
        what: String,
    },
    /// The system's error.
    #[error("{peer}: {source}")]
    Io {
        /// The other side.
        peer: String,
        /// The error.
        source: std::io::Error,
    },
}

/// The secret that both sides know.
#[derive(Clone)]
pub struct PowerToken(Vec<u8>);

impl PowerToken {
    /// Reads it from a file; blanks and line ends around it do not count.
    ///
    /// # Errors
    /// A file that others may read, or that has too few or too many bytes.
    pub fn read(path: &Path) -> Result<PowerToken, String> {
        use std::os::unix::fs::PermissionsExt;
        let shown = path.display();
        let advice = "make one with `(umask 077; head -c 32 /dev/urandom | base64 > FILE)` and copy \
                      it to both machines";
        let failed = |e: std::io::Error| format!("--token-file {shown}: {e}; {advice}");
        let file = std::fs::File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(format!(
                "--token-file {shown}: not a regular file; {advice}"
            ));
        }
        if found.permissions().mode() & 0o007 != 0 {
            return Err(format!(
                "--token-file {shown}: every user may read or change it; use `chmod 600 {shown}`"
            ));
        }
        let mut bytes = Vec::new();
        let limit = *TOKEN_BYTES.end() as u64 + 1;
        file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        let token = bytes.trim_ascii().to_vec();
        if !TOKEN_BYTES.contains(&token.len()) {
            return Err(format!(
                "--token-file {shown}: {} bytes; a token has from {} to {} bytes; {advice}",
                token.len(),
                TOKEN_BYTES.start(),
                TOKEN_BYTES.end()
            ));
        }
        Ok(PowerToken(token))
    }

    /// A token of these bytes.
    #[cfg(test)]
    pub(super) fn of(bytes: &[u8]) -> PowerToken {
        PowerToken(bytes.to_vec())
    }

    fn sum(&self, parts: &[&[u8]]) -> Sum {
        sum_of(&self.0, parts)
    }

    /// A text of the other side as it is shown: one harmless line without the token, which the
    /// other side may know.
    #[must_use]
    fn removed_from(&self, text: &str) -> String {
        let (token, text) = (String::from_utf8_lossy(&self.0), sanitize::line(text));
        let token = sanitize::line(&token);
        // Of one that is not text, so little may be left that every text contains it.
        match token.len() < *TOKEN_BYTES.start() {
            true => text,
            false => text.replace(&token, "(the token)"),
        }
    }
}

fn sum_of(key: &[u8], parts: &[&[u8]]) -> Sum {
    let mut sum = Sum::new_from_slice(key).expect("HMAC takes keys of every length");
    parts.iter().for_each(|part| sum.update(part));
    sum
}

/// One way of a connection: its key, and the messages so far.
struct SealedWay {
    key: [u8; SUM],
    count: u64,
}

impl SealedWay {
    fn new(token: &PowerToken, name: &[u8], nonces: &[u8]) -> SealedWay {
        let key = token.sum(&[name, nonces]).finalize().into_bytes().into();
        SealedWay { key, count: 0 }
    }

    /// The sum of the next message.
    fn next(&mut self, body: &[u8]) -> Sum {
        let count = self.count.to_le_bytes();
        self.count += 1;
        sum_of(&self.key, &[&count, body])
    }
}

/// A connection on which both sides have shown that they know the token.
pub struct PowerChannel {
    stream: TcpStream,
    peer: String,
    token: PowerToken,
    sending: SealedWay,
    receiving: SealedWay,
}

/// 32 random bytes.
fn nonce(peer: &str) -> Result<[u8; NONCE], ChannelError> {
    let mut out = [0; NONCE];
    for half in out.chunks_exact_mut(16) {
        let drawn = LifeId::draw().map_err(io(peer))?;
        half.copy_from_slice(&drawn.bytes());
    }
    Ok(out)
}

/// Magic and version, as both sides begin.
fn greeting() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out
}

/// The version of the other side's greeting.
fn version(stream: &mut TcpStream, within: Within, peer: &str) -> Result<u16, ChannelError> {
    let mut head = [0; 6];
    match whole(stream, &mut head, within, peer) {
        Ok(()) if head[..4] == MAGIC => Ok(u16::from_le_bytes([head[4], head[5]])),
        Ok(()) | Err(ChannelError::Closed { .. }) => Err(ChannelError::Foreign {
            peer: peer.to_owned(),
        }),
        Err(other) => Err(other),
    }
}

impl PowerChannel {
    /// Connects to the server at `address`, such as `10.0.0.2:7407`.
    ///
    /// # Errors
    /// Nobody listens there, or it is no server with this token and version.
    pub fn connect(address: &str, token: &PowerToken) -> Result<PowerChannel, ChannelError> {
        let mut found = address.to_socket_addrs().map_err(io(address))?;
        let first = found.next().ok_or_else(|| ChannelError::Refused {
            peer: address.to_owned(),
            reason: "this name has no address".to_owned(),
        })?;
        let connected = TcpStream::connect_timeout(&first, PATIENCE);
        PowerChannel::greet(connected.map_err(io(address))?, address, token)
    }

    /// The client's side of the greeting.
    fn greet(
        mut stream: TcpStream,
        peer: &str,
        token: &PowerToken,
    ) -> Result<PowerChannel, ChannelError> {
        let within = (Instant::now(), PATIENCE);
        stream.set_nodelay(true).map_err(io(peer))?;
        let found = version(&mut stream, within, peer)?;
        if found != VERSION {
            let peer = peer.to_owned();
            return Err(ChannelError::Version { peer, found });
        }
        let mut nonces = [0; 2 * NONCE];
        whole(&mut stream, &mut nonces[..NONCE], within, peer)?;
        nonces[NONCE..].copy_from_slice(&nonce(peer)?);
        let mut answer = greeting();
        answer.extend_from_slice(&nonces[NONCE..]);
        answer.extend_from_slice(&token.sum(&[b"client", &nonces]).finalize().into_bytes());
        put(&mut stream, &answer, within, peer)?;
        let mut word = [0];
        whole(&mut stream, &mut word, within, peer)?;
        if word != [0] {
            return Err(refusal(&mut stream, token, within, peer));
        }
        let mut sum = [0; SUM];
        whole(&mut stream, &mut sum, within, peer)?;
        let known = token.sum(&[b"server", &nonces]).verify_slice(&sum);
        known.map_err(|_| ChannelError::Impostor {
            peer: peer.to_owned(),
        })?;
        Ok(PowerChannel {
            stream,
            peer: peer.to_owned(),
            token: token.clone(),
            sending: SealedWay::new(token, b"to the server", &nonces),
            receiving: SealedWay::new(token, b"to the client", &nonces),
        })
    }

    /// The server's side of the greeting.
    ///
    /// # Errors
    /// A client without this token, of another version, or that says nothing; or one for which
    /// there is no room, which is asked for once it has shown the token.
    pub fn accept(
        mut stream: TcpStream,
        token: &PowerToken,
        has_room: impl FnOnce() -> bool,
    ) -> Result<PowerChannel, ChannelError> {
        let within = (Instant::now(), GREETING);
        let peer = stream
            .peer_addr()
            .map_or_else(|_| "a client".to_owned(), |a| a.to_string());
        stream.set_nodelay(true).map_err(io(&peer))?;
        let mut nonces = [0; 2 * NONCE];
        nonces[..NONCE].copy_from_slice(&nonce(&peer)?);
        let mut hello = greeting();
        hello.extend_from_slice(&nonces[..NONCE]);
        put(&mut stream, &hello, within, &peer)?;
        let found = version(&mut stream, within, &peer)?;
        if found != VERSION {
            let reason = format!(
                "the server uses version {VERSION} of the power-test protocol, not {found}; use the \
                 same redolab on both machines"
            );
            refuse(&mut stream, &reason, within, &peer);
            return Err(ChannelError::Version { peer, found });
        }
        whole(&mut stream, &mut nonces[NONCE..], within, &peer)?;
        let mut sum = [0; SUM];
        whole(&mut stream, &mut sum, within, &peer)?;
        if token.sum(&[b"client", &nonces]).verify_slice(&sum).is_err() {
            let reason = "wrong token; use the same --token-file on both machines";
            refuse(&mut stream, reason, within, &peer);
            let reason = "a client with a wrong token was refused".to_owned();
            return Err(ChannelError::Refused { peer, reason });
        }
        if !has_room() {
            let reason = "the server has too many connections; try again later";
            refuse(&mut stream, reason, within, &peer);
            let reason = "a client was refused: there are too many".to_owned();
            return Err(ChannelError::Refused { peer, reason });
        }
        let mut answer = vec![0];
        answer.extend_from_slice(&token.sum(&[b"server", &nonces]).finalize().into_bytes());
        put(&mut stream, &answer, within, &peer)?;
        Ok(PowerChannel {
            stream,
            sending: SealedWay::new(token, b"to the client", &nonces),
            receiving: SealedWay::new(token, b"to the server", &nonces),
            token: token.clone(),
            peer,
        })
    }

    /// The other side, for messages.
    #[must_use]
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection.
    ///
    /// # Panics
    /// When the body is longer than [`BODY_MAX`].
    pub fn send(&mut self, body: &[u8]) -> Result<(), ChannelError> {
        assert!(body.len() <= BODY_MAX, "messages are divided before");
        let sum = self.sending.next(body).finalize().into_bytes();
        let mut out = Vec::with_capacity(4 + body.len() + SHORT_SUM);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(&sum[..SHORT_SUM]);
        let within = (Instant::now(), PATIENCE);
        put(&mut self.stream, &out, within, &self.peer)
    }

    /// The next message, which has to begin within `wait`; `None` when the other side closed.
    ///
    /// # Errors
    /// The connection, or bytes that are no message.
    pub fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, ChannelError> {
        let mut length = [0; 4];
        if !fill(
            &mut self.stream,
            &mut length,
            (Instant::now(), wait),
            &self.peer,
        )? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > BODY_MAX {
            return Err(self.unusable(format!("{length} bytes, at most {BODY_MAX} are allowed")));
        }
        let mut body = vec![0; length + SHORT_SUM];
        let within = (Instant::now(), PATIENCE);
        whole(&mut self.stream, &mut body, within, &self.peer)?;
        let sum = body.split_off(length);
        let expected = self.receiving.next(&body);
        match expected.verify_truncated_left(&sum) {
            Ok(()) => Ok(Some(body)),
            Err(_) => Err(self.unusable("its HMAC is wrong".to_owned())),
        }
    }

    /// What the other side refuses with.
    #[must_use]
    pub fn refused(&self, reason: &str) -> ChannelError {
        ChannelError::Refused {
            peer: self.peer.clone(),
            reason: self.token.removed_from(reason),
        }
    }

    /// An answer, whose texts may be shown: one of them that contains the token makes it unusable.
    ///
    /// # Errors
    /// It contains the token.
    pub fn checked<T: Serialize>(&self, answer: T) -> Result<T, ChannelError> {
        let value = serde_json::to_value(&answer);
        match value.is_ok_and(|value| quotes(&value, &self.token)) {
            true => Err(self.unusable("it contains the token".to_owned())),
            false => Ok(answer),
        }
    }

    /// A message that cannot be used.
    #[must_use]
    pub fn unusable(&self, what: String) -> ChannelError {
        let peer = self.peer.clone();
        ChannelError::Message { peer, what }
    }
}

/// Whether a text of a document contains the token.
fn quotes(value: &Value, token: &PowerToken) -> bool {
    let is_in = |text: &str| token.removed_from(text) != sanitize::line(text);
    match value {
        Value::String(text) => is_in(text),
        Value::Array(all) => all.iter().any(|value| quotes(value, token)),
        Value::Object(all) => all
            .iter()
            .any(|(key, value)| is_in(key) || quotes(value, token)),
        _ => false,
    }
}

/// Sends why a client is refused. It may be gone: then nobody needs to know.
fn refuse(stream: &mut TcpStream, reason: &str, within: Within, peer: &str) {
    let mut out = vec![1];
    out.extend_from_slice(&(reason.len() as u16).to_le_bytes());
    out.extend_from_slice(reason.as_bytes());
    let _ = put(stream, &out, within, peer);
}

fn refusal(stream: &mut TcpStream, token: &PowerToken, within: Within, peer: &str) -> ChannelError {
    let mut length = [0; 2];
    if let Err(e) = whole(stream, &mut length, within, peer) {
        return e;
    }
    let mut text = vec![0; usize::from(u16::from_le_bytes(length)).min(REASON_MAX)];
    if let Err(e) = whole(stream, &mut text, within, peer) {
        return e;
    }
    ChannelError::Refused {
        peer: peer.to_owned(),
        reason: token.removed_from(&String::from_utf8_lossy(&text)),
    }
}

#[cfg(test)]
mod tests;
