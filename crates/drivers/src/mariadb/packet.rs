//! Packets of the protocol that MariaDB and MySQL share.
//!
//! Invariants: what arrives is untrusted: a packet is read up to a limit and in its turn.
//!
//! What it must not know: what packets mean.

use super::address::{ServerAddress, ServerPlace};
use super::error::MariadbError;
use crate::client::Socket;
use std::io;
use std::time::Duration;

/// The longest packet that is accepted: this driver asks for nothing that is near to it.
const RECEIVED_MAX: usize = 1 << 20;
/// The longest packet that can be sent in one piece.
pub const SENT_MAX: usize = (1 << 24) - 2;
/// Bytes of a packet before its body: three of its length, one of its number.
const HEADER: usize = 4;
/// The command that ends a connection, as a packet.
const QUIT: [u8; 5] = [1, 0, 0, 0, 1];

/// A connection that carries packets.
#[derive(Debug)]
pub struct Packets {
    socket: Socket,
    outbox: Vec<u8>,
    /// Number of the next packet of an exchange.
    number: u8,
}

impl Packets {
    /// Connects to a server.
    ///
    /// # Errors
    /// No server is reachable.
    pub fn connect(address: &ServerAddress, patience: Duration) -> Result<Packets, MariadbError> {
        let socket: io::Result<Socket> = match &address.place {
            ServerPlace::Network(host, port) => Socket::tcp(host, *port, patience),
            ServerPlace::Socket(path) => Socket::unix(path, patience),
        };
        let socket = socket.map_err(|source| MariadbError::Unreachable {
            at: address.place.to_string(),
            source,
        })?;
        Ok(Packets {
            socket,
            outbox: Vec::new(),
            number: 0,
        })
    }

    /// Sets how long each exchange may take from the next one on.
    pub fn set_patience(&mut self, patience: Duration) {
        self.socket.set_patience(patience);
    }

    /// Whether it is a Unix socket.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        self.socket.is_unix()
    }

    /// The body of the next packet to be sent, empty.
    pub fn body(&mut self) -> &mut Vec<u8> {
        self.outbox.clear();
        self.outbox.extend_from_slice(&[0; HEADER]);
        &mut self.outbox
    }

    /// Begins an exchange, which has to end within the connection's patience.
    #[inline]
    pub fn begin(&mut self) {
        self.socket.begin();
        self.number = 0;
    }

    /// Sends the packet whose body was written.
    ///
    /// # Errors
    /// The server accepts nothing, or the connection failed.
    #[inline]
    pub fn send(&mut self) -> Result<(), MariadbError> {
        let length = self.outbox.len().saturating_sub(HEADER);
        assert!(length <= SENT_MAX, "sizes were checked before");
        let [a, b, c, ..] = (length as u32).to_le_bytes();
        self.outbox[..HEADER].copy_from_slice(&[a, b, c, self.number]);
        self.number = self.number.wrapping_add(1);
        Ok(self.socket.send(&self.outbox)?)
    }

    /// The body of the next packet.
    ///
    /// # Errors
    /// The server is gone, does not answer, or does not keep to the protocol.
    #[inline]
    pub fn receive(&mut self) -> Result<&[u8], MariadbError> {
        let length = loop {
            if let Some(length) = self.arrived()? {
                break length;
            }
            self.socket.fill()?;
        };
        self.number = self.number.wrapping_add(1);
        self.socket.take(HEADER);
        Ok(self.socket.take(length))
    }

    /// Length of the first packet's body, where all of it arrived.
    #[inline]
    fn arrived(&mut self) -> Result<Option<usize>, MariadbError> {
        let Some(([a, b, c, number], body)) = self.socket.arrived().split_first_chunk::<HEADER>()
        else {
            return Ok(None);
        };
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        let wrong = if length > RECEIVED_MAX {
            "a packet has an impossible length"
        } else if *number != self.number {
            "a packet is out of turn"
        } else {
            return Ok((length <= body.len()).then_some(length));
        };
        self.socket.give_up();
        Err(MariadbError::Protocol(wrong))
    }
}

impl Drop for Packets {
    fn drop(&mut self) {
        self.socket.farewell(&QUIT);
    }
}
