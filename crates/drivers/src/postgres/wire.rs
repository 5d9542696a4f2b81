//! A blocking connection that carries messages of the PostgreSQL protocol, version 3.
//!
//! Invariants: what arrives is untrusted: memory grows with the bytes that arrived and not with a
//! length that was announced, and no exchange lasts much longer than the connection's patience.
//!
//! What it must not know: what messages mean, beside their tag and length.

use super::error::PostgresError;
use super::url::{Address, Host};
use crate::client::{CONNECT_MAX, EXCHANGE_MAX, LEAST_WAIT, connect_tcp};
use bytes::BytesMut;
use postgres_protocol::message::{backend::Header, frontend};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType, sockopt};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest message that is accepted: this driver asks for nothing that is near to it.
const MESSAGE_MAX: usize = 1 << 20;
/// Bytes of a message before its body.
const HEADER: usize = 5;
/// Messages that are accepted in one exchange, beside one for each byte that was sent in it: a
/// statement is longer than its answers are many.
const FRAMES_MAX: usize = 20_000;
/// The longest wait when a connection is closed.
const FAREWELL: Duration = Duration::from_millis(100);

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

/// A connection, and what arrived on it and was not read yet.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    inbox: Vec<u8>,
    start: usize,
    end: usize,
    /// Messages to be sent.
    pub outbox: BytesMut,
    patience: Duration,
    deadline: Instant,
    /// Bytes and messages that arrived in this exchange.
    received: usize,
    frames: usize,
    /// Bytes that were sent in it.
    asked: usize,
    /// The exchange is that of connecting and logging in.
    is_new: bool,
    is_local: bool,
    is_broken: bool,
}

