//! A relay between a standby and its primary that delays what passes: the distance between two
//! sites, on one machine and without privileges.
//!
//! Invariants: bytes keep their order and arrive at the earliest one delay after they were read;
//! a pause of the relay is never shorter than the delay, and the system's wake-up is on top of it.
//! What it must not know: what the bytes mean.

use device::file::Directory;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that are read at once, and pieces that may be under way in one direction.
const PIECE: usize = 64 << 10;
const PIECES: usize = 1024;
/// How often the relay looks whether it shall end.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// A relay that accepts connections at one socket and passes their bytes to another one. Dropping
/// it closes its socket and its connections.
#[derive(Debug)]
pub(crate) struct DelayingRelay {
    ends: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
    socket: (Directory, String),
}

impl DelayingRelay {
    /// Accepts connections at the socket that is named, in that directory, and given to `owner`;
    /// passes their bytes to the socket `to`, each direction after `delay`.
    ///
    /// # Errors
    /// The socket cannot be made, or no thread can be started.
    pub(crate) fn start(
        (folder, name): (&Directory, String),
        owner: Option<(u32, u32)>,
        to: (&Directory, String),
        delay: Duration,
    ) -> io::Result<DelayingRelay> {
        let listener = UnixListener::bind(through(folder, &name))?;
        if let Some((uid, gid)) = owner {
            folder.give_socket_to(&name, uid, gid)?;
        }
        // It keeps the directory open as long as connections come.
        let (far, to) = (to.0.clone(), through(to.0, &to.1));
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let listening = std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || {
                let _held = far;
                listen(&listener, &to, delay, &seen);
            })?;
        Ok(DelayingRelay {
            ends,
            listening: Some(listening),
            socket: (folder.clone(), name),
        })
    }
}

impl Drop for DelayingRelay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(listening) = self.listening.take() {
            // A thread that panicked has ended, too.
            let _ = listening.join();
        }
        // If it cannot be removed now, it is removed with its directory.
        let (folder, name) = &self.socket;
        let _ = folder.remove_file(name);
    }
}

/// The path of a socket through the descriptor of its directory, which has to stay open.
fn through(folder: &Directory, name: &str) -> PathBuf {
    let held = folder.descriptor().as_raw_fd();
    Path::new("/proc/self/fd").join(held.to_string()).join(name)
}

fn listen(listener: &UnixListener, to: &Path, delay: Duration, ends: &AtomicBool) {
    let mut open: Vec<[UnixStream; 2]> = Vec::new();
    while !ends.load(Ordering::Acquire) {
        let mut watched = [PollFd::new(listener, PollFlags::IN)];
        if !matches!(poll(&mut watched, Some(&LOOK)), Ok(1)) {
            continue;
        }
        // A connection that cannot be passed on is closed: the standby reports it, and tries again.
        if let Ok((near, _)) = listener.accept()
            && let Ok(ends) = pass(near, to, delay)
        {
            open.push(ends);
        }
    }
    for end in open.iter().flatten() {
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// Passes the bytes of a connection in both directions, and returns its two ends.
fn pass(near: UnixStream, to: &Path, delay: Duration) -> io::Result<[UnixStream; 2]> {
    let far = UnixStream::connect(to)?;
    for (from, to) in [(&near, &far), (&far, &near)] {
        let (pieces, due) = sync_channel(PIECES);
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        let thread = || std::thread::Builder::new().name("relay-bytes".to_owned());
        thread().spawn(move || take(from, delay, &pieces))?;
        thread().spawn(move || give(to, &due))?;
    }
    Ok([near, far])
}

/// Bytes, and when they are due on the other side.
type Piece = (Instant, Vec<u8>);

fn take(mut from: UnixStream, delay: Duration, pieces: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let piece = (Instant::now() + delay, buffer[..count].to_vec());
                if pieces.send(piece).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn give(mut to: UnixStream, due: &Receiver<Piece>) {
    for (at, bytes) in due {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // The other direction reads the end, too.
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that sends back what it reads.
    fn echo(socket: &Path) -> JoinHandle<()> {
        let listener = UnixListener::bind(socket).expect("binds");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepts");
            let mut copy = stream.try_clone().expect("clones");
            let _ = io::copy(&mut stream, &mut copy);
            let _ = stream.shutdown(Shutdown::Both);
        })
    }

    /// A relay from `near` to `far`.
    fn start(folder: &Path, delay: Duration) -> DelayingRelay {
        let held = Directory::open(folder).expect("opens");
        let sockets = ["near", "far"].map(|name| (&held, name.to_owned()));
        let [near, far] = sockets;
        DelayingRelay::start(near, None, far, delay).expect("starts")
    }

    #[test]
    fn bytes_arrive_whole_in_order_and_not_before_their_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (near, far) = (folder.path().join("near"), folder.path().join("far"));
        let server = echo(&far);
        let delay = Duration::from_millis(20);
        let relay = start(folder.path(), delay);
        let mut stream = UnixStream::connect(&near).expect("connects");
        let sent: Vec<u8> = (0..200_000_u32).map(|byte| (byte % 251) as u8).collect();
        for round in 0..5 {
            let began = Instant::now();
            let mut writer = stream.try_clone().expect("clones");
            let bytes = sent.clone();
            let writing = std::thread::spawn(move || writer.write_all(&bytes));
            let mut back = vec![0; sent.len()];
            stream.read_exact(&mut back).expect("comes back");
            let took = began.elapsed();
            writing.join().expect("ends").expect("writes");
            assert!(back == sent, "round {round}");
            assert!(took >= 2 * delay, "{took:?}: there and back");
        }
        drop(relay);
        assert_eq!(stream.read(&mut [0]).expect("closed"), 0);
        assert!(!near.exists());
        server.join().expect("its connection was closed");
    }

    #[test]
    fn a_connection_that_cannot_be_passed_on_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let near = folder.path().join("near");
        let relay = start(folder.path(), Duration::ZERO);
        let mut stream = UnixStream::connect(&near).expect("connects");
        assert_eq!(stream.read(&mut [0]).expect("closed"), 0);
        drop(relay);
    }
}
