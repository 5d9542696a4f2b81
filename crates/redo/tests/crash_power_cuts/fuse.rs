//! A disk of one file served over FUSE, which keeps what is written to it and flushed, in order.
//! A loop device on that file turns block requests into these.
//!
//! What lives here: as much of the kernel's protocol (include/uapi/linux/fuse.h, version 7.31) as
//! one file needs. Invariants: requests are served one after the other, in the order in which they
//! were read; a test's journal has a write and a flush before they are answered.
//!
//! The process that serves must never read or write the file system above itself: it could not
//! be ended while it waits for its own answer.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What a test keeps of what happens on its disk.
pub trait Journal: Default + Send + 'static {
    /// These bytes were written.
    fn written(&mut self, at: u64, data: &[u8]);

    /// A flush was asked for; the error is the number that it is answered with.
    fn flushed(&mut self) -> Result<(), i32>;
}

/// The disk: its bytes as they are now, and what the test keeps.
pub struct Disk<J> {
    pub image: Vec<u8>,
    pub journal: J,
    /// Nobody will mount it any more.
    pub given_up: bool,
}

/// A disk that several threads look at.
pub struct Shared<J>(Arc<Mutex<Disk<J>>>);

impl<J> Clone for Shared<J> {
    fn clone(&self) -> Shared<J> {
        Shared(Arc::clone(&self.0))
    }
}

