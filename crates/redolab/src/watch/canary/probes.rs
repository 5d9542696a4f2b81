//! The canary's file, its probes, and what is read before and after each of them.
//!
//! Invariants: probes are due at fixed times, and a stall counts from the moment at which its probe
//! was due, so that a canary that is not woken counts too; a probe that is overdue begins at once,
//! and those that it displaced are not made up for.

use super::heartbeat::{Heartbeat, ProbeSamples, Watched};
use super::judge::{PROBE_BYTES, StallEvidence};
use super::machine::{folder_of, name_of, not_available};
use super::{CanaryPlan, CanaryReport, SCHEMA, Stall, StallCounts};
use crate::cleanup::{WorkFolder, sweep};
use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::observe::diskstats::{Counters, DiskStats};
use crate::observe::pressure::{DirtyPages, PressureTotals};
use crate::observe::thread::ThreadFiles;
use crate::observe::topology::counted_devices;
use crate::store::now_rfc3339;
use measure::{Histogram, Nanos};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A shorter probe is not a stall unless it was asked for.
const STALL_OVER: Nanos = Nanos(20_000_000);
/// A probe that takes so many times the median is a stall.
const MEDIANS: u64 = 10;
/// Probes after which there is a median.
const MEDIAN_FROM: u64 = 10;
/// Counters are read this long before a probe, so that reading them does not make it late.
const READ_AHEAD: Duration = Duration::from_millis(2);
/// How often the canary looks whether it was asked to end.
const HEARD: Duration = Duration::from_millis(100);
/// Stalls that are kept with their evidence.
const STALLS_KEPT: usize = 1000;
/// Name of the file in the work folder.
const FILE: &str = "canary.dat";

/// Probes until the time is over or somebody asks; `look` is called at each stall.
///
/// # Errors
/// The path cannot be written to, or the system's.
pub fn canary(
    plan: &CanaryPlan,
    console: &dyn Console,
    look: &mut dyn FnMut(&Stall),
) -> Result<CanaryReport, Failure> {
    let folder = folder_of(&plan.path)?;
    let shown = plan.path.display();
    // What cannot be listed can still be written to.
    for left in sweep(&folder).unwrap_or_default() {
        console.say(&format!(
            "Removed what a killed command left: {}",
            left.display()
        ));
    }
    let work = WorkFolder::create(&folder);
    let work = work.map_err(Failure::system(format!(
        "--canary {shown}: making a folder"
    )))?;
    let file =
        make_file(&work).map_err(Failure::system(format!("--canary {shown}: making a file")))?;
    let stack = device::identify::stack_of(&folder).unwrap_or_default();
    let device = match counted_devices(&stack).as_slice() {
        [one] => Counters::open(*one).ok(),
        _ => None,
    };
    let named = device.as_ref().map(|device| name_of(&stack, device));
    console.say(&format!(
        "Probing {} (device: {}) with a write of 4 KiB and an fsync, {} per second; Ctrl-C ends it.",
        folder.display(),
        named.as_deref().unwrap_or("unknown"),
        plan.rate_per_s
    ));
    let watched = Watched {
        thread: ThreadFiles::of_this_thread(),
        device,
    };
    let mut report = report_of(plan, &folder, named);
    let memory = Heartbeat::memory();
    report.not_available = not_available(&watched, memory.is_some());
    let heartbeat = Heartbeat::new();
    let outcome = std::thread::scope(|scope| {
        let beats = || heartbeat.run(&watched, memory.as_ref());
        let started = std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn_scoped(scope, beats);
        started.map_err(Failure::system("starting the heartbeat"))?;
        let probes = Probes {
            plan,
            file: &file,
            watched: &watched,
            heartbeat: &heartbeat,
        };
        let _stop = StopHeartbeat(&heartbeat);
        probes.run(console, look, &mut report);
        Ok::<(), Failure>(())
    });
    drop(file);
    outcome?;
    work.remove()
        .map_err(|left| Failure::Unusable(format!("--canary {shown}: {left}")))?;
    Ok(report)
}

/// Ends the heartbeat when the probes end, however they do.
struct StopHeartbeat<'a>(&'a Heartbeat);

