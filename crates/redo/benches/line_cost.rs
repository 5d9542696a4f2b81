//! What the line between state machine and host costs: the writer with its inline host against a
//! hand-fused leader over the same log buffer, on the null device and on a file with O_DIRECT,
//! with one and eight jobs, interleaved in one process. See experiments/line-cost.
//!
//! `cargo bench -p redolab-redo --features experiment --bench line_cost -- [DIRECTORY] [ROUNDS] [DEVICE]`

use device::{Caps, LogDevice, NullDevice};
use measure::workload::{Generator, pool};
use redo::{CommitMode, Log, Options, Shape};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type AnyError = Box<dyn std::error::Error>;

const RECORD_BYTES: u32 = 1997;

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let directory = args
        .next()
        .map_or_else(|| std::env::temp_dir().join("line-cost"), PathBuf::from);
    let rounds: usize = args.next().map_or(Ok(11), |r| r.parse())?;
    let only = args.next();
    let wanted = |device: &str| only.as_deref().is_none_or(|o| o == device);
    println!("device,jobs,round,fused_ns_per_commit,line_ns_per_commit,ratio");
    for jobs in [1, 8].into_iter().filter(|_| wanted("null")) {
        compare("null", jobs, rounds, Duration::from_millis(150), &null_log)?;
    }
    for jobs in [1, 8].into_iter().filter(|_| wanted("direct")) {
        let open = |fused| file_log(&directory, fused);
        compare("direct", jobs, rounds, Duration::from_millis(1000), &open)?;
    }
    Ok(())
}

fn compare(
    device: &str,
    jobs: u32,
    rounds: usize,
    time: Duration,
    open: &dyn Fn(bool) -> Result<Log, AnyError>,
) -> Result<(), AnyError> {
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // A B B A: drift within a pair of rounds cancels.
        let mut took = [0.0; 2];
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            took[which] = ns_per_commit(open(which == 0)?, jobs, time)?;
        }
        let ratio = took[1] / took[0];
        println!(
            "{device},{jobs},{round},{:.1},{:.1},{ratio:.4}",
            took[0], took[1]
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let at = |q: f64| ratios[((ratios.len() - 1) as f64 * q).round() as usize];
    println!(
        "# {device} {jobs} jobs: line / fused median {:.4} (quartiles {:.4} to {:.4})",
        at(0.5),
        at(0.25),
        at(0.75)
    );
    Ok(())
}

fn ns_per_commit(log: Log, jobs: u32, time: Duration) -> Result<f64, AnyError> {
    let stop = Arc::new(AtomicBool::new(false));
    let bytes = pool(1, 1 << 20);
    let start = Instant::now();
    let threads: Vec<_> = (0..jobs)
        .map(|job| {
            let (stop, mut session) = (Arc::clone(&stop), log.session());
            let mut generator = Generator::new(bytes.clone(), job, 1);
            std::thread::spawn(move || -> Result<u64, redo::Error> {
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    generator.next_transaction();
                    let (stamp, body) = generator.record(0, RECORD_BYTES);
                    session.append(&[&stamp, body])?;
                    session.commit(CommitMode::WAIT_IMMEDIATE)?;
                    commits += 1;
                }
                Ok(commits)
            })
        })
        .collect();
    std::thread::sleep(time);
    stop.store(true, Ordering::Relaxed);
    let mut commits = 0;
    for thread in threads {
        commits += thread.join().map_err(|_| "a job panicked")??;
    }
    let elapsed = start.elapsed();
    log.close()?;
    Ok(elapsed.as_nanos() as f64 / commits as f64)
}

fn options(fused: bool) -> Options {
    Options {
        fused,
        ..Options::default()
    }
}

fn null_log(fused: bool) -> Result<Log, AnyError> {
    let caps = Caps {
        logical_bytes: 512,
        physical_bytes: 4096,
        memory_align: 512,
        max_io_bytes: 1 << 20,
        durable_writes: false,
        blocking: true,
    };
    // So large that the benchmark never reaches a log switch.
    let shape = Shape {
        file_bytes: 1 << 30,
        ..Shape::default()
    };
    let geometry = shape.geometry(&caps, std::path::Path::new("null"))?;
    let control =
        device::sim_disk::SimDisk::new(redo::control::CONTROL_BYTES as usize, 4096, false);
    control.set_immediate(true);
    let control: Arc<dyn LogDevice> = Arc::new(control);
    Log::format_devices(control.clone(), geometry, redo::format::LogId([1; 16]))?;
    let data = NullDevice::new(geometry.file_bytes * u64::from(geometry.groups), caps);
    Ok(Log::open_devices(Arc::new(data), control, options(fused))?.0)
}

fn file_log(directory: &std::path::Path, fused: bool) -> Result<Log, AnyError> {
    if directory.join("redo.ctl").exists() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let shape = Shape {
        file_bytes: 256 << 20,
        ..Shape::default()
    };
    Log::create(directory, shape, &|_, _| {}, &|| false)?;
    Ok(Log::open(directory, options(fused))?.0)
}
