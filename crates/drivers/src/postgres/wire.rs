//! A blocking connection that carries messages of the PostgreSQL protocol, version 3.
//!
//! Invariants: what arrives is untrusted: memory grows with the bytes that arrived and not with a
//! length that was announced, and no exchange lasts much longer than the connection's patience.
//!
//! What it must not know: what messages mean, beside their tag and length.

use super::error::PostgresError;
use super::url::{Address, Host};
use crate::client::{LocalPeer, Socket, SocketError};
use bytes::BytesMut;
use postgres_protocol::message::{backend::Header, frontend};
use std::time::Duration;

/// The longest message that is accepted: this driver asks for nothing that is near to it.
const MESSAGE_MAX: usize = 1 << 20;
/// Bytes of a message before its body.
const HEADER: usize = 5;
/// Messages that are accepted in one exchange, beside one for each byte that was sent in it: a
/// statement is longer than its answers are many.
const FRAMES_MAX: usize = 20_000;

/// A connection that carries messages.
#[derive(Debug)]
pub struct Wire {
    socket: Socket,
    /// Messages to be sent.
    pub outbox: BytesMut,
    /// Messages that arrived in this exchange.
    frames: usize,
    /// Bytes that were sent in it.
    asked: usize,
}

/// A message that arrived.
#[derive(Debug)]
pub struct Frame<'a> {
    /// What it is.
    pub tag: u8,
    /// What it contains.
    pub body: &'a [u8],
}

impl Wire {
    /// Connects to a server.
    ///
    /// # Errors
    /// No server is reachable.
    pub fn connect(address: &Address, patience: Duration) -> Result<Wire, PostgresError> {
        let port = address.port;
        let (at, socket) = match &address.host {
            Host::Network(host) => (
                format!("host {}, port {port}", host.escape_debug()),
                Socket::tcp(host, port, patience),
            ),
            Host::Directory(folder) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                (
                    format!("the socket {}", path.display().to_string().escape_debug()),
                    Socket::unix(&path, patience),
                )
            }
        };
        Ok(Wire {
            socket: socket.map_err(|source| PostgresError::Unreachable { at, source })?,
            outbox: BytesMut::new(),
            frames: 0,
            asked: 0,
        })
    }

    /// Whether nothing but this machine sees what is sent.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.socket.is_local()
    }

    /// How the other end is known to this machine; `None` where it may be on another one.
    #[must_use]
    pub fn local_peer(&self) -> Option<LocalPeer> {
        self.socket.local_peer()
    }

    /// Begins an exchange: it has to end within the connection's patience. The first one comes
    /// after the server has accepted the user.
    #[inline]
    pub fn begin(&mut self) {
        self.socket.begin();
        (self.frames, self.asked) = (0, 0);
    }

    /// Sets how long each exchange may take from the next one on.
    pub fn set_patience(&mut self, patience: Duration) {
        self.socket.set_patience(patience);
    }

    /// Sends what is in the outbox.
    ///
    /// # Errors
    /// The server is gone, accepts nothing, or answers without end.
    pub fn send(&mut self) -> Result<(), PostgresError> {
        self.asked += self.outbox.len();
        self.socket.send(&self.outbox)?;
        self.outbox.clear();
        Ok(())
    }

    /// The next message.
    ///
    /// # Errors
    /// The server is gone, does not answer, or does not keep to the protocol.
    pub fn frame(&mut self) -> Result<Frame<'_>, PostgresError> {
        let length = loop {
            if let Some(length) = self.arrived()? {
                break length;
            }
            self.socket.fill()?;
        };
        self.frames += 1;
        if self.frames > FRAMES_MAX + self.asked {
            self.socket.give_up();
            return Err(SocketError::Endless.into());
        }
        let (header, body) = self.socket.take(length).split_at(HEADER);
        Ok(Frame {
            tag: header[0],
            body,
        })
    }

    /// The next message, where all of it has arrived; nothing is awaited.
    ///
    /// # Errors
    /// The server does not keep to the protocol.
    pub fn arrived_frame(&mut self) -> Result<Option<Frame<'_>>, PostgresError> {
        match self.arrived()? {
            Some(_) => self.frame().map(Some),
            None => Ok(None),
        }
    }

    /// Length of the first message, with its header, where all of it arrived.
    #[inline]
    fn arrived(&mut self) -> Result<Option<usize>, PostgresError> {
        let unread = self.socket.arrived();
        let header = Header::parse(unread);
        let length = match header {
            Ok(None) => return Ok(None),
            Ok(Some(header)) => usize::try_from(header.len()).ok(),
            Err(_) => None,
        };
        match length {
            Some(length) if length < MESSAGE_MAX => {
                Ok(Some(length + 1).filter(|length| *length <= unread.len()))
            }
            _ => {
                self.socket.give_up();
                Err(PostgresError::Protocol(
                    "a message has an impossible length",
                ))
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.outbox.clear();
        frontend::terminate(&mut self.outbox);
        self.socket.farewell(&self.outbox);
    }
}