impl<J: Journal> Shared<J> {
    pub fn new(image: Vec<u8>) -> Shared<J> {
        Shared(Arc::new(Mutex::new(Disk {
            image,
            journal: J::default(),
            given_up: false,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Disk<J>> {
        self.0.lock().expect("nobody panics while holding the disk")
    }
}

/// Name of the one file.
pub const NAME: &str = "disk";

/// What answers requests.
pub trait Served: Send + 'static {
    /// Nobody will mount it any more.
    fn given_up(&self) -> bool;

    /// The answer, or `None` when it comes later through [`reply`].
    fn answer(&self, request: &Request<'_>) -> Option<Result<Vec<u8>, i32>>;
}

impl<J: Journal> Served for Shared<J> {
    fn given_up(&self) -> bool {
        self.lock().given_up
    }

    fn answer(&self, request: &Request<'_>) -> Option<Result<Vec<u8>, i32>> {
        Some(answer(request, self))
    }
}

pub const ROOT: u64 = 1;
const DISK: u64 = 2;
const MAX_WRITE: u32 = 1 << 20;
pub const IN_HEADER: usize = 40;
pub const IN_BODY: usize = 40;
const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const EIO: i32 = 5;
const ENODEV: i32 = 19;
pub const ENOSYS: i32 = 38;

pub const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const SETATTR: u32 = 4;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const WRITE: u32 = 16;
pub const STATFS: u32 = 17;
pub const RELEASE: u32 = 18;
pub const FSYNC: u32 = 20;
pub const FLUSH: u32 = 25;
pub const INIT: u32 = 26;
pub const OPENDIR: u32 = 27;
pub const RELEASEDIR: u32 = 29;
const INTERRUPT: u32 = 36;
const DESTROY: u32 = 38;
const BATCH_FORGET: u32 = 42;

/// Opens the kernel's end.
pub fn open() -> std::io::Result<File> {
    File::options().read(true).write(true).open("/dev/fuse")
}

/// Serves in a thread of its own; returns an end that mount(8) inherits, and mount's options, which
/// name it to the kernel. Drop that end once it is mounted: nobody else may inherit one, since a
/// disk whose server died is waited for as long as another process holds its end.
pub fn serving<S>(device: File, disk: &S) -> Result<(File, String), String>
where
    S: Served + Clone + Send + 'static,
{
    use std::os::fd::AsRawFd;
    let inherited = device.try_clone().map_err(|e| e.to_string())?;
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).map_err(|e| e.to_string())?;
    let disk = disk.clone();
    std::thread::spawn(move || {
        if let Err(e) = serve(device, &disk) {
            eprintln!("the disk is served no more: {e}");
        }
    });
    let fd = inherited.as_raw_fd();
    let options = format!("fd={fd},rootmode=40000,user_id=0,group_id=0");
    Ok((inherited, options))
}

/// Serves from before it is mounted until it is unmounted.
fn serve(mut device: File, disk: &impl Served) -> std::io::Result<()> {
    let mut request = vec![0; MAX_WRITE as usize + (64 << 10)];
    loop {
        let got = match device.read(&mut request) {
            Ok(got) => got,
            Err(e) if e.raw_os_error() == Some(ENODEV) => return Ok(()),
            // Not mounted yet.
            Err(e) if e.raw_os_error() == Some(EPERM) => {
                if disk.given_up() {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            // The request was withdrawn before it was read.
            Err(e) if e.raw_os_error() == Some(ENOENT) => continue,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let request = Request(&request[..got]);
        let answer = match request.opcode() {
            FORGET | BATCH_FORGET | INTERRUPT => continue,
            DESTROY => return Ok(()),
            _ => disk.answer(&request),
        };
        if let Some(answer) = answer {
            reply(&mut device, request.unique(), answer)?;
        }
    }
}

/// Answers the request of that number.
pub fn reply(device: &mut File, unique: u64, answer: Result<Vec<u8>, i32>) -> std::io::Result<()> {
    let (error, body) = match answer {
        Ok(body) => (0, body),
        Err(errno) => (-errno, Vec::new()),
    };
    let mut reply = Vec::with_capacity(16 + body.len());
    reply.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
    reply.extend_from_slice(&error.to_le_bytes());
    reply.extend_from_slice(&unique.to_le_bytes());
    reply.extend_from_slice(&body);
    match device.write(&reply) {
        // Withdrawn, or unmounted, meanwhile.
        Err(e) if matches!(e.raw_os_error(), Some(ENOENT | ENODEV)) => Ok(()),
        done => done.map(drop),
    }
}

/// A request as the kernel wrote it, in this machine's byte order, which is little-endian.
pub struct Request<'a>(pub &'a [u8]);

impl Request<'_> {
    pub fn u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }

    pub fn unique(&self) -> u64 {
        self.u64(8)
    }

    pub fn opcode(&self) -> u32 {
        self.u32(4)
    }

    pub fn node(&self) -> u64 {
        self.u64(16)
    }

    /// Offset and size of a read or write.
    pub fn place(&self) -> (u64, usize) {
        (self.u64(IN_HEADER + 8), self.u32(IN_HEADER + 16) as usize)
    }
}

fn answer<J: Journal>(request: &Request, disk: &Shared<J>) -> Result<Vec<u8>, i32> {
    let attributes = |node| attributes(node, disk.lock().image.len() as u64);
    match request.opcode() {
        INIT => Ok(init(0)),
        LOOKUP => {
            let name = request.0.get(IN_HEADER..).unwrap_or_default();
            if request.node() != ROOT || name.strip_suffix(&[0]) != Some(NAME.as_bytes()) {
                return Err(ENOENT);
            }
            // Node, generation, how long name and attributes hold (s, s, ns, ns).
            let entry = [DISK, 0, 3600, 3600, 0].map(u64::to_le_bytes).concat();
            Ok([entry, attributes(DISK)].concat())
        }
        GETATTR | SETATTR => {
            let valid = [3600, 0].map(u64::to_le_bytes).concat();
            Ok([valid, attributes(request.node())].concat())
        }
        OPEN | OPENDIR => Ok(vec![0; 16]),
        STATFS => Ok(vec![0; 80]),
        READ => {
            let (at, size) = request.place();
            let disk = disk.lock();
            let end = disk.image.len();
            let at = usize::try_from(at).map_or(end, |at| at.min(end));
            Ok(disk.image[at..(at + size).min(end)].to_vec())
        }
        WRITE => write(request, disk),
        FSYNC => disk.lock().journal.flushed().map(|()| Vec::new()),
        FLUSH | RELEASE | RELEASEDIR => Ok(Vec::new()),
        _ => Err(ENOSYS),
    }
}

fn write<J: Journal>(request: &Request, disk: &Shared<J>) -> Result<Vec<u8>, i32> {
    let (at, size) = request.place();
    let from = IN_HEADER + IN_BODY;
    let data = request.0.get(from..from + size).ok_or(EIO)?;
    let mut disk = disk.lock();
    let start = usize::try_from(at).map_err(|_| EIO)?;
    let end = start.checked_add(size).ok_or(EIO)?;
    disk.image
        .get_mut(start..end)
        .ok_or(EIO)?
        .copy_from_slice(data);
    disk.journal.written(at, data);
    Ok([size as u32, 0].map(u32::to_le_bytes).concat())
}

/// struct fuse_init_out, with flags beside those that every server here has.
pub fn init(more: u32) -> Vec<u8> {
    const BIG_WRITES: u32 = 1 << 5;
    const MAX_PAGES: u32 = 1 << 22;
    let mut body = [7, 31, 0, BIG_WRITES | MAX_PAGES | more]
        .map(u32::to_le_bytes)
        .concat();
    // Requests in the background, and when that is many.
    body.extend([16_u16, 12].map(u16::to_le_bytes).concat());
    body.extend([MAX_WRITE, 1].map(u32::to_le_bytes).concat());
    body.extend(
        [(MAX_WRITE / 4096) as u16, 0]
            .map(u16::to_le_bytes)
            .concat(),
    );
    body.resize(64, 0);
    body
}

/// struct fuse_attr.
pub fn attributes(node: u64, bytes: u64) -> Vec<u8> {
    let (mode, links, bytes) = match node {
        ROOT => (0o040_755, 2, 0),
        _ => (0o100_600, 1, bytes),
    };
    let mut body = [node, bytes, bytes / 512, 0, 0, 0]
        .map(u64::to_le_bytes)
        .concat();
    body.extend(
        [0, 0, 0, mode, links, 0, 0, 0, 4096, 0_u32]
            .map(u32::to_le_bytes)
            .concat(),
    );
    body
}
