//! A blocking connection to a server, with a limit of time, and what arrived on it.
//!
//! Invariants: memory grows with the bytes that arrived and not with a length that was announced,
//! and no exchange lasts much longer than the connection's patience.
//!
//! What it must not know: what the bytes mean.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType, sockopt};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Bytes for what arrives, at first.
const INBOX_BYTES: usize = 8 << 10;
/// The longest path in the address of a Unix socket.
const ADDRESS_MAX: usize = 107;
/// Connecting and logging in take so long together, at most.
pub const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Bytes that are accepted from a server in one exchange: redolab asks for nothing that is near to
/// it.
const EXCHANGE_MAX: usize = 16 << 20;
/// The longest wait when a connection is closed.
const FAREWELL: Duration = Duration::from_millis(100);
/// No time at all would be no limit.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// What goes wrong with a connection.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The server is gone, and in the middle of what, if that matters.
    #[error("the server closed the connection{0}")]
    Closed(&'static str),
    /// No answer within that time.
    #[error("the server did not answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// More than is accepted.
    #[error("the server sends without end; is this its port?")]
    Endless,
    /// The connection failed.
    #[error("the connection to the server failed: {0}")]
    Io(#[from] io::Error),
}

impl SocketError {
    /// The same error while a commit was in flight: whether it is durable is not known.
    #[must_use]
    pub fn of_commit(self) -> SocketError {
        match self {
            SocketError::Closed(_) => {
                SocketError::Closed(" during a transaction; whether it committed is not known")
            }
            other => other,
        }
    }
}

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

/// A connection, and what arrived on it and was not taken yet.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    inbox: Vec<u8>,
    start: usize,
    end: usize,
    patience: Duration,
    deadline: Instant,
    /// Bytes that arrived in this exchange.
    received: usize,
    /// The exchange is that of connecting and logging in.
    is_new: bool,
    is_broken: bool,
}

/// A path of a socket that fits into its address, of at most 107 bytes: that of an open folder in
/// place of a longer one. The folder has to stay open until the socket is connected.
fn short_path(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.to_owned(), None));
    };
    if path.as_os_str().len() <= ADDRESS_MAX {
        return Ok((path.to_owned(), None));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    Ok((short.join(name), Some(folder)))
}