/// What this machine knows of the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalPeer {
    /// The process that listens on a Unix socket.
    Listener(i32),
    /// Ports of a connection through the loopback interface.
    Ports {
        /// That of this process.
        own: u16,
        /// That of the server.
        server: u16,
    },
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
        let limit = patience.min(CONNECT_MAX);
        let deadline = Instant::now() + limit;
        let (at, stream) = match &address.host {
            Host::Network(host) => (
                format!("host {}, port {port}", host.escape_debug()),
                tcp(host, port, deadline),
            ),
            Host::Directory(folder) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                let stream = in_folder(folder, &path, limit);
                (
                    format!("the socket {}", path.display().to_string().escape_debug()),
                    stream,
                )
            }
        };
        let (stream, is_local) =
            stream.map_err(|source| PostgresError::Unreachable { at, source })?;
        Ok(Wire {
            stream,
            inbox: vec![0; 8 << 10],
            start: 0,
            end: 0,
            outbox: BytesMut::new(),
            patience,
            deadline,
            received: 0,
            frames: 0,
            asked: 0,
            is_new: true,
            is_local,
            is_broken: false,
        })
    }

    /// Whether nothing but this machine sees what is sent.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// How the other end is known to this machine; `None` where it may be on another one.
    #[must_use]
    pub fn local_peer(&self) -> Option<LocalPeer> {
        match &self.stream {
            Stream::Tcp(stream) if self.is_local => Some(LocalPeer::Ports {
                own: stream.local_addr().ok()?.port(),
                server: stream.peer_addr().ok()?.port(),
            }),
            Stream::Tcp(_) => None,
            Stream::Unix(stream) => {
                let peer = sockopt::socket_peercred(stream).ok()?;
                Some(LocalPeer::Listener(peer.pid.as_raw_nonzero().get()))
            }
        }
    }

    /// Begins an exchange: it has to end within the connection's patience. The first one comes
    /// after the server has accepted the user.
    #[inline]
    pub fn begin(&mut self) {
        self.deadline = Instant::now() + self.patience;
        (self.received, self.frames, self.asked) = (0, 0, 0);
        if self.is_new {
            self.is_new = false;
            self.limit(self.patience);
        }
    }

    /// Sets how long each exchange may take from the next one on, as [`Socket::set_patience`].
    ///
    /// [`Socket::set_patience`]: crate::client::Socket::set_patience
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        self.is_new = true;
    }

    /// Sets how long a read may wait. A connection that takes no limit has the one from before.
    fn limit(&self, time: Duration) {
        let kind = sockopt::Timeout::Recv;
        let _ = sockopt::set_socket_timeout(self.stream.fd(), kind, Some(time));
    }

    /// How long the present exchange may take.
    fn patience(&self) -> Duration {
        match self.is_new {
            true => self.patience.min(CONNECT_MAX),
            false => self.patience,
        }
    }

    fn endless(&mut self) -> PostgresError {
        self.is_broken = true;
        PostgresError::Protocol("it sends without end")
    }

    /// Sends what is in the outbox. What arrives meanwhile is kept, because a server reads nothing
    /// while nobody reads its answers.
    ///
    /// # Errors
    /// The server is gone, accepts nothing, or answers without end.
    pub fn send(&mut self) -> Result<(), PostgresError> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let mut sent = 0;
        self.asked += self.outbox.len();
        while sent < self.outbox.len() {
            match rustix::net::send(self.stream.fd(), &self.outbox[sent..], flags) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.wait_for_room()? => {}
                // The server may have written why it left.
                Err(Errno::AGAIN) => break,
                Err(Errno::PIPE | Errno::CONNRESET | Errno::CONNABORTED) => break,
                Err(error) => return Err(self.broken(error.into())),
            }
        }
        self.outbox.clear();
        Ok(())
    }

    /// Waits until the server accepts more, and reads what has arrived by then. Whether the server
    /// is still there.
    fn wait_for_room(&mut self) -> Result<bool, PostgresError> {
        self.check_time()?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limit = Timespec::try_from(left).ok();
        let fd = self.stream.fd();
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::OUT)];
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(self.broken(error.into())),
        }
        if !fds[0].revents().contains(PollFlags::IN) {
            return Ok(true);
        }
        if self.end - self.start > MESSAGE_MAX {
            self.is_broken = true;
            return Err(PostgresError::Protocol("answers without questions"));
        }
        match self.fill() {
            Ok(()) => Ok(true),
            Err(PostgresError::Closed(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// The server is gone, does not answer, or does not keep to the protocol.
    pub fn frame(&mut self) -> Result<Frame<'_>, PostgresError> {
        let body = loop {
            if let Some(length) = self.arrived()? {
                let body = self.start + HEADER..self.start + length;
                self.start += length;
                break body;
            }
            self.fill()?;
        };
        self.frames += 1;
        if self.frames > FRAMES_MAX + self.asked {
            return Err(self.endless());
        }
        Ok(Frame {
            tag: self.inbox[body.start - HEADER],
            body: &self.inbox[body],
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
        let unread = &self.inbox[self.start..self.end];
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
                self.is_broken = true;
                Err(PostgresError::Protocol(
                    "a message has an impossible length",
                ))
            }
        }
    }

    /// Reads what there is, at least one byte.
    fn fill(&mut self) -> Result<(), PostgresError> {
        self.check_time()?;
        if self.is_new {
            let left = self.deadline.saturating_duration_since(Instant::now());
            self.limit(left.max(LEAST_WAIT));
        }
        if self.start > 0 {
            self.inbox.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.inbox.len() {
            self.inbox.resize(self.inbox.len() * 2, 0);
        }
        let room = &mut self.inbox[self.end..];
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(room),
            Stream::Unix(stream) => stream.read(room),
        };
        match read {
            Ok(0) => {
                self.is_broken = true;
                Err(PostgresError::Closed(""))
            }
            Ok(count) => {
                self.end += count;
                self.received += count;
                if self.received > EXCHANGE_MAX {
                    return Err(self.endless());
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.broken(error)),
        }
    }

    fn check_time(&mut self) -> Result<(), PostgresError> {
        if Instant::now() > self.deadline {
            self.is_broken = true;
            return Err(PostgresError::TimedOut(self.patience()));
        }
        Ok(())
    }

    fn broken(&mut self, error: io::Error) -> PostgresError {
        self.is_broken = true;
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => PostgresError::TimedOut(self.patience()),
            _ if is_gone(&error) => PostgresError::Closed(""),
            _ => PostgresError::Io(error),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.is_broken {
            return;
        }
        self.outbox.clear();
        frontend::terminate(&mut self.outbox);
        self.deadline = Instant::now() + FAREWELL;
        // The server notices the end of the connection, too.
        let _ = self.send();
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
    )
}

fn tcp(host: &str, port: u16, deadline: Instant) -> io::Result<(Stream, bool)> {
    let stream = connect_tcp(host, port, deadline)?;
    let is_local = stream.peer_addr()?.ip().is_loopback();
    Ok((Stream::Tcp(stream), is_local))
}

/// Connects to the socket at `path`, in `folder`. The system accepts addresses up to 107 bytes; a
/// longer one is reached through the folder, held open.
fn in_folder(folder: &Path, path: &Path, patience: Duration) -> io::Result<(Stream, bool)> {
    if let Ok(socket) = SocketAddrUnix::new(path) {
        return unix(&socket, patience);
    }
    let held = File::open(folder)?;
    let name = path.file_name().unwrap_or_default();
    let short = Path::new("/proc/self/fd")
        .join(held.as_raw_fd().to_string())
        .join(name);
    unix(&SocketAddrUnix::new(&short)?, patience)
}

/// A server that accepts nothing may make `connect` wait, so its limit is set before it.
fn unix(address: &SocketAddrUnix, patience: Duration) -> io::Result<(Stream, bool)> {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    for limit in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(socket.as_fd(), limit, Some(patience))?;
    }
    rustix::net::connect(&socket, address)?;
    Ok((Stream::Unix(UnixStream::from(socket)), true))
}
