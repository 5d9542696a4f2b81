//! A log in a stripe over k devices against the same log on one of them. The devices are models:
//! each has a channel of its own with a fixed bandwidth and latency, so that they share nothing.
//! See experiments/stripe.
//!
//! `cargo bench -p redolab-redo --bench stripe -- [ROUNDS] [SECONDS] [MB_PER_S]`
#![allow(unsafe_code)]

mod common;

use common::AnyError;
use common::stream::{MB, Stream, run};
use device::queue::IoOrDevice;
use device::{Caps, DeviceError, LogDevice, NullDevice, Op, OpCompletion, OpKind, Queue, Region};
use redo::{CommitMode, LogWriter, Options, Shape, StripeWidth, StripedDevice};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Large enough that a switch is rare, and a multiple of every stripe.
const SHAPE: Shape = Shape::new()
    .block_bytes(Some(4096))
    .groups(3)
    .file_bytes(512 << 20);
/// Time from the end of a transfer to its completion.
const WRITE_LATENCY: Duration = Duration::from_micros(100);
/// Time of a flush.
const FLUSH_LATENCY: Duration = Duration::from_micros(300);
/// Devices of the stripes.
const COUNTS: [usize; 2] = [2, 4];
/// Ways of writing the stream.
const WRITERS: [(&str, LogWriter); 4] = [
    ("auto", LogWriter::Auto),
    ("lgwr", LogWriter::Lgwr),
    ("workers=4", LogWriter::Workers(4)),
    ("inline", LogWriter::Inline),
];

/// A device whose transfers follow each other at a bandwidth. It keeps nothing.
#[derive(Clone)]
struct DelayingDevice {
    bytes: u64,
    bytes_per_s: f64,
    /// When the channel has carried everything that it was given.
    free_at: Arc<Mutex<Instant>>,
}

// SAFETY: it never touches a region.
unsafe impl LogDevice for DelayingDevice {
    fn caps(&self) -> Caps {
        NullDevice::PLAIN
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        let (device, done) = (self.clone(), Vec::new());
        Ok(Box::new(DelayingQueue { device, done }))
    }

    fn read(&self, _addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        out.fill(0);
        Ok(())
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        Ok(())
    }
}

impl DelayingDevice {
    /// The moment at which an operation that comes now is complete.
    fn done_at(&self, op: &Op) -> Instant {
        let now = Instant::now();
        let OpKind::Write { .. } = op.kind else {
            return now + FLUSH_LATENCY;
        };
        let transfer = Duration::from_secs_f64(op.bytes() as f64 / self.bytes_per_s);
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = now.max(*free_at) + transfer;
        *free_at + WRITE_LATENCY
    }
}

struct DelayingQueue {
    device: DelayingDevice,
    done: Vec<OpCompletion>,
}

impl Queue for DelayingQueue {
    fn submit(&mut self, ops: &[Op]) {
        for op in ops {
            let done_at = self.device.done_at(op);
            std::thread::sleep(done_at.saturating_duration_since(Instant::now()));
            self.done.push(OpCompletion {
                id: op.id,
                result: Ok(op.bytes() as u64),
                by: 0,
            });
        }
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let finished = self.done.len();
        out.append(&mut self.done);
        finished
    }
}

/// How many devices, and how wide the stripe is; one device has none.
type Devices = (usize, Option<StripeWidth>);

fn open(
    (count, width): Devices,
    log_writer: LogWriter,
    bytes_per_s: f64,
) -> Result<redo::Log, AnyError> {
    let options = Options::default()
        .log_writer(log_writer)
        .buffer_bytes(64 << 20);
    let device = |bytes| DelayingDevice {
        bytes,
        bytes_per_s,
        free_at: Arc::new(Mutex::new(Instant::now())),
    };
    let mut refused = None;
    let log = common::on_null(SHAPE, NullDevice::PLAIN, options, |null| {
        let each = null
            .bytes()
            .div_ceil(count as u64)
            .next_multiple_of(1 << 20);
        let devices = std::iter::repeat_with(|| Arc::new(device(each)) as Arc<dyn LogDevice>);
        let stripe = width.map(|w| StripedDevice::new(devices.take(count).collect(), w, "stripe"));
        Arc::new(match stripe {
            None => AnyDevice::One(device(null.bytes())),
            Some(Ok(stripe)) => AnyDevice::Stripe(stripe),
            Some(Err(error)) => {
                refused = Some(error);
                AnyDevice::One(device(null.bytes()))
            }
        })
    })?;
    refused.map_or(Ok(log), |error| Err(error.into()))
}

/// One device or a stripe.
enum AnyDevice {
    One(DelayingDevice),
    Stripe(StripedDevice),
}

impl AnyDevice {
    fn device(&self) -> &dyn LogDevice {
        match self {
            AnyDevice::One(device) => device,
            AnyDevice::Stripe(stripe) => stripe,
        }
    }
}

// SAFETY: it hands everything on.
unsafe impl LogDevice for AnyDevice {
    fn caps(&self) -> Caps {
        self.device().caps()
    }

    fn bytes(&self) -> u64 {
        self.device().bytes()
    }

    fn queue(&self, region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        self.device().queue(region)
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.device().read(addr, out)
    }

    fn settle(&self) -> Result<(), IoOrDevice> {
        self.device().settle()
    }
}

/// Median time of a commit of one session that waits, microseconds.
fn commits(log: &redo::Log, time: Duration) -> Result<f64, AnyError> {
    let mut session = log.session();
    let (record, mut times) = ([7; 1950], Vec::new());
    let begun = Instant::now();
    while begun.elapsed() < time {
        let start = Instant::now();
        session.append(&[&record])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let rounds: usize = args.next().map_or(Ok(7), |r| r.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(2.0), |s| s.parse())?);
    let bytes_per_s = args.next().map_or(Ok(200.0), |s| s.parse::<f64>())? * MB;
    // LGWR-THR: about 488 kB a transaction.
    let stream = Stream {
        record_bytes: 8000,
        records: 61,
        threads: 2,
        pool_bytes: 1 << 20,
    };
    let mut shapes: Vec<(String, Devices)> = vec![("1".to_owned(), (1, None))];
    for (width, count) in StripeWidth::ALL
        .iter()
        .flat_map(|w| COUNTS.map(|k| (*w, k)))
    {
        shapes.push((format!("{count} {width}"), (count, Some(width))));
    }
    println!("round,case,devices,mb_per_s,per_device,commit_us");
    for round in 0..rounds {
        // The turn of each shape moves, so that a drift of the machine favours none.
        shapes.rotate_left(1);
        for (name, devices) in &shapes {
            for (writer, log_writer) in WRITERS {
                let rate = run(open(*devices, log_writer, bytes_per_s)?, stream, time)?;
                let each = rate / devices.0 as f64;
                println!("{round},{writer} {name},{},{rate:.1},{each:.2},", devices.0);
            }
            let log = open(*devices, LogWriter::Auto, bytes_per_s)?;
            let median = commits(&log, time / 2)?;
            println!("{round},commit {name},{},,,{median:.1}", devices.0);
        }
    }
    Ok(())
}
