//! What the benches share: raw durable writes, sessions that wait for each commit, the processor's
//! time, and what fio writes to the same files.
#![allow(dead_code)]

pub mod drawn;
pub mod stream;

use device::{Caps, FileSet, IoEngine, LogDevice, NullDevice, Op, OpCompletion, OpKind, Piece};
use device::{Queue, Region, SimDisk, SyncMethod, UringFiles, UringOptions};
use measure::Histogram;
use measure::workload::{Generator, pool};
use redo::control::CONTROL_BYTES;
use redo::engine::Paths;
use redo::{CommitMode, Log, Options, Shape};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// What a bench fails with.
pub type AnyError = Box<dyn std::error::Error>;

/// The folder of a bench, which is not there yet: `name` in the folder that the first argument
/// gives, or in the system's temporary one. A bench deletes its folder, and nothing outside of it.
pub fn folder(parent: Option<String>, name: &str) -> Result<PathBuf, AnyError> {
    let parent = parent.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = parent.join(name);
    if folder.symlink_metadata().is_ok() {
        let shown = folder.display();
        return Err(format!("{shown}: exists; remove it, or give another directory").into());
    }
    Ok(folder)
}

/// Processor time of this process so far, user and system, microseconds, in steps of 10 ms
/// (proc_pid_stat(5)).
pub fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name stands in parentheses and may hold blanks: count from behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() * 1e4
}

/// The ratios of two cases, paired by round: the median, and in brackets the least and the most.
pub fn ratios<T>(own: &[T], base: &[T], of: &dyn Fn(&T) -> f64) -> String {
    let mut all: Vec<f64> = own.iter().zip(base).map(|(t, b)| of(t) / of(b)).collect();
    all.sort_by(f64::total_cmp);
    let last = all.len() - 1;
    format!("{:.3} ({:.3} to {:.3})", all[last / 2], all[0], all[last])
}

/// A log without a device.
pub fn on_nothing(shape: Shape, options: Options) -> Result<Log, AnyError> {
    on_null(shape, NullDevice::PLAIN, options, Arc::new)
}