/// Connects to a port, by one of the addresses of `host`, before `deadline`.
///
/// # Errors
/// No server is reachable there.
fn connect_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        match TcpStream::connect_timeout(&address, left.max(LEAST_WAIT)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl Socket {
    /// Connects to a port.
    ///
    /// # Errors
    /// No server is reachable there.
    pub fn tcp(host: &str, port: u16, patience: Duration) -> io::Result<Socket> {
        let deadline = Instant::now() + patience.min(CONNECT_MAX);
        let stream = connect_tcp(host, port, deadline)?;
        Ok(Socket::of(Stream::Tcp(stream), deadline, patience))
    }

    /// Connects to a Unix socket. A server that accepts nothing may make that wait, so the limit
    /// of time is set before it.
    ///
    /// # Errors
    /// No server is reachable there.
    pub fn unix(path: &Path, patience: Duration) -> io::Result<Socket> {
        let deadline = Instant::now() + patience.min(CONNECT_MAX);
        let (short, _folder) = short_path(path)?;
        let address = SocketAddrUnix::new(&short)?;
        let flags = rustix::net::SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        for limit in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
            sockopt::set_socket_timeout(socket.as_fd(), limit, Some(patience.min(CONNECT_MAX)))?;
        }
        rustix::net::connect(&socket, &address)?;
        let stream = Stream::Unix(UnixStream::from(socket));
        Ok(Socket::of(stream, deadline, patience))
    }

    fn of(stream: Stream, deadline: Instant, patience: Duration) -> Socket {
        Socket {
            stream,
            inbox: vec![0; INBOX_BYTES],
            start: 0,
            end: 0,
            patience,
            deadline,
            received: 0,
            is_new: true,
            is_broken: false,
        }
    }

    /// Whether it is a Unix socket.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        matches!(self.stream, Stream::Unix(_))
    }

    /// Whether nothing but this machine sees what is sent.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.stream {
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|at| at.ip().is_loopback()),
            Stream::Unix(_) => true,
        }
    }

    /// How the other end is known to this machine; `None` where it may be on another one.
    #[must_use]
    pub fn local_peer(&self) -> Option<LocalPeer> {
        match &self.stream {
            Stream::Tcp(stream) if self.is_local() => Some(LocalPeer::Ports {
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

    /// It is of no use any more: what arrives cannot be understood.
    pub fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Begins an exchange: it has to end within the connection's patience. The first one comes
    /// after the server has accepted the user.
    #[inline]
    pub fn begin(&mut self) {
        self.deadline = Instant::now() + self.patience;
        self.received = 0;
        if self.is_new {
            self.is_new = false;
            self.limit(self.patience);
        }
    }

    /// Sets how long each exchange may take from the next one on. Settings are read within
    /// [`CONNECT_MAX`], as part of connecting; what comes later may take longer.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        self.is_new = true;
    }

    /// Sets how long a read may wait. A connection that takes no limit has the one from before.
    fn limit(&self, time: Duration) {
        let kind = sockopt::Timeout::Recv;
        let _ = sockopt::set_socket_timeout(self.stream.fd(), kind, Some(time));
    }

    /// Sends all of it. What arrives meanwhile is kept, because a server reads nothing while nobody
    /// reads its answers. A server that is gone is noticed when its answer is read, because it may
    /// have written why it left.
    ///
    /// # Errors
    /// The server accepts nothing or answers without end, or the connection failed.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), SocketError> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::net::send(self.stream.fd(), rest, flags) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.wait_for_room()? => {}
                Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET | Errno::CONNABORTED) => break,
                Err(error) => return Err(self.broken(error.into())),
            }
        }
        Ok(())
    }

    /// Waits until the server accepts more, and reads what has arrived by then. Whether the server
    /// is still there.
    fn wait_for_room(&mut self) -> Result<bool, SocketError> {
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
        match self.fill() {
            Ok(()) => Ok(true),
            Err(SocketError::Closed(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What arrived and was not taken.
    #[must_use]
    #[inline]
    pub fn arrived(&self) -> &[u8] {
        &self.inbox[self.start..self.end]
    }

    /// Takes the first bytes of what arrived, all of it where that is less.
    #[inline]
    pub fn take(&mut self, count: usize) -> &[u8] {
        let taken = self.start..self.end.min(self.start.saturating_add(count));
        self.start = taken.end;
        &self.inbox[taken]
    }

    /// Reads what there is, at least one byte.
    ///
    /// # Errors
    /// The server is gone or does not answer, or the connection failed.
    pub fn fill(&mut self) -> Result<(), SocketError> {
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
                Err(SocketError::Closed(""))
            }
            Ok(count) => {
                self.end += count;
                self.received += count;
                if self.received > EXCHANGE_MAX {
                    self.is_broken = true;
                    return Err(SocketError::Endless);
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Sends a farewell, which the server need not receive.
    pub fn farewell(&mut self, bytes: &[u8]) {
        if self.is_broken {
            return;
        }
        self.deadline = Instant::now() + FAREWELL;
        // The server notices the end of the connection, too.
        let _ = self.send(bytes);
    }

    fn check_time(&mut self) -> Result<(), SocketError> {
        if Instant::now() > self.deadline {
            self.is_broken = true;
            return Err(SocketError::TimedOut(self.patience()));
        }
        Ok(())
    }

    /// How long the present exchange may take.
    fn patience(&self) -> Duration {
        match self.is_new {
            true => self.patience.min(CONNECT_MAX),
            false => self.patience,
        }
    }

    fn broken(&mut self, error: io::Error) -> SocketError {
        self.is_broken = true;
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => SocketError::TimedOut(self.patience()),
            _ if is_gone(&error) => SocketError::Closed(""),
            _ => SocketError::Io(error),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_reached_however_long_its_path_is() {
        let root = tempfile::tempdir().expect("a folder");
        for length in [1, 60, 200] {
            let folder = root.path().join("x".repeat(length));
            std::fs::create_dir(&folder).expect("makes it");
            // A listener has the same limit.
            let (short, _open) = short_path(&folder.join("s")).expect("it is there");
            let _listener = UnixListener::bind(short).expect("listens");
            let socket = Socket::unix(&folder.join("s"), Duration::from_secs(5));
            assert!(socket.is_ok_and(|socket| socket.is_unix()), "{length}");
        }
        let none = root.path().join("y".repeat(200)).join("s");
        let error = Socket::unix(&none, Duration::from_secs(5)).expect_err("nothing there");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