impl Drop for StopHeartbeat<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn make_file(work: &WorkFolder) -> std::io::Result<File> {
    work.register(FILE)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = File::from(rustix::fs::openat(work.directory(), FILE, flags, mode)?);
    // Its block is there before the first probe that counts.
    file.write_all_at(&page(0), 0)?;
    file.sync_all()?;
    Ok(file)
}

/// What a probe writes: never the same, and not to be compressed.
fn page(number: u64) -> [u8; PROBE_BYTES as usize] {
    let mut page = [0; PROBE_BYTES as usize];
    device::file::fill_noise(&mut page, 0x6361_6e61, number.wrapping_mul(PROBE_BYTES));
    page
}

fn report_of(plan: &CanaryPlan, folder: &Path, device: Option<String>) -> CanaryReport {
    CanaryReport {
        schema: SCHEMA,
        redolab_version: env!("CARGO_PKG_VERSION"),
        started: now_rfc3339(),
        path: folder.display().to_string(),
        device,
        rate_per_s: plan.rate_per_s,
        stall_over_ns: plan.stall_over.map(|limit| limit.0),
        elapsed_ns: 0,
        interrupted: false,
        ended_by: None,
        probes: 0,
        write_and_fsync: Histogram::new().stats(),
        late: Histogram::new().stats(),
        stalls_by_class: StallCounts::default(),
        stalls: Vec::new(),
        stalls_left_out: 0,
        not_available: Vec::new(),
    }
}

/// What is read before and after a probe.
struct Readings {
    disk: Option<DiskStats>,
    pressure: PressureTotals,
    pages: Option<DirtyPages>,
}

impl Readings {
    fn now(device: Option<&Counters>) -> Readings {
        Readings {
            disk: device.and_then(|device| device.read().ok()),
            pressure: PressureTotals::now(),
            pages: DirtyPages::now(),
        }
    }
}

/// When the parts of a probe began and ended.
struct ProbeTimes {
    due: Instant,
    begun: Instant,
    written: Instant,
    ended: Instant,
    /// Run delay of the thread before it waited for the moment, and when it began.
    delay_waiting: Option<u64>,
    delay_begun: Option<u64>,
}

fn ns(from: Instant, to: Instant) -> u64 {
    let time = to.saturating_duration_since(from);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What probes need.
struct Probes<'a> {
    plan: &'a CanaryPlan,
    file: &'a File,
    watched: &'a Watched,
    heartbeat: &'a Heartbeat,
}