/// A log on what `wrap` makes of a null device with these capabilities.
pub fn on_null<D: LogDevice + 'static>(
    shape: Shape,
    caps: Caps,
    options: Options,
    wrap: impl FnOnce(NullDevice) -> Arc<D>,
) -> Result<Log, AnyError> {
    let geometry = shape.geometry(&caps, Path::new("null"))?;
    let control = SimDisk::new(CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    let id = redo::format::LogId(*b"null-device-log!");
    redo::control::ControlFile::format(Arc::clone(&control), geometry, id)?;
    let bytes = geometry.file_bytes * u64::from(geometry.groups);
    let data = wrap(NullDevice::new(bytes, caps));
    Ok(Log::builder(redo::Layout::devices(data, control))
        .options(options)
        .open()?
        .0)
}

/// Raw durable writes of `len` bytes, one after the other over all of a log's own files, from
/// memory as large and of the same kind as its log buffer, by a thread of its own as sessions have
/// it, through the same back end: the time of each, and how long all took.
pub fn raw_writes(
    directory: &Path,
    shape: Shape,
    (method, io): (SyncMethod, IoEngine),
    (len, huge_pages): (u32, bool),
    time: Duration,
) -> Result<(Histogram, Duration), AnyError> {
    let paths = Paths::new(directory).logs(shape.groups);
    let files = FileSet::open(&paths, shape.file_bytes, method)?;
    let device: Box<dyn LogDevice> = match io {
        IoEngine::IoUring => {
            let uring = UringOptions::default();
            uring.check()?;
            Box::new(UringFiles::new(files, uring))
        }
        _ => Box::new(files),
    };
    let bytes = Options::default().buffer_bytes;
    let mut region = if huge_pages {
        Region::huge(bytes)?
    } else {
        Region::new(bytes)?
    };
    region.fill(0, &pool(9, bytes));
    let region = Arc::new(region);
    let writing = std::thread::spawn(move || {
        let measure = || -> Result<_, AnyError> {
            let mut raw = RawWriter::new(&*device, region, shape, len as usize)?;
            let (mut times, start) = (Histogram::new(), Instant::now());
            while start.elapsed() < time {
                times.record(raw.write()?);
            }
            Ok((times, start.elapsed()))
        };
        measure().map_err(|e| e.to_string())
    });
    Ok(writing.join().map_err(|_| "a raw writer panicked")??)
}

/// Writes `len` bytes and flushes, one after the other over all of a log's files, from memory of
/// its own.
pub struct RawWriter {
    queue: Box<dyn Queue>,
    /// A write is durable by itself.
    durable: bool,
    shape: Shape,
    memory: usize,
    len: usize,
    at: usize,
    addr: u64,
    done: Vec<OpCompletion>,
}

impl RawWriter {
    /// Begins behind the header of the first file and at the beginning of `region`.
    pub fn new(
        device: &dyn LogDevice,
        region: Arc<Region>,
        shape: Shape,
        len: usize,
    ) -> Result<RawWriter, AnyError> {
        Ok(RawWriter {
            memory: region.len(),
            queue: device.queue(region)?,
            durable: device.caps().durable_writes,
            shape,
            len,
            at: 0,
            addr: 4096,
            done: Vec::with_capacity(2),
        })
    }

    /// Nanoseconds of so many writes.
    pub fn times(&mut self, many: usize) -> Result<Vec<u64>, AnyError> {
        (0..many).map(|_| self.write()).collect()
    }

    /// Nanoseconds of one.
    fn write(&mut self) -> Result<u64, AnyError> {
        let (at, len, addr) = (self.at, self.len, self.addr);
        let before = Instant::now();
        let pieces = [Piece { at, len }, Piece::default()];
        let write = OpKind::Write { addr, pieces };
        let kinds = [write, OpKind::Flush];
        for kind in &kinds[..if self.durable { 1 } else { 2 }] {
            self.queue.submit(&[Op { id: 1, kind: *kind }]);
            self.done.clear();
            self.queue.poll(&mut self.done, true);
            self.done[0].result.map_err(|e| e.to_string())?;
        }
        let took = before.elapsed().as_nanos() as u64;
        self.at += len;
        if self.at + len > self.memory {
            self.at = 0;
        }
        self.addr += len as u64;
        // Behind the header of the next file, where this one is full.
        let (file, all) = (
            self.shape.file_bytes,
            self.shape.file_bytes * u64::from(self.shape.groups),
        );
        if self.addr % file + len as u64 > file || self.addr % file < 4096 {
            self.addr = self.addr.next_multiple_of(file) % all + 4096;
        }
        Ok(took)
    }
}

/// `jobs` sessions that each wait for every commit of `record_bytes`: the time of each (append and
/// commit), and how long all took.
pub fn waited_for(
    log: &Arc<Log>,
    jobs: u32,
    record_bytes: u32,
    time: Duration,
) -> Result<(Histogram, Duration), AnyError> {
    let stop = Arc::new(AtomicBool::new(false));
    let barrier = Arc::new(Barrier::new(jobs as usize + 1));
    let bytes = pool(1, 1 << 20);
    let threads: Vec<_> = (0..jobs)
        .map(|job| {
            let (stop, barrier) = (Arc::clone(&stop), Arc::clone(&barrier));
            let mut session = log.session();
            let mut generator = Generator::new(bytes.clone(), job, 1);
            std::thread::spawn(move || -> Result<Histogram, redo::Error> {
                let mut times = Histogram::new();
                barrier.wait();
                while !stop.load(Ordering::Relaxed) {
                    let before = Instant::now();
                    generator.next_transaction();
                    let (stamp, body) = generator.record(0, record_bytes);
                    session.append(&[&stamp, body])?;
                    session.commit(CommitMode::WAIT_IMMEDIATE)?;
                    times.record(before.elapsed().as_nanos() as u64);
                }
                Ok(times)
            })
        })
        .collect();
    let mut last = log.durable().log_seq;
    barrier.wait();
    let start = Instant::now();
    // The last commits, too, may wait for a checkpoint.
    while threads.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(Duration::from_millis(2));
        stop.fetch_or(start.elapsed() >= time, Ordering::Relaxed);
        let durable = log.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            log.checkpoint(durable)?;
        }
    }
    let mut all = Histogram::new();
    for thread in threads {
        all.merge(&thread.join().map_err(|_| "a job panicked")??);
    }
    Ok((all, start.elapsed()))
}

/// Megabytes (2^20 bytes) a second that fio writes to a log's files, where it is installed: 1 MiB,
/// depth 8, huge pages where some are reserved, a final flush counted. Makes the log if there is
/// none.
pub fn fio(directory: &Path, shape: Shape, time: Duration) -> Result<Option<f64>, AnyError> {
    if !directory.join("redo01.log").exists() {
        Log::builder(directory).shape(shape).create()?;
    }
    let files = Paths::new(directory).logs(shape.groups);
    // The files are there and written: as the log finds them.
    FileSet::open(&files, shape.file_bytes, SyncMethod::Direct)?.settle()?;
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let reserved = std::fs::read_to_string("/proc/sys/vm/nr_hugepages")?;
    let huge = reserved.trim().parse::<u64>().is_ok_and(|n| n >= 16);
    let mut command = Command::new("fio");
    command.args(["--name=write", "--rw=write", "--bs=1M", "--iodepth=8"]);
    command.args([
        "--ioengine=libaio",
        "--direct=1",
        "--overwrite=1",
        "--time_based",
    ]);
    command.args([
        "--file_service_type=sequential",
        "--end_fsync=1",
        "--allow_file_create=0",
    ]);
    command.args(["--output-format=terse", "--terse-version=3"]);
    command.arg(format!("--runtime={}", time.as_secs().max(1)));
    command.arg(format!(
        "--iomem={}",
        if huge { "shmhuge" } else { "malloc" }
    ));
    command.arg(format!("--filename={}", names.join(":")));
    let output = match command.output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // Terse format 3: field 48 is the bandwidth of writes in KiB/s.
    let field = text.lines().find_map(|line| line.split(';').nth(47));
    let kib: f64 = field.ok_or("fio printed no result")?.parse()?;
    Ok(Some(kib / 1024.0))
}
