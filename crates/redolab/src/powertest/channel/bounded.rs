//! Reading and writing within a time, however slowly the other side reads and writes.
//!
//! Invariant: no call takes longer than it was given, and none takes more memory than its caller
//! set aside.

use super::ChannelError;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// From when on something may take how long.
pub(super) type Within = (Instant, Duration);

pub(super) fn io(peer: &str) -> impl FnOnce(std::io::Error) -> ChannelError {
    let peer = peer.to_owned();
    move |source| ChannelError::Io { peer, source }
}

/// Fills `out` in time. `Ok(false)`: the other side closed before the first byte.
pub(super) fn fill(
    stream: &mut TcpStream,
    out: &mut [u8],
    (begun, limit): Within,
    peer: &str,
) -> Result<bool, ChannelError> {
    let silent = || ChannelError::Silent {
        peer: peer.to_owned(),
        after: limit,
    };
    let mut at = 0;
    while at < out.len() {
        let left = limit
            .checked_sub(begun.elapsed())
            .filter(|left| !left.is_zero());
        let left = left.ok_or_else(silent)?;
        stream.set_read_timeout(Some(left)).map_err(io(peer))?;
        match stream.read(&mut out[at..]) {
            Ok(0) if at == 0 => return Ok(false),
            Ok(0) => break,
            Ok(read) => at += read,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(silent());
            }
            Err(e) if e.kind() == ErrorKind::ConnectionReset => break,
            Err(e) => return Err(io(peer)(e)),
        }
    }
    match at == out.len() {
        true => Ok(true),
        false => Err(ChannelError::Closed {
            peer: peer.to_owned(),
        }),
    }
}

/// Fills `out`, which has to come whole.
pub(super) fn whole(
    stream: &mut TcpStream,
    out: &mut [u8],
    within: Within,
    peer: &str,
) -> Result<(), ChannelError> {
    match fill(stream, out, within, peer)? {
        true => Ok(()),
        false => Err(ChannelError::Closed {
            peer: peer.to_owned(),
        }),
    }
}

/// Sends all of `bytes`, however slowly the other side takes them.
pub(super) fn put(
    stream: &mut TcpStream,
    bytes: &[u8],
    (begun, limit): Within,
    peer: &str,
) -> Result<(), ChannelError> {
    let silent = || ChannelError::Silent {
        peer: peer.to_owned(),
        after: limit,
    };
    let mut at = 0;
    while at < bytes.len() {
        let left = limit.checked_sub(begun.elapsed()).filter(|l| !l.is_zero());
        let left = left.ok_or_else(silent)?;
        stream.set_write_timeout(Some(left)).map_err(io(peer))?;
        match stream.write(&bytes[at..]) {
            Ok(written) => at += written,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(silent());
            }
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                return Err(ChannelError::Closed {
                    peer: peer.to_owned(),
                });
            }
            Err(e) => return Err(io(peer)(e)),
        }
    }
    Ok(())
}