impl Probes<'_> {
    fn run(&self, console: &dyn Console, look: &mut dyn FnMut(&Stall), report: &mut CanaryReport) {
        let begun = Instant::now();
        let end = begun + Duration::from_nanos(self.plan.time.0);
        let period = Duration::from_secs(1) / self.plan.rate_per_s.max(1);
        let (mut took, mut late, mut whole) =
            (Histogram::new(), Histogram::new(), Histogram::new());
        let mut due = begun + period;
        while due < end {
            if !wait_until(due.checked_sub(READ_AHEAD).unwrap_or(due), console) {
                report.interrupted = true;
                break;
            }
            let before = Readings::now(self.watched.device.as_ref());
            let (times, seen) = match self.probe(due, report.probes + 1) {
                Ok(probed) => probed,
                Err(why) => {
                    report.ended_by = Some(why);
                    break;
                }
            };
            let run_delay_ns = self.run_delay_of(&times);
            report.probes += 1;
            took.record(ns(times.begun, times.ended));
            late.record(ns(times.due, times.begun));
            let limit_ns = self.limit_ns(&whole);
            let duration_ns = ns(times.due, times.ended);
            whole.record(duration_ns);
            if duration_ns >= limit_ns {
                let evidence = self.evidence(&times, seen, &before, run_delay_ns);
                let (class, reason) = evidence.judged();
                let stall = Stall {
                    probe: report.probes,
                    at_ns: ns(begun, times.due),
                    limit_ns,
                    class,
                    reason,
                    evidence,
                };
                look(&stall);
                report.keep(stall);
            }
            due = (due + period).max(Instant::now());
        }
        if !report.interrupted && report.ended_by.is_none() {
            report.interrupted = !wait_until(end, console);
        }
        report.elapsed_ns = ns(begun, Instant::now());
        (report.write_and_fsync, report.late) = (took.stats(), late.stats());
    }

    /// Time between when a probe was due and its end for which the thread was ready to run and had
    /// no processor. What it lacked before it began counts up to how late it was: the rest is of
    /// the wait before.
    fn run_delay_of(&self, times: &ProbeTimes) -> Option<u64> {
        let [waiting, begun] = [times.delay_waiting?, times.delay_begun?];
        let ended = self.watched.thread.run_delay_ns()?;
        let before = begun
            .saturating_sub(waiting)
            .min(ns(times.due, times.begun));
        Some(before + ended.saturating_sub(begun))
    }

    /// One write and fsync, at the moment at which it is due; why it failed.
    fn probe(&self, due: Instant, number: u64) -> Result<(ProbeTimes, ProbeSamples), String> {
        let page = page(number);
        let delay_waiting = self.watched.thread.run_delay_ns();
        self.heartbeat.begin(due);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        let delay_begun = self.watched.thread.run_delay_ns();
        let wrote = self.file.write_all_at(&page, 0);
        wrote.map_err(|error| format!("writing: {error}"))?;
        let written = Instant::now();
        let synced = self.file.sync_all();
        synced.map_err(|error| format!("fsync: {error}"))?;
        let ended = Instant::now();
        let times = ProbeTimes {
            due,
            begun,
            written,
            ended,
            delay_waiting,
            delay_begun,
        };
        Ok((times, self.heartbeat.end()))
    }

    /// From which time on a probe is a stall, by the probes so far.
    fn limit_ns(&self, whole: &Histogram) -> u64 {
        match self.plan.stall_over {
            Some(limit) => limit.0,
            None if whole.count() < MEDIAN_FROM => STALL_OVER.0,
            None => STALL_OVER
                .0
                .max(whole.quantile_raw(0.5).saturating_mul(MEDIANS)),
        }
    }

    fn evidence(
        &self,
        times: &ProbeTimes,
        mut seen: ProbeSamples,
        before: &Readings,
        run_delay_ns: Option<u64>,
    ) -> StallEvidence {
        let after = Readings::now(self.watched.device.as_ref());
        seen.add_pages(before.pages);
        seen.add_pages(after.pages);
        let disk = after.disk.zip(before.disk).map(|(b, a)| b.since(&a));
        // The fsync returned: a device that wrote nothing does not count (`queue/iostats` is 0).
        let disk = disk.filter(|disk| disk.written_bytes() > 0);
        if disk.is_none() {
            seen.forget_device();
        }
        let pressure = after.pressure.since(&before.pressure);
        let overdue = self.heartbeat.overdue(times.due, times.ended);
        let from_us = |us: Option<u64>| us.map(|us| us.saturating_mul(1000));
        StallEvidence {
            duration_ns: ns(times.due, times.ended),
            late_ns: ns(times.due, times.begun),
            write_ns: ns(times.begun, times.written),
            fsync_ns: ns(times.written, times.ended),
            run_delay_ns,
            heartbeat_late_ns: u64::try_from(overdue.as_nanos()).unwrap_or(u64::MAX),
            samples: seen.samples,
            waited_in: seen.waited_in(),
            dirty_bytes: seen.pages.map(|pages| pages.dirty_bytes),
            writeback_bytes: seen.pages.map(|pages| pages.writeback_bytes),
            in_flight_most: seen.in_flight_most,
            in_flight_samples: seen.in_flight_samples,
            no_completion_ns: seen
                .no_completion
                .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            device_busy_ns: disk.map(|disk| disk.busy_ms.saturating_mul(1_000_000)),
            device_written_bytes: disk.map(|disk| disk.written_bytes()),
            pressure_io_ns: from_us(pressure.io_us),
            pressure_cpu_ns: from_us(pressure.cpu_us),
            pressure_memory_ns: from_us(pressure.memory_us),
        }
    }
}

impl CanaryReport {
    fn keep(&mut self, stall: Stall) {
        self.stalls_by_class.add(stall.class);
        match self.stalls.len() < STALLS_KEPT {
            true => self.stalls.push(stall),
            false => self.stalls_left_out += 1,
        }
    }
}

/// Sleeps until then; `false` when somebody asks for the end.
fn wait_until(then: Instant, console: &dyn Console) -> bool {
    loop {
        if console.interrupt().requested() {
            return false;
        }
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(HEARD));
    }
}
