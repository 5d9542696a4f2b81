//! Packets of the protocol that MariaDB and MySQL share, and the values in them.
//!
//! Invariants: what arrives is untrusted: a packet is read up to a limit and in its turn, and a
//! value that is not there is `None`.
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

/// Appends a length, or a number, as the protocol has it.
pub fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        _ => {
            let [a, b, c, ..] = (length as u32).to_le_bytes();
            out.extend_from_slice(&[0xfd, a, b, c]);
        }
    }
}

/// What is left of a body that is read value by value.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The values of a body.
    #[must_use]
    pub fn of(body: &'a [u8]) -> Fields<'a> {
        Fields(body)
    }

    /// What is left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Leaves bytes out.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.bytes(count).map(|_| ())
    }

    /// A number of one byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// A number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    /// A number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// The bytes before the next zero byte, which is left out.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.bytes(end)?;
        self.skip(1)?;
        Some(text)
    }

    /// A number of one to nine bytes.
    pub fn length(&mut self) -> Option<u64> {
        let bytes = match self.u8()? {
            0xfb | 0xff => return None,
            0xfc => self.bytes(2)?,
            0xfd => self.bytes(3)?,
            0xfe => self.bytes(8)?,
            small => return Some(u64::from(small)),
        };
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    /// A value of a row: `Some(None)` where it is NULL.
    pub fn value(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&0xfb) {
            self.skip(1)?;
            return Some(None);
        }
        let length = usize::try_from(self.length()?).ok()?;
        Some(Some(self.bytes(length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 252, 0xffff, 0x1_0000, 0xff_fffd] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            let mut fields = Fields::of(&out);
            assert_eq!(fields.length(), Some(length as u64));
            assert!(fields.rest().is_empty());
            for cut in 0..out.len() {
                assert_eq!(Fields::of(&out[..cut]).length(), None, "{length}");
            }
        }
        assert_eq!(Fields::of(&[0xfe; 9]).length(), Some(0xfefe_fefe_fefe_fefe));
    }

    #[test]
    fn values_that_are_not_there_are_none() {
        let mut row = Fields::of(b"\x02ab\xfb\xfe\xff\xff\xff\xff\xff\xff\xff\x7fc");
        assert_eq!(row.value(), Some(Some(&b"ab"[..])));
        assert_eq!(row.value(), Some(None));
        assert_eq!(row.value(), None);
        assert_eq!(Fields::of(b"\xff").value(), None);
        assert_eq!(Fields::of(b"abc").text(), None);
        assert_eq!(Fields::of(b"a").u16(), None);
    }
}
